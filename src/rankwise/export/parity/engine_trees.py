"""Trees as a program reads them from a file, in its own arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.trees.score_tree import ScoreTree
from rankwise.typing import Float64Array, Int64Array

RIGHT, LEFT, AS_ZERO = 0, 1, 2  # ways of missing values


@dataclass(frozen=True)
class Split:
    """A node of a nested tree."""

    column: int
    threshold: float
    missing: int
    left: Any
    right: Any


@dataclass(frozen=True, eq=False)
class EngineTree:
    """One tree; node 0 is the root, and all arrays are (n_nodes,).

    ``sets`` maps nodes to the categories that go left, and those that go right or None for all
    others. Unknown ones go the way of missing values.
    """

    feature: Int64Array  # column of the test; -1 at leaves
    # Float32 or float64; rows are converted to this type before they are compared
    threshold: NDArray[Any]
    left: Int64Array
    right: Int64Array
    missing: Int64Array  # RIGHT, LEFT or AS_ZERO
    values: NDArray[Any]  # of the type of the thresholds
    is_strict: bool = False  # whether a value goes left if it is below the threshold, not at most
    sets: dict[int, tuple[Float64Array, Float64Array | None]] = field(default_factory=dict)

    def goes_left(self, nodes: Int64Array, x: NDArray[Any]) -> NDArray[np.bool_]:
        """Side of each value at its node."""
        x = x.astype(self.threshold.dtype)
        missing, threshold = self.missing[nodes], self.threshold[nodes]
        absent = np.isnan(x)
        x = np.where(absent & (missing == AS_ZERO), x.dtype.type(0), x)
        with np.errstate(invalid="ignore"):
            left = x < threshold if self.is_strict else x <= threshold
        left = np.where(absent & (missing != AS_ZERO), missing == LEFT, left)
        for node in np.unique(nodes).tolist() if self.sets else ():
            if node in self.sets:
                here = nodes == node
                to_left, to_right = self.sets[node]
                is_left = np.isin(x[here], to_left)
                others = ~is_left
                known = others if to_right is None else np.isin(x[here], to_right)
                known = known & ~absent[here]
                left[here] = is_left | (others & ~known & (self.missing[node] == LEFT))
        return left

    def leaves(self, X: NDArray[Any]) -> Int64Array:
        """Leaf of every row."""
        nodes = np.zeros(len(X), dtype=np.int64)
        active = np.flatnonzero(self.feature[nodes] >= 0)
        while len(active):
            at = nodes[active]
            left = self.goes_left(at, X[active, self.feature[at]])
            nodes[active] = np.where(left, self.left[at], self.right[at])
            active = active[self.feature[nodes[active]] >= 0]
        return nodes

    @classmethod
    def of(cls, tree: ScoreTree) -> EngineTree:
        """A tree of a model, in float64."""
        return cls(
            tree.feature,
            tree.threshold,
            tree.left,
            tree.right,
            tree.missing_left.astype(np.int64),
            tree.values,
            sets=dict(tree.members),
        )

    @classmethod
    def flatten(
        cls, root: Any, read: Callable[[Any], Split | float], dtype: Any, *, is_strict: bool
    ) -> EngineTree:
        """A tree of nested nodes, which ``read`` turns into splits and values of leaves."""
        nodes: list[Any] = [root]
        rows: list[tuple[int, float, int, int, int, float]] = []
        for node in nodes:
            match read(node):
                case Split(column, threshold, missing, left, right):
                    rows.append((column, threshold, len(nodes), len(nodes) + 1, missing, 0.0))
                    nodes += [left, right]
                case value:
                    rows.append((-1, np.nan, -1, -1, RIGHT, float(value)))
        feature, threshold, left, right, missing, values = map(np.array, zip(*rows, strict=True))
        return cls(
            feature, threshold.astype(dtype), left, right, missing, values.astype(dtype),
            is_strict,
        )  # fmt: skip


def sum_trees(trees: tuple[EngineTree, ...], X: NDArray[Any], constant: float = 0.0) -> Any:
    """Sum of the leaves of every row, in the arithmetic of the trees."""
    dtype = trees[0].values.dtype if trees else np.dtype(np.float64)
    out = np.full(len(X), constant, dtype=dtype)
    for tree in trees:
        out += tree.values[tree.leaves(X)]
    return out.astype(np.float64)
