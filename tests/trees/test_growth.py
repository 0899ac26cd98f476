"""Every split of a grown tree is the first of the best ones that brute force finds."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.trees import split_search as binned_columns
from rankwise.trees import split_search as sorted_columns
from rankwise.trees.growth import Limits, grow, grow_from, prepare
from rankwise.trees.node_splits import make_criterion
from tests.oracles_trees import best_split, impurity

METHODS = ["exact", "histogram"]
CRITERIA = ["rank", "gini", "entropy", "absolute_error"]
ARRAYS = ["feature", "left", "right", "missing_left", "category_indptr", "categories", "depth"]


def make_case(seed):
    """Columns of several kinds, some values missing; at most 8 categories; class numbers."""
    rng = np.random.default_rng(seed)
    n, n_classes = int(rng.integers(1, 40)), int(rng.integers(1, 6))
    columns, n_categories = [], []
    for _ in range(int(rng.integers(1, 4))):
        kind = rng.integers(4)
        size = int(rng.integers(1, 9))
        column = rng.integers(0, size, n).astype(float) if kind < 3 else rng.standard_normal(n)
        if rng.random() < 0.5:
            column[rng.random(n) < rng.choice([0.1, 0.5, 1.0], p=[0.5, 0.4, 0.1])] = np.nan
        columns.append(column)
        n_categories.append(size if kind < 2 else 0)
    y = rng.integers(0, n_classes, n)
    if rng.random() < 0.5:  # something to be found
        y = np.clip(np.nan_to_num(np.round(columns[0])).astype(int) % n_classes, 0, n_classes - 1)
    weight = (None, rng.integers(0, 4, n).astype(float), rng.random(n) + 0.01)[rng.integers(3)]
    if weight is not None and not weight.any():
        weight = None
    return np.column_stack(columns), y, n_classes, weight, np.array(n_categories)


def make_distances(seed, n_classes):
    distance = np.abs(np.subtract.outer(range(n_classes), range(n_classes))).astype(float)
    return (distance**2, np.sqrt(distance), np.minimum(distance, 1), np.maximum(distance - 1, 0))[
        seed % 4
    ]


def same(a, b, exact=True):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), name)
    rtol = 0 if exact else 1e-9
    np.testing.assert_allclose(a.threshold, b.threshold, rtol=rtol)
    np.testing.assert_allclose(a.counts, b.counts, rtol=rtol)
    np.testing.assert_allclose(a.gain, b.gain, rtol=rtol, atol=0)


def check_nodes(tree, X, y, n_classes, weight, criterion, n_categories, limits):
    """Compare every node with brute force on the rows that reach it; returns the splits seen."""
    w = np.ones(len(y)) if weight is None else weight
    kept = w > 0
    X, y, w = X[kept], y[kept], w[kept]
    path = tree.decision_path(X).toarray()
    least = limits.min_samples_leaf if limits.min_samples_leaf > 1 else 0.0
    for node in range(tree.n_nodes):
        rows = path[:, node]
        np.testing.assert_allclose(tree.counts[node], np.bincount(y[rows], w[rows], n_classes))
        split, gain = best_split(
            X[rows], y[rows], w[rows], n_classes, criterion, n_categories, least
        )
        if limits.max_depth is not None and tree.depth[node] >= limits.max_depth:
            split = None
        if w[rows].sum() < limits.min_samples_split and limits.min_samples_split > 2:
            split = None
        if split is None or gain < limits.min_gain:
            assert tree.feature[node] == -1
            assert tree.gain[node] == 0
            continue
        whole = impurity(criterion, y[rows], w[rows], n_classes)
        assert tree.gain[node] == pytest.approx(gain, rel=1e-9, abs=1e-11 * whole)
        assert tree.feature[node] == split.feature
        left = path[rows, tree.left[node]]
        np.testing.assert_array_equal(left, split.left)
        if split.missing_left is not None:
            assert tree.missing_left[node] == split.missing_left
        else:
            heavier = w[rows][left].sum() - w[rows][~left].sum()
            assert abs(heavier) < 1e-9 or tree.missing_left[node] == (heavier > 0)
        if split.categories is None:
            np.testing.assert_allclose(tree.threshold[node], split.threshold)
        else:
            column = X[rows, split.feature]
            unseen = set(range(n_categories[split.feature])) - set(column[~np.isnan(column)])
            codes = set(tree.categories[slice(*tree.category_indptr[node : node + 2])].tolist())
            assert codes == split.categories | (unseen if tree.missing_left[node] else set())
    return int((tree.feature >= 0).sum())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("criterion", [*CRITERIA, "distances"])
def test_every_split_is_the_first_best_of_brute_force(method, criterion):
    n_splits = 0
    for seed in range(36):
        X, y, n_classes, weight, n_categories = make_case(seed)
        rule = make_distances(seed, n_classes) if criterion == "distances" else criterion
        limits = (
            Limits(),
            Limits(max_depth=2, min_samples_leaf=3),
            Limits(min_samples_split=6.5, min_gain=0.7),
        )[seed % 3]
        tree = grow(X, y, n_classes, weight, rule, limits, method=method, n_categories=n_categories)
        n_splits += check_nodes(tree, X, y, n_classes, weight, rule, n_categories, limits)
    assert n_splits > 50


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("weighted", [None, "whole", "broken"])
def test_histograms_of_exact_bins_grow_the_exact_tree(rng, monkeypatch, criterion, weighted):
    monkeypatch.setattr(binned_columns, "KEEP_ROWS", 0.1)  # most nodes keep their histograms
    n = 4000
    X = np.column_stack([rng.integers(0, 250, (n, 4)), rng.integers(0, 30, n)]).astype(float)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.digitize(np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) * (X[:, 4] % 3), [99, 250, 400])
    weight = {
        None: None,
        "whole": rng.integers(0, 5, n).astype(float),
        "broken": rng.random(n),
    }[weighted]
    limits = Limits(max_depth=8, min_samples_leaf=2)
    trees = [
        grow(X, y, 4, weight, criterion, limits, method=method, n_categories=[0, 0, 0, 0, 30])
        for method in METHODS
    ]
    assert trees[0].n_nodes > 50
    assert len(trees[0].categories) > 0
    # Sums of whole weights are exact, and so are the sums of ranks.
    same(*trees, exact=weighted != "broken" and criterion in ("rank", "gini"))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_whole_weight_is_a_repetition(rng, method, criterion):
    for seed in range(20):
        X, y, n_classes, _, n_categories = make_case(seed)
        weight = rng.integers(0, 4, len(y)) + (np.arange(len(y)) == 0)
        again = np.repeat(np.arange(len(y)), weight)
        limits = Limits(min_samples_leaf=1 + seed % 3, min_samples_split=2 + seed % 5)
        weighted = grow(
            X, y, n_classes, weight.astype(float), criterion, limits,
            method=method, n_categories=n_categories,
        )  # fmt: skip
        repeated = grow(
            X[again], y[again], n_classes, None, criterion, limits,
            method=method, n_categories=n_categories,
        )  # fmt: skip
        same(weighted, repeated)


@pytest.mark.parametrize("method", METHODS)
def test_row_order_changes_nothing(method):
    for seed in range(40):
        X, y, n_classes, weight, n_categories = make_case(seed)
        order = np.random.default_rng(seed).permutation(len(y))
        trees = [
            grow(X[i], y[i], n_classes, None if weight is None else weight[i], CRITERIA[seed % 4],
                 method=method, n_categories=n_categories)
            for i in (np.arange(len(y)), order)
        ]  # fmt: skip
        same(*trees, exact=weight is None)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_increasing_transformations_move_thresholds_only(rng, method, dtype):
    X = rng.integers(-20, 20, (1000, 3)).astype(dtype)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.digitize(np.nansum(X, axis=1) + 5 * rng.standard_normal(1000), [-20, 0, 9])
    limits = Limits(max_depth=7)
    tree = grow(X, y, 4, limits=limits, method=method)
    for transform in (np.exp, np.cbrt, lambda x: 3 * x - 1):
        moved = transform(X)
        other = grow(moved, y, 4, limits=limits, method=method)
        for name in [*ARRAYS, "counts", "gain"]:
            np.testing.assert_array_equal(getattr(tree, name), getattr(other, name), name)
        np.testing.assert_array_equal(tree.apply(X), other.apply(moved))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("limits", [Limits(max_depth=6), Limits(max_leaf_nodes=20)])
def test_thread_counts_change_no_bit(rng, monkeypatch, method, limits):
    X = np.column_stack([rng.standard_normal((6000, 20)), rng.integers(0, 12, 6000)])
    y = np.digitize(X[:, 0] * X[:, 1] + X[:, -1] % 3, [0.5, 1.5])
    weight = rng.random(6000)
    trees = []
    for n in ("1", "3", "8"):
        monkeypatch.setenv("RANKWISE_NUM_THREADS", n)
        n_categories = [0] * 20 + [12]
        trees.append(
            grow(X, y, 3, weight, "rank", limits, method=method, n_categories=n_categories)
        )
    same(trees[0], trees[1])
    same(trees[0], trees[2])


@pytest.mark.parametrize("method", METHODS)
def test_what_is_held_at_a_time_changes_no_bit(rng, monkeypatch, method):
    X = np.column_stack([rng.integers(0, 90, (3000, 5)), rng.integers(0, 12, 3000)]).astype(float)
    y = np.digitize(X[:, 0] * X[:, 1] + X[:, -1] % 3, [1000, 3000])
    n_categories = [0] * 5 + [12]
    trees = [grow(X, y, 3, method=method, n_categories=n_categories)]
    for module in (binned_columns, sorted_columns):
        monkeypatch.setattr(module, "CELLS", 40)
    monkeypatch.setattr(binned_columns, "KEEP_BYTES", 1e6)
    trees.append(grow(X, y, 3, method=method, n_categories=n_categories))
    same(*trees)


@pytest.mark.parametrize("method", METHODS)
def test_a_level_costs_a_visit_of_each_row(rng, monkeypatch, method):
    visits = {"find": [], "part": []}
    kind = {"exact": sorted_columns.SortedRows, "histogram": binned_columns.HistogramRows}[method]
    find, part = kind.find, kind.part

    def count_find(self, frontier, ties, allowed):
        visits["find"].append(int(np.diff(frontier.segments).sum()))
        return find(self, frontier, ties, allowed)

    def count_part(self, segments):
        visits["part"].append(int(np.diff(segments).sum()))
        return part(self, segments)

    monkeypatch.setattr(kind, "find", count_find)
    monkeypatch.setattr(kind, "part", count_part)
    X = rng.random((20_000, 2))
    y = np.digitize(X[:, 0] * X[:, 1], [0.1, 0.2, 0.5])
    for n in (5_000, 20_000):
        visits["find"].clear()
        visits["part"].clear()
        grow(X[:n], y[:n], 4, limits=Limits(max_depth=6), method=method)
        assert 4 <= len(visits["find"]) <= 6
        assert max(visits["find"]) == n
        assert max(visits["part"]) <= n
        assert len(visits["part"]) <= 6


@pytest.mark.parametrize("method", METHODS)
def test_theorem_1_the_gain_is_the_distance_over_separated_pairs(method):
    n_splits = 0
    for seed in range(40):
        X, y, n_classes, weight, n_categories = make_case(seed)
        w = np.ones(len(y)) if weight is None else weight
        tree = grow(X, y, n_classes, weight, method=method, n_categories=n_categories)
        path = tree.decision_path(X).toarray() & (w > 0)[:, None]
        for node in np.flatnonzero(tree.feature >= 0):
            left, right = path[:, tree.left[node]], path[:, tree.right[node]]
            ranks = np.abs(np.subtract.outer(y[left], y[right]))
            assert tree.gain[node] == pytest.approx(w[left] @ ranks @ w[right], rel=1e-10)
            assert tree.gain[node] > 0
            n_splits += 1
        # A leaf is pure, or no column tells its rows apart.
        leaf = tree.apply(X)
        for node in np.unique(leaf[w > 0]):
            rows = (leaf == node) & (w > 0)
            same_rows = np.unique(np.nan_to_num(X[rows], nan=-9.0), axis=0)
            assert len(np.unique(y[rows])) == 1 or len(same_rows) == 1
    assert n_splits > 100


@pytest.mark.parametrize("method", METHODS)
def test_leaves_are_split_in_the_order_of_their_gain(method):
    for seed in range(30):
        X, y, n_classes, weight, n_categories = make_case(seed)
        options = {"method": method, "n_categories": n_categories}
        whole = grow(X, y, n_classes, weight, **options)
        gains = {0: whole.gain[0]}  # of open nodes of the whole tree, by their number
        taken = []
        for n_leaves in range(2, 6):
            if gains and max(gains.values()) > 0:
                node = max(gains, key=lambda i: (gains[i], -i))
                taken.append(gains.pop(node))
                for child in (whole.left[node], whole.right[node]):
                    gains[int(child)] = whole.gain[child]
            tree = grow(X, y, n_classes, weight, limits=Limits(max_leaf_nodes=n_leaves), **options)
            assert tree.n_nodes == 2 * len(taken) + 1
            np.testing.assert_allclose(np.sort(tree.gain)[::-1][: len(taken)], np.sort(taken)[::-1])
        unlimited = grow(X, y, n_classes, weight, limits=Limits(max_leaf_nodes=99), **options)
        np.testing.assert_array_equal(whole.apply(X) == 0, unlimited.apply(X) == 0)
        assert unlimited.n_nodes == whole.n_nodes


@pytest.mark.parametrize("method", METHODS)
def test_drawn_features_depend_on_the_seed_alone(rng, method):
    X = rng.integers(0, 100, (500, 10)).astype(float)
    y = np.digitize(X[:, 3] + X[:, 4], [60, 120])
    prepared = prepare(X, method=method)
    trees = [
        grow_from(prepared, y, 3, limits=Limits(max_features=2, seed=seed)) for seed in (1, 1, 2)
    ]
    same(trees[0], trees[1])
    assert trees[0].feature.tolist() != trees[2].feature.tolist()
    for tree in trees:  # features without a split are no end
        leaf = tree.apply(X)
        assert all(len(np.unique(y[leaf == i])) == 1 for i in np.unique(leaf))
    roots = [
        grow_from(prepared, y, 3, limits=Limits(1, max_features=1, seed=seed)).feature[0]
        for seed in range(200)
    ]
    assert np.bincount(roots, minlength=10).min() >= 5
    other = prepare(X, method="histogram" if method == "exact" else "exact")
    same(trees[0], grow_from(other, y, 3, limits=Limits(max_features=2, seed=1)))


def test_sorted_columns_serve_many_trees(rng):
    X, y, n_classes, _, n_categories = make_case(7)
    prepared = prepare(X, n_categories=n_categories)
    for _ in range(3):
        weight = rng.integers(0, 3, len(y)).astype(float) + (np.arange(len(y)) == 0)
        again = grow_from(prepared, y, n_classes, weight)
        same(again, grow(X, y, n_classes, weight, n_categories=n_categories))


@pytest.mark.parametrize("method", METHODS)
def test_no_pair_count_overflows(method):
    """Counts of pairs of 100,000 rows need more than 32 bits, and more than float32 holds."""
    n = 200_000
    X = np.arange(n, dtype=np.float32)[:, None] // 1000
    y = (np.arange(n) >= n // 2).astype(int) * 4
    tree = grow(X, y, 5, method=method)
    assert tree.n_nodes == 3
    assert tree.gain[0] == 4 * (n / 2) ** 2


@pytest.mark.parametrize("method", METHODS)
def test_one_class_one_row_and_columns_without_a_split(method):
    one = grow(np.array([[1.0], [2.0]]), np.zeros(2, int), 1, method=method)
    assert one.n_nodes == 1
    assert one.counts.tolist() == [[2.0]]
    assert grow(np.array([[1.0, 2.0]]), np.array([1]), 3, method=method).n_nodes == 1
    blank = np.full((4, 2), np.nan)
    blank[:, 1] = 5.0
    assert grow(blank, np.array([0, 1, 0, 1]), 2, method=method).n_nodes == 1
    nominal = grow(blank, np.array([0, 1, 0, 1]), 2, method=method, n_categories=[6, 6])
    assert nominal.n_nodes == 1


def test_many_categories_are_split_by_their_order():
    """Of 9 to 12 categories the order of the mean class finds nearly the best subset."""
    ratios = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(9, 13))
        X = np.concatenate([np.arange(size), rng.integers(0, size, 150)]).astype(float)[:, None]
        y = np.clip(rng.normal(X[:, 0] % 5, 1.5).round(), 0, 4).astype(int)
        trees = [
            grow(X, y, 5, limits=Limits(1), method=method, n_categories=[size])
            for method in METHODS
        ]
        same(*trees)
        table = np.zeros((size, 5))
        np.add.at(table, (X[:, 0].astype(int), y), 1)
        sets = np.arange(1, 2 ** (size - 1))[:, None] >> np.arange(size) & 1
        left = sets @ table
        D = np.abs(np.subtract.outer(range(5), range(5)))
        gains = ((left @ D) * (table.sum(axis=0) - left)).sum(axis=1)
        ratios.append(trees[0].gain[0] / gains.max())
    assert max(ratios) <= 1 + 1e-12
    assert min(ratios) >= 0.97
    assert np.mean(np.array(ratios) > 1 - 1e-12) >= 0.5


def test_categories_that_fit_has_not_seen_take_the_missing_side(rng):
    X = rng.choice([0.0, 2.0, 5.0], (200, 1))
    y = (X[:, 0] == 2).astype(int) * 2
    X[:20], y[:20] = np.nan, 2
    tree = grow(X, y, 3, n_categories=[7])
    assert tree.categories.tolist() == [0, 5]
    assert not tree.missing_left[0]
    assert tree.apply(np.array([[np.nan], [1.0], [6.0], [2.0]])).tolist() == [2, 2, 2, 2]
    X[:20], y[:20] = np.nan, 0
    tree = grow(X, y, 3, n_categories=[7])
    assert tree.missing_left[0]
    assert tree.categories.tolist() == [0, 1, 3, 4, 5, 6]


def test_rules_of_distances_are_checked():
    for D, what in [
        (np.zeros((2, 2)), "one row and column per class"),
        (1 - np.eye(3) * 2, "0 for equal ranks"),
        ([[0, 1, 2], [2, 0, 1], [3, 1, 0]], "symmetric"),
        ([[0, 2, 1], [2, 0, 1], [1, 1, 0]], "must not fall"),
        ([[0, 1, 3], [1, 0, 4], [3, 4, 0]], "must not fall"),
        ([[0, 1, np.inf], [1, 0, 1], [np.inf, 1, 0]], "finite"),
    ]:
        with pytest.raises(ValueError, match=what):
            make_criterion(D, 3)
    with pytest.raises(ValueError, match="'rank', 'gini', 'entropy', 'absolute_error' or a matrix"):
        make_criterion("mse", 3)


@pytest.mark.parametrize("criterion", [*CRITERIA, "distances"])
def test_impurities_of_nodes(rng, criterion):
    for seed in range(20):
        _, y, n_classes, weight, _ = make_case(seed)
        w = np.ones(len(y)) if weight is None else weight
        rule = make_distances(seed, n_classes) if criterion == "distances" else criterion
        counts = np.bincount(y, w, n_classes)[None]
        ours = make_criterion(rule, n_classes).impurity(counts)
        np.testing.assert_allclose(ours, impurity(rule, y, w, n_classes), atol=1e-9)
