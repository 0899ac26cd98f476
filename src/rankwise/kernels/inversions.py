"""Agreement of rankings: ties, inversions and gaps within queries, and majority votes.

Ties, inversions, ranks and gaps within queries, by sorting instead of listing pairs.

Rows in lexicographic order of (score, label) have one strict inversion of labels for every
misordered pair (Knight 1966, JASA 61:436-439); a Fenwick tree over the distinct labels counts them
and sums their label differences. A query of m rows with K distinct labels costs O(m log K) time
and O(m) memory.

Rows are in group order: query ``q`` holds ``indptr[q]:indptr[q + 1]``. Labels and scores are
float64 without NaN. Counts are exact, and so are the sums if labels are integers.

Order of documents by majority vote of several ranked lists.

Majority votes are not transitive, so the result depends on the sorting algorithm. Merge sort is
stable, and any two neighbours of its result were compared directly or keep their initial order.
"""

from __future__ import annotations

import numpy as np

from rankwise.kernels.sorting import SIGN, sort_keys, write_keys
from rankwise.runtime.jit import njit


@njit
def _longest(indptr):
    longest = 0
    for q in range(len(indptr) - 1):
        longest = max(longest, indptr[q + 1] - indptr[q])
    return longest


@njit
def compare_pairs(y, f, indptr, counts, sums):
    """Compare the pairs of each query by label and by score.

    ``counts[q]`` becomes (pairs tied in y, pairs tied in f, pairs tied in both, misordered pairs:
    y_i > y_j and f_i < f_j), ``sums[q]`` the sum of |y_i - y_j| over the misordered pairs and over
    the pairs tied in f.
    """
    longest = _longest(indptr)
    key_0, key_1 = np.empty(longest, np.uint64), np.empty(longest, np.uint64)
    value_0, value_1 = np.empty(longest, np.uint64), np.empty(longest, np.uint64)
    histogram = np.empty((8, 256), np.int64)
    bits = np.empty(longest, np.uint64)
    label = bits.view(np.float64)  # distinct labels of the query, ascending
    n_above, sum_above = np.empty(longest + 1, np.int64), np.empty(longest + 1)
    for q in range(len(indptr) - 1):
        start, m = indptr[q], indptr[q + 1] - indptr[q]
        tied_y, tied_f, tied_both, misordered = 0, 0, 0, 0
        sum_misordered, sum_tied = 0.0, 0.0
        write_keys(y, start, key_0[:m])
        write_keys(f, start, value_0[:m])
        y_key, f_key, free_0, free_1 = sort_keys(
            key_0[:m], value_0[:m], key_1[:m], value_1[:m], histogram
        )

        # Rows are sorted by label: number the distinct labels from 0.
        n_distinct, n_tied, last = 0, 0, np.uint64(0)
        for i in range(m):
            k = y_key[i]
            if i > 0 and k == last:
                n_tied += 1
                tied_y += n_tied
            else:
                bits[n_distinct] = k ^ SIGN if k & SIGN else ~k
                n_distinct += 1
                n_tied = 0
            last = k
            y_key[i] = n_distinct - 1
        # Sum differences from a middle label, so that a common offset loses no digits.
        base = label[y_key[m // 2]] if m > 0 else 0.0
        f_key, rank, free_0, free_1 = sort_keys(f_key, y_key, free_1, free_0, histogram)

        # Go through ascending scores; the tree holds the labels seen, the highest one first.
        for k in range(n_distinct + 1):
            n_above[k], sum_above[k] = 0, 0.0
        n_tied, n_both, below = 0, 0, 0.0
        for i in range(m):
            r = np.int64(rank[i])
            if i > 0 and f_key[i] == f_key[i - 1]:
                n_tied += 1
                n_both = n_both + 1 if rank[i] == rank[i - 1] else 0
                below += n_tied * (label[r] - label[np.int64(rank[i - 1])])
                tied_f += n_tied
                tied_both += n_both
                sum_tied += below
            else:
                n_tied, n_both, below = 0, 0, 0.0
            value = label[r] - base
            n, total = 0, 0.0
            place = n_distinct - r - 1
            while place > 0:
                n += n_above[place]
                total += sum_above[place]
                place &= place - 1
            misordered += n
            sum_misordered += total - n * value
            place = n_distinct - r
            while place <= n_distinct:
                n_above[place] += 1
                sum_above[place] += value
                place += place & -place
        counts[q, 0], counts[q, 1] = tied_y, tied_f
        counts[q, 2], counts[q, 3] = tied_both, misordered
        sums[q, 0], sums[q, 1] = sum_misordered, sum_tied


@njit
def multiply_ranks(y, f, indptr, products):
    """``products[q]`` becomes (y·y, y·f, f·f) of the centred average ranks, doubled."""
    longest = _longest(indptr)
    key_0, key_1 = np.empty(longest, np.uint64), np.empty(longest, np.uint64)
    value_0, value_1 = np.empty(longest, np.uint64), np.empty(longest, np.uint64)
    histogram = np.empty((8, 256), np.int64)
    for q in range(len(indptr) - 1):
        start, m = indptr[q], indptr[q + 1] - indptr[q]
        write_keys(y, start, key_0[:m])
        write_keys(f, start, value_0[:m])
        key, other, free_0, free_1 = sort_keys(
            key_0[:m], value_0[:m], key_1[:m], value_1[:m], histogram
        )
        yy, yf, ff = 0.0, 0.0, 0.0
        begin = 0
        while begin < m:
            end = begin + 1
            while end < m and key[end] == key[begin]:
                end += 1
            rank = begin + end - m  # twice (mean position - middle)
            yy += (end - begin) * float(rank) ** 2
            for i in range(begin, end):
                key[i] = begin + end  # not negative, so it can be stored as an unsigned value
            begin = end
        key, other, free_0, free_1 = sort_keys(other, key, free_1, free_0, histogram)
        begin = 0
        while begin < m:
            total = 0.0
            end = begin
            while end < m and key[end] == key[begin]:
                total += np.int64(other[end]) - m
                end += 1
            rank = begin + end - m
            ff += (end - begin) * float(rank) ** 2
            yf += rank * total
            begin = end
        products[q, 0], products[q, 1], products[q, 2] = yy, yf, ff


@njit
def mean_absolute_gaps(x, indptr, out):
    """``out[q]`` becomes the mean of |x_i - x_j| over all m² ordered pairs of the query."""
    longest = _longest(indptr)
    key_0, key_1 = np.empty(longest, np.uint64), np.empty(longest, np.uint64)
    value_0, value_1 = np.empty(longest, np.uint64), np.empty(longest, np.uint64)
    histogram = np.empty((8, 256), np.int64)
    for q in range(len(indptr) - 1):
        start, m = indptr[q], indptr[q + 1] - indptr[q]
        write_keys(x, start, key_0[:m])
        for i in range(m):
            value_0[i] = i
        row = sort_keys(key_0[:m], value_0[:m], key_1[:m], value_1[:m], histogram)[1]
        # Each gap between neighbours counts in (i + 1)(m - i - 1) pairs; all terms are >= 0.
        total = 0.0
        for i in range(m - 1):
            gap = x[start + np.int64(row[i + 1])] - x[start + np.int64(row[i])]
            total += gap * ((i + 1) * (m - i - 1))
        out[q] = 2.0 * total / (float(m) * m) if m > 0 else 0.0


# Share of all weights above which a difference of votes is a majority: below it is rounding, whose
# sign depends on the order of the lists.
LEAST_LEAD = 1e-12


@njit
def sort_by_majority(order, indptr, ranks, weight):
    """Sort the rows of every query so that no row is beaten by its successor.

    A list votes for the row that it ranks higher, and for a row that it ranks against one that it
    does not contain. A list that contains neither row, or gives both one rank, does not vote. A row
    beats another when the weights of the votes for it are larger. O(m n log n) for a query of n
    rows and m lists.

    ``order`` (n_rows,), int64, holds the rows of each query and is sorted in place; neighbours in
    the initial order are merged first. ``ranks`` (n_rows, n_lists), float64, count from 1; 0 if the
    list does not contain the row. ``indptr`` is (n_queries + 1,) and ``weight`` (n_lists,),
    float64.
    """
    spare = np.empty_like(order)
    for q in range(len(indptr) - 1):
        start, end = indptr[q], indptr[q + 1]
        width = 1
        while width < end - start:
            for left in range(start, end, 2 * width):
                middle = min(left + width, end)
                stop = min(left + 2 * width, end)
                i, j = left, middle
                for k in range(left, stop):
                    if i < middle and (j >= stop or not _beats(ranks, weight, order[j], order[i])):
                        spare[k] = order[i]
                        i += 1
                    else:
                        spare[k] = order[j]
                        j += 1
            order[start:end] = spare[start:end]
            width *= 2


@njit
def _beats(ranks, weight, a, b):
    """Whether the votes for row ``a`` against row ``b`` outweigh those for ``b``."""
    lead, total = 0.0, 0.0
    for k in range(len(weight)):
        r, s = ranks[a, k], ranks[b, k]
        total += weight[k]
        if r > 0 and (s == 0 or r < s):
            lead += weight[k]
        elif s > 0 and (r == 0 or s < r):
            lead -= weight[k]
    return lead > LEAST_LEAD * total
