"""Gradients of pairs, weighted by the change of a measure if the two rows swap ranks [1]_.

For a row i with a higher label than row j, scores f and ``p = 1 / (1 + exp(f_i - f_j))``:

    gradient of i -p D_ij, of j p D_ij; second derivative of both p (1 - p) D_ij,

where D_ij is the absolute change of the measure caused by the swap, see
:mod:`rankwise.losses.measure_changes`.

References
----------
.. [1] C. Burges, "From RankNet to LambdaRank to LambdaMART: an overview", MSR-TR-2010-82, 2010.
.. [2] Gulin, Kuralenok and Pavlov, "Winning the transfer learning track of Yahoo!'s learning to
   rank challenge with YetiRank", JMLR W&CP 14, 2011.
.. [3] Lyzhin, Ustimenko, Gulin and Prokhorenkova, "Which tricks are important for learning to
   rank?", ICML 2023.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rankwise.kernels.lambda_gradients import measure_gradients, neighbour_gradients
from rankwise.losses.coded_values import CodedValues
from rankwise.losses.gradient_loss import CHUNK_ROWS, GradientLoss, JudgedRows
from rankwise.losses.measure_changes import changes_of, weigh_neighbours
from rankwise.metrics.measure import Measure
from rankwise.typing import Float64Array, Int64Array

N_DRAWS = 10


class LambdaGradients(GradientLoss):
    """Gradients at the scores of whole queries; stores the order of the rows between calls.

    For ``measure``, see :func:`rankwise.losses.measure_changes.changes_of`, for ``normalised``
    :func:`rankwise.kernels.lambda_gradients.measure_gradients`. The gradients do not depend on
    ``n_threads``. O(m k) for a query of m rows and the cut-off k, with one exponential per row.
    """

    def __init__(
        self, rows: JudgedRows, measure: Measure, normalised: bool, n_threads: int
    ) -> None:
        super().__init__(rows, n_threads)
        self._normalised = normalised
        self._changes = changes_of(measure, rows.y, rows.indptr, rows.weights())
        self.rows, self._gains = rows.without_labels(), CodedValues.of(self._changes.gains)
        self._changes = replace(self._changes, gains=np.empty(0))
        starts = np.repeat(rows.indptr[:-1], np.diff(rows.indptr))
        order = np.arange(len(rows.y)) - starts
        # Places within a query, in the fewest bytes.
        self._order = order.astype(np.min_scalar_type(order.max(initial=0)))

    def _targets(self) -> Float64Array:
        return self._gains[:]

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
        if len(scores) > CHUNK_ROWS:  # one query
            self._order[rows] = np.argsort(-scores, kind="stable")
        measure_gradients(
            scores, self._gains[rows], self.rows.weights(rows), indptr,
            changes.query_weight[slice(*queries)], changes.discounts, changes.kind,
            self._normalised, self._order[rows], gradients, hessians,
        )  # fmt: skip


class NeighbourGradients(GradientLoss):
    """Gradients of neighbours in noisy rankings (YetiRank [2]_, for any measure [3]_).

    For every tree, T = 10 rankings are drawn by sorting ``f_i + log(u_i / (1 - u_i))`` with random
    u_i in (0, 1). The loss is ``sum_q c_q sum_t sum_(i, j) D_ij log(1 + exp(f_j - f_i)) / T`` over
    rows i and j that are neighbours in ranking t, where i has the higher label. D_ij is the change
    of the measure if i and j swap ranks there, see
    :func:`rankwise.losses.measure_changes.changes_of`. With a ``decay`` in (0, 1) it is
    ``(1 - decay) decay^r |y_i - y_j|`` instead if i and j are at ranks r and r + 1 from 0, as in
    CatBoost, where ``decay`` is 0.85.

    Equal rows of a query share a draw, so that repeating a row is equivalent to weighting it.
    O(T m log m) for a query of m rows.
    """

    draws: bool = True

    def __init__(
        self, rows: JudgedRows, measure: Measure, decay: float | None, seed: int, n_threads: int
    ) -> None:
        super().__init__(rows, n_threads)
        judged = rows.y, rows.indptr, rows.weights()
        self._changes = (
            changes_of(measure, *judged) if decay is None else weigh_neighbours(decay, *judged)
        )
        self.rows, self._gains = rows.without_labels(), CodedValues.of(self._changes.gains)
        self._changes = replace(self._changes, gains=np.empty(0))
        self._seed, self._noise = seed, np.zeros((N_DRAWS, 0))

    def _begin(self, tree: int) -> None:
        # The 1 keeps these numbers apart from those that boosting draws from the seed and the tree.
        rng = np.random.default_rng([self._seed, tree, 1])
        self._noise = rng.logistic(size=(N_DRAWS, len(self._gains)))

    def _targets(self) -> Float64Array:
        return self._gains[:]

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
        neighbour_gradients(
            scores, self._gains[rows], self.rows.weights(rows), self._noise[:, rows], indptr,
            changes.query_weight[slice(*queries)], changes.discounts, changes.kind,
            gradients, hessians,
        )  # fmt: skip
