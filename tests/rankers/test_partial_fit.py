"""partial_fit on any cut into batches gives the model of one fit."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import rankwise.solvers.least_squares.gram as statistics
from rankwise import LinearRegressionRanker, PairwiseELM, PointwiseELM, RidgeRanker, load
from tests.oracles import ragged_groups

RANKERS = [
    PairwiseELM(40, C=2.0, random_state=0),
    PairwiseELM(40, C=2.0, random_state=0, graph="distinct", query_weight="document"),
    PairwiseELM(40, "linear", C=2.0, random_state=0, n_draws=3, query_weight="query"),
    PairwiseELM(kernel="linear", C=2.0, graph="distinct"),
    PointwiseELM(40, C=2.0, random_state=0, n_draws=2),
    RidgeRanker(0.5),
    LinearRegressionRanker(),
]


@pytest.fixture
def case(rng):
    y, qid, _ = ragged_groups(rng, 16, 20, shuffle=False)
    return rng.random((len(y), 4)), y, qid, rng.integers(0, 4, len(y)).astype(float)


def _stream(ranker, cuts, X, y, qid, w):
    ranker = clone(ranker)
    for rows in np.split(np.arange(len(y)), cuts):
        ranker.partial_fit(
            X[rows],
            y[rows],
            qid=None if qid is None else qid[rows],
            sample_weight=None if w is None else w[rows],
        )
    return ranker


@pytest.mark.parametrize("ranker", RANKERS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("with_qid", [True, False])
def test_equals_one_fit_wherever_the_batches_are_cut(case, rng, ranker, weighted, with_qid):
    X, y, qid, w = case
    w = w + 0.5 if weighted else None
    qid = qid if with_qid else None
    whole = clone(ranker).fit(X, y, qid=qid, sample_weight=w).predict(X)
    for cuts in (
        [len(y) // 2],
        np.sort(rng.choice(np.arange(1, len(y)), 9, replace=False)),
        np.arange(5, len(y), 5),
    ):
        streamed = _stream(ranker, cuts, X, y, qid, w).predict(X)
        np.testing.assert_allclose(streamed, whole, rtol=1e-8, atol=1e-8)


def test_rows_of_a_batch_may_come_in_any_order(case, rng):
    X, y, qid, _ = case
    whole = PairwiseELM(30, random_state=0).fit(X, y, qid=qid).predict(X)
    ranker = PairwiseELM(30, random_state=0)
    for queries in (np.arange(8), np.arange(8, 16)):
        rows = rng.permutation(np.flatnonzero(np.isin(qid, queries)))
        ranker.partial_fit(X[rows], y[rows], qid=qid[rows])
    np.testing.assert_allclose(ranker.predict(X), whole, atol=1e-9)


def test_a_query_that_comes_back_is_an_error(case):
    X, y, qid, _ = case
    ranker = PairwiseELM(10, random_state=0).partial_fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="came back"):
        ranker.partial_fit(X[:5], y[:5], qid=qid[:5])
    with pytest.raises(ValueError, match="every batch or in none"):
        ranker.partial_fit(X[:5], y[:5])


def test_what_streams_is_fixed(case, monkeypatch):
    X, y, qid, _ = case
    with pytest.raises(ValueError, match="needs a number for C"):
        PairwiseELM(10, C="cv").partial_fit(X, y, qid=qid)
    fitted = PairwiseELM(10, random_state=0).fit(X[:20], y[:20], qid=qid[:20])
    with pytest.warns(UserWarning, match="starts a new model"):
        fitted.partial_fit(X, y, qid=qid)
    fresh = PairwiseELM(10, random_state=0).fit(X, y, qid=qid)
    np.testing.assert_allclose(fitted.predict(X), fresh.predict(X), atol=1e-9)
    with pytest.raises(ValueError, match="features"):
        PairwiseELM(10, random_state=0).partial_fit(X, y).partial_fit(X[:, :2], y)
    monkeypatch.setattr(statistics, "MOST_OPEN_NUMBERS", 64 * 10**2)
    with pytest.raises(ValueError, match="keeps at most 64 grades of 10 columns"):
        PairwiseELM(10, graph="distinct").partial_fit(np.arange(80.0)[:, None], np.arange(80.0))


def test_a_batch_that_fails_changes_nothing(case, rng, monkeypatch):
    monkeypatch.setattr(statistics, "MOST_OPEN_NUMBERS", 64 * 10**2)
    X, y, qid, _ = case
    ranker = PairwiseELM(10, graph="distinct", n_draws=2, random_state=0)
    ranker.partial_fit(X[:30], y[:30], qid=qid[:30])
    before = (ranker.fit_fingerprint_, ranker.predict(X))
    with pytest.raises(ValueError, match="keeps at most"):
        ranker.partial_fit(rng.random((99, 4)), rng.random(99), qid=np.full(99, -1))
    assert ranker.fit_fingerprint_ == before[0]
    ranker.partial_fit(X[30:], y[30:], qid=qid[30:])
    whole = PairwiseELM(10, graph="distinct", n_draws=2, random_state=0).fit(X, y, qid=qid)
    np.testing.assert_allclose(ranker.predict(X), whole.predict(X), atol=1e-9)


@pytest.mark.parametrize("ranker", RANKERS)
def test_a_first_batch_that_fails_leaves_no_trace(case, recwarn, ranker):
    X, y, qid, _ = case
    bad = [
        (X, np.full(len(y), np.nan), qid, "NaN"),
        (X, y, qid[:-1], "one query id per row"),
        (X * np.nan, y, qid, "NaN"),
    ]
    for wrong_X, wrong_y, wrong_qid, message in bad:
        fresh = clone(ranker)
        before = dict(vars(fresh))
        with pytest.raises(ValueError, match=message):
            fresh.partial_fit(wrong_X, wrong_y, qid=wrong_qid)
        assert vars(fresh) == before
        assert not hasattr(fresh, "n_features_in_")
        fresh.partial_fit(X, y, qid=qid)  # and starts without the warning of a fitted model
    assert not recwarn


def test_a_failed_batch_after_fit_leaves_the_fitted_model(case):
    X, y, qid, _ = case
    fitted = PairwiseELM(10, random_state=0).fit(X, y, qid=qid)
    before = fitted.predict(X)
    with pytest.warns(UserWarning, match="starts a new model"), pytest.raises(ValueError):
        fitted.partial_fit(X[:, :2], y[:3], qid=qid)
    assert fitted.n_features_in_ == 4
    np.testing.assert_array_equal(fitted.predict(X), before)


def test_fit_starts_afresh(case):
    X, y, qid, _ = case
    ranker = PairwiseELM(10, random_state=0).partial_fit(X[:20], y[:20], qid=qid[:20])
    np.testing.assert_allclose(
        ranker.fit(X, y, qid=qid).predict(X),
        PairwiseELM(10, random_state=0).fit(X, y, qid=qid).predict(X),
    )


@pytest.mark.parametrize("ranker", RANKERS)
def test_a_saved_stream_goes_on(case, tmp_path, ranker):
    X, y, qid, _ = case
    whole = clone(ranker).fit(X, y, qid=qid).predict(X)
    first = clone(ranker).partial_fit(X[:40], y[:40], qid=qid[:40])
    again = load(first.save(tmp_path / "stream.skops"))
    again.partial_fit(X[40:], y[40:], qid=qid[40:])
    np.testing.assert_allclose(again.predict(X), whole, atol=1e-8)
