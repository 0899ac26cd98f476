"""Rounds of boosting: ordinal margins, pairs of a query, and the searches for weak learners.

Ordinal margins: a row of class y with weight w and current score H has ``P = w exp(H)`` and
``Q = w exp(-H)``. Rows are sorted by class: class y holds rows ``class_ptr[y]:class_ptr[y + 1]``. A
base learner with values -1 and 1 multiplies P and Q by constants. The loss, the thresholds and the
next step need only sums of P and Q over classes, so no exponential is computed per row.

Sums are over integers: every term is rounded to a multiple of 2^-60 of a bound of the sum. The
result therefore does not depend on the order of the rows or the number of threads.

Pairs of a query, from sums over layers of equal grade: a row of weight w and score H has
``P = w exp(H)`` and ``Q = c w exp(-H)``, where c is the weight of its query. The pair of an upper
row i and a lower row j has the weight ``T Q_i P_j``, where T is the weight of their grades. Rows
are sorted by query, and into layers of ascending grade within a query: layer k holds rows
``layer_ptr[k]:layer_ptr[k + 1]``, and query q holds layers ``query_ptr[q]:query_ptr[q + 1]``. All
kernels take a range of queries. A query takes O(rows + layers), or O(rows + layers^2) with a table
of pair weights.

Fidelity loss, by loops over pairs: a pair of an upper row i and a lower row j whose scores differ
by o has the loss ``1 - 1 / sqrt(1 + exp(-o))``, the fidelity loss for a target probability of 1.
With ``E = exp(score)``, ``exp(-o)`` is ``E[j] / E[i]``, so a pair needs no exponential. Rows are
stored in layers as above. The weight of a pair is ``table[a, b]`` (1 if the table is empty) times
the weights of its rows and of its query. O(pairs).

Searches for weak learners: weights are signed integers u whose absolute values sum to less than
2^62. A stump that predicts 1 above a cut and -1 below has the gain ``sum(u above) - sum(u below)``;
sums of integers do not depend on the order of their terms. All rows with missing values go to the
better side, which adds the absolute value of their sum to the gain. Four columns at a time share
each read of u, so that additions do not wait for each other even if most rows fall into one bin.

A perceptron sends row z up if ``coef . z + intercept > 0``. For signed integer weights u, its gain
is the sum of u over the rows sent up, minus the sum over the others.
"""

from __future__ import annotations

import math

import numpy as np

from rankwise.kernels.sorting import sort_rows
from rankwise.runtime.jit import REASSOCIATE, njit

BITS = 60  # maximum size of a sum of integers
LARGEST_EXPONENT = 1000


@njit
def unit_scale(bound):
    """Power of two that scales ``bound`` to at most 2^60; 1 for a bound of 0."""
    if bound <= 0.0:
        return 1.0
    # bound < 2^exponent. A power of two scales without rounding.
    exponent = math.frexp(bound)[1]
    return math.ldexp(1.0, min(BITS - exponent, LARGEST_EXPONENT))


@njit
def advance_rows(P, Q, side, step, class_ptr, sums, start, stop, totals):
    """Add ``step`` to the scores of rows ``start:stop`` with ``side``; subtract it from the others.

    ``sums[0]`` and ``sums[1]`` are the previous sums of P and Q by class. The new sums, as integers
    scaled for ``read_sums``, are added to ``totals`` of the same shape.
    """
    grow, shrink = math.exp(step), math.exp(-step)
    most = max(grow, shrink)
    for y in range(len(class_ptr) - 1):
        low, high = max(start, class_ptr[y]), min(stop, class_ptr[y + 1])
        if low >= high:
            continue
        # No sum grows by more than `most`: the unit is known before the sum, and `read_sums` finds
        # it again from the same numbers.
        p_scale, q_scale = unit_scale(most * sums[0, y]), unit_scale(most * sums[1, y])
        p_total, q_total = np.int64(0), np.int64(0)
        for i in range(np.uint64(low), np.uint64(high)):
            p = P[i] * (grow if side[i] else shrink)
            q = Q[i] * (shrink if side[i] else grow)
            P[i], Q[i] = p, q
            p_total += np.int64(np.rint(p * p_scale))
            q_total += np.int64(np.rint(q * q_scale))
        totals[0, y] += p_total
        totals[1, y] += q_total


@njit
def read_sums(totals, step, sums):
    """Overwrite ``sums`` with the new sums, decoded from the integers of ``advance_rows``."""
    most = max(math.exp(step), math.exp(-step))
    for k in range(2):
        for y in range(sums.shape[1]):
            sums[k, y] = totals[k, y] / unit_scale(most * sums[k, y])


@njit
def solve_thresholds(sums, left_right, theta, up, down):
    """Write the optimal thresholds, ascending, and return the loss.

    ``exp(2 theta_k)`` is the sum of P over the rows below threshold k (with ``left_right``, only
    those of class k), divided by the sum of Q over the rows above (only those of class k + 1). With
    ``left_right``, thresholds that are out of order are pooled by adding both sums. ``up[y]`` and
    ``down[y]`` become the factors of Q and P in the weights of class y. If one side has no weight,
    the threshold is infinite.
    """
    n_thresholds = sums.shape[1] - 1
    below, above = np.empty(n_thresholds), np.empty(n_thresholds)
    width = np.empty(n_thresholds, dtype=np.int64)
    n_pools = 0
    total_below, total_above = 0.0, 0.0
    suffix = np.zeros(n_thresholds + 1)
    for k in range(n_thresholds - 1, -1, -1):
        suffix[k] = suffix[k + 1] + sums[1, k + 1]
    for k in range(n_thresholds):
        if left_right:
            total_below, total_above = sums[0, k], sums[1, k + 1]
        else:
            total_below, total_above = total_below + sums[0, k], suffix[k]
        below[n_pools], above[n_pools], width[n_pools] = total_below, total_above, 1
        n_pools += 1
        # Pool adjacent violators: a pool may now violate the one before it in turn.
        while left_right and n_pools > 1 and _is_before(below, above, n_pools - 1):
            n_pools -= 1
            below[n_pools - 1] += below[n_pools]
            above[n_pools - 1] += above[n_pools]
            width[n_pools - 1] += width[n_pools]
    up[:], down[:] = 0.0, 0.0
    loss = 0.0
    k = 0
    for pool in range(n_pools):
        root_below, root_above = math.sqrt(below[pool]), math.sqrt(above[pool])
        loss += 2.0 * root_below * root_above
        for _ in range(width[pool]):
            if root_below == 0.0 or root_above == 0.0:
                # One side pulls with no weight against it.
                theta[k] = np.inf if root_above == 0.0 else -np.inf
            else:
                theta[k] = math.log(root_below / root_above)
                up[k + 1] = root_below / root_above
                down[k] = root_above / root_below
            k += 1
    # A row of class k pulls at all thresholds below and above it, not only at its neighbours.
    if not left_right:
        for k in range(1, n_thresholds + 1):
            up[k] += up[k - 1]
        for k in range(n_thresholds - 1, -1, -1):
            down[k] += down[k + 1]
    return loss


@njit
def _is_before(below, above, pool):
    """Whether a pool's threshold is at most that of the previous pool.

    A pool without any weight joins its neighbours.
    """
    if above[pool - 1] == 0.0:
        return True
    if above[pool] == 0.0:
        return below[pool] == 0.0
    return below[pool - 1] / above[pool - 1] >= below[pool] / above[pool]


@njit
def write_weights(P, Q, class_ptr, up, down, loss, start, stop, u):
    """Write the signed weights ``u = up Q - down P`` of rows ``start:stop`` as integers.

    The unit is ``1 / unit_scale(loss)``, so that the weights of all rows sum to at most 2^60.
    Returns their sum.
    """
    scale = unit_scale(loss)
    total = np.int64(0)
    for y in range(len(class_ptr) - 1):
        low, high = max(start, class_ptr[y]), min(stop, class_ptr[y + 1])
        a, b = up[y] * scale, down[y] * scale
        # Unsigned indices need no test for the sign; an empty range must stay empty without one.
        for i in range(np.uint64(max(low, 0)), np.uint64(max(high, low, 0))):
            weight = np.int64(np.rint(Q[i] * a - P[i] * b))
            u[i] = weight
            total += weight
    return total


@njit
def split_layers(P, Q, side, layer_ptr, query_ptr, first, last, sums):
    """Write the sums of P and Q in each layer, over rows with ``side`` and without.

    The rows of ``sums`` are P with, P without, Q with, and Q without ``side``.
    """
    for layer in range(query_ptr[first], query_ptr[last]):
        p_up, p_down, q_up, q_down = 0.0, 0.0, 0.0, 0.0
        for i in range(np.uint64(layer_ptr[layer]), np.uint64(layer_ptr[layer + 1])):
            # As a factor: sides are as good as random, and a branch on them mispredicts.
            up = 1.0 if side[i] else 0.0
            p_up += up * P[i]
            p_down += (1.0 - up) * P[i]
            q_up += up * Q[i]
            q_down += (1.0 - up) * Q[i]
        sums[0, layer], sums[1, layer], sums[2, layer], sums[3, layer] = p_up, p_down, q_up, q_down


@njit
def weigh_pairs(lower, upper, grades, table, query_ptr, first, last):
    """Sum of ``T upper_k lower_l`` over the layers l < k of each query.

    ``table[a, b]`` is the weight of grades a > b; if it is empty, all are 1. ``grades`` holds the
    grade of each layer.
    """
    total = 0.0
    for q in range(first, last):
        start, stop = query_ptr[q], query_ptr[q + 1]
        # Without a table a running sum is enough; with one, every pair of layers has its weight.
        below = 0.0
        for k in range(start, stop):
            if len(table) > 0:
                below = 0.0
                for j in range(start, k):
                    below += table[grades[k], grades[j]] * lower[j]
            total += upper[k] * below
            if len(table) == 0:
                below += lower[k]
    return total


@njit
def write_opponents(lower, upper, grades, table, query_ptr, first, last, below, above):
    """Write, for each layer, the weighted sums of ``lower`` below it and of ``upper`` above it."""
    for q in range(first, last):
        start, stop = query_ptr[q], query_ptr[q + 1]
        total = 0.0
        for k in range(start, stop):
            if len(table) > 0:
                total = 0.0
                for j in range(start, k):
                    total += table[grades[k], grades[j]] * lower[j]
            below[k] = total
            if len(table) == 0:
                total += lower[k]
        total = 0.0
        for k in range(stop - 1, start - 1, -1):
            if len(table) > 0:
                total = 0.0
                for j in range(k + 1, stop):
                    total += table[grades[j], grades[k]] * upper[j]
            above[k] = total
            if len(table) == 0:
                total += upper[k]


@njit
def advance_pairs(P, Q, side, step, layer_ptr, below, above, scale, start, stop, u):
    """Add ``step`` to the scores of rows with ``side``, subtract it from the others; write weights.

    Only rows of the layers ``start:stop`` change. The signed weight of a row, ``Q below - P above``
    with the sums of its layer after the step, is written to ``u`` in units of ``1 / scale``.
    Returns the sum of these integers.
    """
    grow, shrink = math.exp(step), math.exp(-step)
    total = np.int64(0)
    for layer in range(start, stop):
        a, b = below[layer] * scale, above[layer] * scale
        for i in range(np.uint64(layer_ptr[layer]), np.uint64(layer_ptr[layer + 1])):
            # exp(H +- step) by products: no exponential per row in any round.
            p = P[i] * (grow if side[i] else shrink)
            q = Q[i] * (shrink if side[i] else grow)
            P[i], Q[i] = p, q
            # Whole numbers: sums over them have the same bits in any order of the rows.
            weight = np.int64(np.rint(q * a - p * b))
            u[i] = weight
            total += weight
    return total


@njit
def fidelity_point(
    E, weight, grades, table, layer_ptr, query_ptr, scale, queries, slope
):  # fmt: skip
    """Loss of the queries ``queries[0]:queries[1]``, and the sum of its slopes over pairs.

    ``slope``, initially 0, becomes minus the derivative of the loss by the score of each row.
    """
    value, total = 0.0, 0.0
    for q in range(queries[0], queries[1]):
        start = query_ptr[q]
        for k in range(start + 1, query_ptr[q + 1]):
            for i in range(layer_ptr[k], layer_ptr[k + 1]):
                inverse, own_slope = 1.0 / E[i], 0.0
                for layer in range(start, k):
                    pair = scale[q] * weight[i]
                    if len(table) > 0:
                        pair *= table[grades[k], grades[layer]]
                    for j in range(np.uint64(layer_ptr[layer]), np.uint64(layer_ptr[layer + 1])):
                        # 1 - sqrt(r) as (1 - r) / (1 + sqrt(r)), with 1 - r = x r: no digit of a
                        # small loss cancels.
                        x = E[j] * inverse
                        r = 1.0 / (1.0 + x)
                        s = math.sqrt(r)
                        value += pair * weight[j] * (x * r / (1.0 + s))  # 1 - s
                        push = pair * weight[j] * 0.5 * (x * r) * s
                        own_slope += push
                        slope[j] -= push
                slope[i] += own_slope
                total += own_slope
    return value, total


@njit
def fidelity_split(E, weight, grades, table, layer_ptr, query_ptr, scale, queries, side):
    """Sum the slopes of pairs in which only the upper row has ``side``, and only the lower."""
    right, wrong = 0.0, 0.0
    for q in range(queries[0], queries[1]):
        start = query_ptr[q]
        for k in range(start + 1, query_ptr[q + 1]):
            for i in range(layer_ptr[k], layer_ptr[k + 1]):
                inverse, own_slope = 1.0 / E[i], 0.0
                for layer in range(start, k):
                    pair = scale[q] * weight[i]
                    if len(table) > 0:
                        pair *= table[grades[k], grades[layer]]
                    for j in range(np.uint64(layer_ptr[layer]), np.uint64(layer_ptr[layer + 1])):
                        if side[j] != side[i]:
                            x = E[j] * inverse
                            r = 1.0 / (1.0 + x)
                            own_slope += pair * weight[j] * 0.5 * (x * r) * math.sqrt(r)
                if side[i]:
                    right += own_slope
                else:
                    wrong += own_slope
    return right, wrong


@njit
def write_integers(slope, scale, u):
    """Write the slopes as integers in units of ``1 / scale``, and return their sum."""
    total = np.int64(0)
    for i in range(len(slope)):
        # Sums of whole numbers do not depend on the order of the rows or on threads.
        u[i] = np.int64(np.rint(slope[i] * scale))
        total += u[i]
    return total


BLOCK = 16384  # rows, whose weights stay in a core's cache


@njit
def search_bins(codes, u, n_cuts, total, first, last, histogram, gain):
    """Write the largest absolute gain of columns ``first:last`` over all cuts between bins.

    ``codes`` holds the uint8 bins of column j in row j, ``n_cuts[j] + 1`` where the value is
    missing; ``histogram[j]`` becomes the sums of u by bin, which ``choose_bin`` reads.
    """
    n_rows = len(u)
    for j in range(first, last):
        histogram[j, : n_cuts[j] + 2] = 0
    for start in range(0, n_rows, BLOCK):
        stop = min(n_rows, start + BLOCK)
        j = first
        while j + 4 <= last:
            a, b, c, d = codes[j], codes[j + 1], codes[j + 2], codes[j + 3]
            in_a, in_b = histogram[j], histogram[j + 1]
            in_c, in_d = histogram[j + 2], histogram[j + 3]
            for i in range(np.uint64(start), np.uint64(stop)):
                weight = u[i]
                in_a[a[i]] += weight
                in_b[b[i]] += weight
                in_c[c[i]] += weight
                in_d[d[i]] += weight
            j += 4
        while j < last:
            a, in_a = codes[j], histogram[j]
            for i in range(np.uint64(start), np.uint64(stop)):
                in_a[a[i]] += u[i]
            j += 1
    for j in range(first, last):
        best, below = np.int64(0), np.int64(0)
        missing = histogram[j, n_cuts[j] + 1]
        for c in range(n_cuts[j]):
            below += histogram[j, c]
            # below counts against the stump and above for it: total - missing - 2 below. Missing
            # rows go where they add.
            best = max(best, abs(total - missing - 2 * below) + abs(missing))
        gain[j] = best


@njit
def choose_bin(sums, n_cuts, total, floor):
    """Find the first cut whose gain reaches ``floor``, its signed gain, and that of missing values.

    ``sums`` holds the sums of u by bin.
    """
    missing = sums[n_cuts + 1]
    below = np.int64(0)
    for c in range(n_cuts):
        below += sums[c]
        gain = total - missing - 2 * below
        # The same sums of whole numbers again: the best gain is reached exactly, first cut first.
        if abs(gain) + abs(missing) >= floor:
            return c, gain, missing
    return -1, np.int64(0), missing


@njit
def search_sorted(order, is_cut, n_present, u, total, first, last, gain):
    """Write the largest absolute gain of columns ``first:last`` over all cuts between values.

    ``order[j]`` holds the rows by ascending value; missing values come last, from position
    ``n_present[j]`` on. ``is_cut[j, i]`` is whether the value after position i is larger.
    """
    for j in range(first, last):
        rows, cuts = order[j], is_cut[j]
        missing = _sum_from(rows, u, n_present[j])
        best, below = np.int64(0), np.int64(0)
        for i in range(np.uint64(n_present[j])):
            below += u[rows[i]]
            if cuts[i]:
                best = max(best, abs(total - missing - 2 * below) + abs(missing))
        gain[j] = best


@njit
def choose_sorted(order, is_cut, n_present, u, total, floor):
    """Like ``choose_bin``, for the first position in a sorted column with a sufficient gain."""
    missing = _sum_from(order, u, n_present)
    below = np.int64(0)
    for i in range(n_present):
        below += u[order[i]]
        gain = total - missing - 2 * below
        if is_cut[i] and abs(gain) + abs(missing) >= floor:
            return i, gain, missing
    return -1, np.int64(0), missing


@njit
def _sum_from(rows, u, start):
    """Sum of u over the rows from position ``start`` on."""
    total = np.int64(0)
    for i in range(np.uint64(start), np.uint64(len(rows))):
        total += u[rows[i]]
    return total


@njit
def add_stumps(X, features, indptr, thresholds, values, missing, out):
    """Add piecewise constant functions of single columns to ``out``, one number per row.

    ``features[m]`` has the ascending ``thresholds[indptr[m]:indptr[m + 1]]``, and one value more
    than thresholds, from ``values[indptr[m] + m]`` on; value k holds where k thresholds are below,
    and ``missing[m]`` applies to missing values.
    """
    for i in range(X.shape[0]):
        total = 0.0
        for m in range(len(features)):
            x = X[i, features[m]]
            if x != x:
                total += missing[m]
                continue
            # Binary search for the number of thresholds below x.
            low, high = indptr[m], indptr[m + 1]
            while low < high:
                middle = (low + high) // 2
                if thresholds[middle] < x:
                    low = middle + 1
                else:
                    high = middle
            # One value more than thresholds per column: those of column m are shifted by m.
            total += values[low + m]
        out[i] += total


@njit
def search_line(s, d, u, slack, order, crossing):
    """Find the best multiple of ``d`` to add to ``s``; rows above 0 go up.

    Returns the multiple, or 0 if no gain exceeds that of ``s`` by more than ``slack``. Gains that
    differ by at most ``slack`` count as equal. The sides change where ``s + step d`` crosses 0. The
    steps tried are half-way between crossings, before the first and beyond the last. ``order`` and
    ``crossing`` are scratch arrays with one number per row.
    """
    n_crossing = 0
    gain, now = np.int64(0), np.int64(0)  # at a step of minus infinity, and of 0
    for i in range(len(s)):
        now += u[i] if s[i] > 0.0 else -u[i]
        if d[i] == 0.0:
            gain += u[i] if s[i] > 0.0 else -u[i]
        else:
            gain += u[i] if d[i] < 0.0 else -u[i]
            order[n_crossing] = i
            crossing[i] = -s[i] / d[i]
            n_crossing += 1
    if n_crossing == 0:
        return 0.0
    rows = order[:n_crossing]
    sort_rows(crossing, rows, np.empty(n_crossing, np.int64))
    best, step = now, 0.0
    if gain > best + slack:
        best, step = gain, crossing[rows[0]] - 1.0
    for k in range(n_crossing):
        i = rows[k]
        # The row changes sides: its weight turns from one sign to the other.
        gain += 2 * u[i] if d[i] > 0.0 else -2 * u[i]
        here = crossing[i]
        there = crossing[rows[k + 1]] if k + 1 < n_crossing else here + 2.0
        # Between equal crossings there is no step; rows that cross together change together.
        if there > here and gain > best + slack:
            best, step = gain, 0.5 * (here + there)
    return step


@njit
def run_pass(Z, u, rows, coef):
    """Visit rows, and correct the perceptron if it sends a row to the wrong side.

    The last entry of ``coef`` is the intercept.
    """
    n_features = Z.shape[1]
    for i in rows:
        s = coef[n_features]
        for j in range(n_features):
            s += coef[j] * Z[i, j]
        if (s > 0.0) != (u[i] > 0):
            sign = 1.0 if u[i] > 0 else -1.0
            for j in range(n_features):
                coef[j] += sign * Z[i, j]
            coef[n_features] += sign


@njit(fastmath=REASSOCIATE)
def write_sides(Z, coefs, sides):
    """Write whether perceptron t sends row i up to ``sides[t, i]``.

    The last column of ``coefs`` holds the intercepts. Training and prediction both use this
    kernel, because the side of a row near the boundary depends on the order of additions.
    """
    n_features = Z.shape[1]
    for i in range(Z.shape[0]):
        for t in range(coefs.shape[0]):
            s = 0.0
            for j in range(n_features):
                s += coefs[t, j] * Z[i, j]
            sides[t, i] = s > -coefs[t, n_features]


@njit
def sum_weighted(Zt, u, sums):
    """Write the sum of every column times u; ``Zt`` is transposed."""
    for j in range(Zt.shape[0]):
        total = 0.0
        for i in range(Zt.shape[1]):
            total += Zt[j, i] * u[i]
        sums[j] = total
