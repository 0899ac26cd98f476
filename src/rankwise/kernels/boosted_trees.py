"""Histograms of gradients over dense and sparse codes, and partitioning of a node's rows.

A gradient and a second derivative are stored as whole numbers in one int64, with the gradient in
the upper half. One addition therefore adds both, and sums and differences of histograms are exact.
Rows are read as words of eight codes.

Of rows whose values are mostly 0, only entries with other codes are stored and read. The cell of a
column's code of 0 is what the node's total leaves.
"""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import njit, prefetch

TILE = 1000  # rows gathered at a time, even; a power of two would make columns share cache lines
# Rows between the prefetch of a row and its use: memory needs the time to answer, and the cache the
# room. From 8 to 32, the time is the same.
AHEAD = 16
LINE = 64  # bytes of memory that are fetched together
BINS = 256
WORD = 8
LOWER = 0xFFFFFFFF


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
    """Pack gradients times ``g_scale`` and second derivatives times ``h_scale``, both rounded.

    Returns the packed sum over the rows.
    """
    total = np.int64(0)
    for i in range(len(rows)):
        row = rows[i]
        g = np.int64(np.rint(gradients[row] * g_scale))
        h = np.int64(np.rint(hessians[row] * h_scale))
        # A negative gradient is a negative upper half. h is not negative, and all sums of h stay
        # below 2^31, so nothing is carried from the lower half into the upper one.
        out[row] = (g << 32) + h
        total += out[row]
    return total


@njit
def transpose_codes(codes, places, out):
    """Write codes of shape (n_features, n_rows) row by row, column j to ``places[j]``."""
    n_features, n_rows = codes.shape
    # In blocks, so that the lines of `out` stay in the cache while each column writes to them.
    for start in range(0, n_rows, 64):
        end = min(start + 64, n_rows)
        for j in range(n_features):
            place = places[j]
            for i in range(start, end):
                out[i, place] = codes[j, i]


@njit
def prefetch_bytes(first, size):
    """Fetch the bytes from an address on into the cache."""
    for offset in range(0, size, LINE):
        prefetch(first + offset)
    prefetch(first + size - 1)  # they may begin within a line, and then end in another one


@njit
def _prefetch_row(words, packed, number):
    """Fetch the words and the term of a row into the cache."""
    row, size = np.int64(number), words.strides[0]
    first = words.ctypes.data + row * size
    # Not by :func:`prefetch_bytes`, whose call takes as long as reading three words.
    prefetch(first)
    offset = LINE
    while offset < size:
        prefetch(first + offset)
        offset += LINE
    prefetch(first + size - 1)
    prefetch(packed.ctypes.data + row * packed.itemsize)


@njit
def add_rows(words, usual, rows, packed, out):
    """Add some rows to a histogram of 256 cells per column.

    ``out`` has cells for all codes of the words, or for all but the last four.

    ``usual`` (at most n_words,), int64, are the usual values of the first words. Rows that have
    them are not added one by one: their sum is what is left of the total.
    """
    n_words, last = words.shape[1], len(rows) - 1
    tile, terms = np.empty((n_words, TILE), np.int64), np.empty(TILE, np.int64)
    few_words, few_terms = np.empty(TILE, np.int64), np.empty(TILE, np.int64)
    for start in range(0, len(rows), TILE):
        n = min(TILE, len(rows) - start)
        # Two rows at a time: the words of a single one would be compiled to a scatter, which is
        # slower than its stores. Behind an odd last row, a place that is not read is written.
        for i in range(0, n, 2):
            row, other = rows[start + i], rows[min(start + i + 1, last)]
            # Rows of a node are scattered over memory.
            _prefetch_row(words, packed, rows[min(start + i + AHEAD, last)])
            _prefetch_row(words, packed, rows[min(start + i + AHEAD + 1, last)])
            terms[i], terms[i + 1] = packed[row], packed[other]
            for w in range(n_words):
                tile[w, i], tile[w, i + 1] = words[row, w], words[other, w]
        for w in range(n_words):
            cells, line, added, n_added = out[WORD * BINS * w :], tile[w], terms, n
            if w < len(usual):
                n_added, rest = 0, np.int64(0)
                for i in range(n):
                    # Without a branch: a place that is not kept is written again.
                    few_words[n_added], few_terms[n_added] = line[i], terms[i]
                    n_added += np.int64(line[i] != usual[w])
                    rest += terms[i]
                line, added = few_words, few_terms
                for i in range(n_added):
                    rest -= added[i]
                for b in range(WORD):
                    cells[BINS * b + ((usual[w] >> (8 * b)) & 255)] += rest
            for i in range(n_added if len(cells) < WORD * BINS else 0):
                word, term = line[i], added[i]
                cells[word & 255] += term
                cells[256 + ((word >> 8) & 255)] += term
                cells[512 + ((word >> 16) & 255)] += term
                cells[768 + ((word >> 24) & 255)] += term
            for i in range(n_added if len(cells) >= WORD * BINS else 0):
                # Eight histograms per read of a row. The shift of a negative word fills in ones,
                # which the mask removes.
                word, term = line[i], added[i]
                cells[word & 255] += term
                cells[256 + ((word >> 8) & 255)] += term
                cells[512 + ((word >> 16) & 255)] += term
                cells[768 + ((word >> 24) & 255)] += term
                cells[1024 + ((word >> 32) & 255)] += term
                cells[1280 + ((word >> 40) & 255)] += term
                cells[1536 + ((word >> 48) & 255)] += term
                cells[1792 + ((word >> 56) & 255)] += term


@njit
def part(rows, spare, codes, goes_left, far):
    """Partition stably: move the rows whose code goes left before the others.

    Returns the number of rows that go left. ``spare`` has room for all rows. ``far`` is None if the
    codes (n_samples,) are contiguous, and True if each is in a line of memory of its own.
    """
    n_left = n_right = 0
    last, size = len(rows) - 1, codes.strides[0]
    for i in range(len(rows)):
        if far is not None:
            prefetch(codes.ctypes.data + np.int64(rows[min(i + AHEAD, last)]) * size)
        row = rows[i]
        # The row is written to both places and one of them advances: no branch to mispredict. Place
        # `n_left` has been read already.
        left = np.int64(goes_left[codes[row]])
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
def add_leaf_values(scores, rows, codes, feature, goes_left, left, right, values):
    """Add to the score of each row the value of the leaf that it reaches.

    ``codes`` has shape (n_features, n_rows); ``goes_left`` tells for each node whether a code goes
    left.
    """
    for i in range(len(rows)):
        row, node = rows[i], 0
        while feature[node] >= 0:
            node = left[node] if goes_left[node, codes[feature[node], row]] else right[node]
        scores[row] += values[node]


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
def sum_entries(indptr, features, rows, packed, sums, sizes):
    """Write the sum of those rows that store an entry, for each column.

    ``sums`` is (n_features,), int64, like ``sizes``: sums of absolute gradients. For the others,
    see :func:`add_entries`.
    """
    sums[:] = 0
    sizes[:] = 0
    last = len(rows) - 1
    for i in range(len(rows)):
        row = rows[i]
        _prefetch_start(indptr, packed, rows[min(i + AHEAD, last)])
        term = packed[row]
        size = abs(term >> 32)
        for k in range(indptr[row], indptr[row + 1]):
            sums[features[k]] += term
            sizes[features[k]] += size


@njit
def add_entries(indptr, features, codes, first, rows, packed, sign, out):
    """Add the entries of some rows to a histogram (``sign`` 1), or subtract them (-1).

    ``indptr``, ``features`` and ``codes`` are the CSR matrix of the codes of all rows, uint8, other
    than those of 0. ``first`` (n_features,), int64, is the first cell of each column in the
    histogram; -1: the column is left out. ``rows`` is (n_rows,), int32, ``packed`` (n_samples,),
    int64, and ``out`` (n_cells,), int64. Nothing is added to the cells of the codes of 0.
    """
    last = len(rows) - 1
    for i in range(len(rows)):
        row = rows[i]
        # Rows of a node are scattered over memory. Entries can be fetched once it is known where
        # they start.
        _prefetch_start(indptr, packed, rows[min(i + AHEAD, last)])
        _prefetch_entries(indptr, features, codes, rows[min(i + ENTRIES_AHEAD, last)])
        term = sign * packed[row]
        for k in range(indptr[row], indptr[row + 1]):
            start = first[features[k]]
            if start >= 0:
                out[start + np.int64(codes[k])] += term


@njit
def add_column_entries(indptr, rows, codes, columns, first, packed, out):
    """Add all rows to a histogram, column by column, whose cells then stay in the cache.

    ``indptr``, ``rows`` and ``codes`` are the CSC matrix; for the rest, see :func:`add_entries`.
    """
    for column in columns:
        cells = out[first[column] :]
        for k in range(indptr[column], indptr[column + 1]):
            cells[np.int64(codes[k])] += packed[rows[k]]


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
