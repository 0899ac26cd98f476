"""Sequential minimal optimisation of the dual of ordinal support vector machines.

Minimises ``(1/2) (gamma' K gamma + theta' theta) - sum alpha`` over ``0 <= alpha <= upper`` with
``gamma_n = sum_k alpha_nk s_nk`` and ``theta_k = sum_n alpha_nk s_nk``; with an intercept also
``sum alpha s = 0``. Its steps are in :mod:`rankwise.kernels.ordinal_smo`. They read rows of the
kernel matrix within a memory limit: the whole matrix, or a cache of recent rows.

A linear kernel needs help with columns of different scale. If one column is a thousand times as
wide as the others, SMO needs 10^7 or more steps. If SMO has not converged after a moderate number
of steps, Newton steps solve a nearby problem. It treats the intercept as the weight of a constant
column, so large that its penalty is negligible. SMO then continues from this point and needs few
further steps, if any.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.features.kernels import Kernel, check_symmetric
from rankwise.kernels.ordinal_smo import (
    CONVERGED,
    ROW_MISSING,
    fill_tables,
    new_tables,
    pair_steps,
    place_rows,
    row_steps,
)
from rankwise.runtime.threads import thread_map
from rankwise.solvers import SolveResult
from rankwise.solvers.svm.threshold_solver import (
    MOST_COLUMNS,
    PowerRows,
    ThresholdHinge,
    ThresholdSolver,
)
from rankwise.typing import Float64Array, FloatArray, Int64Array, Matrix, densify, is_sparse

# Returns float64 values of some rows (a slice or row numbers) with all rows, (n_rows, n_samples).
Evaluate = Callable[[Any], Float64Array]
# Number of values computed at a time; fitting a core's caches makes this 2.5 times quicker.
SLICE_VALUES = 2**18
LEAST_SLICE, MOST_SLICE = 32, 512
# A step reads two rows; with only a few slots most rows would be recomputed.
LEAST_SLOTS = 8


class KernelRows:
    """Kernel values between training rows, for solvers that read them row by row.

    If the matrix fits in memory, all values are computed at once, in float64 or else in float32.
    Otherwise rows are computed in float32 as they are read, and the least recently read row is
    evicted. ``evaluate`` computes the kernel values of some rows with all rows; ``whole`` is the
    matrix, if it is already known. ``max_bytes`` limits the memory for kernel values.

    ``values`` is (n_slots, n_samples). ``slots``, (n_samples,), is the place of each row in it, or
    -1. ``used``, (n_slots + 1,), says when each slot was last read; its last entry is the number of
    reads.
    """

    def __init__(
        self,
        evaluate: Evaluate,
        diagonal: Float64Array,
        max_bytes: int,
        whole: FloatArray | None = None,
    ) -> None:
        self.evaluate = evaluate
        self.diagonal = diagonal
        n_samples = len(diagonal)
        # float32 rather than fewer rows: a row that is not held is computed again.
        dtype = np.float64 if 8 * n_samples**2 <= max_bytes else np.float32
        size = np.dtype(dtype).itemsize * n_samples
        n_slots = min(n_samples, max_bytes // size)
        if n_slots < min(n_samples, LEAST_SLOTS):
            raise ValueError(
                f"max_bytes={max_bytes} is less than the {LEAST_SLOTS * size} bytes of "
                f"{LEAST_SLOTS} rows of a kernel between {n_samples} distinct rows. Raise "
                "max_bytes, or fit fewer rows."
            )
        self.values: FloatArray = (
            np.empty((n_slots, n_samples), dtype=dtype) if whole is None else whole
        )
        self.slots: Int64Array = np.full(n_samples, -1, dtype=np.int64)
        self.used: Int64Array = np.zeros(n_slots + 1, dtype=np.int64)
        if self.is_whole:
            if whole is None:
                self._fill()
            self.slots[:] = np.arange(n_samples)
            # Of the values that steps read, so that the curvature between equal rows is exactly 0.
            self.diagonal: Float64Array = np.diagonal(self.values).astype(np.float64)

    @property
    def is_whole(self) -> bool:
        """Whether all values are held."""
        return len(self.values) == len(self.slots)

    def load(self, row: int) -> None:
        """Compute one row and replace the least recently read one."""
        slot = int(self.used[:-1].argmin())
        # The row that held the slot, if any.
        self.slots[self.slots == slot] = -1
        self.values[slot] = self.evaluate(slice(row, row + 1))[0]
        self.slots[row] = slot
        self.used[-1] += 1
        self.used[slot] = self.used[-1]

    def products(self, rows: Int64Array, coef: Float64Array) -> Float64Array:
        """``K[rows] @ coef`` in float64; in chunks on threads, bit-identical to one thread."""
        out = np.empty(len(rows))

        def multiply(part: slice) -> None:
            block = self.values[rows[part]] if self.is_whole else self.evaluate(rows[part])
            out[part] = block.astype(np.float64, copy=False) @ coef

        n_threads = None if float(len(rows)) * len(coef) > 1e6 else 1
        thread_map(multiply, self._slices(len(rows)), n_threads)
        return out

    def _fill(self) -> None:
        def write(rows: slice) -> None:
            self.values[rows] = self.evaluate(rows)

        n = len(self.slots)
        thread_map(write, self._slices(n), None if n > MOST_SLICE else 1)

    def _slices(self, n_rows: int) -> list[slice]:
        size = min(max(SLICE_VALUES // len(self.slots), LEAST_SLICE), MOST_SLICE)
        return [slice(first, first + size) for first in range(0, n_rows, size)]


def kernel_rows(
    kernel: Kernel, X: Matrix, max_bytes: int, columns: Int64Array | None = None
) -> KernelRows:
    """Rows of the kernel matrix of X, which is float64; a callable kernel is called once.

    For a precomputed kernel, X holds the values between these rows and the training rows.
    ``columns``, (n_samples,), are those of its columns that belong to the rows; None: all.
    """
    if kernel.name in ("callable", "precomputed"):
        K = _compute_given(kernel, X, max_bytes, columns)
        return KernelRows(lambda rows: K[rows], np.diagonal(K), max_bytes, K)
    write = kernel.against(X, np.float64, sparse_rows=is_sparse(X))

    def evaluate(rows: Any) -> Float64Array:
        block = X[rows]
        out = np.empty((block.shape[0], X.shape[0]))
        with np.errstate(over="ignore", invalid="ignore"):
            write(block, out)
            total = out.sum()
        if not np.isfinite(total):
            raise ValueError(
                f"kernel must be finite between training rows, got kernel={kernel.name!r} with "
                "values that overflow. Scale X, or change the kernel's parameters."
            )
        return out

    with np.errstate(over="ignore"):
        diagonal = kernel.diagonal(X)
    return KernelRows(evaluate, diagonal, max_bytes)


def _compute_given(
    kernel: Kernel, X: Matrix, max_bytes: int, columns: Int64Array | None
) -> Float64Array:
    """Matrix of a callable or precomputed kernel, which is given as a whole."""
    needed = 8 * X.shape[0] ** 2
    if needed > max_bytes:
        raise ValueError(
            f"max_bytes={max_bytes} is less than the {needed} bytes of the kernel matrix of "
            f"{X.shape[0]} distinct rows, which a callable or precomputed kernel gives at once. "
            "Raise max_bytes, or use a kernel with a name, whose rows are computed as needed."
        )
    if kernel.name == "callable":
        K = np.asarray(kernel(X, X), dtype=np.float64)
        check_symmetric(K, kernel.function)
        return K
    K = np.asarray(densify(X), dtype=np.float64)
    K = K if columns is None else K.take(columns, axis=1)  # C-ordered, as steps read rows
    check_symmetric(K, "precomputed")
    return K


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
            if not len(free):
                # LIBSVM's choice where no variable is free: the middle of the feasible interval.
                free = np.array([end for end in (top, low) if np.isfinite(end)] or [0.0])
            intercept, violation = float(free.mean()), max(top - low, 0.0)
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
