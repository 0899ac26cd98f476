"""The whole regularisation path from one decomposition.

With ``G = Phi' L Phi = V diag(lambda) V'`` and ``g = Phi' L y`` the minimiser of
``(y - Phi b)' L (y - Phi b) + |b|^2 / C`` is ``b(C) = V (lambda + 1/C)^-1 V' g``: O(p^2) for each
further C. Where nothing is singular the first half of the eigendecomposition is enough: with
``G = Q T Q'`` and T tridiagonal, ``b(C) = Q (T + 1/C)^-1 Q' g``, a third of the time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal, get_lapack_funcs, solveh_banded

from rankwise.solvers.gram import Gram
from rankwise.typing import Float64Array

# A system whose eigenvalue and penalty are both below this share of the largest eigenvalue is
# singular to rounding: such a direction is dropped.
RELATIVE_CUT = 1e-12
# Below this size a whole eigendecomposition costs nothing.
SMALLEST_TRIDIAGONAL = 100


@dataclass(frozen=True, eq=False)
class EigenPath:
    """Eigendecomposition of a Gram matrix with its right-hand side.

    Attributes
    ----------
    values : ndarray of shape (p,)
        Eigenvalues, ascending, not negative.
    vectors : ndarray of shape (p, p)
    projected_rhs : ndarray of shape (p,)
        ``V' g``.
    """

    values: Float64Array
    vectors: Float64Array
    projected_rhs: Float64Array

    def coef(self, C: Float64Array) -> Float64Array:
        """Solutions for every C (``np.inf``: least norm least squares), shape (n_C, p)."""
        return (self.projected_rhs * inverse_shifted(self.values, C)) @ self.vectors.T


def path_coef(gram: Gram, C: Float64Array) -> Float64Array:
    """Solutions for every C, shape (n_C, p); O(p^3)."""
    p = len(gram.rhs)
    alpha = 1.0 / np.asarray(C, dtype=np.float64)
    if p < SMALLEST_TRIDIAGONAL:
        return eigen_path(gram).coef(C)
    sytrd, sytrd_lwork = get_lapack_funcs(("sytrd", "sytrd_lwork"), dtype=np.float64)
    reduced, diagonal, off, tau, info = sytrd(gram.matrix, lower=1, lwork=int(sytrd_lwork(p)[0]))
    assert info == 0
    smallest = eigvalsh_tridiagonal(diagonal, off, select="i", select_range=(0, 0))[0]
    largest = eigvalsh_tridiagonal(diagonal, off, select="i", select_range=(p - 1, p - 1))[0]
    cut = RELATIVE_CUT * largest
    if smallest <= cut and alpha.min() <= max(cut, -2 * smallest):
        return eigen_path(gram).coef(C)  # singular: some directions must be dropped
    reflectors = reduced[1:, :-1]
    bands = np.zeros((2, p))
    bands[1, :-1] = off
    rhs = gram.rhs[:, None].copy()
    rhs[1:] = _apply_reflectors(reflectors, tau, rhs[1:], "T")
    solutions = np.empty((p, len(alpha)), order="F")
    for k, a in enumerate(alpha):
        bands[0] = diagonal + a
        solutions[:, k] = solveh_banded(bands, rhs[:, 0], lower=True, check_finite=False)
    solutions[1:] = _apply_reflectors(reflectors, tau, solutions[1:], "N")
    return solutions.T


def _apply_reflectors(
    reflectors: Float64Array, tau: Float64Array, columns: Float64Array, trans: str
) -> Float64Array:
    """The orthogonal factor of the reduction (or its transpose) times ``columns``."""
    lwork = 64 * max(1, columns.shape[1])
    (ormqr,) = get_lapack_funcs(("ormqr",), dtype=np.float64)
    product, _, info = ormqr("L", trans, reflectors, tau, columns, lwork)
    assert info == 0
    return product


def eigen_path(gram: Gram) -> EigenPath:
    """Decompose ``gram``; O(p^3)."""
    values, vectors = np.linalg.eigh(gram.matrix)
    return EigenPath(np.maximum(values, 0.0), vectors, vectors.T @ gram.rhs)


def inverse_shifted(values: Float64Array, C: Float64Array) -> Float64Array:
    """``1 / (values + 1/C)``, zero where that is singular to rounding; shape (n_C, r)."""
    alpha = 1.0 / np.asarray(C, dtype=np.float64)[:, None]
    shifted = values + alpha
    cut = RELATIVE_CUT * values.max(initial=0.0)
    regular = (values > cut) | (alpha > cut)
    return np.divide(1.0, shifted, out=np.zeros_like(shifted), where=regular)
