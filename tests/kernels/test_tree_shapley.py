"""Shapley values of trees against the sum over all sets of features."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from rankwise.explain.games import TreeGames
from rankwise.kernels.tree_shapley import describe_paths
from rankwise.trees.tree_ensemble import ScoreTree, TreeEnsemble

D = 4


def goes_left(tree, node, row):
    value = row[tree.feature[node]]
    if np.isnan(value) or (tree.zero_missing is not None and tree.zero_missing[node] and not value):
        return bool(tree.missing_left[node])
    if node in tree.members:
        return value in tree.members[node][0]
    return bool(value <= tree.threshold[node])


def expectation(tree, row, known, node=0):
    """Score where splits on unknown features send the row both ways by their cover."""
    if tree.feature[node] < 0:
        return tree.values[node]
    sides = tree.left[node], tree.right[node]
    if tree.feature[node] in known:
        return expectation(tree, row, known, sides[0 if goes_left(tree, node, row) else 1])
    total = tree.cover[sides[0]] + tree.cover[sides[1]]
    return sum(tree.cover[side] / total * expectation(tree, row, known, side) for side in sides)


def shapley(worth, d):
    values = np.zeros(d)
    for j in range(d):
        for size in range(d):
            share = math.factorial(size) * math.factorial(d - size - 1) / math.factorial(d)
            for others in itertools.combinations([i for i in range(d) if i != j], size):
                values[j] += share * (worth({*others, j}) - worth(set(others)))
    return values


def random_tree(rng, n_splits):
    feature, left, right = [-1], [-1], [-1]
    for _ in range(n_splits):
        leaf = int(rng.choice([t for t, j in enumerate(feature) if j < 0]))
        feature[leaf] = int(rng.integers(D))
        left[leaf], right[leaf] = len(feature), len(feature) + 1
        for column in (feature, left, right):
            column += [-1, -1]
    feature, left, right = np.array(feature), np.array(left), np.array(right)
    n, inner = len(feature), feature >= 0
    cover = np.where(inner, 0.0, rng.integers(1, 9, n))
    for node in np.flatnonzero(inner)[::-1]:
        cover[node] = cover[left[node]] + cover[right[node]]
    members = {
        int(node): (np.sort(rng.choice(3, 2, replace=False)).astype(float), np.zeros(0))
        for node in np.flatnonzero(inner & (feature == D - 1))
    }
    return ScoreTree(
        feature, rng.normal(size=n), left, right, rng.random(n) < 0.5, rng.normal(size=n),
        members, cover, inner & (rng.random(n) < 0.3),
    )  # fmt: skip


def random_rows(rng, n):
    X = rng.normal(size=(n, D))
    X[:, -1] = rng.integers(0, 4, n)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(X.shape) < 0.1] = 0.0
    return X


@pytest.mark.parametrize("n_splits", [0, 1, 5, 12])
def test_path_values(rng, n_splits):
    trees = [random_tree(rng, n_splits) for _ in range(3)]
    games, X = TreeGames.of(TreeEnsemble.of(trees, 2.0)), random_rows(rng, 9)
    values = games.path_dependent(X)
    for row, found in zip(X, values, strict=True):
        expected = shapley(lambda s: sum(expectation(t, row, s) for t in trees), D)  # noqa: B023
        np.testing.assert_allclose(found, expected, atol=1e-12)
    mean = 2.0 + sum(expectation(tree, X[0], set()) for tree in trees)
    assert games.expected_score() == pytest.approx(mean, abs=1e-12)
    many = np.tile(X, (40, 1))  # several blocks of rows
    np.testing.assert_allclose(games.path_dependent(many), np.tile(values, (40, 1)), atol=1e-12)


@pytest.mark.parametrize("n_splits", [0, 1, 5, 12])
def test_background_values(rng, n_splits):
    trees = [random_tree(rng, n_splits) for _ in range(3)]
    games, X, others = (
        TreeGames.of(TreeEnsemble.of(trees)),
        random_rows(rng, 7),
        random_rows(rng, 5),
    )

    def worth(row, known, background):
        mixed = np.where([j in known for j in range(D)], row, background)
        return sum(expectation(tree, row, set(range(D))) for row in mixed for tree in trees) / len(
            background
        )

    groups = np.array([[0, 4, 0, 2], [4, 7, 2, 5]])
    values = games.interventional(X, others, groups)
    for first, last, start, end in groups:
        for row in range(first, last):
            expected = shapley(lambda s: worth(X[row], s, others[start:end]), D)  # noqa: B023
            np.testing.assert_allclose(values[row], expected, atol=1e-12)
    many = games.interventional(np.tile(X[:4], (300, 1)), others, np.array([[0, 1200, 0, 2]]))
    np.testing.assert_array_equal(many, np.tile(values[:4], (300, 1)))


def chain(d):
    """1 where every one of d features is at most 0; half of the rows pass each."""
    inner = 2 * np.arange(d)
    feature, left, right = (np.full(2 * d + 1, -1) for _ in range(3))
    feature[inner], left[inner], right[inner] = np.arange(d), inner + 2, inner + 1
    cover = np.repeat(0.5 ** np.arange(d + 1), 2)[1:]
    cover[0] = 1.0
    cover[inner] = 0.5 ** np.arange(d)
    cover[-1] = 0.5**d
    values = np.zeros(2 * d + 1)
    values[-1] = 1.0
    no = np.zeros(2 * d + 1, dtype=bool)
    return ScoreTree(feature, np.zeros(2 * d + 1), left, right, no, values, cover=cover)


@pytest.mark.parametrize("d", [64, 65, 90])
def test_paths_of_many_features(d):
    games = TreeGames.of(TreeEnsemble.of([chain(d)]))
    passing, halves = -np.ones((1, d)), np.ones((2, d))
    np.testing.assert_allclose(games.path_dependent(passing), (1 - 0.5**d) / d, rtol=1e-10)
    # Passing rows against one that fails at the first three features, and one at all.
    halves[0, 3:] = -1.0
    values = games.interventional(passing, halves[:1], np.array([[0, 1, 0, 1]]))
    np.testing.assert_allclose(values[0], np.where(np.arange(d) < 3, 1 / 3, 0.0), atol=1e-12)
    against = games.interventional(halves[:1], passing, np.array([[0, 1, 0, 1]]))
    np.testing.assert_allclose(against, -values, atol=1e-12)
    values = games.interventional(passing, halves, np.array([[0, 1, 0, 2]]))
    expected = 0.5 * np.where(np.arange(d) < 3, 1 / 3, 0.0) + 0.5 / d
    np.testing.assert_allclose(values[0], expected, atol=1e-12)


def test_leaves_without_cover_add_up():
    """CatBoost keeps leaves that no training row has reached."""
    tree = chain(3)
    tree.cover[[4, 5, 6]] = 0.0
    games = TreeGames.of(TreeEnsemble.of([tree]))
    values = games.path_dependent(-np.ones((2, 3)))
    np.testing.assert_allclose(values.sum(axis=1), 1.0 - games.expected_score(), atol=1e-12)
    assert np.isfinite(games.path_dependent(np.ones((2, 3)))).all()


def test_describe_paths():
    # x0, x1 on its left, x0 again below that.
    feature = np.array([0, 1, -1, 0, -1, -1, -1], np.int32)
    left = np.array([1, 3, -1, 4, -1, -1, -1], np.int32)
    right = np.array([2, 6, -1, 5, -1, -1, -1], np.int32)
    cover = np.array([8.0, 4.0, 4.0, 3.0, 1.0, 2.0, 1.0])
    parent, above, bit, n_path = (np.empty(7, np.int32) for _ in range(4))
    share, reach = np.empty(7), np.empty(7)
    describe_paths(
        np.array([0, 7]), feature, left, right, cover, parent, above, bit, n_path, share, reach
    )
    assert parent.tolist() == [-1, 0, 0, 1, 3, 3, 1]
    assert above.tolist() == [-1, -1, -1, -1, 1, 1, -1]
    assert bit.tolist() == [-1, 0, 0, 1, 0, 0, 1]
    assert n_path.tolist() == [0, 1, 1, 2, 2, 2, 2]
    np.testing.assert_allclose(share, [1, 0.5, 0.5, 0.75, 0.5 / 3, 1 / 3, 0.25])
    np.testing.assert_allclose(reach, cover / 8)
