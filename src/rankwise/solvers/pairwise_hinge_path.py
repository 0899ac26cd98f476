"""RankSVM's two problems: squared hinges by Newton steps, hinges by ever sharper bends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rankwise._threads import single_threaded_blas
from rankwise.losses.laplacian import QueryWeight
from rankwise.losses.pair_weights import PairWeight, pair_table, query_scale
from rankwise.losses.pairwise_hinge import PairwiseHinge
from rankwise.solvers.score_newton import LinearRows, ScoreNewton, ScoreResult
from rankwise.typing import Float64Array, Int64Array

FIRST_BEND = 0.5  # of the margin (or the spread of the labels)
SHARPER = 0.2  # next bend
MOST_BENDS = 30


@dataclass(frozen=True)
class HingeProblem:
    """Pairs of distinct grades and the hinge of their score difference.

    Attributes
    ----------
    squared : bool
        Squared hinge, or the hinge itself.
    pair_weight : see :func:`rankwise.losses.pair_weights.pair_table`
    by_difference : bool
        Whether the margin of a pair is the difference of its labels, or 1.
    query_weight : {"pair", "document", "query"}
    tol, max_iter
        As in :class:`ScoreNewton`; for the hinge ``tol`` is the duality gap's share.
    """

    squared: bool
    pair_weight: PairWeight
    by_difference: bool
    query_weight: QueryWeight
    tol: float
    max_iter: int

    def loss(self, indptr: Int64Array, y: Float64Array, weight: Float64Array) -> PairwiseHinge:
        """The loss of whole queries; squared, or with the first bend."""
        grades, codes = np.unique(y, return_inverse=True)
        scale = query_scale(indptr, weight, self.query_weight)
        loss = PairwiseHinge(
            indptr,
            codes.astype(np.int64),
            weight,
            scale,
            pair_table(self.pair_weight, grades),
            y if self.by_difference else np.zeros(len(y)),
            0.0 if self.by_difference else 1.0,
        )
        if self.squared:
            return loss
        reach = float(np.ptp(grades)) if self.by_difference and len(grades) else 1.0
        return _bent(loss, FIRST_BEND * (reach or 1.0))

    def path(
        self,
        loss: PairwiseHinge,
        rows: LinearRows,
        queries: Sequence[tuple[int, int]],
        Cs: Float64Array,
    ) -> list[ScoreResult]:
        """Solutions for every C, each from that of the next smaller one."""
        newton = ScoreNewton(self.tol, self.max_iter)
        if self.squared:
            return newton.path(rows, Cs)
        results: dict[int, ScoreResult] = {}
        w = np.zeros(rows.n_features)
        with single_threaded_blas():
            for index in np.argsort(Cs, kind="stable"):
                results[int(index)] = self._sharpen(loss, rows, queries, float(Cs[index]), w)
                w = results[int(index)].x
        return [results[index] for index in range(len(Cs))]

    def _sharpen(
        self,
        loss: PairwiseHinge,
        rows: LinearRows,
        queries: Sequence[tuple[int, int]],
        C: float,
        w: Float64Array,
    ) -> ScoreResult:
        """The hinge's minimum: its value above the bent one's, and that one's gap, bound the gap.

        The dual variables of the bent hinge are some of the hinge, whose dual value is larger.
        """
        history: list[float] = []
        n_iter = 0
        while True:
            bent = rows.with_losses([loss.part(a, b) for a, b in queries])
            # Half of the tolerance for the bent problem, half for the bend.
            solved = ScoreNewton(0.5 * self.tol, self.max_iter - n_iter).solve(bent, C, w)
            w, n_iter = solved.x, n_iter + solved.n_iter
            scores = bent.scores(w)
            value = 0.5 * float(w @ w) + C * sum(
                loss.part(a, b).hinge(scores[lo:hi])
                for (a, b), (lo, hi) in zip(queries, rows.bounds, strict=True)
            )
            gap = value - solved.objective + solved.stop_value * solved.objective
            history.append(max(gap, 0.0) / value if value > 0 else 0.0)
            done = history[-1] <= self.tol
            if done or n_iter >= self.max_iter or len(history) == MOST_BENDS:
                return ScoreResult(w, n_iter, done, history[-1], history, solved.dual, value)
            loss = _bent(loss, SHARPER * loss.bend)


def _bent(loss: PairwiseHinge, bend: float) -> PairwiseHinge:
    return replace(loss, bend=bend, curvature=0.5 / bend)
