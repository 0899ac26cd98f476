"""Products of rows against NumPy in float64, for rows of either type."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.kernels.row_products import add_moments, add_transposed, add_within, times_vector
from tests.kernels import ragged


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products(dtype, rng):
    X = rng.normal(size=(ragged.N_ROWS, 5)).astype(dtype)
    wide = X.astype(np.float64)
    w, h = rng.normal(size=5), rng.normal(size=ragged.N_ROWS)
    out = np.empty(ragged.N_ROWS)
    times_vector(X, w, out)
    np.testing.assert_allclose(out, wide @ w, rtol=1e-12, atol=1e-13)
    out = np.ones(5)
    add_transposed(X, h, out)
    np.testing.assert_allclose(out, 1 + wide.T @ h, rtol=1e-12, atol=1e-13)
    sums, squares = np.ones((2, 5))
    add_moments(X, sums, squares)
    np.testing.assert_allclose(sums, 1 + wide.sum(0), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(squares, 1 + (wide**2).sum(0), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_squares_within_groups(dtype, rng):
    """A column whose groups share most of their digits loses none."""
    X = rng.normal(size=(ragged.N_ROWS, 3))
    X[:, 1] += 1e6 * np.repeat(np.arange(len(ragged.SIZES)), ragged.SIZES)
    X = X.astype(dtype)
    X[:, 2] = 7.5
    squares, largest = np.ones(3), np.zeros(3)
    add_within(X, ragged.INDPTR, squares, largest)
    wide, expected = X.astype(np.float64), np.ones(3)
    for mine in ragged.QUERIES:
        if len(mine):
            gaps = wide[mine] - wide[mine[0]]
            expected += ((gaps - gaps.mean(0)) ** 2).sum(0)
    np.testing.assert_allclose(squares, expected, rtol=1e-12)
    np.testing.assert_array_equal(largest, abs(wide).max(0))
