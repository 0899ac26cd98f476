"""ONNX models score as the estimators do, alone and in pipelines."""

from __future__ import annotations

import json
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    MinMaxScaler,
    PolynomialFeatures,
    PowerTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)

import rankwise as rw
from rankwise._registry import REGISTRY
from rankwise.datasets import load_dataset
from rankwise.export import ExportError, register_onnx_converters, to_onnx, to_ranklib
from rankwise.export.chains import EXPORTABLE, class_chain, is_exportable
from rankwise.prediction import scores_of
from tests.common.estimators import ORDINAL, RANKERS, load_class, small

from .conftest import assert_near, expected, judged, neural, rows

runtime = pytest.importorskip("onnxruntime")
onnx = pytest.importorskip("onnx")
pytest.importorskip("skl2onnx")

SCORING = [key for key in (*RANKERS, *ORDINAL) if is_exportable(REGISTRY[key].path)]
TRANSFORMERS = [
    key
    for key, entry in REGISTRY.items()
    if entry.kind == "transformer" and is_exportable(entry.path)
]


def run(model, X, *names):
    onnx.checker.check_model(model)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    outputs = session.run(list(names) or ["score"], {"X": X.astype(np.float32)})
    return outputs if names else outputs[0][:, 0]


def test_middles_between_values_stay_above_the_cuts_of_orboost(boosted_at_middles):
    booster, X = boosted_at_middles
    assert_near(run(to_onnx(booster), X), booster.rank_score(X))


@pytest.mark.parametrize("key", SCORING)
def test_every_exportable_estimator_scores_alike(key, fitted):
    estimator = neural(key) if REGISTRY[key].extra == "neural" else fitted(key)
    model = to_onnx(estimator)
    assert [output.name for output in model.graph.output] == ["score"]
    for X in (rows(0), rows(2)):
        assert_near(run(model, X), expected(estimator, X))
    opsets = {one.domain: one.version for one in model.opset_import}
    assert opsets[""] <= 17 and opsets.get("ai.onnx.ml", 1) <= 3


@pytest.mark.parametrize("key", [key for key in REGISTRY if key not in (*SCORING, *TRANSFORMERS)])
def test_every_other_one_says_what_can_be_exported(key):
    estimator = load_class(key)()
    estimator.n_features_in_ = 1
    with pytest.raises(ExportError, match=f"{type(estimator).__name__} cannot be exported"):
        to_onnx(estimator)
    with pytest.raises(ExportError, match="RankingTree"):
        to_onnx(estimator)


def test_what_is_exportable_is_named():
    assert set(EXPORTABLE) == {REGISTRY[key].class_name for key in (*SCORING, *TRANSFORMERS)}


@pytest.mark.parametrize(
    ("key", "params"),
    [
        *[
            ("pairwise_elm", {"activation": name, "n_draws": 2})
            for name in ("gaussian", "linear", "tanh", "relu", "sine", "hardlimit")
        ],
        ("pairwise_elm", {"activation": "linear", "n_nodes": 3}),
        ("pairwise_elm", {"kernel": "rbf"}),
        ("elmrank", {"activation": "linear"}),
        *[
            ("clsrrank", {"kernel": name})
            for name in ("linear", "polynomial", "sigmoid", "laplacian", "perceptron", "stump")
        ],
        ("clsrrank", {"approximation": "landmarks", "n_landmarks": 20}),
        ("rankrls", {"kernel": "linear"}),
        ("rankrls", {"kernel": "laplacian", "approximation": "nystroem", "n_landmarks": 20}),
        ("rankrls", {"kernel": "stump", "approximation": "nystroem", "n_landmarks": 20}),
        ("lssvr", {"kernel": "rbf", "C": 1e6}),
        ("rank_svm", {"kernel": "rbf"}),
        ("rank_lr", {"degree": 2}),
        ("ordinal_svm", {"kernel": "linear"}),
        ("ordinal_svm", {"kernel": "rbf"}),
        ("poly_ordinal_svm", {"terms": "random", "degree": 3}),
        ("poly_ordinal_svm", {"terms": "powers", "degree": 3}),
        ("prank", {"degree": 2}),
        ("prank", {"kernel": "rbf"}),
        ("widrow_hoff", {"degree": 2}),
        ("voted_prank", {"degree": 2}),
        ("voted_prank", {"kernel": "laplacian"}),
        ("aggregate_prank", {"combine": "bag", "n_prank": 20, "degree": 2}),
        ("aggregate_prank", {"combine": "vote", "n_prank": 20}),
        ("orboost", {"estimator": "perceptron", "n_estimators": 10, "base_iter": 5}),
    ],
)
def test_settings(key, params, fitted):
    estimator = fitted(key, **params)
    X = rows(3)
    assert_near(run(to_onnx(estimator), X), expected(estimator, X))


@pytest.mark.parametrize("key", ["rank_boost", "ranking_tree", "ranking_forest", "lambdamart",
                                 "lightgbm", "xgboost", "catboost"])  # fmt: skip
def test_missing_values(key, fitted):
    for estimator in (fitted(key), fitted(key, missing=True)):
        X = rows(4, 200, missing=True)
        model = to_onnx(estimator)
        assert_near(run(model, X), expected(estimator, X))
        assert_near(run(model, np.full((1, 5), np.nan)), expected(estimator, X[:1] * np.nan))


def test_boundaries_of_trees_are_exact(fitted):
    forest = fitted("ranking_forest")
    cuts = np.unique(np.concatenate([t.threshold[t.feature >= 0] for t in forest.trees_]))
    near = np.concatenate([np.nextafter(cuts.astype(np.float32), np.float32(way))
                           for way in (-np.inf, np.inf)] + [cuts.astype(np.float32)])  # fmt: skip
    X = np.repeat(near[:, None], 5, axis=1)
    assert_near(run(to_onnx(forest), X), expected(forest, X), 2e-6)


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler(), RobustScaler()])
@pytest.mark.parametrize("key", ["ridge", "rankrls", "ranking_tree", "orboost", "prank"])
def test_pipelines_with_scalers(scaler, key):
    X, y, _ = judged()
    pipeline = make_pipeline(scaler, small(key))
    pipeline.fit(X + 100.0, y)
    rows_to_score = rows(5) + np.float32(100)
    found = run(to_onnx(pipeline), rows_to_score)
    assert_near(found, scores_of(pipeline, rows_to_score.astype(np.float64)))


@pytest.mark.parametrize("key", TRANSFORMERS)
def test_feature_maps_in_pipelines(key):
    X, y, _ = judged()
    pipeline = make_pipeline(StandardScaler(), small(key), rw.RidgeRanker(alpha=1.0)).fit(X, y)
    X = rows(6)
    assert_near(run(to_onnx(pipeline), X), pipeline.predict(X.astype(np.float64)))


def test_steps_that_skl2onnx_knows_and_searches():
    X, y, qid = judged()
    columns = ColumnTransformer([("a", StandardScaler(), [0, 1]), ("b", MinMaxScaler(), [3])])
    pipeline = make_pipeline(columns, rw.PairwiseELM(n_nodes=20, random_state=0))
    search = GridSearchCV(pipeline, {"pairwiseelm__C": [0.1, 1.0]}, cv=GroupKFold(2))
    search.fit(X, y, groups=qid)
    Z = rows(7)
    assert_near(run(to_onnx(search), Z), search.predict(Z.astype(np.float64)))


def test_steps_that_nothing_knows():
    X, y, _ = judged()
    own = make_pipeline(rw.features.QueryScaler(), rw.RidgeRanker()).fit(X, y)
    with pytest.raises(ExportError, match="step QueryScaler of the pipeline cannot be exported"):
        to_onnx(own)
    other = make_pipeline(SplineTransformer(), rw.RidgeRanker()).fit(X, y)
    with pytest.raises(ExportError, match="skl2onnx does not convert a step"):
        to_onnx(other)
    with pytest.raises(ExportError, match="SplineTransformer cannot be exported"):
        to_onnx(SplineTransformer().fit(X))
    with pytest.raises(NotFittedError):
        to_onnx(rw.RidgeRanker())
    nameless = rw.RankRLS(kernel=lambda A, B: A @ B.T).fit(X, y)
    with pytest.raises(ExportError, match="a function that cannot be written to"):
        to_onnx(nameless)


@pytest.mark.parametrize(
    ("key", "params"),
    [
        ("ordinal_svm", {}),
        ("orboost", {}),
        ("prank", {}),
        ("ranking_tree", {}),
        ("ranking_tree", {"leaf": "mode", "max_depth": 3}),
        ("ranking_tree", {"leaf": "mean", "max_depth": 3}),
        ("ranking_forest", {"leaf": "mean"}),
        ("voted_prank", {"votes": "mean"}),
        ("aggregate_prank", {}),
    ],
)
def test_labels(key, params, fitted):
    estimator = fitted(key, **params)
    X = rows(8, 200)
    scores, labels = run(to_onnx(estimator, label=True), X, "score", "label")
    assert labels.dtype == np.int64 and labels.shape == (200,)
    np.testing.assert_array_equal(labels, estimator.predict(X.astype(np.float64)))
    assert_near(scores[:, 0], expected(estimator, X))


def test_labels_of_text_and_in_pipelines():
    X, y, _ = judged()
    names = np.array(["bad", "fair", "good", "perfect"])[y.astype(int)]
    names = pd.Series(pd.Categorical(names, ["bad", "fair", "good", "perfect"], ordered=True))
    pipeline = make_pipeline(StandardScaler(), rw.ORBoost(n_estimators=20)).fit(X, names)
    Z = rows(9)
    (labels,) = run(to_onnx(pipeline, label=True), Z, "label")
    np.testing.assert_array_equal(labels, pipeline.predict(Z.astype(np.float64)))


def test_labels_that_scores_do_not_tell(fitted):
    for key in ("voted_prank", "ranking_forest"):
        with pytest.raises(ExportError, match="chooses classes by votes"):
            to_onnx(fitted(key), label=True)
    with pytest.raises(ExportError, match="predicts scores"):
        to_onnx(fitted("ridge"), label=True)


def test_categories():
    rng = np.random.default_rng(0)
    numbers = rng.choice([2.0, 3.5, 7.0, 8.0, 11.0], size=150)
    colours = rng.choice(["blue", "green", "red", None], size=150, p=[0.3, 0.3, 0.3, 0.1])
    y = ((numbers == 3.5) | (numbers == 8.0)) + 2 * (colours == "green")
    table = pd.DataFrame({"size": rng.normal(size=150), "kind": numbers, "colour": colours})
    for estimator in (
        rw.RankingTree(categorical_features=["kind", "colour"]),
        rw.RankingForest(n_estimators=5, categorical_features=["kind", "colour"], random_state=0),
    ):
        estimator.fit(table, y)
        model = to_onnx(estimator)
        facts = {entry.key: entry.value for entry in model.metadata_props}
        assert json.loads(facts["features"]) == ["size", "kind", "colour"]
        known = json.loads(facts["categories"])
        assert known == {"colour": ["blue", "green", "red"]}
        codes = table["colour"].map({name: i for i, name in enumerate(known["colour"])})
        X = table.assign(colour=codes).to_numpy(dtype=np.float32)
        assert_near(run(model, X), estimator.rank_score(table))
        unknown = table.assign(kind=100.0, colour="black")
        X[:, 1:] = 100.0
        assert_near(run(model, X), estimator.rank_score(unknown))


def test_categories_of_lambdamart():
    rng = np.random.default_rng(0)
    colours = rng.choice(["blue", "green", "red", "white"], size=300)
    numbers = rng.choice([2.0, 3.5, 7.0, 8.0, 11.0], size=300)
    y = (numbers == 3.5) | (numbers == 8.0) | np.isin(colours, ["blue", "red"])
    table = pd.DataFrame({"kind": numbers, "colour": colours, "size": rng.normal(size=300)})
    ranker = rw.LambdaMART(5, categorical_features=["kind"], min_samples_leaf=5)
    ranker.fit(table, y.astype(int), qid=np.arange(300) % 10)
    model = to_onnx(ranker)
    codes = table["colour"].map({"blue": 0, "green": 1, "red": 2, "white": 3})
    X = table.assign(colour=codes).to_numpy(dtype=np.float32)
    assert_near(run(model, X), ranker.predict(table))
    X[:, 0] = 100.0
    assert_near(run(model, X), ranker.predict(table.assign(kind=100.0)))


@pytest.mark.parametrize(
    "estimator",
    [
        rw.VotedPRank(),
        rw.VotedPRank(kernel="rbf"),
        rw.PRank(kernel="rbf"),
        rw.AggregatePRank(combine="vote", n_prank=3),
        rw.OrdinalSVM(),
        rw.ORBoost(estimator="perceptron", n_estimators=2),
        rw.ORBoost(),
    ],
)
def test_models_of_one_class(estimator):
    X, _, _ = judged()
    estimator.fit(X, np.full(80, 7))
    try:
        class_chain(estimator)
        has_label = True
    except ExportError:
        has_label = False
    names = ["score", "label"] if has_label else ["score"]
    scores, *labels = run(to_onnx(estimator, label=has_label), X, *names)
    np.testing.assert_array_equal(scores[:, 0], estimator.rank_score(X).astype(np.float32))
    for values in labels:
        np.testing.assert_array_equal(values, np.full(80, 7))


def test_pipelines_that_start_with_nothing_and_columns_by_name():
    X, y, _ = judged()
    table = pd.DataFrame(X, columns=list("abcde"))
    pipeline = make_pipeline("passthrough", StandardScaler(), rw.RidgeRanker()).fit(table, y)
    model = to_onnx(pipeline)
    assert_near(
        run(model, rows(9)),
        pipeline.predict(pd.DataFrame(rows(9).astype(np.float64), columns=list("abcde"))),
    )
    facts = {entry.key: entry.value for entry in model.metadata_props}
    assert json.loads(facts["features"]) == list("abcde")
    named = ColumnTransformer([("scaled", StandardScaler(), ["a", "c"])])
    pipeline = make_pipeline(named, rw.RidgeRanker()).fit(table, y)
    wanted = pipeline.predict(pd.DataFrame(rows(9).astype(np.float64), columns=list("abcde")))
    assert_near(run(to_onnx(pipeline), rows(9)), wanted)


def test_skl2onnx_converts_our_estimators_itself():
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import FloatTensorType

    register_onnx_converters()
    X, y, _ = judged()
    pipeline = make_pipeline(
        StandardScaler(),
        rw.features.Nystroem(n_components=10, random_state=0),
        rw.OrdinalSVM(kernel="linear"),
    ).fit(X, y)
    model = convert_sklearn(
        pipeline, initial_types=[("X", FloatTensorType([None, 5]))], target_opset=17
    )
    Z = rows(9)
    assert_near(run(model, Z), scores_of(pipeline, Z.astype(np.float64)))


def test_files_and_facts(fitted, tmp_path):
    model = to_onnx(fitted("ridge"), tmp_path / "ridge.onnx")
    assert (tmp_path / "ridge.onnx").read_bytes() == model.SerializeToString()
    facts = {entry.key: entry.value for entry in model.metadata_props}
    assert facts["estimator"] == "rankwise.rankers.regression.RidgeRanker"
    assert json.loads(facts["features"]) == [f"f{number}" for number in range(1, 6)]
    (given,) = model.graph.input
    assert given.type.tensor_type.elem_type == onnx.TensorProto.FLOAT


def test_real_rows():
    data = load_dataset("lambdarank", fold=1)
    X, y, qid = (part[:300] for part in (data.train.X, data.train.y, data.train.qid))
    Z = data.test.X[:200].astype(np.float32)
    for estimator in (
        rw.RankSVM(kernel="rbf", C=0.1),
        rw.PairwiseELM(n_nodes=30, C=0.01, random_state=0),
        rw.ORBoost(n_estimators=30),
        rw.RankingForest(n_estimators=5, random_state=0),
    ):
        estimator.fit(X, y, qid=qid)
        assert_near(run(to_onnx(estimator), Z), scores_of(estimator, Z.astype(np.float64)))
    pipeline = make_pipeline(MinMaxScaler(), rw.OrdinalSVM(C=0.1)).fit(X, y)
    assert_near(run(to_onnx(pipeline), Z), scores_of(pipeline, Z.astype(np.float64)))


def test_what_to_install(fitted, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("rankwise.export.onnx_conv")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match=r'pip install "rankwise\[onnx\]"'):
        to_onnx(fitted("ridge"))


def test_a_missing_folder_is_named(fitted, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no' does not exist\. Create it"):
        to_onnx(fitted("ridge"), tmp_path / "no" / "ridge.onnx")


@pytest.mark.parametrize("only_trees", [False, True])
def test_a_blend_fills_what_is_missing_and_goes_to_other_engines_as_trees(only_trees, rng):
    X = rng.normal(size=(1000, 4)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    qid = np.arange(1000) % 50
    known = np.nan_to_num(X)
    y = np.floor(3 * known[:, 0]) % 2 if only_trees else np.round(known[:, 0] ** 2 + known[:, 1])
    ranker = rw.AutoRanker(None, n_trials=7, cv=2, random_state=0, n_jobs=1).fit(X, y, qid=qid)
    assert (ranker.families_ == ["trees"]) == only_trees
    # Fits in float32: nodes and linear scores agree to their digits.
    np.testing.assert_allclose(run(to_onnx(ranker), X), ranker.predict(X), rtol=1e-4, atol=1e-5)
    if only_trees:
        with pytest.warns(UserWarning, match="missing"):
            assert to_ranklib(ranker).startswith("## LambdaMART")
    else:
        with pytest.raises(ExportError, match=r"a blend of models.*Use to_onnx"):
            to_ranklib(ranker)


@pytest.mark.parametrize("step", [SimpleImputer(), PolynomialFeatures(2), Binarizer(threshold=0.5),
                                  Binarizer(), PowerTransformer()])  # fmt: skip
def test_steps_that_runtimes_know_in_float32_only(step):
    rng = np.random.default_rng(0)
    X = np.round(rng.random((200, 3)), 2).astype(np.float32).astype(np.float64)
    if isinstance(step, SimpleImputer):
        X[rng.random(X.shape) < 0.1] = np.nan
    y = np.floor(3 * np.nan_to_num(X[:, 0])).astype(int)
    piped = make_pipeline(step, rw.LambdaMART(n_estimators=5)).fit(X, y)
    found = run(to_onnx(piped), X)
    np.testing.assert_allclose(found, piped.predict(X), rtol=1e-5, atol=1e-6)
