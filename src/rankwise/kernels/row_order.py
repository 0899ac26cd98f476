"""Distinct rows of each query, in the order of their keys."""

from __future__ import annotations

import numpy as np

from rankwise.kernels.sorting import sort_keys
from rankwise.runtime.jit import njit

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
