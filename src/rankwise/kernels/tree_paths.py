"""Leaf that each row reaches in a tree, and sums over the leaves of many trees."""

from __future__ import annotations

from rankwise.runtime.jit import njit


@njit
def _find_leaf(X, i, node, nodes, threshold, missing_left, indptr, categories, nominal):
    """Leaf that row ``i`` of ``X`` reaches from a node."""
    while nodes[node, 0] >= 0:
        value = X[i, nodes[node, 0]]
        # NaN, which is neither above nor below a threshold.
        if value != value:
            go_left = missing_left[node]
        elif nominal[node]:
            lo, end = indptr[node], indptr[node + 1]
            hi = end
            while lo < hi:
                middle = (lo + hi) >> 1
                if categories[middle] < value:
                    lo = middle + 1
                else:
                    hi = middle
            # Categories that are not listed, unseen ones among them, go right.
            go_left = lo < end and categories[lo] == value
        else:
            go_left = value <= threshold[node]
        node = nodes[node, 1] if go_left else nodes[node, 2]
    return node


@njit
def find_leaves(X, nodes, threshold, missing_left, indptr, categories, nominal, out):
    """Write the leaf of each row of ``X`` into ``out``.

    ``nodes`` holds feature (-1: a leaf), left and right child as columns. A row goes left if its
    value is at most the threshold or, at a node of ``nominal``, if its code is among the node's
    ascending ``categories[indptr[node]:indptr[node + 1]]``; NaN goes to the missing side.
    """
    for i in range(X.shape[0]):
        out[i] = _find_leaf(X, i, 0, nodes, threshold, missing_left, indptr, categories, nominal)


@njit
def add_leaf_rows(
    X, starts, nodes, threshold, missing_left, indptr, categories, nominal, values, out
):
    """Add to each row of ``out`` the rows of ``values`` of the leaves reached in all trees.

    The nodes of tree t begin at ``starts[t]``; children are numbered over all trees. The other
    arrays are those of :func:`find_leaves`, tree after tree. ``values`` has a row for each node.
    """
    for t in range(len(starts)):
        for i in range(X.shape[0]):
            leaf = _find_leaf(
                X, i, starts[t], nodes, threshold, missing_left, indptr, categories, nominal
            )
            for c in range(out.shape[1]):
                out[i, c] += values[leaf, c]
