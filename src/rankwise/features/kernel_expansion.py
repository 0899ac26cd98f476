"""Scores as weighted sums of kernel values with known rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.features.kernel import SLICE_ROWS, Kernel
from rankwise.typing import Float64Array, Int64Array, Matrix


@dataclass(frozen=True, eq=False)
class KernelExpansion:
    """Sums ``sum_i a_i K(x, x_i)`` over known rows.

    Attributes
    ----------
    kernel : Kernel
    X : ndarray or CSR of shape (n_known, n_features), float64
        Known rows; ignored for a precomputed kernel.
    columns : ndarray of shape (n_known,), int64
        Columns of the known rows in the values of a precomputed kernel.
    """

    kernel: Kernel
    X: Matrix
    columns: Int64Array

    def scores(self, X: Matrix, coef: Float64Array) -> Float64Array:
        """Sums for every row and column of coefficients, float64.

        Parameters
        ----------
        X : ndarray or CSR of shape (n_rows, n_features)
            For a precomputed kernel, its values with all rows of the fit.
        coef : ndarray of shape (n_known, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_columns), float64

        Notes
        -----
        O(n_rows n_known n_features), less if some known rows have no coefficient. A callable kernel
        is called once.
        """
        used = np.flatnonzero(coef.any(axis=1))
        X, coef = X.astype(np.float64, copy=False), coef[used]
        if self.kernel.name == "precomputed":
            return np.asarray(X[:, self.columns[used]] @ coef)
        known = self.X[used]
        size = SLICE_ROWS if self.kernel.function is None else max(1, X.shape[0])
        parts = [
            np.asarray(self.kernel(X[first : first + size], known)) @ coef
            for first in range(0, X.shape[0], size)
        ]
        return np.concatenate(parts)
