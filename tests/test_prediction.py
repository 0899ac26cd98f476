"""Scores and ranks of fitted models of any form."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwise

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
y = np.clip(np.round(X[:, 0] + 1), 0, 2)
qid = np.arange(60) // 10


def models():
    ranker = rankwise.RidgeRanker()
    ordinal = rankwise.ProportionalOdds()
    grid = {"ridgeranker__alpha": [0.1, 1.0]}
    return {
        "ranker": ranker,
        "pipeline": make_pipeline(StandardScaler(), ranker),
        "search": GridSearchCV(make_pipeline(StandardScaler(), ranker), grid, cv=2),
        "ordinal": ordinal,
        "ordinal pipeline": make_pipeline(StandardScaler(), ordinal),
        "regressor": LinearRegression(),
    }


@pytest.mark.parametrize("name", models())
def test_ranks_follow_the_scores_within_queries(name):
    model = models()[name].fit(X, y)
    scores = rankwise.scores(model, X)
    assert scores.shape == (60,)
    assert len(np.unique(scores)) > 10  # scores of an ordinal model, and not its classes
    ranks = rankwise.rank(model, X, qid)
    for query in range(6):
        rows = qid == query
        assert sorted(ranks[rows]) == list(range(1, 11))
        assert (np.diff(scores[rows][np.argsort(ranks[rows])]) <= 0).all()


def test_scores_of_an_ordinal_pipeline_are_those_of_its_last_step():
    pipeline = models()["ordinal pipeline"].fit(X, y)
    wanted = pipeline[-1].rank_score(pipeline[0].transform(X))
    np.testing.assert_array_equal(rankwise.scores(pipeline, X), wanted)


def test_lazy_frames_are_collected():
    frame = pl.DataFrame(X, schema=["a", "b", "c"])
    ranker = rankwise.RidgeRanker().fit(frame.lazy(), y, qid=qid)
    assert ranker.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(ranker.predict(frame.lazy()), ranker.predict(frame))
    np.testing.assert_array_equal(rankwise.scores(ranker, frame.lazy()), ranker.predict(frame))
