"""LightGBM's text: read back by LightGBM itself."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwise as rw
from rankwise.export import ExportError, to_lightgbm
from rankwise.prediction import scores_of
from tests.export import tree_models
from tests.export.tree_models import EXACT, NEAR, fitted, fitted_on_frame, frame, probes, rows

lightgbm = pytest.importorskip("lightgbm")


def scores(text, X):
    return lightgbm.Booster(model_str=text).predict(X)


def strict_scores(text, X):
    """Scores by a reader that tests ``<`` for ``<=`` on the dump of LightGBM."""
    trees = lightgbm.Booster(model_str=text).dump_model()["tree_info"]
    return np.array([sum(_strict_leaf(t["tree_structure"], row) for t in trees) for row in X])


def _strict_leaf(node, row):
    while "leaf_value" not in node:
        value = row[node["split_feature"]]
        if np.isnan(value):
            left = node["default_left"]
        else:
            left = value < node["threshold"]
        node = node["left_child" if left else "right_child"]
    return node["leaf_value"]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", EXACT)
def test_scores_are_bit_equal(name, missing, tmp_path):
    model = fitted(name, missing)
    text = to_lightgbm(model, tmp_path / "model.txt")
    assert (tmp_path / "model.txt").read_text() == text
    booster = lightgbm.Booster(model_file=tmp_path / "model.txt")
    again = lightgbm.Booster(model_str=booster.model_to_string())
    nominal = [4] if name == "nominal" else []
    for X in (rows(1, missing=True), probes(model, 5, categories=nominal)):
        wanted = scores_of(model, X)
        assert len(np.unique(wanted)) > 3
        np.testing.assert_array_equal(booster.predict(X), wanted)
        np.testing.assert_array_equal(again.predict(X), wanted)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", NEAR)
def test_scores_of_models_that_round_elsewhere(name, missing):
    model = fitted(name, missing)
    text = to_lightgbm(model)
    tolerance = 1e-6 if name == "xgboost" else 1e-13
    nominal = [4] if "nominal" in name else []
    for X in (rows(1, missing=True), probes(model, 5, categories=nominal)):
        wanted = scores_of(model, X)
        np.testing.assert_allclose(scores(text, X), wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ["leaf", "symmetric", "tree", "rank_boost"])
def test_readers_that_test_less_agree_on_float32_rows(name):
    model = fitted(name, True)
    X = probes(model, 5)
    X[::7, :2] = np.nan
    wanted = scores_of(model, X)
    np.testing.assert_array_equal(strict_scores(to_lightgbm(model), X), wanted)


def test_contributions_are_those_of_the_model():
    model, X = fitted("leaf"), rows(2, 20)
    booster = lightgbm.Booster(model_str=to_lightgbm(model))
    contributions = booster.predict(X, pred_contrib=True)
    np.testing.assert_allclose(contributions.sum(axis=1), booster.predict(X), atol=1e-12)
    own = rw.explain.explain_scores(model, X)
    np.testing.assert_allclose(contributions[:, :-1], own.values, atol=1e-12)


def test_weights_of_the_training_rows_are_the_counts():
    X, y = np.arange(6.0)[:, None], [0, 0, 1, 1, 2, 2]
    tree = rw.RankingTree().fit(X, y)
    (stored,) = lightgbm.Booster(model_str=to_lightgbm(tree)).dump_model()["tree_info"]
    root = stored["tree_structure"]
    assert root["internal_count"] == 6
    leaves = [root["left_child"], root["right_child"]["left_child"]]
    assert [leaf["leaf_count"] for leaf in leaves] == [2, 2]
    tree.fit(X, y, sample_weight=np.full(6, 0.25))
    (stored,) = lightgbm.Booster(model_str=to_lightgbm(tree)).dump_model()["tree_info"]
    root = stored["tree_structure"]
    # The counts are fractions of the root's weight, rounded leaf by leaf.
    assert abs(root["internal_count"] - 2**30) <= 3
    assert root["left_child"]["leaf_weight"] == 0.5


@pytest.mark.parametrize("missing", [False, True])
def test_named_categories_are_those_of_pandas(missing):
    model = fitted_on_frame(missing)
    booster = lightgbm.Booster(model_str=to_lightgbm(model))
    X = frame(3, missing=True)
    np.testing.assert_array_equal(booster.predict(X), model.predict(X))
    assert booster.pandas_categorical == [sorted(tree_models.COLOURS), ["s", "m", "l"]]
    unknown = X.assign(colour="never seen")
    coded = pd.DataFrame(model._encoded_rows(unknown), columns=X.columns)
    raw = lightgbm.Booster(model_str=to_lightgbm(model)).predict(coded.to_numpy())
    np.testing.assert_array_equal(raw, model.predict(unknown))


def test_scalers_go_into_the_thresholds():
    X = rows(0)
    model = make_pipeline(StandardScaler(), rw.LambdaMART(8, min_samples_leaf=3))
    model.fit(X, tree_models.labels(X))
    np.testing.assert_array_equal(scores(to_lightgbm(model), X), model.predict(X))
    Z = probes(model, 5)
    np.testing.assert_array_equal(scores(to_lightgbm(model), Z), model.predict(Z))


def test_a_model_that_learnt_nothing_is_a_constant():
    nothing = rw.LambdaMART(3).fit(np.ones((9, 2)), np.arange(9) % 3, qid=0)
    np.testing.assert_array_equal(scores(to_lightgbm(nothing), np.ones((4, 2))), np.zeros(4))
    flat = rw.RankingTree().fit(np.ones((4, 1)), [1, 1, 1, 1])
    assert scores(to_lightgbm(flat), np.ones((1, 1))) == flat.rank_score(np.ones((1, 1)))


def test_thresholds_at_zero_and_beyond_all_numbers():
    X = np.array([[0.0], [5e-36], [2e-35], [np.nan]] * 4)
    tree = rw.RankingTree().fit(X, [0, 0, 1, 2] * 4)
    text = to_lightgbm(tree)
    (line,) = (line for line in text.split("\n") if line.startswith("threshold="))
    first, missing = sorted(float(word) for word in line.removeprefix("threshold=").split())
    assert (np.float32(1e-35) < first < 2e-35, missing) == (True, np.finfo(float).max)
    np.testing.assert_array_equal(scores(text, X), tree.rank_score(X))
    below = -X
    tree.fit(below, [1, 1, 0, 2] * 4)
    np.testing.assert_array_equal(scores(to_lightgbm(tree), below), tree.rank_score(below))


HOSTILE = ["a b", 'say "x"', "{a:1}", "<b>&amp;", "line\nend", "grün ☃", "", "a\tb", "a_b"]


def test_hostile_names_survive_or_change_with_a_warning(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, len(HOSTILE)))
    model = rw.LambdaMART(3, min_samples_leaf=2).fit(X, X.sum(axis=1) > 0, qid=0)
    with pytest.warns(UserWarning, match="not accept 7 of the feature names; the first, 'a b'"):
        to_lightgbm(model, tmp_path / "m.txt", features=HOSTILE)
    booster = lightgbm.Booster(model_file=tmp_path / "m.txt")
    names = booster.feature_name()
    assert len(set(names)) == len(names) == len(HOSTILE)
    assert (names[3], names[5], names[8]) == ("<b>&amp;", "grün_☃", "a_b")
    assert json.loads(json.dumps(booster.dump_model()))["feature_names"] == names
    np.testing.assert_array_equal(booster.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="distinct"):
        to_lightgbm(model, features=["a"] * len(HOSTILE))


def test_models_that_are_no_sums_of_trees_are_refused():
    X = rows(0, 40)
    with pytest.raises(ExportError, match=r"takes sums of trees.*RidgeRanker is made of weighted"):
        to_lightgbm(rw.RidgeRanker().fit(X, X[:, 0], qid=0))


@pytest.mark.parametrize("value", [-1.0, 0.5, 2.0**21])
def test_categories_that_are_no_small_numbers_are_refused(value):
    X = np.array([[value], [1.0], [2.0]] * 6)
    tree = rw.RankingTree(categorical_features=[0]).fit(X, [0, 1, 0] * 6)
    with pytest.raises(ExportError, match="column 0 must be whole numbers from 0"):
        to_lightgbm(tree)


def test_a_blend_of_trees():
    """AutoRanker that keeps trees alone is one sum; with other families it is refused."""
    X = rows(0)
    auto = rw.AutoRanker(n_trials=2, time_budget=None, random_state=0, cv=2)
    auto.fit(X, tree_models.labels(X), qid=np.arange(len(X)) // 10)
    others, weights, levels = auto.models_, auto.weights_, auto.levels_
    auto.models_ = [fitted("leaf"), fitted("symmetric")]
    auto.weights_, auto.levels_ = np.array([0.5, 2.0]), np.array([0.1, -0.3])
    Z = probes(fitted("leaf"), 5)
    np.testing.assert_allclose(scores(to_lightgbm(auto), Z), auto.predict(Z), atol=1e-12)
    auto.models_ = [*others, fitted("leaf")]
    auto.weights_, auto.levels_ = np.append(weights, 1.0), np.append(levels, 0.0)
    with pytest.raises(ExportError, match=r"takes sums of trees.*a blend of models. No trees: \w+"):
        to_lightgbm(auto)
