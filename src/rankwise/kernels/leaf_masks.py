"""Scores of rows under a sum of trees, by bit masks of the leaves that each split leaves open.

The leaves of a tree are numbered from left to right, a bit each. A split that sends a row right
closes the leaves below its left child. Once all splits have closed theirs, in any order, the first
leaf still open is the row's (Lucchese et al., "QuickScorer", SIGIR 2015). Nothing branches on a
value, so every split takes many rows at a time.
"""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import njit, trailing_zeros


@njit
def number_leaves(indptr, feature, left, right, first, count):
    """Write the first leaf below each node, numbered within its tree, and the number of leaves.

    Node arrays as in :class:`rankwise.trees.tree_ensemble.TreeEnsemble`.
    """
    for t in range(len(indptr) - 1):
        root = indptr[t]
        # Children stand behind their parents: backwards, both are counted before the parent.
        for node in range(indptr[t + 1] - 1, root - 1, -1):
            if feature[node] < 0:
                count[node] = 1
            else:
                count[node] = count[root + left[node]] + count[root + right[node]]
        first[root] = 0
        for node in range(root, indptr[t + 1]):
            if feature[node] >= 0:
                first[root + left[node]] = first[node]
                first[root + right[node]] = first[node] + count[root + left[node]]


@njit
def read_columns(X, features, indptr, listed, out):
    """Write columns of ``X`` as rows of ``out``.

    A column with listed values, ``listed[indptr[j]:indptr[j + 1]]``, ascending, becomes the places
    of its values in the list: the length of the list for other values, one more for missing ones.
    Rows beyond those of ``X`` become 0.
    """
    n_rows = X.shape[0]
    for j in range(len(features)):
        column, start, end = features[j], indptr[j], indptr[j + 1]
        for i in range(n_rows):
            out[j, i] = X[i, column]
        # Lanes beyond the last row are computed too, so they need a place that every list has.
        for i in range(n_rows, out.shape[1]):
            out[j, i] = 0.0
        if end > start:
            for i in range(n_rows):
                value = out[j, i]
                low, high = start, end
                while low < high:
                    middle = (low + high) >> 1
                    if listed[middle] < value:
                        low = middle + 1
                    else:
                        high = middle
                if value != value:  # NaN, the only value unequal to itself
                    out[j, i] = end - start + 1
                elif low < end and listed[low] == value:
                    out[j, i] = low - start
                else:
                    out[j, i] = end - start


@njit
def add_open_leaves(
    table, column, threshold, mask, word, bounds, goes_left, leaf_indptr, leaf_values, bits, out
):
    """Add to ``out`` (n_rows,) the values of the leaves that each row reaches, over all trees.

    - ``table`` (n_columns, width), float64: from :func:`read_columns`; at least as many rows as
      ``out`` has.
    - ``column``, ``threshold``, ``mask`` and ``word`` (n_masks,): what rows that go right at a
      split leave open of a word of leaves. At nominal splits, the threshold is the position of the
      split's first entry in ``goes_left``.
    - ``bounds`` (n_trees, 4), int64: ends of the masks of a tree: numeric splits that send missing
      values right, numeric splits that send them left, and nominal splits.
    - ``goes_left``, bool: of a nominal split, by the position of a value.
    - ``leaf_values[leaf_indptr[t]:leaf_indptr[t + 1]]``: values of tree t.
    - ``bits`` (n_words, width), uint32 or uint64, overwritten.
    """
    width, word_size = bits.shape[1], 8 * bits.itemsize
    every = ~bits.dtype.type(0)
    for t in range(len(bounds)):
        for w in range((leaf_indptr[t + 1] - leaf_indptr[t] + word_size - 1) // word_size):
            for i in range(width):
                bits[w, i] = every
        # Three loops instead of one with a test of the kind, so that each compiles to vectors. They
        # differ for NaN only: it is neither <= nor > the threshold, so the test itself sends it.
        for k in range(bounds[t, 0], bounds[t, 1]):
            values, cut, kept, opened = table[column[k]], threshold[k], mask[k], bits[word[k]]
            for i in range(width):
                opened[i] &= every if values[i] <= cut else kept
        for k in range(bounds[t, 1], bounds[t, 2]):
            values, cut, kept, opened = table[column[k]], threshold[k], mask[k], bits[word[k]]
            for i in range(width):
                opened[i] &= kept if values[i] > cut else every
        for k in range(bounds[t, 2], bounds[t, 3]):
            values, start, kept, opened = table[column[k]], threshold[k], mask[k], bits[word[k]]
            for i in range(width):
                opened[i] &= every if goes_left[int(start + values[i])] else kept
        for i in range(len(out)):
            w = 0
            # Some leaf is always open, which ends the loop.
            while bits[w, i] == 0:
                w += 1
            leaf = leaf_indptr[t] + w * word_size + np.int64(trailing_zeros(bits[w, i]))
            out[i] += leaf_values[leaf]
