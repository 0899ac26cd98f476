"""The qid reaches predict and transform of whatever asks for it, in compare and scorers too."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import (
    LinearRegressionRanker,
    ORBoost,
    RankingData,
    RankSVM,
    RidgeRanker,
    StackingRanker,
    compare,
    evaluate,
)
from rankwise.features import QueryScaler
from rankwise.metrics import make_scorer
from rankwise.prediction import (
    call_with,
    fit_with,
    labels_of,
    predictions,
    scores_of,
    select_accepted,
)
from rankwise.selection.splits import query_folds


@pytest.fixture
def data(rng):
    """200 rows of 20 queries whose features differ in level and spread from query to query."""
    qid = rng.permutation(np.arange(200) % 20)
    X = rng.normal(size=(200, 3)) * (1 + qid % 4)[:, None] + 10 * (qid % 7)[:, None]
    within = QueryScaler("standard").fit_transform(X, qid=qid)
    y = np.clip(np.round(within[:, 0] + 0.5 * rng.normal(size=200) + 1), 0, 3)
    return RankingData(X, y, qid=qid.astype(str))


PIPELINES = [
    make_pipeline(QueryScaler("standard"), RankSVM(C=0.1)),
    make_pipeline(StandardScaler(), QueryScaler(), RidgeRanker()),
    make_pipeline(QueryScaler(), ORBoost(n_estimators=20, random_state=0)),
    StackingRanker([LinearRegressionRanker(), RidgeRanker()], cv=3),
]


def by_query(estimator, data):
    """Scores of one query at a time, its rows alone."""
    out = np.empty(data.n_samples)
    for query in np.unique(data.qid):
        rows = data.qid == query
        out[rows] = scores_of(estimator, data.X[rows], data.qid[rows])
    return out


@pytest.mark.parametrize("estimator", PIPELINES, ids=lambda e: type(e).__name__)
def test_scores_are_those_of_each_query_alone(estimator, data):
    fit_with(estimator, data.X, data.y, {"qid": data.qid})
    scores = scores_of(estimator, data.X, data.qid)
    np.testing.assert_allclose(scores, by_query(estimator, data), rtol=1e-9, atol=1e-9)
    assert not np.allclose(scores, scores_of(estimator, data.X))


def test_a_pipeline_scales_test_queries_by_themselves_in_compare(data):
    board = compare({"svm": PIPELINES[0], "stack": PIPELINES[3]}, data, cv=2, measures=["nDCG@10"])
    for number, fold in enumerate(query_folds(data, 2)):
        cell = board.cell("svm", f"fold{number + 1}")
        scale = QueryScaler("standard")
        svm = RankSVM(C=0.1).fit(
            scale.fit_transform(fold.train.X, qid=fold.train.qid), fold.train.y, qid=fold.train.qid
        )
        scores = svm.predict(scale.transform(fold.test.X, qid=fold.test.qid))
        np.testing.assert_allclose(cell.scores, scores, rtol=1e-6, atol=1e-9)
        expected = evaluate(fold.test.y, scores, fold.test.qid, ["nDCG@10"]).per_query["nDCG@10"]
        np.testing.assert_allclose(next(iter(cell.values.values())), expected, atol=1e-12)

        stack = StackingRanker([LinearRegressionRanker(), RidgeRanker()], cv=3, random_state=0)
        stack.set_params(measure="nDCG@10").fit(fold.train.X, fold.train.y, qid=fold.train.qid)
        np.testing.assert_allclose(
            board.cell("stack", f"fold{number + 1}").scores,
            stack.predict(fold.test.X, qid=fold.test.qid),
            rtol=1e-6,
            atol=1e-9,
        )


def test_scorers_and_searches_pass_the_query_on(data):
    pipeline = PIPELINES[0]
    fit_with(pipeline, data.X, data.y, {"qid": data.qid})
    scores = by_query(pipeline, data)
    expected = evaluate(data.y, scores, data.qid, ["AP"])["AP"]
    scorer = make_scorer("AP")
    assert scorer(pipeline, data.X, data.y, qid=data.qid) == pytest.approx(expected, abs=1e-12)
    assert scorer(pipeline, data.X, data.y, qid=data.groups) == pytest.approx(expected, abs=1e-12)
    search = GridSearchCV(pipeline, {"ranksvm__C": [0.1]}, cv=2)
    fit_with(search, data.X, data.y, {"qid": data.qid})
    np.testing.assert_allclose(scores_of(search, data.X, data.qid), scores, rtol=1e-6, atol=1e-9)


def test_classes_of_an_ordinal_pipeline_are_those_of_the_query(data):
    pipeline = PIPELINES[2]
    fit_with(pipeline, data.X, data.y, {"qid": data.qid})
    told = predictions(pipeline, data.X, data.qid)
    last = pipeline[-1]
    rows = QueryScaler().fit(data.X).transform(data.X, qid=data.qid)
    np.testing.assert_array_equal(told.scores, last.rank_score(rows))
    np.testing.assert_array_equal(told.labels, last.predict(rows))
    np.testing.assert_array_equal(labels_of(pipeline, data.X, told.scores, data.qid), told.labels)


def test_only_what_is_asked_for_is_passed(data):
    plain = Ridge().fit(data.X, data.y)
    assert select_accepted(plain, "predict", {"qid": data.qid}) == {}
    np.testing.assert_array_equal(call_with(plain, "predict", data.X, data.qid),
                                  plain.predict(data.X))  # fmt: skip
    assert list(select_accepted(PIPELINES[0], "predict", {"qid": 1, "groups": 2})) == ["qid"]
    assert (
        select_accepted(make_pipeline(StandardScaler(), RidgeRanker()), "predict", {"qid": 1}) == {}
    )
    assert list(select_accepted(RidgeRanker(), "fit", {"qid": 1, "groups": 2})) == ["qid"]
    validation = {"X_val": data.X, "y_val": data.y, "qid_val": data.qid}
    assert fit_with(RidgeRanker(), data.X, data.y, {"qid": data.qid}, validation) == {
        "qid", "X_val", "y_val", "qid_val"
    }  # fmt: skip
    assert fit_with(Ridge(), data.X, data.y, {"qid": data.qid}, validation) == set()
