"""Losses of the pairs of a query, for gradient boosting.

With row weights w and query weights c_q, see :class:`rankwise.losses.gradient_loss.JudgedRows`, the
losses are

    logistic: ``sum_q c_q sum_{y_i > y_j} w_i w_j log(1 + exp(f_j - f_i))`` [1]_;
    squared: ``sum_q c_q sum_{i < j} w_i w_j ((y_i - y_j) - (f_i - f_j))^2 / 2``, the loss of
    LSRRank and of PairwiseELM: the quadratic form of the Laplacian of the query's graph [2]_.

References
----------
.. [1] Burges et al., "Learning to rank using gradient descent", ICML 2005.
.. [2] Pahikkala et al., "An efficient algorithm for learning to rank from preference graphs",
   Machine Learning 75, 2009.
"""

from __future__ import annotations

import numpy as np

from rankwise.kernels.boosted_objectives import differentiate_squared_pairs, logistic_pairs
from rankwise.losses.gradient_loss import GradientLoss, JudgedRows
from rankwise.typing import Float64Array, Int64Array

# Squares of 1e200 leave room for their sums over any number of pairs.
LARGEST_LABEL = 1e100


class LogisticGradients(GradientLoss):
    """Logistic loss of the pairs of different labels; O(m^2) for m rows of a query."""

    def __init__(self, rows: JudgedRows, n_threads: int) -> None:
        super().__init__(rows, n_threads)
        order = np.lexsort((rows.y, rows.query_codes()))
        starts = np.repeat(rows.indptr[:-1], np.diff(rows.indptr))
        self._order = (order - starts).astype(np.int32)

    def _write(
        self,
        queries: tuple[int, int],
        rows: slice,
        indptr: Int64Array,
        scores: Float64Array,
        gradients: Float64Array,
        hessians: Float64Array,
    ) -> None:
        logistic_pairs(
            scores, self.rows.y[rows], self.rows.weights(rows), self._order[rows], indptr,
            gradients, hessians,
        )  # fmt: skip


class SquaredGradients(GradientLoss):
    """Squared loss of all pairs; O(m) for m rows of a query.

    Raises ValueError if labels are so large that their squares overflow.
    """

    def __init__(self, rows: JudgedRows, n_threads: int) -> None:
        super().__init__(rows, n_threads)
        largest = np.abs(rows.y).max(initial=0)
        if largest > LARGEST_LABEL:
            raise ValueError(
                f"y must lie within +-{LARGEST_LABEL:g} for objective='squared', got a label of "
                f"size {largest:g}. Scale the labels."
            )

    def _write(
        self,
        queries: tuple[int, int],
        rows: slice,
        indptr: Int64Array,
        scores: Float64Array,
        gradients: Float64Array,
        hessians: Float64Array,
    ) -> None:
        differentiate_squared_pairs(
            scores, self.rows.y[rows], self.rows.weights(rows), indptr, gradients, hessians
        )
