"""Scores of rows under a sum of trees."""

from __future__ import annotations

from rankwise.runtime.jit import njit


@njit
def add_trees(X, indptr, feature, threshold, left, right, missing_left, values, out):
    """Add the value of the leaf that each row of ``X`` reaches in every tree to ``out``."""
    for t in range(len(indptr) - 1):
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
