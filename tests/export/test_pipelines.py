"""Pipelines of scikit-learn's encoders, imputers and scalers, on frames with named columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)

import rankwise as rw
from rankwise import export
from rankwise.export import export_formats, verify

MEALS = ["lunch", "dinner", "breakfast", "late snack"]
EVERY = ["onnx", "python", "solr", "elasticsearch", "ranklib", "lightgbm", "xgboost", "vespa",
         "opensearch"]  # fmt: skip
LINEAR = EVERY[:5]


def table(n=400, seed=0, *, missing=True):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "rating": rng.random(n).round(3) * 5,
            "meal": rng.choice(MEALS, n).astype(object),
            "price": rng.integers(1, 90, n).astype(float),
            "stars": rng.integers(1, 5, n),
            "unused": rng.choice(["x", "y"], n),
        }
    )
    y = (frame.rating + (frame.meal == "lunch") * 2 + (frame.price < 20)).round() % 5
    if missing:
        frame.loc[rng.random(n) < 0.2, "rating"] = np.nan
        frame.loc[rng.random(n) < 0.2, "meal"] = np.nan
    return frame, y.astype(int), np.repeat(np.arange(n // 10), 10)


def text(**settings):
    return OneHotEncoder(handle_unknown="ignore", **settings)


def _imputed(strategy="median", **settings):
    return SimpleImputer(strategy=strategy, **settings)


STEPS = {
    "names": lambda: ColumnTransformer(
        [
            ("text", text(), ["meal"]),
            ("numbers", make_pipeline(_imputed(), StandardScaler()), ["rating", "price"]),
        ]
    ),
    "filled text and indicators": lambda: ColumnTransformer(
        [
            ("numbers", _imputed(add_indicator=True), ["price", "rating"]),
            ("text", make_pipeline(_imputed("most_frequent"), text()), [1]),
            ("stars", OneHotEncoder(drop="first"), ["stars"]),
        ]
    ),
    "remainder": lambda: ColumnTransformer(
        [
            ("scaled", make_pipeline(_imputed("mean"), MinMaxScaler()), slice("rating", "rating")),
            ("text", text(sparse_output=False), make_column_selector("meal")),
            ("none", "drop", ["unused"]),
            ("absent", MissingIndicator(), ["rating"]),
        ],
        remainder="passthrough",
    ),
    "robust": lambda: ColumnTransformer(
        [
            ("numbers", make_pipeline(_imputed("constant", fill_value=2), RobustScaler()), [0, 2]),
            ("same", "passthrough", np.array([False, False, False, True, False])),
            ("text", make_pipeline(
                _imputed("constant", fill_value="none"), text()), ["meal"]),
        ]
    ),
}  # fmt: skip
N_MADE = {"names": 7, "filled text and indicators": 10, "remainder": 9, "robust": 8}
MODELS = {
    "trees": lambda: rw.RankingForest(5, max_depth=5, random_state=0, leaf="mean"),
    "boosted": lambda: rw.LambdaMART(5, max_leaf_nodes=8, min_samples_leaf=5),
    "linear": lambda: rw.RidgeRanker(),
}


def fitted(steps, model, frame=None):
    X, y, qid = table() if frame is None else frame
    last = MODELS[model]()
    name = type(last).__name__.lower()
    given = {} if model == "trees" else {f"{name}__qid": qid}
    return make_pipeline(STEPS[steps](), last).fit(X, y, **given), X, qid


@pytest.mark.filterwarnings("ignore:the pipeline reads missing values:UserWarning")
@pytest.mark.filterwarnings("ignore:.* reads missing values as 0:UserWarning")
@pytest.mark.filterwarnings("ignore:.*does not accept .* of the feature names:UserWarning")
@pytest.mark.filterwarnings("ignore:Found unknown categories:UserWarning")
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("steps", STEPS)
def test_every_format_ranks_as_the_pipeline(steps, model, tmp_path):
    pipeline, _, _ = fitted(steps, model)
    X, _, qid = table(seed=1)
    X.loc[:20, "meal"] = "brunch"  # the training rows had none
    formats = export_formats(pipeline)
    assert formats == (LINEAR if model == "linear" else EVERY)
    for name in formats:
        path = tmp_path / f"model.{name}"
        given = {"features": [f"f{i}" for i in range(1, 20)][: N_MADE[steps]]}
        given = given if name == "vespa" else {}
        getattr(export, f"to_{name}")(pipeline, path, **given)
        certificate = verify(pipeline, path, X, qid=qid, **given)
        assert certificate.holds and certificate.n_rows == 400, f"{name}: {certificate}"


@pytest.mark.parametrize("library", ["pandas", "polars", "rows"])
@pytest.mark.parametrize("model", MODELS)
def test_the_python_file_takes_frames(model, library):
    pipeline, X, _ = fitted("names", model)
    module = {}
    exec(export.to_python(pipeline), module)
    wanted = rw.scores(pipeline, X)
    rows = {
        "pandas": X[X.columns[::-1]],
        "polars": pl.from_pandas(X.convert_dtypes()),
        "rows": X.to_numpy(object).tolist(),
    }[library]
    if library != "rows":
        with pytest.raises(ValueError, match=r"lacks \['meal'\]"):
            module["encode"](X.drop(columns="meal"))
    found = module["score"](module["encode"](rows))
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_engines_are_offered_encoded_columns():
    pipeline, _, _ = fitted("names", "linear")
    with pytest.warns(UserWarning, match="missing values of 'rating' as 2"):
        model = export.to_solr(pipeline)
    names = [feature["name"] for feature in model["features"]]
    assert names == ["meal_breakfast", "meal_dinner", "meal_late snack", "meal_lunch",
                     "missingindicator_meal", "rating", "price"]  # fmt: skip


@pytest.mark.parametrize(
    "known",
    [[0, 1, 2], [0.5, 1.0], np.float32([0.1, 0.7]), [True, False], ["x", "y"], [2**40, 7]],
    ids=["whole", "half", "float32", "truth", "text", "ids"],
)
@pytest.mark.parametrize("drop", [None, "first"])
def test_encoded_columns_have_the_names_of_scikit_learn(known, drop):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.choice(np.array(known), 60), "b": rng.random(60)})
    table = ColumnTransformer([("a", OneHotEncoder(drop=drop), ["a"])], remainder="passthrough")
    table.set_params(verbose_feature_names_out=False)
    pipeline = make_pipeline(table, rw.RidgeRanker()).fit(X, rng.integers(0, 3, 60))
    names = [feature["name"] for feature in export.to_solr(pipeline)["features"]]
    assert names == list(pipeline[0].get_feature_names_out())


def test_files_score_unknown_text_that_the_model_refuses():
    X = table(missing=False)[0][["meal", "price"]]
    encoded = ColumnTransformer([("text", OneHotEncoder(), ["meal"])], remainder="passthrough")
    pipeline = make_pipeline(encoded, rw.RidgeRanker()).fit(X, X["price"] // 30)
    unknown, module = X[:1].assign(meal="brunch"), {}
    with pytest.raises(ValueError, match="Found unknown categories"):
        pipeline.predict(unknown)
    source = export.to_python(pipeline)
    exec(source, module)
    wanted = pipeline[-1].predict([[0.0] * 4 + [X["price"][0]]])
    np.testing.assert_allclose(module["score"](module["encode"](unknown)), wanted, rtol=1e-12)
    assert "also if the model refuses" in module["encode"].__doc__


@pytest.mark.parametrize("kind", ["text", "half"])
def test_a_blend_with_a_column_of_categories_leaves(kind, tmp_path):
    known = {"text": MEALS, "half": [7.5, 8.0, 4.5, 9.5]}[kind]
    names = dict(zip(MEALS, known, strict=True)) | {"brunch": "brunch" if kind == "text" else 99}

    def rows(seed, unknown=0):
        X, y, qid = table(200, seed)
        X.loc[: unknown - 1, "meal"] = "brunch"
        return X.drop(columns="unused").assign(meal=X["meal"].map(names).astype("category")), y, qid

    X, y, qid = rows(0)
    ranker = rw.AutoRanker(n_trials=5, cv=2, random_state=0).fit(X, y, qid=qid)
    assert len(ranker.families_) > 1
    assert export_formats(ranker) == ["onnx", "python"]
    export.to_onnx(ranker, tmp_path / "blend.onnx")
    source = export.to_python(ranker, tmp_path / "blend.py")
    X = rows(1, 20)[0]
    for path in tmp_path.iterdir():
        certificate = verify(ranker, path, X)
        assert certificate.holds, certificate
    module = {}
    exec(source, module)
    found = module["score"](module["encode"](X))
    np.testing.assert_allclose(found, ranker.predict(X), rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore:the pipeline reads missing values:UserWarning")
@pytest.mark.filterwarnings("ignore:.* reads missing values as 0:UserWarning")
@pytest.mark.parametrize("is_named", [True, False])
@pytest.mark.parametrize(
    ("ranker", "formats"),
    [(rw.RankSVM(), LINEAR), (rw.LambdaMART(5), EVERY)],
)
def test_imputers_of_compare_leave(ranker, formats, is_named, tmp_path):
    """The pipeline that ``compare`` saves for rankers without missing values."""
    X, y, qid = table(200)
    X = X[["rating", "price", "stars"]].assign(empty=np.nan)
    Z = table(200, 1)[0][["rating", "price", "stars"]].assign(empty=np.nan)
    Z.loc[::7, "price"], Z.loc[::9, "empty"] = np.nan, 1.0
    X, Z = (X, Z) if is_named else (X.to_numpy(), Z.to_numpy())
    imputer = _imputed(add_indicator=True, keep_empty_features=True)
    ranker.fit(imputer.fit_transform(X), y, qid=qid)
    pipeline = make_pipeline(imputer, ranker)
    assert export_formats(pipeline) == formats
    for name in formats:
        given = {"features": list("abcdef")} if name == "vespa" else {}
        getattr(export, f"to_{name}")(pipeline, tmp_path / f"model.{name}", **given)
        certificate = verify(pipeline, tmp_path / f"model.{name}", Z, qid=qid, **given)
        assert certificate.holds, f"{name}: {certificate}"


SCALED = [("scaled", StandardScaler(), ["price"]), ("same", "passthrough", ["price", "stars"])]
OTHER = {
    "imputer of scaled columns": (["price"], [StandardScaler(), _imputed()], EVERY[:2]),
    "a column twice": (["price", "stars"], [ColumnTransformer(SCALED)], EVERY),
    "a step of skl2onnx at first": (["price", "stars"], [PCA(2)], EVERY[:1]),
    "a step of skl2onnx at last": (["meal"], [text(sparse_output=False), PCA(2)], EVERY[:1]),
    "numbers that float32 has not": (["tenths"], [text()], EVERY),
}


@pytest.mark.parametrize("case", OTHER)
def test_other_pipelines(case, tmp_path):
    names, steps, formats = OTHER[case]
    X, y, _ = table(200, missing=False)
    X = X.assign(tenths=X.index % 5 / 10)[names]
    pipeline = make_pipeline(*steps, rw.RankingForest(5, max_depth=4, random_state=0)).fit(X, y)
    assert export_formats(pipeline) == formats
    for name in formats:
        given = {"features": list("abcdef")[: pipeline[-1].n_features_in_]}
        given = given if name == "vespa" else {}
        getattr(export, f"to_{name}")(pipeline, tmp_path / name, **given)
        certificate = verify(pipeline, tmp_path / name, X, **given)
        # skl2onnx computes components in float32, which may lie on the other side of a threshold.
        assert certificate.holds or case.endswith("first"), f"{name}: {certificate}"


REFUSED = {
    "joins infrequent categories": [OneHotEncoder(min_frequency=90)],
    "step SplineTransformer of the pipeline cannot be exported": [
        ColumnTransformer([("spline", SplineTransformer(), ["price"])])
    ],
    "FunctionTransformer depends on a function": [FunctionTransformer(np.copy), text()],
    "missing_values='lunch'": [_imputed("most_frequent", missing_values="lunch"), text()],
    "LambdaMART reads categories behind a step": [
        ColumnTransformer([("same", "passthrough", ["price", "meal"])])
    ],
}


@pytest.mark.parametrize("format", ["onnx", "python", "lightgbm"])
@pytest.mark.parametrize("reason", REFUSED)
def test_the_reason_is_that_of_the_step(reason, format):
    X, y, _ = table(200, missing=False)
    X = X[["price", "meal"]]
    ranker = rw.LambdaMART(2, categorical_features=[1] if "LambdaMART" in reason else None)
    pipeline = make_pipeline(*REFUSED[reason], ranker).fit(X, y)
    assert export_formats(pipeline) == []
    with pytest.raises(export.ExportError, match=reason):
        getattr(export, f"to_{format}")(pipeline)
