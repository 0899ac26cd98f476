"""Certificates of parity: they hold for every format, and a changed file is found."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import rankwise as rw
from rankwise import export
from rankwise.export import exported_files as read_file
from rankwise.export import exported_files as runtimes
from rankwise.export.exported_files import EngineTree, lightgbm_trees, sum_trees, xgboost_trees
from rankwise.export.verification import count_orders
from rankwise.groups import QueryGroups
from rankwise.prediction import scores_of
from tests.export.readers import (
    elasticsearch_scores,
    native_scores,
    opensearch_scores,
    ranklib_scores,
    solr_scores,
    vespa_scores,
)
from tests.export.tree_models import (
    EXACT,
    NEAR,
    fitted,
    fitted_on_frame,
    frame,
    labels,
    probes,
    rows,
)

pytest.importorskip("lightgbm")
pytest.importorskip("xgboost")
WRITERS = {
    "lightgbm": (export.to_lightgbm, "m.txt", {}),
    "xgboost": (export.to_xgboost, "m.json", {}),
    "python": (export.to_python, "m.py", {}),
    "vespa": (export.to_vespa, "m.json", {}),
    "elasticsearch native": (export.to_elasticsearch, "m.json", {"native": True}),
    "opensearch": (export.to_opensearch, "m.json", {}),
    "solr": (export.to_solr, "m.json", {}),
    "ranklib": (export.to_ranklib, "m.txt", {}),
    "elasticsearch": (export.to_elasticsearch, "m.json", {}),
    "onnx": (export.to_onnx, "m.onnx", {}),
}
KEEP_MISSING = ["lightgbm", "xgboost", "python", "vespa", "elasticsearch native", "onnx"]
KEEP_CATEGORIES = ["lightgbm", "xgboost", "python", "onnx"]
QID = np.arange(300) // 10
NAMES = [f"f{column + 1}" for column in range(5)]


def written(format, model, folder):
    """File of a format."""
    if format == "onnx":
        pytest.importorskip("onnxruntime")
        pytest.importorskip("skl2onnx")
    write, name, options = WRITERS[format]
    write(model, folder / name, **options)
    return folder / name


@pytest.mark.parametrize("name", ["leaf", "symmetric", "rank_boost", "forest", "xgboost"])
@pytest.mark.parametrize("format", WRITERS)
def test_every_format_holds(format, name, tmp_path):
    model, X = fitted(name), rows(1)
    path = written(format, model, tmp_path)
    found = export.verify(model, path, X, qid=QID)
    assert (found.format, found.n_rows, found.n_queries) == (format, 300, 30)
    assert found.holds and found.n_changed == found.n_different == 0, str(found)
    assert found.first is None and found.n_probes >= 500
    assert found.largest_difference <= found.tolerance < 1e-4
    has_runtime = format in ("lightgbm", "xgboost", "onnx", "python")
    assert (found.reader == "interpreter") != has_runtime
    assert "the file ranks as the model" in str(found)


@pytest.mark.parametrize(
    ("qid", "said"),
    [(None, "without queries"), (np.zeros(300), "in 1 query,"), (QID, "in 30 queries")],
    ids=["none", "one", "many"],
)
def test_queries_are_counted(tmp_path, qid, said):
    model = fitted("leaf")
    found = export.verify(model, written("python", model, tmp_path), rows(1), qid=qid)
    assert said in str(found) and found.n_queries == (0 if qid is None else len(np.unique(qid)))


@pytest.mark.parametrize("format", KEEP_MISSING)
@pytest.mark.parametrize("name", ["leaf", "tree", "lightgbm"])
def test_missing_values(format, name, tmp_path):
    model = fitted(name, True)
    found = export.verify(model, written(format, model, tmp_path), rows(1, missing=True), qid=QID)
    assert found.holds, str(found)


@pytest.mark.parametrize("format", ["solr", "ranklib", "elasticsearch"])
def test_missing_values_of_formats_that_read_zeros(format, tmp_path):
    model = fitted("leaf", True)
    with pytest.warns(UserWarning, match="missing values as 0"):
        path = written(format, model, tmp_path)
    found = export.verify(model, path, rows(1, missing=True), qid=QID)
    assert not found.holds and found.n_changed > 0 and found.n_different > 0
    assert "has the value nan" in found.first.cause
    assert "reads" not in found.first.cause or "missing values as 0" in found.first.cause
    assert "THE FILE DIFFERS" in str(found) and "cause" in str(found)


@pytest.mark.parametrize("format", ["solr", "ranklib", "elasticsearch", "opensearch"])
def test_models_that_do_not_tell_of_missing_values(format, tmp_path):
    model = fitted("xgboost", True)
    (tmp_path / "own.json").write_bytes(model.model_)
    for estimator in (model, rw.read_booster(tmp_path / "own.json")):
        with pytest.warns(UserWarning, match="XGBoost do not tell whether values were missing"):
            path = written(format, estimator, tmp_path)
        if format != "opensearch":
            found = export.verify(estimator, path, rows(1), qid=QID)
            assert any("not known if training had some" in said for said in found.not_tried)


@pytest.mark.parametrize("format", KEEP_CATEGORIES)
@pytest.mark.parametrize("name", ["nominal", "nominal forest", "nominal lightgbm"])
def test_categories(format, name, tmp_path):
    model = fitted(name, True)
    X = rows(1, missing=True)
    X[::8, 4] = 77  # unknown
    found = export.verify(model, written(format, model, tmp_path), X, qid=QID)
    assert found.holds, str(found)


@pytest.mark.parametrize("format", KEEP_CATEGORIES)
def test_named_categories(format, tmp_path):
    model = fitted_on_frame(True)
    found = export.verify(model, written(format, model, tmp_path), frame(2, missing=True), qid=QID)
    assert found.holds, str(found)


@pytest.mark.parametrize("format", WRITERS)
@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler()])
def test_pipelines(format, scaler, tmp_path):
    X = rows(0)
    model = make_pipeline(scaler, rw.LambdaMART(6, min_samples_leaf=3)).fit(X, labels(X))
    found = export.verify(model, written(format, model, tmp_path), rows(1), qid=QID)
    assert found.holds, str(found)


@pytest.mark.parametrize("format", ["solr", "ranklib", "elasticsearch", "python", "onnx"])
def test_linear_models(format, tmp_path):
    X = rows(0)
    model = make_pipeline(StandardScaler(), rw.RidgeRanker()).fit(X, labels(X))
    found = export.verify(model, written(format, model, tmp_path), X, qid=QID)
    assert found.holds and found.n_probes == 0, str(found)
    assert any("no sum of trees" in reason for reason in found.not_tried)


def test_models_of_frames(tmp_path):
    table = pd.DataFrame(rows(0), columns=[f"column {number}" for number in range(5)])
    model = rw.LambdaMART(6, min_samples_leaf=3).fit(table, labels(rows(0)), qid=QID)
    pipeline = make_pipeline(StandardScaler(), rw.LambdaMART(6, min_samples_leaf=3))
    pipeline.fit(table, labels(rows(0)))
    for fitted_model in (model, pipeline):
        for format in ("solr", "python", "elasticsearch native"):
            found = export.verify(fitted_model, written(format, fitted_model, tmp_path), table)
            assert found.holds, str(found)


def test_models_of_other_libraries(tmp_path):
    import lightgbm

    X = rows(0)
    peer = lightgbm.LGBMRanker(n_estimators=8, min_child_samples=3, verbose=-1)
    peer.fit(X, labels(X), group=np.full(30, 10))
    peer.booster_.save_model(tmp_path / "own.txt")
    assert export.verify(peer, tmp_path / "own.txt", X, qid=QID).holds
    assert export.verify(peer, written("solr", peer, tmp_path), X, qid=QID).holds


@pytest.mark.parametrize("library", ["lightgbm", "rf", "xgboost", "catboost"])
def test_the_library_itself_is_the_reference(library, tmp_path, monkeypatch):
    """A model that is read wrongly, and exported as it is read, is found."""
    pytest.importorskip("catboost")
    X = rows(0)

    def train(n_trees):
        if library == "catboost":
            from catboost import CatBoostRegressor

            options = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
            return CatBoostRegressor(n_trees, depth=3, **options).fit(X, labels(X))
        if library == "xgboost":
            from xgboost import XGBRegressor

            return XGBRegressor(n_estimators=n_trees, n_jobs=1).fit(X, labels(X))
        from lightgbm import LGBMRegressor

        options = {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1}
        options = options if library == "rf" else {}
        return LGBMRegressor(n_estimators=n_trees, verbose=-1, n_jobs=1, **options).fit(
            X, labels(X)
        )

    peer, other = train(5), train(3)
    path = written("lightgbm", peer, tmp_path)
    assert export.verify(peer, path, X, qid=QID).holds
    if library == "xgboost":
        assert export.verify(peer.get_booster(), path, X, qid=QID).holds
    wrong = rw.read_booster(other)
    monkeypatch.setattr("rankwise.export.verification.own_model", lambda _: wrong)
    path = written("lightgbm", wrong, tmp_path)
    assert export.verify(wrong, path, X, qid=QID).holds
    found = export.verify(peer, path, X, qid=QID)
    assert not found.holds and found.n_different > 0


# Interpreters -------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", {**EXACT, **NEAR})
def test_interpreters_are_the_programs(name, missing, tmp_path):
    """Without the libraries, and against the readers of the tests."""
    model = fitted(name, missing)
    X = np.concatenate(
        [rows(1, missing=True), probes(model, 5, categories=[4] if "nom" in name else [])]
    )
    path = written("lightgbm", model, tmp_path)
    _, score = runtimes.lightgbm_score(path)
    np.testing.assert_array_equal(sum_trees(lightgbm_trees(path.read_text()), X), score(X))
    path = written("xgboost", model, tmp_path)
    _, score = runtimes.xgboost_score(path)
    trees, constant = xgboost_trees(json.loads(path.read_text()))
    np.testing.assert_allclose(sum_trees(trees, X, constant), score(X), rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore:.*missing:UserWarning")
@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("name", ["leaf", "rank_boost", "forest"])
def test_interpreters_of_engines(name, nulls, tmp_path):
    model = fitted(name, True)
    X = np.concatenate([rows(1, missing=True), probes(model, 5)])
    columns = dict(zip(NAMES, X.T.astype(np.float32), strict=True))

    def read(path):
        return read_file.read_exported(path, NAMES).score(X)

    file = export.to_solr(model, tmp_path / "s.json", nulls=nulls)
    np.testing.assert_array_equal(read(tmp_path / "s.json"), solr_scores(file, columns))
    file = export.to_ranklib(model, tmp_path / "r.txt")
    np.testing.assert_array_equal(read(tmp_path / "r.txt"), ranklib_scores(file, X))
    file = export.to_elasticsearch(model, tmp_path / "e.json")
    np.testing.assert_array_equal(read(tmp_path / "e.json"), elasticsearch_scores(file, NAMES, X))
    file = export.to_elasticsearch(model, tmp_path / "n.json", native=True)
    np.testing.assert_allclose(read(tmp_path / "n.json"), native_scores(file, NAMES, X), atol=1e-14)
    file = export.to_vespa(model, tmp_path / "v.json")["model"]
    np.testing.assert_allclose(read(tmp_path / "v.json"), vespa_scores(file, NAMES, X), atol=1e-14)
    file = export.to_opensearch(model, tmp_path / "o.json")
    np.testing.assert_array_equal(read(tmp_path / "o.json"), opensearch_scores(file, NAMES, X))
    assert (tmp_path / "o.json").read_text() == json.dumps(file, indent=1)


def test_programs_that_are_not_installed(monkeypatch, tmp_path):
    model = fitted("leaf")
    path = written("lightgbm", model, tmp_path)
    monkeypatch.setattr(runtimes, "find_spec", lambda name: None)
    found = export.verify(model, path, rows(1), qid=QID)
    assert found.reader == "interpreter" and found.holds
    (tmp_path / "m.onnx").write_bytes(b"")
    with pytest.raises(ImportError, match="onnxruntime, which is not installed"):
        read_file.read_exported(tmp_path / "m.onnx", NAMES)


def test_trees_of_the_model_score_as_the_model():
    for name in ("nominal", "leaf"):
        model = fitted(name, True)
        from rankwise.export.parts import trees_of

        trees = trees_of(model, "tests", encoded=True)
        X = probes(model, 5, categories=[4] if name == "nominal" else [])
        grown = tuple(EngineTree.of(tree) for tree in trees.trees)
        np.testing.assert_array_equal(sum_trees(grown, X, trees.constant), scores_of(model, X))


def naive_orders(wanted, found, qid, margin):
    changed = rounded = 0
    for query in np.unique(qid):
        s, f = wanted[qid == query], found[qid == query]
        far = any(a > b + margin and c <= d for a, c in zip(s, f, strict=True)
                  for b, d in zip(s, f, strict=True))  # fmt: skip
        near = list(np.argsort(-s, kind="stable")) != list(np.argsort(-f, kind="stable"))
        changed, rounded = changed + far, rounded + (near and not far)
    return changed, rounded


def test_orders_are_counted_as_by_all_pairs():
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = rng.integers(1, 40)
        qid, wanted = rng.integers(0, 6, n), rng.integers(0, 8, n) / 8.0
        found = wanted + rng.choice([0.0, 0.0, 0.05, 0.2, -0.2], n)
        groups = QueryGroups.from_qid(qid, n)
        margin = float(rng.choice([0.0, 0.0625, 0.2]))
        assert count_orders(wanted, found, groups, margin) == naive_orders(
            wanted, found, qid, margin
        )


def test_a_certificate_without_difference_holds():
    model = export.ParityCertificate("a", "b", 1, 1, 0, 0.0, 0.0, 0, 0, 0, None)
    assert model.holds
    assert not replace(model, n_changed=1).holds and not replace(model, n_different=1).holds


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_random_models_in_every_format():
    """The table of the documentation, for one model of each kind and few rows."""
    from benchmarks import parity

    pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    pytest.importorskip("catboost")
    counts = parity.measure(len(parity.MODELS), 100)
    assert list(counts) == list(parity.FORMATS)
    for count in counts.values():
        assert (count["models"], count["rows"]) == (len(parity.MODELS), 1100)
        assert count["changed"] == count["different"] == 0 < count["probes"]
