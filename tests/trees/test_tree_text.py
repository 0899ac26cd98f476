"""Fitted trees in words."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from rankwise import LambdaMART, PRank, RankingTree
from rankwise.trees import export_text
from rankwise.trees.column_table import ColumnTable
from rankwise.trees.tree import Tree


@pytest.fixture
def mixed():
    """Four kinds of splits: text, ordered categories, a number, missing against present."""
    pd = pytest.importorskip("pandas")
    n = 64
    bits = np.arange(n)[:, None] >> np.arange(4) & 1
    frame = pd.DataFrame({
        "colour": np.where(bits[:, 0], np.where(np.arange(n) % 3, "red", "blue"), "green"),
        "size": pd.Categorical(
            np.where(bits[:, 1], "large", np.where(np.arange(n) % 3, "small", "mid")),
            categories=["small", "mid", "large"], ordered=True,
        ),
        "weight": np.where(bits[:, 2], 2.0, -1.0) + 0.001 * np.arange(n) / n,
        "age": np.where(bits[:, 3], np.nan, np.arange(n) % 5),
    })  # fmt: skip
    y = bits @ [8, 4, 2, 1]
    return frame, y


def test_words_of_every_kind_of_split(mixed):
    frame, y = mixed
    tree = RankingTree().fit(frame, y)
    assert tree.score(frame, y) == 0
    text = export_text(tree)
    lines = text.splitlines()
    assert lines[0] in ("colour not in {green}", "colour in {green}")
    assert sum(line.endswith("size <= mid") for line in lines) == 2
    assert sum(line.endswith("size > mid") for line in lines) == 2
    assert sum("weight <= 0.50" in line for line in lines) == 4
    assert sum(line.endswith("age is present") for line in lines) == 8
    assert sum(line.endswith("age is missing") for line in lines) == 8
    assert sum("class " in line for line in lines) == tree.get_n_leaves() == 16
    assert len(lines) == tree.tree_.n_nodes - 1 + 16


@pytest.mark.parametrize(
    ("n_levels", "shift"), [(6, None), (6, -9.0), (6, 9.0), (600, None), (20_000, None)]
)
def test_thresholds_of_statistics_name_categories(n_levels, shift, rng):
    """Rows of all levels, unknown ones and missing ones follow the words to their score.

    With a shift, all levels and unknown ones are on one side of the thresholds: those of rows in
    training come from other statistics than the last.
    """
    levels = np.array([f"brand{k:03d}" for k in range(n_levels)], dtype=object)
    statistics = rng.normal(size=n_levels).astype(np.float32).astype(np.float64)
    table = ColumnTable({0: levels}, {}, {0: statistics}, {0: 0.25})
    X = np.append(levels[np.arange(600) % n_levels], [None] * 40)[:, None]
    numbers = table.encode(X).rows.astype(float)
    y = np.nan_to_num(numbers[:, 0], nan=9.0) > 0.5
    ranker = LambdaMART(1, min_samples_leaf=2, max_leaf_nodes=5)
    ranker.fit(numbers, y + np.arange(640) % 2, qid=np.arange(640) % 16)
    ranker.columns_ = table
    if shift is not None:
        ranker.columns_ = ColumnTable({0: levels}, {}, {0: np.full(6, shift)}, {0: shift})
    lines = export_text(ranker, digits=17).splitlines()
    assert "<=" not in "".join(lines)
    assert shift is not None or any(" in {brand" in line for line in lines)
    if n_levels > 6:
        assert any(line.endswith(" more}") for line in lines)
        return
    for value in [*levels[:6], "unheard", None]:
        depth = 0
        for line in lines:
            words = line.rpartition("|   ")[2]
            if line.count("|   ") != depth:
                continue
            if "score" in words:
                assert float(words.split()[1]) == ranker.predict(np.array([[value]], object))[0]
                break
            names = words[words.find("{") + 1 : words.find("}")].split(", ")
            holds = (value in names) != (" not in {" in words) and value is not None
            holds = holds or (value is None and words.endswith("missing"))
            holds = holds or (value is not None and words.endswith("is present"))
            depth += holds
        else:
            raise AssertionError(f"{value} reaches no leaf")


def test_every_row_follows_the_words(mixed):
    """The leaf that the conditions lead to, read from the text, is what predict says."""
    frame, y = mixed
    frame = frame.assign(age=frame["age"].where(np.arange(64) % 4 > 0, 1.0))
    tree = RankingTree(max_depth=3).fit(frame, y)
    lines = export_text(tree, digits=12).splitlines()
    order = {"small": 0, "mid": 1, "large": 2}

    def holds(condition, row):
        missing_too = condition.endswith(" or missing")
        name, _, rest = condition.removesuffix(" or missing").partition(" ")
        value = row[name]
        absent = value is None or value != value
        if rest in ("is missing", "is present"):
            return absent == (rest == "is missing")
        if absent:
            return missing_too
        if "{" in rest:
            inside = value in rest[rest.index("{") + 1 : -1].split(", ")
            return inside != rest.startswith("not")
        kind, bound = rest.split(" ")
        if name == "size":
            value, bound = order[value], order[bound]
        return (value <= float(bound)) == (kind == "<=")

    for row, predicted in zip(frame.to_dict("records"), tree.predict(frame), strict=True):
        depth, at = 0, 0
        while True:
            level = lines[at].count("|   ")
            text = lines[at].replace("|   ", "")
            if level == depth and text.startswith("class "):
                assert text == f"class {predicted}"
                break
            if level == depth and holds(text, row):
                depth += 1
            at += 1


def test_categories_and_missing_values_are_those_that_reach_a_node():
    X = np.array([[0.0], [1], [2], [3], [np.nan]] * 4)
    tree = RankingTree(categorical_features=[0]).fit(X, [0, 1, 2, 3, 3] * 4)
    assert export_text(tree).splitlines() == [
        "x0 in {0, 1}",
        "|   x0 in {0}",
        "|   |   class 0",
        "|   x0 not in {0}",
        "|   |   class 1",
        "x0 not in {0, 1} or missing",
        "|   x0 in {2}",
        "|   |   class 2",
        "|   x0 not in {2} or missing",
        "|   |   class 3",
    ]
    one = RankingTree(categorical_features=[0]).fit([[5.0], [np.nan], [6.0]], [0, 1, 0])
    assert export_text(one).splitlines()[0] in ("x0 in {5, 6}", "x0 is present")


def test_missing_is_named_where_fit_had_some():
    X = np.array([[0.0, 1], [1, 2], [np.nan, 3], [np.nan, 3]])
    text = export_text(RankingTree(max_depth=1).fit(X, [0, 1, 1, 1]))
    assert text.splitlines() == ["x0 <= 0.5", "|   class 0", "x0 > 0.5 or missing", "|   class 1"]
    text = export_text(RankingTree(max_depth=1).fit(X[:2], [0, 1]))
    assert "missing" not in text


def test_names_digits_depth_and_weights(rng):
    X = rng.normal(size=(100, 2)) * 1e-5
    y = np.digitize(X[:, 0], [-1e-5, 0, 1e-5])
    tree = RankingTree().fit(X, y, sample_weight=np.full(100, 0.5))
    names = {"feature_names": ["left", "right"], "class_names": ["a", "b", "c", "d"]}
    text = export_text(tree, **names, digits=2, show_weights=True)
    assert text.startswith("left <= ")
    assert "e-0" in text
    assert "x0" not in text
    assert f"class a (a {np.sum(y == 0) / 2:g}, b 0, c 0, d 0)" in text
    short = export_text(tree, max_depth=1)
    assert short.count("... 2 leaves") == 2
    assert "class" not in short
    assert export_text(tree, max_depth=0) == "... 4 leaves"
    assert export_text(RankingTree().fit(X, y * 0)) == "class 0"
    with pytest.raises(ValueError, match="feature_names must hold 2 names, got 1"):
        export_text(tree, feature_names=["left"])
    with pytest.raises(ValueError, match="class_names must hold 4 names, got 2"):
        export_text(tree, class_names=["a", "b"])


def test_only_fitted_trees_have_words():
    for draw in (export_text, pytest.importorskip("rankwise.report").plot_tree):
        with pytest.raises(NotFittedError, match="This RankingTree instance is not fitted yet"):
            draw(RankingTree())
        others = (DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]), PRank(), RankingTree, None)
        for other in others:
            with pytest.raises(TypeError, match="estimator must be a fitted RankingTree, got"):
                draw(other)


def test_trees_deeper_than_recursion_goes():
    n = 3001
    inner = np.arange(n) % 2 == 0  # node 2 t has the leaf 2 t + 1 and the node 2 t + 2
    inner[-1] = False
    chain = Tree(
        feature=np.where(inner, 0, -1).astype(np.int32),
        threshold=np.where(inner, np.arange(n) / 2.0, np.nan),
        left=np.where(inner, np.arange(n) + 1, -1).astype(np.int32),
        right=np.where(inner, np.arange(n) + 2, -1).astype(np.int32),
        missing_left=np.zeros(n, dtype=bool),
        category_indptr=np.zeros(n + 1, dtype=np.int64),
        categories=np.zeros(0, dtype=np.int32),
        counts=np.ones((n, 2)),
        gain=inner * 1.0,
        depth=((np.arange(n) + 1) // 2).astype(np.int32),
    )
    fitted = SimpleNamespace(
        tree_=chain, columns_=ColumnTable({}, {}), classes_=np.array([0, 1]),
        node_classes_=np.arange(n) % 2, has_missing_=np.array([False]),
    )  # fmt: skip
    lines = export_text(fitted).splitlines()
    assert lines[:4] == ["x0 <= 0", "|   class 1", "x0 > 0", "|   x0 <= 1"]
    assert len(lines) == 1501 + 3000
