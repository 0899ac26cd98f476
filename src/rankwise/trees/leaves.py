"""Predictions of leaves from their class weights, and their sums over many trees.

With class weights ``n_j`` in a leaf, the rules predict

- median: the smallest ``k`` that minimises ``sum_j n_j |k - j|``;
- mode: the smallest ``k`` that maximises ``n_k``;
- mean: the number of thresholds 0.5, 1.5, ... that the mean class number reaches;
- probabilities: the smallest ``k`` that minimises ``sum_j n_j d(k, j)`` for the tree's distance d.

Scoring a forest tree by tree costs a call for each tree; here one call walks through all of them.
Leaves are added in the order of the trees, so the sums have the bits of a loop over
:meth:`Tree.apply`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.rows import check_columns_read
from rankwise.kernels.ensemble_scores import add_leaf_rows
from rankwise.losses.class_costs import BY_CLASS, cost_matrix
from rankwise.runtime.jit import convert_layout, numba_is_imported
from rankwise.runtime.threads import thread_map
from rankwise.trees.node_splits import check_distances
from rankwise.trees.tree import Tree
from rankwise.typing import ArrayLike, Float64Array, FloatArray, Int64Array

LeafRule = Literal["median", "mode", "mean", "probabilities"]
LEAF_RULES = ("median", "mode", "mean", "probabilities")


def distance_matrix(
    rank_distance: str | ArrayLike | Callable[[int, int], float] | None, n_classes: int
) -> Float64Array:
    """Matrix (n_classes, n_classes) of distances between ranks, from "absolute" (None) on.

    ``rank_distance`` is "absolute", ``|i - j|``; "squared"; "zero_one"; an array of the distances
    of ranks i and j, from 0 on; or a function, which is called with every two of them. Distances
    must be finite, symmetric, 0 on the diagonal, and not fall as ranks move apart.
    """
    if rank_distance is None:
        return cost_matrix("absolute", n_classes)
    if isinstance(rank_distance, str):
        if rank_distance not in BY_CLASS:
            raise ValueError(
                f"rank_distance must be one of {', '.join(BY_CLASS)}, an array or a callable, "
                f"got {rank_distance!r}."
            )
        return cost_matrix(rank_distance, n_classes)
    values: Any = rank_distance
    if callable(rank_distance):
        values = [[rank_distance(i, j) for j in range(n_classes)] for i in range(n_classes)]
    return check_distances(values, n_classes, "rank_distance")


def mean_ranks(weights: Float64Array) -> Float64Array:
    """Mean class number of every row of class weights, shape (n,)."""
    return (weights * np.arange(weights.shape[1])).sum(axis=1) / weights.sum(axis=1)


def leaf_margins(weights: Float64Array, rule: LeafRule, distance: Float64Array) -> Float64Array:
    """Fit of each class; a leaf predicts the first of the classes with the largest value.

    ``weights`` and the result are (n, n_classes): counts or shares, not all 0 in a row.
    ``distance`` is (n_classes, n_classes), for "probabilities". Values are class shares for "mode",
    otherwise minus the mean distance to the leaf's classes.

    O(n n_classes^2). Sums of whole weights are exact, so that ties are detected.
    """
    total = weights.sum(axis=1, keepdims=True)
    if rule == "mode":
        return weights / total
    costs = distance if rule == "probabilities" else cost_matrix("absolute", weights.shape[1])
    # Sums by row, not a matrix product, whose rounding depends on the processor and the number of
    # rows: ties must be the same everywhere.
    return -np.stack([(weights * row).sum(axis=1) for row in costs], axis=1) / total


def leaf_classes(weights: Float64Array, rule: LeafRule, distance: Float64Array) -> Any:
    """Class number predicted by the rule for every row of class weights, shape (n,), int64."""
    if rule == "mean":
        thresholds = np.arange(weights.shape[1] - 1) + 0.5
        return np.searchsorted(thresholds, mean_ranks(weights), side="right")
    return leaf_margins(weights, rule, distance).argmax(axis=1)


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
                convert_layout(X[rows]), self.starts, self.nodes, self.threshold,
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
