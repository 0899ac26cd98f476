"""Cuts against a walk over the distinct values, codes against comparisons with every cut."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from rankwise.kernels.binning import SLACK, find_cuts, find_entry_cuts, midpoint, write_codes


def middle(low, high):
    between = low / 2 + high / 2
    return between if low <= between < high else low


def naive_cuts(values, weights, n_bins):
    """The rule of ``find_cuts`` over distinct values and their weights."""
    distinct = np.unique(values)
    mass = np.array([weights[values == v].sum() for v in distinct])
    if len(distinct) <= n_bins:
        return [middle(a, b) for a, b in pairwise(distinct)]
    heavy = np.zeros(len(distinct), dtype=bool)
    while True:
        light, left = mass[~heavy].sum(), n_bins - heavy.sum()
        if left == 0 or (heavy == (mass >= light / left / SLACK)).all():
            break
        heavy = mass >= light / left / SLACK
    cuts, gathered, only_light = [], 0.0, False
    for k, m in enumerate(mass):
        if heavy[k] and only_light:
            close = 2 * gathered * (left + 1) >= light * SLACK
            if not close:
                left += 1
                light -= gathered
        elif heavy[k]:
            close = True
        elif not only_light:
            close = left > 0
        else:
            close = left > 0 and (2 * gathered + m) * (left + 1) > 2 * light * SLACK
        if close and k > 0:
            cuts.append(middle(distinct[k - 1], distinct[k]))
        if close:
            light -= gathered if only_light else 0.0
            left -= not heavy[k]
            gathered = 0.0
        only_light = not heavy[k] and (close or only_light)
        gathered += m if only_light else 0.0
    return cuts


@pytest.mark.parametrize("n_bins", [2, 3, 8, 40])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [0, 1, 30, 200])
def test_cuts(n, weighted, n_bins, rng):
    values = np.sort(np.round(rng.standard_t(2, n), 1))
    weights = rng.integers(1, 9, n).astype(float) if weighted else np.empty(0)
    out = np.empty(n_bins - 1)
    n_cuts = find_cuts(values, weights, out)
    expected = naive_cuts(values, weights if weighted else np.ones(n), n_bins)
    np.testing.assert_array_equal(out[:n_cuts], expected)


@pytest.mark.parametrize("n_bins", [2, 5, 40])
def test_cuts_of_entries_are_those_of_all_values(n_bins, rng):
    """Columns without entries, with zeros stored and not, all stored, and missing values."""
    entries = [
        np.zeros(0), np.array([-2.0, -1.0]), np.array([0.5, 0.5, np.nan]), np.full(2, np.nan),
        np.array([-0.0, 0.0, 3.0]), np.sort(rng.normal(size=60).round(1)), np.array([np.inf]),
    ]  # fmt: skip
    rest = np.array([7.0, 3.0, 50.0, 4.0, 2.0, 30.0, -1.0])
    indptr = np.concatenate([[0], np.cumsum([len(column) for column in entries])])
    values, weights = np.concatenate(entries), rng.integers(1, 9, indptr[-1]).astype(float)
    n_cuts, out = np.empty(7, dtype=np.int64), np.empty((3, indptr[-1]))
    find_entry_cuts(values, weights, indptr, rest, n_bins, n_cuts, out)
    ends = np.cumsum(n_cuts)
    for j, column in enumerate(entries):
        kept = ~np.isnan(column)
        full, mass = column[kept], weights[indptr[j] : indptr[j + 1]][kept]
        if rest[j] >= 0:
            full, mass = np.append(full, 0.0), np.append(mass, rest[j])
        order = np.argsort(full, kind="stable")
        cuts, below, above = out[:, ends[j] - n_cuts[j] : ends[j]]
        np.testing.assert_array_equal(cuts, naive_cuts(full[order], mass[order], n_bins))
        np.testing.assert_array_equal(below, [full[full <= cut].max() for cut in cuts])
        np.testing.assert_array_equal(above, [full[full > cut].min() for cut in cuts])


def test_midpoint_of_neighbours_is_the_lower_one():
    above = np.nextafter(1.0, 2.0)
    assert midpoint(1.0, above) == 1.0
    assert midpoint(-1e308, 1.7e308) == pytest.approx(0.35e308)


def test_codes(rng):
    X = np.round(rng.normal(size=(50, 3)), 1)
    X[::7, 1] = np.nan
    X[0] = -np.inf, np.inf, 0.0
    n_cuts = np.array([255, 5, 0])
    cuts = np.full((3, 255), np.inf)
    for j, n in enumerate(n_cuts):
        cuts[j, :n] = np.sort(rng.choice(np.arange(-300, 300) / 100, n, replace=False))
    out = np.empty((3, 50), np.uint8)
    X[:, 0] = np.clip(X[:, 0], None, cuts[0, -1])  # at most 255 fits a byte
    write_codes(X, cuts, n_cuts, out)
    for j in range(3):
        for i in range(50):
            missing = np.isnan(X[i, j])
            assert out[j, i] == (n_cuts[j] + 1 if missing else (cuts[j] < X[i, j]).sum())
