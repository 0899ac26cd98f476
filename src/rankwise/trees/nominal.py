"""Nominal columns: codes of the rows, and the best subset split of every node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.kernels.tree_splits import UNSEEN, search_subsets
from rankwise.runtime.threads import thread_map
from rankwise.typing import Float64Array, FloatArray, Int64Array


@dataclass(frozen=True, eq=False)
class NominalColumns:
    """Columns whose values have no order."""

    features: Int64Array  # (n_nominal,): column numbers
    n_categories: Int64Array  # (n_nominal,)
    codes: NDArray[Any]  # (n_nominal, n_samples), uint8 or int32; ``n_categories`` if missing

    @property
    def width(self) -> int:
        """Largest number of categories plus 1 for missing values; 0 if there are no columns."""
        return int(self.n_categories.max(initial=-1)) + 1

    def search(
        self,
        rows: NDArray[np.uint64],
        y: NDArray[Any],
        weight: Float64Array,
        segments: Int64Array,
        ties: Float64Array,
        criterion: tuple[Any, ...],
        allowed: NDArray[np.bool_] | None,
    ) -> tuple[Float64Array, NDArray[np.uint8]]:
        """Best subset split of each node by each column: gains (0: no split) and marks.

        Gains are (n_nominal, n_nodes), marks (n_nominal, n_nodes, width) as in
        :class:`rankwise.trees.frontier.Splits`.
        """
        gains = np.zeros((len(self.features), len(segments)))
        marks = np.zeros((len(self.features), len(segments), self.width), dtype=np.uint8)

        def search(line: int) -> None:
            # Nodes that did not draw this column keep a gain of 0.
            nodes = slice(None) if allowed is None else allowed[:, self.features[line]]
            subsets = np.empty((len(segments[nodes]), self.n_categories[line] + 1), dtype=np.uint8)
            best = np.empty(len(subsets))
            search_subsets(
                rows, self.codes[line], y, weight, segments[nodes], ties[nodes], criterion,
                subsets, best,
            )  # fmt: skip
            gains[line, nodes] = best
            marks[line, nodes, : subsets.shape[1]] = subsets

        thread_map(search, range(len(self.features)))
        return gains, marks

    def winners(
        self, feature: Int64Array, marks: NDArray[np.uint8]
    ) -> tuple[NDArray[np.bool_], NDArray[np.uint8], Int64Array]:
        """Select the results of :meth:`search` for the column that splits each node.

        Returns whether the column is nominal (n_nodes,), its marks (n_nodes, width) and the side of
        missing values (n_nodes,): 1 left, 0 right, -1 if the node has none. Marks and sides of
        columns that are not nominal are undefined.
        """
        if len(self.features) == 0:
            n = len(feature)
            return np.zeros(n, bool), np.zeros((n, 0), np.uint8), np.full(n, -1)
        line, nodes = self.lines(feature), np.arange(len(feature))
        # The code after the last category is that of missing values.
        side = marks[line, nodes, self.n_categories[line]].astype(np.int64)
        is_nominal = self.features[line] == feature
        return is_nominal, marks[line, nodes], np.where(side == UNSEEN, -1, side)

    def lines(self, feature: Int64Array) -> Int64Array:
        """Row number in ``codes`` of each column; arbitrary for columns that are not nominal."""
        return np.searchsorted(self.features, feature).clip(0, len(self.features) - 1)


def nominal_columns(X: FloatArray, n_categories: Int64Array) -> NominalColumns:
    """Encode the columns of ``X`` that have categories; NaN is missing."""
    features = np.flatnonzero(n_categories)
    sizes = n_categories[features]
    # 255 categories and the code of missing values fit into a byte.
    dtype = np.uint8 if sizes.max(initial=0) < 256 else np.int32
    columns = X[:, features].T
    assert np.all((columns >= 0) & (columns < sizes[:, None]) | np.isnan(columns))
    codes = np.where(np.isnan(columns), sizes[:, None], columns).astype(dtype)
    return NominalColumns(features, sizes, codes)
