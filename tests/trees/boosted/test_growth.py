"""Whole trees against growth by hand, for every rule."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.trees.boosted.binned_rows import BinnedRows
from rankwise.trees.boosted.growth import TreeGrower
from rankwise.trees.boosted.rules import GrowthRules
from tests.oracles_boosted import TreeByHand

RULES = [
    {},
    {"max_leaf_nodes": 5},
    {"max_depth": 2},
    {"min_samples_leaf": 30},
    {"min_hessian_leaf": 12.5},
    {"reg_lambda": 3.0},
    {"reg_alpha": 4.0},
    {"reg_alpha": 1.5, "reg_lambda": 0.5},
    {"min_split_gain": 40.0},
]


def gradients(rng, holes=0.0, n=240):
    X = rng.normal(size=(n, 9)).round(1)
    X[rng.random(X.shape) < holes] = np.nan
    g = rng.normal(size=n) + np.nan_to_num(X[:, 4]) - np.nan_to_num(X[:, 2] > 0.3)
    return X, g, rng.random(n)


def grown_and_by_hand(rng, holes, **given):
    rules = GrowthRules(**{"max_leaf_nodes": 9, "min_samples_leaf": 4, **given})
    X, g, h = gradients(rng, holes)
    grown = TreeGrower(BinnedRows.of(X, 255), rules, 1).grow(g, h, 1.0)
    scores = np.zeros(len(X))
    grown.add_to(scores)
    return grown, scores, TreeByHand(X, g, h, rules)


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
@pytest.mark.parametrize("holes", [0.0, 0.3])
@pytest.mark.parametrize("given", RULES, ids=str)
def test_trees_are_those_by_hand(given, holes, growth, rng):
    grown, scores, by_hand = grown_and_by_hand(rng, holes, growth=growth, **given)
    assert len(grown.leaf_values) == len(by_hand.leaves()) > 1
    np.testing.assert_allclose(scores, by_hand.scores(), rtol=1e-6, atol=1e-7)
    gains, waiting = [], [by_hand.root]
    while waiting:
        node = waiting.pop()
        gains.append(node.gain)
        waiting += node.children
    np.testing.assert_allclose(np.sort(grown.gain), np.sort(gains), rtol=1e-5, atol=1e-6)


def test_rules_bind():
    """Each rule of the test above changes the tree that it is tested on."""
    trees = []
    for given in RULES:
        scores = grown_and_by_hand(np.random.default_rng(3), 0.0, **given)[1]
        trees.append(scores.tobytes())
    assert len(set(trees)) == len(RULES)


def test_a_level_asks_one_question(rng):
    X, g, h = gradients(rng)
    rules = GrowthRules(max_leaf_nodes=16, min_samples_leaf=1, growth="symmetric")
    tree = TreeGrower(BinnedRows.of(X, 255), rules, 1).grow(g, h, 1.0).tree
    level, questions = [0], []
    while level:
        inner = [node for node in level if tree.feature[node] >= 0]
        questions.append({(tree.feature[node], tree.threshold[node]) for node in inner})
        level = [child for node in inner for child in (tree.left[node], tree.right[node])]
    assert [len(asked) for asked in questions] == [1, 1, 1, 1, 0]


def test_depth_first_level_by_level(rng):
    X, g, h = gradients(rng)
    depth = {}
    for growth in ("leaf", "depth"):
        rules = GrowthRules(max_leaf_nodes=8, min_samples_leaf=2, growth=growth)
        tree = TreeGrower(BinnedRows.of(X, 255), rules, 1).grow(g, h, 1.0).tree
        depth[growth] = np.zeros(len(tree.feature), dtype=int)
        for node in np.flatnonzero(tree.feature >= 0):
            depth[growth][[tree.left[node], tree.right[node]]] = depth[growth][node] + 1
    assert depth["depth"].max() == 3 < depth["leaf"].max()
