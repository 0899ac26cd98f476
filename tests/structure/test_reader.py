"""Model files of plain entries are read as skops reads them, and without it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from zipfile import ZipFile

import numpy as np
import pytest
import skops.io
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

import rankwise
from rankwise.persistence import TRUSTED_TYPES, read_plain

X = np.random.default_rng(0).normal(size=(40, 3))
Y, QID = np.arange(40) % 3, np.arange(40) // 10
MODELS = [
    rankwise.RidgeRanker(),
    rankwise.RankingForest(n_estimators=2, random_state=0),
    make_pipeline(StandardScaler(), QuantileTransformer(n_quantiles=20), rankwise.RidgeRanker()),
]


def read(data):
    with ZipFile(io.BytesIO(data)) as archive:
        return read_plain(archive, json.loads(archive.read("schema.json")))


def state_of(model):
    return str(model.__getstate__())


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_model_is_the_one_that_skops_reads(model):
    model.fit(X, Y)
    data = skops.io.dumps(model)
    ours, theirs = read(data), skops.io.loads(data, trusted=list(TRUSTED_TYPES))
    assert type(ours) is type(model)
    assert state_of(ours) == state_of(theirs)
    np.testing.assert_array_equal(ours.predict(X), model.predict(X), strict=True)


def test_plain_values():
    frame_names = np.array(["a", "b"], dtype=object)
    shared = np.arange(3)
    model = rankwise.RidgeRanker()
    model.values_ = {
        "numbers": {1: 2.5, 0.5: "x", False: None},
        "arrays": [shared, shared, np.float32(1.5), np.zeros((0, 2)), np.array(["é"])],
        "names": frame_names,
        "table": np.array([["a", 1], [None, 2.5]], dtype=object),
        "bytes": (b"\x00", ()),
    }
    data = skops.io.dumps(model)
    ours, theirs = read(data).values_, skops.io.loads(data, trusted=list(TRUSTED_TYPES)).values_
    assert str(ours) == str(theirs)
    assert ours["arrays"][0] is ours["arrays"][1]
    assert type(ours["arrays"][2]) is np.float32
    assert ours["names"].dtype == object


@pytest.mark.parametrize(
    "value", [np.random.RandomState(0), {1, 2}, slice(3), np.sin, QuantileTransformer],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_other_entries_are_left_to_skops(value):
    model = rankwise.RidgeRanker()
    model.value_ = value
    assert read(skops.io.dumps(model)) is None


def test_only_trusted_classes_are_built(monkeypatch):
    data = skops.io.dumps(rankwise.RidgeRanker())
    assert read(data) is not None
    with monkeypatch.context() as patched:
        patched.setattr("rankwise.persistence._TRUSTED", frozenset())
        assert read(data) is None
    for module, name in [
        ("subprocess", "Popen"), ("sklearn.preprocessing._data", "Popen"),
        ("sklearn.datasets._base", "Bunch"), ("sklearn.pipeline", "_final_estimator_has"),
        ("sklearn.preprocessing.os", "StandardScaler"),
    ]:  # fmt: skip
        source = io.BytesIO(data)
        with ZipFile(source) as archive:
            schema = json.loads(archive.read("schema.json"))
            schema["__module__"], schema["__class__"] = module, name
            assert read_plain(archive, schema) is None


def test_load_does_not_import_skops(tmp_path):
    path = rankwise.RidgeRanker().fit(X, Y).save(tmp_path / "model.skops")
    code = (
        "import sys, rankwise\n"
        f"model = rankwise.load({str(path)!r})\n"
        "model.predict([[0.0, 1.0, 2.0]])\n"
        "print([name for name in ('skops', 'torch', 'dask') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
