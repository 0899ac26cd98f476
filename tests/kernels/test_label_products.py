"""Products of rows with their labels against dense products."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from rankwise.kernels.row_products import add_labelled_rows, add_row_products


def csr(rng, shape):
    table = rng.normal(size=shape) * (rng.random(shape) < 0.4)
    table[2] = 0
    rows = sparse.csr_array(table)
    return table, (rows.indptr.astype(np.int64), rows.indices, rows.data)


def test_products(rng):
    A, a = csr(rng, (9, 5))
    B, b = csr(rng, (9, 4))
    X, weight = rng.normal(size=(9, 3)), rng.uniform(0, 2, 9)
    out = np.ones((5, 4))
    add_row_products(*a, *b, weight, out)
    np.testing.assert_allclose(out, 1 + A.T @ (weight[:, None] * B))
    out = np.ones((4, 3))
    add_labelled_rows(*b, X, weight, out)
    np.testing.assert_allclose(out, 1 + B.T @ (weight[:, None] * X))
