"""Gradients of pairs weighted by what a measure loses when the two swap places."""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import REASSOCIATE, njit

# Arrays at constant distances in one buffer: so the compiler knows that they do not overlap.
TILE = 1024
SCORE, POWER, GAIN, DISCOUNT, CHANGE, SLOPE, CURVATURE = (i * (TILE + 8) for i in range(7))
BUFFER = 7 * (TILE + 8)
SMALLEST_POWER = 1e-290
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


@njit(fastmath=REASSOCIATE)
def _pair_row(buffer, r_score, r_power, r_gain, r_discount, first, last, damped):
    """Add the pairs of one row with the rows of a tile; returns slope, curvature and size."""
    slope = curvature = size = 0.0
    for number in range(max(first, 0), last):
        t = np.uint64(number)  # no index is negative: nothing to test in the loop
        difference = r_gain - buffer[np.uint64(GAIN) + t]
        weight = abs(difference) * abs(r_discount - buffer[np.uint64(DISCOUNT) + t])
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
def ndcg_gradients(
    scores, gains, indptr, inverse_ideal, discounts, normalised, order, gradients, hessians
):
    """Write gradient and second derivative for every row of some queries.

    Parameters
    ----------
    scores, gains : ndarray of shape (n_rows,), float64
    indptr : ndarray of shape (n_queries + 1,), int64
    inverse_ideal : ndarray of shape (n_queries,), float64
        Weight of every query: 1 / ideal DCG, 0 where there is nothing to gain.
    discounts : ndarray of shape (depth,), float64
        Of the ranks that count; 0 after them.
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
    for q in range(len(indptr) - 1):
        start, end = indptr[q], indptr[q + 1]
        n = end - start
        gradients[start:end] = 0.0
        hessians[start:end] = 0.0
        if inverse_ideal[q] == 0.0:
            continue
        mine, rows = scores[start:end], order[start:end]
        _sort(mine, rows)
        depth = min(len(discounts), n)
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
                buffer[DISCOUNT + t] = discounts[tile + t] if tile + t < depth else 0.0
                buffer[SLOPE + t] = 0.0
                buffer[CURVATURE + t] = 0.0
            for r in range(min(depth, tile + width)):
                row = rows[r]
                slope, curvature, size = _pair_row(
                    buffer, mine[row], max(np.exp(mine[row] - highest), SMALLEST_POWER),
                    gains[start + row], discounts[r], max(0, r + 1 - tile), width, damped,
                )  # fmt: skip
                slopes[r] += slope
                curvatures[r] += curvature
                total += size
            for t in range(width):
                slopes[tile + t] += buffer[SLOPE + t]
                curvatures[tile + t] += buffer[CURVATURE + t]
        scale = inverse_ideal[q]
        if normalised and total > 0:
            total *= 2.0 * scale
            scale *= np.log2(1.0 + total) / total
        for t in range(n):
            gradients[start + rows[t]] = slopes[t] * scale
            hessians[start + rows[t]] = curvatures[t] * scale
