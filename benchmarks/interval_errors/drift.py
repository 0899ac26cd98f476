"""Rows of one source and later rows of the same source: every alarm of ``find_drift`` is false."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from benchmarks.interval_errors.cell import Cell, Outcome
from rankwise.datasets import summarize_rows
from rankwise.selection import find_drift

Generator = np.random.Generator
# Rows and the query of each, of a number of queries.
Source = Callable[[Generator, int], tuple[object, np.ndarray]]
EQUAL_TEXTS = np.array([f"shop{number:03}" for number in range(300)])


def _queries(rng: Generator, n_queries: int, most: int = 30) -> np.ndarray:
    """Unequal queries: most are short, and some are long."""
    sizes = np.clip(np.exp(rng.normal(2.0, 0.8, n_queries)), 1, most).astype(int)
    return np.repeat(np.arange(n_queries), sizes)


def _categories(rng: Generator, n_queries: int, n_categories: int) -> tuple[object, np.ndarray]:
    qid = _queries(rng, n_queries)
    names = EQUAL_TEXTS[:n_categories]
    return pd.DataFrame({"shop": pd.Categorical(rng.choice(names, len(qid)), names)}), qid


def _zipf(rng: Generator, n_queries: int) -> tuple[object, np.ndarray]:
    """Half of the rows of a query have its favourite of 300 categories."""
    qid = _queries(rng, n_queries)
    shares = 1.0 / np.arange(1, 301)
    drawn = rng.choice(300, (2, len(qid)), p=shares / shares.sum())
    favourite = drawn[0, :n_queries][qid]
    chosen = np.where(rng.random(len(qid)) < 0.5, favourite, drawn[1])
    return pd.DataFrame({"shop": pd.Categorical(EQUAL_TEXTS[chosen], EQUAL_TEXTS)}), qid


def _texts(rng: Generator, n_queries: int) -> tuple[object, np.ndarray]:
    qid = _queries(rng, n_queries)
    return pd.DataFrame({"shop": rng.choice(EQUAL_TEXTS, len(qid)).astype(object)}), qid


def _constant_in_queries(rng: Generator, n_queries: int) -> tuple[object, np.ndarray]:
    """Six columns that only depend on the query, as the length of the query does."""
    qid = _queries(rng, n_queries)
    columns = rng.normal(size=(n_queries, 6))
    columns[:, 1] = np.round(columns[:, 1])
    columns[:, 2] = columns[:, 2] > 1.0
    columns[:, 3] = rng.poisson(3.0, n_queries)
    columns[:, 4] = np.exp(2.0 * columns[:, 4])
    return columns[qid], qid


def _mixed(rng: Generator, n_queries: int) -> tuple[object, np.ndarray]:
    """Columns that are alike within a query, discrete or mostly zero."""
    qid = _queries(rng, n_queries)
    X = rng.normal(size=(len(qid), 6)) + rng.normal(size=(n_queries, 6))[qid]
    X[:, 1] = np.round(X[:, 1])
    X[:, 2] = X[:, 2] > 1.0
    X[:, 3] = np.where(rng.random(len(qid)) < 0.95, 0.0, rng.gamma(2.0, 1.0, len(qid)))
    X[:, 4] = np.where(X[:, 4] > 1.5, np.exp(X[:, 4]), 0.0)
    X[rng.random(len(qid)) < 0.05, 5] = np.nan
    return X, qid


def _all_equal(rng: Generator, n_queries: int) -> tuple[object, np.ndarray]:
    qid = _queries(rng, n_queries)
    return np.full((len(qid), 2), 7.0), qid


def _alarm(
    rng: Generator, source: Source, before: int, now: int, reads_queries: bool = True
) -> Outcome:
    (old, old_qid), (new, new_qid) = source(rng, before), source(rng, now)
    if not reads_queries:
        old_qid = new_qid = None
    return Outcome(float(not find_drift(summarize_rows(old, old_qid), new, new_qid).ok))


def _false_ranks(rng: Generator, before: int, now: int) -> Outcome:
    """Whether a note says that scores at a rank have moved; few queries reach rank 10."""

    class Sum:
        def predict(self, X: np.ndarray) -> np.ndarray:
            return np.exp(X[:, 0])

    samples = [(rng.normal(size=(len(qid), 1)), qid) for qid in (
        _queries(rng, before), _queries(rng, now))]  # fmt: skip
    summary = summarize_rows(*samples[0], estimator=Sum())
    notes = find_drift(summary, *samples[1], estimator=Sum()).notes
    return Outcome(float(any("mean score at rank" in note for note in notes)))


SOURCES: list[tuple[str, Source]] = [
    ("200 equal categories", partial(_categories, n_categories=200)),
    ("40 equal categories", partial(_categories, n_categories=40)),
    ("300 equal texts", _texts),
    ("300 categories by Zipf, alike in queries", _zipf),
    ("columns constant in a query", _constant_in_queries),
    ("discrete, mostly zero, alike in queries", _mixed),
    ("all equal", _all_equal),
]
CELLS = [
    Cell("find_drift", f"{name}, {now} queries", 0.05, partial(
        _alarm, source=source, before=3 * now, now=now))
    for name, source in SOURCES
    for now in (12, 80, 400)
] + [
    Cell("find_drift", "200 equal categories, 4,000 rows", 0.05, partial(
        _alarm, source=partial(_categories, n_categories=200), before=400, now=400,
        reads_queries=False)),
    Cell("find_drift, scores by rank", "12 queries", 0.05, partial(
        _false_ranks, before=60, now=12)),
    Cell("find_drift, scores by rank", "80 queries", 0.05, partial(
        _false_ranks, before=60, now=80)),
]  # fmt: skip
