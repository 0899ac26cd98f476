"""Distances between rows against loops over pairs of rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from rankwise.kernels.row_products import absolute_block, fill_squared_block, refine_near


@pytest.mark.parametrize("kernel", [fill_squared_block, absolute_block])
def test_blocks(kernel, rng):
    x, z = 1e6 + rng.normal(size=(5, 8)), 1e6 + rng.normal(size=(7, 8))
    z[3] = x[2]
    x[:, 6:] = z[:, 6:] = 0  # as rows of six features are filled up
    out = np.full((5, 10), 9.0)
    kernel(x, np.ascontiguousarray(z.T), 2, out)
    for i in range(5):
        for j in range(7):
            gaps = x[i] - z[j]
            expected = gaps @ gaps if kernel is fill_squared_block else abs(gaps).sum()
            assert out[i, 2 + j] == pytest.approx(expected, rel=1e-14)
    assert out[2, 5] == 0
    assert (out[:, [0, 1, 9]] == 9.0).all()


def test_only_near_rows_are_refined(rng):
    X = rng.normal(size=(6, 5)) * (rng.random((6, 5)) < 0.5)
    Z = rng.normal(size=(4, 5)) * (rng.random((4, 5)) < 0.5)
    X[1] = Z[2] = 0
    X[3] = Z[0] + 1e-9
    exact = ((X[:, None] - Z) ** 2).sum(-1)
    norms = (X**2).sum(1), (Z**2).sum(1)
    out = exact + 1e-3
    near = out <= 0.2 * (norms[0][:, None] + norms[1])
    assert near.any()
    assert not near.all()
    a, b = sparse.csr_array(X), sparse.csr_array(Z)
    parts = [(m.data, m.indices, m.indptr) for m in (a, b)]
    refine_near(out, parts[0], norms[0], parts[1], norms[1], 0.2)
    np.testing.assert_allclose(out, np.where(near, exact, exact + 1e-3), rtol=1e-12, atol=1e-30)
