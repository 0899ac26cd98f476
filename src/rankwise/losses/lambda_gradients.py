"""Gradients of pairs, each weighted by what a measure loses when the two rows swap places [1]_.

For rows i above j in the labels, at scores f and with ``p = 1 / (1 + exp(f_i - f_j))``:

    gradient of i -p D_ij, of j p D_ij; second derivative of both p (1 - p) D_ij,

where D_ij is the absolute difference of the measure before and after the swap, as
:mod:`rankwise.losses.measure_changes` describes it.

References
----------
.. [1] C. Burges, "From RankNet to LambdaRank to LambdaMART: an overview", MSR-TR-2010-82, 2010.
"""

from __future__ import annotations

import numpy as np

from rankwise.kernels.lambda_gradients import measure_gradients
from rankwise.losses.measure_changes import changes_of
from rankwise.metrics.measure import Measure
from rankwise.runtime.threads import query_chunks, thread_map
from rankwise.typing import Float64Array, Int64Array

CHUNK_ROWS = 4096


class LambdaGradients:
    """Gradients at the scores of whole queries, and the order that they leave the rows in.

    Parameters
    ----------
    measure : Measure
        See :func:`rankwise.losses.measure_changes.changes_of`.
    y : ndarray of shape (n_samples,), float64
        Labels, whole queries one after the other.
    indptr : ndarray of shape (n_queries + 1,), int64
    normalised : bool
        See :func:`rankwise.kernels.lambda_gradients.measure_gradients`.
    n_threads : int
        The same gradients for any number.
    """

    def __init__(
        self,
        measure: Measure,
        y: Float64Array,
        indptr: Int64Array,
        normalised: bool,
        n_threads: int,
    ) -> None:
        self.indptr, self._normalised, self._n_threads = indptr, normalised, n_threads
        self._changes = changes_of(measure, y, indptr)
        self._order = (np.arange(len(y)) - np.repeat(indptr[:-1], np.diff(indptr))).astype(np.int32)
        self._chunks = query_chunks(indptr, CHUNK_ROWS)

    @property
    def has_pairs(self) -> bool:
        """Whether some query has rows of different gains."""
        starts = np.repeat(self.indptr[:-1], np.diff(self.indptr))
        gains = self._changes.gains
        return bool((gains != gains[starts]).any())

    def write(self, scores: Float64Array, gradients: Float64Array, hessians: Float64Array) -> None:
        """Write first and second derivatives at the scores.

        Notes
        -----
        O(m k) for a query of m rows and the cut-off k, one exponential a row.
        """
        changes = self._changes

        def chunk(queries: tuple[int, int]) -> None:
            first, last = queries
            indptr = self.indptr[first : last + 1]
            rows = slice(int(indptr[0]), int(indptr[-1]))
            measure_gradients(
                scores[rows], changes.gains[rows], indptr - indptr[0],
                changes.query_weight[first:last], changes.discounts, changes.kind,
                self._normalised, self._order[rows], gradients[rows], hessians[rows],
            )  # fmt: skip

        thread_map(chunk, self._chunks, self._n_threads)
