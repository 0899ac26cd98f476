"""Histograms and parted rows against sums by hand."""

import numpy as np
import pytest
from scipy import sparse

from rankwise.kernels.boosted_trees import add_leaf_values, add_rows, part
from rankwise.trees.boosted.coded_rows import SparseBinnedRows, arrange_columns, bin_rows
from rankwise.trees.boosted.growing_tree import TreeGrower
from rankwise.trees.boosted.growth_rules import GrowthRules
from rankwise.trees.tree_ensemble import OrderedRows, TreeEnsemble

NOTHING = np.empty(0, np.int64)


@pytest.mark.parametrize("n_threads", [2, 3, 7])
def test_bits_do_not_depend_on_threads(n_threads, rng, monkeypatch):
    monkeypatch.setattr("rankwise.trees.boosted.growing_tree.SMALL", 1)
    monkeypatch.setattr("rankwise.trees.boosted.coded_rows.PART_ROWS", 7)
    X = rng.normal(size=(5000, 30)).astype(np.float32)
    g, h = rng.normal(size=5000) + X[:, 3], rng.random(5000)
    binned = bin_rows(OrderedRows(X), 255)
    alone = TreeGrower(binned, GrowthRules(), 1).grow(g, h, 0.1)
    together = TreeGrower(binned, GrowthRules(), n_threads).grow(g, h, 0.1)
    for name in ("feature", "threshold", "left", "right", "values", "cover"):
        np.testing.assert_array_equal(getattr(alone.tree, name), getattr(together.tree, name))
    order = rng.permutation(5000)
    shuffled = TreeGrower(bin_rows(OrderedRows(X[order]), 255), GrowthRules(), 1).grow(
        g[order], h[order], 0.1
    )
    np.testing.assert_array_equal(alone.tree.values, shuffled.tree.values)


def test_histograms_subtract_to_the_same_bits(rng):
    codes = rng.integers(0, 200, (40, 16)).astype(np.uint8)
    packed = (rng.integers(-9, 9, 40) << 32) + rng.integers(0, 9, 40)
    histograms = np.zeros((3, 16 * 256), dtype=np.int64)
    rows, words = np.arange(40, dtype=np.int32), codes.view(np.int64)
    add_rows(words, NOTHING, rows, packed, histograms[0])
    for j in range(16):
        cells = histograms[0, j * 256 :][:256]
        expected = np.zeros(256, dtype=np.int64)
        np.add.at(expected, codes[:, j], packed)
        np.testing.assert_array_equal(cells, expected)
    add_rows(words, NOTHING, rows[:13], packed, histograms[1])
    add_rows(words, NOTHING, rows[13:], packed, histograms[2])
    np.testing.assert_array_equal(histograms[0] - histograms[1], histograms[2])


@pytest.mark.parametrize("n_rows", [0, 1, 2, 17, 999, 1000, 1001, 2501])
@pytest.mark.parametrize("n_words", [1, 5, 9])
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("n_left_out", [0, 4])
def test_any_number_of_rows_is_added(n_rows, n_words, share, n_left_out, rng):
    """Rows that have the usual codes of a word, which are summed as what is left, and others."""
    codes = rng.integers(0, 256, (3000, 8 * n_words)).astype(np.uint8)
    usual = codes[0].view(np.int64)[: (n_words + 1 - n_left_out // 4) // 2].copy()
    np.copyto(
        codes.view(np.int64)[:, : len(usual)], usual, where=rng.random((3000, len(usual))) < share
    )
    packed, rows = rng.integers(-(2**40), 2**40, 3000), rng.permutation(3000)[:n_rows]
    n_columns = 8 * n_words - n_left_out
    found = np.zeros(n_columns * 256, dtype=np.int64)
    add_rows(codes.view(np.int64), usual, rows.astype(np.int32), packed, found)
    expected = np.zeros((n_columns, 256), dtype=np.int64)
    for j in range(n_columns):
        np.add.at(expected[j], codes[rows, j], packed[rows])
    np.testing.assert_array_equal(found.reshape(expected.shape), expected)


def test_rows_are_parted_in_their_order(rng):
    codes = rng.integers(0, 5, 50).astype(np.uint8)
    for goes_left in rng.random((2, 256)) < 0.5:
        rows, spare = rng.permutation(50).astype(np.int32), np.empty(50, dtype=np.int32)
        left = goes_left[codes[rows]]
        expected = np.concatenate([rows[left], rows[~left]])
        again = rows.copy()
        assert part(rows, spare, codes, goes_left, None) == left.sum()
        np.testing.assert_array_equal(rows, expected)
        by_row = np.stack([codes[::-1], codes, codes[::-1]], axis=1)
        assert part(again, spare, by_row[:, 1], goes_left, True) == left.sum()
        np.testing.assert_array_equal(again, expected)


@pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
@pytest.mark.parametrize("form", ["columns", "words", "entries"])
def test_threads_part_rows_in_their_order(form, n_threads, rng, monkeypatch):
    monkeypatch.setattr("rankwise.trees.boosted.coded_rows.PART_ROWS", 3)
    monkeypatch.setattr("rankwise.trees.boosted.coded_rows.MOST_TWICE", 2**30 * (form != "words"))
    X = rng.integers(0, 9, (200, 11)) * (rng.random((200, 11)) < 0.05) * 1.0
    binned = bin_rows(OrderedRows(sparse.csr_array(X) if form == "entries" else X), 20)
    assert isinstance(binned, SparseBinnedRows) == (form == "entries")
    first_cut, goes_left = binned.binning.of_column(4)[0], np.arange(256) < 1
    for n in (0, 1, 2, 7, 50, 200):
        for side in (goes_left, ~goes_left, np.full(256, True), np.full(256, False)):
            rows, spare = rng.permutation(200)[:n].astype(np.int32), np.empty(n, dtype=np.int32)
            left = np.where(X[rows, 4] <= first_cut, side[0], side[1])
            expected = np.concatenate([rows[left], rows[~left]])
            assert binned.part(rows, 4, side, spare, n_threads) == left.sum()
            np.testing.assert_array_equal(rows, expected)


def test_rows_outside_get_the_values_of_their_leaves(rng):
    X = rng.normal(size=(400, 5)).round(1)
    X[rng.random(X.shape) < 0.2] = np.nan
    binned = bin_rows(OrderedRows(X), 255)
    inside, others = np.arange(250, dtype=np.int32), np.arange(250, 400, dtype=np.int32)
    g = rng.normal(size=400) + np.nan_to_num(X[:, 1])
    grower = TreeGrower(binned, GrowthRules(6), 1)
    grown = grower.grow(g, np.ones(400), 1.0, inside)
    scores, tree = np.zeros(400), grown.tree
    grown.add_to(scores)
    add_leaf_values(
        scores, others, binned.columns, tree.feature, grown.goes_left, tree.left, tree.right,
        tree.values,
    )  # fmt: skip
    np.testing.assert_array_equal(scores, TreeEnsemble.of([tree]).score(X))
    again = np.zeros(400)
    grower.add_to_others(grown, again, others)
    np.testing.assert_array_equal(again[250:], scores[250:])


def test_columns_with_the_same_usual_rows_share_words(rng):
    codes = rng.integers(1, 200, (20, 500)).astype(np.uint8)
    together = np.array([19, 3, 4, 17, 8, 0, 11, 6])
    codes[together, :400] = 7
    places, usual = arrange_columns(codes)
    assert set(places[together]) == set(range(8))
    assert sorted(places) == list(range(20))
    np.testing.assert_array_equal(usual.view(np.uint8), np.full(8, 7))
    # Columns of no usual code, of rows that differ, and too few for a word stay as they are.
    codes[together[0], :400] = rng.permutation(400) % 250
    apart = np.where(np.arange(500) % 8 == np.arange(8)[:, None], 3, 9)
    for unchanged in (codes, apart, codes[:7], codes[:0]):
        places, usual = arrange_columns(unchanged.astype(np.uint8))
        np.testing.assert_array_equal(places, np.arange(len(unchanged)))
        assert usual.dtype == np.int64 and len(usual) == 0
