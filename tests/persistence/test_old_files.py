"""Model files written before their format named classes without modules (format 1)."""

from __future__ import annotations

import io
import json
from functools import cache
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone

import rankwise
from rankwise.metrics._table import MEASURES
from rankwise.persistence import FORMAT, TRUSTED_TYPES, describe, dicts_of
from rankwise.runtime.renames import convert_stored
from tests.fuzz.models import _with_text, rows

# Small models of all estimators but the neural ones, and of all classes that they store, written by
# the last commit with format 1, with their predictions for the rows below.
OLD = Path(__file__).parent / "data" / "models-0.3.zip"
KINDS = {
    "rankrls sparse": "sparse",
    "prank sparse": "sparse",
    "voted_prank sparse": "sparse",
    "lsrrank precomputed": "kernel",
    "ordinal_svm precomputed": "kernel",
}
# Stored by no estimator of today, or by those that need PyTorch.
NOT_IN_FILES = {"FourierMap", "QueryGroups", "ScoreCalibration"}
# Values of ``measure`` since format 3; names before.
NOT_IN_FILES |= {path.rpartition(":")[2] for path in MEASURES.values()} | {"Reversed"}
# Classes that are newer than the files.
NOT_IN_FILES |= {"CalibratedRanker", "ListCalibration", "ProbabilityMap", "DocumentKFold"}
NEURAL = {"RankNet", "ListNet", "ListMLE", "LambdaRank", "BoltzRank"}


@cache
def old_files():
    with ZipFile(OLD) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def models():
    return [name.removesuffix(".skops") for name in old_files() if name.endswith(".skops")]


def schema_of(data):
    with ZipFile(io.BytesIO(data)) as archive:
        return json.loads(archive.read("schema.json"))


def rows_of(name):
    X = rows()[KINDS.get(name, "X")]
    if name == "ranking_tree categories":
        return _with_text(pd.DataFrame(X, columns=["a", "b", "c"]))
    return X


# Files with estimators of scikit-learn 1.9 that have other parameters and classes before.
NEEDS_1_8 = {
    "mc_rank", "mc_rank ordinal", "mc_rank logistic", "csovo logistic",
    "weighted_all_pairs logistic", "label_powerset logistic", "calibrated logistic",
}  # fmt: skip
IS_BEFORE_1_8 = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8)


# scikit-learn warns of its own estimators in files of other releases.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
@pytest.mark.parametrize("name", models())
def test_an_old_file_predicts_as_before_and_is_saved_with_stable_names(name, tmp_path):
    if IS_BEFORE_1_8 and name in NEEDS_1_8:
        pytest.skip("holds estimators of scikit-learn 1.9")
    (tmp_path / "old").write_bytes(old_files()[f"{name}.skops"])
    assert describe(tmp_path / "old")["format"] == 1
    try:
        model = rankwise.load(tmp_path / "old")
    except ImportError as error:
        pytest.skip(str(error))
    again = rankwise.load(rankwise.save(model, tmp_path / "new"))
    assert describe(tmp_path / "new")["format"] == FORMAT
    stored = json.dumps(schema_of((tmp_path / "new").read_bytes()))
    assert '"rankwise.' not in stored, "a class is named by its module"
    expected = json.loads(old_files()["predictions.json"]).get(name)
    if expected is not None:
        for fitted in (model, again):
            found = np.asarray(fitted.predict(rows_of(name)), dtype=float)
            scale = max(1.0, np.abs(expected).max())
            np.testing.assert_allclose(found / scale, np.array(expected) / scale, atol=1e-9)


def test_the_old_files_hold_every_class():
    stored = {
        entry["__class__"]
        for name, data in old_files().items()
        if name.endswith(".skops")
        for entry in dicts_of(schema_of(data))
        if str(entry.get("__module__", "")).startswith("rankwise.")
    }
    ours = {path.rpartition(".")[2] for path in TRUSTED_TYPES if path.startswith("rankwise.")}
    assert ours - NOT_IN_FILES - NEURAL <= stored


def load_old(name, tmp_path):
    (tmp_path / "old").write_bytes(old_files()[f"{name}.skops"])
    return rankwise.load(tmp_path / "old"), describe(tmp_path / "old")["params"]


@pytest.mark.parametrize(("name", "new"), [("elmrank", "alpha"), ("mprank", "lam")])
def test_penalties_that_became_their_reciprocals(name, new, tmp_path):
    model, params = load_old(name, tmp_path)
    assert not hasattr(model, "C")
    assert not hasattr(model, "C_")
    C = params["C"]
    assert getattr(model, new) == (C if C in ("cv", "val") else 1 / float(C))
    chosen = np.ravel(getattr(model, f"{new}_"))
    known = np.ravel(model.path_[new])
    assert np.isin(chosen, known).all()
    assert "C" not in model.path_
    assert model.get_params().keys() == type(model)().get_params().keys()
    refitted = clone(model).fit(rows()["X"], np.arange(len(rows()["X"])) % 3)
    assert hasattr(refitted, f"{new}_")


def test_parameters_that_old_files_lack_fit_the_same_model(tmp_path):
    model, params = load_old("lambdamart", tmp_path)
    assert "categorical_encoding" not in params
    assert clone(model).get_params()["categorical_encoding"] == "subset"


@pytest.mark.parametrize(
    ("penalty", "now"), [("cv", "cv"), ("lpo", "lpo"), (1.0, "cv"), ([1.0, 2.0], "cv")]
)
def test_the_word_for_a_search_of_widths_in_old_files(penalty, now):
    model = rankwise.LSRRank(gamma="grid", lam=penalty)
    convert_stored(model)
    assert model.gamma == now


def test_names_of_classes_are_unique():
    names = [path.rpartition(".")[2] for path in TRUSTED_TYPES if path.startswith("rankwise.")]
    assert len(set(names)) == len(names)
