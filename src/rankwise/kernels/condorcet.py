"""Order of documents by majority vote of several ranked lists.

Majority votes are not transitive, so the result depends on the sorting algorithm. Merge sort is
stable, and any two neighbours of its result were compared directly or keep their initial order.
"""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import njit

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
