"""Swaps of places against the same draws in Python's integers."""

from __future__ import annotations

import math

import numpy as np

from rankwise.kernels.random_draws import swap_places
from tests.kernels import ragged

WORD = (1 << 64) - 1


def draws(state):
    """Uniform numbers from Marsaglia's xorshift."""
    while True:
        state ^= state << 13 & WORD
        state ^= state >> 7
        state ^= state << 17 & WORD
        yield (state >> 11) * 2.0**-53


def naive_swaps(order, force, n_sweeps, seed):
    uniform = draws(seed)
    for ranking in order:
        for mine in ragged.QUERIES:
            m = len(mine)
            if m < 2:
                continue
            places = ranking[mine]
            for _ in range(n_sweeps):
                distance = min(max(int(math.exp(next(uniform) * math.log(m))), 1), m - 1)
                start = -int(next(uniform) * 2 * distance)
                for place in range(m - distance):
                    if (place - start) // distance % 2:
                        continue  # the lower place of a pair
                    above, below = places[place], places[place + distance]
                    rise = distance * (force[above] - force[below])
                    if next(uniform) < 1 / (1 + math.exp(rise)):
                        places[place], places[place + distance] = below, above
            ranking[mine] = places


def test_swaps(rng):
    force = ragged.tied(rng)
    order = np.tile(np.arange(ragged.N_ROWS), (3, 1))
    expected = order.copy()
    swap_places(order, ragged.INDPTR, force, 20, np.uint64(12345))
    naive_swaps(expected, force, 20, 12345)
    np.testing.assert_array_equal(order, expected)
    for mine in ragged.QUERIES:
        assert (np.sort(order[:, mine]) == mine).all()
