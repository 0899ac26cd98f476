"""The regularisation path from the N x N dual system, for fewer rows than columns.

With ``Omega = Phi Phi'`` and ``L = R'R`` the minimiser of
``(y - Phi b)' L (y - Phi b) + |b|^2 / C`` is ``b = Phi' R' (R Omega R' + I/C)^-1 R y``: a symmetric
positive semidefinite system, whose eigendecomposition gives every C.

Complexity: O(N^2 p + N^3) time, memory for N^2 numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.groups import QueryGroups
from rankwise.losses.laplacian import LaplacianFactor
from rankwise.solvers.least_squares.eigen_path import check_semidefinite, inverse_shifted
from rankwise.solvers.least_squares.gram import BlockMap, Problem
from rankwise.typing import Float64Array, Int64Array, densify


@dataclass(frozen=True, eq=False)
class DualDecomposition:
    """Eigendecomposition of ``R Omega R' = U diag(values) U'``; rows in group order.

    ``null`` is ``R' U U' R y`` of the eigenvectors that ``values`` leaves out. They affect no score
    of a training row.
    """

    values: Float64Array  # (r,): eigenvalues above rounding
    combination: Float64Array  # (N, r): R' U
    projected_target: Float64Array  # (r,): U' R y
    null: Float64Array  # (N,)

    def weights(self, C: Float64Array) -> Float64Array:
        """``R' (R Omega R' + I/C)^-1 R y`` in the span of Omega, for every C, shape (N, n_C)."""
        return self.combination @ (self.projected_target * inverse_shifted(self.values, C)).T

    def all_weights(self, C: Float64Array) -> Float64Array:
        """``R' (R Omega R' + I/C)^-1 R y`` for every C (0 times infinity is 0), (N, n_C)."""
        # Without a penalty any multiple of the null part fits as well; none of it has the least
        # norm.
        finite = np.where(np.isinf(C), 0.0, C)
        return self.weights(C) + self.null[:, None] * finite

    @property
    def projected_rhs(self) -> Float64Array:
        """``V' Phi' L y`` in the primal eigenbasis V, shape (r,)."""
        return np.sqrt(self.values) * self.projected_target


@dataclass(frozen=True, eq=False)
class DualPath:
    """A decomposed dual system with the columns of the primal problem.

    ``rows``, (N, p), is ``Phi``: column ``v_j`` of the primal eigenbasis is
    ``Phi' (R' u_j) / sqrt(lambda_j)``.
    """

    dual: DualDecomposition
    rows: Any

    def coef(self, C: Float64Array) -> Float64Array:
        """Solutions for every C, shape (n_C, p)."""
        return np.asarray(self.rows.T @ self.dual.weights(C)).T

    @property
    def values(self) -> Float64Array:
        """Eigenvalues of ``Phi' L Phi`` that are not 0, shape (r,)."""
        return self.dual.values

    @property
    def projected_rhs(self) -> Float64Array:
        """``V' Phi' L y``, shape (r,)."""
        return self.dual.projected_rhs

    @property
    def vectors(self) -> Float64Array:
        """Eigenvectors of ``Phi' L Phi``, shape (p, r)."""
        return np.asarray(self.rows.T @ (self.dual.combination / np.sqrt(self.values)))


def dual_path(problem: Problem, phi: BlockMap) -> DualPath:
    """Decompose the dual system of ``problem``."""
    order = problem.groups.rows(np.arange(problem.groups.n_queries))
    columns = phi.rows(problem.X[order])
    omega = columns @ columns.T
    omega = densify(omega)
    return DualPath(decompose_dual(problem, omega.astype(np.float64), order), columns)


def limit_cancellation(diagonal: Float64Array, factor: LaplacianFactor) -> float:
    """Bound on the rounding error in eigenvalues of ``R Omega R'`` if all rows of a query are
    equal.

    ``diagonal`` is the diagonal of Omega before the rows are centred.
    """
    largest = float(np.abs(diagonal).max(initial=0.0))
    scale = float(factor.row_scale.max(initial=0.0))
    return len(diagonal) * float(np.finfo(np.float64).eps) * largest * scale * scale


def decompose_dual(problem: Problem, omega: Float64Array, order: Int64Array) -> DualDecomposition:
    """Decompose ``R Omega R'``. ``omega`` is in the group order ``order`` and is overwritten.

    Raises NotSemidefiniteError if an eigenvalue is negative beyond rounding.
    """
    groups = QueryGroups(problem.groups.indptr, None, problem.groups.ids)
    factor = problem.factor(order, groups)
    noise = limit_cancellation(omega.diagonal(), factor)
    half = factor.apply(omega, 0, groups.n_queries)
    # R works on rows: the transpose of R Omega is Omega R', as Omega is symmetric.
    system = factor.apply(np.ascontiguousarray(half.T), 0, groups.n_queries)
    target = factor.apply(problem.y[order][:, None], 0, groups.n_queries)[:, 0]
    values, vectors = np.linalg.eigh(system)
    check_semidefinite(values, noise)
    largest = float(values.max(initial=0.0))
    cut = len(values) * np.finfo(np.float64).eps * largest
    # If rounding could explain even the largest eigenvalue, all of them are rounding.
    null = values <= (largest if largest <= noise else cut)
    projected = vectors.T @ target
    unfelt = factor.apply_transposed(vectors[:, null] @ projected[null][:, None])[:, 0]
    vectors = vectors[:, ~null]
    combination = factor.apply_transposed(vectors)
    return DualDecomposition(values[~null], combination, projected[~null], unfelt)
