"""Hinge and logistic losses over the pairs of unequal grades of a query, or over listed pairs.

Hinges of few grades come from order statistics [1]_. The rows of a query are sorted by key. For
every row i, the rows j of lower grade with a positive slack ``s = margin - (key_i - key_j)`` lie in
a range of positions, whose ends only move up from row to row. Sums over the range are updated for
each grade. The loss is ``curvature s^2`` up to ``bend`` and continues as a straight line.

The weight of a pair of rows is ``table[a, b]`` for their grades a > b, times the weights of the two
rows, times the scale of the query.

They take O(m log m + m K) for a query of m rows and K grades; nearly sorted rows sort in O(m). For
many distinct labels and pairs of equal weight, sums over all lower labels are prefix sums of a
Fenwick tree [2]_ over the ranks of the labels, in O(m log m) for any number of labels.

For the logistic loss ``log(1 + exp(-(f_i - f_j)))``, the rows of a query are sorted by grade, so
that the opponents of a row form a contiguous range. ``exp(f_j - f_i)`` is a product of one number
per row, so a pair takes a division and no exponential. Sums of logarithms are computed as
logarithms of products. It takes O(pairs), as does the hinge over listed pairs.

References
----------
.. [1] Lee & Lin, "Large-scale linear RankSVM", Neural Computation 26 (2014): the order statistics.
.. [2] Fenwick, "A new data structure for cumulative frequency tables", Software: Practice and
   Experience 24 (1994).
"""

from __future__ import annotations

import numpy as np

from rankwise.kernels.sorting import sort_rows
from rankwise.runtime.jit import REASSOCIATE, njit

_MOVES_PER_ROW = 8  # moves of an insertion sort, beyond which a merge sort is faster


@njit
def _restore_order(order, keys, lo, hi):
    """Sort ``order[lo:hi]`` by key in place; fast if it is nearly sorted."""
    moves = _MOVES_PER_ROW * (hi - lo)
    for place in range(lo + 1, hi):
        row = order[place]
        key = keys[row]
        before = place - 1
        while before >= lo and keys[order[before]] > key:
            order[before + 1] = order[before]
            before -= 1
        order[before + 1] = row
        # The scores of a solver's next step leave most rows in order; otherwise give up early.
        moves -= place - 1 - before
        if moves < 0:
            sort_rows(keys, order[lo:hi], np.empty(hi - lo, np.int64))
            return


@njit
def hinge_point(keys, grades, weight, scale, indptr, table, shape, order, placed, ranges, out):
    """Evaluate the loss of some queries and its gradient; prepare :func:`hinge_curvature`.

    - ``keys`` and ``weight`` (n,), float64; ``scale`` (n_queries,), float64.
    - ``grades`` (n,), int64: from 0 to K - 1.
    - ``indptr`` (n_queries + 1,), int64.
    - ``table`` (K, K): weight of each pair of grades, upper grade first.
    - ``shape`` (3,): margin, bend (infinity: none) and curvature.
    - ``order`` (n,), int64, changed: rows of each query; becomes sorted by key, which is faster if
      it nearly is.
    - ``placed`` (3, n), float64, written: key, weight and diagonal of the curvature of the row at
      each position.
    - ``ranges`` (5, n), int32, written: for the row at each position: start and end, within the
      query, of its opponents of lower grade on the bent part, the same for opponents of higher
      grade, and its grade.
    - ``out`` (n,), float64, written: gradient with respect to the keys, in input order.
    """
    n_grades = table.shape[0]
    margin, bend, curvature = shape[0], shape[1], shape[2]
    straight = bend < np.inf
    below = np.zeros((5, n_grades))  # opponents of lower grade: three sums of the bent, two of the
    above = np.zeros((5, n_grades))  # straight part; the same for opponents of higher grade
    value = 0.0
    for query in range(len(indptr) - 1):
        lo, hi = indptr[query], indptr[query + 1]
        if hi - lo < 2:
            for place in range(lo, hi):
                placed[0, place], placed[1, place], placed[2, place] = keys[place], 0.0, 0.0
                for part in range(5):
                    ranges[part, place] = 0
                out[place] = 0.0
            continue
        _restore_order(order, keys, lo, hi)
        centre = 0.5 * (keys[order[lo]] + keys[order[hi - 1]])  # keeps sums of squares accurate
        for part in range(5):
            for g in range(n_grades):
                below[part, g] = 0.0
                above[part, g] = 0.0
        for place in range(lo, hi):
            row = order[place]
            key, w, grade = keys[row] - centre, weight[row], grades[row]
            placed[0, place], placed[1, place] = keys[row], w
            below[0, grade] += w
            below[1, grade] += w * key
            below[2, grade] += w * key * key
        # Opponents of lower grade start on the straight part. Their slack falls as the key rises:
        # each moves on to the bent part and then out. Those of higher grade enter instead.
        first_below, first_straight_below = lo, lo
        end_above, end_straight_above = lo, lo
        if not straight:
            first_straight_below = hi
        else:
            for g in range(n_grades):
                below[3, g] = below[0, g]
                below[4, g] = below[1, g]
                for part in range(3):
                    below[part, g] = 0.0
        for place in range(lo, hi):
            row = order[place]
            key, w, grade = placed[0, place], placed[1, place], grades[row]
            while straight and first_straight_below < hi:
                other = placed[0, first_straight_below]
                if other > key - margin + bend:
                    break
                g, v = grades[order[first_straight_below]], placed[1, first_straight_below]
                other -= centre
                below[3, g] -= v
                below[4, g] -= v * other
                below[0, g] += v
                below[1, g] += v * other
                below[2, g] += v * other * other
                first_straight_below += 1
            while first_below < first_straight_below:
                other = placed[0, first_below]
                if other > key - margin:
                    break
                g, v = grades[order[first_below]], placed[1, first_below]
                other -= centre
                below[0, g] -= v
                below[1, g] -= v * other
                below[2, g] -= v * other * other
                first_below += 1
            while end_above < hi:
                other = placed[0, end_above]
                if other >= key + margin:
                    break
                g, v = grades[order[end_above]], placed[1, end_above]
                above[0, g] += v
                above[1, g] += v * (other - centre)
                end_above += 1
            while straight and end_straight_above < end_above:
                other = placed[0, end_straight_above]
                if other >= key + margin - bend:
                    break
                g, v = grades[order[end_straight_above]], placed[1, end_straight_above]
                above[0, g] -= v
                above[1, g] -= v * (other - centre)
                above[3, g] += v
                end_straight_above += 1
            s0, s1, s2, line0, line1 = 0.0, 0.0, 0.0, 0.0, 0.0
            for g in range(grade):
                pair = table[grade, g]
                s0 += pair * below[0, g]
                s1 += pair * below[1, g]
                s2 += pair * below[2, g]
                if straight:
                    line0 += pair * below[3, g]
                    line1 += pair * below[4, g]
            u0, u1, line_above = 0.0, 0.0, 0.0
            for g in range(grade + 1, n_grades):
                pair = table[g, grade]
                u0 += pair * above[0, g]
                u1 += pair * above[1, g]
                if straight:
                    line_above += pair * above[3, g]
            key -= centre
            reach = margin - key
            slacks = reach * s0 + s1
            loss = curvature * (reach * reach * s0 + 2.0 * reach * s1 + s2)
            slope = 2.0 * curvature * ((margin + key) * u0 - u1 - slacks)
            if straight:
                # The line continues the parabola at `bend` with its slope: 2 c bend s - c bend^2.
                start = curvature * bend * bend - 2.0 * curvature * bend * bend
                loss += 2.0 * curvature * bend * (reach * line0 + line1) + start * line0
                slope += 2.0 * curvature * bend * (line_above - line0)
            value += scale[query] * w * loss
            out[row] = scale[query] * w * slope
            # The row's own second derivative; the straight part has none.
            placed[2, place] = s0 + u0
            ranges[0, place] = first_below - lo
            ranges[1, place] = first_straight_below - lo
            ranges[2, place] = end_straight_above - lo
            ranges[3, place] = end_above - lo
            ranges[4, place] = grade
    return value


@njit
def hinge_curvature(values, scale, indptr, table, curvature, order, placed, ranges, out):
    """Second derivative of the loss at the last :func:`hinge_point`, times ``values``.

    ``values`` and ``out``, which is written, are (n,), float64; for the others, see
    :func:`hinge_point`.
    """
    n_grades = table.shape[0]
    most = 0
    for query in range(len(indptr) - 1):
        most = max(most, indptr[query + 1] - indptr[query])
    sums = np.zeros((most + 1, n_grades))  # sums of the values of each grade before a position
    for query in range(len(indptr) - 1):
        lo, hi = indptr[query], indptr[query + 1]
        factor = 2.0 * curvature * scale[query]
        for place in range(lo, hi):
            # Prefix sums, so that a range of opponents is a difference of two of them.
            before, after = sums[place - lo], sums[place - lo + 1]
            for g in range(n_grades):
                after[g] = before[g]
            after[ranges[4, place]] += placed[1, place] * values[order[place]]
        for place in range(lo, hi):
            grade = ranges[4, place]
            start, end = sums[ranges[0, place]], sums[ranges[1, place]]
            opponents = 0.0
            for g in range(grade):
                opponents += table[grade, g] * (end[g] - start[g])
            start, end = sums[ranges[2, place]], sums[ranges[3, place]]
            for g in range(grade + 1, n_grades):
                opponents += table[g, grade] * (end[g] - start[g])
            row = order[place]
            out[row] = factor * placed[1, place] * (placed[2, place] * values[row] - opponents)


@njit
def hinge_sum(keys, grades, weight, scale, indptr, table, margin):
    """Sum of ``table[a, b] max(0, margin - (key_i - key_j))`` over the pairs of some queries.

    For the arrays, see :func:`hinge_point`.
    """
    n_grades = table.shape[0]
    sums = np.zeros((2, n_grades))
    value = 0.0
    longest = 0
    for query in range(len(indptr) - 1):
        longest = max(longest, indptr[query + 1] - indptr[query])
    places, spare = np.empty(longest, np.int64), np.empty(longest, np.int64)
    for query in range(len(indptr) - 1):
        lo, hi = indptr[query], indptr[query + 1]
        order = places[: hi - lo]
        for place in range(hi - lo):
            order[place] = place
        sort_rows(keys[lo:hi], order, spare)
        for g in range(n_grades):
            sums[0, g] = 0.0
            sums[1, g] = 0.0
        # The base is the lowest key: reach and moments are then of the size of the range of keys.
        first = hi - lo  # sums of the rows above key - margin, from the top down
        for place in range(hi - lo - 1, -1, -1):
            row = lo + order[place]
            while first > 0 and keys[lo + order[first - 1]] > keys[row] - margin:
                first -= 1
                other = lo + order[first]
                sums[0, grades[other]] += weight[other]
                sums[1, grades[other]] += weight[other] * (keys[other] - keys[lo + order[0]])
            reach = margin - (keys[row] - keys[lo + order[0]])
            for g in range(grades[row]):
                value += (
                    scale[query]
                    * weight[row]
                    * table[grades[row], g]
                    * (reach * sums[0, g] + sums[1, g])
                )
    return value


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
    For the other arrays, see ``hinge_point``.
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


@njit
def evaluate_listed_pairs(keys, upper, lower, weight, margin, bend, curvature, out):
    """Return the loss and the trace of its second derivative; add the gradient to ``out``.

    The loss for a slack ``s = margin - (key_upper - key_lower)`` is ``curvature s^2`` up to
    ``bend``, then a straight line. ``keys`` and ``out`` are (n,), float64; ``upper`` and ``lower``,
    int64, are the rows of each pair and ``weight`` its weight, float64, all (n_pairs,).
    """
    value, trace = 0.0, 0.0
    for pair in range(len(upper)):
        i, j = upper[pair], lower[pair]
        slack = margin - (keys[i] - keys[j])
        if slack <= 0.0:
            continue
        if slack <= bend:
            value += weight[pair] * curvature * slack * slack
            slope = 2.0 * weight[pair] * curvature * slack
            # 2 w c at both rows of the pair.
            trace += 4.0 * weight[pair] * curvature
        else:
            # The straight line continues the parabola with its slope at `bend`.
            slope = 2.0 * weight[pair] * curvature * bend
            value += slope * (slack - 0.5 * bend)
        out[i] -= slope
        out[j] += slope
    return value, trace


@njit
def apply_listed_curvature(values, keys, upper, lower, weight, margin, bend, curvature, out):
    """Add the second derivative at the keys, times ``values``, to ``out``."""
    for pair in range(len(upper)):
        i, j = upper[pair], lower[pair]
        slack = margin - (keys[i] - keys[j])
        if 0.0 < slack <= bend:
            push = 2.0 * weight[pair] * curvature * (values[i] - values[j])
            out[i] += push
            out[j] -= push


@njit
def sum_listed_pairs(keys, upper, lower, weight, margin):
    """Sum of ``weight max(0, margin - (key_upper - key_lower))``."""
    value = 0.0
    for pair in range(len(upper)):
        value += weight[pair] * max(0.0, margin - (keys[upper[pair]] - keys[lower[pair]]))
    return value


_LARGEST = 600.0  # score difference up to which products of exponentials are finite
_FULL = 1e30  # a product that can take one more factor up to exp(600)


@njit
def raise_scores(scores, order, indptr, grow):
    """Write exp(score - middle of the query's scores) for every row, in the given order.

    ``scores`` and ``grow`` are (n,), float64, ``order`` (n,), int64. Returns whether all
    differences within queries are at most 600. If not, do not use ``grow``.
    """
    for query in range(len(indptr) - 1):
        lo, hi = indptr[query], indptr[query + 1]
        if hi == lo:
            continue
        low = high = scores[order[lo]]
        for place in range(lo + 1, hi):
            low = min(low, scores[order[place]])
            high = max(high, scores[order[place]])
        # Written so that NaN gives False as well.
        if not high - low <= _LARGEST:
            return False
        middle = 0.5 * (low + high)
        for place in range(lo, hi):
            # About the middle, numbers and their reciprocals stay within exp(-300) and exp(300).
            grow[place] = np.exp(scores[order[place]] - middle)
    return True


@njit
def _logarithms(grow, shrink, weight, first, last):
    """Sum of ``weight log(1 + grow shrink)`` over the range."""
    total, product = 0.0, 1.0
    for place in range(first, last):
        factor = 1.0 + grow[place] * shrink
        if weight[place] == 1.0:
            # One logarithm for many pairs; the weight would have to be a power, hence only for 1.
            product *= factor
            if product > _FULL:
                total += np.log(product)
                product = 1.0
        else:
            total += weight[place] * np.log(factor)
    return total + np.log(product)


@njit(fastmath=REASSOCIATE)
def _slopes(grow, shrink, weight, pair, first, last, gradient):
    """Add the slopes of a row against a range of opponents to the opponents' gradient.

    Returns the sum of the slopes and the sum of the curvatures.
    """
    total, bends = 0.0, 0.0
    for place in range(first, last):
        ratio = grow[place] * shrink
        share = ratio / (1.0 + ratio)
        slope = pair * weight[place] * share
        total += slope
        bends += slope * (1.0 - share)
        gradient[place] += slope
    return total, bends


@njit(fastmath=REASSOCIATE)
def _bends(grow, shrink, weight, pair, first, last, own, values, out):
    """Curvatures of a row against a range, times the differences of ``values``.

    They are subtracted from the opponents' ``out``. Returns their sum.
    """
    total = 0.0
    for place in range(first, last):
        ratio = grow[place] * shrink
        lower = 1.0 / (1.0 + ratio)
        bend = pair * weight[place] * ratio * lower * lower * (own - values[place])
        total += bend
        out[place] -= bend
    return total


@njit
def logistic_point(grow, grades, ends, weight, scale, indptr, table, gradient):
    """Evaluate the loss of some queries, its gradient, and the trace of its second derivative.

    All arrays are sorted by grade within queries. ``grow`` (see :func:`raise_scores`), ``weight``
    and ``gradient``, which is written, are (n,), float64, ``grades`` and ``ends`` (n,), int64.
    ``ends`` is the first position in the query with a higher grade. ``scale`` is (n_queries,),
    ``indptr`` (n_queries + 1,). ``table`` (K, K) is the weight of a pair of grades, upper grade
    first; (1, 1): one weight for all pairs.
    """
    value, trace, top = 0.0, 0.0, len(table) - 1
    for query in range(len(indptr) - 1):
        lo, hi = indptr[query], indptr[query + 1]
        gradient[lo:hi] = 0.0
        for place in range(lo, hi):
            shrink = 1.0 / grow[place]
            first = lo
            # From grade to grade: the weight of a pair is constant within each.
            while grades[first] < grades[place]:
                last = ends[first]
                pair = table[min(grades[place], top), min(grades[first], top)]
                pair *= scale[query] * weight[place]
                value += pair * _logarithms(grow, shrink, weight, first, last)
                slope, bend = _slopes(grow, shrink, weight, pair, first, last, gradient)
                gradient[place] -= slope
                trace += 2.0 * bend
                first = last
    return value, trace


@njit
def logistic_curvature(values, grow, grades, ends, weight, scale, indptr, table, out):
    """Second derivative of the loss times ``values``; all arrays are sorted by grade.

    ``values`` and ``out``, which is written, are (n,), float64; for the others, see
    :func:`logistic_point`.
    """
    top = len(table) - 1
    for query in range(len(indptr) - 1):
        lo, hi = indptr[query], indptr[query + 1]
        out[lo:hi] = 0.0
        for place in range(lo, hi):
            shrink = 1.0 / grow[place]
            first = lo
            while grades[first] < grades[place]:
                last = ends[first]
                pair = table[min(grades[place], top), min(grades[first], top)]
                pair *= scale[query] * weight[place]
                out[place] += _bends(
                    grow, shrink, weight, pair, first, last, values[place], values, out
                )
                first = last


@njit
def descend_pairs(X, upper, lower, first_step, decay, w, mean):
    """One stochastic gradient step per pair on ``decay |w|^2 / 2 + log(1 + exp(-w'(x_i - x_j)))``.

    Step t has length ``1 / (decay t)``, at most 1 over the squared length of the pair's difference.
    ``first_step`` is the number t of the first pair in this call, from 1. X is (n, d), float32 or
    float64; ``upper`` and ``lower`` (n_steps,), int64, are the rows of each pair. Changes ``w``
    (d,), and adds the sum of the iterates to ``mean`` (d,).
    """
    d = X.shape[1]
    for number in range(len(upper)):
        i, j = upper[number], lower[number]
        score, square = 0.0, 0.0
        for k in range(d):
            gap = np.float64(X[i, k]) - np.float64(X[j, k])
            score += w[k] * gap
            square += gap * gap
        length = 1.0 / (decay * (first_step + number))
        # The loss of a pair bends by at most a quarter of `square`: such a step cannot overshoot.
        # Equal rows have square 0.
        length = min(length, 1.0 / max(square, 1e-300))
        push = length / (1.0 + np.exp(min(score, _LARGEST)))
        keep = max(0.0, 1.0 - length * decay)
        for k in range(d):
            w[k] = keep * w[k] + push * (np.float64(X[i, k]) - np.float64(X[j, k]))
            # The mean of the iterates varies less with the drawn pairs than the last one.
            mean[k] += w[k]
