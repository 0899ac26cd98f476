"""Hinge losses over pairs for many distinct labels, with sums from binary indexed trees.

Like :mod:`rankwise.kernels.pair_hinge`, for pairs of equal weight. Sums over all lower labels are
prefix sums of a Fenwick tree [1]_ over the ranks of the labels.

Complexity: O(m log m) for a query of m rows, for any number of labels.

References
----------
.. [1] Fenwick, "A new data structure for cumulative frequency tables", Software: Practice and
   Experience 24 (1994).
"""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import njit


@njit
def _add(tree, grade, first, second, third):
    """Add to the three sums of a grade."""
    place = grade + 1
    while place < len(tree):
        tree[place, 0] += first
        tree[place, 1] += second
        tree[place, 2] += third
        # The lowest bit set is the number of grades that a node sums.
        place += place & -place


@njit
def _below(tree, grade):
    """Three sums over all grades below."""
    first, second, third = 0.0, 0.0, 0.0
    place = grade
    while place > 0:
        first += tree[place, 0]
        second += tree[place, 1]
        third += tree[place, 2]
        place -= place & -place
    return first, second, third


@njit
def hinge_point_many(keys, ranks, weight, scale, indptr, shape, order, placed, out):
    """Evaluate the loss of some queries and its gradient; prepare the curvature.

    ``ranks`` (n,), int64, are those of each row's label within its query, from 0; equal labels
    share a rank. ``order`` (n,), int64, holds the rows of each query in the order of their keys.
    For the other arrays, see :func:`rankwise.kernels.pair_hinge.hinge_point`.
    """
    margin, bend, curvature = shape[0], shape[1], shape[2]
    straight = bend < np.inf
    value = 0.0
    for query in range(len(indptr) - 1):
        lo, hi = indptr[query], indptr[query + 1]
        if hi == lo:
            continue
        # Ranks, not labels, so that a tree is no longer than the query has labels.
        top = 0
        for row in range(lo, hi):
            top = max(top, ranks[row])
        bent = np.zeros((top + 2, 3))  # opponents of lower labels on the parabola
        line = np.zeros((top + 2, 3))  # and on the straight part
        bent_above = np.zeros((top + 2, 3))  # of higher labels: ranks from the top
        line_above = np.zeros((top + 2, 3))
        # Keys about the middle of the query keep the sums of squares accurate.
        centre = 0.5 * (keys[order[lo]] + keys[order[hi - 1]])
        for place in range(lo, hi):
            row = order[place]
            placed[0, place], placed[1, place] = keys[row], weight[row]
            key, w = keys[row] - centre, weight[row]
            _add(line if straight else bent, ranks[row], w, w * key, w * key * key)
        first_below, first_line = lo, lo
        end_above, end_line = lo, lo
        if not straight:
            first_line = hi
        for place in range(lo, hi):
            row = order[place]
            key, w, rank = placed[0, place], placed[1, place], ranks[row]
            while first_line < hi and placed[0, first_line] <= key - margin + bend:
                other, v = order[first_line], placed[1, first_line]
                at = placed[0, first_line] - centre
                _add(line, ranks[other], -v, -v * at, -v * at * at)
                _add(bent, ranks[other], v, v * at, v * at * at)
                first_line += 1
            while first_below < first_line and placed[0, first_below] <= key - margin:
                other, v = order[first_below], placed[1, first_below]
                at = placed[0, first_below] - centre
                _add(bent, ranks[other], -v, -v * at, -v * at * at)
                first_below += 1
            while end_above < hi and placed[0, end_above] < key + margin:
                other, v = order[end_above], placed[1, end_above]
                # Ranks from the top: sums over higher labels are prefix sums too.
                _add(bent_above, top - ranks[other], v, v * (placed[0, end_above] - centre), 0.0)
                end_above += 1
            while straight and end_line < end_above and placed[0, end_line] < key + margin - bend:
                other, v = order[end_line], placed[1, end_line]
                at = placed[0, end_line] - centre
                _add(bent_above, top - ranks[other], -v, -v * at, 0.0)
                _add(line_above, top - ranks[other], v, 0.0, 0.0)
                end_line += 1
            s0, s1, s2 = _below(bent, rank)
            u0, u1, _ = _below(bent_above, top - rank)
            key -= centre
            reach = margin - key
            loss = curvature * (reach * reach * s0 + 2.0 * reach * s1 + s2)
            slope = 2.0 * curvature * ((margin + key) * u0 - u1 - reach * s0 - s1)
            if straight:
                line0, line1, _ = _below(line, rank)
                above0, _, _ = _below(line_above, top - rank)
                # The line that continues the parabola at `bend`: 2 c bend (s - bend / 2).
                loss += 2.0 * curvature * bend * (reach * line0 + line1 - 0.5 * bend * line0)
                slope += 2.0 * curvature * bend * (above0 - line0)
            value += scale[query] * w * loss
            out[row] = scale[query] * w * slope
            placed[2, place] = s0 + u0
    return value


@njit
def hinge_curvature_many(values, ranks, scale, indptr, shape, order, placed, out):
    """Second derivative of the loss at the last :func:`hinge_point_many`, times ``values``."""
    margin, bend, curvature = shape[0], shape[1], shape[2]
    for query in range(len(indptr) - 1):
        lo, hi = indptr[query], indptr[query + 1]
        if hi == lo:
            continue
        top = 0
        for row in range(lo, hi):
            top = max(top, ranks[row])
        # Prefix sums by label, as in pair_hinge, would take m numbers for each: walk the ranges
        # again.
        bent, bent_above = np.zeros((top + 2, 3)), np.zeros((top + 2, 3))
        first_below, end_below, first_above, end_above = lo, lo, lo, lo
        factor = 2.0 * curvature * scale[query]
        for place in range(lo, hi):
            row = order[place]
            key, rank = placed[0, place], ranks[row]
            while end_below < hi and placed[0, end_below] <= key - margin + bend:
                other = order[end_below]
                _add(bent, ranks[other], placed[1, end_below] * values[other], 0.0, 0.0)
                end_below += 1
            while first_below < end_below and placed[0, first_below] <= key - margin:
                other = order[first_below]
                _add(bent, ranks[other], -placed[1, first_below] * values[other], 0.0, 0.0)
                first_below += 1
            while end_above < hi and placed[0, end_above] < key + margin:
                other = order[end_above]
                _add(bent_above, top - ranks[other], placed[1, end_above] * values[other], 0.0, 0.0)
                end_above += 1
            while first_above < end_above and placed[0, first_above] < key + margin - bend:
                other = order[first_above]
                push = placed[1, first_above] * values[other]
                _add(bent_above, top - ranks[other], -push, 0.0, 0.0)
                first_above += 1
            opponents = _below(bent, rank)[0] + _below(bent_above, top - rank)[0]
            out[row] = factor * placed[1, place] * (placed[2, place] * values[row] - opponents)


@njit
def hinge_sum_many(keys, ranks, weight, scale, indptr, margin, order):
    """Sum of ``max(0, margin - (key_i - key_j))`` over the pairs of some queries."""
    value = 0.0
    for query in range(len(indptr) - 1):
        lo, hi = indptr[query], indptr[query + 1]
        if hi == lo:
            continue
        top = 0
        for row in range(lo, hi):
            top = max(top, ranks[row])
        sums = np.zeros((top + 2, 3))
        base = keys[order[lo]]
        first = hi
        for place in range(hi - 1, lo - 1, -1):
            row = order[place]
            while first > lo and keys[order[first - 1]] > keys[row] - margin:
                first -= 1
                other = order[first]
                _add(sums, ranks[other], weight[other], weight[other] * (keys[other] - base), 0.0)
            count, total, _ = _below(sums, ranks[row])
            reach = margin - (keys[row] - base)
            value += scale[query] * weight[row] * (reach * count + total)
    return value
