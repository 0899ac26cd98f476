"""Trees of stored entries are, bit for bit, those of dense codes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from rankwise.features.binning import find_bins
from rankwise.trees.boosted import coded_rows as sparse_rows
from rankwise.trees.boosted import growing_tree
from rankwise.trees.boosted.coded_rows import BinnedRows, SparseBinnedRows, bin_rows
from rankwise.trees.boosted.growing_tree import TreeGrower
from rankwise.trees.boosted.growth_rules import GrowthRules
from rankwise.trees.tree_ensemble import OrderedRows

N_CATEGORIES = np.array([4] + [0] * 10)
RULES = [
    {},
    {"growth": "depth", "max_depth": 3},
    {"growth": "symmetric"},
    {"reg_lambda": 1.0, "relative_lambda": 0.2, "min_split_gain": 0.5},
    {"by_node": 0.5, "by_level": 0.7},
    {"random_thresholds": True},
    {"signs": (0, 1, -1, 1, -1, 0, 0, 1, 0, 0, 0)},
]


def mostly_zero(rng, n=400):
    """Categories, numbers, counts with stored zeros, one full column and one without entries."""
    X = rng.normal(size=(n, 11)).round(1)
    X[:, 3:5] = rng.poisson(1.0, (n, 2)) - 1.0
    X[rng.random(X.shape) < 0.8] = 0.0
    X[rng.random(X.shape) < 0.03] = np.nan
    X[:, 0] = rng.integers(0, 4, n) * (rng.random(n) < 0.5)
    X[:, 9], X[:, 10] = rng.normal(size=n), 0.0
    g = np.nan_to_num(X[:, 1] - X[:, 3]) + (X[:, 0] == 2) + rng.normal(size=n)
    csr = sparse.csr_array(X)
    csr.data[rng.random(csr.nnz) < 0.1] = 0.0  # stored zeros
    return csr.toarray(), csr, g, rng.random(n) + 0.1


def both(rng, monkeypatch, weight=None):
    """Dense and sparse codes of the same rows in the same order, with derivatives."""
    monkeypatch.setattr(sparse_rows, "MOST_STORED", 1.0)
    X, csr, g, h = mostly_zero(rng)
    order = rng.permutation(len(X))
    dense = bin_rows(OrderedRows(X, order), 20, 1, weight, N_CATEGORIES)
    found = bin_rows(OrderedRows(csr, order), 20, 2, weight, N_CATEGORIES)
    assert isinstance(found, SparseBinnedRows)
    return dense, found, g, h


def assert_same_trees(ours, theirs):
    for name in (
        "feature",
        "threshold",
        "left",
        "right",
        "missing_left",
        "values",
        "gain",
        "cover",
    ):
        np.testing.assert_array_equal(getattr(ours.tree, name), getattr(theirs.tree, name))
    assert ours.tree.members.keys() == theirs.tree.members.keys()
    for node, sides in ours.tree.members.items():
        for side, other in zip(sides, theirs.tree.members[node], strict=True):
            np.testing.assert_array_equal(side, other)
    np.testing.assert_array_equal(ours.rows, theirs.rows)
    np.testing.assert_array_equal(ours.starts, theirs.starts)


@pytest.mark.parametrize("rules", RULES, ids=str)
@pytest.mark.parametrize("n_threads", [1, 3])
def test_trees_are_those_of_dense_codes(rules, n_threads, rng, monkeypatch):
    monkeypatch.setattr(growing_tree, "SMALL", 100)  # threads share small work too
    dense, found, g, h = both(rng, monkeypatch)
    np.testing.assert_array_equal(found.has_missing, dense.has_missing)
    rules = GrowthRules(max_leaf_nodes=12, min_samples_leaf=3, **rules)
    growers = [TreeGrower(binned, rules, n_threads) for binned in (dense, found)]
    columns = np.arange(11) % 3 > 0
    some = rng.permutation(400)[:250].astype(np.int32)
    others = np.setdiff1d(np.arange(400), some).astype(np.int32)
    for drawn, rows in ((None, None), (columns, some), (~columns, None)):
        grown = [
            grower.grow(
                g.copy(), h.copy(), 0.3, None if rows is None else rows.copy(), drawn,
                np.random.default_rng(0),
            )
            for grower in growers
        ]  # fmt: skip
        assert len(grown[0].leaf_values) > 2
        assert_same_trees(grown[1], grown[0])
        scores = np.zeros((2, 400))
        for grower, tree, out in zip(growers, grown, scores, strict=True):
            grower.add_to_others(tree, out, others)
        assert scores[0].any()
        np.testing.assert_array_equal(*scores)


WIDE_RULES = [
    {},
    {"min_samples_leaf": 40},
    {"reg_lambda": 3.0, "min_split_gain": 0.2},
    {"relative_lambda": 0.1, "growth": "depth", "max_leaf_nodes": 9},
    {"by_node": 0.6},
    {"signs": (1,) * 20 + (0,) * 80},
]


@pytest.mark.parametrize("rules", WIDE_RULES, ids=str)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_bounds_of_many_columns_change_no_tree(rules, missing, rng, monkeypatch):
    # Columns that may split a leaf, some with entries of both signs, and others in the bin of 0.
    X = rng.normal(size=(1500, 100)).round(2) + 1.0
    X[rng.random(X.shape) < 0.93] = 0.0
    X[(X != 0) & (rng.random(X.shape) < missing)] = np.nan
    monkeypatch.setattr(sparse_rows, "MOST_STORED", 1.0)
    dense = bin_rows(OrderedRows(X), 20, 1)
    ours = bin_rows(OrderedRows(sparse.csr_array(X)), 20, 1)
    n_found = []
    # Few rows have most of the gradient and of the second derivative, as tops of rankings have.
    for spread in (0.3, 2.0):
        g = np.nan_to_num(X) @ rng.normal(size=100) + rng.normal(size=1500)
        g, h = g * rng.lognormal(0, spread, 1500), rng.lognormal(0, spread, 1500)
        # Derivatives that all leaves share move their means.
        for offset in (0.0, 1.0):
            grown = []
            for binned in (dense, ours):
                rng_of_columns = np.random.default_rng(3)
                grower = TreeGrower(binned, GrowthRules(**{"max_leaf_nodes": 31, **rules}), 1)
                grown.append(grower.grow(g + offset, h, 0.5, rng=rng_of_columns))
            assert_same_trees(*grown)
            n_found.append(len(grown[0].leaf_values))
    assert min(n_found) > 2


@pytest.mark.parametrize("case", ["entries cancel out", "a side becomes large enough"])
def test_bounds_of_a_parent_miss_no_column_that_gains_by_its_split(case, rng, monkeypatch):
    # Column 0 splits off 100 rows. Without them, column 1, as good as useless before, is the best.
    X = np.where(rng.random((600, 60)) < 0.4, 1.0, 0.0)
    X[:, :3], X[:100, 0] = 0.0, 1.0
    g, h = rng.normal(0, 0.3, 600), np.ones(600)
    g[:100] = -3.0
    if case == "entries cancel out":
        X[60:140, 1], X[200:240, 2] = 1.0, 1.0
        g[100:140] = 3.0
        g[200:240] += 2.3  # a second best column, which looks better than column 1
    else:
        # Sides need 20 times the mean second derivative of a leaf.
        h[:100] = 10.0
        X[100:125, 1], X[125:150, 1] = 1.0, 2.0
        g[100:125], g[125:150] = 4.0, -4.0
    monkeypatch.setattr(sparse_rows, "MOST_STORED", 1.0)
    grown = []
    for table in (X, sparse.csr_array(X)):
        grower = TreeGrower(bin_rows(OrderedRows(table), 20, 1), GrowthRules(max_leaf_nodes=4), 1)
        grown.append(grower.grow(g.copy(), h.copy(), 0.5))
    assert grown[0].tree.feature[0] == 0
    assert 1 in grown[0].tree.feature
    assert_same_trees(*grown)


@pytest.mark.parametrize("kind", ["none", "whole", "zero"])
@pytest.mark.parametrize("max_bins", [4, 255])
def test_cuts_are_those_of_dense_columns(kind, max_bins, rng):
    X, csr, _, _ = mostly_zero(rng)
    weight = {"none": None, "whole": rng.integers(1, 4, 400), "zero": rng.integers(0, 3, 400)}[kind]
    weight = None if weight is None else weight.astype(float)
    rows = rng.permutation(400)[:300]
    weight = None if weight is None else weight[:300]
    for dtype in (np.float32, np.float64):
        found = find_bins(csr.astype(dtype), max_bins, weight, N_CATEGORIES, 2, rows)
        dense = find_bins(X.astype(dtype), max_bins, weight, N_CATEGORIES, 1, rows)
        for name in ("indptr", "cuts", "below", "above"):
            np.testing.assert_array_equal(getattr(found, name), getattr(dense, name))


def test_rows_with_many_entries_have_dense_codes(rng, monkeypatch):
    csr = mostly_zero(rng)[1]
    assert isinstance(bin_rows(OrderedRows(csr), 20), BinnedRows)
    assert isinstance(bin_rows(OrderedRows(sparse.csr_array((30, 8))), 20), SparseBinnedRows)
    monkeypatch.setattr(sparse_rows, "MOST_STORED", (csr.nnz + 0.5) / np.prod(csr.shape))
    assert isinstance(bin_rows(OrderedRows(csr), 20), SparseBinnedRows)
    assert isinstance(bin_rows(OrderedRows(csr.toarray()), 20), BinnedRows)


def test_unsorted_entries_and_no_rows(rng):
    indptr, indices = np.array([0, 2, 3]), np.array([4, 1, 2])
    csr = sparse.csr_array((np.array([1.0, 2.0, 3.0]), indices, indptr), shape=(2, 60))
    found = bin_rows(OrderedRows(csr), 20)
    assert found.codes.features.tolist() == [1, 4, 2]
    np.testing.assert_array_equal(csr.indices, indices)  # what the user holds is not changed
    empty = SparseBinnedRows.encode(OrderedRows(csr[:0]), found.binning)
    assert (empty.n_rows, empty.n_features) == (0, 60)
    assert not empty.has_missing.any()
