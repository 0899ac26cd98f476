"""Rows without queries are told of, and queries without a pair refused."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwise
from rankwise import QueryGroups, RankSVM, RidgeRanker
from rankwise.exceptions import OneQueryWarning
from rankwise.metrics import make_scorer
from tests.common.estimators import RANKERS, small

pytestmark = pytest.mark.filterwarnings("error::rankwise.exceptions.OneQueryWarning")


@pytest.fixture
def judged(rng):
    X = rng.normal(size=(60, 3))
    return X, np.clip(np.round(X[:, 0] + 1), 0, 3), np.repeat(np.arange(12), 5)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


# fit ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", RANKERS)
def test_fit_without_qid_warns_once_at_the_callers_line(key, judged):
    X, y, _ = judged
    ranker = small(key)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        ranker.fit(X, y)
    told = [one for one in told if one.category is OneQueryWarning]
    assert len(told) == 1
    assert told[0].filename == __file__
    assert f"{type(ranker).__name__} got no qid in fit and takes all 60 rows" in str(
        told[0].message
    )


@pytest.mark.parametrize("key", RANKERS)
def test_a_scalar_qid_is_one_query_without_a_warning(key, judged):
    X, y, _ = judged
    expected = small(key).fit(X, y, qid=np.zeros(len(y), dtype=int))
    for scalar in (0, "a", np.int64(7)):
        ranker = small(key).fit(X, y, qid=scalar)
        np.testing.assert_array_equal(ranker.predict(X), expected.predict(X))
        assert ranker.score(X, y, qid=scalar) == expected.score(X, y, qid=np.zeros(len(y)))


def test_the_message_names_routing_where_it_is_off(judged):
    X, y, _ = judged
    with pytest.warns(OneQueryWarning, match=r"set_config\(enable_metadata_routing=True\)"):
        RidgeRanker().fit(X, y)
    with (
        sklearn.config_context(enable_metadata_routing=True),
        pytest.warns(OneQueryWarning) as told,
    ):
        RidgeRanker().fit(X, y)
    assert "routing" not in str(told[0].message)


def test_one_row_and_ordinal_estimators_need_no_qid(judged):
    X, y, _ = judged
    RidgeRanker().fit(X[:1], y[:1])
    rankwise.RankingTree().fit(X, y)


def test_batches_without_qid_warn_and_may_hold_equal_labels(judged):
    X, y, qid = judged
    ranker = RidgeRanker().partial_fit(X, np.ones(len(y)), qid=qid)
    with pytest.warns(OneQueryWarning):
        ranker.partial_fit(X, y)


def test_streams_without_qid_warn(judged):
    X, y, qid = judged
    with pytest.warns(OneQueryWarning, match="60 rows"):
        RidgeRanker().fit(rankwise.streams.stream([(X[:30], y[:30]), (X[30:], y[30:])]))
    RidgeRanker().fit(
        rankwise.streams.stream([(X[:30], y[:30], qid[:30]), (X[30:], y[30:], qid[30:])])
    )


# rank, score and measures ------------------------------------------------------------------------


def test_ranks_and_scores_without_qid_warn_after_a_fit_on_queries(judged):
    X, y, qid = judged
    ranker = RidgeRanker().fit(X, y, qid=qid)
    calls = {
        "RidgeRanker.rank got no qid": lambda **q: ranker.rank(X, **q),
        "RidgeRanker.score got no qid": lambda **q: ranker.score(X, y, **q),
        "rank got no qid": lambda **q: rankwise.rank(make_pipeline(ranker), X, **q),
        "The scorer of nDCG": lambda **q: make_scorer("nDCG@10")(ranker, X, y, **q),
    }
    for text, call in calls.items():
        with pytest.warns(OneQueryWarning, match=text) as told:
            call()
        assert "60 rows as one query, but RidgeRanker was fitted on 12 queries" in str(
            told[0].message
        )
        assert told[0].filename == __file__
        call(qid=qid)
        call(qid=0)


def test_ranks_and_scores_of_one_query_need_no_qid(judged):
    X, y, qid = judged
    ranker = RidgeRanker().fit(X, y, qid=0)
    ranker.rank(X)
    ranker.score(X, y)
    of_many = pickle.loads(pickle.dumps(RidgeRanker().fit(X, y, qid=qid)))
    of_many.rank(X[:1])
    with pytest.warns(OneQueryWarning):
        of_many.rank(X)


def test_measures_of_other_models_need_no_qid(judged):
    X, y, _ = judged
    model = LinearRegression().fit(X, y)
    make_scorer("nDCG@10")(model, X, y)
    rankwise.rank(model, X)


def test_a_search_without_routing_warns_and_with_it_does_not(judged, routing):
    X, y, qid = judged
    grid = {"alpha": [0.1, 1.0]}
    with sklearn.config_context(enable_metadata_routing=False):
        search = GridSearchCV(RidgeRanker(), grid, cv=GroupKFold(3), refit=False)
        with pytest.warns(OneQueryWarning, match="enable_metadata_routing"):
            search.fit(X, y, groups=qid, qid=qid)
    search = GridSearchCV(make_pipeline(StandardScaler(), RidgeRanker()),
                          {"ridgeranker__alpha": [0.1, 1.0]}, cv=GroupKFold(3))  # fmt: skip
    search.fit(X, y, groups=qid, qid=qid)


# Queries without a pair --------------------------------------------------------------------------


def test_pairs_are_found_wherever_they_are(judged):
    X, _, qid = judged
    for row in (0, 4, 5, 30, 59):
        y = np.zeros(60)
        y[row] = 1
        RankSVM().fit(X, y, qid=qid)
    order = np.random.default_rng(0).permutation(60)
    with pytest.raises(ValueError, match="equal labels in each of the 12 queries"):
        RankSVM().fit(X[order], qid[order].astype(float), qid=qid[order])


def test_rows_of_no_weight_make_no_pair(judged):
    X, y, _ = judged
    weight = np.zeros(60)
    weight[::5] = 1
    with pytest.raises(ValueError, match="12 queries of one row each"):
        RankSVM().fit(X, y, sample_weight=weight, qid=np.repeat(np.arange(12), 5))


# Groups ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("qid", [0, "web", 2.5, np.float32(3), np.datetime64("2026-01-01")])
def test_scalars_are_the_id_of_one_query(qid):
    groups = QueryGroups.from_qid(qid, 4)
    assert (groups.n_queries, groups.n_samples) == (1, 4)
    assert groups.ids.tolist() == np.asarray([qid]).tolist()


@pytest.mark.parametrize("qid", [np.nan, np.datetime64("NaT")])
def test_missing_scalars_are_refused(qid):
    with pytest.raises(ValueError, match="qid must not be missing"):
        QueryGroups.from_qid(qid, 4)
