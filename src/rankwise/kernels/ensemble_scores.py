"""Scores of rows under trees: by descent, by masks of leaves, and sums over leaves.

By masks, the leaves of a tree are numbered from left to right, a bit each. A split that sends a row
right closes the leaves below its left child. Once all splits have closed theirs, in any order, the
first leaf still open is the row's (Lucchese et al., "QuickScorer", SIGIR 2015). Nothing branches on
a value, so every split takes many rows at a time.
"""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import njit, trailing_zeros


@njit
def _next_node(X, i, cuts, links, node):
    """Child of a node that row ``i`` of ``X`` goes to; a leaf is its own child."""
    link = links[node, 1]
    value = X[i, (link >> 1) & 0x7FFFFFFF]
    # No branch: half of them would be mispredicted, which takes longer than all else. NaN is not
    # above any cut, and the only value unequal to itself.
    goes_right = np.int64(value > cuts[node, 0]) | (np.int64(value != value) & (link & 1))
    return (link >> 32) + goes_right


@njit
def add_trees(X, n_trees, cuts, links, values, out):
    """Add to ``out`` the values of the leaves that each row of ``X`` reaches, over all trees.

    ``cuts`` (n_nodes, 2), float64, and ``links``, the same memory as int64, hold a node in 16
    bytes, so that a step reads one line of the cache: the threshold and, from the highest bits, the
    left child (32 bits), the feature (31), and 1 if missing values go right. The right child comes
    behind the left one. Leaves are their own left child and have threshold inf. Node t is the root
    of tree t.
    """
    n_groups = n_trees // 8
    # Rows within trees: nodes stay in the cache, and every row adds its leaves in the order of the
    # trees, in whatever block it is. Eight trees at a time, as a step waits for the one before it.
    for t in range(0, 8 * n_groups, 8):
        for i in range(X.shape[0]):
            a, b, c, d, e, f, g, h = t, t + 1, t + 2, t + 3, t + 4, t + 5, t + 6, t + 7
            moved = True
            while moved:
                a0, b0, c0, d0, e0, f0, g0, h0 = a, b, c, d, e, f, g, h
                a, b = _next_node(X, i, cuts, links, a), _next_node(X, i, cuts, links, b)
                c, d = _next_node(X, i, cuts, links, c), _next_node(X, i, cuts, links, d)
                e, f = _next_node(X, i, cuts, links, e), _next_node(X, i, cuts, links, f)
                g, h = _next_node(X, i, cuts, links, g), _next_node(X, i, cuts, links, h)
                changed = (a ^ a0) | (b ^ b0) | (c ^ c0) | (d ^ d0)
                moved = (changed | (e ^ e0) | (f ^ f0) | (g ^ g0) | (h ^ h0)) != 0
            total = out[i] + values[a] + values[b] + values[c] + values[d]
            out[i] = total + values[e] + values[f] + values[g] + values[h]
    for t in range(8 * n_groups, n_trees):
        for i in range(X.shape[0]):
            node, before = t, -1
            while node != before:
                before = node
                node = _next_node(X, i, cuts, links, node)
            out[i] += values[node]


@njit
def add_nominal_trees(
    X, indptr, feature, threshold, left, right, missing_left, values, nominal, category_indptr,
    categories, out,
):  # fmt: skip
    """Like :func:`add_trees`, for trees in which some nodes send a set of categories left.

    Node arrays as in :class:`rankwise.trees.tree_ensemble.TreeEnsemble`. The left categories of
    node i (numbered over all trees) are
    ``categories[category_indptr[i]:category_indptr[i + 1]]``, ascending; all others go right.
    """
    for t in range(len(indptr) - 1):
        root = indptr[t]
        for i in range(X.shape[0]):
            node = root
            while feature[node] >= 0:
                value = X[i, feature[node]]
                if value != value:
                    go_left = missing_left[node]
                elif nominal[node]:
                    # A category that the node did not see in training is not found and goes right.
                    low, end = category_indptr[node], category_indptr[node + 1]
                    high = end
                    while low < high:
                        middle = (low + high) // 2
                        if categories[middle] < value:
                            low = middle + 1
                        else:
                            high = middle
                    go_left = low < end and categories[low] == value
                else:
                    go_left = value <= threshold[node]
                node = root + (left[node] if go_left else right[node])
            out[i] += values[node]


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


@njit
def _find_leaf(X, i, node, nodes, threshold, missing_left, indptr, categories, nominal):
    """Leaf that row ``i`` of ``X`` reaches from a node."""
    while nodes[node, 0] >= 0:
        value = X[i, nodes[node, 0]]
        # NaN, which is neither above nor below a threshold.
        if value != value:
            go_left = missing_left[node]
        elif nominal[node]:
            lo, end = indptr[node], indptr[node + 1]
            hi = end
            while lo < hi:
                middle = (lo + hi) >> 1
                if categories[middle] < value:
                    lo = middle + 1
                else:
                    hi = middle
            # Categories that are not listed, unseen ones among them, go right.
            go_left = lo < end and categories[lo] == value
        else:
            go_left = value <= threshold[node]
        node = nodes[node, 1] if go_left else nodes[node, 2]
    return node


@njit
def find_leaves(X, nodes, threshold, missing_left, indptr, categories, nominal, out):
    """Write the leaf of each row of ``X`` into ``out``.

    ``nodes`` holds feature (-1: a leaf), left and right child as columns. A row goes left if its
    value is at most the threshold or, at a node of ``nominal``, if its code is among the node's
    ascending ``categories[indptr[node]:indptr[node + 1]]``; NaN goes to the missing side.
    """
    for i in range(X.shape[0]):
        out[i] = _find_leaf(X, i, 0, nodes, threshold, missing_left, indptr, categories, nominal)


@njit
def add_leaf_rows(
    X, starts, nodes, threshold, missing_left, indptr, categories, nominal, values, out
):
    """Add to each row of ``out`` the rows of ``values`` of the leaves reached in all trees.

    The nodes of tree t begin at ``starts[t]``; children are numbered over all trees. The other
    arrays are those of :func:`find_leaves`, tree after tree. ``values`` has a row for each node.
    """
    for t in range(len(starts)):
        for i in range(X.shape[0]):
            leaf = _find_leaf(
                X, i, starts[t], nodes, threshold, missing_left, indptr, categories, nominal
            )
            for c in range(out.shape[1]):
                out[i, c] += values[leaf, c]
