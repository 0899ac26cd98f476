"""Sequential minimal optimisation of the dual of ordinal support vector machines.

Minimises ``(1/2) (gamma' K gamma + theta' theta) - sum alpha`` over ``0 <= alpha <= upper`` with
``gamma_n = sum_k alpha_nk s_nk`` and ``theta_k = sum_n alpha_nk s_nk``; with an intercept also
``sum alpha s = 0``. Its steps are in :mod:`rankwise.kernels.ordinal_smo`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.kernels.ordinal_smo import (
    CONVERGED,
    ROW_MISSING,
    fill_tables,
    new_tables,
    pair_steps,
    place_rows,
    row_steps,
)
from rankwise.solvers.solve_result import SolveResult
from rankwise.solvers.svm.kernel_rows import KernelRows
from rankwise.typing import Float64Array, Int64Array

# Number of steps between checks of which rows still matter.
SHRINK_STEPS = 1000
# Rows are left out once no more than this share of the active ones matters.
KEEP_SHARE = 0.9
# Distance within which a scaled variable counts as at its bound.
AT_BOUND = 1.0 - 1e-12
# LIBSVM's limit, used if none is given: 10^7 steps, or 100 for each variable.
MOST_STEPS, MOST_STEPS_EACH = 10**7, 100


@dataclass(frozen=True, eq=False)
class OrdinalSolution:
    """A dual point and the primal solution that follows from it."""

    alpha: Float64Array  # (n_samples, n_thresholds)
    coef: Float64Array  # (n_samples,): gamma
    scores: Float64Array  # (n_samples,): K gamma
    theta: Float64Array  # (n_thresholds,)
    # Added to the scores, 0 without one; classes change where scores + intercept reaches -theta.
    intercept: float
    dual_objective: float  # minimised form, <= 0
    # Half the squared norm of scores and thresholds plus the hinge losses, weighed by `upper`
    objective: float

    @property
    def gap(self) -> float:
        """Duality gap as a share of the objective."""
        gap = self.objective + self.dual_objective
        return max(gap, 0.0) / self.objective if self.objective > 0 else 0.0


@dataclass(frozen=True)
class OrdinalSMO:
    """SMO with working sets of two variables (with an intercept) or of one row (without).

    Rows that take part in no violating pair are left out ("shrinking"); before the solver ends,
    their scores are computed and all rows are checked again.
    """

    # Largest violation of the optimality conditions: how far a variable that can rise is above one
    # that can fall (with an intercept), or a margin is off (without).
    tol: float = 1e-3
    intercept: bool = True
    max_iter: int | None = None  # steps; None: LIBSVM's limit

    def solve(
        self,
        kernel: KernelRows,
        classes: Int64Array,
        upper: Float64Array,
        start: OrdinalSolution | None = None,
        scale: float = 1.0,
    ) -> SolveResult[OrdinalSolution]:
        """The optimum for rows of given classes; ``stop_value`` is the violation.

        ``upper``, (n_samples, n_thresholds), holds bounds >= 0; rows without any positive one take
        no part, and their scores in the solution are 0. ``start`` is multiplied by ``scale``; the
        product must be within the bounds.
        """
        rows = _ActiveRows(kernel, classes, upper, start, scale)
        steps = pair_steps if self.intercept else row_steps
        limit = self.most_steps(upper)
        n_iter, top, low = 0, 0.0, 0.0
        converged = not len(rows.taking_part)
        # The steps return for every row that the cache lacks, and to have rows shrunk.
        while not converged and n_iter < limit:
            more = min(SHRINK_STEPS, limit - n_iter)
            status, row, n_steps, top, low = steps(
                rows.cache, rows.fixed, rows.state, self.tol, more
            )
            n_iter += n_steps
            if status == ROW_MISSING:
                kernel.load(row)
            elif status == CONVERGED:
                # Optimal among the active rows only: scores of the others are stale, so check them
                # again.
                converged = rows.all_active
                rows.activate_all()
            else:
                rows.shrink(top, low)
        rows.activate_all()
        solution, violation = self._solution(rows)
        return SolveResult(solution, n_iter, converged, violation)

    def most_steps(self, upper: Float64Array) -> int:
        """Maximum number of steps for a problem with these bounds."""
        return self.max_iter or max(MOST_STEPS, MOST_STEPS_EACH * upper.size)

    def _solution(self, rows: _ActiveRows) -> tuple[OrdinalSolution, float]:
        """Solution at the dual point, and its distance from the optimum."""
        part, alpha, upper = rows.taking_part, rows.alpha[rows.taking_part], rows.upper
        upper = upper[part]
        # From the dual values alone: sums kept by the steps have gathered rounding errors.
        signed = rows.alpha * rows.signs
        coef, theta, signs = signed.sum(axis=1), signed.sum(axis=0), rows.signs[part]
        wanted = signs - theta - rows.scores[part, None]
        can_rise = np.where(signs > 0, alpha < upper, alpha > 0)
        can_fall = np.where(signs > 0, alpha > 0, alpha < upper)
        top, low = (
            float(wanted[can_rise].max(initial=-np.inf)),
            float(wanted[can_fall].min(initial=np.inf)),
        )
        if self.intercept:
            free = wanted[(alpha > 0) & (alpha < upper)]
            intercept, violation = _middle(free, top, low), max(top - low, 0.0)
        else:
            intercept, violation = 0.0, max(top, -low, 0.0)
        half_norm = 0.5 * float(coef @ rows.scores + theta @ theta)
        # signs * wanted is 1 - s (f + theta), the hinge of the margin without the intercept.
        losses = np.maximum(signs * (wanted - intercept), 0.0)
        solution = OrdinalSolution(
            rows.alpha,
            coef,
            rows.scores,
            theta,
            intercept,
            half_norm - float(alpha.sum()),
            half_norm + float((upper * losses).sum()),
        )
        return solution, violation


def _middle(free: Float64Array, top: float, low: float) -> float:
    """LIBSVM's choice: mean over free variables, or else middle of the feasible interval."""
    if len(free):
        return float(free.mean())
    ends = [end for end in (top, low) if np.isfinite(end)]
    return float(np.mean(ends)) if ends else 0.0


class _ActiveRows:
    """The dual point with its active rows, stored compactly for the steps."""

    def __init__(
        self,
        kernel: KernelRows,
        classes: Int64Array,
        upper: Float64Array,
        start: OrdinalSolution | None,
        scale: float,
    ) -> None:
        self.kernel, self.classes, self.upper = kernel, classes, upper
        self.signs = np.where(np.arange(upper.shape[1]) < classes[:, None], 1.0, -1.0)
        self.taking_part = np.flatnonzero((upper > 0).any(axis=1))
        if start is None:
            self.alpha = np.zeros(upper.shape)
            self.scores = np.zeros(len(classes))
            self.theta = np.zeros(upper.shape[1])
        else:
            # The problem for C' = scale C has bounds scaled alike, and values at bounds stay there.
            alpha = scale * start.alpha
            self.alpha = np.where(alpha >= AT_BOUND * upper, upper, alpha)
            self.scores, self.theta = scale * start.scores, scale * start.theta
        self.cache = (kernel.values, kernel.slots, kernel.used)
        self._take(self.taking_part)

    @property
    def all_active(self) -> bool:
        return len(self.active) == len(self.taking_part)

    def shrink(self, top: float, low: float) -> None:
        """Leave out rows that cannot rise above ``low`` nor fall below ``top``."""
        _, _, f, theta, order, rising, falling = self.state
        tables = new_tables(len(theta))
        fill_tables(theta, order, tables)
        # A row matters if it can form a violating pair with some other row.
        kept = (tables[0][rising] - f >= low) | (tables[2][falling] - f <= top)
        # Copying the active rows pays off only if many leave.
        if kept.mean() < KEEP_SHARE:
            self._put_back()
            self._take(self.active[kept])

    def activate_all(self) -> None:
        """Compute the scores of the rows that were left out, and activate all rows."""
        self._put_back()
        if self.all_active:
            return
        left = np.setdiff1d(self.taking_part, self.active, assume_unique=True)
        coef = (self.alpha * self.signs).sum(axis=1)
        # Steps update scores of active rows only.
        self.scores[left] = self.kernel.products(left, coef)
        self._take(self.taking_part)

    def _take(self, active: Int64Array) -> None:
        self.active = active
        n_active, n_thresholds = len(active), self.upper.shape[1]
        self.fixed: Any = (
            active.astype(np.int32),
            self.kernel.diagonal[active],
            self.classes[active],
        )
        self.state: Any = (
            self.alpha[active],
            self.upper[active],
            self.scores[active],
            self.theta,
            np.arange(n_thresholds),
            np.empty(n_active, dtype=np.int32),
            np.empty(n_active, dtype=np.int32),
        )
        place_rows(self.fixed[2], self.state)

    def _put_back(self) -> None:
        self.alpha[self.active] = self.state[0]
        self.scores[self.active] = self.state[2]
