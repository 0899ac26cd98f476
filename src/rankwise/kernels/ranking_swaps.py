"""Gibbs sampling of rankings by swapping two rows.

A ranking r of a query (1 = top) has the probability ``P(r) ~ exp(-sum_i force_i r_i)``. Given all
other rows, two rows that are d ranks apart swap with probability
``1 / (1 + exp(d (force_upper - force_lower)))``. P is invariant under this step.
"""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import njit

_13, _7, _17, _11 = np.uint64(13), np.uint64(7), np.uint64(17), np.uint64(11)


@njit
def _next(state):
    """Next state of Marsaglia's 64-bit xorshift, which is never 0."""
    state ^= state << _13
    state ^= state >> _7
    return state ^ (state << _17)


@njit
def _uniform(state):
    """Number in [0, 1) from the upper bits of a state."""
    return float(state >> _11) * 2.0**-53


@njit
def swap_places(order, indptr, force, n_sweeps, seed):
    """Resample every ranking of every query, in sweeps over disjoint pairs of ranks.

    All pairs of a sweep are equally far apart. The distance is drawn for each sweep of each
    ranking, from 1 to m - 1 on a logarithmic scale. Short swaps order neighbours; long swaps move a
    row through the whole ranking. O(n_sweeps n_rankings n_samples).

    ``order`` (n_rankings, n_samples), int64, holds the rows of each query from the top, and is
    changed in place. ``indptr`` is (n_queries + 1,), ``force`` (n_samples,), float64, and
    ``seed`` > 0, uint64.
    """
    state = seed
    for k in range(order.shape[0]):
        for q in range(len(indptr) - 1):
            low, high = indptr[q], indptr[q + 1]
            if high - low < 2:
                continue
            range_of_logs = np.log(high - low)
            for _ in range(n_sweeps):
                state = _next(state)
                # Logarithmic: from 1 to 2 as often as from m / 2 to m.
                distance = int(np.exp(_uniform(state) * range_of_logs))
                distance = min(max(distance, 1), high - low - 1)
                state = _next(state)
                # A random start, so that every pair at this distance has a turn.
                upper = low - int(_uniform(state) * 2 * distance)
                while upper + distance < high:
                    for place in range(max(upper, low), min(upper + distance, high - distance)):
                        above, below = order[k, place], order[k, place + distance]
                        rise = distance * (force[above] - force[below])
                        state = _next(state)
                        # u < 1 / (1 + exp(rise)) without the division; exp(710) would be infinite.
                        if _uniform(state) * (1.0 + np.exp(min(rise, 700.0))) < 1.0:
                            order[k, place], order[k, place + distance] = below, above
                    upper += 2 * distance
