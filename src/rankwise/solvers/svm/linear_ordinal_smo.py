"""Ordinal support vector machines with a linear kernel, robust to columns of different scale.

If one column is a thousand times as wide as the others, SMO needs 10^7 or more steps. If SMO has
not converged after a moderate number of steps, Newton steps solve a nearby problem. It treats the
intercept as the weight of a constant column, so large that its penalty is negligible. SMO then
continues from this point and needs few further steps, if any.

Composition: kernel rows x SMO, from the dual point of proximal Newton steps on the columns.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from rankwise.losses.threshold_hinge import ThresholdHinge
from rankwise.solvers.solve_result import SolveResult
from rankwise.solvers.svm.kernel_rows import KernelRows
from rankwise.solvers.svm.ordinal_smo import OrdinalSMO, OrdinalSolution
from rankwise.solvers.svm.power_rows import PowerRows
from rankwise.solvers.svm.threshold_solver import MOST_COLUMNS, ThresholdSolver
from rankwise.typing import Float64Array, Int64Array, Matrix, is_sparse

# SMO steps before Newton steps are tried: in total, or per variable if that is more.
PATIENCE, PATIENCE_EACH = 10**5, 20
# Value of the constant column: the penalty of an intercept b is b^2 / (2 CONSTANT^2).
CONSTANT = 1e5
NEWTON_TOL, NEWTON_STEPS = 1e-8, 200


@dataclass(frozen=True, eq=False)
class LinearOrdinalSMO:
    """Solver like :class:`OrdinalSMO` for kernels that are inner products of the rows of X."""

    smo: OrdinalSMO
    X: Matrix

    @property
    def intercept(self) -> bool:
        """Whether the model has an intercept."""
        return self.smo.intercept

    def solve(
        self,
        kernel: KernelRows,
        classes: Int64Array,
        upper: Float64Array,
        start: OrdinalSolution | None = None,
        scale: float = 1.0,
    ) -> SolveResult[OrdinalSolution]:
        """The optimum for rows of given classes, see :meth:`OrdinalSMO.solve`."""
        most = self.smo.most_steps(upper)
        patience = min(most, max(PATIENCE, PATIENCE_EACH * upper.size))
        # A Newton step solves a system of the columns: too large, so SMO goes on by itself.
        if self.X.shape[1] >= MOST_COLUMNS:
            patience = most
        first = replace(self.smo, max_iter=patience).solve(kernel, classes, upper, start, scale)
        if first.converged or patience == most:
            return first
        near = first.x
        with suppress(ArithmeticError, ValueError):  # columns whose squares lose all precision
            # The better of two feasible points; Newton's may be worse after it is balanced.
            near = min(near, self._near(classes, upper), key=lambda point: point.dual_objective)
        rest = replace(self.smo, max_iter=most - patience).solve(kernel, classes, upper, near)
        return replace(rest, n_iter=patience + rest.n_iter)

    def _near(self, classes: Int64Array, upper: Float64Array) -> OrdinalSolution:
        """A feasible point near the optimum."""
        part = np.flatnonzero((upper > 0).any(axis=1))
        loss = ThresholdHinge(classes[part], upper[part], squared=False)
        newton = ThresholdSolver("auto", NEWTON_TOL, NEWTON_STEPS)
        rows = PowerRows(self._columns(), 1, rows=part)
        alpha = newton.path(loss, rows, np.ones(1))[0].alpha
        if self.intercept:
            alpha = _balance(alpha, loss)
        coef = np.zeros(len(classes))
        coef[part], theta = loss.signed(alpha)
        every = np.zeros(upper.shape)
        every[part] = alpha
        scores = np.asarray(self.X @ (self.X.T @ coef))
        dual = 0.5 * float(coef @ scores + theta @ theta) - float(alpha.sum())
        return OrdinalSolution(every, coef, scores, theta, 0.0, dual, np.inf)

    def _columns(self) -> Matrix:
        if not self.intercept:
            return self.X
        constant = np.full((self.X.shape[0], 1), CONSTANT)
        if is_sparse(self.X):
            return sparse.csr_array(sparse.hstack([self.X, constant]))
        return np.hstack([self.X, constant])


def _balance(alpha: Float64Array, loss: ThresholdHinge) -> Float64Array:
    """Dual values within their bounds whose signed sum is zero, next to others."""
    excess = float(loss.signed(alpha)[0].sum())
    if not excess:
        return alpha
    above = np.arange(alpha.shape[1]) < loss.codes[:, None]
    falling = above == (excess > 0)
    room = np.minimum(alpha, loss.weight - alpha)  # moves no value to or from a bound
    if room.sum() <= abs(excess):
        room = np.where(falling, alpha, loss.weight - alpha)
    step = room * (abs(excess) / room.sum())
    return np.where(falling, alpha - step, alpha + step)
