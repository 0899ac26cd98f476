"""Codes and histograms of rows whose values are mostly 0.

Only stored entries are read. The cell of a column's code of 0 is what the node's total leaves.
"""

from __future__ import annotations

import numpy as np

from rankwise.kernels.boosted_trees import AHEAD, prefetch_bytes
from rankwise.runtime.jit import njit, prefetch

ENTRIES_AHEAD = AHEAD // 2  # rows between the prefetch of a row's entries and their use


@njit
def write_entry_codes(values, features, cuts, indptr, out):
    """Write the number of cuts below each entry of a CSR matrix; NaN: the number of cuts + 1.

    The ascending cuts of column j are ``cuts[indptr[j]:indptr[j + 1]]``.
    """
    for k in range(len(values)):
        value, start = np.float64(values[k]), indptr[features[k]]
        low, high = start, indptr[features[k] + 1]
        if value != value:  # NaN has no place among the cuts
            out[k] = high - start + 1
            continue
        # A value equal to a cut belongs below it, as in dense rows.
        while low < high:
            middle = (low + high) >> 1
            if cuts[middle] < value:
                low = middle + 1
            else:
                high = middle
        out[k] = low - start


@njit
def _prefetch_start(indptr, packed, number):
    """Fetch where the entries of a row start, and its term, into the cache."""
    row = np.int64(number)
    prefetch(indptr.ctypes.data + row * indptr.itemsize)
    prefetch(packed.ctypes.data + row * packed.itemsize)


@njit
def _prefetch_entries(indptr, features, codes, row):
    """Fetch the entries of a row into the cache."""
    start, n = np.int64(indptr[row]), np.int64(indptr[row + 1] - indptr[row])
    if n > 0:
        prefetch_bytes(features.ctypes.data + start * features.itemsize, n * features.itemsize)
        prefetch_bytes(codes.ctypes.data + start * codes.itemsize, n * codes.itemsize)


@njit
def add_entries(indptr, features, codes, first, zero_codes, rows, packed, sums, out):
    """Add some rows to a histogram.

    ``indptr``, ``features`` and ``codes`` are the CSR matrix of the codes of all rows, uint8, and
    ``zero_codes`` (n_features,), uint8, the code of 0 in each column. ``first`` (n_features,),
    int64, is the first cell of each column in the histogram; -1: the histogram leaves the column
    out. ``rows`` is (n_rows,), int32, ``packed`` (n_samples,), int64. Overwrites ``sums``
    (n_features,), int64, and adds to ``out`` (n_cells,), int64.
    """
    total, last = np.int64(0), len(rows) - 1
    sums[:] = 0
    for i in range(len(rows)):
        row = rows[i]
        # Rows of a node are scattered over memory. Entries can be fetched once it is known where
        # they start.
        _prefetch_start(indptr, packed, rows[min(i + AHEAD, last)])
        _prefetch_entries(indptr, features, codes, rows[min(i + ENTRIES_AHEAD, last)])
        term = packed[row]
        total += term
        for k in range(indptr[row], indptr[row + 1]):
            column = features[k]
            if first[column] >= 0:
                out[first[column] + np.int64(codes[k])] += term
                sums[column] += term
    # Exact, because packed sums are whole numbers.
    for column in range(len(sums)):
        if first[column] >= 0:
            out[first[column] + np.int64(zero_codes[column])] += total - sums[column]


@njit
def add_leaf_values_of_entries(
    scores, rows, indptr, features, codes, zero_codes, feature, goes_left, left, right, values
):
    """Add to the score of each row the value of the leaf that it reaches.

    The entries of a row are in the order of their columns, see :func:`add_entries`;
    ``goes_left`` tells for each node whether a code goes left.
    """
    for i in range(len(rows)):
        row, node = rows[i], 0
        while feature[node] >= 0:  # leaves have the feature -1
            column = feature[node]
            low, end = indptr[row], indptr[row + 1]
            high = end
            while low < high:
                middle = (low + high) >> 1
                if features[middle] < column:
                    low = middle + 1
                else:
                    high = middle
            stored = low < end and features[low] == column
            code = codes[low] if stored else zero_codes[column]
            node = left[node] if goes_left[node, code] else right[node]
        scores[row] += values[node]
