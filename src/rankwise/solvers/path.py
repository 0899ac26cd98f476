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

# Eigenvalues below this share of the largest are rounding noise of a singular Gram matrix.
RELATIVE_CUT = 1e-12


@dataclass(frozen=True, eq=False)
class EigenPath:
    """Eigendecomposition of a Gram matrix with its right-hand side.

    Attributes
    ----------
    values : ndarray of shape (r,)
        Eigenvalues above the cut, ascending.
    vectors : ndarray of shape (p, r)
    projected_rhs : ndarray of shape (r,)
        ``V' g``.
    """

    values: Float64Array
    vectors: Float64Array
    projected_rhs: Float64Array

    def coef(self, C: Float64Array) -> Float64Array:
        """Solutions for every C (``np.inf``: least norm least squares), shape (n_C, p)."""
        alpha = 1.0 / np.asarray(C, dtype=np.float64)
        return (self.projected_rhs / (self.values + alpha[:, None])) @ self.vectors.T


def eigen_path(gram: Gram) -> EigenPath:
    """Decompose ``gram``; eigenvalues below ``RELATIVE_CUT`` times the largest are dropped.

    O(p^3).
    """
    values, vectors = np.linalg.eigh(gram.matrix)
    kept = values > RELATIVE_CUT * max(values[-1], 0.0) if len(values) else values > 0
    values, vectors = values[kept], vectors[:, kept]
    return EigenPath(values, vectors, vectors.T @ gram.rhs)
