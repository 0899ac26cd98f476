"""Products of the columns of each row, ``(x.z + 1)^2 = phi(x).phi(z)``.

Columns: ``x_i^2`` and ``sqrt(2) x_i x_j`` for i <= j, row by row of the upper triangle, then
``sqrt(2) x_i``, then 1.
"""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import njit

ROOT = np.sqrt(2.0)


@njit
def expand_rows(X, out):
    """``out`` (n, (d + 1)(d + 2) / 2) becomes the products of X (n, d)."""
    d = X.shape[1]
    for row in range(X.shape[0]):
        column = 0
        for i in range(d):
            scaled = ROOT * X[row, i]
            out[row, column] = X[row, i] * X[row, i]
            for j in range(i + 1, d):
                out[row, column + j - i] = scaled * X[row, j]
            # Row i of the triangle has d - i products.
            column += d - i
        for i in range(d):
            out[row, column + i] = ROOT * X[row, i]
        out[row, column + d] = 1.0


@njit
def expand_csr(data, indices, indptr, d, out_data, out_indices, out_indptr):
    """Like :func:`expand_rows`, for CSR rows with ascending columns.

    A row of s entries gets (s + 1)(s + 2) / 2 entries.
    """
    entry = 0
    pairs = d * (d + 1) // 2
    out_indptr[0] = 0
    for row in range(len(indptr) - 1):
        for a in range(indptr[row], indptr[row + 1]):
            i = np.int64(indices[a])
            scaled = ROOT * data[a]
            # Where row i of the triangle begins, less i, since its first column is i.
            start = i * d - i * (i - 1) // 2 - i
            out_data[entry], out_indices[entry] = data[a] * data[a], start + i
            entry += 1
            for b in range(a + 1, indptr[row + 1]):
                out_data[entry], out_indices[entry] = scaled * data[b], start + indices[b]
                entry += 1
        for a in range(indptr[row], indptr[row + 1]):
            out_data[entry], out_indices[entry] = ROOT * data[a], pairs + indices[a]
            entry += 1
        out_data[entry], out_indices[entry] = 1.0, pairs + d
        entry += 1
        out_indptr[row + 1] = entry


@njit
def append_one(data, indices, indptr, d, out_data, out_indices, out_indptr):
    """CSR rows of d columns with a 1 as the last column."""
    out_indptr[0] = 0
    for row in range(len(indptr) - 1):
        for a in range(indptr[row], indptr[row + 1]):
            out_data[a + row], out_indices[a + row] = data[a], indices[a]
        # Each row before this one has grown by one entry.
        end = indptr[row + 1] + row
        out_data[end], out_indices[end] = 1.0, d
        out_indptr[row + 1] = end + 1
