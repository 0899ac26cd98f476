"""Rows in the order of their labels."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.checks.classes import label_orders, order_of_labels
from rankwise.ordinal import AggregatePRank, PRank, VotedPRank, WidrowHoff


def test_orders_and_chances_of_queries():
    queries = [[0, 0, 1, 2], [2, 1, 1], [1, 0, 1], [3, 3], [], [5], [1, 0]]
    indptr = np.cumsum([0, *map(len, queries)])
    direction, log_chance = label_orders(np.concatenate(queries).astype(float), indptr)
    assert direction.tolist() == [1, -1, 0, 0, 0, 0, -1]
    # One of 4! / 2! = 12 orders, of 3, of 3, ...
    np.testing.assert_allclose(np.exp(log_chance), [1 / 12, 1 / 3, 1 / 3, 1, 1, 1, 1 / 2])


@pytest.mark.parametrize(
    ("y", "order"),
    [
        (np.repeat([0, 1], 10), "ascending"),
        (np.repeat([2, 1, 0], 10), "descending"),
        (np.tile([0, 1], 10), ""),
        (np.repeat([0, 1], [1, 5]), ""),  # one of 6 orders
        (np.zeros(20), ""),
        (np.zeros(0), ""),
        (np.ones(1), ""),
    ],
)
def test_orders_that_are_no_chance(y, order):
    assert order_of_labels(y) == order


@pytest.mark.parametrize("ranker", [PRank, AggregatePRank, VotedPRank, WidrowHoff])
def test_online_learners_say_so(ranker, rng):
    y = np.repeat([0, 1, 2], 10)
    X = rng.normal(size=(30, 2))
    model, order = ranker(random_state=0), rng.permutation(30)
    told = "sees row after row, but y is in ascending order"
    with pytest.warns(UserWarning, match=f"{told}.* set shuffle=True"):
        ranker(shuffle=False).fit(X, y)
    with pytest.warns(UserWarning, match=f"{told}.* Shuffle the rows"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    model.partial_fit(X[order], y[order])
    model.partial_fit(X[y == 1], y[y == 1])
    ranker(shuffle=True, random_state=0).fit(X, y)
    ranker(shuffle=False).fit(X[order], y[order])
