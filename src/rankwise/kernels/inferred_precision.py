"""Sums of inferred precisions over judged relevant rows, with tied rows in every order.

A row is of a kind: relevant, otherwise judged, pooled without a judgement, outside of the pool, or
not retrieved. Below k rows of the ranking, r of them relevant, n otherwise judged and u pooled
without a judgement, the inferred precision of a relevant row is

    1 / (k + 1) + (r + n + u) / (k + 1) · (r + ε) / (r + n + 2 ε).

Averaged over the orders of a block of tied rows, it needs the joint distribution of r, n and u
among the first rows of the block. Given the number of judged ones, r and u are independent and
enter linearly, so their hypergeometric means suffice: O(t²) for t tied rows, and O(1) for a row
without ties.
"""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import njit

RELEVANT, OTHER, POOLED, OUTSIDE, MISSING = 3.0, 2.0, 1.0, 0.0, -1.0
# trec_eval's smoothing of the share of relevant rows among the judged ones.
EPSILON = 1e-5


@njit
def add_inferred_precisions(kinds, starts, indptr, out):
    """Write the sum of the inferred precisions of each query into ``out``.

    ``kinds`` holds the kinds of the rows by descending score, ``starts`` the starts of the blocks
    of tied rows (the number of rows at the end), each within one query.
    """
    block = 0
    for q in range(len(indptr) - 1):
        total = 0.0
        above = np.zeros(4)
        while starts[block] < indptr[q + 1]:
            start, stop = starts[block], starts[block + 1]
            block += 1
            inside = np.zeros(4)
            for row in range(start, stop):
                if kinds[row] >= 0:
                    inside[np.int64(kinds[row])] += 1
            if inside[3] > 0:
                total += inside[3] * _expect_precision(above, inside)
            above += inside
        out[q] = total


@njit
def _expect_precision(above, inside):
    """Expected inferred precision of one relevant row of a block; counts are by kind."""
    n_above = above[0] + above[1] + above[2] + above[3]
    in_pool = above[1] + above[2] + above[3]
    n_judged = np.int64(inside[3] - 1 + inside[2])
    n_others = np.int64(n_judged + inside[1] + inside[0])
    relevant_share = (inside[3] - 1) / max(n_judged, 1)
    pool_share = inside[1] / max(inside[0] + inside[1], 1.0)
    # chance[s]: s of the first p other rows of the block are judged.
    chance = np.zeros(n_judged + 1)
    chance[0] = 1.0
    total = 0.0
    for p in range(n_others + 1):
        mean = 0.0
        for s in range(min(p, n_judged) + 1):
            pooled = in_pool + s + (p - s) * pool_share
            relevant = above[3] + s * relevant_share
            judged = above[3] + above[2] + s
            mean += chance[s] * pooled * (relevant + EPSILON) / (judged + 2 * EPSILON)
        total += (1.0 + mean) / (n_above + p + 1.0)
        left = n_others - p
        if left == 0:
            break
        for s in range(min(p + 1, n_judged), -1, -1):
            unjudged_left = max(n_others - n_judged - (p - s), 0)
            stay = chance[s] * unjudged_left / left
            chance[s] = stay
            if s > 0:
                chance[s] += chance[s - 1] * (n_judged - s + 1) / left
    return total / (n_others + 1)
