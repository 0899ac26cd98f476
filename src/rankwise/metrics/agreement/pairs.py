"""Counts of the pairs of a query by label and score, for misranking and Kendall's τ."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankwise.typing import Float64Array, Int64Array


class PairCounts(NamedTuple):
    """Unordered pairs of each query, every array of shape (n_queries,)."""

    total: Int64Array  # all pairs
    tied_y: Int64Array  # with equal labels
    tied_f: Int64Array  # with equal scores
    tied_both: Int64Array  # with both equal
    misordered: Int64Array  # labels and scores differ in opposite directions
    misordered_gap: Float64Array  # sum of |y_i - y_j| over the misordered pairs
    tied_f_gap: Float64Array  # sum of |y_i - y_j| over the pairs with equal scores

    @property
    def ordered(self) -> Int64Array:
        """Number of pairs with different labels."""
        return self.total - self.tied_y

    @property
    def undecided(self) -> Int64Array:
        """Number of pairs with different labels and equal scores."""
        return self.tied_f - self.tied_both


def count_pairs(y: Float64Array, scores: Float64Array, indptr: Int64Array) -> PairCounts:
    """Count the pairs of every query; O(m log m) for a query of m rows.

    Labels and scores are (n_rows,), in group order, without NaN; indptr is (n_queries + 1,).
    """
    from rankwise.kernels.inversions import compare_pairs

    sizes = np.diff(indptr)
    counts = np.empty((len(sizes), 4), dtype=np.int64)
    gaps = np.empty((len(sizes), 2))
    compare_pairs(y, scores, indptr, counts, gaps)
    return PairCounts(sizes * (sizes - 1) // 2, *counts.T, *gaps.T)
