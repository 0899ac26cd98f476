"""Liu, Pan & Wang 2007: what is proved of rank impurity, by enumeration and on grown trees.

The counterexamples to the paper's statements are in ``test_errata.py``.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from rankwise import RankingTree
from rankwise.losses.class_costs import cost_matrix
from rankwise.trees.leaves import leaf_classes
from rankwise.trees.node_splits import make_criterion


def impurity(counts):
    """Equation (1), pair by pair."""
    return sum((j - i) * counts[i] * counts[j] for j in range(len(counts)) for i in range(j))


def every_separation(n_classes, weight):
    """Numbers of rows of each rank on the left, all but the two with an empty side."""
    return list(product(range(weight + 1), repeat=n_classes))[1:-1]


@pytest.mark.parametrize("n_classes", range(1, 7))
def test_two_forms_of_the_impurity(n_classes, rng):
    counts = rng.integers(0, 9, (50, n_classes)).astype(float)
    expected = [impurity(row) for row in counts.tolist()]
    below = counts.cumsum(axis=1)[:, :-1]
    by_threshold = (below * (counts.sum(axis=1, keepdims=True) - below)).sum(axis=1)
    np.testing.assert_array_equal(by_threshold, expected)
    np.testing.assert_array_equal(make_criterion("rank", n_classes).impurity(counts), expected)


# Theorem 1 ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", range(2, 6))
def test_gain_is_the_rank_difference_of_separated_pairs(n_classes):
    """So it is never negative, and 0 only where no separated pair differs in rank."""
    total = np.full(n_classes, 2)
    for left in every_separation(n_classes, 2):
        right = total - left
        gain = impurity(total) - impurity(left) - impurity(right)
        separated = sum(
            abs(i - j) * left[i] * right[j] for i in range(n_classes) for j in range(n_classes)
        )
        assert gain == separated > 0  # every rank is there: nothing separates equal ranks alone


def test_no_gain_in_pure_nodes_alone():
    """Any separation of a pure node gains 0, and a node of two ranks is never without gain."""
    for n in range(2, 6):
        for left in range(1, n):
            assert impurity([n, 0]) == impurity([left, 0]) + impurity([n - left, 0]) == 0
    for a, b in product(range(1, 5), repeat=2):
        for left in every_separation(2, 4):
            if left[0] > a or left[1] > b or left in ((0, 0), (a, b)):
                continue
            assert impurity([a, b]) > impurity(left) + impurity([a - left[0], b - left[1]])


@pytest.mark.parametrize("criterion", ["rank", "gini", "entropy", "absolute_error"])
def test_gains_of_a_grown_tree(criterion, rng):
    X = rng.normal(size=(300, 3)).round(1)
    y = np.digitize(X[:, 0] + rng.normal(size=300), [-1, 0, 1])
    tree = RankingTree(criterion=criterion).fit(X, y).tree_
    inner = np.flatnonzero(~tree.is_leaf)
    assert (tree.gain[inner] > 0).all()
    measured = make_criterion(criterion, 4)
    gain = measured.impurity(tree.counts)
    gain = gain[inner] - gain[tree.left[inner]] - gain[tree.right[inner]]
    np.testing.assert_allclose(tree.gain[inner], gain, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rank_distance", [None, "squared", "zero_one"])
def test_growing_ends_in_pure_leaves(rank_distance, rng):
    """Theorem 1's conclusion: where rows differ in X, separation goes on until leaves are pure."""
    X = rng.permutation(200)[:, None] / 200.0
    y = rng.integers(0, 5, 200)
    tree = RankingTree(rank_distance=rank_distance).fit(X, y)
    assert ((tree.tree_.counts > 0).sum(axis=1)[tree.tree_.is_leaf] == 1).all()
    assert (tree.predict(X) == y).all()


# Theorem 2 ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", range(2, 7))
@pytest.mark.parametrize("weight", [1, 2, 3])
def test_best_separation_of_equal_ranks_is_half_of_them(n_classes, weight):
    """Of all separations of ``weight`` rows of each rank, with the lowest rank on the left."""
    total = np.full(n_classes, weight)
    gains = {}
    for left in every_separation(n_classes, weight):
        right = total - left
        gains[left] = impurity(total) - impurity(left) - impurity(right)
    best = max(gains.values())
    found = {left for left, gain in gains.items() if gain == best and left[0] == weight}
    half = n_classes // 2
    if n_classes % 2 == 0:
        assert found == {(weight,) * half + (0,) * half}
    else:  # the rows of the middle rank may lie on either side, or on both
        assert found == {(weight,) * half + (middle,) + (0,) * half for middle in range(weight + 1)}
    # The others have the sides changed.
    assert sum(gain == best for gain in gains.values()) == 2 * len(found)


def test_grown_tree_separates_half_of_the_ranks():
    X = np.arange(24.0)[:, None] % 6
    tree = RankingTree(max_depth=1).fit(X, X[:, 0].astype(int))
    assert tree.tree_.threshold[0] == 2.5
    assert tree.tree_.counts[1:].tolist() == [[4, 4, 4, 0, 0, 0], [0, 0, 0, 4, 4, 4]]


# Leaves ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", range(1, 6))
def test_median_leaf_loses_least(n_classes):
    """Every leaf of up to three rows of each rank, against every constant prediction."""
    counts = np.array(list(product(range(4), repeat=n_classes))[1:], dtype=float)
    ranks = np.arange(n_classes)
    chosen = leaf_classes(counts, "median", cost_matrix("absolute", n_classes))
    losses = [(counts * np.abs(ranks - k)).sum(axis=1) for k in range(n_classes)]
    assert (np.choose(chosen, losses) == np.min(losses, axis=0)).all()
    assert (chosen == np.argmin(losses, axis=0)).all()


def test_median_leaves_lose_least_of_the_rules(rng):
    """On the training rows, of one grown tree."""
    X = rng.normal(size=(400, 2))
    y = np.digitize(X[:, 0] + 0.8 * rng.normal(size=400), [-1, -0.3, 0.3, 1])
    losses = {
        leaf: -RankingTree(max_depth=4, leaf=leaf).fit(X, y).score(X, y)
        for leaf in ("median", "mode", "mean", "probabilities")
    }
    assert losses["median"] == min(losses.values())
    assert losses["probabilities"] == losses["median"]  # the same rule for |i - j|
