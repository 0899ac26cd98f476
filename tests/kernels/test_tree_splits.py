"""Gains by their definitions, and the best split of nodes against every candidate."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.kernels.tree_splits import (
    ABSOLUTE,
    DISTANCES,
    ENTROPY,
    GINI,
    MISSING,
    NEW,
    RANKS,
    UNSEEN,
    first_best,
    scan_bins,
    scan_sorted,
    search_subsets,
    write_gains,
)

N, K = 24, 3
D = np.array([[0.0, 1, 4], [1, 0, 2.5], [4, 2.5, 0]])
RANK_DISTANCES = abs(np.subtract.outer(np.arange(K), np.arange(K))).astype(float)
SEGMENTS = np.array([[0, 0], [0, 1], [1, 9], [9, N]])
KINDS = pytest.mark.parametrize("kind", [RANKS, DISTANCES, GINI, ENTROPY, ABSOLUTE])


def impurity(kind, counts):
    n, below = counts.sum(), np.cumsum(counts)
    if kind == RANKS:
        return (below * (n - below)).sum()
    if kind == DISTANCES:
        return 0.5 * counts @ D @ counts
    if kind == GINI:
        return n - (counts**2).sum() / n
    if kind == ENTROPY:
        return sum(c * np.log2(n / c) for c in counts if c > 0)
    return np.minimum(below, n - below).sum()


def gain_of(kind, total, left, least):
    right = total - left
    if min(left.sum(), right.sum()) < least or left.sum() <= 0 or right.sum() <= 0:
        return 0.0
    return impurity(kind, total) - impurity(kind, left) - impurity(kind, right)


def criterion(kind, least=0.0):
    return kind, D if kind == DISTANCES else RANK_DISTANCES, least


@pytest.fixture
def rows(rng):
    """Row numbers in any order, classes, weights, and values with ties and missing ones."""
    values = rng.integers(0, 5, N).astype(float)
    values[rng.random(N) < 0.25] = np.nan
    return rng.permutation(N), rng.integers(0, K, N), rng.integers(1, 4, N).astype(float), values


def totals_of(numbers, y, weight):
    return np.array([np.bincount(y[numbers[a:b]], weight[numbers[a:b]], K) for a, b in SEGMENTS])


@KINDS
def test_gains(kind, rng):
    total = np.array([4.0, 0.0, 7.0])
    left = np.array([rng.integers(0, int(c) + 1, 30) for c in total]).astype(float)
    left[:, 0], left[:, 1] = 0, total
    room = np.empty((3, 30))
    room[0] = left.sum(0)
    write_gains(criterion(kind, 2.0), total, left, room, 30)
    expected = [gain_of(kind, total, column, 2.0) for column in left.T]
    np.testing.assert_allclose(room[2], expected, atol=1e-12)


def test_first_of_equal_gains():
    gains = np.array([0.0, 2.0, 3.0 - 1e-12, 3.0, 9.0])
    assert first_best(gains, 4, 1e-11) == 2
    assert first_best(gains, 1, 1e-11) == -1
    assert first_best(gains, 0, 1e-11) == -1


def candidates(values):
    """Thresholds with missing values on the left, then on the right: (rows left, bound, side)."""
    missing = np.isnan(values)
    levels = np.unique(values[~missing])
    for side in (True, False) if missing.any() else (None,):
        for bound in levels[:-1]:
            yield (values <= bound) | (missing & bool(side)), bound, side
    if missing.any() and len(levels):
        yield ~missing, levels[-1], False


def best_of(kind, values, y, weight, least):
    """Gain, largest value on the left, side of missing values, of the first best candidate."""
    total = np.bincount(y, weight, K)
    best = 0.0, None, None
    for left, bound, side in candidates(values):
        gain = gain_of(kind, total, np.bincount(y[left], weight[left], K), least)
        if gain > best[0] + 1e-9:
            best = gain, bound, side
    return best


@KINDS
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("least", [0.0, 4.0])
def test_sorted_columns(kind, weighted, least, rows):
    numbers, y, weight, values = rows
    weight = weight if weighted else np.ones(N)
    order = np.empty(N, np.uint32)
    for lo, hi in SEGMENTS:
        mine = numbers[lo:hi]
        mine = mine[np.argsort(values[mine], kind="stable")]  # missing values last
        new = np.r_[True, values[mine[1:]] != values[mine[:-1]]][: len(mine)]
        marks = np.where(new, NEW, 0) | np.where(np.isnan(values[mine]), MISSING, 0)
        order[lo:hi] = mine.astype(np.uint32) | marks.astype(np.uint32)
    totals, ties = totals_of(numbers, y, weight), np.full(4, 1e-9)
    found, given = np.empty((4, 3)), weight if weighted else np.empty(0)
    scan_sorted(order, y, given, SEGMENTS, totals, ties, criterion(kind, least), found)
    for a, (lo, hi) in enumerate(SEGMENTS):
        mine = numbers[lo:hi]
        gain, bound, side = best_of(kind, values[mine], y[mine], weight[mine], least)
        assert found[a, 0] == pytest.approx(gain, abs=1e-9)
        if bound is not None:
            assert found[a, 1] == lo + (values[mine] <= bound).sum() - 1
            assert found[a, 2] == (-1 if side is None else side)


@KINDS
@pytest.mark.parametrize("weighted", [False, True])
def test_bins(kind, weighted, rows):
    numbers, y, weight, values = rows
    weight = weight if weighted else np.ones(N)
    entries = numbers.astype(np.uint64) | y[numbers].astype(np.uint64) << np.uint64(32)
    n_cuts = 4
    codes = np.where(np.isnan(values), n_cuts + 1, np.nan_to_num(values)).astype(np.uint8)[None]
    totals, ties = totals_of(numbers, y, weight), np.full(4, 1e-9)
    # Of two pairs of siblings the second has a parent whose histogram is kept.
    pairs = np.array([[0, 0, 1, 0, 1, -1, -1, -1], [1, 9, N, 2, 3, 0, 0, 1]])
    columns, n_cells = np.array([[0, 0, n_cuts]]), (n_cuts + 2) * K
    dtype = np.float64 if weighted else np.int32

    def histogram(mine):
        out = np.zeros((K, n_cuts + 2), dtype)
        np.add.at(out, (y[mine], codes[0, mine]), weight[mine].astype(dtype))
        return out.ravel()

    parents, kept = histogram(numbers[1:])[None], np.zeros((2, n_cells), dtype)
    found, given = np.zeros((4, 1, 4)), weight if weighted else np.empty(0)
    arguments = entries, given, pairs, totals, ties, criterion(kind), columns, (parents, kept)
    scan_bins(codes, *arguments, found)
    for a, (lo, hi) in enumerate(SEGMENTS):
        mine = numbers[lo:hi]
        gain, bound, side = best_of(kind, values[mine], y[mine], weight[mine], 0.0)
        assert found[a, 0, 0] == pytest.approx(gain, abs=1e-9)
        if bound is not None:
            above = values[mine][values[mine] > bound]
            assert found[a, 0, 1] == bound
            assert found[a, 0, 2] == (above.min() if len(above) else -1)
            assert found[a, 0, 3] == (-1 if side is None else side)
    for line, (lo, hi) in zip(kept, SEGMENTS[2:], strict=True):
        np.testing.assert_array_equal(line, histogram(numbers[lo:hi]))


def subsets(values, y, weight):
    """Rows that go left: the category of the lowest mean class always does."""
    present = np.unique(values[~np.isnan(values)])
    means = [np.average(y[values == c], weights=weight[values == c]) for c in present]
    items = [values == c for c in present[np.argsort(means, kind="stable")]]
    if len(items) and np.isnan(values).any():
        items.append(np.isnan(values))
    for chosen in range(2 ** max(len(items) - 1, 0) - 1):
        left = [items[0], *(item for b, item in enumerate(items[1:]) if chosen >> b & 1)]
        yield np.any(left, axis=0)


@KINDS
@pytest.mark.parametrize("weighted", [False, True])
def test_subsets(kind, weighted, rows):
    numbers, y, weight, values = rows
    weight = weight if weighted else np.ones(N)
    codes = np.where(np.isnan(values), 5, np.nan_to_num(values)).astype(np.uint8)
    marks, gains = np.full((4, 6), 9, np.uint8), np.empty(4)
    given, entries = weight if weighted else np.empty(0), numbers.astype(np.uint64)
    ties = np.full(4, 1e-9)
    search_subsets(entries, codes, y, given, SEGMENTS, ties, criterion(kind), marks, gains)
    for a, (lo, hi) in enumerate(SEGMENTS):
        mine = numbers[lo:hi]
        total, best = np.bincount(y[mine], weight[mine], K), (0.0, None)
        for left in subsets(values[mine], y[mine], weight[mine]):
            gain = gain_of(kind, total, np.bincount(y[mine[left]], weight[mine[left]], K), 0.0)
            if gain > best[0] + 1e-9:
                best = gain, left
        assert gains[a] == pytest.approx(best[0], abs=1e-9)
        seen = np.isin(np.arange(6), codes[mine])
        assert (marks[a, ~seen] == UNSEEN).all()
        if best[1] is not None:
            np.testing.assert_array_equal(marks[a, codes[mine]] == 1, best[1])


def test_many_categories_are_split_in_the_order_of_their_mean_class(rng):
    y, codes = rng.integers(0, K, 200), rng.integers(0, 13, 200)  # 12: missing
    weight, rows = rng.integers(1, 4, 200).astype(float), np.arange(200, dtype=np.uint64)
    marks, gains = np.empty((1, 13), np.uint8), np.empty(1)
    segments, ties = np.array([[0, 200]]), np.full(1, 1e-9)
    search_subsets(
        rows, codes.astype(np.uint8), y, weight, segments, ties, criterion(RANKS), marks, gains
    )
    means = [np.average(y[codes == c], weights=weight[codes == c]) for c in range(12)]
    rank = np.append(np.argsort(np.argsort(means, kind="stable")), np.nan)
    values = rank[codes]
    gain, bound, side = best_of(RANKS, values, y, weight, 0.0)
    assert gains[0] == pytest.approx(gain)
    np.testing.assert_array_equal(marks[0, :12], rank[:12] <= bound)
    assert marks[0, 12] == side
