"""The ranking forest: bags, columns drawn, rows out of bag, the same bits for any threads."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import train_test_split

import rankwise
from rankwise import RankingForest, RankingTree
from rankwise.groups import QueryGroups
from rankwise.row_order import canonical_order
from rankwise.trees.leaves import leaf_classes


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(300, 6))
    X[rng.random(X.shape) < 0.05] = np.nan
    signal = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1] * X[:, 2])
    return X, np.digitize(signal + 0.4 * rng.normal(size=300), [-0.8, 0, 0.8])


def same_forests(a, b):
    for one, other in zip(a.trees_, b.trees_, strict=True):
        for name, array in vars(one).items():
            np.testing.assert_array_equal(array, getattr(other, name))


def test_mean_of_its_trees(rows):
    X, y = rows
    forest = RankingForest(n_estimators=7, random_state=0).fit(X, y)
    shares = [
        (tree.counts / tree.counts.sum(axis=1, keepdims=True))[tree.apply(X)]
        for tree in forest.trees_
    ]
    np.testing.assert_allclose(forest.predict_proba(X), np.mean(shares, axis=0), atol=1e-12)
    np.testing.assert_allclose(forest.rank_score(X), forest.predict_proba(X) @ np.arange(4))
    expected = leaf_classes(np.mean(shares, axis=0), "median", forest.distance_)
    np.testing.assert_array_equal(forest.predict(X), expected)
    assert forest.feature_importances_.sum() == pytest.approx(1)
    assert (forest.feature_importances_ > 0).all()


def test_a_tree_of_a_bag_is_the_tree_of_repeated_rows(rows):
    """Redrawn here: bags over rows in the order of their content."""
    X, y = rows
    forest = RankingForest(n_estimators=3, max_features=None, random_state=5).fit(X, y)
    order, sizes = canonical_order(X, y.astype(float), QueryGroups.single(300))
    assert sizes.tolist() == [300]
    drawn = np.random.RandomState(5).randint(300, size=(3, 300))
    for tree, bag in zip(forest.trees_, drawn, strict=True):
        repeated = RankingTree().fit(X[order][bag], y[order][bag])
        np.testing.assert_array_equal(repeated.tree_.counts, tree.counts)
        np.testing.assert_array_equal(repeated.tree_.threshold, tree.threshold)
    assert len({tree.n_nodes for tree in forest.trees_}) > 1


def test_without_bags_and_draws_all_trees_are_one(rows):
    X, y = rows
    forest = RankingForest(n_estimators=3, max_features=None, bootstrap=False).fit(X, y)
    tree = RankingTree().fit(X, y)
    for one in forest.trees_:
        np.testing.assert_array_equal(one.threshold, tree.tree_.threshold)
    np.testing.assert_array_equal(forest.predict(X), tree.predict(X))


def test_bags_of_whole_queries(rows):
    X, y = rows
    qid = np.arange(300) % 15
    forest = RankingForest(n_estimators=6, random_state=0).fit(X, y, qid=qid)
    size = np.bincount(qid, minlength=15)
    for tree in forest.trees_:
        assert tree.counts[0].sum() == 15 * size[0]  # as many queries as there are
    order, sizes = canonical_order(X, y.astype(float), QueryGroups.from_qid(qid, 300))
    drawn = np.random.RandomState(0).randint(15, size=(6, 15))
    starts = np.cumsum(sizes) - sizes
    for tree, queries in zip(forest.trees_, drawn, strict=True):
        bag = np.concatenate([order[starts[q] : starts[q] + sizes[q]] for q in queries])
        np.testing.assert_array_equal(tree.counts[0], np.bincount(y[bag], minlength=4))
    one = RankingForest(n_estimators=2, random_state=0).fit(X, y, qid=np.zeros(300))
    same_forests(one, RankingForest(n_estimators=2, random_state=0).fit(X, y))


@pytest.mark.parametrize("by_query", [False, True])
def test_rows_out_of_bag(rows, by_query):
    X, y = rows
    qid = np.arange(300) % 20 if by_query else None
    forest = RankingForest(n_estimators=12, oob_score=True, random_state=1).fit(X, y, qid=qid)
    groups = QueryGroups.from_qid(qid, 300)
    order, sizes = canonical_order(X, y.astype(float), groups)
    unit = np.repeat(np.arange(len(sizes)), sizes) if by_query else np.arange(300)
    drawn = np.random.RandomState(1).randint(unit[-1] + 1, size=(12, unit[-1] + 1))
    losses = []
    for place, row in enumerate(order):
        seen_by = [unit[place] in bag for bag in drawn]
        shares = [
            tree.counts[tree.apply(X[[row]])[0]] / tree.counts[tree.apply(X[[row]])[0]].sum()
            for tree, seen in zip(forest.trees_, seen_by, strict=True)
            if not seen
        ]
        if not shares:
            assert np.isnan(forest.oob_proba_[row]).all()
            continue
        np.testing.assert_allclose(forest.oob_proba_[row], np.mean(shares, axis=0), atol=1e-12)
        predicted = leaf_classes(np.sum(shares, axis=0)[None], "median", forest.distance_)
        losses.append(abs(predicted[0] - y[row]))
    assert forest.oob_score_ == pytest.approx(-np.mean(losses))
    again = RankingForest(n_estimators=12, random_state=1).fit(X, y, qid=qid)
    assert not hasattr(again, "oob_score_")


def test_rows_out_of_bag_need_bags(rows):
    with pytest.raises(ValueError, match="oob_score=True needs bootstrap=True"):
        RankingForest(oob_score=True, bootstrap=False).fit(*rows)
    one = RankingForest(n_estimators=1, oob_score=True, random_state=0).fit([[1.0]], [2])
    assert np.isnan(one.oob_score_)


@pytest.mark.parametrize("method", ["exact", "histogram"])
def test_bits_for_any_number_of_threads(rows, method, monkeypatch):
    X, y = rows
    expected = RankingForest(
        n_estimators=8, n_jobs=1, method=method, oob_score=True, random_state=3
    ).fit(X, y)
    for n_jobs, threads in ((2, "2"), (5, "1"), (None, "2"), (-1, "2"), (-9, "1")):
        monkeypatch.setenv("RANKWISE_NUM_THREADS", threads)
        forest = RankingForest(
            n_estimators=8, n_jobs=n_jobs, method=method, oob_score=True, random_state=3
        ).fit(X, y)
        same_forests(expected, forest)
        assert forest.oob_score_ == expected.oob_score_
        np.testing.assert_array_equal(forest.predict_proba(X), expected.predict_proba(X))
        np.testing.assert_array_equal(forest.feature_importances_, expected.feature_importances_)


@pytest.mark.parametrize(
    ("max_features", "drawn"),
    [("sqrt", 2), ("log2", 3), (4, 4), (0.5, 3), (1.0, 6), (None, 6), (1, 1), (0.01, 1)],
)
def test_number_of_columns_drawn(max_features, drawn):
    """The best of the drawn columns splits the root: it may be any but the worst drawn - 1."""
    y = np.repeat([0, 1], 100)
    X = np.tile(y[:, None], 6).astype(float)
    for column in range(6):
        X[: 10 * column, column] = 1.0  # the more rows are wrong the worse
    forest = RankingForest(
        n_estimators=150, max_features=max_features, max_depth=1, bootstrap=False, random_state=0
    ).fit(X, y)
    assert {int(tree.feature[0]) for tree in forest.trees_} == set(range(7 - drawn))


def test_few_columns_make_different_trees(rows):
    X, y = rows
    one_column = RankingForest(n_estimators=12, max_features=1, max_depth=1, bootstrap=False)
    roots = {
        int(tree.feature[0]) for tree in one_column.set_params(random_state=0).fit(X, y).trees_
    }
    assert len(roots) > 2


def test_better_than_one_tree(rng):
    X = rng.normal(size=(1200, 8))
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=1200), [-1, -0.2, 0.2, 1])
    train, test, y_train, y_test = train_test_split(X, y, random_state=0)
    forest = RankingForest(random_state=0, oob_score=True).fit(train, y_train)
    score = forest.score(test, y_test)
    assert score > RankingTree(max_depth="cv").fit(train, y_train).score(test, y_test) + 0.05
    assert forest.oob_score_ == pytest.approx(score, abs=0.1)


def test_categories_are_saved(tmp_path):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"text": rng.choice(["a", "b", "c"], 80), "x": rng.normal(size=80)})
    frame.loc[3, "text"] = None
    y = (frame["text"] == "b") + 0
    forest = RankingForest(n_estimators=5, random_state=0).fit(frame, y)
    again = rankwise.load(forest.save(tmp_path / "forest"))
    same_forests(forest, again)
    np.testing.assert_array_equal(again.predict(frame), forest.predict(frame))
    assert forest.score(frame, y) > -0.1


# Weights -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("by_query", [False, True])
@pytest.mark.parametrize("method", ["exact", "histogram"])
def test_whole_weights_are_repeated_rows_bit_for_bit(rows, rng, bootstrap, by_query, method):
    X, y = rows
    weight = rng.integers(0, 4, 300)
    again = np.repeat(np.arange(300), weight)
    qid = np.arange(300) // 15 if by_query else None
    forest = RankingForest(
        n_estimators=4, bootstrap=bootstrap, min_samples_leaf=3, method=method, random_state=0
    )
    repeated = clone(forest).fit(X[again], y[again], qid=None if qid is None else qid[again])
    same_forests(forest.fit(X, y, qid=qid, sample_weight=weight), repeated)


@pytest.mark.parametrize("by_query", [False, True])
def test_order_of_weighted_rows_does_not_matter(rows, rng, by_query):
    X, y = rows
    X, y = np.concatenate([X, X[:50]]), np.concatenate([y, y[:50]])  # equal rows, other weights
    weight, order = rng.random(350), rng.permutation(350)
    qid = np.arange(350) // 35 if by_query else np.zeros(350)
    forest = RankingForest(n_estimators=4, random_state=0)
    shuffled = clone(forest).fit(X[order], y[order], qid=qid[order], sample_weight=weight[order])
    same_forests(forest.fit(X, y, qid=qid, sample_weight=weight), shuffled)


def test_fractional_weights_are_drawn_in_proportion(rng):
    X, y = np.arange(4.0)[:, None], np.arange(4)
    weight = np.array([0.1, 0.2, 0.3, 0.4])
    forest = RankingForest(n_estimators=3000, random_state=0).fit(X, y, sample_weight=weight)
    roots = np.array([tree.counts[0] for tree in forest.trees_])
    np.testing.assert_allclose(roots.sum(axis=1), 1.0)  # the sum of the weights
    np.testing.assert_allclose(roots.mean(axis=0), weight, atol=0.02)
    assert set(np.rint(roots.ravel() * 4).tolist()) <= {0, 1, 2, 3, 4}


def test_many_repetitions_are_drawn_like_fractions(rng):
    X, y = np.arange(3.0)[:, None], np.arange(3)
    weight = np.array([1e9, 2e9, 1e9])
    forest = RankingForest(n_estimators=200, random_state=0).fit(X, y, sample_weight=weight)
    roots = np.array([tree.counts[0] for tree in forest.trees_])
    np.testing.assert_allclose(roots.sum(axis=1), 4e9)
    np.testing.assert_allclose(roots.mean(axis=0) / 4e9, [0.25, 0.5, 0.25], atol=0.06)


def test_weighted_rows_out_of_bag(rows, rng):
    X, y = rows
    weight = rng.integers(0, 3, 300).astype(float)
    forest = RankingForest(n_estimators=30, oob_score=True, random_state=1)
    forest.fit(X, y, sample_weight=weight)
    assert np.isnan(forest.oob_proba_[weight == 0]).all()
    known = ~np.isnan(forest.oob_proba_[:, 0])
    predicted = leaf_classes(forest.oob_proba_[known], "median", forest.distance_)
    expected = np.average(np.abs(predicted - y[known]), weights=weight[known])
    # A sum of shares may tell two classes apart that tie in the mean.
    assert forest.oob_score_ == pytest.approx(-expected, abs=0.01)


def test_weights_move_the_forest(rows):
    X, y = rows
    high = np.where(y == 3, 20.0, 1.0)
    plain = RankingForest(n_estimators=10, max_depth=2, random_state=0).fit(X, y)
    heavy = RankingForest(n_estimators=10, max_depth=2, random_state=0)
    heavy.fit(X, y, sample_weight=high)
    assert (heavy.predict(X) == 3).sum() > (plain.predict(X) == 3).sum()
    assert (heavy.rank_score(X) > plain.rank_score(X)).mean() > 0.9
