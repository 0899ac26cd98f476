"""Judgements, off-policy values and interleaving tests on thin logs and uneven users."""

from __future__ import annotations

import warnings
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np

from benchmarks.interval_errors.cell import Cell, Outcome
from benchmarks.interval_errors.generators import one_unit_in_ten
from rankwise.clicks import ClickLog, ClickModel, interleaving_test, judgements, off_policy
from rankwise.clicks.simulation import EXAMINATION

G = np.array(EXAMINATION)
N_QUERIES, N_DOCUMENTS, N_PLACES = 25, 30, 10


def _rates(rng: np.random.Generator, kind: str) -> np.ndarray:
    """Attractiveness of the documents of every query."""
    if kind == "skewed":  # many near 0
        return rng.beta(0.6, 3.0, (N_QUERIES, N_DOCUMENTS))
    grade = np.minimum(rng.geometric(0.55, (N_QUERIES, N_DOCUMENTS)) - 1, 4)
    return 0.1 + 0.8 * (2.0**grade - 1.0) / 15.0


def _good_logger(rng: np.random.Generator, kind: str, per_pair: float, user: str) -> Any:
    """Lists that show good documents more often and higher, and the rates of the pairs."""
    rate = _rates(rng, kind)
    n_lists = max(1, round(per_pair * N_DOCUMENTS / N_PLACES))
    score = np.log(rate + 0.02) + 0.5 * rng.standard_normal(rate.shape)
    score = 2.0 * (score - score.mean(1, keepdims=True)) / score.std(1, keepdims=True)
    drawn = score[:, None] + rng.gumbel(size=(N_QUERIES, n_lists, N_DOCUMENTS))
    shown = np.argsort(-drawn, axis=2)[:, :, :N_PLACES]
    attractive = rng.random(shown.shape) < rate[np.arange(N_QUERIES)[:, None, None], shown]
    if user == "sdbn":  # readers stop after a click with probability .7
        stops = attractive & (rng.random(shown.shape) < 0.7)
        looks = np.cumsum(stops, axis=2) - stops == 0
    else:
        looks = rng.random(shown.shape) < G
    click = (attractive & looks).ravel()
    session = np.repeat(np.arange(N_QUERIES * n_lists), N_PLACES)
    query = session // n_lists
    place = np.tile(np.arange(1, N_PLACES + 1), N_QUERIES * n_lists)
    log = ClickLog.from_columns(query, shown.ravel(), place, click, session=session, first_place=1)
    return log, rate


def _truth(log: ClickLog, rate: np.ndarray, method: str) -> np.ndarray:
    """What the interval of each pair is of."""
    pairs = log.pairs
    a = rate[
        log.query.values.to_numpy()[pairs.query], log.document.values.to_numpy()[pairs.document]
    ]
    looks = np.bincount(pairs.code, G[log.place - 1])
    if method == "ctr":
        return a * looks / np.bincount(pairs.code)
    if method == "coec":
        by_place = np.bincount(log.place, a[pairs.code]) / np.maximum(np.bincount(log.place), 1)
        by_place[1:] *= G
        return a * looks / np.bincount(pairs.code, by_place[log.place])
    return a


def _judge(
    rng: np.random.Generator, method: str, kind: str, per_pair: float, shrinkage: Any, known: bool
) -> Outcome | None:
    """Share of the intervals of pairs that miss; ``known``: with the examination of the users."""
    log, rate = _good_logger(rng, kind, per_pair, "sdbn" if method == "sdbn" else "pbm")
    given = {"propensities": G} if known else {}
    try:
        judged = judgements(log, method, shrinkage=shrinkage, **given)  # type: ignore[arg-type]
    except ValueError:
        return None
    truth = _truth(log, rate, method)
    missed = (truth < judged.low) | (truth > judged.high)
    return Outcome(float(missed.mean()), named=bool(judged.notes))


def _random_lists(
    rng: np.random.Generator, n: int, temperature: float, top_rate: float
) -> tuple[ClickLog, dict[str, dict[str, float]], float]:
    """Lists of three of four documents by a Plackett-Luce logger; a target; its click rate."""
    n_queries, n_documents, n_places = 20, 4, 3
    weight = np.exp(rng.standard_normal((n_queries, n_documents)) / temperature)
    rate = top_rate * rng.beta(1.0, 2.0, (n_queries, n_documents))
    query = rng.integers(n_queries, size=n)
    drawn = np.log(weight)[query] + rng.gumbel(size=(n, n_documents))
    shown = np.argsort(-drawn, axis=1)[:, :n_places]
    orders = np.array(list(permutations(range(n_documents), n_places)))
    w = weight[:, orders]
    chance = (w / (weight.sum(axis=1)[:, None, None] - np.cumsum(w, axis=2) + w)).prod(axis=2)
    at_place = np.stack(
        [
            np.stack([chance[:, orders[:, k] == d].sum(axis=1) for d in range(n_documents)], axis=1)
            for k in range(n_places)
        ]
    )
    code = (orders * n_documents ** np.arange(n_places)).sum(axis=1)
    found = np.argsort(code)[
        np.searchsorted(np.sort(code), (shown * n_documents ** np.arange(n_places)).sum(axis=1))
    ]
    click = rng.random(shown.shape) < rate[query[:, None], shown] * G[:n_places]
    log = ClickLog.from_columns(
        np.repeat(query, n_places), shown.ravel(), np.tile(np.arange(1, n_places + 1), n),
        click.ravel(), session=np.repeat(np.arange(n), n_places),
        propensity=at_place[np.arange(n_places), query[:, None], shown].ravel(),
        list_propensity=np.repeat(chance[query, found], n_places),
    )  # fmt: skip
    order = np.argsort(-rate - 0.3 * rng.random(rate.shape), axis=1)
    target = {str(q): {str(d): float(-k) for k, d in enumerate(order[q])} for q in range(n_queries)}
    value = (rate[np.arange(n_queries)[:, None], order[:, :n_places]] * G[:n_places]).mean(axis=1)
    return log, target, float(value.mean())


def _off_policy(
    rng: np.random.Generator, estimator: str, n: int, temperature: float, top_rate: float
) -> Outcome | None:
    log, target, truth = _random_lists(rng, n, temperature, top_rate)
    baseline = ClickModel("pbm").fit(log) if estimator == "dr" else None
    try:
        found = off_policy(log, target, "CTR", estimator, baseline=baseline)  # type: ignore[arg-type]
    except ValueError:
        return None
    return Outcome(float(not found.low <= truth <= found.high), named=bool(found.notes))


def _interleaved(rng: np.random.Generator, users: str, what: str) -> Outcome | None:
    """Two systems that are alike: a share of the users has most lists, or few users click."""
    n, n_users = {"few users": (60, 6), "one user in three lists": (400, 60)}.get(users, (300, 150))
    user = rng.integers(n_users, size=n)
    if users == "one user in three lists":
        user[rng.random(n) < 1 / 3] = 0
    taste = rng.beta(5.0, 5.0, n_users)[user]
    first = rng.random(n) < taste
    clicks = rng.random(n) < (0.05 if users == "rare clicks" else 0.6)
    click = np.c_[first & clicks, ~first & clicks]
    log = ClickLog.from_columns(
        np.zeros(2 * n, int), np.tile([0, 1], n), np.tile([1, 2], n), click.ravel(),
        session=np.repeat(np.arange(n), 2), user=np.repeat(user, 2), arm=["a", "b"] * n,
    )  # fmt: skip
    try:
        found = interleaving_test(log, n_resamples=499, random_state=rng)
    except ValueError:
        return None
    wrong = {
        "p_value": found.p_value <= 0.05,
        "interval": not found.low <= 0.0 <= found.high,
        "interval at any time": not found.sequential_low <= 0.0 <= found.sequential_high,
    }
    return Outcome(float(wrong[what]), named=bool(found.notes))


def _lead(rng: np.random.Generator, training_noise: float) -> Outcome:
    """Two learners that are alike, over five splits of the same skewed queries."""
    from benchmarks.study_click_learning import SEEDS, TRAIN_SHARE, summarise_lead

    gain = one_unit_in_ten(rng, 251)
    n_test = round((1 - TRAIN_SHARE) * len(gain))
    lead = [
        gain[rng.permutation(len(gain))[:n_test]].mean() + training_noise * rng.standard_normal()
        for _ in range(SEEDS)
    ]
    return Outcome(float(summarise_lead(np.array(lead))[2] <= 0.05))


def _drop_warnings(draw: Any) -> Any:
    def quiet(rng: np.random.Generator, **options: Any) -> Outcome | None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return draw(rng, **options)

    return quiet


_METHODS = {
    "ctr": ("ctr", None, False), "ctr, shrunk": ("ctr", "fit", False),
    "coec": ("coec", None, False), "harvest": ("harvest", None, False),
    "harvest, known looks": ("harvest", None, True), "ips": ("ips", None, False),
    "ips, known looks": ("ips", None, True), "pbm": ("pbm", None, False),
    "sdbn": ("sdbn", None, False),
}  # fmt: skip
# A draw judges hundreds of pairs: few draws tell their mean share of misses.
CELLS = [
    Cell(
        f"judgements {name}",
        f"good logger, {kind} rates, {per_pair} a pair",
        0.05,
        partial(
            _drop_warnings(_judge),
            method=method, kind=kind, per_pair=per_pair, shrinkage=shrinkage, known=known,
        ),
        draws=100,
    )
    for name, (method, shrinkage, known) in _METHODS.items()
    for kind in ("skewed", "graded")
    for per_pair in (1.7, 4.9, 22)
]  # fmt: skip
CELLS += [
    Cell(
        f"off_policy {estimator}",
        f"{n} lists, logger {logger}, click rates {rates}",
        0.05,
        partial(
            _drop_warnings(_off_policy),
            estimator=estimator, n=n, temperature=temperature, top_rate=top_rate,
        ),
    )
    for estimator in ("ips", "snips", "item_position", "dr")
    for n, logger, temperature, rates, top_rate in (
        (2000, "even", 1e9, "high", 0.9),
        (2000, "even", 1e9, "low", 0.05),
        (8000, "uneven", 1.0, "high", 0.9),
    )
]  # fmt: skip
CELLS += [
    Cell(f"interleaving_test {what}", f"alike, {users}", 0.05,
         partial(_interleaved, users=users, what=what))
    for what in ("p_value", "interval", "interval at any time")
    for users in ("many users", "few users", "one user in three lists", "rare clicks")
]  # fmt: skip
CELLS += [
    Cell("lead of click learning, p", f"alike, skewed queries, training noise {noise}", 0.05,
         partial(_lead, training_noise=noise))
    for noise in (0.0, 0.03)
]  # fmt: skip
