"""Distinct rows of queries against Python's sorting."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from rankwise.kernels.sorting import join_queries, order_queries


def test_rows_are_sorted_and_equal_ones_joined(rng):
    sizes = np.array([3, 0, 60, 1, 30])
    indptr, n = np.concatenate([[0], np.cumsum(sizes)]), int(sizes.sum())
    weights = rng.integers(1, 4, n) / 7
    hashes, place = rng.integers(0, 20, n, np.uint64), rng.integers(0, 3, n, np.uint64)
    hashes = hashes * np.uint64(3) + place  # rows of equal hashes have one place
    rows, is_new = rng.permutation(n), np.empty(n, dtype=bool)
    queries = [rows[a:b].tolist() for a, b in itertools.pairwise(indptr.tolist())]
    counts, query_keys = np.empty(5, dtype=np.int64), np.empty(5, dtype=np.uint64)
    keys, sums = np.stack([weights.view(np.uint64), hashes, place]), np.empty(5)
    for chunk in ((0, 2), (2, 5)):
        order_queries(keys, 1, indptr, *chunk, rows, is_new, counts, query_keys, sums)
    expected = [sorted(q, key=lambda i: (place[i], hashes[i], weights[i])) for q in queries]
    assert rows.tolist() == list(itertools.chain(*expected))
    assert counts.tolist() == [len({hashes[i] for i in q}) for q in queries]
    assert query_keys[1] == 0 and len(set(query_keys.tolist())) == 5

    starts = np.cumsum(counts) - counts
    out, totals = np.empty(counts.sum(), dtype=np.int64), np.zeros(counts.sum())
    places = np.empty(n, dtype=np.int64)
    join_queries(rows, is_new, indptr, starts, 0, 5, weights, out, totals, places)
    for q, mine in enumerate(expected):
        for at, hash_of in enumerate(dict.fromkeys(hashes[i] for i in mine)):
            equal = [i for i in mine if hashes[i] == hash_of]
            assert out[starts[q] + at] == equal[0]
            assert totals[starts[q] + at] == sum(weights[i] for i in equal)
            assert (places[equal] == starts[q] + at).all()


def order(hashes, weights=None):
    """Keys of single queries with these rows, see ``order_queries``."""
    hashes = np.array(hashes, dtype=np.uint64)
    keys = [hashes] if weights is None else [np.array(weights).view(np.uint64), hashes]
    n = len(hashes)
    query_keys, sums = np.empty(1, dtype=np.uint64), np.empty(1)
    order_queries(
        np.stack(keys), len(keys) - 1, np.array([0, n]), 0, 1, np.arange(n), np.empty(n, bool),
        np.empty(1, dtype=np.int64), query_keys, sums,
    )  # fmt: skip
    return query_keys.tolist() + sums.tolist()


def test_keys_tell_queries_of_the_same_rows_in_other_numbers_apart():
    """Rows of zeros with label 0, whose hash is 0, count as well."""
    same = [order([0, 7, 7]), order([7, 0, 7])]
    assert same[0] == same[1] == pytest.approx(order([0, 7], [1.0, 2.0]), rel=1e-15)
    others = [order([0, 7]), order([0, 0, 7]), order([0, 7, 7, 7]), order([7, 7]), order([0])]
    assert len({tuple(keys) for keys in [same[0], *others]}) == 6
    assert order([0, 7])[0] == order([0, 0, 7])[0] != order([7])[0]
    # If all weights are multiplied by a number, the order of two queries stays.
    light, heavy = order([0, 7], [1.0, 2.0])[1], order([0, 7], [2.0, 2.0])[1]
    scaled = [order([0, 7], [0.1, 0.2])[1], order([0, 7], [0.2, 0.2])[1]]
    assert light < heavy and scaled[0] < scaled[1]
