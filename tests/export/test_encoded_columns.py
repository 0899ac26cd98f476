"""Columns of categories with statistics: every format looks them up exactly, or refuses them."""

from __future__ import annotations

import json
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import rankwise as rw
from rankwise import export
from rankwise.export import ExportError, export_formats, verify
from rankwise.export.exported_files import lightgbm_trees, sum_trees, xgboost_trees
from rankwise.trees.column_table import ColumnTable

lightgbm = pytest.importorskip("lightgbm")
pytest.importorskip("xgboost")
KEEP = {
    "onnx": (export.to_onnx, "m.onnx"),
    "python": (export.to_python, "m.py"),
    "lightgbm": (export.to_lightgbm, "m.txt"),
    "xgboost": (export.to_xgboost, "m.json"),
}
REFUSE = {
    "solr": (export.to_solr, {}),
    "elasticsearch": (export.to_elasticsearch, {}),
    "elasticsearch native": (export.to_elasticsearch, {"native": True}),
    "ranklib": (export.to_ranklib, {}),
    "vespa": (export.to_vespa, {}),
    "opensearch": (export.to_opensearch, {}),
}
N, N_LEVELS = 300, 70  # sets take several words of 32 bits
QID = np.arange(N) // 10
# Levels of a column, and one that the model does not know.
LEVELS = {
    "text": (np.array([f"brand {k}" for k in range(N_LEVELS)], dtype=object), "unheard"),
    "mixed": (np.array([*range(20), *map(str, range(N_LEVELS - 20))], dtype=object), "unheard"),
    "whole": (np.arange(N_LEVELS) * 3 + 2, 100_000),
    "float": (np.arange(N_LEVELS) / 10 + 0.1, 55.5),
}
WRITES_SETS = ["text", "mixed", "whole"]
# Sides of unknown and missing categories: LightGBM has one for both.
SIDES = ["apart", "together"]


def statistics(levels, seed=0):
    """Table of a last column with made-up statistics, between which the prior lies."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=len(levels)).astype(np.float32).astype(np.float64)
    return ColumnTable({4: levels}, {}, {4: values}, {4: float(np.float32(0.3))})


def frame(kind, seed, levels=("known",)):
    """Rows whose last column holds levels of some kinds."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 4)).astype(np.float32).astype(np.float64)
    known, unknown = LEVELS[kind]
    values = known[rng.integers(0, len(known), N)].astype(object)
    draws = rng.choice(levels, N)
    values[draws == "unknown"] = unknown
    values[draws == "missing"] = None
    table = pd.DataFrame(X, columns=list("abcd"))
    is_number = kind in ("whole", "float")
    return table.assign(e=values.astype(float) if is_number else values)


@cache
def fitted(kind, sides="apart", two=False):
    """LambdaMART on statistics, which are then those of its table."""
    table = statistics(LEVELS[kind][0])
    X = frame(kind, 0, ["known", "known", "known", "missing"])
    numbers = X.assign(e=np.asarray(table.encode(X).rows)[:, 4])
    y = np.clip(np.round(np.nan_to_num(numbers["e"], nan=1.0) + X["a"]), 0, 4)
    if sides == "together":
        numbers["e"] = numbers["e"].fillna(table.prior[4])
    if two:  # a second column, whose missing values part from unknown ones as well
        again = statistics(LEVELS[kind][0], 1)
        numbers["d"] = np.asarray(again.encode(X).rows)[:, 4]
        table = ColumnTable(
            {3: LEVELS[kind][0], **table.nominal}, {},
            {3: again.statistics[4], **table.statistics}, {3: -0.25, **table.prior},
        )  # fmt: skip
    ranker = rw.LambdaMART(12, min_samples_leaf=3, max_leaf_nodes=15)
    ranker.fit(numbers, y, qid=QID)
    if sides == "together":
        at = ranker.trees_.feature == 4
        ranker.trees_.missing_left[at] = ranker.trees_.threshold[at] >= table.prior[4]
    ranker.columns_ = table
    return ranker


def written(format, ranker, folder):
    write, name = KEEP[format]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* turns unknown categories of data frames")
        write(ranker, folder / name)
    return folder / name


def keys(kind, X):
    """Rows as files take them: positions of named levels, -1 for unknown ones."""
    place = {level: float(number) for number, level in enumerate(LEVELS[kind][0])}
    out = np.empty(X.shape)
    for number, column in enumerate(X):
        values = X[column].tolist()
        if kind in ("text", "mixed") and not all(isinstance(value, float) for value in values):
            values = [np.nan if pd.isna(value) else place.get(value, -1.0) for value in values]
        out[:, number] = values
    return out


@pytest.mark.parametrize("format", KEEP)
@pytest.mark.parametrize("kind", LEVELS)
@pytest.mark.parametrize("sides", SIDES)
def test_files_rank_as_the_model(format, kind, sides, tmp_path):
    ranker = fitted(kind, sides)
    if format in ("lightgbm", "xgboost") and kind not in WRITES_SETS:
        with pytest.raises(ExportError, match="categories of column 'e' must be whole numbers"):
            written(format, ranker, tmp_path)
        return
    path = written(format, ranker, tmp_path)
    X = frame(kind, 1, ["known", "unknown", "missing"])
    found = verify(ranker, path, X, qid=QID)
    assert found.holds and found.n_probes, str(found)
    assert found.largest_difference == 0 or format in ("onnx", "xgboost")
    other = rw.LambdaMART()
    vars(other).update({**vars(ranker), "columns_": statistics(LEVELS[kind][0], 7)})
    differs = verify(other, path, X, qid=QID)
    assert not differs.holds and "None" not in differs.first.cause
    if format in ("lightgbm", "xgboost"):
        assert "by its set of categories; the file sends it" in differs.first.cause


@cache
def fitted_in_order(kind):
    """LambdaMART whose statistics are its own."""
    X = frame(kind, 0, ["known", "known", "known", "missing"])
    made = statistics(LEVELS[kind][0]).encode(X).rows
    values = np.nan_to_num(made["e"].to_numpy(dtype=float))
    y = np.clip(np.round(2 * values + X["a"]), 0, 4)
    ranker = rw.LambdaMART(
        12, min_samples_leaf=3, categorical_features=["e"], categorical_encoding="ordered"
    )
    return ranker.fit(X, y, qid=QID)


@pytest.mark.parametrize("format", KEEP)
@pytest.mark.parametrize("kind", ["text", "whole"])
def test_own_statistics(format, kind, tmp_path):
    ranker = fitted_in_order(kind)
    assert 4 in ranker.trees_.feature and 4 in ranker.columns_.statistics
    X = frame(kind, 1, ["known", "unknown", "missing"])
    found = verify(ranker, written(format, ranker, tmp_path), X, qid=QID)
    assert found.holds, str(found)


@pytest.mark.parametrize("kind", LEVELS)
@pytest.mark.parametrize("library", ["arrow", "arrow dictionary", "polars", "array"])
def test_rows_of_every_library_are_verified(kind, library, tmp_path):
    """Missing values of Arrow's dictionaries are missing, and not the last category."""
    X = frame(kind, 8, ["known", "unknown", "missing"])
    if library == "array":
        rows = X.to_numpy(dtype=object)
    elif kind == "mixed":
        return  # a column of other libraries has one type
    elif library == "polars":
        rows = pytest.importorskip("polars").from_pandas(X)
    else:
        named = X["e"].astype("category") if library == "arrow dictionary" else X["e"]
        rows = pytest.importorskip("pyarrow").Table.from_pandas(X.assign(e=named))
    ranker = fitted(kind)
    path = written("python", ranker, tmp_path)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        assert verify(ranker, path, rows, qid=QID).holds


@pytest.mark.parametrize("kind", WRITES_SETS)
@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("level", ["known", "unknown", "missing"])
def test_libraries_send_every_level_its_way(kind, sides, level, tmp_path):
    """Read by the libraries without verify, and by the interpreters of verify."""
    ranker = fitted(kind, sides)
    X = frame(kind, 2, [level])
    wanted, rows = ranker.predict(X), keys(kind, X)
    path = written("lightgbm", ranker, tmp_path)
    booster = lightgbm.Booster(model_file=path)
    np.testing.assert_array_equal(booster.predict(rows), wanted)
    again = lightgbm.Booster(model_str=booster.model_to_string())
    np.testing.assert_array_equal(again.predict(rows), wanted)
    np.testing.assert_array_equal(sum_trees(lightgbm_trees(path.read_text()), rows), wanted)
    if kind != "whole" and (level != "unknown" or sides == "together"):
        listed = booster.pandas_categorical[0]
        named = X.assign(e=pd.Categorical(X["e"].where(X["e"].isin(listed)), listed))
        np.testing.assert_array_equal(booster.predict(named), wanted)
    path = written("xgboost", ranker, tmp_path)
    import xgboost

    loaded = xgboost.Booster(model_file=path)
    found = loaded.inplace_predict(
        rows.astype(np.float32), predict_type="margin", validate_features=False
    )
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)
    types = {"feature_types": ["float"] * 4 + ["c"], "feature_names": list(X)}
    if level != "unknown":  # a matrix refuses negative codes
        matrix = xgboost.DMatrix(rows, **types, enable_categorical=True)
        found = loaded.predict(matrix, output_margin=True)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)
    trees, constant = xgboost_trees(json.loads(path.read_text()))
    np.testing.assert_allclose(sum_trees(trees, rows, constant), wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize("format", KEEP)
def test_several_columns(format, tmp_path):
    ranker = fitted("text", two=True)
    X = frame("text", 3, ["known", "unknown", "missing"])
    X["d"] = frame("text", 4, ["known", "unknown", "missing"])["e"]
    found = verify(ranker, written(format, ranker, tmp_path), X, qid=QID)
    assert found.holds, str(found)
    if format == "lightgbm":
        booster = lightgbm.Booster(model_file=tmp_path / "m.txt")
        rows = keys("text", X)
        np.testing.assert_array_equal(booster.predict(rows), ranker.predict(X))
        values = booster.predict(rows, pred_contrib=True)
        np.testing.assert_allclose(values.sum(axis=1), ranker.predict(X), atol=1e-9)
        # Every split has its gain once, though its node may come twice.
        gains = ranker.trees_.gain[ranker.trees_.feature == 4].sum()
        np.testing.assert_allclose(booster.feature_importance("gain")[4], gains)


@pytest.mark.parametrize("kind", LEVELS)
def test_python_encodes_rows(kind, tmp_path):
    ranker = fitted(kind)
    module = {}
    exec(export.to_python(ranker), module)
    X = frame(kind, 5, ["known", "unknown", "missing"])
    rows = module["encode"](X.to_numpy(dtype=object).tolist())
    np.testing.assert_array_equal(module["score"](rows), ranker.predict(X))
    np.testing.assert_array_equal(rows, keys(kind, X))
    row = X.to_numpy(dtype=object)[:1].tolist()
    row[0][4] = pd.NA
    assert np.isnan(module["encode"](row)[0, 4])


@pytest.mark.parametrize("format", REFUSE)
def test_other_formats_refuse_them_by_name(format):
    write, options = REFUSE[format]
    said = r"column 'e' has categories in whose place the trees compare statistics, which to_"
    with pytest.raises(ExportError, match=said):
        write(fitted("text"), **options)


@pytest.mark.parametrize("kind", LEVELS)
def test_formats_are_those_that_can_be_written(kind):
    sets = ["lightgbm", "xgboost"] if kind in WRITES_SETS else []
    assert export_formats(fitted(kind)) == ["onnx", "python", *sets]


def test_columns_that_no_tree_tests_do_not_matter():
    X = frame("whole", 0).assign(e=0.0)
    ranker = rw.LambdaMART(3, min_samples_leaf=3).fit(X, X["a"] > 0, qid=QID)
    ranker.columns_ = statistics(LEVELS["text"][0])
    assert "solr" in export_formats(ranker)
    export.to_solr(ranker)


@pytest.mark.parametrize(
    ("levels", "formats", "said"),
    [
        (np.array([2**24, 2**24 + 1]), ["python"], "distinct as float32 numbers for ONNX"),
        (np.array([2**60, 2**60 + 1]), [], "distinct as float64 numbers"),
        (np.array([-1, 4]), ["onnx", "python"], None),
    ],
)
def test_categories_that_rows_cannot_tell_apart(levels, formats, said):
    ranker = rw.LambdaMART(3, min_samples_leaf=3)
    X = np.random.default_rng(0).normal(size=(N, 1))
    ranker.fit(X, (X[:, 0] > 0).astype(int), qid=QID)
    ranker.columns_ = ColumnTable({0: levels}, {}, {0: np.array([-1.0, 1.0])}, {0: 0.0})
    assert export_formats(ranker) == formats
    if said is not None:
        with pytest.raises(ExportError, match=said):
            export.to_onnx(ranker)


@pytest.mark.parametrize("format", ["lightgbm", "xgboost"])
def test_unknown_names_that_frames_make_missing_are_told(format):
    write, _ = KEEP[format]
    with pytest.warns(UserWarning, match="tells apart in 'e'. Pass positions .* and -1 for unknow"):
        write(fitted("text"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write(fitted("text", "together"))
        write(fitted("whole"))


@pytest.mark.parametrize("format", ["lightgbm", "xgboost", "solr", "opensearch"])
def test_scalers_before_them_are_refused(format):
    ranker = fitted("whole")
    pipeline = make_pipeline(StandardScaler(), ranker)
    pipeline[0].fit(frame("whole", 0))
    with pytest.raises(ExportError, match=r"cannot look up behind a scaler\. Fit without"):
        getattr(export, f"to_{format}")(pipeline)
    assert export_formats(pipeline) == ["onnx", "python"]


def test_a_file_of_lightgbm_is_read_again(tmp_path):
    """read_booster takes unknown categories for missing ones."""
    ranker = fitted("text")
    again = rw.read_booster(written("lightgbm", ranker, tmp_path))
    X = frame("text", 6, ["known", "missing"])
    np.testing.assert_array_equal(again.predict(X), ranker.predict(X))


CLOSE = {
    "tenths": [0.1, 0.7, 0.3, 1.1],
    "float32": [2**24, 2**24 + 1, 2**24 + 2, 2**24 + 3],
    "float64": [2**60, 2**60 + 1, 2**60 + 2, 2**60 + 3],
}


def _of_numbers(model, levels):
    """A frame whose categories are numbers, and a model that tells them apart."""
    rng = np.random.default_rng(0)
    codes, known = rng.integers(0, 4, N), np.array(levels)
    y = 2 * (codes % 2) + rng.integers(0, 2, N)
    X = pd.DataFrame({"a": known[codes], "b": rng.normal(size=N)})
    if not model.startswith("encoder"):
        X["a"] = pd.Categorical(X["a"])
    match model:
        case "sets":
            ranker = rw.LambdaMART(3, categorical_encoding="subset", min_samples_leaf=3)
        case "statistics":
            ranker = rw.LambdaMART(3, categorical_encoding="ordered", min_samples_leaf=3)
        case "blend":
            ranker = rw.AutoRanker(n_trials=3, cv=2, random_state=0)
        case _:
            drop = None if model == "encoder" else known[:1]
            encoder = OneHotEncoder(drop=drop if drop is None else [drop[0]])
            table = ColumnTransformer([("a", encoder, ["a"]), ("b", "passthrough", ["b"])])
            return make_pipeline(table, rw.RidgeRanker()).fit(X, y, ridgeranker__qid=QID), X
    return ranker.fit(X, y, qid=QID), X


@pytest.mark.parametrize("model", ["sets", "statistics", "blend", "encoder", "encoder that drops"])
@pytest.mark.parametrize("levels", CLOSE)
def test_numbers_that_rows_cannot_tell_apart(levels, model, tmp_path):
    """Numbers by which ids are categories: compared as the rows hold them, or refused."""
    ranker, X = _of_numbers(model, CLOSE[levels])
    formats = {"tenths": ["onnx", "python"], "float32": ["python"], "float64": []}[levels]
    assert [name for name in export_formats(ranker) if name in ("onnx", "python")] == formats
    wanted = rw.scores(ranker, X)
    for name, write in (("onnx", export.to_onnx), ("python", export.to_python)):
        if name not in formats:
            bits = "float64" if levels == "float64" else "float32"
            with pytest.raises(ExportError, match=f"of column 'a' must be distinct as {bits}"):
                write(ranker)
    if "onnx" in formats:
        data = export.to_onnx(ranker).SerializeToString()
        session = pytest.importorskip("onnxruntime").InferenceSession(data)
        found = session.run(["score"], {"X": X.astype(float).to_numpy(np.float32)})[0][:, 0]
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6)
        export.to_onnx(ranker, tmp_path / "m.onnx")
        certificate = verify(ranker, tmp_path / "m.onnx", X, qid=QID)
        assert certificate.holds, certificate
    if "python" in formats:
        module = {}
        exec(export.to_python(ranker), module)
        found = module["score"](module["encode"](X))
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)


def _parts(*steps):
    return ColumnTransformer([("a", make_pipeline(*steps), [0]), ("b", "passthrough", [1])])


DENSE = OneHotEncoder(sparse_output=False)
CLOSE_STEPS = {
    "all": [DENSE],
    "a part": [_parts(DENSE)],
    "before a step of skl2onnx": [DENSE, PCA(2)],
    "in such a step": [_parts(DENSE, PCA(1))],
}


@pytest.mark.parametrize("levels", ["float32", "float64"])
@pytest.mark.parametrize("steps", CLOSE_STEPS)
def test_skl2onnx_encodes_no_numbers_that_rows_cannot_tell_apart(steps, levels):
    pytest.importorskip("skl2onnx")
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.choice(CLOSE[levels], N), rng.integers(0, 4, N)])
    pipeline = make_pipeline(*CLOSE_STEPS[steps], rw.RidgeRanker()).fit(X, rng.integers(0, 3, N))
    assert "onnx" not in export_formats(pipeline)
    with pytest.raises(ExportError, match=f"of column 0 must be distinct as {levels} numbers"):
        export.to_onnx(pipeline)
