"""Targets: model files of every estimator, with numbers and entries changed.

A file is refused with ModelFileError, or the model predicts finite numbers of the right shape.
Numbers that are very large may lead to an error of ``predict``, which must name an attribute of the
model: the rows are harmless.
"""

from __future__ import annotations

import io
import json
import os
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
from scipy import sparse
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from rankwise._registry import REGISTRY
from rankwise.persistence import ModelFileError, load, save
from tests.common.estimators import SMALL
from tests.fuzz.harness import Target, mutated

N_ROWS, N_FEATURES = 24, 3
_BOUNDED = {  # small enough to predict quickly with
    **SMALL,
    "aggregate_prank": {"n_prank": 5},
    "ranking_forest": {"n_estimators": 3, "n_jobs": 1},
    "mc_rank": {"n_estimators": 3},
    "boltz_rank": {**SMALL["boltz_rank"], "n_pair_nodes": 3},
}
Fit = Callable[[Any], Any]


def rows() -> dict[str, Any]:
    """Training rows of every kind."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N_ROWS, N_FEATURES))
    return {
        "X": X,
        "sparse": sparse.csr_array(np.where(X > 0, X, 0.0)),
        "kernel": X @ X.T + np.eye(N_ROWS),
        "y": rng.integers(0, 3, N_ROWS),
        "qid": np.arange(N_ROWS) // 6,
        "labels": rng.integers(0, 2, (N_ROWS, 4)),
    }


def _fit(model: Any, X: str = "X") -> Any:
    """Fit on the rows of a kind, in the way of the estimator's kind."""
    data, kind = rows(), ""
    for entry in REGISTRY.values():
        if entry.class_name == type(model).__name__:
            kind = entry.kind
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "multi-label":
            return model.fit(data[X], data["labels"])
        if kind in ("ranker", "ordinal"):
            return model.fit(data[X], data["y"], qid=data["qid"])
        return model.fit(data[X], data["y"])


def _made(key: str, **params: Any) -> Any:
    cls = REGISTRY[key].load()
    params = {**_BOUNDED.get(key, {}), **params}
    if "random_state" in cls._get_param_names():
        params = {"random_state": 0, **params}
    return cls(**params)


def _of_categories() -> Any:
    import pandas as pd

    data = rows()
    frame = pd.DataFrame(data["X"], columns=["a", "b", "c"])
    return _made("ranking_tree").fit(_with_text(frame), data["y"])


def _with_text(frame: Any) -> Any:
    return frame.assign(d=[*"xyzx" * len(frame)][: len(frame)])


def _in_batches(key: str, **params: Any) -> Any:
    data, model = rows(), _made(key, **params)
    return model.partial_fit(data["X"], data["y"], qid=data["qid"])


def _plain(key: str) -> Callable[[], Any]:
    return lambda: _fit(_made(key))


# What else the estimators keep under other parameters and for other rows.
_OTHERS: dict[str, Callable[[], Any]] = {
    "ridge on batches": lambda: _in_batches("ridge"),
    "elm on batches": lambda: _in_batches("pairwise_elm", n_nodes=6),
    "linear elm": lambda: _fit(_made("pairwise_elm", n_nodes=6, activation="linear")),
    "rankrls nystroem": lambda: _fit(
        _made("rankrls", kernel="rbf", approximation="nystroem", n_landmarks=6)
    ),
    "rankrls sparse": lambda: _fit(_made("rankrls", kernel="rbf"), "sparse"),
    "lsrrank precomputed": lambda: _fit(_made("lsrrank", kernel="precomputed"), "kernel"),
    "clsrrank landmarks": lambda: _fit(
        _made("clsrrank", approximation="landmarks", n_landmarks=6)
    ),
    "rank_svm rbf": lambda: _fit(_made("rank_svm", kernel="rbf")),
    "rank_lr products": lambda: _fit(_made("rank_lr", degree=2)),
    "svr linear": lambda: _fit(_made("svr", kernel="linear")),
    "svr polynomial": lambda: _fit(_made("svr", kernel="polynomial")),
    "ridge path": lambda: _fit(_made("ridge", alpha=[0.1, 1.0], cv=2)),
    "mc_rank ordinal": lambda: _fit(_made("mc_rank", form="ordinal")),
    "mc_rank logistic": lambda: _fit(_made("mc_rank", estimator=LogisticRegression())),
    "prank rbf": lambda: _fit(_made("prank", kernel="rbf")),
    "prank sparse": lambda: _fit(_made("prank", kernel="rbf"), "sparse"),
    "prank products": lambda: _fit(_made("prank", degree=2)),
    "voted_prank rbf": lambda: _fit(_made("voted_prank", kernel="rbf")),
    "voted_prank sparse": lambda: _fit(_made("voted_prank"), "sparse"),
    "aggregate_prank votes": lambda: _fit(_made("aggregate_prank", combine="vote")),
    "ranking_tree categories": _of_categories,
    "ranking_tree search": lambda: _fit(_made("ranking_tree", max_depth=[1, 2], cv=2)),
    "ranking_forest out of bag": lambda: _fit(_made("ranking_forest", oob_score=True)),
    "orboost perceptrons": lambda: _fit(_made("orboost", estimator="perceptron", n_estimators=5)),
    "ordinal_svm rbf": lambda: _fit(_made("ordinal_svm", kernel="rbf", C=[1.0, 2.0], cv=2)),
    "ordinal_svm linear": lambda: _fit(_made("ordinal_svm", kernel="linear")),
    "ordinal_svm precomputed": lambda: _fit(
        _made("ordinal_svm", kernel="precomputed"), "kernel"
    ),
    "poly_ordinal_svm products": lambda: _fit(
        _made("poly_ordinal_svm", terms="cross", degree=2)
    ),
    "stacking_ranker products": lambda: _fit(_made("stacking_ranker", degree=2)),
    "csovo logistic": lambda: _fit(_made("csovo", estimator=LogisticRegression())),
    "csovo support vectors": lambda: _fit(_made("csovo", estimator=SVC())),
    "weighted_all_pairs logistic": lambda: _fit(
        _made("weighted_all_pairs", estimator=LogisticRegression())
    ),
    "one_vs_all regressors": lambda: _fit(
        _made("cost_sensitive_one_vs_all_regression", estimator=LinearRegression())
    ),
    "binary_relevance ridge": lambda: _fit(_made("binary_relevance", estimator=Ridge())),
    "label_powerset logistic": lambda: _fit(
        _made("label_powerset", estimator=LogisticRegression())
    ),
    "calibrated logistic": lambda: _fit(
        _made("calibrated_label_ranking", estimator=LogisticRegression())
    ),
    "query_scaling ranks": lambda: _fit(_made("query_scaling", scaling="rank")),
    "random_perceptrons stumps": lambda: _fit(_made("random_perceptrons", kernel="stump")),
    "polynomial_terms products": lambda: _fit(
        _made("polynomial_terms", terms="cross", degree=3)
    ),
    "pipeline": lambda: make_pipeline(StandardScaler(), _made("ridge")).fit(
        rows()["X"], rows()["y"]
    ),
}  # fmt: skip
MAKERS = {**{key: _plain(key) for key in REGISTRY}, **_OTHERS}


@cache
def fitted(name: str) -> Any:
    """A fitted model; None if what it needs is not installed."""
    try:
        return MAKERS[name]()
    except ImportError:
        return None


@cache
def model_file(name: str) -> bytes:
    """The file of a fitted model; empty if it cannot be fitted here.

    It is read from the folder that the environment variable ``FUZZ_MODELS`` names, if it is there.
    """
    made = Path(os.environ.get("FUZZ_MODELS", ""), f"{name}.skops")
    if made.is_file():
        return made.read_bytes()
    if fitted(name) is None:
        return b""
    with tempfile.TemporaryDirectory() as folder:
        return save(fitted(name), Path(folder) / "model.skops").read_bytes()


# Changes ------------------------------------------------------------------------------------------

_NUMBERS = (
    np.nan, np.inf, -np.inf, 1e308, -1e308, 1e100, -1e100, 1e39, 0.0, -1.0, 1e-310, -5e-324, 0.5,
)  # fmt: skip
_INTEGERS = (-1, -2, 0, 1, 2, 3, 7, 1000, 2**31 - 1, -(2**31), 2**62, -(2**62))
_TYPES = ("f4", "f8", ">f8", "f2", "g", "c16", "i1", "i4", "i8", ">i4", "u8", "?", "U3", "M8[s]")
_SCALARS = (
    None, True, False, -1, 0, 1, 2, 7, 10**6, 2**40, 10**30, -0.5, 1e308, -1e308, 1e-310, -5e-324,
    float("nan"), float("inf"), float("-inf"), "", "rbf", "callable", "plain", "rank", "é" * 99,
)  # fmt: skip


def _change_array(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    """An array with other entries, another shape or another type."""
    way = rng.integers(6)
    array = array.copy()
    if array.dtype.names:  # nodes of a tree: change one field
        name = array.dtype.names[rng.integers(len(array.dtype.names))]
        if array.size:
            array[name][rng.integers(array.size)] = abs(int(rng.choice([0, 1, 2, 7, 200])))
        return array
    if way <= 2 and array.size and array.dtype.kind in "fiub":
        whole = array.dtype.kind != "f"
        values: Any = _INTEGERS if whole else _NUMBERS
        value = values[rng.integers(len(values))]
        where = slice(None) if rng.random() < 0.2 else int(rng.integers(array.size))
        with np.errstate(all="ignore"):
            flat = array.reshape(-1)
            flat[where] = np.int64(value).astype(array.dtype) if whole else value
            if whole and rng.random() < 0.5:  # small steps leave a range by one
                flat[where] += np.array(rng.integers(-1, 2)).astype(array.dtype)
        return array
    if way == 3 and array.size > 1:
        flat = array.reshape(-1)
        return rng.permutation(flat).reshape(array.shape)
    if way == 4:
        try:
            return array.astype(_TYPES[rng.integers(len(_TYPES))])
        except (ValueError, RuntimeError):  # text that is no number, times too large to print
            return array
    if not array.ndim:
        return array[None]
    shapes = [
        array[:-1], array[..., :-1], np.concatenate([array, array]), array[:0], array[None],
        array.reshape(-1), array.T, np.zeros((), array.dtype),
    ]  # fmt: skip
    return shapes[rng.integers(len(shapes))]


def _array_bytes(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _change_npz(rng: np.random.Generator, data: bytes) -> bytes:
    if rng.random() < 0.2:
        return _zipped(_change_entries(rng, _entries(data)))
    parts = dict(np.load(io.BytesIO(data)))
    name = [*parts][rng.integers(len(parts))]
    if name == "format":
        parts[name] = np.array(rng.choice([b"csr", b"csc", b"bsr", b"coo", b"dia", b"x"]))
    else:
        parts[name] = _change_array(rng, parts[name])
    buffer = io.BytesIO()
    np.savez(buffer, **parts)
    return buffer.getvalue()


def _places(node: Any) -> list[tuple[dict, str]]:
    """Scalars of the schema and attributes of its objects, each with the dict that holds it."""
    found, stack = [], [node]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            if node.get("__loader__") == "JsonNode" or node.get("__loader__") == "DictNode":
                found.append((node, "content"))
            stack += node.values()
        elif isinstance(node, list):
            stack += node
    return found


def _change_schema(rng: np.random.Generator, data: bytes) -> bytes:
    schema = json.loads(data)
    places = _places(schema)
    if not places:
        return data
    node, key = places[rng.integers(len(places))]
    if node["__loader__"] == "DictNode" and isinstance(node[key], dict) and node[key]:
        names = list(node[key])
        name = names[rng.integers(len(names))]
        other = names[rng.integers(len(names))]
        if rng.random() < 0.5:
            node[key][name] = node[key][other]  # two attributes are one object
        else:
            del node[key][name]
    elif node["__loader__"] == "JsonNode":
        value = _SCALARS[rng.integers(len(_SCALARS))]
        node[key] = json.dumps(value)
    return json.dumps(schema).encode()


def _change_text(rng: np.random.Generator, data: bytes) -> bytes:
    numbers = (b"-1", b"0", b"1", b"9", b"99999", b"4294967296", b"nan", b"1e999", b"x")
    return mutated(rng, data, numbers)


def _entries(data: bytes) -> list[tuple[str, bytes]]:
    with ZipFile(io.BytesIO(data)) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def _zipped(entries: list[tuple[str, bytes]], method: int = ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings(), ZipFile(buffer, "w", method) as archive:
        warnings.simplefilter("ignore")  # of names that come twice
        for name, content in entries:
            archive.writestr(name, content)
    return buffer.getvalue()


def _change_entries(
    rng: np.random.Generator, entries: list[tuple[str, bytes]]
) -> list[tuple[str, bytes]]:
    """Drop, rename or repeat an entry, or give it the content of another."""
    at, other = rng.integers(len(entries), size=2)
    name, content = entries[at]
    names = (
        entries[other][0], name.upper(), f"{name}.npy", f"../{name}", f"/{name}", f"{name}/",
        name.removesuffix(".npy"), "é" * 300, "schema.json", "rankwise.json",
    )  # fmt: skip
    renamed = names[rng.integers(len(names))]
    way = rng.integers(5)
    if way == 0:
        return [*entries[:at], *entries[at + 1 :]]
    if way == 1:
        return [*entries[:at], (renamed, content), *entries[at + 1 :]]
    if way == 2:
        return [*entries, (renamed, content)]
    if way == 3:
        return [*entries, (name, entries[other][1])]
    return [*entries[:at], (name, entries[other][1]), *entries[at + 1 :]]


def tampered(rng: np.random.Generator, data: bytes) -> bytes:
    """A model file with one to three entries changed, and sound checksums."""
    if not data:
        return data
    way = rng.random()
    if way < 0.08:
        return mutated(rng, data)
    entries = _entries(data)
    if way < 0.1:
        return _zipped(entries, ZIP_DEFLATED)
    if way < 0.2:
        for _ in range(int(rng.integers(1, 3))):
            entries = _change_entries(rng, entries) or entries
        return _zipped(entries)
    places = [at for at, (name, _) in enumerate(entries) if name != "rankwise.json"]
    arrays = [at for at in places if entries[at][0] != "schema.json"]
    for _ in range(int(rng.integers(1, 4))):
        pool = arrays if arrays and rng.random() < 0.75 else places
        at = pool[rng.integers(len(pool))]
        name, content = entries[at]
        if name == "schema.json":
            content = _change_schema(rng, content)
        elif name.endswith(".npy"):
            array = np.load(io.BytesIO(content), allow_pickle=False)
            content = _array_bytes(_change_array(rng, array))
        elif name.endswith(".npz"):
            content = _change_npz(rng, content)
        else:
            content = _change_text(rng, content)
        entries[at] = name, content
    return _zipped(entries)


# Checks -------------------------------------------------------------------------------------------


def _make(rng: np.random.Generator) -> bytes:
    files = [model_file(name) for name in MAKERS]
    files = [data for data in files if data]
    return tampered(rng, files[rng.integers(len(files))])


def _maker(name: str) -> Callable[[np.random.Generator], bytes]:
    return lambda rng: tampered(rng, model_file(name))


def _check(path: Path) -> bool:
    model = load(path)
    width = getattr(model, "n_features_in_", None)
    if not isinstance(width, int) or width > 10 * N_ROWS:
        return True  # unfitted, or of more columns than the rows here can have
    X: Any = np.random.default_rng(6).normal(size=(7, width))
    if hasattr(model, "feature_names_in_"):  # of one model only
        import pandas as pd

        X = _with_text(pd.DataFrame(X[:, :3], columns=["a", "b", "c"]))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for method in ("predict", "rank_score", "transform", "decision_function"):
            if hasattr(model, method) and not (
                method == "decision_function" and not hasattr(model, "classes_")
            ):
                _check_output(model, method, X)
    return True


# Errors of predict about numbers of the model, and about columns that differ from those of fit.
# Names of rankers in parameters are looked up when they are used.
_SAID = (
    " of the model has values", "hold text", "feature names", "is not a ranker of the registry",
)  # fmt: skip


def _check_output(model: Any, method: str, X: Any) -> None:
    try:
        out = getattr(model, method)(X)
    except ValueError as error:
        assert _holds_others(model) or any(said in str(error) for said in _SAID), error
        return
    except Exception:  # of scikit-learn's Python code
        assert _holds_others(model)
        return
    out = out.toarray() if sparse.issparse(out) else np.asarray(out)
    assert out.shape[0] == len(X), f"{method} gives shape {out.shape}"
    if out.dtype.kind == "f" and not _holds_others(model):
        assert np.isfinite(out).all(), f"{method} gives {out.ravel()[:5]}"


def _holds_others(model: Any) -> bool:
    """Whether scikit-learn predicts: it must not crash or hang, and may raise any exception."""
    names = [getattr(model, name, None) for name in ("estimator", "steps")]
    return any(value is not None and not isinstance(value, str) for value in names)


def _target(name: str, make: Callable[[np.random.Generator], bytes]) -> Target:
    return Target(
        name, make, _check, ".skops", (ModelFileError,), base_bytes=128 << 20, bytes_per_byte=2000
    )


def find(name: str) -> list[Target]:
    """The target of one model, for campaigns over each of them."""
    model_file(name)  # now, since a campaign limits the memory of the process later
    return [_target(name, _maker(name))]


TARGETS = (_target("model", _make),)
