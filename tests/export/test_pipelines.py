"""Pipelines of scikit-learn's encoders, imputers and scalers, on frames with named columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, RobustScaler, StandardScaler

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


def test_a_blend_with_a_column_of_text_leaves_as_onnx(tmp_path):
    X, y, qid = table(200)
    ranker = rw.AutoRanker(n_trials=3, random_state=0).fit(X.drop(columns="unused"), y, qid=qid)
    assert "onnx" in export_formats(ranker)
    export.to_onnx(ranker, tmp_path / "blend.onnx")
    X = table(seed=1)[0].drop(columns="unused")
    X.loc[:20, "meal"] = "brunch"
    certificate = verify(ranker, tmp_path / "blend.onnx", X)
    assert certificate.holds, certificate
