"""A tree's rows find their leaves as a loop in plain Python finds them."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.runtime.jit import CompiledFunction, is_ready
from rankwise.trees import tree as tree_module
from rankwise.trees.tree import CHUNK_ROWS, FEW_ROWS, Tree


def make_tree():
    """x0 <= 0.5, then x1 in {0, 3} on the left, missing x0 against present on the right."""
    return Tree(
        feature=np.array([0, 1, 0, -1, -1, -1, -1], dtype=np.int32),
        threshold=np.array([0.5, np.nan, np.inf, np.nan, np.nan, np.nan, np.nan]),
        left=np.array([1, 3, 5, -1, -1, -1, -1], dtype=np.int32),
        right=np.array([2, 4, 6, -1, -1, -1, -1], dtype=np.int32),
        missing_left=np.array([False, True, False, False, False, False, False]),
        category_indptr=np.array([0, 0, 2, 2, 2, 2, 2, 2]),
        categories=np.array([0, 3], dtype=np.int32),
        counts=np.ones((7, 2)),
        gain=np.array([1.0, 1, 1, 0, 0, 0, 0]),
        depth=np.array([0, 1, 1, 2, 2, 2, 2], dtype=np.int32),
    )


def way_of(tree, row):
    node, way = 0, [0]
    while tree.feature[node] >= 0:
        value = row[tree.feature[node]]
        lo, hi = tree.category_indptr[node : node + 2]
        if np.isnan(value):
            left = tree.missing_left[node]
        elif hi > lo:
            left = value in tree.categories[lo:hi]
        else:
            left = value <= tree.threshold[node]
        node = int(tree.left[node] if left else tree.right[node])
        way.append(node)
    return way


def test_few_rows_need_no_compiled_code(rng, monkeypatch):
    unused = CompiledFunction(tree_module.find_leaves.py_func, False, False)
    monkeypatch.setattr(tree_module, "find_leaves", unused)
    X = np.column_stack([
        rng.choice([0.0, 0.5, 0.75, np.nan], FEW_ROWS), rng.choice([0, 1, 3, np.nan], FEW_ROWS)
    ])  # fmt: skip
    tree = make_tree()
    leaves = tree.apply(X)
    assert not is_ready(unused)
    np.testing.assert_array_equal(leaves, [way_of(tree, row)[-1] for row in X])
    assert leaves.dtype == np.int64


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_take_the_way_of_the_loop(rng, dtype, order):
    n = CHUNK_ROWS + 100
    X = np.column_stack([rng.choice([0.0, 0.5, 0.75, np.nan], n), rng.integers(0, 5, n)])
    X[rng.random(n) < 0.2, 1] = np.nan
    X = np.asarray(X, dtype=dtype, order=order)
    tree = make_tree()
    ways = [way_of(tree, row) for row in X]
    leaf = tree.apply(X)
    assert leaf.dtype == np.int64
    np.testing.assert_array_equal(leaf, [way[-1] for way in ways])
    path = tree.decision_path(X)
    assert path.shape == (n, 7)
    assert path.has_canonical_format
    assert [list(row.indices) for row in path[:50]] == [sorted(way) for way in ways[:50]]
    assert np.diff(path.indptr).tolist() == [len(way) for way in ways]


def test_parents_and_leaves():
    tree = make_tree()
    assert tree.parent.tolist() == [-1, 0, 0, 1, 1, 2, 2]
    assert tree.is_leaf.tolist() == [False, False, False, True, True, True, True]
    assert tree.n_nodes == 7


def test_no_rows():
    tree = make_tree()
    assert tree.apply(np.empty((0, 2))).shape == (0,)
    assert tree.decision_path(np.empty((0, 2))).shape == (0, 7)
