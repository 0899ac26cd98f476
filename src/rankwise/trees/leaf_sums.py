"""Sums over the leaves that rows reach in many trees, such as the class shares of a forest.

Scoring tree by tree costs a call for each tree; here one call walks through all of them. Leaves are
added in the order of the trees, so the sums have the bits of a loop over :meth:`Tree.apply`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.model_width import check_columns_read
from rankwise.kernels.tree_paths import add_leaf_rows
from rankwise.runtime.jit import numba_is_imported
from rankwise.runtime.threads import thread_map
from rankwise.trees.tree import Tree
from rankwise.typing import Float64Array, FloatArray, Int64Array

# Rows times trees up to which NumPy is done before Numba is imported, and one thread is faster.
FEW_CELLS = 100_000
CHUNK_ROWS = 1024


@dataclass(frozen=True, eq=False)
class LeafSums:
    """Trees one after the other, with a row of values for every node.

    Arrays are (n_nodes,) unless noted.
    """

    trees: tuple[Tree, ...]
    starts: Int64Array  # (n_trees,): first node of each tree
    # (n_nodes, 3): feature (-1: a leaf), left and right child, numbered over all trees
    nodes: NDArray[np.int32]
    threshold: Float64Array
    missing_left: NDArray[np.bool_]
    nominal: NDArray[np.bool_]
    category_indptr: Int64Array  # (n_nodes + 1,)
    categories: NDArray[np.int32]
    values: Float64Array  # (n_nodes, n_values)

    @classmethod
    def of(cls, trees: Sequence[Tree], values: Callable[[Tree], Float64Array]) -> LeafSums:
        """Join at least one tree; ``values`` takes a tree and returns (n_nodes, n_values)."""
        sizes = np.array([tree.n_nodes for tree in trees])
        starts = np.cumsum(sizes) - sizes
        nodes = [
            np.stack([tree.feature, tree.left + start, tree.right + start], axis=1)
            for tree, start in zip(trees, starts.tolist(), strict=True)
        ]
        lengths = np.concatenate([np.diff(tree.category_indptr) for tree in trees])
        return cls(
            tuple(trees),
            starts,
            np.concatenate(nodes).astype(np.int32),
            np.concatenate([tree.threshold for tree in trees]),
            np.concatenate([tree.missing_left for tree in trees]),
            lengths > 0,
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            np.concatenate([tree.categories for tree in trees]),
            np.concatenate([values(tree) for tree in trees]),
        )

    def add(self, X: FloatArray, out: Float64Array) -> None:
        """Add the values of the leaves of every row to ``out`` (n_samples, n_values), in place.

        X is (n_samples, n_features), NaN where missing; nominal columns hold codes.
        """
        check_columns_read(self.nodes[:, 0], X.shape[1])
        is_small = X.shape[0] * len(self.starts) <= FEW_CELLS
        if is_small and not numba_is_imported():
            self._add_to_few(X, out)
            return

        def add(start: int) -> None:
            rows = slice(start, start + CHUNK_ROWS)
            add_leaf_rows(
                np.ascontiguousarray(X[rows]), self.starts, self.nodes, self.threshold,
                self.missing_left, self.category_indptr, self.categories, self.nominal,
                self.values, out[rows],
            )  # fmt: skip

        thread_map(add, range(0, X.shape[0], CHUNK_ROWS), 1 if is_small else None)

    def _add_to_few(self, X: FloatArray, out: Float64Array) -> None:
        """:meth:`add` without compiled code, which takes longer to load than few rows to go."""
        n_trees, n_rows = len(self.starts), len(X)
        node, row = np.repeat(self.starts, n_rows), np.tile(np.arange(n_rows), n_trees)
        moving = np.arange(len(node))
        while len(moving := moving[self.nodes[node[moving], 0] >= 0]):
            at = node[moving]
            values = X[row[moving], self.nodes[at, 0]]
            goes_left = values <= self.threshold[at]
            for place in np.flatnonzero(self.nominal[at]).tolist():
                known = self.categories[slice(*self.category_indptr[at[place] : at[place] + 2])]
                goes_left[place] = (known == values[place]).any()
            # After the comparisons, which are False for NaN.
            missing = np.isnan(values)
            goes_left[missing] = self.missing_left[at[missing]]
            node[moving] = self.nodes[at, np.where(goes_left, 1, 2)]
        for leaves in node.reshape(n_trees, n_rows):
            out += self.values[leaves]
