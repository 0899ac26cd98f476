"""Whole trees against growth by hand, for every rule."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.trees.boosted.coded_rows import bin_rows
from rankwise.trees.boosted.growing_tree import TreeGrower
from rankwise.trees.boosted.growth_rules import GrowthRules
from rankwise.trees.tree_ensemble import OrderedRows, TreeEnsemble
from tests.oracles_boosted import TreeByHand

RULES = [
    {},
    {"max_leaf_nodes": 5},
    {"max_depth": 2},
    {"min_samples_leaf": 30},
    {"min_hessian_leaf": 12.5},
    {"reg_lambda": 3.0},
    {"relative_lambda": 0.3},
    {"reg_lambda": 1.0, "relative_lambda": 0.1},
    {"reg_alpha": 4.0},
    {"reg_alpha": 1.5, "reg_lambda": 0.5},
    {"min_split_gain": 40.0},
    {"signs": (0, 0, 0, 0, -1, 0, 0, 0, 0)},
    {"signs": (1, 0, 1, 0, 1, -1, 1, 0, -1), "reg_lambda": 1.0},
    {"signs": (0, -1, 0, 1, -1, 0, 0, 0, 0), "reg_alpha": 1.0},
    {"groups": (frozenset({4, 5}), frozenset({0, 1, 2, 3}), frozenset({4, 6, 7, 8}))},
]


def gradients(rng, holes=0.0, n=240):
    X = rng.normal(size=(n, 9)).round(1)
    X[rng.random(X.shape) < holes] = np.nan
    g = rng.normal(size=n) + np.nan_to_num(X[:, 4]) - np.nan_to_num(X[:, 2] > 0.3)
    return X, g, rng.random(n)


def make_grower(X, rules, n_threads=1):
    return TreeGrower(bin_rows(OrderedRows(X), 255), rules, n_threads)


def grown_and_by_hand(rng, holes, **given):
    rules = GrowthRules(**{"max_leaf_nodes": 9, "min_samples_leaf": 4, **given})
    X, g, h = gradients(rng, holes)
    grown = make_grower(X, rules).grow(g, h, 1.0)
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
    np.testing.assert_allclose(np.sort(grown.tree.gain), np.sort(gains), rtol=1e-5, atol=1e-6)


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
    tree = make_grower(X, rules).grow(g, h, 1.0).tree
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
        tree = make_grower(X, rules).grow(g, h, 1.0).tree
        depth[growth] = np.zeros(len(tree.feature), dtype=int)
        for node in np.flatnonzero(tree.feature >= 0):
            depth[growth][[tree.left[node], tree.right[node]]] = depth[growth][node] + 1
    assert depth["depth"].max() == 3 < depth["leaf"].max()


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
def test_values_are_monotone(growth, rng):
    X, g, h = gradients(rng, n=2000)
    g = g - np.sin(2 * X[:, 5]) * (2 + X[:, 4])
    signs = (0, 0, 1, 0, -1, 1, 0, 0, 0)
    rules = GrowthRules(max_leaf_nodes=64, min_samples_leaf=5, signs=signs, growth=growth)
    trees = TreeEnsemble.of([make_grower(X, rules).grow(g, h, 1.0).tree])
    assert {2, 4, 5} <= set(trees.feature.tolist())
    for feature in (2, 4, 5):
        grid = np.repeat(X[:200, None], 60, axis=1)
        grid[:, :, feature] = np.linspace(-4, 4, 60)
        scores = trees.score(grid.reshape(-1, 9)).reshape(200, 60)
        assert (signs[feature] * np.diff(scores, axis=1) >= 0).all()
        assert np.ptp(scores, axis=1).max() > 0
    free = GrowthRules(max_leaf_nodes=64, min_samples_leaf=5, growth=growth)
    trees = TreeEnsemble.of([make_grower(X, free).grow(g, h, 1.0).tree])
    scores = trees.score(grid.reshape(-1, 9)).reshape(200, 60)
    assert (np.diff(scores, axis=1) < 0).any()


DRAWS = {"by_level": 0.5, "by_node": 0.5, "random_thresholds": True}


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
def test_drawn_columns_and_thresholds(growth, rng):
    X, g, h = gradients(rng, holes=0.2, n=1000)
    binned = bin_rows(OrderedRows(X), 255)

    def tree(seed, **draws):
        rules = GrowthRules(max_leaf_nodes=16, growth=growth, **draws)
        grower = TreeGrower(binned, rules, 1)
        return grower.grow(g, h, 1.0, rng=np.random.default_rng(seed)).tree

    for name, share in DRAWS.items():
        trees = [tree(seed, **{name: share}) for seed in (0, 0, 1)]
        np.testing.assert_array_equal(trees[0].values, trees[1].values)
        assert (
            len(trees[0].values) != len(trees[2].values)
            or (trees[0].values != trees[2].values).any()
        )
    for seed in range(5):
        grown = tree(seed, by_level=0.4)
        depth = np.zeros(len(grown.feature), dtype=int)
        for node in np.flatnonzero(grown.feature >= 0):
            depth[[grown.left[node], grown.right[node]]] = depth[node] + 1
        for level in range(depth.max()):
            assert len(set(grown.feature[depth == level]) - {-1}) <= 4
    roots = {tree(seed, random_thresholds=True).threshold[0] for seed in range(20)}
    assert len(roots) > 10


def test_drawn_thresholds_leave_enough(rng):
    X, g, h = gradients(rng, n=1000)
    rules = GrowthRules(max_leaf_nodes=64, min_hessian_leaf=30.0, random_thresholds=True)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        grown = make_grower(X, rules).grow(g, h, 1.0, rng=rng)
        sums = np.add.reduceat(h[grown.rows], grown.starts[:-1])
        assert len(sums) > 4 and sums.min() >= 30


def test_trees_on_some_columns_are_those_without_the_others(rng):
    X, g, h = gradients(rng, holes=0.1, n=5000)
    X = np.hstack([X, X + rng.normal(size=X.shape)])
    columns = rng.random(18) < 0.6
    grower = make_grower(X, GrowthRules(), 2)
    first, again = (grower.grow(g, h, 1.0, columns=columns).tree for _ in range(2))
    alone = make_grower(X[:, columns], GrowthRules(), 2).grow(g, h, 1.0).tree
    inner = alone.feature >= 0
    np.testing.assert_array_equal(
        first.feature[inner], np.flatnonzero(columns)[alone.feature[inner]]
    )
    for name in ("threshold", "values", "left"):
        np.testing.assert_array_equal(getattr(first, name), getattr(alone, name))
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    whole, without = (
        grower.grow(g, h, 1.0, columns=columns).tree.values for columns in (None, columns)
    )
    assert len(whole) != len(without) or (whole != without).any()


def categories(rng, holes):
    X, g, h = gradients(rng, holes)
    X = X[:, 2:7]
    X[:, :2] = rng.integers(0, [4, 6], (len(X), 2))
    X[:, 1][rng.random(len(X)) < holes] = np.nan
    effects = rng.normal(scale=2, size=(2, 6))
    for column in (0, 1):
        present = ~np.isnan(X[:, column])
        g[present] += effects[column, X[present, column].astype(int)]
    return X, g, h


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
@pytest.mark.parametrize("holes", [0.0, 0.3])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"reg_lambda": 3.0},
        {"min_samples_leaf": 30},
        {"cat_l2": 2.0},
        {"relative_cat_l2": 0.05, "reg_lambda": 1.0, "reg_alpha": 0.5},
        {"max_cat_threshold": 1},
        {"max_cat_threshold": 2, "cat_l2": 1.0},
    ],
    ids=str,
)
def test_subsets_of_categories_are_the_best(given, holes, growth, rng):
    rules = GrowthRules(**{"max_leaf_nodes": 8, "min_samples_leaf": 4, "growth": growth, **given})
    X, g, h = categories(rng, holes)
    binned = bin_rows(OrderedRows(X), 255, n_categories=np.array([4, 6, 0, 0, 0]))
    grown = TreeGrower(binned, rules, 1).grow(g, h, 1.0)
    assert {0, 1} & set(grown.tree.feature.tolist())
    scores = np.zeros(len(X))
    grown.add_to(scores)
    by_hand = TreeByHand(X, g, h, rules, {0, 1})
    np.testing.assert_allclose(scores, by_hand.scores(), rtol=1e-6, atol=1e-7)
    ensemble = TreeEnsemble.of([grown.tree])
    np.testing.assert_allclose(ensemble.score(X), scores, rtol=1e-12)
    others = np.zeros(len(X))
    TreeGrower(binned, rules, 1).add_to_others(grown, others, np.arange(len(X), dtype=np.int32))
    np.testing.assert_array_equal(others, ensemble.score(X))


def test_categories_without_rows_go_the_heavier_way(rng):
    X = np.repeat([[0.0], [1.0], [3.0]], [10, 10, 30], axis=0)
    g = np.repeat([1.0, -1.0, 1.0], [10, 10, 30])
    binned = bin_rows(OrderedRows(X), 255, n_categories=np.array([5]))
    rules = GrowthRules(2, min_samples_leaf=1)
    tree = TreeGrower(binned, rules, 1).grow(g, np.ones(50), 1.0).tree
    assert [side.tolist() for side in tree.members[0]] == [[1.0], [0.0, 2.0, 3.0, 4.0]]
    assert not tree.missing_left[0]


@pytest.mark.parametrize("growth", ["leaf", "symmetric"])
def test_nodes_where_all_categories_are_missing(growth, rng):
    X = np.stack([np.repeat([np.nan, 1.0, 2.0], 40), rng.normal(size=120)], axis=1)
    g = np.repeat([2.0, -1.0, 1.0], 40) + rng.normal(size=120)
    rules = GrowthRules(12, min_samples_leaf=1, growth=growth)
    binned = bin_rows(OrderedRows(X), 255, n_categories=np.array([3, 0]))
    scores = np.zeros(120)
    TreeGrower(binned, rules, 1).grow(g, np.ones(120), 1.0).add_to(scores)
    by_hand = TreeByHand(X, g, np.ones(120), rules, {0})
    np.testing.assert_allclose(scores, by_hand.scores(), rtol=1e-6, atol=1e-7)
