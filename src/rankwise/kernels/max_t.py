"""Largest t statistic over all pairs of systems when labels are permuted within queries.

Westfall & Young (1993), Resampling-Based Multiple Testing; for rankings Carterette (2012), ACM
TOIS 30(1):4. O(n_permutations · n_queries · n_systems²).
"""

from __future__ import annotations

import numpy as np

from rankwise._jit import REASSOCIATE, njit

_STEP, _LOW = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xFFFFFFFF)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_27, _30, _31, _32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
_BLOCK = 64
# Smallest squared standard error relative to the squared difference: below it is rounding.
SMALLEST_ERROR = 1e-12


@njit
def largest_pair_t(values, counted, starts, sizes, scale, seeds, maxima):
    """Fill ``maxima`` with the largest squared t over pairs, one per permutation.

    Parameters
    ----------
    values : ndarray of shape (n_queries, n_systems), float64
        Rows ordered by stratum; 0 where not counted.
    counted : ndarray of shape (n_queries, n_systems), bool
    starts : ndarray of shape (n_strata + 1,), int64
        First row of each stratum.
    sizes : ndarray of shape (n_strata, n_systems, n_systems), float64
        Queries that count for both systems of a pair.
    scale : ndarray of shape (n_systems, n_systems), float64
        Squared standard error of a pair's mean difference over its sum of squares within strata;
        NaN: the pair is left out.
    seeds : ndarray of shape (n_permutations,), uint64
        One per permutation, so that results do not depend on how permutations are divided among
        threads. Drawing every permutation beforehand would take gigabytes.
    maxima : ndarray of shape (n_permutations,), float64
        Output.
    """
    n_strata, k = len(starts) - 1, values.shape[1]
    row, places = np.empty(k), np.empty(k, np.int64)
    block = np.empty((k, _BLOCK))  # permuted values of a few queries, one system per row
    squares, sums = np.empty((k, k)), np.empty((n_strata, k))
    # Differences over queries that do not count for every system; zero without such queries.
    partial = np.zeros((n_strata, k, k))
    n_strata_of = np.zeros((k, k))
    for g in range(n_strata):
        for i in range(k):
            for j in range(k):
                n_strata_of[i, j] += sizes[g, i, j] > 0
    for p in range(len(seeds)):
        state, bits, halves = seeds[p], np.uint64(0), 0
        squares[:] = 0.0
        sums[:] = 0.0
        partial[:] = 0.0
        for g in range(n_strata):
            n_block = 0
            for q in range(starts[g], starts[g + 1]):
                n_here = 0
                for i in range(k):
                    row[i] = values[q, i]
                    if counted[q, i]:
                        places[n_here] = i
                        n_here += 1
                for last in range(n_here - 1, 0, -1):  # Fisher & Yates with splitmix64
                    if halves == 0:
                        state += _STEP
                        bits = (state ^ (state >> _30)) * _FIRST
                        bits = (bits ^ (bits >> _27)) * _SECOND
                        bits ^= bits >> _31
                        halves = 2
                    draw = np.int64((bits & _LOW) * np.uint64(last + 1) >> _32)
                    bits >>= _32
                    halves -= 1
                    a, b = places[last], places[draw]
                    row[a], row[b] = row[b], row[a]
                if n_here == k:
                    for i in range(k):
                        block[i, n_block] = row[i]
                    n_block += 1
                else:
                    for one in range(n_here):
                        i = places[one]
                        for other in range(one + 1, n_here):
                            j = places[other]
                            difference = row[i] - row[j]
                            partial[g, i, j] += difference
                            squares[i, j] += difference * difference
                if n_block == _BLOCK or (q == starts[g + 1] - 1 and n_block):
                    _add_block(block, n_block, sums[g], squares)
                    n_block = 0
        maxima[p] = _largest(sums, partial, squares, sizes, n_strata_of, scale)


@njit(fastmath=REASSOCIATE)
def _add_block(block, n_block, sums, squares):
    """Add values to ``sums`` and squared differences to ``squares``, in place."""
    for i in range(block.shape[0]):
        total = 0.0
        for q in range(n_block):
            total += block[i, q]
        sums[i] += total
        for j in range(i + 1, block.shape[0]):
            total = 0.0
            for q in range(n_block):
                difference = block[i, q] - block[j, q]
                total += difference * difference
            squares[i, j] += total


@njit
def _largest(sums, partial, squares, sizes, n_strata_of, scale):
    largest = 0.0
    for i in range(len(squares)):
        for j in range(i + 1, len(squares)):
            if np.isnan(scale[i, j]):
                continue
            within, mean = squares[i, j], 0.0
            for g in range(len(sums)):
                if sizes[g, i, j] > 0:
                    total = sums[g, i] - sums[g, j] + partial[g, i, j]
                    within -= total * total / sizes[g, i, j]
                    mean += total / sizes[g, i, j]
            mean /= n_strata_of[i, j]
            error = max(within * scale[i, j], SMALLEST_ERROR * mean * mean)
            if error > 0.0:
                largest = max(largest, mean * mean / error)
    return largest
