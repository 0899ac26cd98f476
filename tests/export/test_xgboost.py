"""XGBoost's JSON, read back by XGBoost; and dumps, read as the OpenSearch plugin does."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import rankwise as rw
from rankwise.export import ExportError, to_opensearch, to_xgboost
from rankwise.prediction import scores_of
from tests.export.readers import opensearch_scores
from tests.export.test_lightgbm import HOSTILE
from tests.export.tree_models import (
    COLOURS,
    EXACT,
    NEAR,
    fitted,
    fitted_on_frame,
    frame,
    labels,
    probes,
    rows,
)

xgboost = pytest.importorskip("xgboost")
MODELS = [name for name in {**EXACT, **NEAR} if "nominal" not in name]


def scores(path, X):
    return xgboost.Booster(model_file=path).inplace_predict(X.astype(np.float32))


def largest(model):
    from rankwise.export.parts import trees_of

    trees = trees_of(model, "tests", encoded=True).trees
    return sum(np.abs(tree.values[tree.feature < 0]).max() for tree in trees)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_branches_are_those_of_the_model(name, missing, tmp_path):
    model, path = fitted(name, missing), tmp_path / "m.json"
    assert json.loads(json.dumps(to_xgboost(model, path))) == json.loads(path.read_text())
    for X in (rows(1, missing=True), probes(model, 5)):
        wanted = scores_of(model, X)
        np.testing.assert_allclose(scores(path, X), wanted, rtol=0, atol=2e-6 * largest(model))
    booster = xgboost.Booster(model_file=path)
    X = rows(2, 50, missing)
    contributions = booster.predict(xgboost.DMatrix(X), pred_contribs=True)
    atol = 1e-5 * largest(model)
    np.testing.assert_allclose(contributions.sum(axis=1), scores(path, X), atol=atol)
    booster.save_model(tmp_path / "again.ubj")
    np.testing.assert_array_equal(scores(tmp_path / "again.ubj", X), scores(path, X))
    again = rw.read_booster(tmp_path / "again.ubj")
    np.testing.assert_allclose(again.predict(X), scores_of(model, X), atol=1e-6 * largest(model))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", ["leaf", "forest", "rank_boost"])
def test_dumps_for_opensearch(name, missing, tmp_path):
    model, path = fitted(name, missing), tmp_path / "m.json"
    names = [f"f{column + 1}" for column in range(5)]
    if missing:
        with pytest.warns(UserWarning, match="OpenSearch before August 2026 reads missing"):
            body = to_opensearch(model, path, name="mine")
    else:
        body = to_opensearch(model, path, name="mine")
    assert json.loads(path.read_text()) == body and body["model"]["name"] == "mine"
    for X in (rows(1, missing=missing), probes(model, 5)):
        found = opensearch_scores(body, names, X)
        np.testing.assert_allclose(found, scores_of(model, X), atol=2e-6 * largest(model))


def test_names(tmp_path):
    X = rows(0)
    table = pd.DataFrame(X, columns=["a", "b c", "d", "e", "f"])
    model = rw.LambdaMART(3).fit(table, labels(X), qid=0)
    to_xgboost(model, tmp_path / "m.json")
    booster = xgboost.Booster(model_file=tmp_path / "m.json")
    assert booster.feature_names == list(table)
    np.testing.assert_allclose(
        booster.predict(xgboost.DMatrix(table)), model.predict(table), atol=1e-6
    )
    hostile = rw.LambdaMART(3, min_samples_leaf=2).fit(
        X := np.random.default_rng(0).normal(size=(60, len(HOSTILE))), X.sum(axis=1) > 0, qid=0
    )
    with pytest.warns(UserWarning, match=r"XGBoost does not accept 4 .*'<b>&amp;'"):
        to_xgboost(hostile, tmp_path / "h.json", features=HOSTILE)
    np.testing.assert_allclose(scores(tmp_path / "h.json", X), hostile.predict(X), atol=1e-6)
    assert xgboost.Booster(model_file=tmp_path / "h.json").feature_names[1] == 'say "x"'
    body = to_opensearch(hostile, features=HOSTILE)
    found = opensearch_scores(json.loads(json.dumps(body)), HOSTILE, X)
    np.testing.assert_allclose(found, hostile.predict(X), atol=1e-6)


def test_nothing_and_constants(tmp_path):
    flat = rw.RankingTree().fit(np.ones((4, 1)), [1, 1, 1, 1])
    to_xgboost(flat, tmp_path / "m.json")
    assert scores(tmp_path / "m.json", np.ones((2, 1))).tolist() == [0, 0]
    nothing = rw.LambdaMART(3).fit(np.ones((9, 2)), np.arange(9) % 3, qid=0)
    to_xgboost(nothing, tmp_path / "m.json")
    assert scores(tmp_path / "m.json", np.ones((2, 2))).tolist() == [0, 0]
    assert opensearch_scores(to_opensearch(nothing), ["f1", "f2"], np.ones((2, 2))).tolist() == [
        0,
        0,
    ]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", ["nominal", "nominal forest", "nominal lightgbm"])
def test_categories(name, missing, tmp_path):
    """In a process of its own: XGBoost ends the process on nodes in another order."""
    model, path = fitted(name, missing), tmp_path / "m.json"
    to_xgboost(model, path)
    X = np.concatenate([rows(1, missing=True), probes(model, 5, categories=[4])])
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    code = (
        "import numpy as np, xgboost; b = xgboost.Booster(model_file='m.json');"
        "X = np.load('X.npy'); s = b.inplace_predict(X);"
        "d = xgboost.DMatrix(X, feature_types=['float'] * 4 + ['c'], enable_categorical=True);"
        "c = b.predict(d, pred_contribs=True).sum(axis=1); b.save_model('again.json');"
        "t = xgboost.Booster(model_file='again.json').inplace_predict(X);"
        "np.save('s.npy', [s, c, t])"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    found, contributions, again = np.load(tmp_path / "s.npy")
    wanted = scores_of(model, X)
    assert len(np.unique(wanted)) > 10
    np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-6 * largest(model))
    np.testing.assert_allclose(contributions, found, rtol=0, atol=1e-5 * largest(model))
    np.testing.assert_array_equal(again, found)
    trees = json.loads(path.read_text())["learner"]["gradient_booster"]["model"]["trees"]
    for tree in trees:
        assert tree["categories_nodes"] == sorted(tree["categories_nodes"])
        assert all(tree["categories_sizes"])


def test_named_categories_of_frames(tmp_path):
    model, X = fitted_on_frame(True), frame(2, missing=True)
    to_xgboost(model, tmp_path / "m.json")
    booster = xgboost.Booster(model_file=tmp_path / "m.json")
    listed = json.loads(booster.attr("categories"))
    assert listed == {"colour": sorted(COLOURS), "size": ["s", "m", "l"]}
    coded = X.assign(
        colour=X["colour"].cat.set_categories(listed["colour"]).cat.codes.replace(-1, np.nan),
        size=X["size"].cat.codes.replace(-1, np.nan),
    )
    found = booster.inplace_predict(coded.to_numpy(dtype=np.float32), validate_features=False)
    np.testing.assert_allclose(found, model.predict(X), atol=1e-6)
    again = rw.read_booster(tmp_path / "m.json", categories=listed)
    np.testing.assert_allclose(again.predict(X), model.predict(X), atol=1e-6)


def test_a_set_that_would_be_empty(tmp_path):
    X = np.array([[np.nan], [1.0], [2.0]] * 6)
    tree = rw.RankingTree(categorical_features=[0]).fit(X, [2, 0, 0] * 6)
    to_xgboost(tree, tmp_path / "m.json")
    Z = np.array([[np.nan], [1.0], [2.0], [9.0]])
    np.testing.assert_array_equal(scores(tmp_path / "m.json", Z), tree.rank_score(Z))


def test_categories_that_are_refused():
    with pytest.raises(ExportError, match="column 4 has unordered categories"):
        to_opensearch(fitted("nominal"))
    X = np.array([[-1.0], [1.0], [2.0]] * 6)
    tree = rw.RankingTree(categorical_features=[0]).fit(X, [0, 1, 0] * 6)
    with pytest.raises(ExportError, match=r"column 0 must be whole numbers .* for XGBoost"):
        to_xgboost(tree)


def test_nodes_that_part_missing_values_have_finite_conditions(tmp_path):
    X = np.array([[np.nan, 0.0], [np.nan, 1.0], [1.0, 0.0], [1.0, 1.0]] * 3)
    for y in ([3, 3, 0, 1] * 3, [0, 0, 3, 2] * 3):
        tree = rw.RankingTree().fit(X, y)
        assert np.isinf(tree.tree_.threshold[0])
        with pytest.warns(UserWarning, match="OpenSearch before"):
            body = to_opensearch(tree)
        assert "Infinity" not in json.dumps([to_xgboost(tree, tmp_path / "m.json"), body])
        largest = np.finfo(np.float32).max
        Z = np.array([[value, 0.0] for value in (np.nan, 0.0, largest, -largest)])
        np.testing.assert_array_equal(scores(tmp_path / "m.json", Z), tree.rank_score(Z))
        np.testing.assert_array_equal(opensearch_scores(body, ["f1", "f2"], Z), tree.rank_score(Z))
        assert rw.export.verify(tree, tmp_path / "m.json", X).holds
