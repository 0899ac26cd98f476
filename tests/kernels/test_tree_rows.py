"""Rows that move to the children of their node against lists."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.kernels.tree_splits import (
    MISSING,
    NEW,
    ROW,
    mark_coded,
    mark_sorted,
    part_rows,
    part_sorted,
)

N = 20
SEGMENTS = np.array([[0, 0], [0, 7], [7, 8], [8, 20]])


@pytest.fixture
def rows(rng):
    """Row numbers in any order, classes, and weights."""
    return rng.permutation(N), rng.integers(0, 3, N), rng.uniform(0.5, 2, N)


def class_weights(rows, y, weight):
    return np.bincount(y[rows], weight[rows], 3)


@pytest.mark.parametrize("weighted", [False, True])
def test_marks_by_sorted_columns(weighted, rows):
    numbers, y, weight = rows
    order = np.array([numbers, numbers[::-1]], np.uint32)
    missing = np.zeros((2, N), bool)
    missing[1, 17:] = True  # last in their segment
    order[missing] |= MISSING
    order[:, ::2] |= NEW
    splits = np.array([[0, 7, 0, 3, -1], [7, 8, 1, 7, -1], [8, 20, 1, 12, 1]])
    weight = weight if weighted else np.ones(N)
    go_left, n_left = np.zeros(N, np.uint8), np.empty(3, np.int64)
    counts = np.full((3, 2, 3), np.nan)
    given = weight if weighted else np.empty(0)
    mark_sorted(order, y, given, splits, go_left, n_left, counts)
    for a, (lo, hi, line, place, _) in enumerate(splits):
        places = np.arange(lo, hi)
        left = (places <= place) | missing[line, lo:hi]
        mine = (order[line, lo:hi] & ROW).astype(int)
        if line == 1 or a == 0:
            np.testing.assert_allclose(counts[a, 0], class_weights(mine[left], y, weight))
            np.testing.assert_allclose(counts[a, 1], class_weights(mine[~left], y, weight))
            assert n_left[a] == left.sum()


@pytest.mark.parametrize("weighted", [False, True])
def test_marks_by_codes(weighted, rows, rng):
    numbers, y, weight = rows
    entries = numbers.astype(np.uint64) | y[numbers].astype(np.uint64) << np.uint64(32)
    codes = rng.integers(0, 4, (2, N)).astype(np.uint8)
    lines, lefts = np.array([0, 1, 0, 1]), rng.integers(0, 3, (4, 4)).astype(np.uint8)
    weight = weight if weighted else np.ones(N)
    go_left, n_left = np.full(N, 9, np.uint8), np.empty(4, np.int64)
    counts = np.full((4, 2, 3), np.nan)
    given = weight if weighted else np.empty(0)
    mark_coded(entries, codes, y, given, SEGMENTS, lines, lefts, go_left, n_left, counts)
    for a, (lo, hi) in enumerate(SEGMENTS):
        mine = numbers[lo:hi]
        left = lefts[a, codes[lines[a], mine]] == 1
        np.testing.assert_array_equal(go_left[mine], left)
        assert n_left[a] == left.sum()
        np.testing.assert_allclose(counts[a, 0], class_weights(mine[left], y, weight))
        np.testing.assert_allclose(counts[a, 1], class_weights(mine[~left], y, weight))


def test_parts(rows, rng):
    numbers, y, _ = rows
    go_left = rng.integers(0, 2, N).astype(np.uint8)
    entries = numbers.astype(np.uint64) | y[numbers].astype(np.uint64) << np.uint64(32)
    moved = entries.copy()
    part_rows(moved, go_left, SEGMENTS)
    for lo, hi in SEGMENTS:
        left = go_left[numbers[lo:hi]] == 1
        expected = [*entries[lo:hi][left], *entries[lo:hi][~left]]
        assert moved[lo:hi].tolist() == expected


def test_parts_keep_the_marks_of_new_values(rows, rng):
    numbers, _, _ = rows
    value = np.concatenate([np.sort(rng.integers(0, 4, hi - lo)) for lo, hi in SEGMENTS])
    starts = SEGMENTS[1:, 0]
    new = np.r_[True, value[1:] != value[:-1]]
    new[starts] = False  # the first of a node is no candidate, whatever its mark
    order = numbers.astype(np.uint32) | np.where(new, NEW, 0).astype(np.uint32)
    go_left = rng.integers(0, 2, N).astype(np.uint8)
    part_sorted(order, go_left, SEGMENTS)
    of_row = dict(zip(numbers.tolist(), value.tolist(), strict=True))
    for lo, hi in SEGMENTS:
        mine = numbers[lo:hi]
        left = go_left[mine] == 1
        got = (order[lo:hi] & ROW).astype(int)
        assert got.tolist() == [*mine[left], *mine[~left]]
        border = left.sum()
        for i in range(1, hi - lo):
            if i != border:
                differs = of_row[got[i]] != of_row[got[i - 1]]
                assert bool(order[lo + i] & NEW) == differs
