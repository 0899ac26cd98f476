"""Equal rows of a query become one, with the same bits for any order of the rows."""

from itertools import pairwise

import numpy as np

from rankwise.groups import QueryGroups
from rankwise.row_order import distinct_rows_of_queries, merge_rows


def test_weights_of_equal_rows_add_up_to_the_same_bits(rng):
    X, qid = np.repeat(rng.normal(size=(20, 2)), 9, axis=0), np.repeat(np.arange(4), 45)
    y, weight = np.zeros(180), rng.random(180)
    merged = merge_rows(X, y, QueryGroups.from_qid(qid, 180), weight)
    assert len(merged.rows) == 20
    for _ in range(5):
        order = rng.permutation(180)
        groups = QueryGroups.from_qid(qid[order], 180)
        again = merge_rows(X[order], y[order], groups, weight[order])
        np.testing.assert_array_equal(again.weight, merged.weight)
        np.testing.assert_array_equal(X[order][again.rows], X[merged.rows])
        np.testing.assert_allclose(np.bincount(again.position, again.share), 1)


def test_places_tell_rows_apart_and_order_them():
    X, y, place = np.ones((6, 1)), np.zeros(6), np.array([2, 1, 2, 0, 0, 1])
    groups = QueryGroups.from_qid([0, 0, 0, 0, 0, 1], 6)
    rows, indptr, weight = distinct_rows_of_queries(X, y, groups, None, place)
    assert sorted(weight.tolist()) == [1, 1, 2, 2]
    for start, end in pairwise(indptr):
        shown = place[rows[start:end]]
        assert shown.tolist() == sorted(set(shown))
