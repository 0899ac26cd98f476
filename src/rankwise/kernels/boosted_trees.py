"""Histograms of gradients, the best split of a node, and its rows parted.

A gradient and a second derivative are whole numbers in one int64, the gradient in the upper half:
one addition adds both, sums are exact, and differences of histograms too. Rows are read as
words of eight codes.
"""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import njit

TILE = 1000  # rows gathered at a time; a power of two would make their columns share cache lines
BINS = 256
WORD = 8
LOWER = 0xFFFFFFFF
# Of a split: gain, feature, last bin on the left, whether missing values go left.
GAIN, FEATURE, PLACE, MISSING_LEFT, N_FIELDS = 0, 1, 2, 3, 4


@njit
def absolute_sums(gradients, hessians, rows, out):
    """Write the sums of the absolute gradients and of the second derivatives of some rows."""
    g = h = 0.0
    for i in range(len(rows)):
        g += abs(gradients[rows[i]])
        h += hessians[rows[i]]
    out[0], out[1] = g, h


@njit
def pack(gradients, hessians, g_scale, h_scale, rows, out):
    """Write gradients times ``g_scale`` and second derivatives times ``h_scale``, both rounded."""
    for i in range(len(rows)):
        row = rows[i]
        g = np.int64(np.rint(gradients[row] * g_scale))
        h = np.int64(np.rint(hessians[row] * h_scale))
        out[row] = (g << 32) + h


@njit
def packed_sum(packed, rows):
    """Sum over some rows."""
    total = np.int64(0)
    for i in range(len(rows)):
        total += packed[rows[i]]
    return total


@njit
def transpose_codes(codes, out):
    """Write codes of shape (n_features, n_rows) as rows."""
    n_features, n_rows = codes.shape
    for start in range(0, n_rows, 64):
        end = min(start + 64, n_rows)
        for j in range(n_features):
            for i in range(start, end):
                out[i, j] = codes[j, i]


@njit
def _add_rows(words, rows, packed, first, last, out, tile, terms):
    """Add the rows to the histograms of the words from ``first`` to before ``last``."""
    n_words = last - first
    for start in range(0, len(rows), TILE):
        n = min(TILE, len(rows) - start)
        for i in range(n):
            row = rows[start + i]
            terms[i] = packed[row]
            for w in range(n_words):
                tile[w, i] = words[row, first + w]
        for w in range(n_words):
            cells, line = out[first + w], tile[w]
            for i in range(n):
                word, term = line[i], terms[i]
                cells[word & 255] += term
                cells[256 + ((word >> 8) & 255)] += term
                cells[512 + ((word >> 16) & 255)] += term
                cells[768 + ((word >> 24) & 255)] += term
                cells[1024 + ((word >> 32) & 255)] += term
                cells[1280 + ((word >> 40) & 255)] += term
                cells[1536 + ((word >> 48) & 255)] += term
                cells[1792 + ((word >> 56) & 255)] += term


@njit
def _scan_side(cells, n_places, total, before, unit, penalty, least, sums, gains):
    """Best of the splits after places 0 ... n_places - 1 of a column: its value and its place.

    ``before`` is what goes left ahead of the first place, ``least`` the smallest sum of second
    derivatives on a side, in units.
    """
    running = before
    whole = total & LOWER
    first, last = n_places, 0
    for b in range(n_places):
        running += cells[b]
        sums[b] = running
        h = running & LOWER
        if h >= least and first == n_places:
            first = b
        if whole - h >= least:
            last = b + 1
    g_all, h_all = np.int32(total >> 32) * unit[0], np.int32(whole) * unit[1]
    for b in range(first, last):
        g = np.float64(np.int32(sums[b] >> 32)) * unit[0]
        h = np.float64(np.int32(sums[b] & LOWER)) * unit[1]
        rest = g_all - g
        left, right = h + penalty, (h_all - h) + penalty
        gains[b] = (g * g * right + rest * rest * left) / (left * right)
    best, place = -np.inf, -1
    for b in range(first, last):
        if gains[b] > best:
            best, place = gains[b], b
    return best, place


@njit
def _scan(histogram, first, last, n_bins, allowed, total, unit, penalty, least, sums, gains, out):
    """Write the best split of a node by the columns of some words; returns its left sum."""
    g, h = np.int32(total >> 32) * unit[0], np.int32(total & LOWER) * unit[1]
    alone = g * g / (h + penalty)
    out[GAIN] = 0.0
    best = alone * (1 + 1e-12) + 1e-300
    left_sum = np.int64(0)
    for feature in range(first * WORD, min(last * WORD, len(n_bins))):
        n = n_bins[feature]
        if not allowed[feature]:
            continue
        cells = histogram[feature // WORD, (feature % WORD) * BINS : (feature % WORD + 1) * BINS]
        missing = cells[n]
        for side in range(2 if missing != 0 else 1):
            before = missing if side == 1 else np.int64(0)
            # With missing values on the right, all others may be on the left.
            n_places = n if missing != 0 and side == 0 else n - 1
            value, place = _scan_side(
                cells, n_places, total, before, unit, penalty, least, sums, gains
            )
            if value > best:
                best = value
                left_sum = sums[place]
                out[GAIN], out[FEATURE], out[PLACE] = value - alone, feature, place
                out[MISSING_LEFT] = side
                if missing == 0:
                    out[MISSING_LEFT] = 1.0 if 2 * (left_sum & LOWER) >= total & LOWER else 0.0
    return left_sum


@njit
def find_splits(
    words, small, packed, n_bins, allowed, first, last, histograms, slots, totals, least, unit,
    penalty, found, lefts,
):  # fmt: skip
    """Build the histograms of two children, and find the best split of each.

    Only the columns of the words from ``first`` to before ``last`` are looked at. The rows
    ``small`` of the first child are added up in its slot; the second child's slot holds the
    parent's histogram, from which they are subtracted. The root is a first child alone: then
    ``slots[1]`` is -1. A child whose ``least`` is negative is not split.
    """
    tile, terms = np.empty((last - first, TILE), np.int64), np.empty(TILE, np.int64)
    sums, gains = np.empty(BINS, np.int64), np.empty(BINS)
    histograms[slots[0], first:last] = 0
    _add_rows(words, small, packed, first, last, histograms[slots[0]], tile, terms)
    if slots[1] >= 0:
        mine, other = histograms[slots[0]], histograms[slots[1]]
        for w in range(first, last):
            for b in range(WORD * BINS):
                other[w, b] -= mine[w, b]
    for child in range(2):
        found[child, GAIN] = 0.0
        if slots[child] >= 0 and least[child] >= 0:
            lefts[child] = _scan(
                histograms[slots[child]], first, last, n_bins, allowed, totals[child], unit,
                penalty, least[child], sums, gains, found[child],
            )  # fmt: skip


@njit
def part(rows, codes, place, missing, missing_left, spare):
    """Move the rows that go left before the others, each side in its order; returns their number.

    ``spare`` has room for all rows.
    """
    goes_left = np.zeros(BINS, np.uint8)
    for code in range(place + 1):
        goes_left[code] = 1
    goes_left[missing] = missing_left
    n_left = n_right = 0
    for i in range(len(rows)):
        row = rows[i]
        left = goes_left[codes[row]]
        rows[n_left] = row
        spare[n_right] = row
        n_left += left
        n_right += 1 - left
    for i in range(n_right):
        rows[n_left + i] = spare[i]
    return n_left


@njit
def add_values(scores, rows, starts, values):
    """Add the value of each leaf to the scores of its rows ``rows[starts[l]:starts[l + 1]]``."""
    for leaf in range(len(values)):
        value = values[leaf]
        for i in range(starts[leaf], starts[leaf + 1]):
            scores[rows[i]] += value


@njit
def add_leaf_values(
    scores, rows, codes, feature, place, missing, missing_left, left, right, values
):
    """Add the value of the leaf that each of some rows reaches to its score.

    ``codes`` has shape (n_features, n_rows), ``missing`` is the code of missing values by column.
    """
    for i in range(len(rows)):
        row, node = rows[i], 0
        while feature[node] >= 0:
            code = codes[feature[node], row]
            is_missing = code == missing[feature[node]]
            goes_left = missing_left[node] if is_missing else code <= place[node]
            node = left[node] if goes_left else right[node]
        scores[row] += values[node]
