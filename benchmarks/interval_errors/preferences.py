"""Strengths and ranks from few votes: any rank interval wrong, or a share of wrong intervals."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.interval_errors.cell import Cell, Outcome
from rankwise.preferences import PairwisePreferences, PlackettLuce

Generator = np.random.Generator


def pair_data(
    rng: Generator, strengths: np.ndarray, n: int, clusters: tuple[int, ...] = (), own: float = 0.0,
    ties: float = 0.0,
) -> tuple[tuple[Any, ...], Any]:  # fmt: skip
    """Votes on random pairs; each level of a way of clustering has strengths of its own."""
    m = len(strengths)
    first = rng.integers(0, m, n)
    second = (first + rng.integers(1, m, n)) % m
    eta = strengths[first] - strengths[second]
    columns = []
    for levels in clusters:
        cluster = rng.integers(0, levels, n)
        shift = own * rng.standard_normal((levels, m))
        eta = eta + shift[cluster, first] - shift[cluster, second]
        columns.append(cluster)
    outcome = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float)
    outcome[rng.random(n) < ties] = 0.5
    names = np.array([f"item{i:02d}" for i in range(m)])
    pairs = names[np.stack([first, second], axis=1)]
    return (pairs, outcome), np.stack(columns, axis=1) if columns else None


def order_data(rng: Generator, strengths: np.ndarray, n: int) -> tuple[tuple[Any, ...], None]:
    """Full orders by the model."""
    keys = strengths + rng.gumbel(size=(n, len(strengths)))
    return ([[f"item{i:02d}" for i in row] for row in np.argsort(-keys, axis=1)],), None


def _fit(model: Any, data: tuple[Any, ...], clusters: Any) -> tuple[Any, bool] | None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(*data, clusters=clusters)
        except ValueError:
            return None
    return model, bool(caught)


def ranks(
    rng: Generator, kind: str, strengths: tuple[float, ...], n: int, alpha: float, **more: Any
) -> Outcome | None:
    """Whether any rank interval is wrong."""
    truth = np.array(strengths)
    data = order_data(rng, truth, n) if kind == "orders" else pair_data(rng, truth, n, **more)
    fitted = _fit((PlackettLuce if kind == "orders" else PairwisePreferences)(alpha=alpha), *data)
    if fitted is None or len(fitted[0].items_) < len(truth):
        return None
    model, named = fitted
    found = model.rank_intervals()
    first = 1 + (truth[:, None] > truth).sum(axis=0)
    last = (truth[:, None] >= truth).sum(axis=0)
    held = ((found.low <= first) & (last <= found.high)).all()
    return Outcome(float(not held), named)


def strengths_outside(
    rng: Generator, kind: str, strengths: tuple[float, ...], n: int, alpha: float, **more: Any
) -> Outcome | None:
    """Share of Student's intervals of strengths, with the fit's degrees of freedom, that miss."""
    truth = np.array(strengths) - np.mean(strengths)
    if alpha > 0:  # errors include the bias of strengths that are normal with variance 1 / alpha
        truth = rng.standard_normal(len(truth)) / np.sqrt(alpha)
        truth -= truth.mean()
    data = order_data(rng, truth, n) if kind == "orders" else pair_data(rng, truth, n, **more)
    fitted = _fit((PlackettLuce if kind == "orders" else PairwisePreferences)(alpha=alpha), *data)
    if fitted is None or len(fitted[0].items_) < len(truth):
        return None
    model, named = fitted
    critical = stats.t.isf(0.025, model.degrees_of_freedom_)
    # As the page says: the larger error of the two covariances.
    by_model = np.sqrt(model.model_covariance_.diagonal())
    errors = np.maximum(model.standard_errors_, by_model)
    wrong = np.abs(model.strengths_ - truth) > critical * errors
    return Outcome(float(wrong.mean()), named)


_EQUAL, _SPREAD = (0.0,) * 5, (1.5, 0.5, 0.5, -0.5, -2.0)
_SETS = [
    ("pairs", "5 equal", _EQUAL, 20, 1.0, {}),
    ("pairs", "5 equal", _EQUAL, 50, 0.0, {}),
    ("pairs", "5 unequal", _SPREAD, 20, 1.0, {}),
    ("pairs", "5 unequal", _SPREAD, 60, 0.0, {}),
    ("pairs", "5 tied 80 %", _EQUAL, 60, 0.1, {"ties": 0.8}),
    ("pairs", "3 far apart", (4.0, 0.0, -4.0), 30, 0.1, {}),
    ("orders", "5 equal", _EQUAL, 3, 1.0, {}),
    ("orders", "5 equal", _EQUAL, 20, 0.0, {}),
    ("orders", "5 unequal", _SPREAD, 10, 0.1, {}),
    ("orders", "5 unequal", _SPREAD, 30, 0.0, {}),
]
_CLUSTERS = [((n,), own) for n in (3, 5, 13, 40) for own in (0.0, 0.7)] + [((20, 13), 0.7)]

CELLS = [
    *(
        Cell(
            name, f"{kind}, {what}, {n} votes, alpha {alpha:g}", 0.05,
            partial(draw, kind=kind, strengths=strengths, n=n, alpha=alpha, **more),
        )
        for name, draw in (("preference ranks", ranks), ("preference strengths", strengths_outside))
        for kind, what, strengths, n, alpha, more in _SETS
        if draw is ranks or alpha == 0.0
    ),
    *(
        Cell(
            "preference strengths", f"{kind}, 5 of variance {1 / alpha:g}, {n} votes", 0.05,
            partial(strengths_outside, kind=kind, strengths=_EQUAL, n=n, alpha=alpha),
        )
        for kind, n, alpha in (("pairs", 20, 1.0), ("pairs", 60, 0.1), ("orders", 5, 1.0))
    ),
    *(
        Cell(
            name, f"{' x '.join(map(str, levels))} clusters, own {own:g}, 400 votes", 0.05,
            partial(
                draw, kind="pairs", strengths=_EQUAL, n=400, alpha=0.0, clusters=levels, own=own
            ),
        )
        for name, draw in (("preference ranks", ranks), ("preference strengths", strengths_outside))
        for levels, own in _CLUSTERS
    ),
]  # fmt: skip
