"""Leaves of rows against a walk in Python."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.kernels.ensemble_scores import add_leaf_rows, find_leaves
from tests.trees.random_trees import random_tree


def test_leaves(rng):
    # 0: x0 <= 0.5; 1: x1 in {0, 3}; 2: x0 in {} (nothing goes left); 3 to 6: leaves.
    nodes = np.array([[0, 1, 2], [1, 3, 4], [0, 5, 6]] + [[-1, -1, -1]] * 4, np.int32)
    threshold = np.array([0.5] + [np.nan] * 6)
    missing_left = np.array([False, True, False] + [False] * 4)
    indptr, categories = np.array([0, 0, 2, 2, 2, 2, 2, 2]), np.array([0.0, 3.0])
    nominal = np.array([False, True, True] + [False] * 4)
    X = np.c_[rng.choice([0.0, 0.5, 0.6, np.nan], 60), rng.choice([0.0, 1, 2, 3, 4, np.nan], 60)]
    X[0] = -0.0, -0.0
    out = np.empty(60, np.int64)
    find_leaves(X, nodes, threshold, missing_left, indptr, categories, nominal, out)
    for row, leaf in zip(X, out, strict=True):
        if np.isnan(row[0]) or row[0] > 0.5:
            expected = 6
        else:
            expected = 3 if row[1] in (0.0, 3.0) or np.isnan(row[1]) else 4
        assert leaf == expected
    find_leaves(X, nodes[3:], threshold, missing_left, indptr, categories, nominal, out)
    assert not out.any()  # the root is a leaf


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_are_those_of_the_leaves_tree_by_tree(dtype, rng):
    trees = [random_tree(rng, n_splits) for n_splits in (0, 5, 12, 1)]
    X = rng.normal(size=(40, 3)).astype(dtype)
    X[rng.random(X.shape) < 0.2] = np.nan
    starts = np.cumsum([0, *(tree.n_nodes for tree in trees)])[:-1]
    nodes = [
        np.stack([tree.feature, tree.left + start, tree.right + start], axis=1)
        for tree, start in zip(trees, starts, strict=True)
    ]
    values = np.concatenate([rng.normal(size=(tree.n_nodes, 2)) for tree in trees])
    given = rng.normal(size=(40, 2))
    found = given.copy()
    add_leaf_rows(
        X, starts, np.concatenate(nodes), np.concatenate([tree.threshold for tree in trees]),
        np.concatenate([tree.missing_left for tree in trees]), np.zeros(len(values) + 1, np.int64),
        np.zeros(0, np.int32), np.zeros(len(values), bool), values, found,
    )  # fmt: skip
    for row, before, after in zip(X, given, found, strict=True):
        for tree, start in zip(trees, starts, strict=True):
            node = 0
            while tree.feature[node] >= 0:
                value = row[tree.feature[node]]
                left = tree.missing_left[node] if value != value else value <= tree.threshold[node]
                node = tree.left[node] if left else tree.right[node]
            before = before + values[start + node]
        np.testing.assert_array_equal(after, before)
