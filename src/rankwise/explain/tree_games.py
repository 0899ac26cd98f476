"""Exact Shapley values of trees between pairs of rows.

A mixed row follows A's way or B's at every node where these differ, so a leaf is reached by the
sets that hold all of some features U and none of others W. Such a leaf of score v gives every
feature of U ``v (|U| - 1)! |W|! / (|U| + |W|)!`` and takes from every one of W
``v |U|! (|W| - 1)! / (|U| + |W|)!`` [1]_.

References
----------
.. [1] Lundberg et al., "From local explanations to global understanding with explainable AI for
   trees", Nature Machine Intelligence 2 (2020): interventional values.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.trees.tree import Tree
from rankwise.typing import Float64Array, FloatArray


def goes_left(tree: Tree, X: FloatArray) -> NDArray[np.bool_]:
    """Side of every row at every node, shape (n_samples, n_nodes)."""
    out = np.zeros((len(X), tree.n_nodes), dtype=bool)
    for node in np.flatnonzero(tree.feature >= 0).tolist():
        column = X[:, tree.feature[node]]
        lo, hi = tree.category_indptr[node], tree.category_indptr[node + 1]
        left = (
            np.isin(column, tree.categories[lo:hi]) if hi > lo else column <= tree.threshold[node]
        )
        out[:, node] = np.where(np.isnan(column), tree.missing_left[node], left)
    return out


def tree_values(
    trees: Sequence[tuple[Tree, Float64Array]], X: FloatArray, pairs: Any
) -> Float64Array:
    """Values between pairs of rows, summed over trees.

    Parameters
    ----------
    trees : sequence of (Tree, ndarray of shape (n_nodes,))
        Scores of the nodes of each.
    X : ndarray of shape (n_samples, n_features)
        Rows as the trees take them.
    pairs : sequence of (row a, row b)

    Returns
    -------
    ndarray of shape (n_pairs, n_features)
    """
    out = np.zeros((len(pairs), X.shape[1]))
    for tree, scores in trees:
        left = goes_left(tree, X)
        for number, (a, b) in enumerate(pairs):
            _walk(tree, scores, left[a], left[b], out[number])
    return out


def _walk(
    tree: Tree,
    scores: Float64Array,
    left_a: NDArray[np.bool_],
    left_b: NDArray[np.bool_],
    out: Float64Array,
) -> None:
    stack: list[tuple[int, frozenset[int], frozenset[int]]] = [(0, frozenset(), frozenset())]
    while stack:
        node, mine, others = stack.pop()
        feature = int(tree.feature[node])
        if feature < 0:
            u, w = len(mine), len(others)
            if u:
                share = scores[node] * factorial(u - 1) * factorial(w) / factorial(u + w)
                out[list(mine)] += share
            if w:
                share = scores[node] * factorial(u) * factorial(w - 1) / factorial(u + w)
                out[list(others)] -= share
            continue
        to_a = int(tree.left[node] if left_a[node] else tree.right[node])
        to_b = int(tree.left[node] if left_b[node] else tree.right[node])
        if to_a == to_b or feature in mine:
            stack.append((to_a, mine, others))
        elif feature in others:
            stack.append((to_b, mine, others))
        else:
            stack.append((to_a, mine | {feature}, others))
            stack.append((to_b, mine, others | {feature}))
