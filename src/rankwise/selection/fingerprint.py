"""Hash of everything that determines a result: parameters, data content, versions.

Two runs have the same fingerprint if and only if nothing that may change the numbers differs.
Memory addresses, file names and times are ignored.
"""

from __future__ import annotations

import hashlib
import json
import types
from contextlib import suppress
from contextvars import ContextVar
from functools import partial, singledispatch
from typing import Any

import joblib
import numpy as np
from numba.core.dispatcher import Dispatcher
from scipy import sparse
from sklearn.base import BaseEstimator

from rankwise.datasets.data import Fold, RankingData
from rankwise.runtime.jit import CompiledFunction
from rankwise.typing import is_sparse

_BLOCK_ROWS = 65536
_under_way: ContextVar[tuple[types.FunctionType, ...]] = ContextVar("_under_way", default=())


def fingerprint(value: Any) -> str:
    """Hash of parameters: 32 hexadecimal digits.

    Parameters are nested numbers, strings, sequences, dicts, arrays, functions, classes, estimators
    and other objects that can be described or pickled.
    """
    text = json.dumps(canonical(value), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def data_fingerprint(data: RankingData) -> str:
    """Hash of the content of one table: values, labels, queries, weights, judged rows, and dtypes.

    One pass over the bytes (about 1 GB/s); names and comments are ignored.
    """
    hasher = hashlib.sha256()
    parts = [data.X, data.y, data.qid, data.sample_weight]
    if data.missed is not None:
        parts += [data.missed.y, data.missed.qid]
    if data.judged is not None:
        parts.append(data.judged)
    for column, known in sorted((data.categories or {}).items()):
        parts += [np.array([column]), known]
    for part in parts:
        _update(hasher, part)
    return hasher.hexdigest()[:32]


def fold_fingerprint(fold: Fold) -> str:
    """Hash of the content of all parts of a fold."""
    parts = (fold.train, fold.vali, fold.test)
    return fingerprint([None if part is None else data_fingerprint(part) for part in parts])


def _update(hasher: Any, array: Any) -> None:
    if array is None:
        hasher.update(b"none")
    elif is_sparse(array):
        csr = array.tocsr()
        hasher.update(f"csr{csr.shape}".encode())
        for part in (csr.indptr, csr.indices, csr.data):
            _update(hasher, part)
    elif array.dtype == object:
        hasher.update(f"object{array.shape}".encode())
        hasher.update(fingerprint(array.tolist()).encode())
    else:
        hasher.update(f"{array.dtype.str}{array.shape}".encode())
        for start in range(0, len(array), _BLOCK_ROWS):
            block = np.ascontiguousarray(array[start : start + _BLOCK_ROWS])
            hasher.update(block.view(np.uint8).reshape(-1) if block.size else b"")


@singledispatch
def canonical(value: Any) -> Any:
    """JSON-compatible description of a value; equal values have equal descriptions."""
    try:
        return {"object": _name(type(value)), "hash": joblib.hash(value)}
    except Exception as error:
        raise TypeError(
            f"parameter {value!r} of type {_name(type(value))} cannot be hashed, so its results "
            f"cannot be stored ({error}). Use an object that can be pickled, or no store."
        ) from error


@canonical.register(type(None))
@canonical.register(bool)
@canonical.register(int)
@canonical.register(float)
@canonical.register(str)
def _(value: Any) -> Any:
    return value


@canonical.register
def _(value: np.generic) -> Any:
    return canonical(value.item())


@canonical.register
def _(value: bytes) -> Any:
    return {"bytes": value.hex()}


@canonical.register(list)
@canonical.register(tuple)
def _(value: Any) -> Any:
    return [canonical(item) for item in value]


@canonical.register(set)
@canonical.register(frozenset)
def _(value: Any) -> Any:
    return {"set": sorted(fingerprint(item) for item in value)}


@canonical.register
def _(value: dict) -> Any:
    return {"dict": sorted([fingerprint(key), canonical(item)] for key, item in value.items())}


@canonical.register(np.ndarray)
@canonical.register(sparse.sparray)
@canonical.register(sparse.spmatrix)
def _(value: Any) -> Any:
    hasher = hashlib.sha256()
    _update(hasher, value)
    return {"array": hasher.hexdigest()}


@canonical.register
def _(value: type) -> Any:
    return {"class": _name(value)}


@canonical.register
def _(value: BaseEstimator) -> Any:
    described = {"estimator": _name(type(value)), "params": canonical(value.get_params(deep=False))}
    if type(value).__sklearn_clone__ is not BaseEstimator.__sklearn_clone__:
        described["state"] = joblib.hash(value)  # a clone may remain fitted: FrozenEstimator
    return described


@canonical.register
def _(value: np.random.RandomState) -> Any:
    return {"RandomState": canonical(value.get_state())}


@canonical.register
def _(value: np.random.Generator) -> Any:
    return {"Generator": canonical(value.bit_generator.state)}


@canonical.register
def _(value: partial) -> Any:
    return {"partial": canonical([value.func, value.args, value.keywords])}


@canonical.register(types.BuiltinFunctionType)
@canonical.register(np.ufunc)
def _(value: Any) -> Any:
    return {"function": _name(value)}


@canonical.register
def _(value: types.FunctionType) -> Any:
    if value in _under_way.get():  # the value refers to itself
        return {"function": _name(value)}
    token = _under_way.set((*_under_way.get(), value))
    try:
        return {
            "function": _name(value),
            "code": canonical(value.__code__),
            "bound": canonical([value.__defaults__, value.__kwdefaults__, closure(value)]),
        }
    finally:
        _under_way.reset(token)


def closure(function: types.FunctionType) -> list[Any]:
    """Values in the closure of a function; variables without a value yet are left out."""
    held = []
    for cell in function.__closure__ or ():
        with suppress(ValueError):
            held.append(cell.cell_contents)
    return held


@canonical.register
def _(value: CompiledFunction) -> Any:
    return canonical(value.dispatcher)


@canonical.register
def _(value: Dispatcher) -> Any:
    return {"compiled": canonical(value.py_func), "options": canonical(value.targetoptions)}


@canonical.register
def _(value: types.CodeType) -> Any:
    return [value.co_code.hex(), list(value.co_names), canonical(value.co_consts)]


def _name(value: Any) -> str:
    module = getattr(value, "__module__", "") or ""
    return f"{module}:{getattr(value, '__qualname__', getattr(value, '__name__', repr(value)))}"
