"""A grown tree: arrays over its nodes, and the way of each row through them.

A row costs O(depth), and at nominal nodes the logarithm of their number of categories.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise.checks.model_width import check_columns_read
from rankwise.kernels.tree_paths import find_leaves
from rankwise.runtime.jit import is_ready
from rankwise.runtime.threads import thread_map
from rankwise.structure.rules import (
    Array,
    Rule,
    booleans,
    check_children,
    floats,
    integers,
    require,
)
from rankwise.typing import Float64Array, FloatArray, Int64Array

CHUNK_ROWS = 8192

FEW_ROWS = 1000


@dataclass(frozen=True, eq=False)
class Tree:
    """Arrays over the nodes of a tree; node 0 is the root, children come after their parent.

    A row goes left at a node where its value is at most the threshold or, at a nominal node, where
    its code is one of the node's categories. NaN goes to the side of ``missing_left``. At leaves,
    ``feature``, ``left`` and ``right`` are -1.

    The codes that go left at node t are ``categories[category_indptr[t]:category_indptr[t + 1]]``,
    ascending. Codes that none of the node's rows holds are among them where ``missing_left``. Any
    other code goes right; a category that the whole fit has not seen is passed as NaN.

    Composition: the result of :func:`rankwise.trees.growth.grow`, and of pruning it.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "feature": integers("n_nodes", dtype="i4", low=-1, below="n_features_in_"),
        "threshold": Array(("n_nodes",), dtype="f8", numbers="any"),
        "left": integers("n_nodes", dtype="i4", low=-1, below="n_nodes"),
        "right": integers("n_nodes", dtype="i4", low=-1, below="n_nodes"),
        "missing_left": booleans("n_nodes"),
        "category_indptr": integers("n_nodes + 1", dtype="i8", low=0, ascending=True),
        "categories": integers("n_categories", dtype="i4"),
        "counts": floats("n_nodes", "n_classes", dtype="f8", low=0),
        "gain": Array(("n_nodes",), dtype="f8", numbers="not NaN"),
        "depth": integers("n_nodes", dtype="i4", low=0, below="n_nodes"),
    }

    feature: NDArray[np.int32]  # column that a node tests
    # NaN at leaves and nominal nodes; ``inf`` where a node splits missing (right) from present.
    threshold: Float64Array
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    # Side of missing values: the one with the larger gain, or the heavier child where the node's
    # rows miss none (left on ties).
    missing_left: NDArray[np.bool_]
    category_indptr: Int64Array
    categories: NDArray[np.int32]
    counts: Float64Array  # (n_nodes, n_classes): weight of each class among the node's rows
    # Impurity of the node minus that of its children, not divided by the weight; 0 at leaves.
    gain: Float64Array
    depth: NDArray[np.int32]  # 0 at the root

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves among them."""
        return len(self.feature)

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Mask of the leaves, shape (n_nodes,)."""
        return self.feature < 0

    @property
    def parent(self) -> Int64Array:
        """Parent of each node, shape (n_nodes,); -1 at the root."""
        parent = np.full(self.n_nodes, -1, dtype=np.int64)
        inner = np.flatnonzero(self.feature >= 0)
        parent[self.left[inner]] = inner
        parent[self.right[inner]] = inner
        return parent

    def apply(self, X: FloatArray) -> Int64Array:
        """Leaf (node number) of every row of X (n_samples, n_features).

        NaN where missing; nominal columns hold codes.
        """
        check_columns_read(self.feature, X.shape[1])
        # Once compiled code is loaded, it is faster for any number of rows.
        if X.shape[0] <= FEW_ROWS and not is_ready(find_leaves):
            return self._apply_to_few(X)
        out = np.empty(X.shape[0], dtype=np.int64)
        nodes = np.stack([self.feature, self.left, self.right], axis=1)
        nominal = np.diff(self.category_indptr) > 0

        def find(start: int) -> None:
            rows = slice(start, start + CHUNK_ROWS)
            block = np.ascontiguousarray(X[rows])
            find_leaves(
                block, nodes, self.threshold, self.missing_left, self.category_indptr,
                self.categories, nominal, out[rows],
            )  # fmt: skip

        thread_map(find, range(0, X.shape[0], CHUNK_ROWS))
        return out

    def _apply_to_few(self, X: FloatArray) -> Int64Array:
        """:meth:`apply` without compiled code, which takes longer to load than few rows to go."""
        leaves = np.zeros(X.shape[0], dtype=np.int64)
        rows = np.arange(X.shape[0])
        while len(rows := rows[self.feature[leaves[rows]] >= 0]):
            nodes = leaves[rows]
            values = X[rows, self.feature[nodes]]
            to_left = values <= self.threshold[nodes]
            starts, ends = self.category_indptr[nodes], self.category_indptr[nodes + 1]
            for place in np.flatnonzero(ends > starts).tolist():
                known = self.categories[starts[place] : ends[place]]
                to_left[place] = (known == values[place]).any()
            # After the comparisons, which are False for NaN.
            missing = np.isnan(values)
            to_left[missing] = self.missing_left[nodes[missing]]
            leaves[rows] = np.where(to_left, self.left[nodes], self.right[nodes])
        return leaves

    def decision_path(self, X: FloatArray) -> Any:
        """Nodes of every row from the root to its leaf: CSR (n_samples, n_nodes), bool."""
        leaf = self.apply(X)
        ways = self._ways()
        length = self.depth[leaf].astype(np.int64) + 1
        indices = ways[leaf][np.arange(ways.shape[1]) < length[:, None]]
        indptr = np.concatenate([[0], np.cumsum(length)])
        ones = np.ones(len(indices), dtype=bool)
        return sparse.csr_matrix((ones, indices, indptr), shape=(len(leaf), self.n_nodes))

    def _check_structure(self) -> None:
        check_children(self.feature, self.left, self.right)
        ends, n_categories = self.category_indptr, len(self.categories)
        require(ends[0] == 0 and ends[-1] == n_categories, "category_indptr",
                f"go from 0 to {n_categories}", ends)  # fmt: skip
        numeric = (self.feature >= 0) & (np.diff(ends) == 0)
        require(not np.isnan(self.threshold[numeric]).any(), "threshold",
                "be a number at splits of numbers", np.nan)  # fmt: skip
        require((self.counts.sum(axis=1) > 0).all(), "counts", "hold weight in every node", 0.0)
        inner = np.flatnonzero(self.feature >= 0)
        below = self.depth[inner] + 1
        same = (self.depth[self.left[inner]] == below) & (self.depth[self.right[inner]] == below)
        require(self.depth[0] == 0 and same.all(), "depth",
                "count the splits above each node", self.depth)  # fmt: skip

    def _ways(self) -> Int64Array:
        """Ancestors of each node by their depth, itself last, shape (n_nodes, max depth + 1)."""
        nodes = np.arange(self.n_nodes)
        ways = np.full((self.n_nodes, int(self.depth.max()) + 1), -1, dtype=np.int64)
        parent, now = self.parent, nodes.copy()
        for _ in range(ways.shape[1]):
            known = now >= 0
            ways[nodes[known], self.depth[now[known]]] = now[known]
            now[known] = parent[now[known]]
        return ways
