"""Sorts and hashes of rows: stable sorts, distinct rows of each query, sums of scrambled values.

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


_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)
_TO_SHARE = 2.0**-64


@njit
def order_queries(keys, hash_line, indptr, first, last, rows, is_new, sizes, query_keys, sums):
    """Sort the rows of the queries ``first:last``, and mark which rows are distinct.

    - ``keys`` (n_keys, n_samples), uint64: keys of the rows; the last line is the primary sort key.
    - ``hash_line``: index of the hashes in ``keys``; adjacent rows with equal hashes count as
      equal. The line before the hashes, if any, holds the bits of the weights as float64; otherwise
      all are 1.
    - ``indptr`` (n_queries + 1,), int64.
    - ``rows`` (n_samples,), int64, changed: row numbers, query by query; rows of equal keys keep
      their order.
    - ``is_new`` (n_samples,), bool, written: whether each of ``rows`` differs from the one before
      it.
    - ``sizes`` (n_queries,), int64, written: number of distinct rows.
    - ``query_keys`` (n_queries,), uint64, written: sum of the scrambled hashes of the distinct
      rows.
    - ``sums`` (n_queries,), float64, written: sum of the weights, each times a number in [0, 1)
      that depends on the hash. It orders queries of equal keys, which have the same distinct rows
      in other numbers, and the order does not change if all weights are multiplied by a number.

    O(n_samples) for each row of keys.
    """
    longest = 0
    for q in range(first, last):
        longest = max(longest, indptr[q + 1] - indptr[q])
    key, value = np.empty(longest, np.uint64), np.empty(longest, np.uint64)
    other_key, other_value = np.empty(longest, np.uint64), np.empty(longest, np.uint64)
    histogram = np.empty((8, 256), np.int64)
    hashes, weights, weighted = keys[hash_line], keys[0].view(np.float64), hash_line > 0
    for q in range(first, last):
        start, end = indptr[q], indptr[q + 1]
        m = end - start
        # Stable sorts from the last key to the first: earlier orders survive as tie-breaks.
        for line in range(len(keys)):
            for i in range(m):
                key[i] = keys[line, rows[start + i]]
                value[i] = rows[start + i]
            _, by_key, _, _ = sort_keys(
                key[:m], value[:m], other_key[:m], other_value[:m], histogram
            )
            for i in range(m):
                rows[start + i] = by_key[i]
        total, weight, count, z = np.uint64(0), 0.0, 0, np.uint64(0)
        for i in range(start, end):
            row = rows[i]
            is_new[i] = i == start or hashes[row] != hashes[rows[i - 1]]
            if is_new[i]:
                # The hash of zeros with label 0 is 0, which would count as no row.
                z = max(hashes[row], np.uint64(1))
                z = (z ^ (z >> _30)) * _FIRST
                z = (z ^ (z >> _27)) * _SECOND
                z = z ^ (z >> _31)
                # Plain hashes are sums over columns: without more scrambling, rows that exchange
                # their values of a column would keep the total.
                total += z
                count += 1
            weight += (weights[row] if weighted else 1.0) * (np.float64(z) * _TO_SHARE)
        sizes[q], query_keys[q], sums[q] = count, total, weight


@njit
def join_queries(rows, is_new, indptr, starts, first, last, weights, out, totals, places):
    """Move the distinct rows of some queries together, and add up the weights of equal ones.

    For ``rows``, ``is_new``, ``indptr``, ``first`` and ``last``, see :func:`order_queries`.

    - ``starts`` (n_queries,), int64: first place of each query among the distinct rows.
    - ``weights`` (n_samples,), float64: weights of the rows; empty: all 1.
    - ``out`` (n_distinct,), int64, written: row numbers.
    - ``totals`` (n_distinct,), float64, written: sums of weights, initially 0. Pass an empty array
      if they are not needed.
    - ``places`` (n_samples,), int64, written: position of each row among the distinct rows. Pass an
      empty array if not needed.
    """
    for q in range(first, last):
        place = starts[q] - 1
        for i in range(indptr[q], indptr[q + 1]):
            row = rows[i]
            if is_new[i]:
                place += 1
                out[place] = row
            if len(totals) > 0:
                totals[place] += weights[row] if len(weights) > 0 else 1.0
            if len(places) > 0:
                places[row] = place


_MINUS_ZERO = np.uint64(1 << 63)
_INFINITY, _NAN = np.uint64(0x7FF << 52), np.uint64(0xFFF << 51)


@njit
def hash_rows(bits, multipliers, keys):
    """Write ``sum_j scrambled(bits_ij) multipliers_j``; all NaN are equal, as are 0.0 and -0.0.

    ``bits`` are the bits of float64 values as uint64, shape (n_rows, n_columns). O(n d).
    """
    for i in range(bits.shape[0]):
        key = np.uint64(0)
        for j in range(bits.shape[1]):
            z = bits[i, j]
            if z == _MINUS_ZERO:
                z = np.uint64(0)
            # Above infinity, sign apart, are only NaN, which may hold any further bits.
            elif z & ~_MINUS_ZERO > _INFINITY:
                z = _NAN
            z = (z ^ (z >> _30)) * _FIRST
            z = (z ^ (z >> _27)) * _SECOND
            # Unsigned sums wrap around, which keeps them independent of the order of columns. A
            # multiplier per column tells equal values in different columns apart.
            key += (z ^ (z >> _31)) * multipliers[j]
        keys[i] = key
