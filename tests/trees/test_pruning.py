"""Pruned trees are the cheapest of all subtrees, and scikit-learn's."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from rankwise.trees.tree import (
    Tree,
    collapse_alphas,
    collapse_at,
    cut_at_depth,
    prune,
    pruning_path,
)

from .random_trees import from_sklearn, random_tree


def subtrees(tree, node=0):
    """(kept splits, leaves) of every pruned version of the tree below ``node``."""
    yield frozenset(), 1
    if tree.feature[node] >= 0:
        for kept_left, leaves_left in subtrees(tree, tree.left[node]):
            for kept_right, leaves_right in subtrees(tree, tree.right[node]):
                yield kept_left | kept_right | {node}, leaves_left + leaves_right


def cheapest(tree, alpha):
    """Splits of the smallest subtree of least cost; the impurity of the root is left out."""
    return min(
        subtrees(tree),
        key=lambda one: (round(alpha * one[1] - sum(tree.gain[t] for t in one[0]), 9), one[1]),
    )[0]


def splits_of(tree, pruned):
    """Which splits of ``tree`` are left: nodes of equal counts are the same here."""
    number = {tuple(counts): t for t, counts in enumerate(tree.counts.tolist())}
    return frozenset(number[tuple(pruned.counts[t])] for t in np.flatnonzero(~pruned.is_leaf))


@pytest.mark.parametrize("seed", range(12))
def test_pruned_tree_is_the_cheapest_of_all(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_splits=7, ties=seed % 2 == 0)
    tree = dataclasses.replace(tree, counts=rng.permutation(tree.n_nodes * 4).reshape(-1, 4) + 1.0)
    alphas, _ = pruning_path(tree)
    tried = [a for low, high in pairwise(alphas) for a in (high, (low + high) / 2)]
    for alpha in [*tried, alphas[-1] * 1.5]:
        assert splits_of(tree, prune(tree, alpha)) == cheapest(tree, alpha), alpha


@pytest.mark.parametrize("seed", range(5))
def test_path_is_the_sequence_of_pruned_trees(seed):
    tree = random_tree(np.random.default_rng(seed), n_splits=40, ties=seed % 2 == 0)
    alphas, lost = pruning_path(tree)
    assert alphas[0] == 0
    assert lost[0] == 0
    assert (np.diff(alphas) > 0).all()
    total = tree.gain.sum()
    for alpha, given_up in zip(alphas, lost, strict=True):
        assert total - prune(tree, alpha).gain.sum() == pytest.approx(given_up)
    sizes = [prune(tree, alpha).n_nodes for alpha in alphas]
    assert sizes[0] == tree.n_nodes
    assert sizes[-1] == 1
    assert (np.diff(sizes) < 0).all()
    for low, high in pairwise(alphas):  # nothing happens in between
        assert prune(tree, (low + high) / 2).n_nodes == prune(tree, low).n_nodes
    by_node = collapse_alphas(tree)
    assert (by_node[1:] <= by_node[tree.parent[1:]]).all()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_path_is_that_of_scikit_learn(seed, criterion):
    """Whose alphas are ours over the weight of all rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 4))
    y = np.digitize(X[:, 0] + 0.7 * rng.normal(size=300), [-0.7, 0.2, 1.0])
    weight = rng.integers(1, 4, 300)
    grown = DecisionTreeClassifier(criterion=criterion, max_depth=8, random_state=0)
    tree = from_sklearn(grown.fit(X, y, sample_weight=weight))
    path = grown.cost_complexity_pruning_path(X, y, sample_weight=weight)
    alphas, lost = pruning_path(tree)
    n = weight.sum()
    # Ties are several steps there, and one here.
    steps = np.append(~np.isclose(path.ccp_alphas[1:], path.ccp_alphas[:-1], rtol=1e-8), True)
    np.testing.assert_allclose(alphas / n, path.ccp_alphas[steps], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(
        lost / n + path.impurities[0], path.impurities[steps], rtol=1e-8, atol=1e-12
    )
    for alpha in (alphas[1:] + alphas[:-1])[::5] / 2:
        smaller = DecisionTreeClassifier(
            criterion=criterion, max_depth=8, ccp_alpha=alpha / n, random_state=0
        ).fit(X, y, sample_weight=weight)
        ours, theirs = prune(tree, alpha), from_sklearn(smaller)
        np.testing.assert_allclose(ours.counts[ours.apply(X)], theirs.counts[theirs.apply(X)])
        assert ours.n_nodes == theirs.n_nodes


def test_no_alpha_prunes_nothing(rng):
    tree = random_tree(rng, n_splits=5)
    assert prune(tree, 0.0) is tree
    alone = random_tree(rng, n_splits=0)
    assert prune(alone, 1.0).n_nodes == 1
    assert [a.tolist() for a in pruning_path(alone)] == [[0.0], [0.0]]


def test_rows_stop_at_the_first_node_that_collapses(rng):
    tree = random_tree(rng, n_splits=60)
    X = rng.normal(size=(200, 3))
    X[rng.random(X.shape) < 0.2] = np.nan
    nodes = rng.random(tree.n_nodes) < 0.3
    pruned = collapse_at(tree, nodes)
    path = tree.decision_path(X)
    for row, leaf in enumerate(pruned.apply(X)):
        way = path[[row]].indices
        way = way[np.argsort(tree.depth[way])]
        ends = [t for t in way if nodes[t] or tree.feature[t] < 0]
        np.testing.assert_array_equal(pruned.counts[leaf], tree.counts[ends[0]])
        assert pruned.depth[leaf] == tree.depth[ends[0]]
    assert (pruned.gain[pruned.is_leaf] == 0).all()
    assert np.isnan(pruned.threshold[pruned.is_leaf]).all()
    assert (pruned.left[pruned.is_leaf] == -1).all()


def test_categories_of_kept_nodes_stay():
    """Nodes 0 and 2 ask for categories; node 2 collapses."""
    n = 7
    tree = Tree(
        feature=np.array([0, 1, 0, -1, -1, -1, -1], dtype=np.int32),
        threshold=np.array([np.nan, 0.5, *[np.nan] * 5]),
        left=np.array([1, 3, 5, *[-1] * 4], dtype=np.int32),
        right=np.array([2, 4, 6, *[-1] * 4], dtype=np.int32),
        missing_left=np.array([True, True, True, *[False] * 4]),
        category_indptr=np.array([0, 2, 2, 3, 3, 3, 3, 3]),
        categories=np.array([1, 4, 7], dtype=np.int32),
        counts=np.arange(2.0 * n).reshape(n, 2),
        gain=np.array([5.0, 3, 1, 0, 0, 0, 0]),
        depth=np.array([0, 1, 1, 2, 2, 2, 2], dtype=np.int32),
    )
    pruned = prune(tree, 1.0)
    assert pruned.feature.tolist() == [0, 1, -1, -1, -1]
    assert pruned.category_indptr.tolist() == [0, 2, 2, 2, 2, 2]
    assert pruned.categories.tolist() == [1, 4]
    X = np.array([[4.0, 0.0], [7.0, 0.0], [np.nan, 1.0]])
    np.testing.assert_array_equal(pruned.counts[pruned.apply(X)], tree.counts[[3, 2, 4]])
    flat = cut_at_depth(tree, 1)
    assert flat.n_nodes == 3
    assert cut_at_depth(tree, 0).n_nodes == 1
    assert flat.depth.max() == 1
    for name, array in vars(prune(tree, 0.5)).items():
        np.testing.assert_array_equal(array, getattr(tree, name))
