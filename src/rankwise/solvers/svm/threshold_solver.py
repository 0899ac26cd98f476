"""Linear scores with thresholds along C: coordinate descent, then Newton steps if it stalls.

Each C starts from the previous dual values times the ratio of the two C, so values at their bounds
stay there. For the same reason, a large C is approached through smaller ones, which takes fewer
passes than a cold start. If descent still stalls, Newton steps take over.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from rankwise.losses.threshold_hinge import ThresholdHinge
from rankwise.solvers.svm.power_rows import PowerRows
from rankwise.solvers.svm.threshold_descent import ThresholdDescent, ThresholdSolution, solution_of
from rankwise.solvers.svm.threshold_newton import ThresholdNewton
from rankwise.typing import Float64Array

Steps = Literal["auto", "descent", "newton"]
STEPS = ("auto", "descent", "newton")
# "auto" switches to Newton steps after this many passes, if there are at most this many columns.
PATIENCE, MOST_COLUMNS = 30, 2000
# C grows by at most this factor between descents; only the last one runs to full precision.
FACTOR, COARSE = 5.0, 1e-3


@dataclass(frozen=True)
class ThresholdSolver:
    """Solutions for ascending values of C."""

    steps: str  # "auto", "descent" or "newton"
    tol: float  # duality gap to reach, as a share of the objective
    # Maximum passes of descent, and of Newton steps, for each C including intermediate ones.
    max_iter: int

    def path(
        self, loss: ThresholdHinge, rows: PowerRows, grid: Float64Array
    ) -> list[ThresholdSolution]:
        """Solutions for every C of the grid, which multiplies the loss."""
        solution = solution_of(loss, rows, np.zeros(loss.weight.shape), 0, self.tol)
        largest = float(loss.weight.max(initial=0.0))
        if largest == 0.0:
            return [solution] * len(grid)
        # Below this C a first pass takes values to their bounds.
        last, solutions = 1.0 / (largest * (1.0 + float(rows.norms.mean()))), []
        for C in grid.tolist():
            solution = self._approach(loss, rows, C, last, solution)
            last = C
            solutions.append(solution)
        return solutions

    def _approach(
        self, loss: ThresholdHinge, rows: PowerRows, C: float, last: float, start: ThresholdSolution
    ) -> ThresholdSolution:
        """Solution for C, starting from the solution for ``last`` or from scratch."""
        may_step = self.steps == "auto" and rows.n_columns <= MOST_COLUMNS
        n_iter, at = 0, last
        if self.steps != "newton":
            n_more = max(0, int(np.ceil(np.log(C / last) / np.log(FACTOR))) - 1)
            most = min(PATIENCE, self.max_iter) if may_step else self.max_iter
            # Through smaller C, each within FACTOR of the next.
            for here in [*(C / FACTOR**step for step in range(n_more, 0, -1)), C]:
                descent = ThresholdDescent(self.tol if here == C else max(self.tol, COARSE), most)
                start = descent.solve(loss.scaled(here), rows, start.alpha * (here / at))
                n_iter, at = n_iter + start.n_iter, here
                if may_step and not start.converged:
                    break
            if start.converged or not may_step:
                return replace(start, n_iter=n_iter)
        # Feasible for C: bounds scale with it.
        start = replace(start, alpha=start.alpha * (C / at))
        start = ThresholdNewton(self.tol, self.max_iter).solve(loss.scaled(C), rows, start)
        return replace(start, n_iter=n_iter + start.n_iter)
