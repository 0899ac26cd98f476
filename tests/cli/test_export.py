"""``rankwise export``: a saved model in the form of another program."""

from __future__ import annotations

import inspect
import json

import numpy as np
import pytest

import rankwise as rw
from rankwise.cli.export import export
from rankwise.datasets import read_letor
from tests.export.readers import elasticsearch_scores, ranklib_scores, solr_scores


@pytest.fixture
def saved(rankwise, letor_file, tmp_path):
    """Fits a ranker and returns its file."""

    def fit(ranker, *settings):
        path = tmp_path / f"{ranker}.rankwise"
        run = rankwise("fit", letor_file, "--ranker", ranker, *settings, "--out", path)
        assert run.code == 0, run.err
        return path

    return fit


def test_every_format(rankwise, saved, letor_file, tmp_path):
    model, X = saved("ranking_tree", "--set", "max_depth=3"), read_letor(letor_file).X
    wanted = rw.load(model).rank_score(X)
    names = ["a", "b", "c", "d"]
    out = tmp_path / "new" / "solr.json"
    run = rankwise("export", model, out, "--format", "solr", "--features", ",".join(names))
    assert run.code == 0, run.err
    assert run.out.startswith("Solr MultipleAdditiveTreesModel, ")
    found = json.loads(out.read_text())
    assert found["name"] == "ranking_tree"
    np.testing.assert_array_equal(solr_scores(found, dict(zip(names, X.T, strict=True))),
                                  wanted.astype(np.float32))  # fmt: skip
    run = rankwise("export", model, tmp_path / "t.txt", "--format", "ranklib", "--json")
    assert run.json == {
        "model": str(model), "format": "ranklib", "out": str(tmp_path / "t.txt"),
        "holds": "RankLib LambdaMART",
    }  # fmt: skip
    text = (tmp_path / "t.txt").read_text()
    np.testing.assert_array_equal(ranklib_scores(text, X), wanted.astype(np.float32))
    (tmp_path / "names").write_text("a\nb\nc\nd\n")
    run = rankwise("export", model, tmp_path / "es.json", "--format", "elasticsearch",
                   "--features", tmp_path / "names", "--name", "mine")  # fmt: skip
    assert run.code == 0 and run.out.startswith("Elasticsearch model/ranklib")
    body = json.loads((tmp_path / "es.json").read_text())
    assert body["model"]["name"] == "mine"
    found = elasticsearch_scores(body, names, X)
    np.testing.assert_array_equal(found, wanted.astype(np.float32))


def test_solr_store_and_nulls(rankwise, saved, tmp_path):
    out = tmp_path / "solr.json"
    options = ["--format", "solr", "--store", "shop", "--nulls", "--name", "mine"]
    run = rankwise("export", saved("ranking_tree"), out, *options)
    assert run.code == 0, run.err
    found = json.loads(out.read_text())
    assert (found["store"], found["name"]) == ("shop", "mine")
    assert found["params"]["isNullSameAsZero"] is False


# Where the option has another name than the parameter.
OPTIONS = {"label": "classes"}


def test_every_parameter_of_the_exporters_is_an_option():
    exporters = [getattr(rw.export, name) for name in dir(rw.export) if name.startswith("to_")]
    assert len(exporters) == 4
    parameters = {name for f in exporters for name in inspect.signature(f).parameters}
    parameters -= {"estimator", "path"}
    options = set(inspect.signature(export).parameters) - {"model", "out", "to", "json"}
    assert {OPTIONS.get(name, name) for name in parameters} == options


def test_onnx(rankwise, saved, letor_file, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    model, X = saved("ranking_tree"), read_letor(letor_file).X
    run = rankwise("export", model, tmp_path / "tree.onnx", "--classes")
    assert run.code == 0, run.err
    assert run.out.startswith("ONNX, ")
    session = runtime.InferenceSession(tmp_path / "tree.onnx", providers=["CPUExecutionProvider"])
    (labels,) = session.run(["label"], {"X": X.astype(np.float32)})
    np.testing.assert_array_equal(labels, rw.load(model).predict(X))


def test_what_is_wrong_is_said(rankwise, saved, tmp_path):
    ridge = saved("ridge")
    for arguments, said in (
        (("m.json",), "Add --format onnx|solr|elasticsearch|ranklib"),
        (("m.onnx", "--features", "a"), "--features applies only to --format solr|elasticsearch"),
        (("m.txt", "--format", "ranklib", "--name", "a"), "--name applies only to"),
        (("m.txt", "--format", "ranklib", "--nulls"), "--nulls applies only to --format solr"),
        (("m.json", "--format", "elasticsearch", "--store", "s"), "--store applies only to"),
        (("m.json", "--format", "solr", "--classes"), "--classes applies only to --format onnx"),
        (("m.json", "--format", "xml"), "xml"),
    ):
        run = rankwise("export", ridge, tmp_path / arguments[0], *arguments[1:])
        assert (run.code, said in run.err) == (2, True), run.err
    run = rankwise("export", tmp_path / "none", tmp_path / "m.onnx")
    assert run.code == 2 and "is not a model file" in run.err
    run = rankwise("export", ridge, tmp_path / "m", "--format", "solr", "--features", "a,b")
    assert run.code == 1 and "one name for each of the 4 columns, got 2" in run.err
    run = rankwise("export", saved("lsrrank"), tmp_path / "m", "--format", "solr")
    assert run.code == 1 and "takes linear models" in run.err
    assert not (tmp_path / "m").exists()
