"""All ways to score an ensemble return the bits of a loop in plain Python."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from scipy import sparse

from rankwise.trees import tree_ensemble
from rankwise.trees.tree_ensemble import (
    MANY_TREES,
    LeafMasks,
    ScoreTree,
    TreeEnsemble,
    _NominalWalk,
    _TreeWalk,
)
from tests.trees.random_ensembles import naive_scores, random_rows, random_score_tree

WAYS = ["masks", "walk", "few"]
# Words of 32 and of 64 leaves, one or several of them, a tree of one leaf among them.
SHAPES = {
    "stumps": [2] * 5, "32 leaves": [32, 1, 31], "64 leaves": [33, 64, 1], "words": [65, 200, 3],
    "more than eight": [5] * 10 + [1, 30],
}  # fmt: skip


@pytest.fixture
def only(monkeypatch):
    """Let an ensemble be scored in one way only."""

    def choose(way):
        suits = way == "masks"
        monkeypatch.setattr(tree_ensemble, "_suits_masks", lambda trees: suits)
        monkeypatch.setattr(tree_ensemble, "are_few", lambda *_: way == "few")
        for limit in ("WALK_ROWS", "NOMINAL_WALK_ROWS"):
            monkeypatch.setattr(tree_ensemble, limit, 0)

    return choose


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("nominal", [0.0, 0.4])
@pytest.mark.parametrize("leaves", SHAPES.values(), ids=SHAPES)
def test_scores_are_those_of_the_loop(rng, only, way, nominal, leaves):
    trees = [random_score_tree(rng, n, nominal=nominal) for n in leaves]
    ensemble = TreeEnsemble.of(trees, constant=0.25)
    only(way)
    for dtype in (np.float64, np.float32):
        X = random_rows(rng, 100, dtype)
        expected = naive_scores(trees, X, 0.25)
        for rows in (X, np.asfortranarray(X), X[::2], X[:1], X[:0]):
            scores = ensemble.score(rows)
            np.testing.assert_array_equal(
                scores, expected[:: 2 if len(rows) == 50 else 1][: len(rows)]
            )
        zeros = np.nan_to_num(X, posinf=1.0, neginf=-0.5)
        np.testing.assert_array_equal(
            ensemble.score(sparse.csr_array(zeros)), naive_scores(trees, zeros, 0.25)
        )


@pytest.mark.parametrize("way", ["masks", "walk"])
def test_threads_and_blocks_do_not_change_scores(rng, only, monkeypatch, way):
    trees = [random_score_tree(rng, 20, nominal=0.2) for _ in range(10)]
    ensemble, X = TreeEnsemble.of(trees), random_rows(rng, _TreeWalk.chunk_rows + 100)
    only(way)
    expected = ensemble.score(X, 1)
    np.testing.assert_array_equal(expected[-20:], naive_scores(trees, X[-20:]))
    monkeypatch.setattr(LeafMasks, "small", 0)
    for walk in (_TreeWalk, _NominalWalk):
        monkeypatch.setattr(walk, "small", 0)
    for n_threads in (2, 3):
        np.testing.assert_array_equal(ensemble.score(X, n_threads), expected)
    monkeypatch.setattr(tree_ensemble, "CHUNK_CELLS", 50)
    np.testing.assert_array_equal(ensemble.score(X, 2), expected)


def test_many_small_trees_are_scored_by_masks(rng, monkeypatch):
    trees = [random_score_tree(rng, 8) for _ in range(MANY_TREES)]
    many, few = TreeEnsemble.of(trees), TreeEnsemble.of(trees[1:])
    large = TreeEnsemble.of([random_score_tree(rng, 400) for _ in range(MANY_TREES)])
    X = random_rows(rng, 65)
    many.score(X[:1])
    scorers = tree_ensemble._SCORERS[many]
    assert scorers.masks is None
    assert scorers.of(many, 1) is scorers.walk
    for ensemble in (many, few, large):
        ensemble.score(X)
    assert isinstance(kept := tree_ensemble._SCORERS[many].masks, LeafMasks)
    assert tree_ensemble._SCORERS[few].masks is None
    assert tree_ensemble._SCORERS[large].masks is None
    many.score(X)
    assert tree_ensemble._SCORERS[many].masks is kept
    monkeypatch.setattr(tree_ensemble, "MOST_WALKED", 10)
    assert scorers.of(many, 1) is kept


def test_scorers_go_with_their_ensemble(rng):
    ensemble = TreeEnsemble.of([random_score_tree(rng, 3) for _ in range(MANY_TREES)])
    ensemble.score(random_rows(rng, 65))
    before = len(tree_ensemble._SCORERS)
    del ensemble
    gc.collect()
    assert len(tree_ensemble._SCORERS) == before - 1


def test_sides_of_very_many_categories_are_not_kept(rng, monkeypatch):
    trees = TreeEnsemble.of([random_score_tree(rng, 8, nominal=1.0) for _ in range(MANY_TREES)])
    assert tree_ensemble._suits_masks(trees)
    monkeypatch.setattr(tree_ensemble, "MOST_SIDES", 100)
    assert not tree_ensemble._suits_masks(trees)


@pytest.mark.parametrize("way", WAYS)
def test_a_column_of_numbers_and_categories(rng, only, way):
    """Stored trees of other libraries may ask for a threshold and for categories of one column."""
    nodes = np.array([0, 0, -1, -1, -1]), np.array([0.5, np.nan, 0, 0, 0])
    left, right = np.array([1, 2, -1, -1, -1]), np.array([4, 3, -1, -1, -1])
    missing, none = np.array([True, False, False, False, False]), np.zeros(0)
    values = np.array([0.0, 0.0, 1.0, 2.0, 3.0])
    trees = [
        ScoreTree(*nodes, left, right, missing, values, {1: (np.array(codes), none)})
        for codes in ([0.0, 0.25], [], [-3.0])
    ]
    X = np.array([[0.0], [0.25], [0.3], [-3.0], [2.0], [np.nan]])
    only(way)
    np.testing.assert_array_equal(TreeEnsemble.of(trees).score(X), naive_scores(trees, X))


@pytest.mark.parametrize("way", WAYS)
def test_leaves_alone_read_no_column(rng, only, way):
    trees = [random_score_tree(rng, 1) for _ in range(9)]
    only(way)
    for X in (np.zeros((4, 0)), sparse.csr_array((4, 2))):
        np.testing.assert_array_equal(
            TreeEnsemble.of(trees).score(X), naive_scores(trees, np.zeros((4, 1)))
        )


@pytest.mark.parametrize("way", WAYS)
def test_missing_columns_are_refused(rng, only, way):
    trees = [random_score_tree(rng, 40) for _ in range(3)]
    only(way)
    with pytest.raises(ValueError, match="X must have column 3, which the model reads"):
        TreeEnsemble.of(trees).score(np.zeros((2, 3)))
