"""Leaf that each row reaches in a tree."""

from __future__ import annotations

from rankwise.runtime.jit import njit


@njit
def find_leaves(X, nodes, threshold, missing_left, indptr, categories, nominal, out):
    """Write the leaf of each row of ``X`` into ``out``.

    ``nodes`` holds feature (-1: a leaf), left and right child as columns. A row goes left if its
    value is at most the threshold or, at a node of ``nominal``, if its code is among the node's
    ascending ``categories[indptr[node]:indptr[node + 1]]``; NaN goes to the missing side.
    """
    for i in range(X.shape[0]):
        node = 0
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
        out[i] = node
