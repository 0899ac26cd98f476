"""Masks of open leaves, each step beside a loop."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.kernels.ensemble_scores import add_open_leaves, number_leaves, read_columns

# A leaf alone, and a tree whose nodes from left to right are 3, 1, 5, 4, 6, 0, 2.
INDPTR = np.array([0, 1, 8])
FEATURE = np.array([-1, 0, 1, -1, -1, 2, -1, -1], dtype=np.int32)
LEFT = np.array([-1, 1, 3, -1, -1, 5, -1, -1], dtype=np.int32)
RIGHT = np.array([-1, 2, 4, -1, -1, 6, -1, -1], dtype=np.int32)


def test_leaves_are_numbered_from_left_to_right():
    first, count = np.full((2, 8), -9)
    number_leaves(INDPTR, FEATURE, LEFT, RIGHT, first, count)
    assert first.tolist() == [0, 0, 0, 3, 0, 1, 1, 2]
    assert count.tolist() == [1, 4, 3, 1, 1, 2, 1, 1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_become_rows(dtype):
    X = np.array([[1.5, 7, 0], [np.nan, 3, 1], [2.5, np.nan, 2], [-1, 4, 3]], dtype=dtype)
    indptr, listed = np.array([0, 0, 2, 5]), np.array([3.0, 7.0, -1.0, 0.0, 2.5])
    table = np.full((3, 6), -9.0)
    read_columns(X, np.array([0, 1, 0]), indptr, listed, table)
    expected = [[1.5, np.nan, 2.5, -1, 0, 0], [1, 0, 3, 2, 0, 0], [3, 4, 2, 0, 0, 0]]
    np.testing.assert_array_equal(table, expected)


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_the_first_open_leaf_counts(dtype):
    """After a tree of one leaf, four leaves around the border between two words.

    A split that sends all rows right closes the leaves before them. The root, x0 <= 0.5, closes the
    first three, x1 <= -0.2 or missing the first, and x2 in a set the second.
    """
    size = 8 * np.dtype(dtype).itemsize
    every, last_bit = int(np.iinfo(dtype).max), 1 << (size - 1)
    column = np.array([3, 0, 0, 1, 2], dtype=np.int32)
    threshold = np.array([0.0, 0.5, 0.5, -0.2, 1.0])
    mask = np.array([last_bit, every ^ last_bit, every ^ 3, every ^ last_bit, every ^ 1], dtype)
    word = np.array([0, 0, 1, 0, 1], dtype=np.int32)
    bounds = np.array([[0, 0, 0, 0], [0, 3, 4, 5]])
    goes_left = np.array([True, False, True, False])  # from the second on: of x2
    leaf_indptr, leaf_values = np.array([0, 1, 1 + 2 * size]), np.zeros(1 + 2 * size)
    leaf_values[0], leaf_values[size : size + 4] = 100.0, [1.0, 2.0, 3.0, 4.0]
    table = np.array([
        [0.0, 0.0, 0.0, 1.0, np.nan, 0.5, 7.0],
        [-0.2, 0.0, 0.0, 0.0, 0.0, np.nan, 7.0],
        [0.0, 0.0, 1.0, 0.0, 0.0, 2.0, 0.0],
        np.ones(7),
    ])  # fmt: skip
    out, bits = np.full(6, 0.5), np.zeros((2, 7), dtype=dtype)
    add_open_leaves(
        table, column, threshold, mask, word, bounds, goes_left, leaf_indptr, leaf_values, bits, out
    )
    np.testing.assert_array_equal(out, [101.5, 103.5, 102.5, 104.5, 104.5, 101.5])
