"""Ensembles drawn at random, and their scores by a loop in plain Python."""

from __future__ import annotations

import numpy as np

from rankwise.trees.tree_ensemble import ScoreTree

N_NUMBERS, N_CATEGORICAL, N_CODES = 4, 2, 7


def random_score_tree(rng, n_leaves, *, nominal=0.0):
    """A tree of random splits; a share ``nominal`` of them names categories of the last columns."""
    feature, left, right, members = [-1], [-1], [-1], {}
    leaves = [0]
    while len(leaves) < n_leaves:
        node = leaves.pop(int(rng.integers(len(leaves))))
        feature[node] = int(rng.integers(N_NUMBERS))
        if rng.random() < nominal:
            feature[node] = N_NUMBERS + int(rng.integers(N_CATEGORICAL))
            codes = rng.permutation(float(N_CODES) * np.arange(N_CODES))
            members[node] = (codes[: rng.integers(N_CODES)], np.zeros(0))
        left[node], right[node] = len(feature), len(feature) + 1
        leaves += [left[node], right[node]]
        for nodes in (feature, left, right):
            nodes += [-1, -1]
    inner = np.array(feature) >= 0
    thresholds = rng.choice([-np.inf, -1e300, -0.5, 0.1, 0.25, 1.0, 1e300, np.inf], len(feature))
    return ScoreTree(
        np.array(feature),
        np.where(inner, thresholds, np.nan),
        np.array(left),
        np.array(right),
        inner & (rng.random(len(feature)) < 0.5),
        rng.normal(size=len(feature)),
        members,
    )


def random_rows(rng, n_rows, dtype=np.float64):
    """Values at the thresholds, between and beyond them; codes, some of them in no tree."""
    numbers = rng.choice([-np.inf, -0.5, -0.0, 0.1, 0.2, 0.25, 1.0, np.inf], (n_rows, N_NUMBERS))
    codes = rng.choice([-1.0, 0.5, *7.0 * np.arange(9)], (n_rows, N_CATEGORICAL))
    X = np.concatenate([numbers, codes], axis=1).astype(dtype)
    X[rng.random(X.shape) < 0.2] = np.nan
    return X


def naive_scores(trees, X, constant=0.0):
    """Sum of the leaves, in the order of the trees."""
    return np.array([sum((leaf_value(tree, row) for tree in trees), start=constant) for row in X])


def leaf_value(tree, row):
    node = 0
    while tree.feature[node] >= 0:
        value = row[tree.feature[node]]
        if np.isnan(value):
            left = tree.missing_left[node]
        elif node in tree.members:
            left = value in tree.members[node][0]
        else:
            left = float(value) <= tree.threshold[node]
        node = (tree.left if left else tree.right)[node]
    return tree.values[node]
