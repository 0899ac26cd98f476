"""The order of the training rows."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from rankwise import QueryGroups
from rankwise.rankers.adapters.boosted_ranker import deal_large_queries
from rankwise.row_order import canonical_order


def test_order_depends_on_content_alone(rng):
    X = rng.integers(-2, 3, size=(500, 4)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    y, qid = rng.integers(0, 3, 500).astype(float), rng.integers(0, 40, 500)
    groups = QueryGroups.from_qid(qid, 500)
    order, sizes = canonical_order(X, y, groups)
    rows = np.column_stack([X, y])[order]
    assert np.unique(order).size == 500
    ends = np.cumsum(sizes)
    for start, end in zip(ends - sizes, ends, strict=True):
        assert len(np.unique(qid[order][start:end])) == 1
    assert sorted(sizes) == sorted(groups.sizes)
    for _ in range(3):
        shuffle = rng.permutation(500)
        relabelled = QueryGroups.from_qid((1000 - qid[shuffle]).astype(str), 500)
        again, sizes_again = canonical_order(X[shuffle], y[shuffle], relabelled)
        np.testing.assert_array_equal(np.column_stack([X, y])[shuffle][again], rows)
        np.testing.assert_array_equal(sizes_again, sizes)


def test_dense_sparse_and_float32_have_one_order(rng):
    X = rng.integers(-1, 2, size=(9000, 6)).astype(np.float32)  # more than one chunk
    X[X == -1] = -0.0
    y, groups = np.arange(9000.0), QueryGroups.single(9000)
    expected = canonical_order(X, y, groups)[0]
    for form in (X.astype(np.float64), sparse.csr_array(X), np.abs(X)):
        np.testing.assert_array_equal(canonical_order(form, y, groups)[0], expected)


def test_order_does_not_follow_the_label(rng):
    y = np.repeat([0.0, 1.0], 500)
    order, _ = canonical_order(rng.normal(size=(1000, 2)), y, QueryGroups.single(1000))
    assert abs(y[order][:500].mean() - 0.5) < 0.1


def test_similar_rows_have_different_keys():
    grid = np.stack(np.meshgrid(*[np.arange(16.0)] * 4), axis=-1).reshape(-1, 4)
    y = np.zeros(len(grid))
    order, _ = canonical_order(grid, y, QueryGroups.single(len(grid)))
    back, _ = canonical_order(grid[::-1], y, QueryGroups.single(len(grid)))
    np.testing.assert_array_equal(grid[order], grid[::-1][back])  # no tie fell to input order


def test_empty_queries_vanish():
    groups = QueryGroups.from_sizes([0, 2, 0, 3, 0])
    order, sizes = canonical_order(np.arange(5.0)[:, None], np.arange(5.0), groups)
    assert sorted(sizes) == [2, 3]
    assert sorted(order) == [0, 1, 2, 3, 4]


def test_large_queries_are_dealt_with_the_same_mix():
    sizes = np.array([3, 25, 10])
    y = np.concatenate([[0, 1, 2], np.arange(25) % 5, np.zeros(10)])
    order, parts = deal_large_queries(y, sizes, 10)
    assert list(parts) == [3, 9, 8, 8, 10]
    np.testing.assert_array_equal(order[:3], [0, 1, 2])
    assert sorted(order) == list(range(38))
    for start, stop in ((3, 12), (12, 20), (20, 28)):
        counts = np.bincount(y[order[start:stop]].astype(int), minlength=5)
        assert counts.min() >= 1
        assert counts.max() <= 2
