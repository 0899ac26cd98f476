"""The best split of every node by one column, or by the bins of many.

A node is a segment of rows. What a split gains is the node's impurity less those of its two
children, none divided by the weight; with class weights N_k, their sum N and C_k the weight of
classes up to k:

===  ==============  =================================
0    ranks           sum of ``C_k (N - C_k)`` over k
1    rank distances  sum of ``D_ij N_i N_j`` over i < j
2    Gini            ``N - sum(N_k^2) / N``
3    entropy         ``sum(N_k log2(N / N_k))``
4    absolute error  sum of ``min(C_k, N - C_k)`` over k
===  ==============  =================================

A gain replaces another where it is larger by more than the node's ``tie``, so that the first of
equal ones stays: candidates come with missing values on the left first, and by ascending
threshold, with the split of present from missing values last. A child has rows, and its weight is
at least ``least``. Whole weights are summed without error. ``criterion`` is the tuple of the kind
above, the distances D between the classes ``(n_classes, n_classes)``, and ``least``.
"""

from __future__ import annotations

import numpy as np

from rankwise._jit import njit

RANKS, DISTANCES, GINI, ENTROPY, ABSOLUTE = 0, 1, 2, 3, 4
NEW = np.uint32(1 << 31)  # the value differs from that of the entry before
MISSING = np.uint32(1 << 30)
ROW = np.uint32((1 << 30) - 1)
EXHAUSTIVE = 8  # up to so many categories all subsets are tried
UNSEEN = 2  # mark of a category that the node's rows do not hold
KEY_STEPS = 2.0**30  # mean ranks that agree to so fine steps are equal


@njit
def split_gain(kind, D, left, total, n_left, n):
    """What is gained by moving the class weights ``left`` out of ``total``."""
    n_classes = len(total)
    n_right = n - n_left
    gain = 0.0
    if kind == RANKS:
        below_left = 0.0
        below_right = 0.0
        for k in range(n_classes - 1):
            below_left += left[k]
            below_right += total[k] - left[k]
            gain += below_left * (n_right - below_right) + below_right * (n_left - below_left)
    elif kind == DISTANCES:
        for i in range(n_classes):
            if left[i] != 0:
                for j in range(n_classes):
                    gain += left[i] * D[i, j] * (total[j] - left[j])
    elif kind == GINI:
        square = 0.0
        square_left = 0.0
        square_right = 0.0
        for k in range(n_classes):
            right = total[k] - left[k]
            square += total[k] * total[k]
            square_left += left[k] * left[k]
            square_right += right * right
        gain = square_left / n_left + square_right / n_right - square / n
    elif kind == ENTROPY:
        inside = 0.0
        outside = 0.0
        whole = 0.0
        for k in range(n_classes):
            right = total[k] - left[k]
            if left[k] > 0:
                inside += left[k] * np.log2(left[k] / n_left)
            if right > 0:
                outside += right * np.log2(right / n_right)
            if total[k] > 0:
                whole += total[k] * np.log2(total[k] / n)
        gain = (inside + outside) - whole
    else:
        below_left = 0.0
        below_right = 0.0
        for k in range(n_classes - 1):
            below_left += left[k]
            below_right += total[k] - left[k]
            below = below_left + below_right
            gain += min(below, n - below)
            gain -= min(below_left, n_left - below_left) + min(below_right, n_right - below_right)
    return gain


@njit
def scan_sorted(order, y, weight, segments, totals, ties, criterion, found):
    """Best split of each node by a column whose rows are sorted within the node.

    ``order`` holds row numbers, marked NEW and MISSING; missing ones come last. ``found`` gets gain
    (0: no split), the place in ``order`` of the last present row on the left, and the side of
    missing values (1 left, 0 right, -1 the node has none). Empty ``weight``: each row weighs 1.
    """
    kind, D, least = criterion
    n_classes = totals.shape[1]
    left = np.empty(n_classes)
    pull = np.empty(n_classes)  # what a row of class k adds to the gain by moving to the left
    for a in range(len(segments)):
        lo, hi = segments[a, 0], segments[a, 1]
        total = totals[a]
        n = total.sum()
        end = hi
        while end > lo and order[end - 1] & MISSING:
            end -= 1
        best, place, side = 0.0, -1, -1
        for missing_left in (True, False):
            if end == lo or (missing_left and end == hi):
                continue
            left[:] = 0.0
            if missing_left:
                for i in range(end, hi):
                    row = order[i] & ROW
                    left[y[row]] += weight[row] if len(weight) > 0 else 1.0
            n_left = left.sum()
            gain = 0.0
            square = 0.0
            square_left = 0.0
            square_right = 0.0
            for k in range(n_classes):
                right = total[k] - left[k]
                square += total[k] * total[k]
                square_left += left[k] * left[k]
                square_right += right * right
            if kind <= DISTANCES:
                for k in range(n_classes):
                    pull[k] = 0.0
                    for j in range(n_classes):
                        pull[k] += D[k, j] * (total[j] - 2 * left[j])
                gain = split_gain(DISTANCES, D, left, total, n_left, n)
            stop = end if end < hi and not missing_left else end - 1
            for i in range(lo, stop):
                row = order[i] & ROW
                w = weight[row] if len(weight) > 0 else 1.0
                c = np.uint64(y[row])
                if kind <= DISTANCES:
                    gain += w * pull[c]
                    for k in range(n_classes):
                        pull[k] -= 2 * w * D[c, k]
                elif kind == GINI:
                    square_left += w * (2 * left[c] + w)
                    square_right += w * (w - 2 * (total[c] - left[c]))
                left[c] += w
                n_left += w
                n_right = n - n_left
                if order[i + 1] & NEW and n_left >= least and n_right >= least and n_right > 0:
                    if kind == GINI:
                        gain = square_left / n_left + square_right / n_right - square / n
                    elif kind > GINI:
                        gain = split_gain(kind, D, left, total, n_left, n)
                    if gain > best + ties[a]:
                        best = gain
                        place = i
                        side = -1 if end == hi else int(missing_left)
        found[a, 0] = best
        found[a, 1] = place
        found[a, 2] = side


@njit
def search_subsets(rows, codes, y, weight, segments, ties, criterion, marks, gains):
    """Best subset split of each node by a nominal column.

    ``marks`` has a column for each category and a last one for missing values, whose code is the
    number of categories. Of the best split it gets 1 where a category goes left, 0 where right and
    UNSEEN where the node has no such row. Categories come by ascending mean class, the first goes
    left. Up to EXHAUSTIVE of them all subsets are tried, missing values as one more category;
    of more, the first few against the others, as if ordered, with missing values on either side.
    ``rows`` hold row numbers in their lower 32 bits.
    """
    kind, D, least = criterion
    n_categories = marks.shape[1] - 1
    n_classes = D.shape[0]
    table = np.empty((n_categories + 1, n_classes))
    key = np.empty(n_categories, np.int64)
    item = np.empty(n_categories + 1, np.int64)
    subsets = np.empty((1 << EXHAUSTIVE, n_classes))
    total = np.empty(n_classes)
    for a in range(len(segments)):
        table[:] = 0.0
        seen = np.zeros(n_categories + 1, np.uint8)
        for i in range(segments[a, 0], segments[a, 1]):
            row = rows[i] & np.uint64(0xFFFFFFFF)
            table[codes[row], y[row]] += weight[row] if len(weight) > 0 else 1.0
            seen[codes[row]] = 1
        n_items = 0
        total[:] = table[n_categories]
        for c in range(n_categories):
            if seen[c] == 0:
                continue
            total += table[c]
            mean = 0.0
            for k in range(n_classes):
                mean += k * table[c, k]
            key[c] = np.int64(KEY_STEPS * (mean / table[c].sum()))
            place = n_items
            while place > 0 and key[item[place - 1]] > key[c]:
                item[place] = item[place - 1]
                place -= 1
            item[place] = c
            n_items += 1
        n = total.sum()
        n_present = n_items
        if seen[n_categories]:
            item[n_items] = n_categories
            n_items += 1
        marks[a] = UNSEEN
        best = 0.0
        if n_present == 0:
            pass
        elif n_present <= EXHAUSTIVE:
            subsets[0] = table[item[0]]
            best_set = 0
            for b in range(1, n_items):
                half = 1 << (b - 1)
                for s in range(half):
                    for k in range(n_classes):
                        subsets[half + s, k] = subsets[s, k] + table[item[b], k]
            for s in range((1 << (n_items - 1)) - 1):
                n_left = subsets[s].sum()
                if n_left >= least and n - n_left >= least and n > n_left:
                    gain = split_gain(kind, D, subsets[s], total, n_left, n)
                    if gain > best + ties[a]:
                        best = gain
                        best_set = s
            for b in range(n_items):
                marks[a, item[b]] = 1 if b == 0 or (best_set >> (b - 1)) & 1 else 0
        else:
            left = subsets[0]
            best_length, best_side = 0, 0
            for missing_left in (True, False):
                if missing_left and n_items == n_present:
                    continue
                left[:] = 0.0
                if missing_left:
                    left += table[n_categories]
                stop = n_present if n_items > n_present and not missing_left else n_present - 1
                for b in range(stop):
                    left += table[item[b]]
                    n_left = left.sum()
                    if n_left >= least and n - n_left >= least and n > n_left:
                        gain = split_gain(kind, D, left, total, n_left, n)
                        if gain > best + ties[a]:
                            best = gain
                            best_length = b + 1
                            best_side = int(missing_left)
            for b in range(n_present):
                marks[a, item[b]] = b < best_length
            if n_items > n_present:
                marks[a, n_categories] = best_side
        gains[a] = best


@njit
def scan_bins(codes, rows, weight, pairs, totals, ties, criterion, columns, histograms, found):
    """Best split of each node by each of some binned columns.

    ``rows`` hold the row number in their lower and the class in their upper 32 bits. A line of
    ``pairs`` holds two siblings: start, border and end of their rows; the number of each among
    the nodes to split, -1 where it is a leaf; the line of the parent's histograms among the
    first of ``histograms``, -1 where they are not kept; the lines among the second to keep
    their own in, or -1. Of siblings of a kept parent the smaller is counted and the larger is the
    difference. A line of ``columns`` holds the line of ``codes``, the first cell of the column in a
    line of histograms, and its number of cuts. ``found`` gets gain (0: no split), bin of the last
    row on the left, the next bin that has rows (-1: none) and the side of missing values, as in
    :func:`scan_sorted`; a node and column whose gain is -1 beforehand are left out.
    """
    parents, kept = histograms
    n_classes = totals.shape[1]
    most = 0
    for j in range(len(columns)):
        most = max(most, columns[j, 2] + 2)
    left = np.empty(n_classes)
    both = np.empty((2, most * n_classes), kept.dtype)
    for p in range(len(pairs)):
        pair = pairs[p]
        smaller = np.int64(pair[1] - pair[0] > pair[2] - pair[1])
        for j in range(len(columns)):
            n_cells = (columns[j, 2] + 2) * n_classes
            first = columns[j, 1]
            mine = codes[columns[j, 0]]
            wanted = (
                pair[3] >= 0 and found[pair[3], j, 0] >= 0,
                pair[4] >= 0 and found[pair[4], j, 0] >= 0,
            )
            from_parent = pair[5] >= 0 and wanted[1 - smaller]
            for s in range(2):
                if (s == smaller) if from_parent else wanted[s]:
                    cells = both[s, :n_cells]
                    cells[:] = 0
                    _count_rows(rows[pair[s] : pair[s + 1]], mine, weight, n_classes, cells)
            if from_parent:
                parent = parents[pair[5], first : first + n_cells]
                small = both[smaller, :n_cells]
                large = both[1 - smaller, :n_cells]
                for i in range(n_cells):
                    large[i] = parent[i] - small[i]
            for s in range(2):
                if wanted[s]:
                    a = pair[3 + s]
                    cells = both[s, :n_cells]
                    _scan_cells(cells, totals[a], ties[a], criterion, left, found[a, j])
                    if pair[6 + s] >= 0:
                        kept[pair[6 + s], first : first + n_cells] = cells


@njit
def _count_rows(rows, codes, weight, n_classes, cells):
    """Add the rows to a histogram: a cell for each bin and class."""
    step = np.uint64(n_classes)
    if len(weight) > 0:
        for entry in rows:
            row = entry & np.uint64(0xFFFFFFFF)
            cells[codes[row] * step + (entry >> np.uint64(32))] += weight[row]
    else:
        for entry in rows:
            row = entry & np.uint64(0xFFFFFFFF)
            cells[codes[row] * step + (entry >> np.uint64(32))] += 1


@njit
def _scan_cells(cells, total, tie, criterion, left, found):
    """Best split of one node by one histogram, whose last bin is that of missing values."""
    kind, D, least = criterion
    n_classes = len(total)
    n = total.sum()
    last_bin = len(cells) // n_classes - 1
    n_missing = 0.0
    for k in range(n_classes):
        n_missing += cells[last_bin * n_classes + k]
    last = last_bin - 1
    while last >= 0:
        weight = 0.0
        for k in range(n_classes):
            weight += cells[last * n_classes + k]
        if weight != 0:
            break
        last -= 1
    best, place, following, side = 0.0, -1, -1, -1
    for missing_left in (True, False):
        if last < 0 or (missing_left and n_missing == 0):
            continue
        n_left = 0.0
        for k in range(n_classes):
            left[k] = cells[last_bin * n_classes + k] if missing_left else 0.0
            n_left += left[k]
        awaited = False  # the next bin with rows after the best place
        for b in range(last + 1 if n_missing != 0 and not missing_left else last):
            weight = 0.0
            for k in range(n_classes):
                cell = cells[b * n_classes + k]
                left[k] += cell
                weight += cell
            if weight == 0:
                continue
            if awaited:
                following = b
                awaited = False
            n_left += weight
            n_right = n - n_left
            if n_left >= least and n_right >= least and n_right > 0:
                gain = split_gain(kind, D, left, total, n_left, n)
                if gain > best + tie:
                    best = gain
                    place = b
                    following = -1
                    awaited = True
                    side = -1 if n_missing == 0 else int(missing_left)
        if awaited and place < last:
            following = last
    found[0] = best
    found[1] = place
    found[2] = following
    found[3] = side
