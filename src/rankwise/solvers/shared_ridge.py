"""Ridge regression of many outputs on the same rows: one factorisation for all of them.

Minimises ``sum_i w_i |t_i - [1 x_i] B|^2 + alpha |B|^2``: the constant is penalised like every
other coefficient, as in [1]_. ``B = (Z'WZ + alpha I)^-1 Z'WT`` for ``Z = [1 X]``; where there are
fewer rows than columns the system of the rows is solved, ``B = Z'V (V Z Z' V + alpha I)^-1 V T``
with ``V = W^(1/2)``.

Complexity: O(p^3 + p^2 M) beside the statistics, for p columns and M outputs; each further
penalty O(p^2 M) once :class:`RidgePath` has the eigenvectors.

References
----------
.. [1] Tai & Lin, "Multilabel classification with principal label space transformation", Neural
   Computation 24 (2012).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import scipy.linalg
from scipy import sparse

from rankwise.solvers.label_statistics import feature_gram, feature_products
from rankwise.typing import Float64Array, Matrix


@dataclass(frozen=True, eq=False)
class RidgePath:
    """A symmetric matrix A in its eigenvectors: ``(A + alpha I)^-1 rhs`` for any alpha >= 0.

    Attributes
    ----------
    values : ndarray of shape (p,)
    vectors : ndarray of shape (p, p)
    """

    values: Float64Array
    vectors: Float64Array

    @classmethod
    def of(cls, matrix: Float64Array) -> RidgePath:
        """Decompose."""
        values, vectors = np.linalg.eigh(matrix)
        return cls(np.maximum(values, 0.0), vectors)

    def solve(self, alpha: float, rhs: Float64Array) -> Float64Array:
        """Solution of least norm; directions that rounding cannot tell from zero are left out."""
        shifted = self.values + alpha
        noise = len(shifted) * np.finfo(np.float64).eps * self.values.max(initial=0.0)
        inverse = np.divide(1.0, shifted, out=np.zeros_like(shifted), where=shifted > noise)
        return self.vectors @ (inverse[:, None] * (self.vectors.T @ rhs))


class Solve(Protocol):
    """Solves a factorised system for right-hand sides of shape (p, M)."""

    def __call__(self, rhs: Float64Array) -> Float64Array: ...


def factorised(matrix: Float64Array, alpha: float) -> Solve:
    """Solver of ``matrix + alpha I``: by Cholesky, by eigenvectors where that breaks down."""
    penalised = matrix.copy()
    penalised.flat[:: len(matrix) + 1] += alpha
    diagonal = penalised.diagonal().copy()
    try:
        factor = scipy.linalg.cho_factor(penalised, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return partial(RidgePath.of(matrix).solve, alpha)
    # What a column adds to those before it, as a share of its own length: rounding or more?
    if (np.diag(factor[0]) ** 2 <= len(matrix) * np.finfo(np.float64).eps * diagonal).any():
        return partial(RidgePath.of(matrix).solve, alpha)
    return lambda rhs: scipy.linalg.cho_solve(factor, rhs, check_finite=False)


class SharedRidge:
    """Factorised rows, ready for outputs.

    Parameters
    ----------
    X : ndarray or CSR of shape (N, p)
    weight : ndarray of shape (N,), float64, or None
    alpha : float >= 0
    """

    def __init__(self, X: Matrix, weight: Float64Array | None, alpha: float) -> None:
        self._wide = X.shape[0] <= X.shape[1]
        self.X, self.weight = X, weight
        if self._wide:
            self.X = X = X.astype(np.float64, copy=False)
            self._root = np.ones(X.shape[0]) if weight is None else np.sqrt(weight)
            products: Any = X @ X.T
            products = products.toarray() if sparse.issparse(products) else products
            self._matrix = self._root[:, None] * (1 + products) * self._root
        else:
            self._matrix = feature_gram(X, weight)
        self._solve = factorised(self._matrix, alpha)

    def coefficients(self, targets: Matrix) -> Float64Array:
        """B of shape (p + 1, M), the constant's row first; targets CSR or dense (N, M)."""
        if not self._wide:
            return self._solve(feature_products(self.X, targets, self.weight))
        targets = targets.toarray() if sparse.issparse(targets) else targets
        dual = self._root[:, None] * self._solve(self._root[:, None] * targets)
        return np.vstack([dual.sum(axis=0), np.asarray(self.X.T @ dual)])

    def code_coefficients(
        self, Y: Matrix, code: Float64Array, offset: Float64Array
    ) -> Float64Array:
        """:meth:`coefficients` of ``(Y - 1 o') P'``, with p x K numbers held in between."""
        if self._wide:
            return self.coefficients(Y @ code.T - code @ offset)
        cross = feature_products(self.X, Y, self.weight)
        cross -= np.outer(self._matrix[:, 0], offset)
        return self._solve(cross @ code.T)

    def fitted_products(self, targets: Matrix, shift: Float64Array) -> Float64Array:
        """``T'W Z (Z'WZ + alpha I)^-1 Z'W T``, shape (M, M), for targets T less a shift (M,)."""
        if not self._wide:
            cross = feature_products(self.X, targets, self.weight)
            cross -= np.outer(self._matrix[:, 0], shift)
            return cross.T @ self._solve(cross)
        targets = targets.toarray() if sparse.issparse(targets) else targets
        scaled = self._root[:, None] * (targets - shift)
        return scaled.T @ (self._matrix @ self._solve(scaled))
