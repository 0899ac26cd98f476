"""Majority order against its definition."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from rankwise.kernels.ranking_agreement import sort_by_majority


def beats(ranks, weight, a, b):
    """Whether row a gets more weight than row b from the lists that have one of them."""
    place = np.where(ranks == 0, np.inf, ranks)
    return weight[place[a] < place[b]].sum() > weight[place[b] < place[a]].sum()


def random_lists(rng, n_rows, n_lists):
    ranks = np.zeros((n_rows, n_lists))
    for k in range(n_lists):
        kept = rng.permutation(n_rows)[: rng.integers(n_rows + 1)]
        ranks[kept, k] = np.arange(1, len(kept) + 1)
    return ranks


def test_no_row_is_beaten_by_the_next_one():
    rng = np.random.default_rng(0)
    for n_rows in (0, 1, 2, 3, 7, 20):
        for n_lists in (1, 2, 5):
            ranks = random_lists(rng, n_rows, n_lists)
            weight = rng.integers(1, 4, n_lists).astype(float)
            order = rng.permutation(n_rows)
            sort_by_majority(order, np.array([0, n_rows]), ranks, weight)
            assert sorted(order) == list(range(n_rows))
            for a, b in pairwise(order):
                assert not beats(ranks, weight, b, a)


def test_one_list_gives_its_own_order_query_by_query():
    ranks = np.array([[2.0], [1.0], [0.0], [3.0], [1.0], [2.0]])
    order = np.arange(6)
    sort_by_majority(order, np.array([0, 3, 6]), ranks, np.ones(1))
    assert order.tolist() == [1, 0, 2, 4, 5, 3]


def test_ties_keep_their_order():
    ranks = np.array([[1.0, 2.0], [2.0, 1.0]])
    for given in ([0, 1], [1, 0]):
        order = np.array(given)
        sort_by_majority(order, np.array([0, 2]), ranks, np.ones(2))
        assert order.tolist() == given


def test_equal_votes_are_no_majority_in_any_order_of_the_lists():
    ranks = np.array([[1.0, 1.0, 1.0, 2.0], [2.0, 2.0, 2.0, 1.0]])
    weight = np.array([0.1, 0.1, 0.1, 0.3])  # 0.1 + 0.1 + 0.1 > 0.3 in floating point
    for lists in ([0, 1, 2, 3], [3, 2, 1, 0]):
        for given in ([0, 1], [1, 0]):
            order = np.array(given)
            sort_by_majority(
                order, np.array([0, 2]), np.ascontiguousarray(ranks[:, lists]), weight[lists]
            )
            assert order.tolist() == given
