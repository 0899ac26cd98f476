"""Entries of sparse rows beside loops over dense codes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from rankwise.kernels.boosted_trees import (
    add_entries,
    add_leaf_values_of_entries,
    sum_entries,
    write_entry_codes,
)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_codes_count_the_cuts_below(dtype, rng):
    cuts = [np.array([-0.5, 0.0, 0.25]), np.zeros(0), np.array([1.0])]
    indptr, features = np.array([0, 3, 3, 4]), rng.integers(0, 3, 60).astype(np.int32)
    values = rng.choice([-np.inf, -0.5, -0.0, 0.1, 0.25, 1.0, 2.0, np.inf, np.nan], 60)
    values, out = values.astype(dtype), np.empty(60, dtype=np.uint8)
    write_entry_codes(values, features, np.concatenate(cuts), indptr, out)
    for code, value, feature in zip(out, values, features, strict=True):
        own = cuts[feature]
        assert code == (len(own) + 1 if np.isnan(value) else (own < value).sum())


def stored(rng):
    """Codes of 50 rows of five columns with their codes of 0, and as CSR."""
    zero_codes = np.array([0, 3, 255, 7, 0], dtype=np.uint8)
    codes = rng.integers(0, 256, (50, 5)).astype(np.uint8)
    is_stored = (rng.random(codes.shape) < 0.3) & (codes != zero_codes)
    codes[~is_stored] = np.broadcast_to(zero_codes, codes.shape)[~is_stored]
    row, column = np.nonzero(is_stored)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=50))])
    return codes, zero_codes, (indptr, column.astype(np.int32), codes[row, column])


@pytest.mark.parametrize("columns", [[0, 1, 2, 3, 4], [1, 4]])
@pytest.mark.parametrize("sign", [1, -1])
def test_histograms_are_those_of_dense_codes_but_for_zeros(sign, columns, rng):
    codes, zero_codes, entries = stored(rng)
    first = np.full(5, -1)
    first[columns] = 3 + 256 * np.arange(len(columns))
    rows = rng.permutation(50)[:30].astype(np.int32)
    packed = rng.integers(-(2**60), 2**60, 50)
    before = rng.integers(0, 9, 1300)
    out = before.copy()
    add_entries(*entries, first, rows, packed, sign, out)
    expected = before.copy()
    for row in rows:
        for column in columns:
            if codes[row, column] != zero_codes[column]:
                expected[first[column] + codes[row, column]] += sign * packed[row]
    np.testing.assert_array_equal(out, expected)


def test_sums_of_entries(rng):
    codes, zero_codes, (indptr, features, _) = stored(rng)
    rows = rng.permutation(50)[:30].astype(np.int32)
    g, h = rng.integers(-(2**20), 2**20, 50), rng.integers(0, 2**20, 50)
    sums, sizes = np.full(5, -9), np.full(5, -9)
    sum_entries(indptr, features, rows, (g << 32) + h, sums, sizes)
    has_entry = codes[rows] != zero_codes
    np.testing.assert_array_equal(sums, ((g << 32) + h)[rows] @ has_entry)
    np.testing.assert_array_equal(sizes, abs(g[rows]) @ has_entry)


def test_rows_reach_the_leaves_of_dense_codes(rng):
    codes, zero_codes, entries = stored(rng)
    assert sparse.csr_array(entries[::-1], shape=(50, 5)).has_sorted_indices
    feature = np.array([2, 4, 1, -1, -1, -1, -1])
    left, right = np.array([1, 3, 5, -1, -1, -1, -1]), np.array([2, 4, 6, -1, -1, -1, -1])
    goes_left, values = rng.random((7, 256)) < 0.5, np.array([0.0, 0, 0, 1, 2, 3, 4])
    rows = rng.permutation(50)[:40].astype(np.int32)
    scores = np.full(50, 10.0)
    add_leaf_values_of_entries(
        scores, rows, *entries, zero_codes, feature, goes_left, left, right, values
    )
    expected = np.full(50, 10.0)
    for row in rows:
        node = 0
        while feature[node] >= 0:
            is_left = goes_left[node, codes[row, feature[node]]]
            node = (left if is_left else right)[node]
        expected[row] += values[node]
    np.testing.assert_array_equal(scores, expected)
