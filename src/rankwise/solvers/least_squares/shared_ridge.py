"""Ridge regression of many outputs on the same rows: one factorisation for all of them.

Minimises ``sum_i w_i |t_i - [1 x_i] B|^2 + alpha |B|^2``: the constant is penalised like every
other coefficient, as in [1]_. ``B = (Z'WZ + alpha I)^-1 Z'WT`` for ``Z = [1 X]``; if there are
fewer rows than columns, the system of the rows is solved, ``B = Z'V (V Z Z' V + alpha I)^-1 V T``
with ``V = W^(1/2)``.

If there are more rows than columns and dense X has a column far from zero, its means mu are
subtracted. An offset then loses no precision. With ``A = X'WX + alpha I`` of the centred rows, s
the sum of the weights and t the means of the targets, minimising over the constant leaves

    ``(A + gamma mu mu') B = X'WT + gamma mu t'``,  ``gamma = alpha s / (s + alpha)``,

so ``B = D + v (t - D'mu)' / (1 + mu'v)`` for ``D = A^-1 X'WT`` and ``v = gamma A^-1 mu``; as alpha
vanishes v becomes the part of mu in the null space of A. Sparse rows are not centred.

Complexity: O(p^3 + p^2 M) beside the statistics, for p columns and M outputs; each further
penalty O(p^2 M) once :class:`RidgePath` has the eigenvectors.

References
----------
.. [1] Tai & Lin, "Multilabel classification with principal label space transformation", Neural
   Computation 24 (2012).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rankwise.solvers.labels.label_statistics import compute_centred_gram, feature_products
from rankwise.typing import Float64Array, Matrix, SparseMatrix, densify


@dataclass(frozen=True, eq=False)
class RidgePath:
    """Eigendecomposition of a symmetric matrix A: ``(A + alpha I)^-1 rhs`` for any alpha >= 0."""

    values: Float64Array  # (p,)
    vectors: Float64Array  # (p, p)

    @classmethod
    def of(cls, matrix: Float64Array) -> RidgePath:
        """Decompose."""
        values, vectors = np.linalg.eigh(matrix)
        return cls(np.maximum(values, 0.0), vectors)

    def solve(self, alpha: float, rhs: Float64Array) -> Float64Array:
        """Minimum-norm solution; numerically zero directions are left out."""
        shifted = self.values + alpha
        inverse = np.divide(
            1.0, shifted, out=np.zeros_like(shifted), where=self._exceeds_noise(alpha)
        )
        return self.vectors @ (inverse[:, None] * (self.vectors.T @ rhs))

    def left_out(self, alpha: float, vector: Float64Array) -> Float64Array:
        """The part of a vector in the directions that :meth:`solve` leaves out."""
        basis = self.vectors[:, ~self._exceeds_noise(alpha)]
        return basis @ (basis.T @ vector)

    def _exceeds_noise(self, alpha: float) -> NDArray[np.bool_]:
        noise = len(self.values) * np.finfo(np.float64).eps * self.values.max(initial=0.0)
        return self.values + alpha > noise


class Solve(Protocol):
    """Solves a factorised system for right-hand sides of shape (p, M)."""

    def __call__(self, rhs: Float64Array) -> Float64Array: ...


def factorised(matrix: Float64Array, alpha: float) -> Solve:
    """Solver of ``matrix + alpha I``: by Cholesky, or by eigenvectors if that breaks down."""
    return _factorise(matrix, alpha) or partial(RidgePath.of(matrix).solve, alpha)


def build_centred_solver(gram: Float64Array, centre: Float64Array | None, alpha: float) -> Solve:
    """Solver for ``Z'WT``; it and the solution are in coordinates ``Z = [1, X - centre]``.

    ``gram`` is ``Z'WZ``, (p + 1, p + 1). ``centre`` is (p,); None means zeros, which gives the
    plain solver.
    """
    if centre is None:
        return factorised(gram, alpha)
    weight = gram[0, 0]
    rest = gram[0, 1:] / weight  # of the means, which the centre may miss
    mean, share = centre + rest, weight / (weight + alpha)
    matrix = gram[1:, 1:] - np.outer(rest, gram[0, 1:])
    solve = _factorise(matrix, alpha)
    # v of the docstring, whose gamma is alpha * share. In directions without data A is alpha, and
    # gamma / alpha is `share`, at alpha = 0 too.
    pull = np.zeros_like(mean)
    if solve is None:
        path = RidgePath.of(matrix)
        solve, pull = partial(path.solve, alpha), share * path.left_out(alpha, mean)
    pull += alpha * share * solve(mean[:, None])[:, 0]
    pull /= 1.0 + mean @ pull

    def solution(rhs: Float64Array) -> Float64Array:
        targets = rhs[0] / weight
        slopes = solve(rhs[1:] - np.outer(rest, rhs[0]))
        slopes += np.outer(pull, targets - mean @ slopes)
        at_mean = targets - alpha / (weight + alpha) * (targets - mean @ slopes)
        return np.vstack([at_mean - rest @ slopes, slopes])

    return solution


def build_centred_path(
    gram: Float64Array, centre: Float64Array | None
) -> Callable[[float, Float64Array], Float64Array]:
    """``solve(alpha, rhs)`` of :func:`build_centred_solver`; one decomposition if none is far."""
    if centre is None:
        return RidgePath.of(gram).solve
    return lambda alpha, rhs: build_centred_solver(gram, centre, alpha)(rhs)


def shift_from_centre(coefficients: Float64Array, centre: Float64Array | None) -> Float64Array:
    """Coefficients of ``[1 X]`` from those of ``[1, X - centre]``, in place."""
    if centre is not None:
        coefficients[0] -= centre @ coefficients[1:]
    return coefficients


def _factorise(matrix: Float64Array, alpha: float) -> Solve | None:
    """Solver of ``matrix + alpha I``, or None if the solution would be noise."""
    penalised = matrix.copy()
    penalised.flat[:: len(matrix) + 1] += alpha
    diagonal = penalised.diagonal().copy()
    try:
        factor = scipy.linalg.cho_factor(penalised, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    # Part of a column that is independent of those before it, as a share of its own length.
    if (np.diag(factor[0]) ** 2 <= len(matrix) * np.finfo(np.float64).eps * diagonal).any():
        return None
    return lambda rhs: scipy.linalg.cho_solve(factor, rhs, check_finite=False)


class SharedRidge:
    """Factorised rows that solve for any outputs: X (N, p), weights (N,), alpha >= 0."""

    def __init__(self, X: Matrix, weight: Float64Array | None, alpha: float) -> None:
        # The smaller of the two systems.
        self._wide = X.shape[0] <= X.shape[1]
        self.X, self.weight = X, weight
        if self._wide:
            self.X = X = X.astype(np.float64, copy=False)
            self._root = np.ones(X.shape[0]) if weight is None else np.sqrt(weight)
            products: Any = X @ X.T
            products = densify(products)
            self._matrix = self._root[:, None] * (1 + products) * self._root
            self._solve = factorised(self._matrix, alpha)
        else:
            self._matrix, self._centre = compute_centred_gram(X, weight)
            self._solve = build_centred_solver(self._matrix, self._centre, alpha)

    def coefficients(self, targets: Matrix) -> Float64Array:
        """B of shape (p + 1, M), the constant's row first; targets CSR or dense (N, M)."""
        if not self._wide:
            return shift_from_centre(self._solve(self._products(targets)), self._centre)
        targets = densify(targets)
        dual = self._root[:, None] * self._solve(self._root[:, None] * targets)
        return np.vstack([dual.sum(axis=0), np.asarray(self.X.T @ dual)])

    def code_coefficients(
        self, Y: SparseMatrix, code: Float64Array, offset: Float64Array
    ) -> Float64Array:
        """:meth:`coefficients` of ``(Y - 1 o') P'``, holding p x K numbers in between."""
        if self._wide:
            return self.coefficients(Y @ code.T - code @ offset)
        cross = self._products(Y)
        # The first column of Z'WZ is Z'W 1: subtracting offsets needs no other pass.
        cross -= np.outer(self._matrix[:, 0], offset)
        return shift_from_centre(self._solve(cross @ code.T), self._centre)

    def fitted_products(self, targets: Matrix, shift: Float64Array) -> Float64Array:
        """``T'W Z (Z'WZ + alpha I)^-1 Z'W T``, shape (M, M), for targets T minus a shift (M,)."""
        if not self._wide:
            cross = self._products(targets)
            cross -= np.outer(self._matrix[:, 0], shift)
            return cross.T @ self._solve(cross)
        targets = densify(targets)
        scaled = self._root[:, None] * (targets - shift)
        return scaled.T @ (self._matrix @ self._solve(scaled))

    def _products(self, targets: Matrix) -> Float64Array:
        return feature_products(self.X, targets, self.weight, self._centre)
