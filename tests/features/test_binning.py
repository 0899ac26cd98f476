"""Bins are exact where they can be, of equal weight where not, and the same for any row order."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.features.binning import MAX_BINS, find_bins


def with_missing(rng, values):
    values[rng.random(values.shape) < 0.1] = np.nan
    return values


def same(a, b):
    np.testing.assert_array_equal(a.cuts, b.cuts)
    np.testing.assert_array_equal(a.indptr, b.indptr)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_few_values_are_cut_at_their_midpoints(rng, dtype):
    pool = rng.standard_normal(MAX_BINS).astype(dtype)
    X = np.column_stack([rng.permutation(np.tile(pool, 5)), rng.choice(pool[:7], 5 * MAX_BINS)])
    bins = find_bins(with_missing(rng, X))
    for j, column in enumerate(X.T):
        values = np.unique(column[~np.isnan(column)]).astype(np.float64)
        np.testing.assert_allclose(bins.of_column(j), (values[1:] + values[:-1]) / 2, rtol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_codes_count_the_cuts_below(rng, dtype, order):
    X = np.column_stack([rng.standard_normal((3000, 2)), rng.integers(0, 9, 3000)])
    X = np.asarray(with_missing(rng, X), dtype=dtype, order=order)
    given = X.copy()
    bins = find_bins(X)
    codes = bins.codes(X)
    np.testing.assert_array_equal(X, given)  # sorted copies, not X
    assert codes.shape == (3, 3000)
    assert codes.flags.c_contiguous
    for j in range(3):
        cuts, column = bins.of_column(j), X[:, j]
        present = ~np.isnan(column)
        assert (codes[j, ~present] == bins.missing_code[j]).all()
        below = (cuts < column[present, None]).sum(axis=1)
        np.testing.assert_array_equal(codes[j, present], below)
        for c in (0, len(cuts) // 2, len(cuts) - 1):
            np.testing.assert_array_equal(below <= c, column[present] <= cuts[c])


@pytest.mark.parametrize("max_bins", [2, 3, 16, 255])
def test_bins_of_many_values_weigh_about_the_same(rng, max_bins):
    n = 20_000
    X = rng.standard_normal((n, 1))
    bins = find_bins(X, max_bins)
    assert len(bins.cuts) == max_bins - 1
    assert (np.diff(bins.cuts) > 0).all()
    sizes = np.bincount(bins.codes(X)[0])
    assert sizes.max() - sizes.min() <= 1


def test_heavy_values_take_no_bins_from_the_others(rng):
    X = np.where(rng.random(20_000) < 0.7, 0.0, rng.standard_normal(20_000))[:, None]
    bins = find_bins(X, 100)
    sizes = np.bincount(bins.codes(X)[0], minlength=100)
    assert len(sizes) == 100
    others = np.sort(sizes)[:-1]
    assert others.max() <= 1.5 * np.median(others)
    assert (bins.codes(X)[0] == sizes.argmax()).sum() >= (X == 0).sum()


@pytest.mark.parametrize("max_bins", [5, 255])
def test_repeated_rows_are_weighted_rows(rng, max_bins):
    X = with_missing(rng, rng.standard_normal((700, 3)).round(2))
    weight = rng.integers(0, 4, 700).astype(np.float64)
    repeated = find_bins(np.repeat(X, weight.astype(int), axis=0), max_bins)
    same(find_bins(X, max_bins, weight), repeated)
    same(find_bins(X, max_bins, 3 * weight), repeated)


@pytest.mark.parametrize("weighted", [False, True])
def test_row_order_changes_nothing(rng, weighted):
    X = with_missing(rng, rng.standard_normal((2000, 2)).round(2))
    weight = rng.choice([0.1, 0.2, 0.7], 2000) if weighted else None
    order = rng.permutation(2000)
    same(
        find_bins(X, 16, weight), find_bins(X[order], 16, None if weight is None else weight[order])
    )


def test_neighbouring_floats_and_large_ones_are_told_apart():
    low = np.array([1.0, -np.finfo(float).max, 0.0])
    high = np.array([np.nextafter(1.0, 2), np.finfo(float).max, np.finfo(float).smallest_subnormal])
    bins = find_bins(np.stack([low, high]))
    assert bins.n_cuts.tolist() == [1, 1, 1]
    np.testing.assert_array_equal(bins.codes(np.stack([low, high])), [[0, 1]] * 3)


@pytest.mark.parametrize("seed", range(100))
def test_no_column_has_more_bins_than_asked_for(seed):
    rng = np.random.default_rng(seed)
    max_bins = int(rng.integers(2, 12))
    values = rng.permutation(40)[: rng.integers(1, 41)].astype(np.float64)
    X = np.repeat(
        values, np.ceil(rng.pareto(rng.choice([0.5, 1, 3]), len(values)) % 1000).astype(int) + 1
    )
    weight = rng.random(len(X)) if rng.random() < 0.5 else None
    bins = find_bins(X[:, None], max_bins, weight)
    codes = bins.codes(X[:, None])[0]
    n_bins = len(bins.cuts) + 1
    assert n_bins <= max_bins
    assert len(values) > max_bins or n_bins == len(values)
    assert np.bincount(codes, minlength=n_bins).min() > 0
    sizes = np.bincount(codes, weight, minlength=n_bins)
    for c, size in enumerate(sizes):  # but for its heaviest value no bin is much above a share
        inside = codes == c
        _, value = np.unique(X[inside], return_inverse=True)
        heaviest = np.bincount(value, None if weight is None else weight[inside]).max()
        assert size - heaviest <= 1.5 * sizes.sum() / max_bins


def test_columns_without_cuts():
    X = np.array([[1.0, np.nan], [1.0, np.nan]])
    bins = find_bins(X)
    assert bins.n_cuts.tolist() == [0, 0]
    assert bins.codes(X).tolist() == [[0, 0], [1, 1]]
    assert bins.codes(np.array([[2.0, 5.0], [np.nan, 0.0]])).tolist() == [[0, 1], [0, 0]]


def test_bins_of_nominal_columns_are_their_codes(rng):
    X = rng.choice([0.0, 2.0, 3.0], (50, 2))
    bins = find_bins(X, 3, n_categories=np.array([5, 0]))
    np.testing.assert_array_equal(bins.of_column(0), [0.5, 1.5, 2.5, 3.5])
    np.testing.assert_array_equal(bins.codes(X)[0], X[:, 0])
    with pytest.raises(ValueError, match="at most 255 categories a column, got 300 in column 1"):
        find_bins(X, n_categories=np.array([0, 300]))


def test_thread_counts_change_nothing(rng, monkeypatch):
    X = with_missing(rng, rng.standard_normal((3000, 9)))
    results = []
    for n in ("1", "5"):
        monkeypatch.setenv("RANKWISE_NUM_THREADS", n)
        results.append((find_bins(X), find_bins(X).codes(X)))
    same(results[0][0], results[1][0])
    np.testing.assert_array_equal(results[0][1], results[1][1])
