"""Best decision stump of every column, and scores of rows under many stumps.

Weights are signed integers u whose absolute values sum to less than 2^62. A stump that predicts 1
above a cut and -1 below has the gain ``sum(u above) - sum(u below)``; sums of integers do not
depend on the order of their terms. All rows with missing values go to the better side, which adds
the absolute value of their sum to the gain. Four columns at a time share each read of u, so that
additions do not wait for each other even if most rows fall into one bin.
"""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import njit

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
