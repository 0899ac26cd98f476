"""Drawings of trees."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from sklearn.exceptions import NotFittedError

import rankwise
from rankwise import LambdaMART, RankingForest, RankingTree
from rankwise.report import plot_tree
from rankwise.report.model_plots import break_lines, node_places
from rankwise.trees import export_text


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


@pytest.fixture
def judged(rng):
    X = pd.DataFrame(
        {
            "bm25": rng.gamma(2, 3, 600),
            "age": rng.normal(size=600),
            "kind": rng.choice(list("abc"), 600),
        }
    )
    X.loc[rng.random(600) < 0.2, "age"] = np.nan
    utility = X["bm25"] / 3 + X["age"].fillna(2) + 2 * (X["kind"] == "a") + rng.normal(size=600)
    return X, np.digitize(utility, [1, 3, 5]), np.arange(600) % 20


def test_scores_and_gains_of_one_tree_of_many(judged):
    X, y, qid = judged
    ranker = LambdaMART(4, max_leaf_nodes=8).fit(X, y, qid=qid)
    tree = ranker._tree_ensemble().score_trees()[3]
    figure = plot_tree(ranker, tree=3)
    shown = words(figure)
    leaves = np.flatnonzero(tree.feature < 0)
    assert {f"{value:.3g}" for value in tree.values[leaves]} <= set(shown)
    inner = np.flatnonzero(tree.feature >= 0)
    notes = {f"{tree.cover[node]:g}, gain {tree.gain[node]:.3g}" for node in inner}
    assert notes | {f"{tree.cover[node]:g}" for node in leaves} <= set(shown)
    bars = [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]
    widths = np.sort([bar.get_width() for bar in bars])
    lengths = np.sort(np.abs(tree.values[leaves]))
    np.testing.assert_allclose(widths / widths[-1], lengths / lengths[-1])
    lines = [line for line in figure.axes[0].lines if np.ptp(line.get_ydata()) == 0]
    np.testing.assert_allclose([np.ptp(line.get_xdata()) for line in lines], widths[-1])
    assert len(lines) == len(inner)
    assert shown != words(plot_tree(ranker, tree=0))
    assert not figure.legends


def test_drawing_tells_where_missing_values_and_categories_go(judged):
    X, y, qid = judged
    ranker = LambdaMART(1, max_leaf_nodes=8, reg_lambda=0.0, cat_l2=0.0, truncation_level=None)
    ranker.fit(X, y, qid=qid)
    conditions = [word for word in words(plot_tree(ranker)) if word[:4] in ("bm25", "age ", "kind")]
    rules = export_text(ranker, digits=3)
    assert any(word.startswith("age") for word in conditions)
    for condition in conditions:
        if condition.startswith("age"):
            left = condition.replace("\n", " ")
            assert left.endswith(("missing: right", "or missing"))
            assert f"{left.removesuffix(' missing: right')}\n" in rules
        else:
            assert "missing" not in condition
    assert any(word.startswith(("kind in {", "kind not in {")) for word in conditions)
    assert "age <= " in " ".join(words(plot_tree(ranker, feature_names=["a", "age", "b"])))
    assert words(plot_tree(ranker, max_depth=0))[1] == "..."


@pytest.mark.parametrize("name", ["LightGBMRanker", "XGBoostRanker", "CatBoostRanker"])
def test_trees_of_boosting_libraries(name, judged):
    pytest.importorskip(name.removesuffix("Ranker").lower())
    X, y, qid = judged
    ranker = getattr(rankwise, name)(3, random_state=0, n_jobs=1).fit(X, y, qid=qid)
    tree = ranker._tree_ensemble().score_trees()[2]
    shown = words(plot_tree(ranker, tree=2))
    assert {f"{value:.3g}" for value in tree.values[tree.feature < 0]} <= set(shown)
    assert any("gain" in word for word in shown) == (name != "CatBoostRanker")
    gains = ranker._tree_ensemble().gain
    if gains is not None:  # the library adds up the same gains
        features = ranker._tree_ensemble().feature
        own = np.bincount(features[features >= 0], gains[features >= 0], minlength=3)
        np.testing.assert_allclose(own / own.sum(), ranker.feature_importances_, rtol=1e-4)


def test_wrong_trees_are_named(judged):
    X, y, qid = judged
    ranker = LambdaMART(2).fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="tree must be from 0 to 1, got 2"):
        plot_tree(ranker, tree=2)
    with pytest.raises(ValueError, match="class_names must be None for LambdaMART"):
        plot_tree(ranker, class_names=["low", "high"])
    with pytest.raises(ValueError, match="feature_names must hold 3 names, got 1"):
        plot_tree(ranker, feature_names=["x"])
    with pytest.raises(ValueError, match="tree must be 0 for a single tree, got 1"):
        plot_tree(RankingTree().fit([[0.0], [1.0]], [0, 1]), tree=1)
    with pytest.raises(NotFittedError):
        plot_tree(LambdaMART())
    with pytest.raises(ValueError, match="LambdaMART has no trees: it had nothing to learn"):
        plot_tree(LambdaMART().fit(np.ones((6, 2)), [0, 1] * 3, qid=[0, 0, 0, 1, 1, 1]))
    forest = RankingForest(2, max_depth=2, random_state=0).fit(X, y, qid=qid)
    assert any(word.startswith("0.") for word in words(plot_tree(forest, tree=1)))
