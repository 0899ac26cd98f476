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
from rankwise.losses.gradient_loss import GradientLoss, JudgedRows
from rankwise.losses.measure_changes import changes_of
from rankwise.metrics.measure import Measure
from rankwise.typing import Float64Array, Int64Array


class LambdaGradients(GradientLoss):
    """Gradients at the scores of whole queries; keeps the order that they leave the rows in.

    Parameters
    ----------
    rows : JudgedRows
    measure : Measure
        See :func:`rankwise.losses.measure_changes.changes_of`.
    normalised : bool
        See :func:`rankwise.kernels.lambda_gradients.measure_gradients`.
    n_threads : int
        The same gradients for any number.

    Notes
    -----
    O(m k) for a query of m rows and the cut-off k, one exponential a row.
    """

    def __init__(
        self, rows: JudgedRows, measure: Measure, normalised: bool, n_threads: int
    ) -> None:
        super().__init__(rows, n_threads)
        self._normalised = normalised
        self._changes = changes_of(measure, rows.y, rows.indptr, rows.weight)
        starts = np.repeat(rows.indptr[:-1], np.diff(rows.indptr))
        self._order = (np.arange(len(rows.y)) - starts).astype(np.int32)

    def _targets(self) -> Float64Array:
        return self._changes.gains

    def _write(
        self,
        queries: tuple[int, int],
        rows: slice,
        indptr: Int64Array,
        scores: Float64Array,
        gradients: Float64Array,
        hessians: Float64Array,
    ) -> None:
        changes = self._changes
        measure_gradients(
            scores, changes.gains[rows], self.rows.weight[rows], indptr,
            changes.query_weight[slice(*queries)], changes.discounts, changes.kind,
            self._normalised, self._order[rows], gradients, hessians,
        )  # fmt: skip
