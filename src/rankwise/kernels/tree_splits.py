"""Best splits of nodes by sorted or binned columns, and the partition of their rows.

A node is a segment of rows. The gain of a split is the node's impurity minus those of its two
children, not divided by the weight. With class weights N_k, their sum N and the weight C_k of the
classes up to k, the impurities are:

===  ==============  =================================
0    ranks           sum of ``C_k (N - C_k)`` over k
1    rank distances  sum of ``D_ij N_i N_j`` over i < j
2    Gini            ``N - sum(N_k^2) / N``
3    entropy         ``sum(N_k log2(N / N_k))``
4    absolute error  sum of ``min(C_k, N - C_k)`` over k
===  ==============  =================================

A gain replaces another if it is larger by more than the node's ``tie``, so that the first of equal
gains wins. Candidates with missing values on the left come first, then thresholds ascend, and the
split of present from missing values comes last. Every child has rows, and its weight is at least
``least``. Sums of whole weights are exact. ``criterion`` is a tuple of the kind above, the
distances D between the classes ``(n_classes, n_classes)``, and ``least``.

The partition of a node's rows among its children is stable: rows are marked, then moved. A node
holds the same segment of every array of rows. ``go_left`` has a byte for every row.
"""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import njit

RANKS, DISTANCES, GINI, ENTROPY, ABSOLUTE = 0, 1, 2, 3, 4
NEW = np.uint32(1 << 31)  # the value differs from that of the previous entry
MISSING = np.uint32(1 << 30)
ROW = np.uint32((1 << 30) - 1)
EXHAUSTIVE = 8  # up to this number of categories, all subsets are tried
UNSEEN = 2  # mark of a category that does not occur in the node
KEY_STEPS = 2.0**30  # mean ranks within this step count as equal


@njit
def one_gain(kind, total, left, i, n_left, n):
    """Gain of moving the class weights ``left[:, i]`` out of ``total``, without distances."""
    n_right = n - n_left
    # All in one loop over classes: Gini without N, which is equal before and after a split.
    impurity, impurity_left, impurity_right = 0.0, 0.0, 0.0
    below, below_left = 0.0, 0.0
    for k in range(len(total)):
        right = total[k] - left[k, i]
        if kind == GINI:
            impurity -= total[k] * total[k]
            impurity_left -= left[k, i] * left[k, i]
            impurity_right -= right * right
        elif kind == ENTROPY:
            impurity -= total[k] * np.log2(total[k] / n) if total[k] > 0 else 0.0
            impurity_left -= left[k, i] * np.log2(left[k, i] / n_left) if left[k, i] > 0 else 0.0
            impurity_right -= right * np.log2(right / n_right) if right > 0 else 0.0
        else:
            below += total[k]
            below_left += left[k, i]
            below_right = below - below_left
            impurity += min(below, n - below)
            impurity_left += min(below_left, n_left - below_left)
            impurity_right += min(below_right, n_right - below_right)
    if kind == GINI:
        return impurity / n - (impurity_left / n_left + impurity_right / n_right)
    return impurity - (impurity_left + impurity_right)


@njit
def write_gains(criterion, total, left, room, m):
    """Write into ``room[2]`` the gain of each of m splits of a node.

    Split i moves the class weights ``left[:, i]`` out of ``total``, ``room[0, i]`` together;
    ``room[1]`` is overwritten. A split with a forbidden child gains 0.
    """
    kind, D, least = criterion
    n_classes = len(total)
    n_left, below, gains = room[0, :m], room[1, :m], room[2, :m]
    n = 0.0
    for k in range(n_classes):
        n += total[k]
    for i in range(len(gains)):
        below[i] = 0.0
        gains[i] = 0.0
    whole = 0.0
    for k in range(n_classes if kind <= DISTANCES else 0):
        class_left = left[k, :m]
        whole += total[k]
        if kind == RANKS:
            for i in range(len(gains)):
                below[i] += class_left[i]
                beside = whole - below[i]
                # C_k (N - C_k) of the node less those of its children leaves the pairs that the
                # split separates.
                gains[i] += below[i] * (n - n_left[i] - beside) + beside * (n_left[i] - below[i])
        else:
            for j in range(n_classes):
                other_left, distance = left[j, :m], D[k, j]
                for i in range(len(gains)):
                    gains[i] += class_left[i] * distance * (total[j] - other_left[i])
    for i in range(len(gains)):
        n_right = n - n_left[i]
        if not (n_left[i] >= least and n_right >= least and n_left[i] > 0 and n_right > 0):
            gains[i] = 0.0
        elif kind > DISTANCES:
            gains[i] = one_gain(kind, total, left, i, n_left[i], n)


@njit
def first_best(gains, m, tie):
    """First of m gains that is the largest up to the tie; -1 if none is above the tie."""
    best = tie
    for i in range(m):
        best = max(best, gains[i])
    if best > tie:
        for i in range(m):
            # Not the largest itself: of gains that differ by rounding, the first.
            if gains[i] >= best - tie:
                return i
    return -1


@njit
def scan_sorted(order, y, weight, segments, totals, ties, criterion, found):
    """Best split of each node by a column whose rows are sorted within the node.

    ``order`` holds row numbers, marked NEW and MISSING; missing ones come last. ``found`` gets gain
    (0: no split), the place in ``order`` of the last present row on the left, and the side of
    missing values (1 left, 0 right, -1 the node has none). Empty ``weight``: each row weighs 1.
    """
    kind, D, least = criterion
    n_classes = totals.shape[1]
    left = np.empty((n_classes, 1))
    pull = np.empty(n_classes)  # change of the gain if a row of class k moves to the left
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
                    left[y[row], 0] += weight[row] if len(weight) > 0 else 1.0
            n_left = left.sum()
            gain = 0.0
            square = 0.0
            square_left = 0.0
            square_right = 0.0
            for k in range(n_classes):
                square += total[k] * total[k]
                square_left += left[k, 0] * left[k, 0]
                square_right += (total[k] - left[k, 0]) * (total[k] - left[k, 0])
                pull[k] = 0.0
                for j in range(n_classes):
                    gain += left[k, 0] * D[k, j] * (total[j] - left[j, 0])
                    # Moving a row separates it from those on its old side and joins it with those
                    # on the new.
                    pull[k] += D[k, j] * (total[j] - 2 * left[j, 0])
            # The last place leaves only missing values on the right, if there are any.
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
                    square_left += w * (2 * left[c, 0] + w)
                    square_right += w * (w - 2 * (total[c] - left[c, 0]))
                left[c, 0] += w
                n_left += w
                n_right = n - n_left
                # A cut inside equal values is none.
                if order[i + 1] & NEW and n_left >= least and n_right >= least and n_right > 0:
                    if kind == GINI:
                        gain = square_left / n_left + square_right / n_right - square / n
                    elif kind > GINI:
                        gain = one_gain(kind, total, left, 0, n_left, n)
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
    number of categories. For the best split, it becomes 1 if a category goes left, 0 if it goes
    right and UNSEEN if the node has no such row. Categories are sorted by mean class; the first
    goes left. If there are at most EXHAUSTIVE categories, all subsets are tried, with missing
    values as one more category. Otherwise, the sorted categories are split like an ordered column,
    with missing values on either side. ``rows`` hold row numbers in their lower 32 bits.
    """
    n_categories = marks.shape[1] - 1
    n_classes = len(criterion[1])
    most = max(1 << EXHAUSTIVE, n_categories + 1)
    table = np.empty((n_categories + 1, n_classes))
    total = np.empty(n_classes)
    key = np.empty(n_categories, np.int64)
    item = np.empty(n_categories + 1, np.int64)
    left = np.empty((n_classes, most))
    room = np.empty((3, most))
    for a in range(len(segments)):
        for c in range(n_categories + 1):
            marks[a, c] = UNSEEN
            for k in range(n_classes):
                table[c, k] = 0.0
        for i in range(segments[a, 0], segments[a, 1]):
            row = rows[i] & np.uint64(0xFFFFFFFF)
            table[codes[row], y[row]] += weight[row] if len(weight) > 0 else 1.0
            marks[a, codes[row]] = 0
        for k in range(n_classes):
            total[k] = table[n_categories, k]
        n_present = 0
        for c in range(n_categories):
            if marks[a, c] == UNSEEN:
                continue
            n = 0.0
            moment = 0.0
            for k in range(n_classes):
                total[k] += table[c, k]
                n += table[c, k]
                moment += k * table[c, k]
            # Whole numbers: means that differ by rounding are equal, and codes order them.
            key[c] = np.int64(KEY_STEPS * (moment / n))
            place = n_present
            while place > 0 and key[item[place - 1]] > key[c]:
                item[place] = item[place - 1]
                place -= 1
            item[place] = c
            n_present += 1
        misses = marks[a, n_categories] != UNSEEN
        best = 0.0
        for missing_left in (True, False):
            exhaustive = n_present <= EXHAUSTIVE
            if n_present == 0 or (missing_left and (exhaustive or not misses)):
                continue
            # Column s of left: the first item and those at the bits of s, or otherwise the first s
            # + 1 items.
            n_items = n_present
            if exhaustive:
                if misses:
                    item[n_items] = n_categories
                    n_items += 1
                # The first item always goes left, as a subset and its complement are one split; all
                # items on the left is no split.
                m = (1 << (n_items - 1)) - 1
            else:
                m = n_items if misses and not missing_left else n_items - 1
            for k in range(n_classes):
                left[k, 0] = table[item[0], k]
                if exhaustive:
                    for b in range(1, n_items):
                        half = 1 << (b - 1)
                        for s in range(min(half, m - half)):
                            # Subsets with item b are those without it, plus the item.
                            left[k, half + s] = left[k, s] + table[item[b], k]
                else:
                    left[k, 0] += table[n_categories, k] if missing_left else 0.0
                    for s in range(1, m):
                        left[k, s] = left[k, s - 1] + table[item[s], k]
            for s in range(m):
                room[0, s] = 0.0
                for k in range(n_classes):
                    room[0, s] += left[k, s]
            write_gains(criterion, total, left, room, m)
            s = first_best(room[2], m, ties[a])
            if s < 0 or room[2, s] <= best + ties[a]:
                continue
            best = room[2, s]
            for b in range(n_items):
                if exhaustive:
                    marks[a, item[b]] = b == 0 or (s >> (b - 1)) & 1
                else:
                    marks[a, item[b]] = b <= s
            if misses and not exhaustive:
                marks[a, n_categories] = missing_left
        gains[a] = best


@njit
def scan_bins(codes, rows, weight, pairs, totals, ties, criterion, columns, histograms, found):
    """Best split of each node by each of some binned columns.

    ``rows`` hold the row number in their lower and the class in their upper 32 bits. A line of
    ``pairs`` holds two siblings: start, border and end of their rows; the number of each among the
    nodes to split, or -1 for a leaf; the index of the parent's histograms in the first array of
    ``histograms``, or -1 if they are not stored; the indices in the second array at which to store
    their own, or -1. Of siblings of a kept parent the smaller is counted and the larger is the
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
    left = np.empty((n_classes, most))
    room = np.empty((3, most))
    both = np.empty((2, most * n_classes), kept.dtype)
    for p in range(len(pairs)):
        pair = pairs[p]
        # 1 if the second sibling has fewer rows.
        smaller = np.int64(pair[1] - pair[0] > pair[2] - pair[1])
        for j in range(len(columns)):
            n_bins = columns[j, 2] + 2
            n_cells = n_bins * n_classes
            first = columns[j, 1]
            column_codes = codes[columns[j, 0]]
            wanted = (
                pair[3] >= 0 and found[pair[3], j, 0] >= 0,
                pair[4] >= 0 and found[pair[4], j, 0] >= 0,
            )
            # Counting the smaller one is enough: the larger is the rest of the parent.
            from_parent = pair[5] >= 0 and wanted[1 - smaller]
            for s in range(2):
                if (s == smaller) if from_parent else wanted[s]:
                    cells = both[s, :n_cells]
                    for i in range(n_cells):
                        cells[i] = 0
                    _count_rows(rows[pair[s] : pair[s + 1]], column_codes, weight, n_bins, cells)
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
                    _scan_cells(cells, totals[a], ties[a], criterion, left, room, found[a, j])
                    if pair[6 + s] >= 0:
                        line = kept[pair[6 + s], first : first + n_cells]
                        for i in range(n_cells):
                            line[i] = cells[i]


@njit
def _count_rows(rows, codes, weight, n_bins, cells):
    """Add the rows to a histogram: the bins of one class, then those of the next."""
    step = np.uint64(n_bins)
    if len(weight) > 0:
        for entry in rows:
            row = entry & np.uint64(0xFFFFFFFF)
            # The class is in the upper half of the entry, so that it is read with the row number.
            cells[codes[row] + (entry >> np.uint64(32)) * step] += weight[row]
    else:
        for entry in rows:
            row = entry & np.uint64(0xFFFFFFFF)
            cells[codes[row] + (entry >> np.uint64(32)) * step] += 1


@njit
def _scan_cells(cells, total, tie, criterion, left, room, found):
    """Best split of one node by one histogram, whose last bin is that of missing values."""
    n_classes = len(total)
    n_bins = len(cells) // n_classes
    m = n_bins - 1
    n_missing = 0.0
    for k in range(n_classes):
        n_missing += cells[k * n_bins + m]
    best, place, following, side = 0.0, -1, -1, -1
    for missing_left in (True, False):
        if missing_left and n_missing == 0:
            continue
        for b in range(m):
            room[0, b] = 0.0
        for k in range(n_classes):
            # A zero of the histogram's type: whole counts stay whole.
            so_far = 0 * cells[0]
            if missing_left:
                so_far += cells[k * n_bins + m]
            for b in range(m):
                so_far += cells[k * n_bins + b]
                left[k, b] = so_far
            for b in range(m):
                room[0, b] += left[k, b]
        for b in range(m if missing_left else 0):
            if room[0, b] == n_missing:  # missing rows alone are tried on the right
                room[0, b] = 0.0
        write_gains(criterion, total, left, room, m)
        b = first_best(room[2], m, tie)
        if b < 0 or room[2, b] <= best + tie:
            continue
        best = room[2, b]
        place = b
        side = -1 if n_missing == 0 else int(missing_left)
        following = -1
        # Empty bins follow the cut: the threshold lies half-way to the next bin with rows.
        for c in range(m - 1, b, -1):
            if room[0, c] > room[0, c - 1]:
                following = c
    found[0] = best
    found[1] = place
    found[2] = following
    found[3] = side


@njit
def mark_sorted(order, y, weight, splits, go_left, n_left, counts):
    """Mark the rows of nodes that are split at a position of a sorted column.

    ``splits`` holds segment, line of ``order``, place and side of missing values (1: left).
    ``n_left`` gets the number of rows on the left, ``counts`` class weights of both children.
    """
    counts[:] = 0.0
    for a in range(len(splits)):
        lo, hi, place, side = splits[a, 0], splits[a, 1], splits[a, 3], splits[a, 4]
        column = order[splits[a, 2]]
        n_left[a] = 0
        for i in range(lo, hi):
            entry = column[i]
            row = entry & ROW
            # Missing rows stand last in the column, beyond any place.
            left = np.int64(side == 1 if entry & MISSING else i <= place)
            go_left[row] = left
            n_left[a] += left
            counts[a, 1 - left, y[row]] += weight[row] if len(weight) > 0 else 1.0


@njit
def mark_coded(rows, codes, y, weight, segments, lines, lefts, go_left, n_left, counts):
    """Mark the rows of nodes that are split by codes: ``lefts[a, code]`` is 1 if they go left.

    ``lines`` holds the line of ``codes`` that each node is split by; ``rows`` hold row numbers in
    their lower 32 bits. Outputs are those of :func:`mark_sorted`.
    """
    counts[:] = 0.0
    for a in range(len(segments)):
        column_codes = codes[lines[a]]
        n_left[a] = 0
        for i in range(segments[a, 0], segments[a, 1]):
            row = rows[i] & np.uint64(0xFFFFFFFF)
            left = np.int64(lefts[a, column_codes[row]] == 1)
            go_left[row] = left
            n_left[a] += left
            counts[a, 1 - left, y[row]] += weight[row] if len(weight) > 0 else 1.0


@njit
def part_sorted(order, go_left, segments):
    """Move the rows of each segment that go left before the others, in place.

    Rows keep their order. The mark of a row whose value differs from that of the previous row is
    passed on past the rows that go to the other side.
    """
    longest = 0
    for a in range(len(segments)):
        longest = max(longest, segments[a, 1] - segments[a, 0])
    others = np.empty(longest, np.uint32)
    for a in range(len(segments)):
        lo, hi = segments[a, 0], segments[a, 1]
        at, n_others = lo, 0
        new_left = np.uint32(0)
        new_right = np.uint32(0)
        for i in range(lo, hi):
            entry = order[i]
            left = np.int64(go_left[entry & ROW])
            new_left |= entry & NEW
            new_right |= entry & NEW
            plain = entry & ~NEW
            order[at] = plain | new_left  # already read; overwritten if it goes right
            others[n_others] = plain | new_right
            new_left &= np.uint32(left - 1)  # none where the entry has carried it
            new_right &= np.uint32(-left)
            at += left
            n_others += 1 - left
        for i in range(n_others):
            order[at + i] = others[i]


@njit
def part_rows(rows, go_left, segments):
    """Like :func:`part_sorted` for rows without marks."""
    longest = 0
    for a in range(len(segments)):
        longest = max(longest, segments[a, 1] - segments[a, 0])
    others = np.empty(longest, np.uint64)
    for a in range(len(segments)):
        lo, hi = segments[a, 0], segments[a, 1]
        at, n_others = lo, 0
        for i in range(lo, hi):
            entry = rows[i]
            left = np.int64(go_left[entry & np.uint64(0xFFFFFFFF)])
            rows[at] = entry
            others[n_others] = entry
            at += left
            n_others += 1 - left
        for i in range(n_others):
            rows[at + i] = others[i]
