"""Smaller trees within a grown one: cut at a depth, or by minimal cost-complexity pruning [1]_.

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

import numpy as np
from numpy.typing import NDArray

from rankwise.trees.tree import Tree
from rankwise.typing import Float64Array

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
