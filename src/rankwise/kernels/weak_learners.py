"""Searches for weak learners: decision stumps and perceptrons.

Best decision stump of every column, and scores of rows under many stumps.

Weights are signed integers u whose absolute values sum to less than 2^62. A stump that predicts 1
above a cut and -1 below has the gain ``sum(u above) - sum(u below)``; sums of integers do not
depend on the order of their terms. All rows with missing values go to the better side, which adds
the absolute value of their sum to the gain. Four columns at a time share each read of u, so that
additions do not wait for each other even if most rows fall into one bin.

Perceptrons fitted to signed weights: line searches, passes over random rows, and sides.

A perceptron sends row z up if ``coef . z + intercept > 0``. For signed integer weights u, its gain
is the sum of u over the rows sent up, minus the sum over the others.
"""

from __future__ import annotations

import numpy as np

from rankwise.kernels.sorting import sort_rows
from rankwise.runtime.jit import REASSOCIATE, njit

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
