"""Stable sorting of rows by key.

NumPy's sorts inside a kernel take two to three seconds to compile; this one a tenth.
"""

from __future__ import annotations

from rankwise.runtime.jit import njit

_RUN = 16  # rows that an insertion sort puts in order, before runs are merged


@njit
def sort_rows(keys, rows, spare):
    """Sort ``rows`` by their keys in place; rows of equal keys keep their order.

    Parameters
    ----------
    keys : float64 (n,)
        Without NaN.
    rows : int64 (m,), changed
        Indices into ``keys``.
    spare : int64 (m,), written
        Room for a copy of the rows.

    Notes
    -----
    Runs of 16 rows are sorted by insertion and merged pairwise, bottom up; neighbouring runs that
    are in order already are not merged. O(m log m).
    """
    m = len(rows)
    for start in range(0, m, _RUN):
        for place in range(start + 1, min(start + _RUN, m)):
            row = rows[place]
            key = keys[row]
            before = place - 1
            while before >= start and keys[rows[before]] > key:
                rows[before + 1] = rows[before]
                before -= 1
            rows[before + 1] = row
    width = _RUN
    while width < m:
        for start in range(0, m - width, 2 * width):
            middle, end = start + width, min(start + 2 * width, m)
            if keys[rows[middle - 1]] <= keys[rows[middle]]:
                continue
            for place in range(start, middle):
                spare[place] = rows[place]
            left, right, out = start, middle, start
            left_key, right_key = keys[spare[left]], keys[rows[right]]
            while True:
                if right_key < left_key:
                    rows[out] = rows[right]
                    out += 1
                    right += 1
                    if right == end:
                        break
                    right_key = keys[rows[right]]
                else:
                    rows[out] = spare[left]
                    out += 1
                    left += 1
                    if left == middle:
                        break
                    left_key = keys[spare[left]]
            while left < middle:
                rows[out] = spare[left]
                out += 1
                left += 1
        width *= 2
