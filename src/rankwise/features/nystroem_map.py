"""Nyström features: whitened kernel values with landmarks; inner products approximate a kernel.

For landmarks Z with ``K_zz = R'R``, the rows ``k(x, Z) R^-1`` have the inner products
``k(x, Z) K_zz^-1 k(Z, x')``. These equal the kernel between landmarks and are its best
approximation from the landmarks elsewhere. R comes from a pivoted Cholesky decomposition, which
omits landmarks that depend on others. Since R is triangular, multiplying by its inverse costs half
as much as a full matrix product [1]_.

A conditionally positive definite kernel is replaced by ``k(x, z) - k(x, o) - k(o, z) + k(o, o)``
with the first landmark as origin ``o``. That kernel is positive definite and gives the same score
differences.

References
----------
.. [1] Williams & Seeger, "Using the Nyström method to speed up kernel machines", NIPS 13 (2001).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import get_lapack_funcs, solve_triangular

from rankwise.features.kernel import Kernel
from rankwise.structure.rules import Instance, MatrixRows, Rule, floats, require
from rankwise.typing import Float64Array, FloatArray, Int64Array, Matrix, is_sparse

# Rows mapped at a time: their kernel values stay in a core's caches until they are multiplied.
SLICE_ROWS = 256
# Asymmetry and negative eigenvalues below this share of the largest value are rounding.
_ROUNDING = 1e-8
# Landmarks whose independent part is below this many rounding errors are omitted. On smooth
# kernels, a larger threshold omitted too much, and a smaller one added noise in float32.
_INDEPENDENT = 10
# Columns of the triangular factor multiplied at a time.
_BLOCK_COLUMNS = 256


@dataclass(frozen=True, eq=False)
class NystroemMap:
    """Landmarks and the transformation of kernel values into features, callable on blocks of rows.

    Attributes
    ----------
    kernel : Kernel
    landmarks : ndarray or CSR of shape (n_landmarks, n_features)
    whitening : ndarray of shape (n_landmarks, n_features_out)
        Zero below the diagonal that ends in the bottom right entry.
    offset : ndarray of shape (n_features_out,)
        The features are ``K(X, landmarks) @ whitening + offset``.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "kernel": Instance((Kernel,)),
        "landmarks": MatrixRows("n_landmarks", "n_features_in_"),
        "whitening": floats("n_landmarks", "n_outputs"),
        "offset": floats("n_outputs"),
    }

    kernel: Kernel
    landmarks: Matrix
    whitening: FloatArray
    offset: FloatArray

    @property
    def n_features_out(self) -> int:
        """Number of features: the rank of the kernel between the landmarks."""
        return self.whitening.shape[1]

    def astype(self, dtype: Any) -> NystroemMap:
        """The same map in another precision."""
        return NystroemMap(
            self.kernel,
            self.landmarks.astype(dtype, copy=False),
            self.whitening.astype(dtype, copy=False),
            self.offset.astype(dtype, copy=False),
        )

    def __call__(self, X: Matrix) -> FloatArray:
        """Features of shape (n_rows, n_features_out), in the precision of the map.

        Everything but BLAS runs on the calling thread. A callable kernel is called once per slice
        of rows.
        """
        out = np.empty((X.shape[0], self.n_features_out), dtype=self.whitening.dtype)
        for rows, values in self._values(X):
            self._whiten(values, out[rows])
        return out

    def rows(self, X: Matrix) -> Float64Array:
        """All features in float64, for systems with one equation per row."""
        return self(X).astype(np.float64, copy=False)

    def scores(self, X: Matrix, weights: Float64Array) -> Float64Array:
        """Compute ``self(X) @ weights`` without the features; O(n_landmarks) per row and column.

        Parameters
        ----------
        X : ndarray or CSR of shape (n_rows, n_features)
        weights : ndarray of shape (n_features_out, k)

        Returns
        -------
        ndarray of shape (n_rows, k), float64
            Kernel values have the precision of the map; sums are in float64.
        """
        of_values = self.whitening.astype(np.float64) @ weights
        out = np.empty((X.shape[0], weights.shape[1]))
        for rows, values in self._values(X):
            np.matmul(values.astype(np.float64, copy=False), of_values, out=out[rows])
        out += self.offset.astype(np.float64) @ weights
        return out

    def _check_structure(self) -> None:
        n, n_outputs = self.whitening.shape
        require(n >= n_outputs, "whitening", "not have more columns than rows", (n, n_outputs))
        require(self.kernel.name != "precomputed", "kernel.name", "be one of rows", "precomputed")

    def _values(self, X: Matrix) -> Iterator[tuple[slice, FloatArray]]:
        """Yield slices of rows with their kernel values; the next slice overwrites the values."""
        dtype, (n, m) = self.whitening.dtype, (X.shape[0], self.landmarks.shape[0])
        values = np.empty((min(SLICE_ROWS, n), m), dtype=dtype)
        evaluate = self.kernel.against(self.landmarks, dtype, sparse_rows=is_sparse(X))
        for lo in range(0, n, SLICE_ROWS):
            rows = slice(lo, min(lo + SLICE_ROWS, n))
            block = values[: rows.stop - lo]
            evaluate(X[rows], block)
            yield rows, block

    def _whiten(self, values: FloatArray, out: FloatArray) -> None:
        n_values, n_out = self.whitening.shape
        for first in range(0, n_out, _BLOCK_COLUMNS):
            last = min(first + _BLOCK_COLUMNS, n_out)
            used = n_values - n_out + last  # these columns are zero below
            np.matmul(values[:, :used], self.whitening[:used, first:last], out=out[:, first:last])
        out += self.offset


def nystroem_map(kernel: Kernel, landmarks: Matrix, dtype: Any = np.float64) -> NystroemMap:
    """Build the Nyström map for the landmarks.

    Parameters
    ----------
    kernel : Kernel
        (Conditionally) positive definite, or of unknown definiteness but positive semidefinite
        between the landmarks; not precomputed.
    landmarks : ndarray or CSR of shape (n_landmarks, n_features)
    dtype : dtype
        float32 or float64. Landmarks that depend on others up to rounding in this type are omitted.

    Raises
    ------
    ValueError
        If the kernel is precomputed, not symmetric or not positive semidefinite.

    Notes
    -----
    O(n_landmarks^3). Mapping n rows takes O(n n_landmarks (n_features + n_landmarks)).
    """
    if kernel.name == "precomputed":
        raise ValueError(
            "Nyström features need a kernel function of rows, got kernel='precomputed', whose "
            "values are already complete. Use the exact kernel."
        )
    anchored = kernel.definite == "conditional"
    if anchored:
        kernel = replace(kernel, delta=0.0)  # would cancel
    exact = landmarks.astype(np.float64)
    K = kernel(exact, exact).astype(np.float64, copy=False)
    origin_values = K[0] - K[0, 0] if anchored else np.zeros(len(K))
    if anchored:
        K = K - K[:, :1] - origin_values
    kept, inverse = _inverse_root(K, float(np.finfo(dtype).eps))
    whitening, offset = inverse, np.zeros(len(kept))
    if anchored:
        whitening = np.vstack([-inverse.sum(axis=0), inverse])
        offset = -origin_values[kept] @ inverse
        kept = np.concatenate([[0], kept])
    return NystroemMap(kernel, landmarks[kept], np.ascontiguousarray(whitening), offset).astype(
        dtype
    )


def _inverse_root(K: Float64Array, eps: float) -> tuple[Int64Array, Float64Array]:
    """Independent rows, at least one, and ``R^-1`` for their factor ``R'R = K``."""
    scale = float(np.abs(K).max())
    if np.abs(K - K.T).max() > _ROUNDING * scale:
        raise ValueError("Nyström features need a symmetric kernel, got K(x, z) != K(z, x).")
    if scale == 0.0:
        return np.zeros(1, dtype=np.int64), np.zeros((1, 1))
    cut = _INDEPENDENT * eps * float(K.diagonal().max())
    (cholesky_with_pivots,) = get_lapack_funcs(("pstrf",), (K,))
    factor, pivots, rank, _ = cholesky_with_pivots(K, tol=max(cut, 0.0))
    pivots, factor = pivots.astype(np.int64) - 1, np.triu(factor[:rank])
    residual = K[np.ix_(pivots, pivots)] - factor.T @ factor
    if np.abs(residual).max() > 10 * cut + _ROUNDING * scale:
        raise ValueError(
            "Nyström features need a positive semidefinite kernel, got one with negative "
            "eigenvalues between the landmarks. Use an exact method that takes any kernel."
        )
    return pivots[:rank], solve_triangular(factor[:, :rank], np.eye(rank))
