"""Trees drawn at random, and scikit-learn's trees in the library's form."""

from __future__ import annotations

import numpy as np

from rankwise.trees.tree import Tree


def empty_categories(n_nodes):
    return np.zeros(n_nodes + 1, dtype=np.int64), np.zeros(0, dtype=np.int32)


def random_tree(rng, n_splits, *, ties=False):
    """A tree of ``n_splits`` random splits with random gains; whole small gains where ``ties``."""
    feature, left, right, depth = [-1], [-1], [-1], [0]
    for _ in range(n_splits):
        leaves = [t for t, j in enumerate(feature) if j < 0]
        t = int(rng.choice(leaves))
        feature[t] = int(rng.integers(0, 3))
        left[t], right[t] = len(feature), len(feature) + 1
        feature += [-1, -1]
        left += [-1, -1]
        right += [-1, -1]
        depth += [depth[t] + 1] * 2
    feature = np.array(feature, dtype=np.int32)
    inner = feature >= 0
    gain = (
        rng.integers(1, 4, len(feature)).astype(float)
        if ties
        else rng.exponential(size=len(feature))
    )
    indptr, categories = empty_categories(len(feature))
    return Tree(
        feature=feature,
        threshold=np.where(inner, rng.normal(size=len(feature)), np.nan),
        left=np.array(left, dtype=np.int32),
        right=np.array(right, dtype=np.int32),
        missing_left=inner & (rng.random(len(feature)) < 0.5),
        category_indptr=indptr,
        categories=categories,
        counts=rng.integers(1, 9, (len(feature), 4)).astype(float),
        gain=np.where(inner, gain, 0.0),
        depth=np.array(depth, dtype=np.int32),
    )


def from_sklearn(classifier):
    """A fitted DecisionTreeClassifier as a Tree, gains times the weight of all rows."""
    fitted = classifier.tree_
    inner = fitted.children_left >= 0
    weight = fitted.weighted_n_node_samples
    impurity = weight * fitted.impurity
    gain = np.where(
        inner, impurity - impurity[fitted.children_left] - impurity[fitted.children_right], 0.0
    )
    depth = np.zeros(fitted.node_count, dtype=np.int32)
    for t in np.flatnonzero(inner):
        depth[[fitted.children_left[t], fitted.children_right[t]]] = depth[t] + 1
    indptr, categories = empty_categories(fitted.node_count)
    return Tree(
        feature=np.where(inner, fitted.feature, -1).astype(np.int32),
        threshold=np.where(inner, fitted.threshold, np.nan),
        left=fitted.children_left.astype(np.int32),
        right=fitted.children_right.astype(np.int32),
        missing_left=np.zeros(fitted.node_count, dtype=bool),
        category_indptr=indptr,
        categories=categories,
        counts=fitted.value[:, 0] * weight[:, None],
        gain=gain,
        depth=depth,
    )
