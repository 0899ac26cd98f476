"""Certificates of parity find files that were changed."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import rankwise as rw
from rankwise import export
from rankwise.prediction import scores_of
from tests.export.test_verify import NAMES, QID, WRITERS, written
from tests.export.tree_models import fitted, labels, rows

pytest.importorskip("lightgbm")
pytest.importorskip("xgboost")


def nudge(text, format):
    """File text with one number changed: a threshold for trees."""
    if format in ("lightgbm",):
        start = text.index("\nthreshold=") + len("\nthreshold=")
        end = text.index(" ", start)
        return text[:start] + repr(float(text[start:end]) + 0.25) + text[end:]
    if format == "ranklib":
        start = text.index("<threshold> ") + len("<threshold> ")
        end = text.index(" ", start)
        return text[:start] + str(float(text[start:end]) + 0.25) + text[end:]
    model = json.loads(text)
    if format == "xgboost":
        tree = model["learner"]["gradient_booster"]["model"]["trees"][0]
        tree["split_conditions"][0] += 0.25
    elif format == "vespa":
        model["tree_info"][0]["tree_structure"]["threshold"] += 0.25
    elif format == "elasticsearch native":
        ensemble = model["definition"]["trained_model"]["ensemble"]
        ensemble["trained_models"][0]["tree"]["tree_structure"][0]["threshold"] += 0.25
    elif format == "solr":
        root = model["params"]["trees"][0]["root"]
        root["threshold"] = str(float(root["threshold"]) + 0.25)
    elif format == "opensearch":
        inner = model["model"]["model"]
        definition = json.loads(inner["definition"])
        definition["splits"][0]["split_condition"] += 0.25
        inner["definition"] = json.dumps(definition)
    else:
        inner = model["model"]["model"]
        inner["definition"] = nudge(inner["definition"], "ranklib")
    return json.dumps(model)


@pytest.mark.parametrize("format", [name for name in WRITERS if name not in ("python", "onnx")])
def test_a_moved_threshold_is_found(format, tmp_path):
    model = fitted("leaf")
    path = written(format, model, tmp_path)
    path.write_text(nudge(path.read_text(), format))
    found = export.verify(model, path, rows(1), qid=QID)
    assert not found.holds and found.n_different > 0
    assert found.first.cause.startswith("tree 0: column")
    assert "so it goes" in found.first.cause


def test_one_float32_step_is_found_at_the_thresholds(tmp_path):
    model = fitted("tree")
    path = written("ranklib", model, tmp_path)
    text = path.read_text()
    start = text.index("<threshold> ") + len("<threshold> ")
    end = text.index(" ", start)
    moved = np.nextafter(np.float32(text[start:end]), np.float32(np.inf))
    path.write_text(text[:start] + str(moved) + text[end:])
    far = np.full((4, 5), 50.0)
    found = export.verify(model, path, far)
    assert (found.n_changed, found.holds) == (0, False)
    assert found.first.row == -1 and "a row tried besides" in str(found)


def test_other_leaves_and_other_features_are_found(tmp_path):
    model = fitted("tree")
    path = written("vespa", model, tmp_path)
    file = json.loads(path.read_text())
    root = file["tree_info"][0]["tree_structure"]
    split = root["split_feature"]
    for other in {0, 4} - {split}:
        root["split_feature"] = other
        path.write_text(json.dumps(file))
        found = export.verify(model, path, rows(1), qid=QID)
        said = f"tree 0: the file tests column {other} where the model tests column {split}"
        assert said in found.first.cause
    root["split_feature"], root["threshold"] = split, root["threshold"] + 100.0
    path.write_text(json.dumps(file))
    found = export.verify(model, path, rows(1), qid=QID)
    assert found.first.cause.startswith(f"tree 0: column {split} has the value")
    other = fitted("leaf")
    found = export.verify(other, written("vespa", model, tmp_path), rows(1), qid=QID)
    assert not found.holds


def test_files_that_cannot_be_verified(tmp_path):
    model, X = fitted("leaf"), rows(1)
    for content in (b"hello", b"{}", b'{"model": 1}', b"\xff\xfe", b"tree\n\nTree=0\nx=1"):
        (tmp_path / "m").write_bytes(content)
        with pytest.raises(ValueError, match="m cannot be verified"):
            export.verify(model, tmp_path / "m", X)
    export.to_solr(model, tmp_path / "s.json", resource="big.json")
    with pytest.raises(ValueError, match=r"names another file: verify that one \(big.json\)"):
        export.verify(model, tmp_path / "s.wrapper.json", X)
    export.to_solr(model, tmp_path / "s.json", features=list("abcde"))
    with pytest.raises(ValueError, match="cannot be verified"):
        export.verify(model, tmp_path / "s.json", X)
    assert export.verify(model, tmp_path / "s.json", X, features=list("abcde")).holds


LIGHTGBM_EDITS = [("leaf_value=", "leaf_value=1"), ("leaf_value=", "leaf_value=1 1 "),
                  ("Tree=2", ""), ("Tree=0", "Tree=9"), ("Tree=3", "Tree=33")]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), LIGHTGBM_EDITS)
def test_files_whose_sizes_end_lightgbm(old, new, tmp_path):
    """LightGBM ends the process if a tree is longer or shorter than the header says."""
    model = fitted("leaf")
    path = written("lightgbm", model, tmp_path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ValueError, match=r"m\.txt cannot be verified: its trees have other sizes"):
        export.verify(model, path, rows(1))


def swap(text):
    """File text in which two names of features change places."""
    return text.replace("f1", "f9").replace("f2", "f1").replace("f9", "f2")


@pytest.mark.parametrize("format", ["lightgbm", "xgboost", "python"])
def test_features_in_another_order_are_found(format, tmp_path):
    X = pd.DataFrame(rows(1), columns=NAMES)
    model = rw.LambdaMART(5, min_samples_leaf=3).fit(X, labels(rows(1)), qid=QID)
    path = written(format, model, tmp_path)
    path.write_text(swap(path.read_text()))
    with pytest.raises(ValueError, match=r"its feature 0 is 'f2', but that of the model is 'f1'"):
        export.verify(model, path, X)
    names = ["größe", "b", "c", "d", "e"]
    WRITERS[format][0](model, path, features=names)
    with pytest.raises(ValueError, match=r"but that of the model is 'f1'. Pass the features="):
        export.verify(model, path, X)
    assert export.verify(model, path, X, features=names).holds


def test_names_that_xgboost_reads_otherwise(tmp_path):
    import xgboost

    model, path = fitted("leaf"), tmp_path / "m.json"
    names = ["größe", "日本", "c", "d", "e"]
    made = export.to_xgboost(model, path, features=names)
    assert xgboost.Booster(model_file=path).feature_names == names
    path.write_text(json.dumps(made))  # with escapes
    with pytest.raises(ValueError, match="XGBoost reads its feature names as"):
        export.verify(model, path, rows(1), features=names)


def test_other_tests_and_weights_are_found(tmp_path):
    model = fitted("leaf")

    def edited(format, change):
        path = written(format, model, tmp_path)
        file = json.loads(path.read_text())
        change(file)
        path.write_text(json.dumps(file))
        return export.verify(model, path, rows(1), qid=QID)

    def root(file):
        return file["tree_info"][0]["tree_structure"]

    def ensemble(file):
        return file["definition"]["trained_model"]["ensemble"]

    def first(file):
        return ensemble(file)["trained_models"][0]["tree"]["tree_structure"][0]

    norm = {"class": "org.apache.solr.ltr.norm.StandardNormalizer", "params": {"avg": "1"}}
    for format, change, said in (
        ("vespa", lambda file: root(file).update(decision_type="=="), "decision_type must be '<='"),
        ("vespa", lambda file: root(file).update(missing_type="None"), "missing_type must be"),
        ("elasticsearch native", lambda file: first(file).update(decision_type="gt"), "'lte', got"),
        (
            "elasticsearch native",
            lambda file: ensemble(file).update(feature_names=NAMES[::-1]),
            "a tree's feature_names must be",
        ),
        ("solr", lambda file: file["features"][0].update(norm=norm), "normalizes features"),
        ("solr", lambda file: file.update(features=file["features"][:1]), "does not list"),
        ("solr", lambda file: file["features"][0].update(name="no"), "asks for the feature 'no'"),
        ("vespa", lambda file: file.pop("feature_names"), "lacks 'feature_names'"),
    ):
        with pytest.raises(ValueError, match=rf"m\.json cannot be verified: .*{said}"):
            edited(format, change)

    def reweigh(file):
        ensemble(file)["aggregate_output"]["weighted_sum"]["weights"][0] = -5.0

    assert not edited("elasticsearch native", reweigh).holds


@pytest.mark.parametrize("format", WRITERS)
@pytest.mark.parametrize("kind", [rw.RankingForest, rw.LambdaMART])
def test_numbers_that_float32_rounds(format, kind, tmp_path):
    """Values of two decimals, some of which are thresholds or nearly so."""
    rng = np.random.default_rng(0)
    X = np.round(rng.random((300, 5)), 2)
    model = kind(n_estimators=8, random_state=0, min_samples_leaf=1)
    model.fit(X, np.floor(3 * X[:, 0] + X[:, 1]).astype(int), qid=QID)
    found = export.verify(model, written(format, model, tmp_path), X, qid=QID)
    assert found.holds, str(found)
    rounded = X.astype(np.float32).astype(np.float64)
    n_moved = int((scores_of(model, rounded) != scores_of(model, X)).sum())
    in_float32 = format in ("xgboost", "onnx", "solr", "opensearch", "ranklib", "elasticsearch")
    assert found.n_moved == (n_moved if in_float32 else 0)
    assert ("reads float32 numbers, in which 0." in str(found)) == (found.n_moved > 0)
    if in_float32 and kind is rw.RankingForest:
        assert n_moved > 0
