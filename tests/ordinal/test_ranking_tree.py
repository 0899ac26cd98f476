"""The ranking tree: depth, leaf rules, weights, pruning, categories and missing values."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold
from sklearn.tree import DecisionTreeClassifier

import rankwise
from rankwise import RankingTree
from rankwise.groups import QueryGroups
from rankwise.trees.leaves import leaf_classes
from rankwise.trees.node_splits import make_criterion
from rankwise.tuning import fold_splits

RULES = ["median", "mode", "mean", "probabilities"]
FRAMES = ["pandas", "polars"]


@pytest.fixture
def rows(rng):
    """200 rows of four noisy classes, one column with missing values, one of whole numbers."""
    X = rng.normal(size=(200, 4))
    X[:, 3] = rng.integers(0, 5, 200)
    y = np.digitize(X[:, 0] + 0.5 * X[:, 3] - 1 + 0.6 * rng.normal(size=200), [-0.8, 0.2, 1.1])
    X[rng.random(200) < 0.2, 1] = np.nan
    return X, y


def same_trees(a, b):
    for name, array in vars(a.tree_).items():
        np.testing.assert_array_equal(array, getattr(b.tree_, name), err_msg=name)


# Depth -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("params", [
    {}, {"max_leaf_nodes": 9}, {"ccp_alpha": 300.0}, {"leaf": "mode", "criterion": "gini"},
    {"method": "histogram", "max_bins": 16}, {"min_samples_leaf": 4, "leaf": "mean"},
])  # fmt: skip
def test_depth_by_folds_of_rows_is_a_loop(rows, params):
    X, y = rows
    depths = [1, 2, 3, 4, 6, 9]
    tree = RankingTree(max_depth=depths, cv=4, **params).fit(X, y)
    losses = np.zeros((4, len(depths)))
    sizes = []
    splits = fold_splits(X, y.astype(float), QueryGroups.single(200), 4)
    for fold, (train, test) in enumerate(splits):
        sizes.append(len(test))
        for place, depth in enumerate(depths):
            one = RankingTree(max_depth=depth, **params).fit(X[train], y[train])
            losses[fold, place] = -one.score(X[test], y[test])
    np.testing.assert_allclose(tree.cv_results_["fold_test_scores"], -losses, atol=1e-12)
    mean = np.average(losses, axis=0, weights=sizes)
    np.testing.assert_allclose(tree.cv_results_["mean_test_score"], -mean, atol=1e-12)
    assert tree.cv_results_["max_depth"].tolist() == depths
    assert tree.max_depth_ == depths[int(np.argmin(mean.round(12)))]
    same_trees(tree, RankingTree(max_depth=tree.max_depth_, **params).fit(X, y))


def test_folds_are_of_queries(rows):
    X, y = rows
    qid = np.arange(200) % 10
    tree = RankingTree(max_depth="cv", cv=GroupKFold(5)).fit(X, y, qid=qid)
    assert tree.cv_results_["max_depth"].tolist() == list(range(1, 21))
    codes = QueryGroups.from_qid(qid, 200).codes()
    for fold, (train, test) in enumerate(GroupKFold(5).split(X, y, codes)):
        assert not set(qid[train]) & set(qid[test])
        one = RankingTree(max_depth=3).fit(X[train], y[train])
        got = tree.cv_results_["fold_test_scores"][fold, 2]
        assert got == pytest.approx(one.score(X[test], y[test]))
    by_number = RankingTree(max_depth=[2, 4], cv=5).fit(X, y, qid=qid.astype(str))
    first = fold_splits(X, y.astype(float), QueryGroups.from_qid(qid.astype(str), 200), 5)[0]
    assert len(set(qid[first[1]])) == 2
    one = RankingTree(max_depth=4).fit(X[first[0]], y[first[0]])
    assert by_number.cv_results_["fold_test_scores"][0, 1] == pytest.approx(
        one.score(X[first[1]], y[first[1]])
    )


@pytest.mark.parametrize("params", [{}, {"max_leaf_nodes": 12}])
def test_depth_on_validation_rows(rows, params):
    X, y = rows
    depths = [1, 3, 5, 8]
    validation = {"X_val": X[120:], "y_val": y[120:]}
    tree = RankingTree(max_depth=depths, **params).fit(X[:120], y[:120], **validation)
    trees = [RankingTree(max_depth=depth, **params).fit(X[:120], y[:120]) for depth in depths]
    scores = [one.score(X[120:], y[120:]) for one in trees]
    np.testing.assert_allclose(tree.cv_results_["fold_test_scores"], [scores])
    assert tree.max_depth_ == depths[int(np.argmax(scores))]
    same_trees(tree, trees[int(np.argmax(scores))])
    assert RankingTree(max_depth="val").fit(X[:120], y[:120], **validation).max_depth_ >= 1
    fixed = RankingTree(max_depth=2).fit(X[:120], y[:120], **validation)
    assert not hasattr(fixed, "cv_results_")


def test_deeper_is_chosen_only_where_it_is_better():
    X = np.repeat([[0.0], [1.0]], 30, axis=0)
    tree = RankingTree(max_depth="cv").fit(np.hstack([X, np.arange(60)[:, None] % 7]), X[:, 0])
    assert tree.max_depth_ == 1


@pytest.mark.parametrize("depth", [[], [0], [2, -1], [1.5], [[1, 2]]])
def test_depths_that_are_none_are_named(rows, depth):
    with pytest.raises(ValueError, match="max_depth must be None, a whole number >= 1"):
        RankingTree(max_depth=depth).fit(*rows)


def test_val_needs_validation_rows(rows):
    with pytest.raises(ValueError, match='max_depth="val" needs validation data'):
        RankingTree(max_depth="val").fit(*rows)


# Leaf rules --------------------------------------------------------------------------------------


@pytest.mark.parametrize("leaf", RULES)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_leaf_rules(rows, leaf, n_classes):
    X, y = rows
    y = np.minimum(y, n_classes - 1)
    tree = RankingTree(max_depth=3, leaf=leaf, rank_distance="squared").fit(X, y)
    counts = tree.tree_.counts[tree.apply(X)]
    np.testing.assert_array_equal(tree.predict(X), leaf_classes(counts, leaf, tree.distance_))
    np.testing.assert_array_equal(tree.predict(X), tree.node_classes_[tree.apply(X)])
    np.testing.assert_allclose(tree.predict_proba(X), counts / counts.sum(1, keepdims=True))
    np.testing.assert_allclose(tree.rank_score(X), tree.predict_proba(X) @ np.arange(n_classes))
    margins = tree.decision_function(X)
    chosen = margins > 0 if n_classes == 2 else margins.argmax(axis=1)
    np.testing.assert_array_equal(chosen, tree.predict(X))
    if leaf == "mean":
        reached = (tree.rank_score(X)[:, None] >= tree.thresholds_).sum(axis=1)
        np.testing.assert_array_equal(tree.predict(X), reached)


def test_ties_in_leaves():
    """Two rows of each class in one leaf."""
    X, y = np.zeros((6, 1)), [0, 0, 1, 1, 2, 2]
    predicted = {leaf: RankingTree(leaf=leaf).fit(X, y).predict([[0.0]])[0] for leaf in RULES}
    assert predicted == {"median": 1, "mode": 0, "mean": 1, "probabilities": 1}
    halves = {leaf: RankingTree(leaf=leaf).fit(X, np.array(y) > 1).predict([[0.0]])[0]
              for leaf in RULES}  # fmt: skip
    assert halves == dict.fromkeys(RULES, False)
    even = RankingTree(leaf="mean").fit(X[:2], [0, 1])
    assert even.predict([[0.0]])[0] == 1  # a mean on the threshold reaches it
    assert even.decision_function([[0.0]])[0] > 0
    assert RankingTree().fit(X[:2], [0, 1]).predict([[0.0]])[0] == 0


# Criteria and distances --------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_trees_of_scikit_learn(rng, criterion):
    """The same splits in the same criterion, where no two gain alike."""
    X = rng.normal(size=(400, 3)).astype(np.float32)
    y = np.digitize(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=400), [-0.5, 0, 0.5])
    weight = rng.integers(1, 4, 400)
    rules = {"criterion": criterion, "max_depth": 5, "min_samples_leaf": 20}
    ours = RankingTree(leaf="mode", **rules).fit(X, y, sample_weight=weight)
    theirs = DecisionTreeClassifier(random_state=0, **rules)
    theirs.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-12)
    assert ours.get_n_leaves() == theirs.get_n_leaves() > 10
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-9)


@pytest.mark.parametrize("method", ["exact", "histogram"])
def test_forms_of_a_rank_distance(rows, method):
    X, y = rows
    matrix = np.minimum(np.abs(np.subtract.outer(range(4), range(4))), 2)
    trees = [
        RankingTree(rank_distance=given, method=method, max_depth=4).fit(X, y)
        for given in (matrix, matrix.tolist(), lambda i, j: min(abs(i - j), 2))
    ]
    for tree in trees[1:]:
        same_trees(trees[0], tree)
    plain = RankingTree(method=method, max_depth=4).fit(X, y)
    same_trees(plain, RankingTree(rank_distance="absolute", method=method, max_depth=4).fit(X, y))
    other = RankingTree(rank_distance="zero_one", method=method, max_depth=4).fit(X, y)
    assert plain.tree_.threshold[:7].tolist() != other.tree_.threshold[:7].tolist()
    with pytest.raises(ValueError, match="rank_distance must have shape"):
        RankingTree(rank_distance=matrix[:3, :3]).fit(X, y)


def test_histograms_from_a_size_on(rng, monkeypatch):
    X, y = rng.normal(size=(600, 2)), rng.integers(0, 3, 600)
    exact, binned = (RankingTree(method=m, max_bins=8).fit(X, y) for m in ("exact", "histogram"))
    assert exact.get_n_leaves() > binned.get_n_leaves()
    monkeypatch.setattr("rankwise.ordinal.ranking_tree.BINNED_FROM", 1201)
    same_trees(RankingTree(max_bins=8).fit(X, y), exact)
    weight = np.ones(600)
    weight[0] = 2  # 601 rows
    assert RankingTree(max_bins=8).fit(X, y, sample_weight=weight).get_n_leaves() < 300
    monkeypatch.setattr("rankwise.ordinal.ranking_tree.BINNED_FROM", 1200)
    same_trees(RankingTree(max_bins=8).fit(X, y), binned)


def test_many_categories_are_not_binned(rng, monkeypatch):
    monkeypatch.setattr("rankwise.ordinal.ranking_tree.BINNED_FROM", 1)
    X = rng.integers(0, 300, (900, 1)).astype(float)
    y = X[:, 0].astype(int) % 3
    tree = RankingTree(categorical_features=[0], max_depth=2).fit(X, y)
    assert tree.score(X, y) == 0


# Weights -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("params", [
    {"max_depth": "cv"}, {"method": "histogram", "max_bins": 10}, {"max_leaf_nodes": 11},
    {"min_samples_leaf": 7, "min_samples_split": 20, "min_gain": 40.0}, {"ccp_alpha": 200.0},
    {"criterion": "absolute_error"}, {"categorical_features": [3], "criterion": "entropy"},
])  # fmt: skip
def test_weights_are_repetition(rows, rng, params):
    X, y = rows
    weight = rng.integers(0, 4, 200)
    weighted = RankingTree(**params).fit(X, y, sample_weight=weight)
    repeated = RankingTree(**params).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.max_depth_ == repeated.max_depth_
    np.testing.assert_allclose(weighted.tree_.counts, repeated.tree_.counts)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-12)


def test_small_weights_grow_as_large_ones(rows):
    """Defaults ask for no weight, so that weights may be shares."""
    X, y = rows
    weight = np.full(200, 2.0**-10)
    one = RankingTree().fit(X, y)
    small = RankingTree().fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(one.tree_.threshold, small.tree_.threshold)
    np.testing.assert_array_equal(one.tree_.counts * 2.0**-10, small.tree_.counts)


@pytest.mark.parametrize("criterion", ["rank", "gini", "entropy", "absolute_error"])
def test_broken_weights_and_order_of_rows(rows, rng, criterion):
    X, y = rows
    weight = rng.random(200)
    one = RankingTree(criterion=criterion, max_depth="cv").fit(X, y, sample_weight=weight)
    for _ in range(3):
        p = rng.permutation(200)
        other = RankingTree(criterion=criterion, max_depth="cv")
        other.fit(X[p], y[p], sample_weight=weight[p])
        same_trees(one, other)


# Pruning -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["rank", "gini", "entropy", "absolute_error"])
def test_pruning_path(rows, criterion):
    X, y = rows
    tree = RankingTree(criterion=criterion, max_depth=6)
    path = tree.cost_complexity_pruning_path(X, y)
    measured = make_criterion(criterion, 4)
    assert (np.diff(path.ccp_alphas) > 0).all()
    root = measured.impurity(np.bincount(y)[None].astype(float))[0]
    assert path.impurities[-1] == pytest.approx(root)
    for alpha, left in list(zip(path.ccp_alphas, path.impurities, strict=True))[::4]:
        pruned = RankingTree(criterion=criterion, max_depth=6, ccp_alpha=alpha).fit(X, y)
        leaves = pruned.tree_.counts[pruned.tree_.is_leaf]
        assert measured.impurity(leaves).sum() == pytest.approx(left, abs=1e-8)
    assert RankingTree(criterion=criterion, ccp_alpha=2 * root).fit(X, y).get_n_leaves() == 1


def test_pruning_path_of_scikit_learn(rng):
    """For Gini, with alphas and impurities divided by the number of rows."""
    X = rng.normal(size=(300, 3)).astype(np.float32)
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=300), [-0.5, 0.5])
    ours = RankingTree(criterion="gini", max_depth=6).cost_complexity_pruning_path(X, y)
    theirs = DecisionTreeClassifier(max_depth=6, random_state=0)
    theirs = theirs.cost_complexity_pruning_path(X, y)
    steps = np.append(np.diff(theirs.ccp_alphas) > 1e-10, True)
    np.testing.assert_allclose(ours.ccp_alphas / 300, theirs.ccp_alphas[steps], atol=1e-12)
    np.testing.assert_allclose(ours.impurities / 300, theirs.impurities[steps], atol=1e-12)


# Monotone changes, ways and importances ----------------------------------------------------------


def test_monotone_changes_of_columns_change_nothing(rows):
    X, y = rows
    changed = np.column_stack([np.exp(X[:, 0]), X[:, 1] ** 3, -1 / (X[:, 2] + 9), X[:, 3] * 7 - 2])
    a, b = (RankingTree(max_depth=6).fit(rows_, y) for rows_ in (X, changed))
    np.testing.assert_array_equal(a.apply(X), b.apply(changed))
    np.testing.assert_array_equal(a.tree_.counts, b.tree_.counts)


def test_ways_and_importances(rows):
    X, y = rows
    tree = RankingTree(max_depth=4).fit(X, y)
    path = tree.decision_path(X)
    leaves = tree.apply(X)
    assert (path[np.arange(200), leaves] == 1).all()
    assert path.sum(axis=1).max() == tree.get_depth() + 1
    assert tree.get_n_leaves() == len(np.unique(leaves)) == tree.tree_.is_leaf.sum()
    importances = tree.feature_importances_
    assert importances.sum() == pytest.approx(1)
    assert importances.argmax() in (0, 3)
    unused = np.setdiff1d(np.arange(4), tree.tree_.feature)
    assert (importances[unused] == 0).all()
    assert (RankingTree().fit(np.zeros((5, 4)), y[:5]).feature_importances_ == 0).all()
    for call in (RankingTree().get_depth, lambda: RankingTree().apply(X)):
        with pytest.raises(NotFittedError):
            call()


# Columns -----------------------------------------------------------------------------------------


def frame_of(library, seed=0):
    """Text, ordered categories and numbers, all with missing values, and a class that follows."""
    rng = np.random.default_rng(seed)
    text = rng.choice(np.array(["a", "b", "c", "d", "e"]), 300)
    grade = rng.choice(np.array(["low", "mid", "top"]), 300)
    number = rng.normal(size=300)
    y = np.isin(text, ["b", "e"]) * 2 + (grade == "top") + (number > 0.5)
    hidden = rng.random((3, 300)) < 0.1
    columns = [np.where(hidden[0], None, text), np.where(hidden[1], None, grade)]
    number[hidden[2]] = np.nan
    frames = pytest.importorskip(library)
    if library == "polars":
        return frames.DataFrame({
            "text": columns[0].tolist(),
            "grade": frames.Series(columns[1].tolist(), dtype=frames.Enum(["low", "mid", "top"])),
            "number": number,
        }), y  # fmt: skip
    ordered = frames.Categorical(columns[1], categories=["low", "mid", "top"], ordered=True)
    return frames.DataFrame({"text": columns[0], "grade": ordered, "number": number}), y


def test_frames_of_both_libraries_and_arrays_give_one_tree():
    trees = []
    for library in FRAMES:
        frame, y = frame_of(library)
        trees.append(RankingTree(max_depth=5).fit(frame, y))
        assert list(trees[-1].feature_names_in_) == ["text", "grade", "number"]
        assert trees[-1].has_missing_.all()
    same_trees(*trees)
    frame, y = frame_of("pandas")
    array = frame.to_numpy(dtype=object)
    array[:, 1] = [{"low": 0, "mid": 1, "top": 2}.get(value) for value in array[:, 1]]
    as_array = RankingTree(max_depth=5, categorical_features=[0]).fit(array, y)
    same_trees(trees[0], as_array)
    np.testing.assert_array_equal(as_array.predict(array), trees[0].predict(frame))
    assert trees[0].score(frame, y) > -0.4
    # The subset {b, e} is one split.
    nominal = np.flatnonzero(trees[0].tree_.feature == 0)
    tree = trees[0].tree_
    codes = tree.categories[tree.category_indptr[nominal[0]] : tree.category_indptr[nominal[0] + 1]]
    assert set(codes) in ({1, 4}, {0, 2, 3})


@pytest.mark.parametrize("library", FRAMES)
def test_unseen_categories_are_missing(library):
    frame, y = frame_of(library)
    tree = RankingTree().fit(frame, y)
    frames = pytest.importorskip(library)
    unseen = {"text": ["new", None, "b"], "grade": ["huge", None, "top"], "number": [0.1] * 3}
    other = frames.DataFrame(unseen)
    assert tree.apply(other)[0] == tree.apply(other)[1]
    numbers = np.array([[0.0], [1.0], [2.0]] * 20)
    by_code = RankingTree(categorical_features=[0]).fit(numbers, numbers[:, 0].astype(int))
    assert by_code.predict([[7.0]]) == by_code.predict([[np.nan]])


def test_names_and_number_of_columns_are_checked():
    frame, y = frame_of("pandas")
    tree = RankingTree(max_depth=2).fit(frame, y)
    with pytest.raises(ValueError, match="feature names"):
        tree.predict(frame[["number", "grade", "text"]])
    with pytest.raises(ValueError, match="feature names"):
        tree.predict(frame[["text", "grade"]])
    with pytest.raises(ValueError, match="column 0 of X must hold text"), pytest.warns(UserWarning):
        tree.predict(np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"X must hold numbers, got 'x' .*'number'"):
        tree.predict(frame.assign(number="x"))
    with pytest.raises(ValueError, match=r"X must hold numbers, got '[a-e]' at row 0, column 0"):
        RankingTree(categorical_features=None).fit(frame, y)
    with pytest.raises(ValueError, match="columns"):
        RankingTree(categorical_features=["colour"]).fit(frame, y)


def test_validation_rows_may_hold_categories():
    frame, y = frame_of("pandas")
    other, y_other = frame_of("pandas", seed=1)
    tree = RankingTree(max_depth="val").fit(frame, y, X_val=other, y_val=y_other)
    at = list(tree.cv_results_["max_depth"]).index(tree.max_depth_)
    assert tree.cv_results_["mean_test_score"][at] == pytest.approx(tree.score(other, y_other))


def test_categories_are_saved(tmp_path):
    frame, y = frame_of("pandas")
    tree = RankingTree(max_depth=4, rank_distance="squared").fit(frame, y)
    again = rankwise.load(tree.save(tmp_path / "tree"))
    same_trees(tree, again)
    np.testing.assert_array_equal(again.predict_proba(frame), tree.predict_proba(frame))
    assert again.columns_.nominal[0].tolist() == ["a", "b", "c", "d", "e"]
    np.testing.assert_array_equal(copy.deepcopy(tree).predict(frame), tree.predict(frame))


def test_missing_values_go_to_the_better_side(rng):
    """Where a value is missing exactly for the rows of the highest class, one split tells it."""
    X = rng.random((100, 1))
    y = np.where(np.arange(100) < 40, 2, (X[:, 0] > 0.5).astype(int))
    X[:40] = np.nan
    tree = RankingTree().fit(X, y)
    assert tree.get_n_leaves() == 3
    assert tree.score(X, y) == 0
    assert tree.predict([[np.nan]]) == 2
    # A column without missing values in fit sends them with the heavier child.
    full = RankingTree().fit(np.array([[0.0], [0.0], [1.0]]), [0, 0, 1])
    assert full.predict([[np.nan]]) == 0


def test_sparse_rows(rows):
    X, y = rows
    X = np.nan_to_num(X).round()
    tree = RankingTree(categorical_features=[3]).fit(sparse.csr_array(X), y)
    same_trees(tree, RankingTree(categorical_features=[3]).fit(X, y))
    np.testing.assert_array_equal(tree.predict(sparse.csc_array(X)), tree.predict(X))
