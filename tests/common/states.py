"""Equality of the states of estimators, bit by bit and in depth."""

from __future__ import annotations

import pickle
from types import FunctionType
from typing import Any

import numpy as np
from scipy import sparse


def assert_same(found: Any, expected: Any, where: str) -> None:
    """Raise AssertionError unless two objects hold the same values of the same types."""
    assert type(found) is type(expected), f"{where}: {type(found)} is not {type(expected)}"
    if isinstance(expected, np.ndarray):
        same = (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert same, f"{where}: {found.dtype}{found.shape} is not {expected.dtype}{expected.shape}"
        if expected.dtype.kind == "O":
            assert_same(found.tolist(), expected.tolist(), where)
        else:
            assert found.tobytes() == expected.tobytes(), f"{where} has other entries"
    elif sparse.issparse(expected):
        assert_same(found.shape, expected.shape, f"{where}.shape")
        assert_same(found.data, expected.data, f"{where}.data")
        for name in ("indices", "indptr"):  # SciPy chooses their width
            same = np.array_equal(getattr(found, name), getattr(expected, name))
            assert same, f"{where}.{name} has other entries"
    elif isinstance(expected, dict):
        odd = found.keys() ^ expected.keys()
        assert not odd, f"{where}: only one has {odd}"
        for key, value in expected.items():
            assert_same(found[key], value, f"{where}[{key!r}]")
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected), f"{where} has {len(found)} items, not {len(expected)}"
        for number, value in enumerate(expected):
            assert_same(found[number], value, f"{where}[{number}]")
    elif isinstance(expected, np.random.RandomState):
        assert_same(found.get_state(), expected.get_state(), where)
    elif hasattr(expected, "__dict__") and not isinstance(expected, type | FunctionType):
        assert_same(vars(found), vars(expected), where)
    else:
        same = found is expected or found == expected or (found != found and expected != expected)
        same = same or pickle.dumps(found) == pickle.dumps(expected)  # of compiled types
        assert same, f"{where}: {found!r} is not {expected!r}"
