"""Squared Euclidean and L1 distances from blocks of rows to fixed rows, exact for near rows.

Distances between dense rows are sums over feature differences (:mod:`rankwise.kernels.distances`).
If both sides are CSR, squared distances come from norms and products, are recomputed from the
differences for near rows, and L1 distances are scikit-learn's. If only one side is CSR, it is made
dense.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.kernels.distances import absolute_block, fill_squared_block, refine_near
from rankwise.typing import FloatArray, Matrix, canonicalise, densify, is_sparse

# Writes the distances of the rows into the array.
Distances = Callable[[Matrix, FloatArray], None]

# Rows of Z compared at a time: a panel and a row of output stay in a core's caches.
_PANEL_ROWS = 256
# Squared distances below this share of the squared norms have lost three digits to cancellation.
_NEAR = 1e-3


def build_squared_distances(Z: Matrix, dtype: Any, *, sparse_rows: bool) -> Distances:
    """Function that writes ``|x - z|^2`` for every row x of a block and every row z of Z.

    ``dtype`` is the precision of the differences between dense rows, float32 or float64; CSR rows
    use float64. ``sparse_rows`` says whether the blocks are CSR. O(n_x n_z n_features) for a block
    of n_x rows.
    """
    if sparse_rows and is_sparse(Z):
        return _sparse_squares(Z)
    return _dense(Z, dtype, fill_squared_block)


def absolute_distances_to(Z: Matrix, dtype: Any, *, sparse_rows: bool) -> Distances:
    """Like :func:`build_squared_distances` for ``sum_k |x_k - z_k|``."""
    if sparse_rows and is_sparse(Z):
        fixed = _canonical(Z)

        def write(X: Matrix, out: FloatArray) -> None:
            from sklearn.metrics.pairwise import manhattan_distances  # slow to import

            out[:] = manhattan_distances(_canonical(X), fixed)

        return write
    return _dense(Z, dtype, absolute_block)


def _dense(Z: Matrix, dtype: Any, compare: Callable[..., None]) -> Distances:
    n_columns = Z.shape[1]
    Z = _align_rows(Z, dtype)
    panels = [
        (first, np.ascontiguousarray(Z[first : first + _PANEL_ROWS].T))
        for first in range(0, len(Z), _PANEL_ROWS)
    ]

    def write(X: Matrix, out: FloatArray) -> None:
        if X.shape[1] != n_columns:
            raise ValueError(
                f"X must have {n_columns} columns, as the rows of the fit have, got {X.shape[1]}."
            )
        rows = _align_rows(X, dtype)
        for first, panel in panels:
            compare(rows, panel, first, out)

    return write


def _align_rows(X: Matrix, dtype: Any) -> FloatArray:
    """Dense rows, padded with zero columns to a multiple of four."""
    n, d = X.shape
    rows = np.zeros((n, -(-d // 4) * 4), dtype=dtype)
    rows[:, :d] = densify(X)
    return rows


def _sparse_squares(Z: Matrix) -> Distances:
    known = _canonical(Z)
    norms, transposed = _squared_norms(known), known.T.tocsr()

    def write(X: Matrix, out: FloatArray) -> None:
        X = _canonical(X)
        x_norms = _squared_norms(X)
        squares = (X @ transposed).toarray()
        squares *= -2
        squares += x_norms[:, None] + norms
        refine_near(squares, _arrays(X), x_norms, _arrays(known), norms, _NEAR)
        out[:] = squares

    return write


def _canonical(X: Matrix) -> Any:
    """Float64 CSR copy with sorted, unique indices."""
    return canonicalise(sparse.csr_array(X, dtype=np.float64))


def _squared_norms(X: Any) -> FloatArray:
    return np.asarray(X.multiply(X).sum(axis=1)).ravel()


def _arrays(X: Any) -> tuple[np.ndarray[Any, Any], ...]:
    return X.data, X.indices, X.indptr
