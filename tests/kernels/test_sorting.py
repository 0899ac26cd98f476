"""Sorted rows against NumPy's stable sort."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.kernels.sorting import sort_keys, sort_rows, write_keys


def keys_of(kind, n, rng):
    if kind == "random":
        return rng.normal(size=n)
    if kind == "ties":
        return rng.integers(0, 4, n).astype(float)
    if kind == "nearly sorted":
        return np.arange(n) + rng.normal(size=n)
    if kind == "falling":
        return -np.arange(n, dtype=float)
    return np.where(rng.random(n) < 0.5, np.inf, -np.inf)


@pytest.mark.parametrize("kind", ["random", "ties", "nearly sorted", "falling", "infinite"])
@pytest.mark.parametrize("n", [0, 1, 2, 15, 16, 17, 31, 32, 33, 48, 100, 257, 1000])
def test_stable_order(kind, n, rng):
    keys = keys_of(kind, n, rng)
    rows = np.arange(n)
    sort_rows(keys, rows, np.empty(n, np.int64))
    np.testing.assert_array_equal(rows, np.argsort(keys, kind="stable"))


def test_some_rows_keep_the_order_they_came_in(rng):
    keys = rng.integers(0, 5, 300).astype(float)
    rows = rng.permutation(300)[:200]
    expected = rows[np.argsort(keys[rows], kind="stable")]
    sort_rows(keys, rows, np.empty(200, np.int64))
    np.testing.assert_array_equal(rows, expected)


@pytest.mark.parametrize("kind", ["random", "ties", "nearly sorted", "falling", "infinite"])
@pytest.mark.parametrize("n", [0, 1, 2, 23, 24, 25, 26, 257, 1000])
def test_keys_of_floats_sort_stably(kind, n, rng):
    before = 3  # of another query
    values = np.concatenate([np.full(before, -7.5), keys_of(kind, n, rng)])
    values[before : before + n // 4] *= 0.0 if kind != "infinite" else 1.0  # zeros of both signs
    keys, rows = np.empty(n, np.uint64), np.arange(n).astype(np.uint64)
    write_keys(values, before, keys)
    given = keys.copy()
    spare = np.empty(n, np.uint64), np.empty(n, np.uint64)
    found, order, *_ = sort_keys(keys, rows, *spare, np.empty((8, 256), np.int64))
    expected = np.argsort(values[before:], kind="stable")
    np.testing.assert_array_equal(order, expected)
    np.testing.assert_array_equal(found, given[expected])
