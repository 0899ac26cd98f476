"""Hashes of rows: content alone, whatever the precision, the layout or the order."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse

from rankwise.groups import QueryGroups
from rankwise.row_order import LeastRows, canonical_order, distinct_rows, row_hashes


@pytest.fixture
def rows(rng):
    """5,000 rows (more than a chunk) of values that float32 holds, zeros and signs of zero."""
    X = rng.integers(-3, 4, (5000, 4)).astype(float) / 8
    X[rng.random(X.shape) < 0.1] = -0.0
    return X


def test_hash_is_that_of_the_values(rows):
    expected = row_hashes(rows)
    for same in (rows.astype(np.float32), sparse.csr_array(rows), np.asfortranarray(rows)):
        np.testing.assert_array_equal(row_hashes(same), expected)
    order = np.random.default_rng(1).permutation(len(rows))
    np.testing.assert_array_equal(row_hashes(rows[order]), expected[order])
    stored_zero = sparse.csr_array(np.ones((1, 4)))
    stored_zero.data[:] = [0.0, 1.0, -0.0, 2.0]
    assert row_hashes(stored_zero) == row_hashes(stored_zero.toarray())


def test_equal_rows_and_only_they_hash_alike(rows):
    _, codes = np.unique(rows + 0.0, axis=0, return_inverse=True)
    _, hashed = np.unique(row_hashes(rows), return_inverse=True)
    assert len(set(zip(codes, hashed, strict=True))) == codes.max() + 1 == hashed.max() + 1


def test_labels_and_columns_count(rows):
    X = rows[:50]
    assert (row_hashes(X, np.zeros(50)) == row_hashes(X)).all()
    assert (row_hashes(X, np.ones(50)) != row_hashes(X)).all()
    swapped = row_hashes(X[:, [1, 0, 2, 3]])
    np.testing.assert_array_equal(swapped == row_hashes(X), X[:, 0] == X[:, 1])
    nan = np.array([[np.nan, 1.0]])
    assert row_hashes(nan) == row_hashes(-nan * [[1, -1]])
    ends = np.array([[np.inf, 1.0], [-np.inf, 1.0], [np.nan, 1.0], [np.nan, -np.inf]])
    of_sparse = row_hashes(sparse.csr_array(ends))
    np.testing.assert_array_equal(row_hashes(ends), of_sparse)
    assert len(set(of_sparse.tolist())) == 4


def test_distinct_rows_ignore_order_and_repetition(rows):
    first = rows[distinct_rows(rows, 30)]
    assert first.shape == (30, 4) == np.unique(first + 0.0, axis=0).shape
    again = np.random.default_rng(2).permutation(np.vstack([rows, rows[:100]]))
    np.testing.assert_array_equal(again[distinct_rows(again, 30)], first)
    assert len(distinct_rows(rows)) == len(np.unique(rows + 0.0, axis=0))


@pytest.mark.parametrize("salt", [None, 5])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_rows_in_parts_give_the_rows_of_least_key(salt, form, rng):
    X = form(rng.integers(0, 3, (500, 4)).astype(float))
    for most in (1, 30, 1000):
        least = LeastRows(most, salt)
        for lo, hi in itertools.pairwise([0, 1, 7, 200, 200, 500]):
            least.add(X[lo:hi])
        expected = X[distinct_rows(X, most, salt)]
        assert (abs(least.rows() - expected)).max() == 0


def test_canonical_order_holds_whole_queries_of_its_sizes_whatever_the_order(rows):
    X, y, qid = (
        rows[:200],
        np.arange(200.0) % 3,
        np.repeat(np.arange(12), np.arange(12) * 3 + 1)[:200],
    )
    found = []
    for order in (np.arange(200), np.random.default_rng(3).permutation(200)):
        groups = QueryGroups.from_qid(qid[order], 200)
        places, sizes = canonical_order(X[order], y[order], groups)
        ordered = qid[order][places]
        starts = np.append(0, np.cumsum(sizes))
        assert starts[-1] == 200
        assert np.flatnonzero(np.diff(ordered)).tolist() == (starts[1:-1] - 1).tolist()
        found.append((ordered, X[order][places] + 0.0, y[order][places]))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_whole_weights_order_queries_as_repeated_rows_do(rows):
    X, y, qid = rows[:60], np.arange(60.0) % 3, np.repeat(np.arange(20), 3)
    weight = 1 + np.arange(60) % 4
    places, _ = canonical_order(X, y, QueryGroups.from_qid(qid, 60), weight.astype(float))
    again = np.repeat(np.arange(60), weight)
    groups = QueryGroups.from_qid(qid[again], len(again))
    repeated = again[canonical_order(X[again], y[again], groups)[0]]
    assert list(dict.fromkeys(qid[places])) == list(dict.fromkeys(qid[repeated]))
