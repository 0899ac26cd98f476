"""Models as Python source: run in a process that has no rankwise."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwise as rw
from rankwise.export import ExportError, to_python
from rankwise.prediction import scores_of
from tests.export.test_lightgbm import HOSTILE
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


def module(text):
    names = {}
    exec(text, names)
    return names


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", {**EXACT, **NEAR})
def test_scores_of_trees(name, missing, tmp_path):
    model = fitted(name, missing)
    text = to_python(model, tmp_path / "model.py")
    assert (tmp_path / "model.py").read_text(encoding="utf-8") == text
    score = module(text)["score"]
    tolerance = 0 if name in EXACT else 1e-6 if name == "xgboost" else 1e-13
    for X in (rows(1, missing=True), probes(model, 5, categories=[4] if "nom" in name else [])):
        np.testing.assert_allclose(score(X), scores_of(model, X), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("missing", [False, True])
def test_named_categories(missing):
    model = fitted_on_frame(missing)
    names = module(to_python(model))
    X = frame(3, missing=True)
    X["colour"] = X["colour"].astype(object).where(X.index % 7 > 0, "never seen")
    found = names["score"](names["encode"](X.astype(object).where(X.notna(), None).values.tolist()))
    np.testing.assert_array_equal(found, model.predict(X))
    assert list(names["FEATURES"]) == list(X)


NETWORK = {"n_nodes": 5, "random_state": 0}


def test_scalers_linear_models_and_networks():
    X = rows(0)
    Z = probes(fitted("leaf"), 5)
    nodes = [rw.PairwiseELM(**NETWORK, activation=kind) for kind in ("sigmoid", "tanh", "relu",
             "sine", "hardlimit", "linear")]  # fmt: skip
    for last in (rw.LambdaMART(6, min_samples_leaf=3), rw.RidgeRanker(), *nodes):
        model = make_pipeline(StandardScaler(), last).fit(X, labels(X))
        np.testing.assert_allclose(
            module(to_python(model))["score"](X), model.predict(X), rtol=1e-9
        )
    tree = make_pipeline(StandardScaler(), rw.LambdaMART(6, min_samples_leaf=3)).fit(X, labels(X))
    np.testing.assert_array_equal(module(to_python(tree))["score"](Z), tree.predict(Z))
    with pytest.raises(ExportError, match=r"takes linear models, networks.*gaussian nodes"):
        to_python(rw.PairwiseELM(**NETWORK, activation="gaussian").fit(X, labels(X), qid=0))


def test_the_file_needs_numpy_only(tmp_path):
    model = fitted("leaf", True)
    to_python(model, tmp_path / "model.py", features=["a\n", 'b"', "c'''", "ü\\", "e"])
    np.save(tmp_path / "X.npy", rows(1, missing=True))
    code = (
        "import sys, numpy as np; sys.modules.update(rankwise=None, sklearn=None, numba=None)\n"
        "import model; np.save('s.npy', model.score(np.load('X.npy'))); print(model.FEATURES[0])"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "a\n\n"), run.stderr
    wanted = model.predict(rows(1, missing=True))
    np.testing.assert_array_equal(np.load(tmp_path / "s.npy"), wanted)


def test_hostile_names_and_wrong_shapes():
    X = np.random.default_rng(0).normal(size=(60, len(HOSTILE)))
    model = rw.LambdaMART(3, min_samples_leaf=2).fit(X, X.sum(axis=1) > 0, qid=0)
    names = module(to_python(model, features=HOSTILE))
    assert names["FEATURES"] == HOSTILE
    with pytest.raises(ValueError, match=rf"{len(HOSTILE)} columns, got shape \(2, 2\)"):
        names["score"](np.ones((2, 2)))
