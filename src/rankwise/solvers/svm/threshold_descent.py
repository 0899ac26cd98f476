"""Linear scores with thresholds by dual coordinate descent.

Minimises ``(|w|^2 + |theta|^2) / 2 + sum_nk w_nk hinge(s_nk (w.z_n + theta_k))``: this is a linear
SVM without bias on K - 1 implicit rows ``(z_n, e_k)`` per row [1]_. Its dual is

    maximise  sum alpha - (|w|^2 + |theta|^2) / 2,   w = sum_n (sum_k s alpha) z_n,
                                                     theta_k = sum_n s_nk alpha_nk.

Rows are visited in random order, and all dual values of a row are solved at once [2]_. Rows with
values held at bounds are left out until the others have converged. Each visit yields the row's
share of the duality gap; their sum decides when to compute the exact gap.

Complexity: a pass is O(N (D + K^2)) for D columns, 4 N D operations.

References
----------
.. [1] Li & Lin, "Ordinal regression by extended binary classification", NIPS 19 (2007).
.. [2] Hsieh, Chang, Lin, Keerthi & Sundararajan, "A dual coordinate descent method for large-scale
   linear SVM", ICML 25 (2008).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.losses.threshold_hinge import ThresholdHinge
from rankwise.solvers.solve_result import SolveResult
from rankwise.solvers.svm.power_rows import PowerRows
from rankwise.typing import Float64Array

_SEED = 0  # the order of the visits is part of the method


@dataclass(frozen=True)
class ThresholdSolution(SolveResult[Float64Array]):
    """Weights ``x``, (n_columns,), with thresholds and dual values.

    ``stop_value`` is the gap divided by the objective.
    """

    theta: Float64Array  # (n_classes - 1,)
    alpha: Float64Array  # (n_samples, n_classes - 1)
    objective: float  # of the primal
    gap: float  # distance of the primal objective above the dual one


def solution_of(
    loss: ThresholdHinge, rows: PowerRows, alpha: Float64Array, n_iter: int, tol: float
) -> ThresholdSolution:
    """Solution for given dual values, with its duality gap; two passes over the rows."""
    signed, theta = loss.signed(alpha)
    w = rows.transposed(signed)
    norm = 0.5 * float(w @ w + theta @ theta)
    objective = norm + loss.value(rows.scores(w), theta)
    gap = objective + norm - loss.dual_sum(alpha)
    share = gap / objective if objective > 0 else 0.0
    return ThresholdSolution(w, n_iter, share <= tol, share, theta, alpha, objective, gap)


@dataclass(frozen=True)
class ThresholdDescent:
    """Dual coordinate descent."""

    tol: float  # duality gap to reach, as a share of the objective
    max_iter: int  # passes over the rows

    def solve(
        self, loss: ThresholdHinge, rows: PowerRows, alpha: Float64Array
    ) -> ThresholdSolution:
        """Solution from the dual values ``alpha`` (n_samples, n_classes - 1), within bounds."""
        alpha = alpha.copy()
        signed, theta = loss.signed(alpha)
        table = rows.table(rows.transposed(signed))
        order, n_left, slack = np.arange(rows.n_samples), rows.n_samples, np.inf
        random = np.random.RandomState(_SEED)
        for n_iter in range(1, self.max_iter + 1):
            part = order[:n_left]
            random.shuffle(part)
            n_left, gap, violation = rows.descend(
                part, loss.codes, loss.weight, (table, theta, alpha), loss.squared, slack
            )
            # The next pass shrinks rows beyond this pass's largest violation, as in [2].
            slack = violation if violation > 0 else np.inf
            norm = 0.5 * float(np.vdot(table, table) + theta @ theta)
            # The gap gathered during the pass is from changing weights and of the rows visited: a
            # hint only. The dual objective plus the gap estimates the primal one.
            if gap <= self.tol * (loss.dual_sum(alpha) - norm + gap):
                solution = solution_of(loss, rows, alpha, n_iter, self.tol)
                if solution.converged:
                    return solution
                # The hint was wrong: all rows take part again.
                n_left, slack = rows.n_samples, np.inf
        return solution_of(loss, rows, alpha, self.max_iter, self.tol)
