"""Newton steps for the hinge over pairs, through progressively sharper smooth hinges."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from rankwise.losses.listed_hinge import ListedHinge
from rankwise.losses.pairwise_hinge import PairwiseHinge
from rankwise.runtime.threads import single_threaded_blas
from rankwise.solvers.newton.score_newton import LinearRows, ScoreNewton, ScoreResult
from rankwise.typing import Float64Array

FIRST_BEND = 0.5  # of the margin (or the spread of the labels)
SHARPER = 0.2  # next bend
MOST_BENDS = 30


@dataclass(frozen=True)
class HingeNewton:
    """Solver of ``|w|^2 / 2 + C L(X w)`` for the hinge L of a :class:`PairwiseHinge`."""

    tol: float  # largest duality gap as a share of the objective
    max_iter: int  # Newton steps for each C

    def path(
        self, rows: LinearRows[PairwiseHinge | ListedHinge], Cs: Float64Array
    ) -> list[ScoreResult]:
        """Solve for every C; each fit starts from the solution for the next smaller C."""
        results: dict[int, ScoreResult] = {}
        w = np.zeros(rows.n_features)
        with single_threaded_blas():
            for index in np.argsort(Cs, kind="stable"):
                results[int(index)] = self._sharpen(rows, float(Cs[index]), w)
                w = results[int(index)].x
        return [results[index] for index in range(len(Cs))]

    def _sharpen(
        self, rows: LinearRows[PairwiseHinge | ListedHinge], C: float, w: Float64Array
    ) -> ScoreResult:
        """Minimise the hinge; its gap is at most the smooth hinge's gap plus their difference.

        Dual variables of the smooth hinge are feasible for the hinge and have a larger dual value
        there.
        """
        bend = FIRST_BEND * rows.loss.reach
        n_iter, n_bends = 0, 0
        best: ScoreResult | None = None
        while True:
            # Curvature 1 / (2 bend) gives the line beyond the bend the hinge's slope, 1.
            bent = rows.with_loss(replace(rows.loss, bend=bend, curvature=0.5 / bend))
            # Half of the tolerance is for the smooth problem, half for the smoothing.
            solved = ScoreNewton(0.5 * self.tol, self.max_iter - n_iter).solve(bent, C, w)
            w, n_iter, n_bends = solved.x, n_iter + solved.n_iter, n_bends + 1
            scores, parts = bent.scores(w), cast("Any", bent.parts)
            hinge = sum(state.hinge(scores[place]) for place, _, state in parts)
            value = 0.5 * float(w @ w) + C * hinge
            gap = value - solved.objective + solved.stop_value * solved.objective
            gap = max(gap, 0.0) / value if value > 0 else 0.0
            done = gap <= self.tol
            # Smoothing too sharp for float64 leads away from the minimum again.
            if best is None or done or value < best.objective:
                best = ScoreResult(w, n_iter, done, gap, solved.dual, value)
            if done or n_iter >= self.max_iter or n_bends == MOST_BENDS:
                return replace(best, n_iter=n_iter)
            bend *= SHARPER
