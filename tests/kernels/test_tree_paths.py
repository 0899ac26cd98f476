"""Leaves of rows against a walk in Python."""

from __future__ import annotations

import numpy as np

from rankwise.kernels.tree_paths import find_leaves


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
