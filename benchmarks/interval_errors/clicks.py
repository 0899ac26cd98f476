"""Intervals of examination by place, of attractiveness, and of click rates by place."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np

from benchmarks.interval_errors.cell import Cell, Outcome
from rankwise.clicks import ClickLog, judgements, propensities

# Users look at place k in one list of k; at every place; at the top hardly ever or never.
USUAL = 1.0 / np.arange(1, 7)
EVERYWHERE = np.ones(6)
HARDLY_AT_THE_TOP = np.array([0.01, 1.0, 0.5, 0.4, 0.3, 0.25])
NEVER_AT_THE_TOP = np.array([0.0, 1.0, 0.5, 0.4, 0.3, 0.25])


def record(
    rng: np.random.Generator,
    per_pair: float,
    examination: np.ndarray,
    logger: float = 1.0,
    n_lists: int = 600,
    n_queries: int | None = None,
    reads_down: bool = False,
) -> tuple[ClickLog, np.ndarray]:
    """Lists of 6 of 10 documents, and the attractiveness of each pair of the log.

    ``per_pair``: impressions of a pair, on average. ``logger``: 1 shows good documents above,
    0 any, -1 bad ones. ``reads_down``: users read until a click, examination counts for nothing.
    """
    n_places, n_documents = len(examination), 10
    n_queries = n_queries or max(int(n_lists * n_places / per_pair / n_documents), 2)
    appeal = rng.beta(1.0, 3.0, size=(n_queries, n_documents))
    query = rng.integers(n_queries, size=n_lists)
    score = logger * appeal[query] / appeal.std() + rng.gumbel(size=(n_lists, n_documents))
    shown = np.argsort(-score, axis=1)[:, :n_places]
    a = appeal[query[:, None], shown]
    click = rng.random(shown.shape) < (a if reads_down else a * examination)
    if reads_down:
        click &= np.cumsum(click, axis=1) - click == 0
    log = ClickLog.from_columns(
        np.repeat(query, n_places), shown.ravel(), np.tile(np.arange(1, n_places + 1), n_lists),
        click.ravel(), session=np.repeat(np.arange(n_lists), n_places),
    )  # fmt: skip
    q = log.query.names[log.pairs.query].astype(int)
    return log, appeal[q, log.document.names[log.pairs.document].astype(int)]


def _outcome(
    low: np.ndarray, high: np.ndarray, truth: np.ndarray, notes: list[str]
) -> Outcome | None:
    """Share of intervals without the truth, of those that have two ends."""
    known = np.isfinite(low) & np.isfinite(high)
    if not known.any():
        return None
    wrong = (truth < low - 1e-9) | (truth > high + 1e-9)
    return Outcome(float(wrong[known].mean()), named=any(not n.startswith("no arm") for n in notes))


def _examination(rng: np.random.Generator, method: str, **law: object) -> Outcome | None:
    """Examination of all places but that of the unit, relative to the most examined place."""
    log, _ = record(rng, **law)  # type: ignore[arg-type]
    try:
        found = propensities(log, method)  # type: ignore[arg-type]
    except ValueError:
        return None
    examination = np.asarray(law["examination"], dtype=float)
    free = found.high > found.low
    truth = (examination / examination.max())[found.place - 1][free]
    return _outcome(found.low[free], found.high[free], truth, found.notes)


def _attractiveness(rng: np.random.Generator, method: str, **law: object) -> Outcome | None:
    log, truth = record(rng, **law)  # type: ignore[arg-type]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            judged = judgements(log, method)  # type: ignore[arg-type]
    except ValueError:
        return None
    return _outcome(judged.low, judged.high, truth, judged.notes)


def _place_rates(rng: np.random.Generator, rate: float, n_users: int, heavy: bool) -> Outcome:
    """Click rates by place, of 300 lists of users with habits of their own."""
    n_lists = 300
    user = rng.integers(n_users, size=n_lists)
    if heavy:
        user[rng.random(n_lists) < 0.5] = 0
    habit = rng.beta(2.0, 2.0 / rate - 2.0, size=n_users)[user]
    click = rng.random((n_lists, 2)) < habit[:, None]
    log = ClickLog.from_columns(
        np.zeros(2 * n_lists, int), np.tile([0, 1], n_lists), np.tile([1, 2], n_lists),
        click.ravel(), session=np.repeat(np.arange(n_lists), 2), user=np.repeat(user, 2),
    )  # fmt: skip
    found = log.summary()
    outcome = _outcome(found.low, found.high, np.full(2, rate), [])
    assert outcome is not None
    return outcome


LAWS: dict[str, dict[str, object]] = {
    "1.7 impressions a pair, good logger": {"per_pair": 1.7, "examination": USUAL},
    "1.7 impressions a pair, bad logger": {
        "per_pair": 1.7, "examination": USUAL, "logger": -1.0,
    },
    "4.9 impressions a pair, good logger": {"per_pair": 4.9, "examination": USUAL},
    "22 impressions a pair, good logger": {"per_pair": 22.0, "examination": USUAL},
    "60 lists": {"per_pair": 4.9, "examination": USUAL, "n_lists": 60},
    "5 queries": {"per_pair": 1.0, "examination": USUAL, "n_queries": 5},
    "every place examined": {"per_pair": 4.9, "examination": EVERYWHERE},
    "top place examined 1 in 100": {"per_pair": 22.0, "examination": HARDLY_AT_THE_TOP,
                                    "logger": 0.0},
    "top place never clicked": {"per_pair": 22.0, "examination": NEVER_AT_THE_TOP,
                                "logger": 0.0},
}  # fmt: skip
DOWNWARDS: dict[str, dict[str, object]] = {
    f"{n} impressions a pair, read downwards": {
        "per_pair": n, "examination": EVERYWHERE, "reads_down": True,
    }
    for n in (1.7, 22.0)
}  # fmt: skip

CELLS = [
    *(
        Cell(f"propensities {method}", data, 0.05, partial(_examination, method=method, **law))
        for method in ("harvest", "em")
        for data, law in LAWS.items()
    ),
    *(
        Cell(
            "propensities random", data, 0.05,
            partial(_examination, method="random", **(law | {"logger": 0.0})),
        )
        for data, law in LAWS.items()
        if "good" not in data and "bad" not in data
    ),
    *(
        Cell(
            f"ClickModel {method}, attractiveness", data, 0.05,
            partial(_attractiveness, method=method, **law), draws=300,
        )
        for method in ("pbm", "ubm")
        for data, law in LAWS.items()
    ),
    *(
        Cell(
            f"ClickModel {method}, attractiveness", data, 0.05,
            partial(_attractiveness, method=method, **law), draws=300,
        )
        for method in ("sdbn", "dbn")
        for data, law in (DOWNWARDS | {n: LAWS[n] for n in LAWS if n.startswith("top")}).items()
    ),
    *(
        Cell(
            "ClickLog.summary, click rates",
            f"rate {rate}, {n_users} users" + ", one has half" * heavy,
            0.05,
            partial(_place_rates, rate=rate, n_users=n_users, heavy=heavy),
        )
        for rate in (0.02, 0.5)
        for n_users in (10, 60, 300)
        for heavy in (False, True)
    ),
]  # fmt: skip
