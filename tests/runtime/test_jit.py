"""Kernels compile at their first call, also those that other kernels call."""

from __future__ import annotations

import pickle

import numba
import numpy as np
import pytest

from rankwise.kernels.ensemble_scores import find_leaves
from rankwise.runtime.jit import is_ready, leading_zeros, njit, prefetch, trailing_zeros


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
def count_zeros(word):
    return leading_zeros(word), trailing_zeros(word)


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


@pytest.mark.parametrize("number", [0, 1, 40, 2**31, 2**63, 2**64 - 1])
def test_zeros_are_counted_alike_with_and_without_compilation(number):
    bits = f"{number:064b}"
    expected = (len(bits) - len(bits.lstrip("0")), len(bits) - len(bits.rstrip("0")))
    word = np.uint64(number)
    assert count_zeros(word) == count_zeros.py_func(word) == expected


def test_a_pickled_kernel_is_the_same():
    assert pickle.loads(pickle.dumps(find_leaves)) is find_leaves
