"""scikit-learn's meta-estimators carry the qid, once the user switches routing on."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.ensemble import BaggingRegressor, StackingRegressor, VotingRegressor
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    RandomizedSearchCV,
    cross_val_predict,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from rankwise import PairwiseELM, QueryGroups, RidgeRanker
from rankwise.base import Ranker
from rankwise.exceptions import OneQueryWarning
from rankwise.metrics import make_scorer, parse
from rankwise.metrics.default import mean_score
from rankwise.selection.splits import QueryKFold
from tests.common.estimators import QUERY_WEIGHTS, RANKERS, small


@pytest.fixture(autouse=True)
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture
def judged():
    """90 rows of 12 interleaved queries with string ids."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(90, 4))
    y = np.clip(np.round(X[:, 0] + 1 + 0.3 * rng.normal(size=90)), 0, 3)
    qid = np.array([f"query {q}" for q in rng.integers(0, 12, 90)])
    return X, y, qid


class Recorder(Ranker):
    """Notes the qid that fit and score receive, beside the rows they belong to."""

    seen: ClassVar[list[tuple[str, np.ndarray, np.ndarray]]] = []

    def __init__(self, sign=1.0):
        self.sign = sign

    def fit(self, X, y, *, qid=None, sample_weight=None):
        self.seen.append(("fit", X, qid))
        self.fitted_ = True
        return self

    def predict(self, X):
        return self.sign * np.asarray(X)[:, 0]

    def score(self, X, y, sample_weight=None, *, qid=None):
        self.seen.append(("score", X, qid))
        return super().score(X, y, sample_weight, qid=qid)


@pytest.fixture
def check_calls(judged):
    """Counts the calls and looks up every row's own qid, by the row's first value."""
    first_column = judged[0][:, 0]
    Recorder.seen.clear()

    def check(qid, *, n_fits, n_scores):
        own_qid = dict(zip(first_column, qid, strict=True))
        calls = [what for what, _, _ in Recorder.seen]
        assert (calls.count("fit"), calls.count("score")) == (n_fits, n_scores)
        for _, rows, ids in Recorder.seen:
            assert ids is not None
            assert ids.dtype == qid.dtype
            assert list(ids) == [own_qid[value] for value in rows[:, 0]]

    return check


# Until 1.7 the score of a Pipeline in a search gets no metadata; scorers do.
passes_qid_to_score = pytest.mark.skipif(
    tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8), reason="lost by scikit-learn"
)


def test_a_scorer_gets_the_qid_in_every_release(judged):
    X, y, qid = judged
    pipeline = make_pipeline(StandardScaler(), RidgeRanker())
    search = GridSearchCV(
        pipeline, {"ridgeranker__alpha": [1.0]}, scoring=make_scorer("nDCG@10"),
        cv=QueryKFold(3), error_score="raise",
    )  # fmt: skip
    search.fit(X, y, qid=qid)
    expected = []
    for train, test in QueryKFold(3).split(X, y, qid):
        ranker = clone(pipeline).fit(X[train], y[train], qid=qid[train])
        groups = QueryGroups.from_qid(qid[test], len(test))
        expected.append(mean_score("nDCG@10", y[test], ranker.predict(X[test]), groups))
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(np.mean(expected), abs=1e-12)
    assert search.score(X, y, qid=qid) > 0.9


def test_a_lost_qid_names_the_fix_for_old_releases(judged, monkeypatch):
    X, y, qid = judged
    ranker = RidgeRanker().fit(X, y, qid=qid)
    monkeypatch.setattr(sklearn, "__version__", "1.7.2")
    with pytest.warns(OneQueryWarning, match=r"scikit-learn 1.7.2 does not pass qid .*scoring="):
        ranker.score(X, y)


@passes_qid_to_score
def test_grid_search_over_a_pipeline(judged):
    X, y, qid = judged
    search = GridSearchCV(
        make_pipeline(StandardScaler(), PairwiseELM(n_nodes=30, random_state=0)),
        {"pairwiseelm__C": [0.01, 1.0, 100.0]},
        error_score="raise",
    )
    search.fit(X, y, qid=qid)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.score(X, y, qid=qid) > 0.9
    assert search.best_estimator_.score(X, y, qid=qid) == search.score(X, y, qid=qid)


@passes_qid_to_score
def test_grid_search_scores_are_the_default_score_of_each_fold(judged):
    X, y, qid = judged
    pipeline = make_pipeline(StandardScaler(), RidgeRanker())
    cv = GroupKFold(3)
    search = GridSearchCV(pipeline, {"ridgeranker__alpha": [1.0]}, cv=cv, error_score="raise")
    search.fit(X, y, qid=qid, groups=qid)
    for number, (train, test) in enumerate(cv.split(X, y, qid)):
        ranker = clone(pipeline).fit(X[train], y[train], qid=qid[train])
        groups = QueryGroups.from_qid(qid[test], len(test))
        expected = mean_score("nDCG@10", y[test], ranker.predict(X[test]), groups)
        got = search.cv_results_[f"split{number}_test_score"][0]
        assert got == pytest.approx(expected, abs=1e-12)


@passes_qid_to_score
@pytest.mark.parametrize("kind", ["str", "int", "object", "datetime64[D]"])
def test_fit_and_score_in_a_pipeline_see_the_qid_of_their_rows(kind, judged, check_calls):
    X, y, qid = judged
    codes = np.unique(qid, return_inverse=True)[1]
    typed = {"str": qid, "object": qid.astype(object)}.get(kind, codes.astype(kind))
    pipeline = make_pipeline(FunctionTransformer(), Recorder())
    search = GridSearchCV(pipeline, {"recorder__sign": [1.0, -1.0]}, cv=3, error_score="raise")
    search.fit(X, y, qid=typed).score(X, y, qid=typed)
    check_calls(typed, n_fits=2 * 3 + 1, n_scores=2 * 3 + 1)


def test_cross_validate_keeps_rows_and_qid_together(judged, check_calls):
    X, y, qid = judged
    result = cross_validate(
        Recorder(), X, y, cv=GroupKFold(4), params={"qid": qid, "groups": qid}, error_score="raise"
    )
    assert (result["test_score"] > 0.8).all()
    check_calls(qid, n_fits=4, n_scores=4)


@pytest.mark.parametrize("key", RANKERS)
def test_cross_validate_with_group_folds(key, judged):
    X, y, qid = judged
    result = cross_validate(
        make_pipeline(StandardScaler(), small(key)), X, y, cv=GroupKFold(3),
        params={"qid": qid, "groups": qid}, error_score="raise", return_train_score=True,
    )  # fmt: skip
    assert np.isfinite(result["test_score"]).all()
    assert (result["train_score"] > 0.8).all()


@pytest.mark.parametrize("key", RANKERS)
def test_sample_weight_is_routed_where_it_is_honoured(key, judged):
    X, y, qid = judged
    ranker, weight = small(key), np.arange(90) % 3
    if key in QUERY_WEIGHTS:
        ranker.set_fit_request(sample_weight=True)
        weight = np.unique(qid, return_inverse=True)[1] + 1
    result = cross_validate(
        ranker, X, y, cv=GroupKFold(3), error_score="raise",
        params={"qid": qid, "groups": qid, "sample_weight": weight},
    )  # fmt: skip
    assert np.isfinite(result["test_score"]).all()


def test_scorer_asks_for_the_qid(judged):
    X, y, qid = judged
    scoring = {"nDCG@10": make_scorer("nDCG@10"), "AP": make_scorer("AP"),
               "M1D": make_scorer("M1D")}  # fmt: skip
    cv = GroupKFold(3)
    result = cross_validate(
        RidgeRanker(), X, y, cv=cv, scoring=scoring, params={"qid": qid, "groups": qid},
        error_score="raise",
    )  # fmt: skip
    for number, (train, test) in enumerate(cv.split(X, y, qid)):
        scores = RidgeRanker().fit(X[train], y[train], qid=qid[train]).predict(X[test])
        groups = QueryGroups.from_qid(qid[test], len(test))
        for name in scoring:
            sign = 1 if parse(name).greater_is_better else -1
            got = result[f"test_{name}"][number]
            assert got == pytest.approx(sign * parse(name).mean(y[test], scores, groups), abs=1e-12)


def test_query_folds_need_no_groups(judged):
    X, y, qid = judged
    search = RandomizedSearchCV(
        PairwiseELM(n_nodes=20, random_state=0), {"C": [0.1, 1.0, 10.0]}, n_iter=2,
        cv=QueryKFold(3), scoring=make_scorer("AP"), error_score="raise", random_state=0,
    ).fit(X, y, qid=qid)  # fmt: skip
    assert 0.5 < search.best_score_ <= 1.0


def test_cross_val_predict(judged):
    X, y, qid = judged
    scores = cross_val_predict(
        RidgeRanker(), X, y, cv=GroupKFold(3), params={"qid": qid, "groups": qid}
    )
    assert scores.shape == (90,)


@pytest.mark.parametrize("key", RANKERS)
def test_stacking_bagging_and_voting_take_rankers(key, judged):
    X, y, qid = judged
    ranker = small(key)
    ensembles = [
        StackingRegressor(
            [("a", ranker), ("b", Recorder())], final_estimator=RidgeRanker(), cv=3
        ),
        VotingRegressor([("a", ranker), ("b", Recorder())]),
        BaggingRegressor(ranker, n_estimators=3, random_state=0),
    ]  # fmt: skip
    for ensemble in ensembles:
        ensemble.fit(X, y, qid=qid)
        scores = ensemble.predict(X)
        assert scores.shape == (90,)
        assert np.corrcoef(scores, X[:, 0])[0, 1] > 0.5


def test_bagging_gives_each_bag_its_own_qid(judged, check_calls):
    X, y, qid = judged
    BaggingRegressor(Recorder(), n_estimators=3, bootstrap=False, random_state=0).fit(X, y, qid=qid)
    check_calls(qid, n_fits=3, n_scores=0)


def test_validation_data_go_through_a_pipeline(judged):
    """X_val is transformed like X when the pipeline is told so; the ranker must ask for it."""
    X, y, qid = judged
    ranker = PairwiseELM(n_nodes=20, C=[1e-3, 1.0, 1e3], random_state=0)
    ranker.set_fit_request(X_val=True, y_val=True, qid_val=True)
    pipeline = make_pipeline(StandardScaler(), ranker, transform_input=["X_val"])
    pipeline.fit(X[:60], y[:60], qid=qid[:60], X_val=X[60:], y_val=y[60:], qid_val=qid[60:])
    scaler = StandardScaler().fit(X[:60])
    direct = clone(ranker).fit(
        scaler.transform(X[:60]), y[:60], qid=qid[:60],
        X_val=scaler.transform(X[60:]), y_val=y[60:], qid_val=qid[60:],
    )  # fmt: skip
    assert pipeline[-1].C_ == direct.C_
    np.testing.assert_array_equal(pipeline.predict(X), direct.predict(scaler.transform(X)))


def test_validation_data_are_never_routed_unasked(judged):
    X, y, qid = judged
    with pytest.raises(Exception, match="X_val"):
        GridSearchCV(RidgeRanker(), {"alpha": [1.0]}).fit(X, y, qid=qid, X_val=X)


def test_without_routing_the_old_way_still_fits(judged):
    X, y, qid = judged
    scaled = StandardScaler().fit_transform(X)
    direct = RidgeRanker().fit(scaled, y, qid=qid)
    with sklearn.config_context(enable_metadata_routing=False):
        pipeline = make_pipeline(StandardScaler(), RidgeRanker()).fit(X, y, ridgeranker__qid=qid)
        np.testing.assert_array_equal(pipeline.predict(X), direct.predict(scaled))
