"""The whole regularisation path from one eigendecomposition.

With ``G = Phi' L Phi = V diag(lambda) V'`` and ``g = Phi' L y`` the minimiser of
``(y - Phi b)' L (y - Phi b) + |b|^2 / C`` is ``b(C) = V (lambda + 1/C)^-1 V' g``: O(p^2) for each
further C.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.solvers.gram import Gram
from rankwise.typing import Float64Array

# A system whose eigenvalue and penalty are both below this share of the largest eigenvalue is
# singular to rounding: such a direction is dropped.
RELATIVE_CUT = 1e-12


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
