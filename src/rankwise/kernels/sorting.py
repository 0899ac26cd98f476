"""Stable sorts: of row numbers by keys in another array, and of keys with a value each.

NumPy's sorts inside a kernel take two to three seconds to compile; these take a tenth of that.
:func:`sort_rows` starts from the given order and is fast if little has changed, as between steps of
a solver. :func:`sort_keys` ignores the initial order; it is two to three times as fast if that
order is no help.
"""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import njit

SIGN = np.uint64(1 << 63)
BYTE = np.uint64(255)
_RUN = 16  # number of rows sorted by insertion, before runs are merged
_INSERTION = 24  # up to this number of keys, insertion beats eight histograms


@njit
def sort_rows(keys, rows, spare):
    """Sort ``rows`` by their keys in place; rows of equal keys keep their order.

    ``rows`` (m,), int64, are indices into ``keys`` (n,), float64 without NaN. ``spare`` (m,),
    int64, is scratch space for a copy of the rows.

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
            # In order already: one comparison instead of a merge, which makes sorted rows O(m).
            if keys[rows[middle - 1]] <= keys[rows[middle]]:
                continue
            for place in range(start, middle):
                spare[place] = rows[place]
            left, right, out = start, middle, start
            left_key, right_key = keys[spare[left]], keys[rows[right]]
            while True:
                # Strictly: of equal keys the left one goes first, which keeps the sort stable.
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


@njit
def write_keys(x, start, key):
    """Write whole numbers that order like the floats ``x[start:]``; -0.0 equals 0.0.

    ``x`` is (n,), float64 without NaN, and ``key``, which is written, (m,), uint64.
    """
    bits = x.view(np.uint64)
    for i in range(len(key)):
        b = bits[start + i]
        if b == SIGN:
            b = np.uint64(0)
        # The bits of negative numbers order backwards, so all are flipped; the sign bit puts the
        # others above them.
        key[i] = ~b if b & SIGN else b | SIGN


@njit
def sort_keys(key, value, other_key, other_value, histogram):
    """Sort values by their keys, both uint64; values of equal keys keep their order.

    The first four arrays are (m,) and all changed; ``histogram``, int64 (8, 256), is scratch space.
    Returns the first four: the sorted pair, then the scratch pair.

    Radix sort by bytes, two to three times as fast as merging. Bytes that all keys share are
    skipped. Up to 24 keys are sorted by insertion. O(m).
    """
    m = len(key)
    if m <= _INSERTION:
        for i in range(1, m):
            k, v = key[i], value[i]
            j = i
            while j > 0 and key[j - 1] > k:
                key[j], value[j] = key[j - 1], value[j - 1]
                j -= 1
            key[j], value[j] = k, v
        return key, value, other_key, other_value
    for digit in range(8):
        for b in range(256):
            histogram[digit, b] = 0
    for i in range(m):
        k = key[i]
        for digit in range(8):
            # Counts do not depend on the order of the keys: all eight digits in one pass.
            histogram[digit, k & BYTE] += 1
            k >>= np.uint64(8)
    for digit in range(8):
        shift = np.uint64(8 * digit)
        if histogram[digit, (key[0] >> shift) & BYTE] == m:
            continue
        # From counts to first places.
        total = 0
        for b in range(256):
            count = histogram[digit, b]
            histogram[digit, b] = total
            total += count
        for i in range(m):
            k = key[i]
            b = (k >> shift) & BYTE
            place = histogram[digit, b]
            histogram[digit, b] = place + 1
            other_key[place], other_value[place] = k, value[i]
        key, other_key = other_key, key
        value, other_value = other_value, value
    return key, value, other_key, other_value
