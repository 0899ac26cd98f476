"""The whole regularisation path from one decomposition.

With ``G = Phi' L Phi = V diag(lambda) V'`` and ``g = Phi' L y`` the minimiser of
``(y - Phi b)' L (y - Phi b) + |b|^2 / C`` is ``b(C) = V (lambda + 1/C)^-1 V' g``: O(p^2) for each
further C. If nothing is singular, the first half of the eigendecomposition is enough: with
``G = Q T Q'`` and T tridiagonal, ``b(C) = Q (T + 1/C)^-1 Q' g``, in a third of the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import eigh_tridiagonal, eigvalsh_tridiagonal, get_lapack_funcs, solveh_banded

from rankwise.typing import Float64Array

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


class SquareSystem(Protocol):
    """A symmetric positive semidefinite matrix and a right-hand side."""

    @property
    def matrix(self) -> Float64Array: ...

    @property
    def rhs(self) -> Float64Array: ...


@dataclass(frozen=True, eq=False)
class Equations:
    """The minimum that a path needs: ``matrix`` of shape (p, p) and ``rhs`` of shape (p,)."""

    matrix: Float64Array
    rhs: Float64Array


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
    equations: SquareSystem,
    C: Float64Array,
    *,
    overwrite: bool = False,
    checked: bool = False,
    noise: float = 0.0,
) -> Float64Array:
    """Solutions of ``(matrix + I/C) b = rhs`` for every C, shape (n_C, p); O(p^3).

    With ``overwrite``, the matrix may be overwritten. With ``checked``, the smallest eigenvalue is
    checked even if one Cholesky factorisation would suffice. ``noise`` is the size of eigenvalues
    that may be rounding errors of larger numbers that cancelled. An eigenvalue that is negative
    beyond rounding raises NotSemidefiniteError.
    """
    p = len(equations.rhs)
    alpha = 1.0 / np.asarray(C, dtype=np.float64)
    if p < SMALLEST_TRIDIAGONAL:
        return eigen_path(equations, noise).coef(C)
    if len(alpha) == 1 and not checked:
        solution = _cholesky(equations, alpha[0])
        if solution is not None:
            return solution[None, :]
    sytrd, sytrd_lwork = get_lapack_funcs(("sytrd", "sytrd_lwork"), dtype=np.float64)
    # The transpose of a symmetric matrix is itself in the order that LAPACK works on.
    reduced, diagonal, off, tau, info = sytrd(
        equations.matrix.T, lower=1, lwork=int(sytrd_lwork(p)[0]), overwrite_a=overwrite
    )
    assert info == 0
    smallest = eigvalsh_tridiagonal(diagonal, off, select="i", select_range=(0, 0))[0]
    largest = eigvalsh_tridiagonal(diagonal, off, select="i", select_range=(p - 1, p - 1))[0]
    check_semidefinite(np.array([smallest, largest]), noise)
    if largest <= noise:
        return inverse_shifted(np.zeros(1), C) * equations.rhs
    cut = RELATIVE_CUT * largest
    if smallest <= cut and alpha.min() <= max(cut, -2 * smallest):
        # Singular: some directions must be dropped.
        values, vectors = _tridiagonal_eigh(diagonal, off, reduced, tau)
        return EigenPath(values, vectors, vectors.T @ equations.rhs).coef(C)
    reflectors = reduced[1:, :-1]
    bands = np.zeros((2, p))
    bands[1, :-1] = off
    rhs = equations.rhs[:, None].copy()
    rhs[1:] = _apply_reflectors(reflectors, tau, rhs[1:], "T")
    solutions = np.empty((p, len(alpha)), order="F")
    for k, a in enumerate(alpha):
        bands[0] = diagonal + a
        solutions[:, k] = solveh_banded(bands, rhs[:, 0], lower=True, check_finite=False)
    solutions[1:] = _apply_reflectors(reflectors, tau, solutions[1:], "N")
    return solutions.T


def _cholesky(equations: SquareSystem, alpha: float) -> Float64Array | None:
    """The solution for one penalty; None if the system is numerically singular."""
    matrix = equations.matrix
    if alpha <= RELATIVE_CUT * np.trace(matrix):  # the trace bounds the largest eigenvalue
        return None
    shifted = matrix.copy()
    shifted[np.diag_indices_from(shifted)] += alpha
    potrf, potrs = get_lapack_funcs(("potrf", "potrs"), dtype=np.float64)
    factor, info = potrf(shifted.T, lower=1, overwrite_a=True, clean=False)
    if info != 0:
        return None
    solution, info = potrs(factor, equations.rhs, lower=1)
    assert info == 0
    return solution


def _tridiagonal_eigh(
    diagonal: Float64Array, off: Float64Array, reduced: Float64Array, tau: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """Non-negative eigenvalues, and eigenvectors, of an already reduced matrix."""
    values, vectors = eigh_tridiagonal(diagonal, off)
    vectors = np.asfortranarray(vectors)
    vectors[1:] = _apply_reflectors(reduced[1:, :-1], tau, vectors[1:], "N")
    return np.maximum(values, 0.0), vectors


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


def eigen_path(equations: SquareSystem, noise: float = 0.0) -> EigenPath:
    """Decompose the matrix; O(p^3). If no eigenvalue exceeds ``noise``, all become zero.

    Raises NotSemidefiniteError if an eigenvalue is negative beyond rounding.
    """
    values, vectors = np.linalg.eigh(equations.matrix)
    check_semidefinite(values, noise)
    if values.max(initial=0.0) <= noise:
        values = np.zeros_like(values)
    return EigenPath(np.maximum(values, 0.0), vectors, vectors.T @ equations.rhs)


def inverse_shifted(values: Float64Array, C: Float64Array) -> Float64Array:
    """``1 / (values + 1/C)``, zero if numerically singular; shape (n_C, r)."""
    alpha = 1.0 / np.asarray(C, dtype=np.float64)[:, None]
    shifted = values + alpha
    cut = RELATIVE_CUT * values.max(initial=0.0)
    regular = (values > cut) | (alpha > cut)
    return np.divide(1.0, shifted, out=np.zeros_like(shifted), where=regular)
