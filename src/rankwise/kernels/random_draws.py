"""Draws with a generator of their own: sign flips of queries, swaps of ranked rows.

For the largest t statistic over all pairs of systems, flipping the sign of all systems of a query
does not change its squared differences, so only the stratum means must be recomputed. Unless a
value is missing, sums per system suffice for them.

Rankings are sampled by swapping two rows (Gibbs sampling). A ranking r of a query (1 = top) has the
probability ``P(r) ~ exp(-sum_i force_i r_i)``. Given all other rows, two rows that are d ranks
apart swap with probability ``1 / (1 + exp(d (force_upper - force_lower)))``. P is invariant under
this step.
"""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import njit

STEP, _ONE = np.uint64(0x9E3779B97F4A7C15), np.uint64(1)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_27, _30, _31 = np.uint64(27), np.uint64(30), np.uint64(31)
# Smallest squared standard error relative to the squared difference: below it is rounding.
SMALLEST_ERROR = 1e-12


@njit
def largest_pair_t(values, counted, starts, base, ratio, share, shifts, variances, seeds, maxima):
    """Fill ``maxima`` (n_draws,) with the largest squared t over pairs, one per draw of signs.

    - ``values`` (n_queries, n_systems): rows ordered by stratum; 0 if not counted.
    - ``counted`` (n_queries, n_systems), bool.
    - ``starts`` (n_strata + 1,), int64: first row of each stratum.
    - ``base`` (n_systems, n_systems): squared standard error of each pair's mean difference if the
      sums of all strata were 0; NaN excludes the pair.
    - ``ratio`` (n_strata, n_systems, n_systems): what the square of a stratum's sum takes from
      ``base``: squares are about its mean, and the sum of squares itself does not change with
      signs.
    - ``share`` (n_strata, n_systems, n_systems): weight of a stratum's sum in the mean difference.
    - ``shifts`` (n_draws, n_systems): what each draw adds to the mean of a system.
    - ``variances`` (n_systems,): variance of these shifts, which joins the squared standard error
      of a pair.
    - ``seeds`` (n_draws,), uint64: one per draw, so that results do not depend on how draws are
      divided among threads.

    O(n_draws · n_systems · (n_queries + n_systems · n_strata)), and O(n_draws · n_systems²) more
    for every query with a missing value.
    """
    n_strata, k = len(starts) - 1, values.shape[1]
    sums = np.empty((n_strata, k))
    # Differences over queries that do not count for every system; 0 if there are none.
    partial = np.zeros((n_strata, k, k))
    complete = np.ones(len(values), np.bool_)
    for q in range(len(values)):
        for i in range(k):
            complete[q] &= counted[q, i]
    for p in range(len(seeds)):
        state, bits, n_bits = seeds[p], np.uint64(0), 0
        sums[:] = 0.0
        partial[:] = 0.0
        for g in range(n_strata):
            for q in range(starts[g], starts[g + 1]):
                if n_bits == 0:  # splitmix64
                    state += STEP
                    bits = (state ^ (state >> _30)) * _FIRST
                    bits = (bits ^ (bits >> _27)) * _SECOND
                    bits ^= bits >> _31
                    n_bits = 64
                sign = 1.0 if bits & _ONE else -1.0
                bits >>= _ONE
                n_bits -= 1
                if complete[q]:
                    for i in range(k):
                        sums[g, i] += sign * values[q, i]
                else:
                    for i in range(k):
                        if counted[q, i]:
                            for j in range(i + 1, k):
                                if counted[q, j]:
                                    partial[g, i, j] += sign * (values[q, i] - values[q, j])
        maxima[p] = _largest(sums, partial, base, ratio, share, shifts[p], variances)


@njit
def _largest(sums, partial, base, ratio, share, shift, variance):
    largest = 0.0
    for i in range(len(base)):
        for j in range(i + 1, len(base)):
            if np.isnan(base[i, j]):
                continue
            error, mean = base[i, j], 0.0
            for g in range(len(sums)):
                total = sums[g, i] - sums[g, j] + partial[g, i, j]
                error -= total * total * ratio[g, i, j]
                mean += total * share[g, i, j]
            mean += shift[i] - shift[j]
            error += variance[i] + variance[j]
            error = max(error, SMALLEST_ERROR * mean * mean)
            if error > 0.0:
                largest = max(largest, mean * mean / error)
    return largest


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
