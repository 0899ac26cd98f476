"""Columns of products against the polynomial kernel, dense against CSR."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from rankwise.kernels.row_products import append_one, expand_csr, expand_rows


def rows_of(rng):
    X = rng.normal(size=(6, 4)) * (rng.random((6, 4)) < 0.6)
    X[2] = 0
    return X, sparse.csr_array(X)


def test_dense_columns(rng):
    X, _ = rows_of(rng)
    out = np.empty((6, 15))
    expand_rows(X, out)
    np.testing.assert_allclose(out @ out.T, (X @ X.T + 1) ** 2, atol=1e-12)
    for row, phi in zip(X, out, strict=True):
        products = [row[i] * row[j] * 2 ** ((i < j) / 2) for i in range(4) for j in range(i, 4)]
        np.testing.assert_allclose(phi, [*products, *(2**0.5 * row), 1.0])


def test_sparse_columns(rng):
    X, rows = rows_of(rng)
    dense = np.empty((6, 15))
    expand_rows(X, dense)
    sizes = np.diff(rows.indptr)
    n_entries = int(((sizes + 1) * (sizes + 2) // 2).sum())
    data, indices = np.empty(n_entries), np.empty(n_entries, np.int64)
    indptr = np.empty(7, np.int64)
    expand_csr(rows.data, rows.indices, rows.indptr, 4, data, indices, indptr)
    out = sparse.csr_array((data, indices, indptr), (6, 15))
    np.testing.assert_array_equal(out.toarray(), dense)
    assert out.has_canonical_format


def test_a_last_column_of_ones(rng):
    X, rows = rows_of(rng)
    data, indices = np.empty(rows.nnz + 6), np.empty(rows.nnz + 6, np.int64)
    indptr = np.empty(7, np.int64)
    append_one(rows.data, rows.indices, rows.indptr, 4, data, indices, indptr)
    out = sparse.csr_array((data, indices, indptr), (6, 5))
    np.testing.assert_array_equal(out.toarray(), np.c_[X, np.ones(6)])
