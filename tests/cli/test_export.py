"""``rankwise export``: a saved model in the form of another program."""

from __future__ import annotations

import inspect
import json

import numpy as np
import pytest

import rankwise as rw
from rankwise.cli._options import ROW_OPTIONS
from rankwise.cli.model_files import export
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
    assert len(exporters) == 9
    parameters = {name for f in exporters for name in inspect.signature(f).parameters}
    parameters -= {"estimator", "path"}
    options = set(inspect.signature(export).parameters) - {"model", "out", "to", "json"}
    options -= {"verify", *ROW_OPTIONS}
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


FORMATS = ["lightgbm", "xgboost", "python", "vespa", "solr", "elasticsearch", "opensearch",
           "ranklib"]  # fmt: skip


@pytest.mark.parametrize("to", [*FORMATS, "native", "onnx"])
def test_verified(to, rankwise, saved, letor_file, tmp_path):
    if to == "onnx":
        pytest.importorskip("skl2onnx")
        pytest.importorskip("onnxruntime")
    model, out = saved("ranking_tree", "--set", "max_depth=3"), tmp_path / f"m.{to}.out"
    options = ["elasticsearch", "--native"] if to == "native" else [to]
    run = rankwise("export", model, out, "--format", *options, "--verify", letor_file)
    assert run.code == 0, run.err
    assert "the file ranks as the model" in run.out and "96 in 12 queries" in run.out
    run = rankwise("export", model, out, "--format", *options, "--verify", letor_file, "--json")
    parity = run.json["parity"]
    assert (parity["holds"], parity["n_rows"], parity["n_changed"]) == (True, 96, 0)


@pytest.mark.filterwarnings("ignore:RankLib reads missing values as 0:UserWarning")
def test_an_export_that_reorders_fails(rankwise, saved, tmp_path):
    """Missing values, which RankLib reads as 0."""
    model = saved("ranking_tree", "--set", "max_depth=3")
    X = np.random.default_rng(0).random((60, 4))
    X[::3] = np.nan
    tree = rw.RankingTree(min_samples_leaf=3).fit(X, np.isnan(X[:, 0]) * 2 + (X[:, 1] > 0.5))
    tree.save(model)
    with open(tmp_path / "rows.csv", "w", encoding="utf-8") as file:
        file.write("qid,a,b,c,d\n")
        for number, row in enumerate(X):
            cells = ["" if np.isnan(value) else repr(float(value)) for value in row]
            file.write(",".join([str(number // 10), *cells]) + "\n")
    run = rankwise("export", model, tmp_path / "m.txt", "--format", "ranklib",
                   "--verify", tmp_path / "rows.csv")  # fmt: skip
    assert run.code == 1, run.err
    assert "THE FILE DIFFERS" in run.out and "missing values as 0" in run.out
    run = rankwise("export", model, tmp_path / "m.py", "--verify", tmp_path / "rows.csv")
    assert run.code == 0, run.out


def test_rows_to_verify_with_another_separator(rankwise, tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{i // 10};{i % 3};{a};{b}" for i, (a, b) in enumerate(rng.random((60, 2)))]
    rows = tmp_path / "rows.csv"
    rows.write_text("\n".join(["Suche;Note;a;b", *lines]) + "\n", encoding="utf-8")
    model, out = tmp_path / "m", tmp_path / "m.py"
    names = ("--sep", ";", "--qid", "Suche")
    run = rankwise("fit", rows, *names, "--label", "Note", "--ranker", "ridge()", "--out", model)
    assert run.code == 0, run.err
    run = rankwise("export", model, out, "--verify", rows)
    assert run.code == 1 and "Pass the column separator: --sep ';'." in run.err
    run = rankwise("export", model, out, "--verify", rows, *names)
    assert run.code == 0 and "60 in 6 queries" in run.out, run.err
    assert run.err == ""
    run = rankwise("export", model, out, "--verify", rows, *names[:2])
    assert "has no column of queries, so all its rows are compared as one" in run.err
    run = rankwise("export", model, out, "--verify", rows, *names[:2], "--one-query")
    assert (run.code, run.err) == (0, "")
    run = rankwise("export", model, out, *names)
    assert run.code == 2 and "--qid applies only to the rows of --verify" in run.err


def test_models_of_boosting_libraries(rankwise, letor_file, tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    data = read_letor(letor_file)
    peer = lightgbm.LGBMRanker(n_estimators=4, min_child_samples=3, verbose=-1)
    peer.fit(data.X, data.y, group=np.full(12, 8))
    peer.booster_.save_model(tmp_path / "m.txt")
    run = rankwise("export", tmp_path / "m.txt", tmp_path / "solr.json", "--format", "solr",
                   "--verify", letor_file)  # fmt: skip
    assert run.code == 0, run.err + run.out
    found = json.loads((tmp_path / "solr.json").read_text())
    names = ["f1", "f2", "f3", "f4"]
    scores = solr_scores(found, dict(zip(names, data.X.T, strict=True)))
    np.testing.assert_allclose(scores, peer.predict(data.X), rtol=1e-5, atol=1e-6)
    (tmp_path / "bad.json").write_text("{}")
    run = rankwise("export", tmp_path / "bad.json", tmp_path / "m.py")
    assert run.code == 1 and "no model of XGBoost or CatBoost" in run.err


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_rows_with_categories_of_text(suffix, rankwise, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"qid": np.arange(120) // 10, "x": rng.random(120),
                          "colour": rng.choice(["red", "NA", "grey"], 120)})  # fmt: skip
    table.loc[::9, "colour"] = None
    y = (table["colour"] == "red") + (table["x"] > 0.5)
    ranker = rw.LambdaMART(4, min_samples_leaf=3)
    ranker.fit(table[["x", "colour"]], y.astype(int), qid=table["qid"]).save(tmp_path / "m")
    rows = tmp_path / f"rows.{suffix}"
    if suffix == "csv":
        table.assign(label=y).to_csv(rows, index=False)
    else:
        table.to_parquet(rows)
    run = rankwise("export", tmp_path / "m", tmp_path / "m.py", "--verify", rows)
    assert run.code == 0, run.err + run.out
    assert "120 in 12 queries" in run.out and "the file ranks as the model" in run.out
    table.drop(columns="colour").to_csv(tmp_path / "less.csv", index=False)
    run = rankwise("export", tmp_path / "m", tmp_path / "m.py", "--verify", tmp_path / "less.csv")
    assert run.code != 0 and "columns that are missing: 'colour'" in run.err


def test_models_of_boosting_libraries_in_other_formats(rankwise, tmp_path):
    for content, said in ((b"CBM1....", "format='json'"), (b"[1]", "XGBoost's dump"),
                          (b"binf", "save_model")):  # fmt: skip
        (tmp_path / "m").write_bytes(content)
        run = rankwise("export", tmp_path / "m", tmp_path / "m.py")
        assert run.code == 1 and said in run.err, run.err


def test_the_wrapper_of_solr(rankwise, saved, tmp_path):
    run = rankwise("export", saved("ranking_tree"), tmp_path / "big.json", "--format", "solr",
                   "--resource", "models/big.json")  # fmt: skip
    assert run.code == 0 and run.out.startswith("Solr DefaultWrapperModel: ")
    wrapper = json.loads((tmp_path / "big.wrapper.json").read_text())
    assert wrapper["params"] == {"resource": "models/big.json"}


def test_what_is_wrong_is_said(rankwise, saved, tmp_path):
    ridge = saved("ridge")
    for arguments, said in (
        (("m.json",), "Add --format onnx|lightgbm|xgboost|python|vespa|solr|"),
        (("m.onnx", "--features", "a"), "--features applies only to --format solr|elasticsearch|"),
        (("m.txt", "--format", "ranklib", "--name", "a"), "--name applies only to"),
        (("m.txt", "--format", "ranklib", "--nulls"), "--nulls applies only to --format solr"),
        (("m.json", "--format", "elasticsearch", "--store", "s"), "--store applies only to"),
        (("m.json", "--format", "vespa", "--native"), "--native applies only to --format elastic"),
        (("m.json", "--format", "vespa", "--resource", "f"), "--resource applies only to"),
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
