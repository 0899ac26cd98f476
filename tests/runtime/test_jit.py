"""Kernels compile at their first call, also those that other kernels call."""

from __future__ import annotations

import pickle

import numba
import numpy as np
import pytest

from rankwise.kernels.ensemble_scores import find_leaves
from rankwise.runtime import jit
from rankwise.runtime.jit import (
    always_compiled,
    is_ready,
    leading_zeros,
    njit,
    prefetch,
    run_few,
    trailing_zeros,
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


@njit
def doubled(x):
    return 2 * x


@njit
def sum_of_doubles(values):
    total = 0.0
    for value in values:
        total += doubled(value)
    return total


@pytest.fixture
def kernels(monkeypatch):
    """A kernel that seems never to have been called, and the one that it calls."""
    for kernel in (sum_of_doubles, doubled):
        vars(kernel).pop("dispatcher", None)
        monkeypatch.setattr(kernel, "plain_steps", 0)
    return sum_of_doubles, doubled


def test_few_steps_are_taken_as_plain_python_until_they_are_many(kernels):
    kernel, called = kernels
    values = np.array([1.0, 2.0])
    for steps, calls in ((jit._FEW_STEPS + 1, 0), (jit._SHORT_PATIENCE // 2, 2)):
        for compiled in kernels:
            vars(compiled).pop("dispatcher", None)
        for _ in range(calls):
            assert run_few(kernel, steps, values) == 6.0
            assert not is_ready(kernel)
            assert not is_ready(called)
        assert run_few(kernel, steps, values) == 6.0
        assert is_ready(kernel)


def test_kernels_are_compiled_for_few_steps_where_this_is_asked_for(kernels):
    kernel, _ = kernels
    with always_compiled():
        run_few(kernel, 1, np.ones(2))
    assert is_ready(kernel)


@pytest.mark.parametrize("number", [0, 1, 40, 2**31, 2**63, 2**64 - 1])
def test_zeros_are_counted_alike_with_and_without_compilation(number):
    bits = f"{number:064b}"
    expected = (len(bits) - len(bits.lstrip("0")), len(bits) - len(bits.rstrip("0")))
    word = np.uint64(number)
    assert count_zeros(word) == count_zeros.py_func(word) == expected


def test_a_pickled_kernel_is_the_same():
    assert pickle.loads(pickle.dumps(find_leaves)) is find_leaves
