"""Cross entropy that bounds nDCG (XE-nDCG) [1]_, for gradient boosting.

``sum_q c_q sum_i -t_i log p_i`` with ``p_i = w_i exp(f_i) / sum_j w_j exp(f_j)`` and
``t_i = w_i (g_i + 1 - u_i) / sum_j w_j (g_j + 1 - u_j)`` over the rows of a query. Here g is the
gain of nDCG, 2**y - 1, and u is drawn from [0, 1) for every row and tree.

References
----------
.. [1] S. Bruch, "An alternative cross entropy loss for learning-to-rank", WWW 2021.
"""

from __future__ import annotations

import numpy as np

from rankwise.kernels.boosted_objectives import cross_entropy
from rankwise.losses.gradient_loss import GradientLoss, JudgedRows
from rankwise.losses.measure_changes import gains_of
from rankwise.metrics.ranking.ndcg import DCG, NDCG
from rankwise.typing import Float64Array, Int64Array


class CrossEntropyGradients(GradientLoss):
    """Cross entropy with targets drawn anew for every tree; O(m) for m rows of a query.

    ``measure`` supplies the gains. Equal rows of a query share a draw, so that repeating a row is
    equivalent to weighting it.
    """

    draws: bool = True

    def __init__(self, rows: JudgedRows, measure: NDCG | DCG, seed: int, n_threads: int) -> None:
        super().__init__(rows, n_threads)
        self._gains, self._seed = gains_of(measure, rows.y), seed
        self._codes = rows.query_codes()
        # A query of equal gains has nothing to order; the noise in its targets would only be
        # followed.
        differs = self._gains != self._gains[rows.indptr[self._codes]]
        self._counts = np.bincount(self._codes, differs, rows.n_queries) > 0
        self._aims = np.zeros(len(rows.y))

    def _targets(self) -> Float64Array:
        return self._gains

    def _begin(self, tree: int) -> None:
        # The 1 keeps these numbers apart from those that boosting draws from the seed and the tree.
        draws = np.random.default_rng([self._seed, tree, 1]).random(len(self._gains))
        aims = self.rows.weights() * (self._gains + 1.0 - draws)
        totals = np.bincount(self._codes, aims, self.rows.n_queries)
        self._aims = np.where(self._counts[self._codes], aims / totals[self._codes], 0.0)

    def _write(
        self,
        queries: tuple[int, int],
        rows: slice,
        indptr: Int64Array,
        scores: Float64Array,
        gradients: Float64Array,
        hessians: Float64Array,
    ) -> None:
        weight = self.rows.weights(rows)
        cross_entropy(scores, self._aims[rows], weight, indptr, gradients, hessians)
