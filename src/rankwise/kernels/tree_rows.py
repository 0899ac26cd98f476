"""Stable partition of a node's rows among its children: rows are marked, then moved.

A node holds the same segment of every array of rows. ``go_left`` has a byte for every row.
"""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import njit

NEW = np.uint32(1 << 31)  # the value differs from that of the previous entry
MISSING = np.uint32(1 << 30)
ROW = np.uint32((1 << 30) - 1)


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
