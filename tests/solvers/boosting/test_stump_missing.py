"""Stumps on columns with missing values, against every cut and side by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from rankwise.solvers.boosting.stump_search import StumpEnsemble, StumpSearch


def brute_stumps(X, u):
    """Gain, feature, cut, direction and side of missing values of every stump."""
    for j in range(X.shape[1]):
        missing = np.isnan(X[:, j])
        values = np.unique(X[~missing, j])
        for cut in (values[1:] + values[:-1]) / 2:
            for up in (1, -1):
                for side in (1, -1) if missing.any() else (0,):
                    h = np.where(missing, side, np.where(X[:, j] > cut, up, -up))
                    yield int((u * h).sum()), j, cut, up, side


@pytest.fixture
def holes(rng):
    X = rng.integers(0, 400, (700, 6)).astype(float)
    X[:, 1] %= 7
    X[rng.random(X.shape) < [0.3, 0.3, 0.0, 0.9, 0.01, 0.0]] = np.nan
    X[:, 5] = np.nan
    return X


@pytest.mark.parametrize("max_bins", [255, None])
def test_missing_values_go_where_they_gain_most(max_bins, holes, rng):
    for X in (holes, np.round(holes / 4)):
        rows = rng.permutation(len(X))
        u = rng.integers(-(2**40), 2**40, len(X))
        search = StumpSearch(X, rows, max_bins, None)
        stump = search.best(u, int(u.sum()), 0)
        found = sorted(brute_stumps(X[rows], u), key=lambda s: (-s[0], *s[1:3]))
        if max_bins is None or np.unique(X[~np.isnan(X[:, 0]), 0]).size < 255:
            gain, *what = found[0]
            assert stump.gain == gain
            assert [stump.feature, stump.threshold, stump.direction, stump.missing] == what
        assert stump.gain == np.where(stump.side, u, -u).sum()


@pytest.mark.parametrize("max_bins", [255, None])
def test_columns_of_missing_values_alone_have_no_stump(max_bins):
    X = np.full((9, 2), np.nan)
    u = np.arange(-4, 5)
    assert StumpSearch(X, np.arange(9), max_bins, None).best(u, 0, 0) is None


def test_scores_with_missing_values_are_sums_of_changes(holes, rng):
    ensemble = StumpEnsemble(
        rng.integers(0, 5, 300),
        rng.integers(0, 400, 300).astype(float),
        rng.choice(np.array([-1, 1], np.int8), 300),
        rng.uniform(0.01, 0.5, 300),
        rng.integers(-1, 2, 300).astype(np.int8),
    )
    expected = np.zeros(len(holes))
    stumps = zip(
        ensemble.features, ensemble.thresholds, ensemble.directions, ensemble.missing, strict=True
    )
    for (feature, cut, up, missing), step in zip(stumps, ensemble.steps, strict=True):
        x = holes[:, feature]
        expected += step * np.where(np.isnan(x), missing, np.where(x > cut, up, -up))
    filled = sparse.csr_array(np.nan_to_num(holes, nan=-1.0))
    filled.data[filled.data == -1.0] = np.nan
    for rows in (holes, filled):
        np.testing.assert_allclose(ensemble.score(rows), expected, rtol=0, atol=1e-11)
        total = sum(ensemble.changes(ensemble.prepare(rows)))
        np.testing.assert_allclose(total, expected, rtol=0, atol=1e-11)
