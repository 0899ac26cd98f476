"""A stream gives the model of all rows in memory, wherever it is cut and on any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import rankwise.solvers.gram as gram
import rankwise.solvers.path_selection as path_selection
import rankwise.solvers.statistics as statistics
from rankwise import (
    LinearRegressionRanker,
    LSRRank,
    PairwiseELM,
    PointwiseELM,
    RankRLS,
    RidgeRanker,
)
from rankwise.datasets import RankingData, stream

GRID = [0.01, 1.0, 100.0]
RANKERS = [
    PairwiseELM(30, C=2.0, random_state=0),
    PairwiseELM(30, C=GRID, random_state=0, n_draws=2, query_weight="query"),
    PairwiseELM(30, C="cv", random_state=0, graph="distinct", query_weight="document"),
    PairwiseELM(30, "linear", C=GRID, random_state=0, n_draws=3),
    PairwiseELM(kernel="linear", C=2.0, graph="distinct"),
    PointwiseELM(30, C="cv", random_state=0, n_draws=2),
    RidgeRanker(GRID),
    RidgeRanker(0.5, fit_intercept=False),
    LinearRegressionRanker(),
    RankRLS(alpha=GRID),
    LSRRank(kernel="linear", lam=0.1),
]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Chunks of 50 rows, so that small data take every turn: several lanes, giant queries."""
    for module in (gram, path_selection):
        monkeypatch.setattr(module, "CHUNK_ROWS", 50)
    monkeypatch.setattr("rankwise.rankers.linear.ridge.CHUNK_ROWS", 50)
    monkeypatch.setattr(gram, "GIANT_ROWS", 120)
    monkeypatch.setattr(path_selection, "MEASURED_ROWS", 150)


@pytest.fixture
def case(rng):
    sizes = rng.integers(1, 60, 40)
    sizes[[3, 17, 18]] = 200, 350, 130
    qid = np.repeat(rng.permutation(40), sizes)
    X = rng.random((len(qid), 5))
    y = np.digitize(X[:, 0] + 0.4 * rng.standard_normal(len(qid)), [0.4, 0.8]).astype(float)
    return X, y, qid, rng.integers(0, 4, len(qid)).astype(float)


def chunks(columns, cuts):
    """A callable that gives the rows cut at the given places."""
    bounds = [0, *cuts, len(columns[0])]

    def make():
        for lo, hi in zip(bounds[:-1], bounds[1:], strict=True):
            yield tuple(None if column is None else column[lo:hi] for column in columns)

    return make


def cuts_of(rng, n):
    yield [n // 2]
    yield np.sort(rng.choice(np.arange(1, n), 30, replace=False)).tolist()
    yield list(range(7, n, 7))


@pytest.mark.parametrize(
    "ranker", RANKERS, ids=lambda r: f"{type(r).__name__}-{r.get_params()}"[:60]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_same_model_wherever_the_stream_is_cut(case, rng, ranker, weighted):
    X, y, qid, w = case
    w = w if weighted else None
    whole = clone(ranker).fit(X, y, qid=qid, sample_weight=w)
    for cuts in cuts_of(rng, len(y)):
        streamed = clone(ranker).fit(stream(chunks((X, y, qid, w), cuts)))
        np.testing.assert_allclose(streamed.predict(X), whole.predict(X), rtol=1e-10, atol=1e-12)
        assert streamed.score_name_ == whole.score_name_
        for name in ("n_samples", "n_queries", "n_features"):
            assert streamed.fit_fingerprint_[name] == whole.fit_fingerprint_[name]
        if hasattr(whole, "cv_results_"):
            np.testing.assert_allclose(
                streamed.cv_results_["fold_test_scores"],
                whole.cv_results_["fold_test_scores"],
                rtol=1e-12,
            )
            assert streamed.get_params() == whole.get_params()
