"""Gradients of pairs, each weighted by what nDCG loses when the two rows swap places [1]_.

For rows i above j in the labels, at scores f and with ``p = 1 / (1 + exp(f_i - f_j))``:

    gradient of i -p D_ij, of j p D_ij; second derivative of both p (1 - p) D_ij,
    D_ij = |gain_i - gain_j| |discount_i - discount_j| / ideal DCG.

References
----------
.. [1] C. Burges, "From RankNet to LambdaRank to LambdaMART: an overview", MSR-TR-2010-82, 2010.
"""

from __future__ import annotations

import numpy as np

from rankwise.kernels.lambda_gradients import ndcg_gradients
from rankwise.metrics.conventions import discounts, gain_table
from rankwise.metrics.ranking.ndcg import NDCG
from rankwise.runtime.threads import query_chunks, thread_map
from rankwise.typing import Float64Array, Int64Array

LARGEST_GRADE = 30  # of the exponential gain
CHUNK_ROWS = 4096


class LambdaGradients:
    """Gradients at the scores of whole queries, and the order that they leave the rows in.

    Parameters
    ----------
    measure : NDCG
        Its gain, discount and cut-off. Where its gain is exponential and the labels are no whole
        numbers from 0 to 30, the gain of a label is its distance from the smallest; so it is where
        the gain is linear and labels are negative.
    y : ndarray of shape (n_samples,), float64
        Labels, whole queries one after the other.
    indptr : ndarray of shape (n_queries + 1,), int64
    normalised : bool
        See :func:`rankwise.kernels.lambda_gradients.ndcg_gradients`.
    n_threads : int
        The same gradients for any number.
    """

    def __init__(
        self,
        measure: NDCG,
        y: Float64Array,
        indptr: Int64Array,
        normalised: bool,
        n_threads: int,
    ) -> None:
        self._indptr, self._normalised, self._n_threads = indptr, normalised, n_threads
        longest = int(np.diff(indptr).max(initial=1))
        depth = longest if measure.cutoff is None else min(measure.cutoff, longest)
        self._gains = gains_of(measure, y)
        self._discounts = discounts(measure.discount, depth)[:depth]
        self._inverse_ideal = _inverse_ideal(self._gains, indptr, self._discounts)
        self._order = (np.arange(len(y)) - np.repeat(indptr[:-1], np.diff(indptr))).astype(np.int32)
        self._chunks = query_chunks(indptr, CHUNK_ROWS)

    @property
    def has_pairs(self) -> bool:
        """Whether some query has rows of different gains."""
        starts = np.repeat(self._indptr[:-1], np.diff(self._indptr))
        return bool((self._gains != self._gains[starts]).any())

    def write(self, scores: Float64Array, gradients: Float64Array, hessians: Float64Array) -> None:
        """Write first and second derivatives at the scores.

        Notes
        -----
        O(m k) for a query of m rows and the cut-off k, one exponential a row.
        """

        def chunk(queries: tuple[int, int]) -> None:
            first, last = queries
            indptr = self._indptr[first : last + 1]
            rows = slice(int(indptr[0]), int(indptr[-1]))
            ndcg_gradients(
                scores[rows], self._gains[rows], indptr - indptr[0],
                self._inverse_ideal[first:last], self._discounts, self._normalised,
                self._order[rows], gradients[rows], hessians[rows],
            )  # fmt: skip

        thread_map(chunk, self._chunks, self._n_threads)


def gains_of(measure: NDCG, y: Float64Array) -> Float64Array:
    """Gain of every row under a measure, of labels without one the distance from the smallest."""
    if len(y) == 0:
        return y
    is_grade = bool((y >= 0).all() and (y % 1 == 0).all())
    if isinstance(measure.gain, tuple):
        table = gain_table(measure.gain, 0)
        if not is_grade or y.max() >= len(table):
            raise ValueError(
                f"y must hold whole grades from 0 to {len(table) - 1} for {measure}, got labels "
                f"from {y.min():g} to {y.max():g}. Give a gain per grade, or gain='linear'."
            )
        return table[y.astype(np.int64)]
    if measure.gain == "exp2" and is_grade and y.max() <= LARGEST_GRADE:
        return np.exp2(y) - 1.0
    y = y / (np.abs(y).max() or 1.0)  # the span of huge labels would overflow
    return y if measure.gain == "linear" and y.min() >= 0 else y - y.min()


def _inverse_ideal(gains: Float64Array, indptr: Int64Array, weights: Float64Array) -> Float64Array:
    """1 / ideal DCG of every query, 0 where it is 0."""
    codes = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    order = np.lexsort((-gains, codes))
    ranks = np.arange(len(gains)) - indptr[codes]
    discount = np.append(weights, 0.0)[np.minimum(ranks, len(weights))]
    ideal = np.bincount(codes, gains[order] * discount, len(indptr) - 1)
    return np.divide(1.0, ideal, out=np.zeros(len(ideal)), where=ideal > 0)
