"""Kernels compile at their first call, also those that other kernels call."""

from __future__ import annotations

import os
import pickle
import signal
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from threading import Event
from time import sleep

import numba
import numpy as np
import pytest

from rankwise.kernels.ensemble_scores import find_leaves
from rankwise.runtime import jit
from rankwise.runtime.jit import (
    always_compiled,
    are_few,
    is_ready,
    leading_zeros,
    njit,
    prefetch,
    run_few,
    trailing_zeros,
)
from rankwise.runtime.threads import thread_map


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


@pytest.fixture
def kernels(monkeypatch):
    """A kernel that seems never to have been called, and the one that it calls."""
    for kernel in (sum_of_halves, halved):
        vars(kernel).pop("dispatcher", None)
        monkeypatch.setattr(kernel, "plain_steps", 0)
        monkeypatch.setattr(kernel, "_is_compiled", False)
    return sum_of_halves, halved


def test_kernels_call_kernels(kernels):
    assert not is_ready(sum_of_halves)
    assert sum_of_halves(np.array([1.0, 2.0, 5.0])) == 4.0
    assert is_ready(sum_of_halves)
    assert len(sum_of_halves.dispatcher.signatures) == 1
    assert sum_of_halves.py_func(np.array([1.0, 2.0])) == 1.5
    assert sum_of_halves.__name__ == "sum_of_halves"


@pytest.mark.parametrize(
    ("is_imported", "is_stored", "steps", "n_plain"),
    [
        (False, False, jit._FEW_STEPS + 1, 0),
        (False, True, jit._PATIENCE // 4, 4),
        (True, False, jit._PATIENCE // 4, 4),
        (True, True, 1, 0),
    ],
)
def test_few_steps_are_taken_as_plain_python_until_they_are_many(
    monkeypatch, kernels, is_imported, is_stored, steps, n_plain
):
    kernel, called = kernels
    values = np.array([1.0, 2.0])
    monkeypatch.setattr(jit, "numba_is_imported", lambda: is_imported)
    monkeypatch.setattr(jit.CompiledFunction, "is_stored", is_stored)
    for _ in range(n_plain):
        assert run_few(kernel, steps, values) == 1.5
        assert not is_ready(kernel)
        assert not is_ready(called)
    assert not are_few(kernel, steps)
    assert run_few(kernel, steps, values) == 1.5
    assert is_ready(kernel)


def test_few_steps_are_left_to_a_kernel_if_many_calls_follow(monkeypatch, kernels):
    monkeypatch.setattr(jit.CompiledFunction, "is_stored", False)
    assert not are_few(kernels[0], 1000, jit._PATIENCE // 1000 + 1)
    assert are_few(kernels[0], 1000, 10)


def test_stored_code_is_found(monkeypatch, kernels):
    kernel, _ = kernels
    kernel._remove_from_cache()
    for is_stored in (False, True):
        monkeypatch.setattr(jit, "_stored", {})
        assert kernel.is_stored == is_stored
        kernel(np.ones(2))


def lock_of(kernel):
    return Path(kernel.dispatcher.stats.cache_path) / f"{kernel._file_stem}.lock"


def test_processes_wait_for_the_one_that_compiles(monkeypatch, kernels):
    fcntl = pytest.importorskip("fcntl")
    kernel, _ = kernels
    waits, lock = Event(), fcntl.flock

    def flock(file, operation):
        waits.set()
        lock(file, operation)

    with lock_of(kernel).open("w") as file, ThreadPoolExecutor(1) as threads:
        lock(file, fcntl.LOCK_EX)
        monkeypatch.setattr(fcntl, "flock", flock)
        call = threads.submit(kernel, np.ones(2))
        try:
            assert waits.wait(60), "no lock"
            assert not wait([call], 0.2).done
            assert not kernel.dispatcher.signatures
        finally:
            lock(file, fcntl.LOCK_UN)
        assert call.result() == 1.0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_forked_from_one_that_compiles_keeps_no_lock(monkeypatch, kernels):
    fcntl = pytest.importorskip("fcntl")
    kernel, _ = kernels
    path, child = lock_of(kernel), []

    def fork_while_compiling(signature):
        child.append(os.fork())
        if not child[0]:
            sleep(600)
            os._exit(0)
        return compiled(signature)

    compiled = kernel.dispatcher.compile
    monkeypatch.setattr(kernel.dispatcher, "compile", fork_while_compiling)
    try:
        assert kernel(np.ones(2)) == 1.0
        with path.open("w") as file:
            for _ in range(600):  # until the child has closed its copies
                with suppress(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                sleep(0.1)
            else:
                pytest.fail("the child keeps the lock")
    finally:
        os.kill(child[0], signal.SIGKILL)
        os.waitpid(child[0], 0)


def test_kernels_are_compiled_for_few_steps_where_this_is_asked_for(kernels):
    kernel, _ = kernels
    with always_compiled():
        run_few(kernel, 1, np.ones(2))
    assert is_ready(kernel)


def test_compilation_for_few_steps_is_asked_for_in_a_thread_and_its_helpers(kernels):
    kernel, _ = kernels
    with ThreadPoolExecutor(1) as other, always_compiled():
        assert not other.submit(is_ready, kernel).result()
        assert thread_map(lambda _: is_ready(kernel), range(4), 2) == [True] * 4
    assert not is_ready(kernel)


@pytest.mark.parametrize("number", [0, 1, 40, 2**31, 2**63, 2**64 - 1])
def test_zeros_are_counted_alike_with_and_without_compilation(number):
    bits = f"{number:064b}"
    expected = (len(bits) - len(bits.lstrip("0")), len(bits) - len(bits.rstrip("0")))
    word = np.uint64(number)
    assert count_zeros(word) == count_zeros.py_func(word) == expected


def test_a_pickled_kernel_is_the_same():
    assert pickle.loads(pickle.dumps(find_leaves)) is find_leaves
