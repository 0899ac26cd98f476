"""Scaling within queries: against loops, through pipelines, without spread."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from scipy.stats import rankdata
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from rankwise import RidgeRanker
from rankwise.features import QueryScaler


@pytest.fixture
def judged(rng):
    X, qid = rng.normal(size=(50, 3)) * 100, rng.integers(0, 8, 50)
    X[:, 2] = qid  # no spread within queries
    return X, qid


@pytest.mark.parametrize(
    ("method", "peer"), [("min_max", MinMaxScaler), ("standard", StandardScaler)]
)
def test_each_query_is_scaled_as_by_its_own_scaler(method, peer, judged):
    X, qid = judged
    scaled = QueryScaler(method).fit_transform(X, qid=qid)
    for query in np.unique(qid):
        rows = qid == query
        np.testing.assert_allclose(scaled[rows], peer().fit_transform(X[rows]), atol=1e-12)
    assert not scaled[:, 2].any()


def test_ranks_are_centred_and_shared_by_equal_values(judged, rng):
    X, qid = judged
    X[:, 1] = rng.integers(0, 3, 50)
    scaled = QueryScaler("rank").fit_transform(X, qid=qid)
    for query in np.unique(qid):
        of = X[qid == query]
        expected = (rankdata(of, axis=0) - (len(of) + 1) / 2) / len(of)
        np.testing.assert_allclose(scaled[qid == query], expected, atol=1e-15)
    assert not scaled[:, 2].any()
    shaken = X * (1 + 1e-15 * rng.integers(-1, 2, X.shape))  # the last bit of equal values
    np.testing.assert_array_equal(QueryScaler("rank").fit_transform(shaken, qid=qid), scaled)


def test_ranks_without_ids_rise_with_the_values(judged):
    X, _ = judged
    scaler = QueryScaler("rank").fit(X)
    own = scaler.transform(X)
    np.testing.assert_allclose(own, (rankdata(X, axis=0) - 25.5) / 50, atol=1e-12)
    grid = np.sort(np.concatenate([X, 3 * X, X + 1e-3]), axis=0)
    ranks = scaler.transform(grid)
    assert (np.diff(ranks, axis=0)[np.diff(grid, axis=0) > 0] > 0).all()
    assert (abs(ranks) < 0.5).all()
    constant = QueryScaler("rank").fit(np.ones((5, 1)))
    assert constant.transform([[0.0], [1.0], [2.0]]).ravel().tolist() == [-0.25, 0.0, 0.25]


def test_rows_without_ids_are_scaled_as_those_of_the_fit(judged):
    X, qid = judged
    scaled = QueryScaler().fit(X[:20], qid=qid[:20]).transform(X)
    np.testing.assert_allclose(scaled, MinMaxScaler().fit(X[:20]).transform(X))


def test_order_and_type_of_rows_do_not_matter(judged, rng):
    X, qid = judged
    order = rng.permutation(50)
    scaler = QueryScaler().fit(X)
    expected = scaler.transform(X, qid=qid)[order]
    np.testing.assert_array_equal(scaler.transform(X[order], qid=qid[order].astype(str)), expected)
    single = scaler.transform(X.astype(np.float32), qid=qid)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single[order], expected, atol=1e-5)


def test_qid_reaches_fit_predict_and_score_of_a_pipeline(judged):
    X, qid = judged
    y = np.clip(np.round(X[:, 0] / 50 + 1), 0, 3)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(QueryScaler(), RidgeRanker())
        pipeline.fit(X, y, qid=qid)
        scaled = QueryScaler().fit_transform(X, qid=qid)
        ranker = RidgeRanker().fit(scaled, y, qid=qid)
        np.testing.assert_array_equal(pipeline.predict(X, qid=qid), ranker.predict(scaled))
        assert pipeline.score(X, y, qid=qid) == ranker.score(scaled, y, qid=qid)
        result = cross_validate(
            pipeline, X, y, cv=GroupKFold(3), params={"qid": qid, "groups": qid},
            error_score="raise",
        )  # fmt: skip
    assert np.isfinite(result["test_score"]).all()


def test_lengths_are_checked(judged):
    X, qid = judged
    with pytest.raises(ValueError, match="qid must have n_samples=50 entries, got 49"):
        QueryScaler().fit(X, qid=qid[1:])
    with pytest.raises(ValueError, match="qid must have n_samples=50 entries, got 49"):
        QueryScaler().fit(X).transform(X, qid=qid[1:])
