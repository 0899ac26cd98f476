"""Scores of rows under a sum of trees."""

from __future__ import annotations

from rankwise.runtime.jit import njit


@njit
def add_trees(X, indptr, feature, threshold, left, right, missing_left, values, out):
    """Add to ``out`` the values of the leaves that each row of ``X`` reaches, over all trees."""
    for t in range(len(indptr) - 1):
        # Rows within trees: a tree's nodes stay in the cache, and every row adds its leaves in the
        # order of the trees, in whatever block it is.
        root = indptr[t]
        for i in range(X.shape[0]):
            node = root
            while feature[node] >= 0:
                value = X[i, feature[node]]
                if value != value:
                    go_left = missing_left[node]
                else:
                    go_left = value <= threshold[node]
                node = root + (left[node] if go_left else right[node])
            out[i] += values[node]


@njit
def add_nominal_trees(
    X, indptr, feature, threshold, left, right, missing_left, values, nominal, category_indptr,
    categories, out,
):  # fmt: skip
    """Like :func:`add_trees`, for trees in which some nodes send a set of categories left.

    The left categories of node i (numbered over all trees) are
    ``categories[category_indptr[i]:category_indptr[i + 1]]``,
    ascending; all others go right.
    """
    for t in range(len(indptr) - 1):
        root = indptr[t]
        for i in range(X.shape[0]):
            node = root
            while feature[node] >= 0:
                value = X[i, feature[node]]
                if value != value:
                    go_left = missing_left[node]
                elif nominal[node]:
                    # A category that the node did not see in training is not found and goes right.
                    low, end = category_indptr[node], category_indptr[node + 1]
                    high = end
                    while low < high:
                        middle = (low + high) // 2
                        if categories[middle] < value:
                            low = middle + 1
                        else:
                            high = middle
                    go_left = low < end and categories[low] == value
                else:
                    go_left = value <= threshold[node]
                node = root + (left[node] if go_left else right[node])
            out[i] += values[node]
