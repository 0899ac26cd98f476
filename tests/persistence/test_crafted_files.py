"""Nothing in a model file runs, and nothing of a kind that is not on the list is built."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestRegressor

import rankwise
from rankwise.persistence import TRUSTED_TYPES, ModelFileError, describe, load, save
from tests.persistence.model_files import rewrite, schema_of

TEXT = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "is_json": True}


def node(loader, module, name, **content):
    return {"__loader__": loader, "__module__": module, "__class__": name, **content}


def listed(*nodes, name="tuple"):
    loader = {"tuple": "TupleNode", "list": "ListNode"}[name]
    return node(loader, "builtins", name, content=list(nodes))


def text(value):
    return {**TEXT, "content": json.dumps(value)}


def crafted_nodes(marker):
    """Trees that would touch ``marker`` when built by a careless reader."""
    command = text(f"touch {marker}")
    system = node("FunctionNode", "os", "system")
    return {
        "function": system,
        "function-as-type": node("TypeNode", "os", "system"),
        "foreign-type": node("ObjectNode", "subprocess", "Popen", content=None),
        "foreign-module-is-not-imported": node("ObjectNode", "antigravity", "fly", content=None),
        "constructor": node(
            "ConstructorFromReduceNode", "subprocess", "Popen", content=listed(command)
        ),
        "constructor-of-function": node(
            "ConstructorFromReduceNode", "os", "system", content=listed(command)
        ),
        "partial": node(
            "PartialNode", "functools", "partial",
            content={"func": system, "args": listed(command), "kwds": text({}),
                     "namespace": text(None)},
        ),
        "method": node(
            "MethodNode", "builtins", "str", content={"func": "format", "obj": command}
        ),
        "operator": node(
            "OperatorFuncNode", "operator", "methodcaller", attrs=listed(command)
        ),
        "list-built-by-a-function": node("ListNode", "os", "system", content=[command]),
        "array-built-by-a-function": node(
            "NdArrayNode", "os", "system", type="json", content=[command], shape=listed(text(1))
        ),
        "dict-with-keys-made-by-a-function": node(
            "DictNode", "builtins", "dict", content={f"touch {marker}": text(1)},
            key_types=listed(system, name="list"),
        ),
        "default-factory": node(
            "DefaultDictNode", "collections", "defaultdict",
            content={"main": text({}), "default_factory": system},
        ),
        "loss": {
            **node("LossNode", "os", "system", content=text({})),
            "__reduce__": {"args": listed(command)},
        },
        "registered-name-in-a-foreign-module": node(
            "ObjectNode", "os", "PairwiseELM", content=None
        ),
        "unknown-loader": node("EvalNode", "builtins", "eval", content=command),
    }  # fmt: skip


@pytest.mark.parametrize("kind", list(crafted_nodes("x")))
@pytest.mark.parametrize("place", ["root", "attribute"])
def test_nothing_in_a_file_runs(kind, place, model_file, tmp_path):
    marker = tmp_path / "was_run"
    evil = crafted_nodes(marker)[kind]
    schema = schema_of(model_file)
    if place == "root":
        schema = {**evil, "protocol": schema["protocol"], "_skops_version": "0"}
    else:
        schema["content"]["content"]["alpha"] = evil
    path = rewrite(model_file, tmp_path / "evil", schema=schema)
    with pytest.raises(ModelFileError, match=r"not trust|does not trust|damaged"):
        load(path)
    assert not marker.exists()


def test_older_protocols_open_no_door(model_file, tmp_path):
    marker = tmp_path / "was_run"
    for protocol in (0, 1):
        for kind, evil in crafted_nodes(marker).items():
            schema = {**evil, "protocol": protocol, "_skops_version": "0"}
            path = rewrite(model_file, tmp_path / f"{protocol}-{kind}", schema=schema)
            with pytest.raises(ModelFileError):
                load(path)
    assert not marker.exists()


def test_a_pickled_payload_stays_closed(tmp_path):
    marker = tmp_path / "was_run"

    class Payload:
        def __reduce__(self):
            return os.system, (f"touch {marker}",)

    path = tmp_path / "model.skops"
    path.write_bytes(pickle.dumps(Payload()))
    with pytest.raises(ModelFileError, match="pickle"):
        load(path)
    assert not marker.exists()


def test_arrays_of_pickled_objects_stay_closed(model_file, tmp_path):
    marker = tmp_path / "was_run"

    class Payload:
        def __reduce__(self):
            return os.system, (f"touch {marker}",)

    buffer = io.BytesIO()
    np.save(buffer, np.array([Payload()], dtype=object), allow_pickle=True)
    path = tmp_path / "evil"
    with zipfile.ZipFile(model_file) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr(name, buffer.getvalue() if name.endswith(".npy") else old.read(name))
    with pytest.raises(ModelFileError, match="damaged"):
        load(path)
    assert not marker.exists()


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_rows_come_back_and_hold_no_objects(kind, rows, tmp_path):
    X = kind(np.where(rows[0] > 0, rows[0], 0.0))
    model = rankwise.PRank(kernel="rbf", random_state=0).fit(X, rows[1])
    model.X_fit_ = kind(model.X_fit_)
    again = load(model.save(tmp_path / "good"))
    assert type(again.X_fit_) is kind
    np.testing.assert_array_equal(again.rank_score(X), model.rank_score(X))
    marker = tmp_path / "was_run"

    class Payload:
        def __reduce__(self):
            return os.system, (f"touch {marker}",)

    buffer, evil = io.BytesIO(), np.array([Payload()], dtype=object)
    parts = {"indices": [0], "indptr": [0, 1], "shape": [1, 1], "format": b"csr", "data": evil}
    np.savez(buffer, **parts)
    path = tmp_path / "evil"
    with zipfile.ZipFile(tmp_path / "good") as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr(name, buffer.getvalue() if name.endswith(".npz") else old.read(name))
    with pytest.raises(ModelFileError, match="damaged"):
        load(path)
    assert not marker.exists()


def test_files_cannot_add_to_the_list(model_file, tmp_path):
    schema = {**schema_of(model_file), "trusted": ["os.system"]}
    schema["content"]["content"]["alpha"] = node("FunctionNode", "os", "system")
    header = {**describe(model_file), "trusted": ["os.system"]}
    path = rewrite(model_file, tmp_path / "evil", schema=schema, header=header)
    with pytest.raises(ModelFileError, match=r"does not trust: os\.system"):
        load(path)


def test_a_file_must_hold_an_estimator(model_file, tmp_path):
    schema = {**text({"a": 1}), "protocol": schema_of(model_file)["protocol"]}
    with pytest.raises(ModelFileError, match="holds a dict, not an estimator"):
        load(rewrite(model_file, tmp_path / "m", schema=schema))


def test_trees_of_scikit_learn_are_left_to_the_user(rows, tmp_path):
    X, y, _ = rows
    forest = RandomForestRegressor(n_estimators=2, random_state=0).fit(X, y)
    path = save(forest, tmp_path / "m")
    with pytest.raises(ModelFileError, match=r"does not trust: sklearn\.tree\._tree\.Tree"):
        load(path)


def test_spoilt_trees_of_an_adapter_are_refused(rows, tmp_path):
    pytest.importorskip("lightgbm")
    X, y, qid = rows
    model = rankwise.LightGBMRanker(n_estimators=2, min_child_samples=2, n_jobs=1)
    model.fit(X, y, qid=qid)
    good = load(save(model, tmp_path / "m"))
    np.testing.assert_array_equal(good.predict(X), model.predict(X))
    model.model_ = model.model_.replace(b"split_feature=", b"split_feature=9")
    with pytest.raises(ValueError, match=r"split_feature must lie in 0\.\.2"):
        load(save(model, tmp_path / "m")).predict(X)


def test_the_list_names_classes():
    for name in TRUSTED_TYPES:
        assert (
            name.startswith("rankwise.")
            or name
            in (
                "numpy.dtype",
                "scipy.sparse._csr.csr_array",
                "scipy.sparse._csr.csr_matrix",
                "sklearn.compose._column_transformer.make_column_selector",
                "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",  # of McRank
                "sklearn.metrics._scorer._PassthroughScorer",
                "sklearn.utils._metadata_requests.MetadataRequest",
                "sklearn.utils._metadata_requests.MethodMetadataRequest",
            )
            or name.startswith("sklearn.model_selection._split.")
        )
        module, _, cls = name.rpartition(".")
        assert isinstance(getattr(__import__(module, fromlist=[cls]), cls), type)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_entry_that_is_there_twice_is_refused(tmp_path):
    path = tmp_path / "model.skops"
    save(rankwise.RidgeRanker().fit([[0.0], [1.0]], [0, 1], qid=0), path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("schema.json", archive.read("schema.json"))
    with pytest.raises(ModelFileError, match="contains an entry twice"):
        load(path)
