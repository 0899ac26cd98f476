"""Vespa, Elasticsearch's own ensembles and Solr's wrapper, read as their programs do."""

from __future__ import annotations

import json

import numpy as np
import pytest

import rankwise as rw
from rankwise.export import ExportError, to_elasticsearch, to_solr, to_vespa
from rankwise.prediction import scores_of
from tests.export.readers import native_scores, solr_scores, vespa_scores
from tests.export.test_lightgbm import HOSTILE
from tests.export.tree_models import EXACT, NEAR, fitted, labels, probes, rows

MODELS = [name for name in {**EXACT, **NEAR} if "nominal" not in name]
NAMES = [f"f{column + 1}" for column in range(5)]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_vespa_and_native_ensembles(name, missing, tmp_path):
    model = fitted(name, missing)
    body = to_elasticsearch(model, tmp_path / "es.json", native=True)
    assert json.loads((tmp_path / "es.json").read_text()) == body
    written = to_vespa(model, tmp_path / "m.json", name="m")
    assert json.loads((tmp_path / "m.json").read_text()) == written["model"]
    assert (tmp_path / "m.profile").read_text() == written["profile"]
    assert 'lightgbm("m.json")' in written["profile"]
    atol = 1e-6 if name == "xgboost" else 1e-13
    for X in (rows(1, missing=True), probes(model, 5)):
        wanted = scores_of(model, X)
        np.testing.assert_allclose(native_scores(body, NAMES, X), wanted, atol=atol)
        found = vespa_scores(written["model"], NAMES, X)
        np.testing.assert_allclose(found, wanted, atol=atol)
        if name in EXACT:
            np.testing.assert_array_equal(found, wanted)


def test_number_of_training_rows_and_constants():
    X = np.arange(6.0)[:, None]
    tree = rw.RankingTree(max_depth=1).fit(X, [0, 0, 1, 1, 1, 1])
    ensemble = to_elasticsearch(tree, native=True)["definition"]["trained_model"]["ensemble"]
    nodes = ensemble["trained_models"][0]["tree"]["tree_structure"]
    assert [node["number_samples"] for node in nodes] == [6, 2, 4]
    nothing = rw.LambdaMART(3).fit(np.ones((9, 2)), np.arange(9) % 3, qid=0)
    Z = np.ones((3, 2))
    body = to_elasticsearch(nothing, native=True)
    assert native_scores(body, NAMES[:2], Z).tolist() == [0, 0, 0]
    assert vespa_scores(to_vespa(nothing)["model"], NAMES[:2], Z).tolist() == [0, 0, 0]


def test_names_of_vespa():
    X = rows(0)
    model = rw.LambdaMART(3, min_samples_leaf=3).fit(X, labels(X), qid=0)
    names = [
        "bm25(title)",
        "attribute(price)",
        "fieldMatch(title,0.5).completeness",
        "fresh",
        "a.b",
    ]
    written = to_vespa(model, features=names, name="shop_1")
    assert written["profile"].startswith("rank-profile shop_1 inherits default {")
    assert "\n        bm25(title)\n" in written["profile"]
    np.testing.assert_array_equal(vespa_scores(written["model"], names, X), model.predict(X))
    for odd in [*HOSTILE[:8], "a b", "f(x))", "f(\n)", "a}"]:
        with pytest.raises(ValueError, match="must be rank features"):
            to_vespa(model, features=[odd, *names[1:]])
    with pytest.raises(ValueError, match="name must be letters, digits and _ for Vespa, got 'a-b'"):
        to_vespa(model, name="a-b")


def test_hostile_names_of_ensembles():
    X = np.random.default_rng(0).normal(size=(60, len(HOSTILE)))
    model = rw.LambdaMART(3, min_samples_leaf=2).fit(X, X.sum(axis=1) > 0, qid=0)
    body = json.loads(json.dumps(to_elasticsearch(model, native=True, features=HOSTILE)))
    np.testing.assert_array_equal(native_scores(body, HOSTILE, X), model.predict(X))


def test_what_these_formats_do_not_have():
    for write in (to_vespa, lambda model: to_elasticsearch(model, native=True)):
        with pytest.raises(ExportError, match="column 4 has unordered categories"):
            write(fitted("nominal"))
        with pytest.raises(ExportError, match="takes sums of trees"):
            write(rw.RidgeRanker().fit(rows(0), rows(0)[:, 0], qid=0))


def test_the_wrapper_of_a_large_model(monkeypatch, tmp_path):
    model, X = fitted("leaf"), rows(1)
    monkeypatch.setattr("rankwise.export.solr.LARGEST_NODE", 100)  # a warning would be an error
    wrapper = to_solr(model, tmp_path / "big.json", name="big", store="shop",
                      resource="models/big.json")  # fmt: skip
    assert wrapper == {
        "class": "org.apache.solr.ltr.model.DefaultWrapperModel",
        "name": "big",
        "store": "shop",
        "params": {"resource": "models/big.json"},
    }
    assert json.loads((tmp_path / "big.wrapper.json").read_text()) == wrapper
    inner = json.loads((tmp_path / "big.json").read_text())
    columns = dict(zip(NAMES, X.T.astype(np.float32), strict=True))
    np.testing.assert_allclose(solr_scores(inner, columns), model.predict(X), atol=1e-6)
    with pytest.raises(ValueError, match="resource must name the file"):
        to_solr(model, resource=" ")
