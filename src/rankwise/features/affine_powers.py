"""Explicit features of the kernels ``x.z``, ``x.z + 1`` and ``(x.z + 1)^2``, block by block.

Composition: feature map of the online ordinal learners.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.features.kernel import Kernel
from rankwise.kernels.quadratic import append_one, expand_csr, expand_rows
from rankwise.typing import Float64Array, Matrix, SparseMatrix, canonicalise, is_sparse


@dataclass(frozen=True)
class AffinePowers:
    """Feature map: the columns, an optional constant, and for degree 2 all pairwise products.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.features.affine_powers import AffinePowers
    >>> phi = AffinePowers(2, degree=2)
    >>> rows = phi(np.array([[1.0, 2.0], [3.0, 0.5]]))
    >>> rows.shape, round(float(rows[0] @ rows[1]), 9)
    ((2, 6), 25.0)
    """

    n_features: int
    degree: int = 1  # 1, or 2 for ``x_i^2``, ``sqrt(2) x_i x_j`` (i < j), ``sqrt(2) x_i`` and 1
    # Whether degree 1 includes a column of ones. Degree 2 always includes one.
    constant: bool = False

    @property
    def n_features_out(self) -> int:
        """Number of columns."""
        if self.degree == 2:
            return (self.n_features + 1) * (self.n_features + 2) // 2
        return self.n_features + self.constant

    @property
    def kernel(self) -> Kernel:
        """Kernel whose values are the inner products of these features."""
        if self.degree == 1 and not self.constant:
            return Kernel("linear")
        return Kernel("polynomial", gamma=1.0, degree=self.degree, coef0=1.0)

    def __call__(self, X: Matrix) -> Matrix:
        """Features in float64: C-contiguous, or CSR with sorted indices if X is CSR.

        O(n_rows n_features_out). For degree 2, a sparse row of s entries takes O(s^2).
        A product that overflows float64 raises ValueError.
        """
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"X must have {self.n_features} columns, as the rows of the fit have, got "
                f"{X.shape[1]}."
            )
        if is_sparse(X):
            features = self._multiply_csr(X)
            given, values = X.data, features.data
        else:
            given = X
            features = values = self._multiply_rows(np.ascontiguousarray(X, dtype=np.float64))
        if self.degree == 2 and not np.isfinite(values).all():
            raise ValueError(
                "X must hold numbers whose products are finite with degree=2, got an entry of "
                f"{abs(given).max():.3g}. Scale the columns."
            )
        return features

    def _multiply_rows(self, X: Float64Array) -> Float64Array:
        if self.degree == 1 and not self.constant:
            return X
        out = np.empty((X.shape[0], self.n_features_out))
        if self.degree == 2:
            expand_rows(X, out)
        else:
            out[:, :-1] = X
            out[:, -1] = 1.0
        return out

    def _multiply_csr(self, X: SparseMatrix) -> SparseMatrix:
        # Shares the arrays if they are float64.
        rows: Any = canonicalise(sparse.csr_array(X, dtype=np.float64))
        if self.degree == 1 and not self.constant:
            return rows
        sizes = np.diff(rows.indptr).astype(np.int64)
        if self.degree == 2:
            expand, sizes = expand_csr, (sizes + 1) * (sizes + 2) // 2
        else:
            expand, sizes = append_one, sizes + 1
        data, indices = np.empty(sizes.sum()), np.empty(sizes.sum(), dtype=np.int64)
        indptr = np.empty(rows.shape[0] + 1, dtype=np.int64)
        expand(rows.data, rows.indices, rows.indptr, rows.shape[1], data, indices, indptr)
        return sparse.csr_array((data, indices, indptr), (rows.shape[0], self.n_features_out))
