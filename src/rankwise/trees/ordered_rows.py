"""Rows of a matrix in a given order, read block by block instead of copied."""

from __future__ import annotations

from dataclasses import dataclass

from rankwise.trees.tree_ensemble import TreeEnsemble
from rankwise.typing import Float64Array, FloatArray, Int64Array, Matrix, densify


@dataclass(frozen=True, eq=False)
class OrderedRows:
    """Some rows of a matrix, in any order."""

    X: Matrix  # ndarray or CSR, float32 or float64; NaN where missing
    order: Int64Array | None = None  # row numbers; None: all rows in their original order

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.X.shape[0] if self.order is None else len(self.order)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.X.shape[1]

    def block(self, rows: slice) -> FloatArray:
        """Some of the rows, dense."""
        return densify(self.X[rows if self.order is None else self.order[rows]])

    def scores(self, trees: TreeEnsemble, n_threads: int | None = None) -> Float64Array:
        """Scores of the rows under trees, see :meth:`TreeEnsemble.score`."""
        scores = trees.score(self.X, n_threads)
        return scores if self.order is None else scores[self.order]
