"""Shapley values of a game whose players are features: a set S takes its values from A, not B.

They are the only contributions that add up to ``f(A) - f(B)``, give 0 to a feature without effect,
treat equal features alike and are additive over sums of models [1]_. For a sum of functions of
single features, they are the differences of these functions.

References
----------
.. [1] Shapley, "A value for n-person games", Contributions to the Theory of Games 2 (1953).
.. [2] Castro, Gómez & Tejada, "Polynomial calculation of the Shapley value based on sampling",
   Computers & Operations Research 36 (2009).
"""

from __future__ import annotations

from math import factorial

import numpy as np

from rankwise.explain.table_rows import BATCH, Score
from rankwise.typing import Float64Array

MOST_ENUMERATED = 10  # features, which give 1,024 mixed rows


def enumerate_sets(score: Score, players: int) -> Float64Array:
    """Exact Shapley values of a game with few players, from all 2^players sets.

    ``score`` maps a boolean array (n_sets, players) of sets to their values.
    """
    sets = (np.arange(2**players)[:, None] >> np.arange(players)) & 1 == 1
    worth = score(sets)
    size = sets.sum(axis=1)
    values = np.empty(players)
    for j in range(players):
        without = np.flatnonzero(~sets[:, j])
        share = [
            factorial(s) * factorial(players - s - 1) / factorial(players) for s in range(players)
        ]
        gains = worth[without + (1 << j)] - worth[without]
        values[j] = np.array(share)[size[without]] @ gains
    return values


def sample_orders(
    score: Score, players: int, n_orders: int, random_state: np.random.RandomState
) -> tuple[Float64Array, Float64Array]:
    """Shapley values from ``n_orders`` random orders of the players, each also reversed.

    Returns values and their standard errors, both (players,). The values add up exactly to the
    worth of all players minus that of none.
    """
    orders = np.array([random_state.permutation(players) for _ in range(n_orders)])
    ways = np.stack([orders, orders[:, ::-1]], axis=1).reshape(2 * n_orders, players)
    gains = np.empty((2 * n_orders, players))
    at_once = max(1, BATCH // (players + 1))
    for first in range(0, len(ways), at_once):
        part = ways[first : first + at_once]
        place = np.argsort(part, axis=1)
        sets = np.arange(players + 1)[:, None] > place[:, None, :]
        worth = score(sets.reshape(-1, players)).reshape(len(part), players + 1)
        np.put_along_axis(gains[first : first + at_once], part, np.diff(worth, axis=1), axis=1)
    gains = gains.reshape(n_orders, 2, players).mean(axis=1)
    spread = gains.std(axis=0, ddof=1) if n_orders > 1 else np.full(players, np.nan)
    return gains.mean(axis=0), spread / np.sqrt(n_orders)


def single(score: Score, players: int) -> Float64Array:
    """Shapley values of a sum of functions of single players, from one set per player."""
    sets = np.vstack([np.zeros((1, players), dtype=bool), np.eye(players, dtype=bool)])
    worth = score(sets)
    return worth[1:] - worth[0]
