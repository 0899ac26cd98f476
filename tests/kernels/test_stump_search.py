"""Stumps against every cut by brute force."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.kernels.boosting_rounds import (
    add_stumps,
    choose_bin,
    choose_sorted,
    search_bins,
    search_sorted,
)

N_CUTS = np.array([3, 0, 1, 6, 2, 4])


def table(rng, n):
    """Bins of six columns, the last number of each for missing values; weights."""
    X = np.array([rng.integers(0, cuts + 2, n) for cuts in N_CUTS]).reshape(6, n)
    return X, rng.integers(-9, 10, n)


def gains(bins, n_cuts, u):
    """Signed gain of every cut, and of the missing values on their better side."""
    missing = u[bins == n_cuts + 1].sum()
    present = bins <= n_cuts
    cuts = [u[present & (bins > c)].sum() - u[present & (bins <= c)].sum() for c in range(n_cuts)]
    return cuts, missing


@pytest.mark.parametrize("n", [0, 1, 40])
@pytest.mark.parametrize(("first", "last"), [(0, 6), (1, 3)])
def test_bins(n, first, last, rng):
    X, u = table(rng, n)
    histogram, gain = np.full((6, 256), -1), np.full(6, -1)
    total = u.sum()
    search_bins(X.astype(np.uint8), u, N_CUTS, total, first, last, histogram, gain)
    for j in range(first, last):
        cuts, missing = gains(X[j], N_CUTS[j], u)
        best = max((abs(g) + abs(missing) for g in cuts), default=0)
        assert gain[j] == best
        floor = max(best - 2, 1)
        found = choose_bin(histogram[j], N_CUTS[j], total, floor)
        expected = [(c, g, missing) for c, g in enumerate(cuts) if abs(g) + abs(missing) >= floor]
        assert found == (expected[0] if expected else (-1, 0, missing))
    outside = np.r_[0:first, last:6]
    assert (gain[outside] == -1).all()


@pytest.mark.parametrize("n", [0, 1, 40])
def test_sorted_columns(n, rng):
    X, u = table(rng, n)
    order = np.argsort(X, axis=1, kind="stable").astype(np.uint32)
    n_present = (N_CUTS[:, None] >= X).sum(1)
    values = np.take_along_axis(X, order.astype(np.int64), 1)
    is_cut = np.zeros((6, n), np.bool_)
    for j in range(6):
        end = max(n_present[j] - 1, 0)
        is_cut[j, :end] = values[j, 1 : end + 1] > values[j, :end]
    gain, total = np.full(6, -1), u.sum()
    search_sorted(order, is_cut, n_present, u, total, 0, 6, gain)
    for j in range(6):
        cuts, missing = gains(X[j], N_CUTS[j], u)
        real = {v: cuts[v] for v in values[j, :n][is_cut[j]]}  # between values that are there
        best = max((abs(g) + abs(missing) for g in real.values()), default=0)
        assert gain[j] == best
        floor = max(best - 2, 1)
        found = choose_sorted(order[j], is_cut[j], n_present[j], u, total, floor)
        reached = [(v, g) for v, g in real.items() if abs(g) + abs(missing) >= floor]
        if reached:
            place = (X[j] <= reached[0][0]).sum() - 1
            assert found == (place, reached[0][1], missing)
        else:
            assert found == (-1, 0, missing)


def test_scores(rng):
    X = rng.integers(-3, 4, (30, 3)).astype(float)
    X[::4, 1] = np.nan
    features, sizes = np.array([1, 0, 2, 1]), np.array([2, 0, 3, 1])
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    thresholds = np.concatenate([np.sort(rng.integers(-3, 4, n)) for n in sizes]).astype(float)
    values, missing = rng.normal(size=len(thresholds) + 4), rng.normal(size=4)
    out = np.ones(30)
    add_stumps(X, features, indptr, thresholds, values, missing, out)
    for row, score in zip(X, out, strict=True):
        expected = 1.0
        for m, j in enumerate(features):
            below = (thresholds[indptr[m] : indptr[m + 1]] < row[j]).sum()
            expected += missing[m] if np.isnan(row[j]) else values[indptr[m] + m + below]
        assert score == pytest.approx(expected, abs=1e-13)
