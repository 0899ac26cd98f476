"""Drawings of trees."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from rankwise import RankingTree
from rankwise.report import plot_tree
from rankwise.report.tree_plot import break_lines, node_places


@pytest.fixture
def tree(rng):
    X = rng.normal(size=(120, 3))
    y = np.array(["bad", "fair", "good"])[np.digitize(X[:, 0] + X[:, 1], [-0.6, 0.6])]
    return RankingTree(max_depth=4, classes=["bad", "fair", "good"]).fit(X, y)


def words(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def test_every_leaf_has_a_class_and_every_node_its_shares(tree):
    figure = plot_tree(tree)
    assert isinstance(figure, Figure)
    shown = words(figure)
    leaves = [word for word in shown if word in ("bad", "fair", "good")]
    assert len(leaves) == tree.get_n_leaves()
    assert sum("<=" in word for word in shown) == tree.tree_.n_nodes - tree.get_n_leaves()
    assert len(figure.axes[0].lines) == tree.tree_.n_nodes - 1
    bars = [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]
    assert len(bars) == 3 * tree.tree_.n_nodes
    widths = np.array([bar.get_width() for bar in bars]).reshape(-1, 3)
    shares = tree.tree_.counts / tree.tree_.counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(widths / widths.sum(axis=1, keepdims=True), shares)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["bad", "fair", "good"]


def test_leaves_stand_side_by_side_under_their_parents(tree):
    place = node_places(tree.tree_, tree.get_depth())
    leaves = np.flatnonzero(tree.tree_.is_leaf)
    assert sorted(place[leaves]) == list(range(len(leaves)))
    for node in np.flatnonzero(~tree.tree_.is_leaf):
        left, right = place[tree.tree_.left[node]], place[tree.tree_.right[node]]
        assert left < place[node] < right
    order = leaves[np.argsort(place[leaves])]
    X = np.random.default_rng(0).normal(size=(400, 3))
    assert set(tree.apply(X)) <= set(order)


def test_upper_levels_alone(tree, tmp_path):
    figure = plot_tree(tree, max_depth=1, feature_names=["a", "b", "c"], class_names="xyz")
    shown = words(figure)
    assert shown.count("...") + sum(word in "xyz" for word in shown) == 2
    assert any(word.startswith(("a <=", "b <=", "c <=")) for word in shown)
    figure.savefig(tmp_path / "tree.svg")
    root = plot_tree(RankingTree().fit([[0.0], [0.0]], [1, 1]))
    assert words(root) == ["2", "1"]


def test_long_conditions_are_broken():
    assert break_lines("x <= 3") == "x <= 3"
    broken = break_lines("colour in {red, blue, green, yellow} or missing")
    assert broken.replace("\n", " ") == "colour in {red, blue, green, yellow} or missing"
    assert max(map(len, broken.split("\n"))) <= 24
