"""Files for Solr, RankLib and Elasticsearch score as the estimators do, read by other programs."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

import rankwise as rw
from rankwise._registry import REGISTRY
from rankwise.export import ExportError, to_elasticsearch, to_ranklib, to_solr
from rankwise.export.chains import is_exportable
from rankwise.export.parts import part_of
from rankwise.prediction import scores_of
from tests.common.estimators import ORDINAL, RANKERS, small

from .conftest import assert_near, expected, judged, neural, rows
from .readers import elasticsearch_scores, ranklib_scores, solr_scores

NAMES = [f"f{number}" for number in range(1, 6)]
SCORING = [key for key in (*RANKERS, *ORDINAL) if is_exportable(REGISTRY[key].path)]
LINEAR = ["linear_regression", "ridge", "rankrls", "svr", "mprank", "pair_ranker", "rank_svm",
          "rank_lr", "pruned_rank_svm", "ada_rank", "coordinate_ascent", "prank", "widrow_hoff",
          "aggregate_prank", "proportional_odds",
          "calibrated_ranker"]  # fmt: skip  # of a linear model here
TREES = ["ranking_tree", "ranking_forest", "orboost", "rank_boost", "frank", "lambdamart",
         "lightgbm", "xgboost", "catboost"]  # fmt: skip
NETWORKS = ["pointwise_elm", "pairwise_elm", "elmrank"]
NEURAL = ["rank_net", "list_net", "list_mle", "lambda_rank"]
NEITHER = ["lsrrank", "clsrrank", "svrank", "lssvr", "voted_prank", "ordinal_svm",
           "poly_ordinal_svm", "auto"]  # fmt: skip
SETTINGS = {"mprank": {"kernel": "linear"}, "svr": {"kernel": "linear"}}


def by_name(X):
    return dict(zip(NAMES, np.asarray(X, dtype=np.float32).T, strict=False))


def constant_of(estimator):
    """What linear models of engines lack."""
    if hasattr(estimator, "steps"):
        estimator = estimator.steps[-1][1]
    estimator = getattr(estimator, "estimator_", estimator)
    if isinstance(estimator, rw.WidrowHoff):
        return estimator.coef_[-1]
    return getattr(estimator, "intercept_", 0.0)


def test_every_exportable_estimator_is_of_one_form():
    assert sorted(SCORING) == sorted([*LINEAR, *TREES, *NETWORKS, *NEURAL, *NEITHER])


@pytest.mark.parametrize("key", LINEAR)
def test_linear_models(key, fitted, tmp_path):
    estimator = fitted(key, **SETTINGS.get(key, {}))
    X = rows(10)
    wanted, constant = expected(estimator, X), constant_of(estimator)
    model = to_solr(estimator, tmp_path / "solr.json", name="mine", store="ours")
    assert model["class"] == "org.apache.solr.ltr.model.LinearModel"
    assert (model["name"], model["store"]) == ("mine", "ours")
    assert json.loads((tmp_path / "solr.json").read_text()) == model
    assert_near(solr_scores(model, by_name(X)), wanted - constant)
    assert_near(ranklib_scores(to_ranklib(estimator), X), wanted, 1e-12)
    body = to_elasticsearch(estimator)
    assert body["model"]["model"]["type"] == "model/linear"
    assert_near(elasticsearch_scores(body, NAMES, X), wanted - constant)


@pytest.mark.parametrize("key", TREES)
def test_trees(key, fitted, tmp_path):
    estimator = fitted(key)
    X = np.concatenate([rows(0), rows(11)])
    wanted = expected(estimator, X)
    model = to_solr(estimator)
    assert model["class"] == "org.apache.solr.ltr.model.MultipleAdditiveTreesModel"
    assert_near(solr_scores(model, by_name(X)), wanted)
    text = to_ranklib(estimator, tmp_path / "ranklib.txt")
    assert (tmp_path / "ranklib.txt").read_text() == text
    assert_near(ranklib_scores(text, X), wanted)
    body = to_elasticsearch(estimator, tmp_path / "es.json", name="mine")
    assert json.loads((tmp_path / "es.json").read_text()) == body
    assert body["model"]["name"] == "mine"
    assert_near(elasticsearch_scores(body, NAMES, X), wanted)


@pytest.mark.parametrize("key", NETWORKS)
@pytest.mark.parametrize("activation", ["sigmoid", "tanh", "relu", "linear"])
def test_networks(key, activation, fitted):
    estimator = fitted(key, activation=activation, n_draws=2)
    X = rows(12)
    model = to_solr(estimator)
    kind = "LinearModel" if activation == "linear" else "NeuralNetworkModel"
    assert model["class"].endswith(kind)
    found, wanted = solr_scores(model, by_name(X)), expected(estimator, X)
    if activation == "linear":
        found = found - np.mean(found - wanted)  # a linear model has no constant
    assert_near(found, wanted)


@pytest.mark.parametrize("key", NEURAL)
def test_neural_rankers(key):
    estimator, X = neural(key), rows(13)
    model = to_solr(estimator)
    assert [layer["activation"] for layer in model["params"]["layers"]] == [
        "tanh", "tanh", "identity",
    ]  # fmt: skip
    assert_near(solr_scores(model, by_name(X)), expected(estimator, X))
    with pytest.raises(ExportError, match="tanh nodes"):
        to_ranklib(estimator)


@pytest.mark.parametrize("key", NEITHER)
def test_other_models_say_what_engines_take(key, fitted):
    for write in (to_solr, to_ranklib, to_elasticsearch):
        with pytest.raises(ExportError, match=r"takes linear models, sums of trees.* Use to_onnx"):
            write(fitted(key))


@pytest.mark.parametrize("activation", ["gaussian", "sine", "hardlimit"])
def test_nodes_that_solr_does_not_know(activation, fitted):
    with pytest.raises(ExportError, match=f"sigmoid, tanh, relu nodes.*{activation} nodes"):
        to_solr(fitted("pairwise_elm", activation=activation))
    X, y, _ = judged()
    last = rw.PairwiseELM(n_nodes=5, activation=activation, C=1.0)
    behind_others = make_pipeline(rw.features.RandomNodes(5, activation="tanh"), last).fit(X, y)
    with pytest.raises(ExportError, match=f"sigmoid, tanh, relu nodes.*{activation} nodes"):
        to_solr(behind_others)


@pytest.mark.parametrize(
    "scaler", [StandardScaler(), MinMaxScaler(), MinMaxScaler((-1, 1)), MaxAbsScaler(),
               RobustScaler(), StandardScaler(with_mean=False), StandardScaler(with_std=False)],
)  # fmt: skip
@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_scalers_before_linear_models_and_networks(scaler, shift):
    X, y, _ = judged()
    X = X + shift
    Z = rows(14) + np.float32(shift)
    for last in (rw.RidgeRanker(alpha=1.0), rw.PairwiseELM(n_nodes=20, C=0.01, random_state=0)):
        pipeline = make_pipeline(scaler, last).fit(X, y)
        wanted = scores_of(pipeline, Z.astype(np.float64))
        model = to_solr(pipeline)
        kind = model["features"][0]["norm"]["class"].rpartition(".")[2]
        to_unit = isinstance(scaler, MinMaxScaler) and scaler.feature_range == (0, 1)
        assert kind == ("MinMaxNormalizer" if to_unit else "StandardNormalizer")
        found = solr_scores(model, by_name(Z))
        if isinstance(last, rw.PairwiseELM):
            assert_near(found, wanted)
            continue
        assert_near(found, wanted - last.intercept_)
        assert_near(ranklib_scores(to_ranklib(pipeline), Z), wanted, 1e-12)
        body = to_elasticsearch(pipeline)
        assert_near(elasticsearch_scores(body, NAMES, Z), wanted - last.intercept_)


def test_several_scalers_and_a_step_that_is_none():
    X, y, _ = judged()
    steps = (MinMaxScaler(), "passthrough", StandardScaler())
    pipeline = make_pipeline(*steps, rw.RidgeRanker(alpha=1.0)).fit(X, y)
    Z = rows(15)
    wanted = pipeline.predict(Z.astype(np.float64))
    found = solr_scores(to_solr(pipeline), by_name(Z))
    assert_near(found, wanted - constant_of(pipeline))
    assert_near(ranklib_scores(to_ranklib(pipeline), Z), wanted, 1e-12)
    with pytest.raises(ExportError, match="clip=True"):
        to_solr(make_pipeline(MinMaxScaler(clip=True), rw.RidgeRanker()).fit(X, y))


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler()])
@pytest.mark.parametrize("key", ["ranking_forest", "orboost", "lambdamart", "lightgbm"])
def test_scalers_go_into_the_thresholds_of_trees(scaler, key):
    X, y, _ = judged()
    pipeline = make_pipeline(scaler, small(key)).fit(X, y)
    # The training rows as float32: their thresholds lie between them, and none may change sides.
    Z = np.concatenate([X.astype(np.float32), rows(16)])
    wanted = scores_of(pipeline, Z.astype(np.float64))
    model = to_solr(pipeline)
    assert all(set(feature) == {"name"} for feature in model["features"])
    assert_near(solr_scores(model, by_name(Z)), wanted)
    assert_near(ranklib_scores(to_ranklib(pipeline), Z), wanted)


def test_values_at_thresholds(fitted):
    forest = fitted("ranking_forest")
    cuts = np.unique(np.concatenate([t.threshold[t.feature >= 0] for t in forest.trees_]))
    cuts = cuts.astype(np.float32)
    near = np.concatenate(
        [cuts, *(np.nextafter(cuts, np.float32(way)) for way in (-np.inf, np.inf))]
    )
    X = np.repeat(near[:, None], 5, axis=1)
    wanted = expected(forest, X)
    assert_near(solr_scores(to_solr(forest), by_name(X)), wanted, 1e-6)
    assert_near(ranklib_scores(to_ranklib(forest), X), wanted, 1e-6)


@pytest.mark.parametrize(
    "scaler", [None, StandardScaler(), MinMaxScaler(), MinMaxScaler((-1, 1)), MaxAbsScaler(),
               RobustScaler()],
)  # fmt: skip
@pytest.mark.parametrize("key", ["ranking_tree", "lightgbm", "xgboost", "catboost"])
def test_thresholds_of_scaled_columns(scaler, key):
    """Scalers and boosters round; the branches at a threshold and beside it stay the same."""
    rng = np.random.default_rng(1)
    X = np.stack([rng.normal(size=90), np.round(rng.normal(size=90)) * 0.1], axis=1)
    y = np.digitize(X[:, 0] + 5 * X[:, 1], [-0.5, 0.5])
    ranker = small(key)
    model = make_pipeline(scaler, ranker) if scaler else ranker
    model.fit(X, y)
    trees = part_of(model, "RankLib")[1][0].trees
    cuts, columns = (
        np.concatenate([getattr(tree, name)[tree.feature >= 0] for tree in trees])
        for name in ("threshold", "feature")
    )
    at = cuts.astype(np.float32)  # exact
    near = [np.nextafter(at, np.float32(way)) for way in (-np.inf, np.inf)]
    Z = rng.normal(size=(3 * len(at), 2)).astype(np.float32)
    Z[np.arange(len(Z)), np.tile(columns, 3)] = np.concatenate([at, *near])
    wanted = scores_of(model, Z.astype(np.float64))
    assert_near(ranklib_scores(to_ranklib(model), Z), wanted, 1e-6)


def test_thresholds_beside_zero_in_lightgbm():
    """LightGBM takes values within 1e-35 of 0 for 0, on both sides of its thresholds there."""
    X = np.repeat([-1.0, 0.0, 1.0], 30)[:, None]
    model = rw.LightGBMRanker(n_estimators=4, min_child_samples=5, n_jobs=1)
    model.fit(X, np.repeat([0, 2, 1], 30))
    zero = np.float32(1e-35)
    sides = [np.nextafter(zero, np.float32(way)) for way in (0, np.inf)]
    Z = np.array([0.0, zero, *sides], dtype=np.float32)
    Z = np.concatenate([Z, -Z])[:, None]
    assert len(np.unique(model.predict(Z))) == 3
    assert_near(ranklib_scores(to_ranklib(model), Z), model.predict(Z), 1e-6)


def test_middles_between_values_stay_above_the_cuts_of_orboost(boosted_at_middles):
    booster, X = boosted_at_middles
    wanted = booster.rank_score(X)
    assert_near(solr_scores(to_solr(booster), by_name(X)), wanted)
    assert_near(ranklib_scores(to_ranklib(booster), X), wanted)


@pytest.mark.parametrize("key", [key for key in TREES if key != "orboost"])
def test_missing_values(key, fitted):
    estimator = fitted(key, missing=True)
    X = rows(17, 100, missing=True)
    model = to_solr(estimator, nulls=True)
    assert model["params"]["isNullSameAsZero"] is False
    assert_near(solr_scores(model, by_name(X)), expected(estimator, X))
    as_zero = np.nan_to_num(X)
    if key == "xgboost":  # its trees have a side for missing values whether or not there were any
        models = to_solr(estimator), to_ranklib(estimator)
    else:
        with pytest.warns(UserWarning, match=r"Solr reads .* Pass nulls=True\.$"):
            solr = to_solr(estimator)
        with pytest.warns(UserWarning, match=r"RankLib reads .* Fill them before training\.$"):
            models = solr, to_ranklib(estimator)
        with pytest.warns(UserWarning, match=r"Elasticsearch reads .* Pass native=True\.$"):
            to_elasticsearch(estimator)
    assert_near(solr_scores(models[0], by_name(X)), expected(estimator, as_zero))
    assert_near(ranklib_scores(models[1], X), expected(estimator, as_zero))
    assert "Infinity" not in json.dumps(models[0])


def test_a_root_that_parts_missing_values_is_left_out():
    X = np.array([[np.nan, 0.0], [np.nan, 1.0], [1.0, 0.0], [1.0, 1.0]] * 3)
    y = np.array([3, 3, 0, 1] * 3)
    tree = rw.RankingTree().fit(X, y)
    assert np.isinf(tree.tree_.threshold[0])
    with pytest.warns(UserWarning, match="missing"):
        text = to_ranklib(tree)
    assert text.count("<feature>") == 1
    rows_without = np.array([[1.0, 0.0], [5.0, 1.0]])
    np.testing.assert_array_equal(ranklib_scores(text, rows_without), [0.0, 1.0])
    model = to_solr(tree, nulls=True, features=["a", "b"])
    found = solr_scores(model, {"a": np.array([np.nan, 1.0]), "b": np.array([1.0, 1.0])})
    np.testing.assert_array_equal(found, [2.0, 1.0])


def test_features_that_are_not_used_are_left_out():
    X, y, _ = judged()
    tree = rw.RankingTree(max_depth=1).fit(X, y)
    assert to_solr(tree)["features"] == [{"name": "f1"}]
    sparse = rw.RidgeRanker().fit(X, y)
    sparse.coef_ = np.array([0.0, 1.0, 0.0, 2.0, 0.0])
    assert to_solr(sparse)["params"] == {"weights": {"f2": 1.0, "f4": 2.0}}
    constant = rw.RankingTree().fit(X, np.ones(80))
    model = to_solr(constant)
    assert model["params"]["trees"] == [{"weight": "1", "root": {"value": "0.0"}}]
    assert len(model["features"]) == 5
    np.testing.assert_array_equal(ranklib_scores(to_ranklib(constant), X), np.zeros(80))


def test_models_without_anything(fitted):
    X, y, qid = judged()
    nothing = rw.LightGBMRanker(n_jobs=1).fit(np.ones((80, 5)), y, qid=qid)
    np.testing.assert_array_equal(solr_scores(to_solr(nothing), by_name(X)), np.zeros(80))
    np.testing.assert_array_equal(ranklib_scores(to_ranklib(nothing), X), np.zeros(80))
    flat = rw.RidgeRanker().fit(X, np.ones(80))
    flat.coef_ = np.zeros(5)
    np.testing.assert_array_equal(solr_scores(to_solr(flat), by_name(X)), np.zeros(80))


def test_names(fitted):
    ridge = fitted("ridge")
    assert [f["name"] for f in to_solr(ridge, features=list("abcde"))["features"]] == list("abcde")
    with pytest.raises(ValueError, match="one name for each of the 5 columns, got 2"):
        to_solr(ridge, features=["a", "b"])
    with pytest.raises(ValueError, match="distinct, got a more than once"):
        to_elasticsearch(ridge, features=["a", "b", "a", "c", "d"])


def test_names_of_frames():
    X = np.random.default_rng(0).normal(size=(40, 3))
    frame = pd.DataFrame(X, columns=["bm25", "age", "length"])
    y = (X[:, 0] > 0).astype(int)
    ridge = rw.RidgeRanker().fit(frame, y, qid=0)
    piped = make_pipeline(StandardScaler(), rw.RankingTree()).fit(frame, y)
    weights = to_solr(ridge)["params"]["weights"]
    np.testing.assert_allclose([weights[name] for name in frame], ridge.coef_)
    assert [feature["name"] for feature in to_solr(ridge)["features"]] == list(frame)
    assert [feature["name"] for feature in to_solr(piped)["features"]] == ["bm25"]
    for name in frame:
        assert name in json.dumps(to_elasticsearch(ridge))


def test_categories_are_refused():
    X = np.array([[0.0], [1.0], [2.0], [3.0]] * 5)
    tree = rw.RankingTree(categorical_features=[0]).fit(X, [0, 1, 0, 1] * 5)
    for write in (to_solr, to_ranklib, to_elasticsearch):
        with pytest.raises(ExportError, match="column 0 has unordered categories"):
            write(tree)


def test_the_text_is_what_ranklib_reads(fitted):
    """Its reader drops line ends and indents, then wants no text between tags."""
    text = to_ranklib(fitted("ranking_forest"))
    assert text.startswith("## LambdaMART\n") and text.endswith("</ensemble>\n")
    assert all(len(line) == 0 or len(line) > 2 for line in text.split("\n"))
    bare = "".join(line.strip() for line in text.split("\n") if not line.startswith("#"))
    assert re.search(r">\s+<", bare) is None
    line = to_ranklib(fitted("ridge")).strip().split("\n")[-1]
    assert re.fullmatch(r"0:\S+( \d+:\S+){5}", line)


def test_a_model_that_zookeeper_refuses_is_reported(monkeypatch, tmp_path):
    X, y, qid = judged()
    ranker = rw.RidgeRanker().fit(X, y, qid=qid)
    size = len(json.dumps(to_solr(ranker)))
    monkeypatch.setattr("rankwise.export.solr.LARGEST_NODE", size)
    to_solr(ranker)  # warnings are errors
    monkeypatch.setattr("rankwise.export.solr.LARGEST_NODE", size - 1)
    with pytest.warns(UserWarning, match="MB that ZooKeeper .* DefaultWrapperModel"):
        to_solr(ranker, tmp_path / "solr.json")
    assert (tmp_path / "solr.json").exists()
