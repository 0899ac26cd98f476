"""Degree-2 columns: the features, their squares and their pairwise products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.typing import Float64Array, FloatArray, Matrix, densify


@dataclass(frozen=True)
class ProductsMap:
    """``x_1, ..., x_d, x_1 x_1, x_1 x_2, ..., x_d x_d``, callable on blocks of rows."""

    n_features: int  # d

    @property
    def n_features_out(self) -> int:
        """``d (d + 3) / 2``."""
        return self.n_features * (self.n_features + 3) // 2

    def astype(self, dtype: Any) -> ProductsMap:
        """Return the map unchanged: the columns have the precision of the rows."""
        return self

    def __call__(self, X: Matrix) -> FloatArray:
        """Dense columns for a block of rows, shape (n_rows, n_features_out)."""
        X = densify(X)
        out = np.empty((X.shape[0], self.n_features_out), dtype=X.dtype)
        out[:, : self.n_features] = X
        place = self.n_features
        for feature in range(self.n_features):
            width = self.n_features - feature
            np.multiply(X[:, feature:], X[:, [feature]], out=out[:, place : place + width])
            place += width
        return out

    def rows(self, X: Matrix) -> Float64Array:
        """Columns in float64."""
        return self(X.astype(np.float64, copy=False))
