"""Sums over the leaves of many trees against a loop over the trees."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import RankingForest
from rankwise.trees import leaves as leaf_sums
from rankwise.trees.growth import Limits, grow
from rankwise.trees.leaves import LeafSums


def _trees(rng):
    """Trees on a column of numbers with gaps and one of categories."""
    X = np.c_[rng.normal(size=200).round(1), rng.integers(0, 5, 200)]
    X[rng.random(X.shape) < 0.2] = np.nan
    y = rng.integers(0, 3, 200)
    trees = [
        grow(X, y, 3, n_categories=[0, 5], limits=Limits(max_depth=depth)) for depth in (0, 2, 5)
    ]
    return X, trees


def _shares(tree):
    return tree.counts / tree.counts.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("has_numba", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_have_the_bits_of_a_loop(has_numba, dtype, rng, monkeypatch):
    monkeypatch.setattr(leaf_sums, "numba_is_imported", lambda: has_numba)
    X, trees = _trees(rng)
    assert sum(int(np.diff(tree.category_indptr).any()) for tree in trees) > 0
    X = X.astype(dtype)
    X[:5, 1] = 7  # a code that no node names
    expected = np.zeros((200, 3))
    for tree in trees:
        expected += _shares(tree)[tree.apply(X)]
    found = np.zeros((200, 3))
    LeafSums.of(trees, _shares).add(X, found)
    np.testing.assert_array_equal(found, expected)


def test_many_rows_are_summed_in_chunks(rng, monkeypatch):
    monkeypatch.setattr(leaf_sums, "CHUNK_ROWS", 7)
    monkeypatch.setattr(leaf_sums, "FEW_CELLS", 0)
    X, trees = _trees(rng)
    whole, alone = np.zeros((200, 3)), np.zeros((200, 3))
    sums = LeafSums.of(trees, _shares)
    sums.add(X, whole)
    for row in range(200):
        sums.add(X[row : row + 1], alone[row : row + 1])
    np.testing.assert_array_equal(whole, alone)


def test_rows_too_narrow_are_refused(rng):
    X, trees = _trees(rng)
    with pytest.raises(ValueError, match="X must have column 1"):
        LeafSums.of(trees, _shares).add(X[:, :1], np.zeros((200, 3)))


def test_a_forest_that_was_fitted_again_has_other_sums(rng):
    X, y = rng.normal(size=(80, 2)), rng.integers(0, 3, 80)
    forest = RankingForest(n_estimators=5, random_state=0).fit(X, y)
    first = forest.rank_score(X)
    expected = RankingForest(n_estimators=5, random_state=0).fit(X, 2 - y).rank_score(X)
    assert (first != expected).any()
    np.testing.assert_array_equal(forest.fit(X, 2 - y).rank_score(X), expected)
