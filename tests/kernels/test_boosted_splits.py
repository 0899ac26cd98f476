"""The splits of gradient trees against all splits, by hand."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from rankwise.kernels.boosted_splits import (
    N_FIELDS,
    find_common_split,
    find_splits,
    leaf_value,
    order_categories,
    part_codes,
    split_gain,
    write_entry_bounds,
)
from rankwise.kernels.boosted_trees import add_rows
from rankwise.trees.boosted.coded_rows import bin_rows
from rankwise.trees.boosted.growing_tree import TreeGrower
from rankwise.trees.boosted.growth_rules import GrowthRules
from rankwise.trees.tree_ensemble import OrderedRows


def best_split_by_hand(X, g, h, reg_lambda, least):
    """Largest gain over all thresholds of all columns, missing values on either side."""
    best = 0.0
    for column in X.T:
        missing = np.isnan(column)
        for cut in [*np.unique(column[~missing]), np.inf]:
            for side in (False, True):
                left = np.where(missing, side, column <= cut)
                if not 0 < left.sum() < len(left) or min(h[left].sum(), h[~left].sum()) < least:
                    continue
                parts = [
                    g[rows].sum() ** 2 / (h[rows].sum() + reg_lambda) for rows in (left, ~left)
                ]
                best = max(best, sum(parts) - g.sum() ** 2 / (h.sum() + reg_lambda))
    return best


@pytest.mark.parametrize("holes", [0.0, 0.3])
@pytest.mark.parametrize("reg_lambda", [0.0, 2.0])
def test_gains_are_the_largest_of_all_splits(holes, reg_lambda, rng):
    X = rng.normal(size=(300, 11)).round(1)
    X[rng.random(X.shape) < holes] = np.nan
    g, h = rng.normal(size=300) + np.nan_to_num(X[:, 4]), rng.random(300)
    rules = GrowthRules(8, None, 1, 3.0, reg_lambda)
    grown = TreeGrower(bin_rows(OrderedRows(X), 255), rules, 1).grow(g, h, 1.0)
    tree = grown.tree
    assert (tree.feature >= 0).sum() == 7
    # Node by node, with the rows that go there.
    reached = {0: np.arange(300)}
    for node in range(len(tree.feature)):
        rows = reached[node]
        assert tree.cover[node] == len(rows)
        if tree.feature[node] < 0:
            expected = -g[rows].sum() / (h[rows].sum() + reg_lambda)
            np.testing.assert_allclose(tree.values[node], expected, rtol=1e-6, atol=1e-7)
            continue
        values = X[rows, tree.feature[node]]
        left = np.where(np.isnan(values), tree.missing_left[node], values <= tree.threshold[node])
        reached[tree.left[node]], reached[tree.right[node]] = rows[left], rows[~left]
        best = best_split_by_hand(X[rows], g[rows], h[rows], reg_lambda, 3.0)
        np.testing.assert_allclose(tree.gain[node], best, rtol=1e-5)


def objective(value, g, h, l1, l2):
    return g * value + (h + l2) * value**2 / 2 + l1 * abs(value)


@pytest.mark.parametrize("bounds", [(-9.0, 9.0), (-0.3, 0.2), (0.1, 0.4)])
@pytest.mark.parametrize("l1", [0.0, 1.5])
def test_leaf_values_minimise(l1, bounds, rng):
    for g, h in zip(rng.normal(scale=4, size=30), rng.uniform(0.5, 9, 30), strict=True):
        limits = np.array([l1, 0.7, *bounds])
        best = minimize_scalar(
            objective, args=(g, h, l1, 0.7), bounds=bounds, options={"xatol": 1e-10}
        )
        np.testing.assert_allclose(leaf_value(g, h, limits), best.x, atol=1e-5)


def test_gain_of_a_split_is_twice_what_the_objective_falls_by():
    limits, unit = np.array([0.4, 0.7, -1.0, 1.0]), np.array([0.25, 0.5])
    sums = [(-17, 9), (23, 31)]
    packed = [(g << 32) + h for g, h in sums]

    def lowest(g, h):
        g, h = g * unit[0], h * unit[1]
        return objective(leaf_value(g, h, limits), g, h, 0.4, 0.7)

    expected = 2 * (lowest(6, 40) - lowest(*sums[0]) - lowest(*sums[1]))
    np.testing.assert_allclose(
        split_gain(sum(packed), packed[0], unit, limits, limits, -1), expected
    )
    assert split_gain(sum(packed), packed[0], unit, limits, limits, 1) == 0


def test_codes_are_parted(rng):
    histograms = (rng.integers(-9, 9, (3, 2000)) << 32) + rng.integers(1, 9, (3, 2000))
    starts = np.arange(13) * 140
    nodes, lefts = np.array([[2, 0, 1], [0, 0, 1]]), np.zeros(2, dtype=np.int64)
    cells = histograms[[2, 0], 11 * 140 : 12 * 140]
    order, goes_left = rng.permutation(30), np.zeros(256, dtype=bool)
    codes = np.arange(256)
    for n_ordered, first in ((-1, codes[:13]), (30, order[:13])):
        for missing_left in (True, False):
            found = part_codes(
                histograms, starts, nodes, 11, 30, 12, missing_left, order, n_ordered, goes_left,
                lefts,
            )  # fmt: skip
            expected = np.isin(codes, first) | ((codes == 30) & missing_left)
            assert found == missing_left
            np.testing.assert_array_equal(goes_left, expected)
            np.testing.assert_array_equal(lefts, cells[:, expected[:140]].sum(axis=1))
    histograms[:, 11 * 140 + 30] = 0  # without missing values, the heavier side takes them
    for place, heavier in ((25, True), (4, False)):
        given = histograms, starts, nodes, 11, 30, place, False, order, -1, goes_left, lefts
        assert part_codes(*given) == heavier
        assert goes_left[30] == heavier


def test_categories_are_in_the_order_of_their_mean_gradient(rng):
    g, h = rng.integers(-50, 50, (2, 20)), rng.integers(1, 9, (2, 20))
    g[:, 4] = h[:, 4] = 0  # no rows
    histograms, starts = np.zeros((2, 90), dtype=np.int64), np.array([0, 7, 40, 61])
    histograms[:, 40:60] = (g << 32) + h
    order, unit = np.zeros(256, dtype=np.int64), np.array([0.5, 0.25])
    nodes = np.array([[1, 0, 1], [0, 0, 1]])
    n = order_categories(histograms, starts, nodes, 2, 20, unit, 1.5, order)
    expected = np.argsort(0.5 * g.sum(axis=0) / (0.25 * h.sum(axis=0) + 1.5), kind="stable")
    assert n == 19
    np.testing.assert_array_equal(order[:n], expected[expected != 4])


def test_random_sets_have_at_most_the_largest_size(rng):
    X = rng.integers(0, 40, (2000, 1)).astype(float)
    binned = bin_rows(OrderedRows(X), 255, n_categories=np.array([40]))
    sizes = set()
    for seed in range(60):
        rules = GrowthRules(2, None, 1, random_thresholds=True, max_cat_threshold=3)
        g = rng.normal(size=2000)
        grown = TreeGrower(binned, rules, 1).grow(
            g, np.ones(2000), 1.0, rng=np.random.default_rng(seed)
        )
        sizes |= {min(map(len, grown.tree.members[0])), len(grown.tree.members[0][0])}
    assert sizes == {1, 2, 3, 37, 38, 39}


@pytest.mark.parametrize("kernel", [find_splits, find_common_split])
def test_splits_do_not_depend_on_what_is_left_out(kernel, rng):
    """No categories, no signs: None finds what arrays that say so find."""
    codes = rng.integers(0, 12, (500, 16)).astype(np.uint8)
    codes[:, :11][rng.random((500, 11)) < 0.2] = 11  # missing
    packed = (rng.integers(-90, 90, 500) << 32) + rng.integers(1, 9, 500)
    histograms, n_bins = np.zeros((1, 16 * 256), np.int64), np.full(11, 11)
    rows, nothing = np.arange(500, dtype=np.int32), np.empty(0, np.int64)
    add_rows(codes.view(np.int64), nothing, rows, packed, histograms[0])
    found, starts = np.zeros((2, 1, N_FIELDS)), np.arange(12) * 256
    for out, nominal, signs in zip(
        found, (None, np.zeros(11, np.int64)), (None, np.zeros(11, np.int64)), strict=True
    ):
        kernel(
            n_bins, nominal, signs, np.ones((1, 11), dtype=bool), None, 0, 2, histograms, starts,
            np.array([[0, packed.sum(), 20]]), np.array([[0.0, 1.0, -np.inf, np.inf, 9.0]]),
            np.array([0.5, 0.25]), 0.0, out,
        )  # fmt: skip
    assert found[0, 0, 0] > 0
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("zero", [0, 3, 7])
@pytest.mark.parametrize("missing", [False, True])
def test_bounds_are_the_largest_of_all_sides_without_the_code_of_zero(zero, missing, rng):
    n, unit, penalty, mean, least = 8, np.array([0.5, 0.25]), 0.3, 0.7, 30
    g, h = rng.integers(-50, 50, n + 1), rng.integers(1, 20, n + 1)
    if not missing:
        g[n] = h[n] = 0
    line = np.concatenate([np.full(5, 9), (g << 32) + h])
    roots = np.array([-1.0, -1.0])
    write_entry_bounds(
        np.array([4, n]), np.array([0, zero]), np.array([0, 5, 5 + n + 1]), line, np.array([1]),
        least, unit, penalty, mean, roots,
    )  # fmt: skip
    codes, sides = np.arange(n), []
    for place in range(n):
        left = codes <= place
        side = ~left if left[zero] else left
        sides += [np.append(side, False), np.append(side, True)]
    best = 0.0
    for side in sides:
        c = h[side].sum() * unit[1] + penalty
        if h[side].sum() >= least:
            best = max(best, abs(g[side].sum() * unit[0] - mean * c) / np.sqrt(c))
    assert best > 0
    np.testing.assert_allclose(roots, [-1.0, best], rtol=1e-14)
