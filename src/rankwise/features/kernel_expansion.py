"""Scores as weighted sums of kernel values with known rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.features.kernel import SLICE_ROWS, Kernel
from rankwise.typing import Float64Array, Int64Array, Matrix


@dataclass(frozen=True, eq=False)
class KernelExpansion:
    """Sums ``sum_i a_i K(x, x_i)`` over known rows."""

    kernel: Kernel
    X: Matrix  # known rows (n_known, n_features), float64; ignored for a precomputed kernel
    # (n_known,): columns of the known rows in the values of a precomputed kernel
    columns: Int64Array

    def scores(self, X: Matrix, coef: Float64Array) -> Float64Array:
        """Sums (n_rows, n_columns) for every row and column of coefficients (n_known, n_columns).

        For a precomputed kernel, X holds its values with all rows of the fit.
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
