"""Importances under the names of the features: of models, pipelines, searches, explanations."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from rankwise import (
    FRank,
    LambdaMART,
    ORBoost,
    PairwiseELM,
    PolyOrdinalSVM,
    RankBoost,
    RankingForest,
    RankingTree,
    RidgeRanker,
)
from rankwise.explain import explain_ranking, explain_scores, feature_importances

NAMES = ["bm25", "age", "clicks"]


@pytest.fixture
def judged(rng):
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=NAMES)
    return X, (X["clicks"] > 0.3).to_numpy().astype(int) + (X["age"] > 1.5), np.arange(120) % 6


@pytest.mark.parametrize(
    "model",
    [
        RankBoost(n_estimators=10),
        FRank(n_estimators=10),
        LambdaMART(n_estimators=5),
        RankingForest(n_estimators=5, random_state=0),
        RankingTree(),
        ORBoost(n_estimators=10),
    ],
    ids=lambda model: type(model).__name__,
)
def test_importances_have_the_names_of_the_fit(model, judged):
    X, y, qid = judged
    found = feature_importances(model.fit(X, y, qid=qid))
    assert (found.names, found.source) == (NAMES, "feature_importances_")
    np.testing.assert_array_equal(found.values, model.feature_importances_)
    assert dict(found.ranked())["clicks"] == model.feature_importances_[2] > found.values[0]
    assert found.ranked()[0][1] == found.values.max()
    unnamed = feature_importances(model.fit(X.to_numpy(), y, qid=qid))
    assert unnamed.names == ["x0", "x1", "x2"]


@pytest.mark.parametrize("name", ["LightGBMRanker", "XGBoostRanker", "CatBoostRanker"])
def test_importances_of_boosters_of_other_libraries(name, judged):
    pytest.importorskip(name.removesuffix("Ranker").lower())
    import rankwise

    X, y, qid = judged
    model = getattr(rankwise, name)(n_estimators=5, random_state=0).fit(X, y, qid=qid)
    assert feature_importances(model).ranked()[0] == ("clicks", model.feature_importances_.max())


def test_sizes_of_weights(judged):
    X, y, qid = judged
    ridge = RidgeRanker().fit(X, -y, qid=qid)
    found = feature_importances(ridge)
    np.testing.assert_array_equal(found.values, np.abs(ridge.coef_))
    assert ridge.coef_[2] < 0 and found.ranked()[0][0] == "clicks"
    assert str(found).splitlines()[0] == "feature   size of coef_"
    assert str(found).splitlines()[1] == f"clicks    {-ridge.coef_[2]:.4g}"


def test_names_at_the_end_of_a_pipeline(judged):
    X, y, _ = judged
    X = X.assign(maker=np.where(X["bm25"] > 0, "a", "b"))
    encoded = ColumnTransformer([("kind", OneHotEncoder(), ["maker"])], remainder=StandardScaler())
    piped = make_pipeline(encoded, RankingTree(max_depth=3)).fit(X, y)
    expected = ["kind__maker_a", "kind__maker_b", *(f"remainder__{name}" for name in NAMES)]
    assert feature_importances(piped).names == expected
    search = GridSearchCV(piped, {"rankingtree__max_depth": [2, 3]}, cv=2).fit(X, y)
    found = feature_importances(search)
    assert found.names == expected and found.ranked()[0][0] == "remainder__clicks"


def test_steps_without_names_leave_numbers(judged):
    X, y, _ = judged
    nameless = FunctionTransformer(lambda rows: np.asarray(rows) ** 2)
    piped = make_pipeline(nameless, RandomForestRegressor(3, random_state=0)).fit(X, y)
    assert feature_importances(piped).names == ["x0", "x1", "x2"]


def test_explanations_give_importances_of_any_model(judged):
    X, y, qid = judged
    model = PairwiseELM(n_nodes=10, random_state=0).fit(X, y, qid=qid)
    for explained in (explain_scores(model, X[:9], X[9:19]), explain_ranking(model, X[:9])):
        found = feature_importances(explained)
        np.testing.assert_array_equal(found.values, np.abs(explained.values).mean(axis=0))
        assert (found.names, found.source) == (NAMES, "mean size of contributions")


@pytest.mark.parametrize(
    "model", [PairwiseELM(n_nodes=5, random_state=0), PolyOrdinalSVM(degree=2)]
)
def test_models_without_importances_are_refused(model, judged):
    X, y, _ = judged
    model.fit(X, y)
    with pytest.raises(TypeError, match=f"got {type(model).__name__}. Pass an explanation"):
        feature_importances(model)
