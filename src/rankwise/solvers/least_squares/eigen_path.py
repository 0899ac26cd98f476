"""Whole regularisation paths from one decomposition: of columns, of rows, of kernels.

With ``G = Phi' L Phi = V diag(lambda) V'`` and ``g = Phi' L y`` the minimiser of
``(y - Phi b)' L (y - Phi b) + |b|^2 / C`` is ``b(C) = V (lambda + 1/C)^-1 V' g``: O(p^2) for each
further C. If nothing is singular, the first half of the eigendecomposition is enough: with
``G = Q T Q'`` and T tridiagonal, ``b(C) = Q (T + 1/C)^-1 Q' g``, in a third of the time.

If there are fewer rows than columns, the N x N dual system is the smaller one. With
``Omega = Phi Phi'`` and ``L = R'R`` the same minimiser is
``b = Phi' R' (R Omega R' + I/C)^-1 R y``: a symmetric positive semidefinite system, whose
eigendecomposition gives every C.

Complexity of the dual: O(N^2 p + N^3) time, memory for N^2 numbers.

Only score differences within a query count, and dual values sum to zero within a query. A kernel
matrix may therefore be centred by query on both sides. Scores (up to constants), norms and
solutions stay the same, and conditionally definite kernels become definite.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import eigh_tridiagonal, eigvalsh_tridiagonal, get_lapack_funcs, solveh_banded

from rankwise.groups import QueryGroups
from rankwise.losses.squared_loss import LaplacianFactor, Problem
from rankwise.typing import Float64Array, Int64Array, Matrix, densify

# A system whose eigenvalue and penalty are both below this share of the largest eigenvalue is
# singular to rounding: such a direction is dropped.
RELATIVE_CUT = 1e-12
# Below this size the cost of a full eigendecomposition is negligible.
SMALLEST_TRIDIAGONAL = 100


# Eigenvalues more negative than this share of the largest one are not rounding errors.
NEGATIVE_CUT = 1e-8
# Eigenvalues below this have no significant digits left.
UNDERFLOW = 1e-300


class NotSemidefiniteError(ValueError):
    """A matrix that should be positive semidefinite is not."""


@dataclass(frozen=True, eq=False)
class EigenPath:
    """Eigendecomposition of a Gram matrix with its right-hand side."""

    values: Float64Array  # (p,): ascending, >= 0
    vectors: Float64Array  # (p, p)
    projected_rhs: Float64Array  # (p,): V' g

    def coef(self, C: Float64Array) -> Float64Array:
        """Solutions for every C (``np.inf``: minimum-norm least squares), shape (n_C, p)."""
        return (self.projected_rhs * inverse_shifted(self.values, C)) @ self.vectors.T


def path_coef(
    matrix: Float64Array,
    rhs: Float64Array,
    C: Float64Array,
    *,
    overwrite: bool = False,
    checked: bool = False,
    noise: float = 0.0,
) -> Float64Array:
    """Solutions of ``(matrix + I/C) b = rhs`` for every C, shape (n_C, p); O(p^3).

    ``matrix``, (p, p), is symmetric and positive semidefinite; ``rhs`` is (p,). With ``overwrite``,
    the matrix may be overwritten. With ``checked``, the smallest eigenvalue is checked even if one
    Cholesky factorisation would suffice. ``noise`` is the size of eigenvalues that may be rounding
    errors of larger numbers that cancelled. An eigenvalue that is negative beyond rounding raises
    NotSemidefiniteError.
    """
    p = len(rhs)
    alpha = 1.0 / np.asarray(C, dtype=np.float64)
    if p < SMALLEST_TRIDIAGONAL:
        return eigen_path(matrix, rhs, noise).coef(C)
    if len(alpha) == 1 and not checked:
        solution = _cholesky(matrix, rhs, alpha[0])
        if solution is not None:
            return solution[None, :]
    sytrd, sytrd_lwork = get_lapack_funcs(("sytrd", "sytrd_lwork"), dtype=np.float64)
    # The transpose of a symmetric matrix is itself in the order that LAPACK works on.
    reduced, diagonal, off, tau, info = sytrd(
        matrix.T, lower=1, lwork=int(sytrd_lwork(p)[0]), overwrite_a=overwrite
    )
    assert info == 0
    smallest = eigvalsh_tridiagonal(diagonal, off, select="i", select_range=(0, 0))[0]
    largest = eigvalsh_tridiagonal(diagonal, off, select="i", select_range=(p - 1, p - 1))[0]
    check_semidefinite(np.array([smallest, largest]), noise)
    if largest <= noise:
        return inverse_shifted(np.zeros(1), C) * rhs
    cut = RELATIVE_CUT * largest
    if smallest <= cut and alpha.min() <= max(cut, -2 * smallest):
        # Singular: some directions must be dropped.
        values, vectors = eigh_tridiagonal(diagonal, off)
        vectors = np.asfortranarray(vectors)
        vectors[1:] = _apply_reflectors(reduced[1:, :-1], tau, vectors[1:], "N")
        return EigenPath(np.maximum(values, 0.0), vectors, vectors.T @ rhs).coef(C)
    reflectors = reduced[1:, :-1]
    bands = np.zeros((2, p))
    bands[1, :-1] = off
    turned = rhs[:, None].copy()
    turned[1:] = _apply_reflectors(reflectors, tau, turned[1:], "T")
    solutions = np.empty((p, len(alpha)), order="F")
    for k, a in enumerate(alpha):
        bands[0] = diagonal + a
        solutions[:, k] = solveh_banded(bands, turned[:, 0], lower=True, check_finite=False)
    solutions[1:] = _apply_reflectors(reflectors, tau, solutions[1:], "N")
    return solutions.T


def _cholesky(matrix: Float64Array, rhs: Float64Array, alpha: float) -> Float64Array | None:
    """The solution for one penalty; None if the system is numerically singular."""
    if alpha <= RELATIVE_CUT * np.trace(matrix):  # the trace bounds the largest eigenvalue
        return None
    shifted = matrix.copy()
    shifted[np.diag_indices_from(shifted)] += alpha
    potrf, potrs = get_lapack_funcs(("potrf", "potrs"), dtype=np.float64)
    factor, info = potrf(shifted.T, lower=1, overwrite_a=True, clean=False)
    if info != 0:
        return None
    solution, info = potrs(factor, rhs, lower=1)
    assert info == 0
    return solution


def check_semidefinite(values: Float64Array, noise: float = 0.0) -> None:
    """Raise if ascending eigenvalues are negative beyond rounding.

    ``noise`` is the size of rounding errors left by larger numbers that cancelled in the matrix.
    """
    rounding = max(NEGATIVE_CUT * max(float(values.max(initial=0.0)), 0.0), noise, UNDERFLOW)
    if len(values) and values[0] < -rounding:
        raise NotSemidefiniteError(
            f"The system has eigenvalues from {values[0]:.3g} to {values[-1]:.3g}."
        )


def _apply_reflectors(
    reflectors: Float64Array, tau: Float64Array, columns: Float64Array, trans: str
) -> Float64Array:
    """The orthogonal factor of the reduction (or its transpose) times ``columns``."""
    lwork = 64 * max(1, columns.shape[1])
    (ormqr,) = get_lapack_funcs(("ormqr",), dtype=np.float64)
    product, _, info = ormqr("L", trans, reflectors, tau, columns, lwork)
    assert info == 0
    return product


def eigen_path(matrix: Float64Array, rhs: Float64Array, noise: float = 0.0) -> EigenPath:
    """Decompose the matrix; O(p^3). If no eigenvalue exceeds ``noise``, all become zero.

    Raises NotSemidefiniteError if an eigenvalue is negative beyond rounding.
    """
    values, vectors = np.linalg.eigh(matrix)
    check_semidefinite(values, noise)
    if values.max(initial=0.0) <= noise:
        values = np.zeros_like(values)
    return EigenPath(np.maximum(values, 0.0), vectors, vectors.T @ rhs)


def inverse_shifted(values: Float64Array, C: Float64Array) -> Float64Array:
    """``1 / (values + 1/C)``, zero if numerically singular; shape (n_C, r)."""
    alpha = 1.0 / np.asarray(C, dtype=np.float64)[:, None]
    shifted = values + alpha
    cut = RELATIVE_CUT * values.max(initial=0.0)
    regular = (values > cut) | (alpha > cut)
    return np.divide(1.0, shifted, out=np.zeros_like(shifted), where=regular)


@dataclass(frozen=True, eq=False)
class DualPath:
    """Eigendecomposition of ``R Omega R' = U diag(values) U'``; rows in group order.

    Column ``v_j`` of the primal eigenbasis, of ``Phi' L Phi``, is
    ``Phi' (R' u_j) / sqrt(lambda_j)``. ``null`` is ``R' U U' R y`` of the eigenvectors that
    ``values`` leaves out. They affect no score of a training row.
    """

    values: Float64Array  # (r,): eigenvalues above rounding
    combination: Float64Array  # (N, r): R' U
    projected_target: Float64Array  # (r,): U' R y
    null: Float64Array  # (N,)
    rows: Any = None  # (N, p): Phi; None if only Omega is known, as of a kernel

    def weights(self, C: Float64Array) -> Float64Array:
        """``R' (R Omega R' + I/C)^-1 R y`` in the span of Omega, for every C, shape (N, n_C)."""
        return self.combination @ (self.projected_target * inverse_shifted(self.values, C)).T

    def all_weights(self, C: Float64Array) -> Float64Array:
        """``R' (R Omega R' + I/C)^-1 R y`` for every C (0 times infinity is 0), (N, n_C)."""
        # Without a penalty any multiple of the null part fits as well; none of it has the least
        # norm.
        finite = np.where(np.isinf(C), 0.0, C)
        return self.weights(C) + self.null[:, None] * finite

    def coef(self, C: Float64Array) -> Float64Array:
        """Solutions for every C, shape (n_C, p)."""
        return np.asarray(self.rows.T @ self.weights(C)).T

    @property
    def projected_rhs(self) -> Float64Array:
        """``V' Phi' L y`` in the primal eigenbasis V, shape (r,)."""
        return np.sqrt(self.values) * self.projected_target

    @property
    def vectors(self) -> Float64Array:
        """Eigenvectors of ``Phi' L Phi``, shape (p, r)."""
        return np.asarray(self.rows.T @ (self.combination / np.sqrt(self.values)))


def dual_path(problem: Problem, columns_of: Callable[[Matrix], Any]) -> DualPath:
    """Decompose the dual system of ``problem``; the function gives the columns of rows."""
    order = problem.groups.rows(np.arange(problem.groups.n_queries))
    columns = columns_of(problem.X[order])
    omega = columns @ columns.T
    omega = densify(omega)
    return replace(decompose_dual(problem, omega.astype(np.float64), order), rows=columns)


def limit_cancellation(diagonal: Float64Array, factor: LaplacianFactor) -> float:
    """Bound on the rounding error in eigenvalues of ``R Omega R'`` if all rows of a query are
    equal.

    ``diagonal`` is the diagonal of Omega before the rows are centred.
    """
    largest = float(np.abs(diagonal).max(initial=0.0))
    scale = float(factor.row_scale.max(initial=0.0))
    return len(diagonal) * float(np.finfo(np.float64).eps) * largest * scale * scale


def decompose_dual(problem: Problem, omega: Float64Array, order: Int64Array) -> DualPath:
    """Decompose ``R Omega R'``. ``omega`` is in the group order ``order`` and is overwritten.

    Raises NotSemidefiniteError if an eigenvalue is negative beyond rounding.
    """
    groups = QueryGroups(problem.groups.indptr, None, ids=problem.groups.ids)
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
    return DualPath(values[~null], combination, projected[~null], unfelt)


_potrf: Any = get_lapack_funcs("potrf", dtype=np.float64)


def centre_kernel(
    K: Float64Array, indptr: Int64Array, rows: Int64Array | None = None
) -> Float64Array:
    """A kernel matrix, centred by query on both sides; K is not changed.

    ``indptr``, (n_queries + 1,), bounds the queries of consecutive ``rows``. These are the rows and
    columns of K to select, in group order; None takes all, unchanged.
    """
    K = np.array(K if rows is None else K[np.ix_(rows, rows)], dtype=np.float64, order="C")
    for lo, hi in itertools.pairwise(indptr.tolist()):
        if hi > lo:
            K[lo:hi] -= K[lo:hi].mean(axis=0)
    for lo, hi in itertools.pairwise(indptr.tolist()):
        if hi > lo:
            K[:, lo:hi] -= K[:, lo:hi].mean(axis=1)[:, None]
    return K


def is_semidefinite(K: Float64Array) -> bool:
    """Whether no eigenvalue of a symmetric matrix is below zero by more than ``NEGATIVE_CUT`` of
    its largest entry; one Cholesky factorisation."""
    shift = NEGATIVE_CUT * float(np.abs(K).max(initial=0.0)) + np.finfo(np.float64).tiny
    _, info = _potrf((K + shift * np.eye(len(K))).T, lower=1, overwrite_a=1)
    return info == 0
