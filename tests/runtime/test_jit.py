"""Kernels compile at their first call, also those that other kernels call."""

from __future__ import annotations

import pickle

import numba
import numpy as np

from rankwise.kernels.tree_paths import find_leaves
from rankwise.runtime.jit import Intrinsic, is_ready, njit, prefetch

trailing_zeros = Intrinsic(
    "numba.cpython.unsafe.numbers", "trailing_zeros", lambda word: (word & -word).bit_length() - 1
)


@njit
def halved(x):
    return x / 2


@njit
def sum_of_halves(values):
    total = 0.0
    for value in values:
        total += halved(value)
    return total


@njit
def lowest_bit(value):
    return trailing_zeros(value)


@njit
def sum_ahead(values):
    total, first = 0, values.ctypes.data
    for i in range(len(values)):
        prefetch(first + 8 * (i + 4))  # beyond the end as well: nothing is read
        total += values[i]
    return total


def test_kernels_prefetch_what_they_read_later():
    values = np.arange(1000)
    assert sum_ahead(values) == values.sum()
    assert sum_ahead.py_func(values[:20]) == 190
    compiled = numba.njit(sum_ahead.py_func)  # without a cache, whose code cannot be looked at
    assert compiled(values) == values.sum()
    (code,) = compiled.inspect_llvm().values()
    assert "call void @llvm.prefetch" in code


def test_kernels_call_kernels():
    assert not is_ready(sum_of_halves)
    assert sum_of_halves(np.array([1.0, 2.0, 5.0])) == 4.0
    assert is_ready(sum_of_halves)
    assert len(sum_of_halves.dispatcher.signatures) == 1
    assert sum_of_halves.py_func(np.array([1.0, 2.0])) == 1.5
    assert sum_of_halves.__name__ == "sum_of_halves"


def test_kernels_call_functions_of_numba():
    assert lowest_bit(np.uint64(40)) == 3
    assert trailing_zeros(40) == 3


def test_a_pickled_kernel_is_the_same():
    assert pickle.loads(pickle.dumps(find_leaves)) is find_leaves
