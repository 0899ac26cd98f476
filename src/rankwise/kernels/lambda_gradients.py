"""Gradients of pairs weighted by what a measure loses when the two swap places.

What a measure loses when the rows at the ranks r < t swap is, for all measures here,
``|g_r - g_t| |a_r - b_t| c_r`` with gains g and numbers that depend on the ranking:

- discounted gains: a and b are the discounts d, c = 1;
- average precision, with C the relevant rows down to a rank and S the sum of d over them, d the
  reciprocal ranks: a_r = (C_r + 1 - g_r) d_r - S_r, b_t = C_t d_t - S_(t-1), c = 1;
- reciprocal rank, for r up to the first relevant rank f, with s the second: a_r = d_r, b_t = d_f
  at relevant t, d_min(s, t) at others, c = 1;
- expected reciprocal rank, with P the probability to reach a rank and T the sum of g P d:
  a_r = P_r d_r (1 - g_r) + T_r, b_t = T_(t-1) + P_t d_t, c_r = 1 / (1 - g_r).
"""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import REASSOCIATE, njit

# Arrays at constant distances in one buffer: so the compiler knows that they do not overlap.
TILE = 1024
SCORE, POWER, GAIN, BELOW, SLOPE, CURVATURE = (i * (TILE + 8) for i in range(6))
BUFFER = 6 * (TILE + 8)
SMALLEST_POWER = 1e-290
LARGEST_STOP = 1 - 1e-6  # of the probability to stop at a row: c is finite
# How a measure changes.
DISCOUNTED, AVERAGE_PRECISION, RECIPROCAL_RANK, EXPECTED_RANK = range(4)
MOVES_PER_ROW = 8


@njit
def _sort(scores, order):
    """Sort row numbers by descending score, ties by number, from the order they are in."""
    n = len(order)
    moves = 0
    for i in range(1, n):
        row = order[i]
        score = scores[row]
        k = i
        while k > 0:
            above = order[k - 1]
            if scores[above] > score or (scores[above] == score and above < row):
                break
            order[k] = above
            k -= 1
        order[k] = row
        moves += i - k
        if moves > MOVES_PER_ROW * n + 256:
            order[:] = np.argsort(-scores, kind="mergesort")
            return


@njit
def _discount(discounts, rank):
    """Discount of a 0-based rank; 0 after those that count."""
    return discounts[rank] if rank < len(discounts) else 0.0


@njit
def _terms(kind, gains, rows, discounts, above, below, factors):
    """Write a, b and c of every rank; returns the number of ranks that an upper row may have."""
    n = len(rows)
    depth = min(n, len(discounts))
    factors[:n] = 1.0
    if kind == AVERAGE_PRECISION:
        count = total = 0.0
        for r in range(n):
            gain, d = gains[rows[r]], _discount(discounts, r)
            count += gain
            below[r] = count * d - total
            total += gain * d
            above[r] = (count + 1.0 - gain) * d - total
        return depth
    if kind == RECIPROCAL_RANK:
        first = second = n
        for r in range(n - 1, -1, -1):
            if gains[rows[r]] > 0:
                first, second = r, first
        for r in range(n):
            above[r] = _discount(discounts, r)
            rank = first if gains[rows[r]] > 0 else min(second, r)
            below[r] = _discount(discounts, rank)
        return min(depth, first + 1)
    if kind == EXPECTED_RANK:
        reach, total = 1.0, 0.0
        for r in range(n):
            stop = min(gains[rows[r]], LARGEST_STOP)
            now = reach * _discount(discounts, r)
            below[r] = total + now
            total += stop * now
            above[r] = now * (1.0 - stop) + total
            factors[r] = 1.0 / (1.0 - stop)
            reach *= 1.0 - stop
        return depth
    for r in range(n):
        above[r] = below[r] = _discount(discounts, r)
    return depth


@njit(fastmath=REASSOCIATE)
def _pair_row(buffer, r_score, r_power, r_gain, r_above, factor, first, last, damped):
    """Add the pairs of one row with the rows of a tile; returns slope, curvature and size."""
    slope = curvature = size = 0.0
    for number in range(max(first, 0), last):
        t = np.uint64(number)  # no index is negative: nothing to test in the loop
        difference = r_gain - buffer[np.uint64(GAIN) + t]
        weight = factor * abs(difference) * abs(r_above - buffer[np.uint64(BELOW) + t])
        power = buffer[np.uint64(POWER) + t]
        both = r_power + power
        gap = 0.01 + (r_score - buffer[np.uint64(SCORE) + t]) if damped else 1.0
        inverse = 1.0 / (both * gap)
        weight *= inverse
        wrong = power if difference > 0 else r_power
        lam = weight * wrong
        second = weight * power * r_power * inverse * gap
        signed = lam if difference > 0 else -lam
        slope -= signed
        curvature += second
        size += lam
        buffer[np.uint64(SLOPE) + t] += signed
        buffer[np.uint64(CURVATURE) + t] += second
    return slope, curvature, size


@njit
def measure_gradients(
    scores, gains, indptr, query_weight, discounts, kind, normalised, order, gradients, hessians
):
    """Write gradient and second derivative for every row of some queries.

    Parameters
    ----------
    scores, gains : ndarray of shape (n_rows,), float64
    indptr : ndarray of shape (n_queries + 1,), int64
    query_weight : ndarray of shape (n_queries,), float64
        What the change is multiplied by, such as 1 / ideal DCG; 0 where there is nothing to gain.
    discounts : ndarray of shape (depth,), float64
        Of the ranks that count; 0 after them.
    kind : int
        ``DISCOUNTED``, ``AVERAGE_PRECISION``, ``RECIPROCAL_RANK`` (gains 0 and 1 in both) or
        ``EXPECTED_RANK`` (gains are probabilities to stop).
    normalised : bool
        Divide the change of a pair by 0.01 plus the distance of its scores, where not all scores
        are equal, and all gradients of a query by S / log2(1 + S) for the sum S of their sizes.
    order : ndarray of shape (n_rows,), int32
        Row numbers within their query by descending score; read and brought up to date.
    gradients, hessians : ndarray of shape (n_rows,), float64
    """
    buffer = np.empty(BUFFER)
    longest = 0
    for q in range(len(indptr) - 1):
        longest = max(longest, indptr[q + 1] - indptr[q])
    slopes, curvatures = np.empty(longest), np.empty(longest)
    above, below, factors = np.empty(longest), np.empty(longest), np.empty(longest)
    for q in range(len(indptr) - 1):
        start, end = indptr[q], indptr[q + 1]
        n = end - start
        gradients[start:end] = 0.0
        hessians[start:end] = 0.0
        if query_weight[q] == 0.0:
            continue
        mine, rows = scores[start:end], order[start:end]
        _sort(mine, rows)
        depth = _terms(kind, gains[start:end], rows, discounts, above, below, factors)
        slopes[:n] = 0.0
        curvatures[:n] = 0.0
        highest = mine[rows[0]]
        damped = normalised and highest != mine[rows[n - 1]]
        total = 0.0
        for tile in range(0, n, TILE):
            width = min(TILE, n - tile)
            for t in range(width):
                row = rows[tile + t]
                buffer[SCORE + t] = mine[row]
                buffer[POWER + t] = max(np.exp(mine[row] - highest), SMALLEST_POWER)
                buffer[GAIN + t] = gains[start + row]
                buffer[BELOW + t] = below[tile + t]
                buffer[SLOPE + t] = 0.0
                buffer[CURVATURE + t] = 0.0
            for r in range(min(depth, tile + width)):
                row = rows[r]
                slope, curvature, size = _pair_row(
                    buffer, mine[row], max(np.exp(mine[row] - highest), SMALLEST_POWER),
                    gains[start + row], above[r], factors[r], max(0, r + 1 - tile), width, damped,
                )  # fmt: skip
                slopes[r] += slope
                curvatures[r] += curvature
                total += size
            for t in range(width):
                slopes[tile + t] += buffer[SLOPE + t]
                curvatures[tile + t] += buffer[CURVATURE + t]
        scale = query_weight[q]
        if normalised and total > 0:
            total *= 2.0 * scale
            scale *= np.log2(1.0 + total) / total
        for t in range(n):
            gradients[start + rows[t]] = slopes[t] * scale
            hessians[start + rows[t]] = curvatures[t] * scale
