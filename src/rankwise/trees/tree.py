"""A grown tree: arrays over its nodes, and the way of each row through them.

A row costs O(depth), and at nominal nodes the logarithm of their number of categories.

Smaller trees within a grown one: cut at a depth, or by minimal cost-complexity pruning [1]_.

The cost of a tree is the impurity of its leaves plus ``alpha`` times the number of leaves. The
subtree of a node reduces the impurity by the sum of the gains of its splits, and each split adds
one leaf. The weakest link is therefore the node with the smallest mean gain over the splits of its
subtree: as alpha rises, its subtree is the first that no longer reduces the cost.

References
----------
.. [1] Breiman, Friedman, Olshen & Stone, "Classification and Regression Trees" (1984), chapter 3.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise.checks.rows import check_columns_read
from rankwise.kernels.ensemble_scores import find_leaves
from rankwise.runtime.jit import convert_layout, is_ready
from rankwise.runtime.threads import thread_map
from rankwise.structure.state_rules import (
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
            block = convert_layout(X[rows])
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


_ROUNDING = 1e-12


def collapse_at(tree: Tree, nodes: NDArray[np.bool_]) -> Tree:
    """Turn the marked nodes (n_nodes,) of a tree into leaves; the nodes below them are removed."""
    is_leaf = tree.is_leaf | nodes
    kept = np.zeros(tree.n_nodes, dtype=bool)
    kept[0] = True
    for depth in range(int(tree.depth.max())):
        above = np.flatnonzero(kept & ~is_leaf & (tree.depth == depth))
        kept[tree.left[above]] = kept[tree.right[above]] = True
    number = np.cumsum(kept, dtype=np.int32) - 1
    cut = is_leaf[kept]
    sizes = np.where(is_leaf, 0, np.diff(tree.category_indptr))[kept]
    holder = np.repeat(np.arange(tree.n_nodes), np.diff(tree.category_indptr))
    return Tree(
        feature=np.where(cut, -1, tree.feature[kept]).astype(np.int32),
        threshold=np.where(cut, np.nan, tree.threshold[kept]),
        left=np.where(cut, -1, number[tree.left[kept]]).astype(np.int32),
        right=np.where(cut, -1, number[tree.right[kept]]).astype(np.int32),
        missing_left=np.where(cut, False, tree.missing_left[kept]),
        category_indptr=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        categories=tree.categories[(kept & ~is_leaf)[holder]],
        counts=tree.counts[kept],
        gain=np.where(cut, 0.0, tree.gain[kept]),
        depth=tree.depth[kept],
    )


def cut_at_depth(tree: Tree, depth: int) -> Tree:
    """Turn nodes at ``depth`` into leaves, as if the tree had been grown to that depth."""
    return collapse_at(tree, tree.depth >= depth)


def collapse_alphas(tree: Tree) -> Float64Array:
    """Smallest alpha at which each node is a leaf or removed in the sequence of pruned trees.

    (n_nodes,), at most the value of the parent, 0 at leaves. O(n_nodes depth log n_nodes): pruning
    a node changes the mean gain of its ancestors.
    """
    parent, inner = tree.parent.tolist(), ~tree.is_leaf
    gain, splits = tree.gain.tolist(), inner.astype(int).tolist()
    # Children come after their parent, so sums from the last node on are complete.
    for node in range(tree.n_nodes - 1, 0, -1):
        gain[parent[node]] += gain[node]
        splits[parent[node]] += splits[node]
    left, right = tree.left.tolist(), tree.right.tolist()
    alphas = np.zeros(tree.n_nodes)
    links = [(gain[t] / splits[t], t) for t in np.flatnonzero(inner).tolist()]
    heapq.heapify(links)
    alpha = 0.0
    while links:
        weakest, node = heapq.heappop(links)
        if not splits[node] or weakest != gain[node] / splits[node]:
            continue  # gone, or its subtree has changed since
        # Ties differ by rounding, which must neither lower alpha nor make steps of its own.
        alpha = max(alpha, weakest) if weakest > alpha * (1 + _ROUNDING) else alpha
        lost, fewer = gain[node], splits[node]
        below = [node]
        while below:
            here = below.pop()
            if splits[here]:
                alphas[here] = alpha
                splits[here] = 0
                below += [left[here], right[here]]
        above = parent[node]
        # Stale entries stay in the heap; they no longer match their node and are skipped.
        while above >= 0:
            gain[above] -= lost
            splits[above] -= fewer
            heapq.heappush(links, (gain[above] / splits[above], above))
            above = parent[above]
    return alphas


def prune(tree: Tree, ccp_alpha: float) -> Tree:
    """The smallest subtree of the least cost ``impurity + ccp_alpha * leaves``.

    ``ccp_alpha`` is in the units of the gains, which are not divided by the weight of the rows. 0:
    the tree itself.
    """
    if ccp_alpha == 0:
        return tree
    # The same slack by which alphas count as equal above.
    return collapse_at(tree, collapse_alphas(tree) <= ccp_alpha * (1 + _ROUNDING))


def pruning_path(tree: Tree) -> tuple[Float64Array, Float64Array]:
    """Alphas at which the pruned tree becomes smaller, and what its leaves' impurity is from there.

    Both are (n_steps,). Alphas ascend from 0. The impurity is given minus that of the grown tree:
    the sum of the gains given up.
    """
    alphas, inner = collapse_alphas(tree), ~tree.is_leaf
    steps, place = np.unique(np.append(0.0, alphas[inner]), return_inverse=True)
    given_up = np.bincount(place[1:], weights=tree.gain[inner], minlength=len(steps))
    return steps, np.cumsum(given_up)
