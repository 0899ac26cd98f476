"""Proximal method of multipliers with Newton steps for absolute losses plus a squared norm.

Minimises ``g(y - f) + lam |f|_K^2`` where g is the support function of a polytope P
(:class:`~rankwise.losses.absolute_loss.SupportLoss`). Its dual over nu in P, with u the sums of
``dual_weight nu`` over the nodes of each row, is

    maximise  sum dual_weight nu nodes(y) - u'K u / (4 lam),    f = K u / (2 lam),

so every dual point gives scores and a duality gap, because sorting evaluates the loss exactly. Each
round maximises the dual minus ``(tau/2) |nu - centre|^2`` and makes the maximiser the new centre
[1]_. That problem has a differentiable dual, piecewise quadratic in f, which is minimised by Newton
steps with a line search [2]_. The second derivative is the projection onto the blocks of the dual
point. The step solves a system of the size of the blocks (rows x rows) or of the columns. This
system contains K and a multiple of tau but never 1 / tau, so a small tau does no harm. A round ends
when the Newton error is less than the proximal movement [1]_ (criterion B).

Complexity of a step: O(N log N + N^2 + a^3) with a kernel matrix, a <= N the rows in blocks;
O(N log N + N d^2 + d^3) with d columns.

Kernel matrices and columns are centred by query, see
:mod:`rankwise.solvers.least_squares.eigen_path`.

References
----------
.. [1] Rockafellar, "Augmented Lagrangians and applications of the proximal point algorithm in
   convex programming", Mathematics of Operations Research 1 (1976).
.. [2] Li, Sun & Toh, "A highly efficient semismooth Newton augmented Lagrangian method for
   solving lasso problems", SIAM Journal on Optimization 28 (2018).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import get_lapack_funcs

from rankwise.kernels.pairwise_absolute import expand_blocks, reduce_blocks
from rankwise.losses.absolute_loss import DualPoint, SupportLoss
from rankwise.runtime.threads import query_chunks
from rankwise.solvers import SolveResult
from rankwise.solvers.least_squares.eigen_path import centre_kernel
from rankwise.solvers.least_squares.gram import CHUNK_ROWS
from rankwise.typing import Float64Array, Int64Array, Matrix, densify, is_sparse

ROUNDING = 1e-14  # a gap of this share of the objective of f = 0 is rounding
SLOW, SHRINK = 0.3, 0.5  # tau shrinks where a round leaves more than SLOW of the gap
SMALLEST_TAU = 1e-8  # relative to the first
# Scores that cannot reach this share of the spread of y are effectively 0. A tau of that size would
# scale y until the bounds of the dual are below rounding error.
LEAST_REACH = 1e-6
NOTHING = 1e-20  # a Newton error of this share of it needs no further step
NEWTON_SHARE = 0.9  # of the proximal movement that a round may be off
LINE_SEARCH_SHARE = 0.1  # of the slope at the start that may be left
LINE_SEARCH_STEPS = 40


class NewtonSystem(NamedTuple):
    """Linear system of a step: ``(1 + H K / (2 lam)) step = residual``, H on the blocks of nu."""

    point: DualPoint
    block_rows: Float64Array  # row of every active node
    block_weight: Float64Array  # dual weight of every active node
    tau: float
    lam: float
    residual: Float64Array  # u - beta, per row
    score_residual: Float64Array  # K (u - beta) / (2 lam), per row


@dataclass(frozen=True)
class ProximalNewton:
    """Solver of ``g(y - f) + lam |f|_K^2``."""

    tol: float = 1e-6  # relative duality gap to reach
    max_iter: int = 1000  # Newton steps for each value of lam

    def path(
        self, loss: SupportLoss, y: Float64Array, products: RowProducts, lams: Float64Array
    ) -> list[SolveResult[Float64Array]]:
        """Solutions for every ``lam`` in the order given; each starts from the next larger one.

        Their ``x`` holds the dual coefficients a of shape (n_samples,), ``f = K a``; ``stop_value``
        is the duality gap over the objective.
        """
        results: dict[int, SolveResult[Float64Array]] = {}
        y = _centre_targets(loss, y)  # removes a common offset, which costs precision
        zeta, centre = np.zeros(len(loss.dual_weight)), np.zeros(len(loss.dual_weight))
        last = 1.0
        for index in np.argsort(-lams, kind="stable"):
            lam = float(lams[index])
            start = zeta * (lam / last)  # the scores stay
            results[int(index)], zeta, centre = self._solve(loss, y, products, lam, start, centre)
            last = lam
        return [results[index] for index in range(len(lams))]

    def _solve(
        self,
        loss: SupportLoss,
        y: Float64Array,
        products: RowProducts,
        lam: float,
        zeta: Float64Array,
        centre: Float64Array,
    ) -> tuple[SolveResult[Float64Array], Float64Array, Float64Array]:
        """``zeta`` is the Newton iterate, one dual value per node; ``centre`` a point of P."""
        weight, half = loss.dual_weight, 0.5 / lam
        at_zero = loss.value(y)
        if at_zero == 0.0:
            nothing = np.zeros(len(weight))
            return SolveResult(np.zeros(len(y)), 0, True, 0.0), nothing, nothing
        # tau divides residuals into dual values in [-1, 1]: it starts at the size that scores can
        # reach, and at most at the spread of y.
        spread = float(np.sqrt(weight[: len(y)] @ y**2 / weight[: len(y)].sum()))
        reach = products.mean_diagonal() * float(weight.mean()) * half  # of scores
        tau = min(spread, max(reach, LEAST_REACH * spread))
        smallest = SMALLEST_TAU * tau
        beta = loss.rows(zeta)
        f = half * products.apply(beta)
        gaps: list[float] = []
        n_iter, first = 0, True
        while True:
            # The projection of the iterate onto P is as accurate as the iterate, also inside P.
            nu = loss.project(zeta / weight).nu
            dual = loss.rows(weight * nu)
            scores = f - half * products.apply(beta - dual)
            residual = y - scores
            value = loss.value(residual)
            gap = value - float((weight * nu) @ loss.nodes(residual))
            objective = value + 0.5 * float(dual @ scores)
            gaps.append(gap / objective)
            allowed = max(self.tol * objective, ROUNDING * at_zero)
            converged = gap <= allowed
            if converged or n_iter >= self.max_iter:
                result = SolveResult(half * dual, n_iter, converged, gaps[-1])
                return result, weight * nu, nu
            if len(gaps) > 2 and gaps[-1] > SLOW * gaps[-2]:
                tau = max(SHRINK * tau, smallest)
            centre = centre if first else nu
            first = False
            point = loss.project(centre + loss.nodes(y - f) / tau)
            stepped = False
            while n_iter < self.max_iter:
                dual = loss.rows(weight * point.nu)
                error = dual - beta
                score_error = half * products.apply(error)
                movement = 0.5 * tau * float(weight @ (point.nu - centre) ** 2)
                enough = max(NEWTON_SHARE * movement, NOTHING * at_zero)
                if stepped and 0.5 * float(error @ score_error) <= enough:
                    break
                n_iter += 1
                stepped = True
                zeta_step, score_step = _direction(
                    loss, products, point, weight * point.nu - zeta, error, score_error, tau, lam
                )
                # Along the step, at its start: the gradient of the round's dual by f is beta - u.
                slope = -float(error @ score_step)
                length, point = _search(
                    loss, y - f, centre, tau, beta, loss.rows(zeta_step), score_step, slope
                )
                zeta = zeta + length * zeta_step
                beta = loss.rows(zeta)
                f = f + length * score_step


def _direction(
    loss: SupportLoss,
    products: RowProducts,
    point: DualPoint,
    zeta_error: Float64Array,
    error: Float64Array,
    score_error: Float64Array,
    tau: float,
    lam: float,
) -> tuple[Float64Array, Float64Array]:
    """Newton step of the nodes and of the scores."""
    if not len(point.active):
        return zeta_error, score_error
    rows = point.active % len(loss.weight)
    weight = loss.dual_weight[point.active]
    correction, score_step = products.step(
        NewtonSystem(point, rows, weight, tau, lam, error, score_error)
    )
    zeta_step = zeta_error.copy()
    zeta_step[point.active] -= correction
    return zeta_step, score_step


def _search(
    loss: SupportLoss,
    residual: Float64Array,
    centre: Float64Array,
    tau: float,
    beta: Float64Array,
    step: Float64Array,
    score_step: Float64Array,
    low_slope: float,
) -> tuple[float, DualPoint]:
    """Step length at which the slope is small, by false position, and the point there.

    The slope is piecewise linear in the length and increases from ``low_slope`` at 0. Length 1 is
    taken if the slope there is not positive.
    """
    quadratic = float(step @ score_step)

    def slope_at(length: float) -> tuple[float, DualPoint]:
        point = loss.project(centre + loss.nodes(residual - length * score_step) / tau)
        error = beta - loss.rows(loss.dual_weight * point.nu)
        return float(error @ score_step) + quadratic * length, point

    low, high, high_slope = 0.0, 0.0, 0.0
    allowed = -LINE_SEARCH_SHARE * low_slope
    length = 1.0
    slope, point = slope_at(length)
    if slope <= 0:
        return length, point
    for _ in range(LINE_SEARCH_STEPS):
        if abs(slope) <= allowed:
            break
        if slope > 0:
            # The Illinois rule: the end that stays counts half, or it might stay for ever.
            low_slope *= 0.5 if high_slope > 0 else 1.0
            high, high_slope = length, slope
        else:
            high_slope *= 0.5 if low > 0 else 1.0
            low, low_slope = length, slope
        length = (low * high_slope - high * low_slope) / (high_slope - low_slope)
        slope, point = slope_at(length)
    return length, point


def _centre_targets(loss: SupportLoss, y: Float64Array) -> Float64Array:
    """y minus its mean in each query; exactly zero in a query of equal labels."""
    sizes = np.diff(loss.indptr)
    query = np.repeat(np.arange(len(sizes)), sizes)
    y = y - np.append(y, 0.0)[loss.indptr[:-1]][query]
    total = np.bincount(query, weights=loss.weight, minlength=len(sizes))
    sums = np.bincount(query, weights=loss.weight * y, minlength=len(sizes))
    return y - (sums / np.where(total > 0, total, 1.0))[query]


_posv: Any = get_lapack_funcs("posv", dtype=np.float64)
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class KernelProducts:
    """A symmetric kernel matrix, positive semidefinite where dual values sum to zero."""

    K: Float64Array

    def mean_diagonal(self) -> float:
        return float(self.K.trace()) / len(self.K)

    def apply(self, beta: Float64Array) -> Float64Array:
        """``K beta``, up to a constant per query."""
        return self.K @ beta

    def step(self, system: NewtonSystem) -> tuple[Float64Array, Float64Array]:
        """Correction of each active node, and the change of the scores in a full step.

        Solves ``(K_AA + 2 lam tau / weight) xi = K (u - beta)`` with sum 0 in each block.
        """
        rows, block_ptr = system.block_rows, system.point.block_ptr
        n = len(rows) - len(block_ptr) + 1
        matrix, vector = np.empty((n, n)), np.empty(n)
        two_lam = 2.0 * system.lam
        diagonal = (two_lam * system.tau) / system.block_weight
        target = two_lam * system.score_residual
        reduce_blocks(self.K, rows, diagonal, block_ptr, target, matrix, vector)
        reduced = _solve_definite(matrix, vector)
        xi = np.empty(len(rows))
        expand_blocks(reduced, np.arange(len(rows)), block_ptr, xi)
        # A row may have two nodes in blocks.
        per_row = np.bincount(rows, weights=xi, minlength=len(self.K))
        return xi, system.score_residual - (self.K @ per_row) / two_lam


@dataclass(frozen=True, eq=False)
class ColumnProducts:
    """Rows of columns, ``K = X X'``; the step solves a system in the columns."""

    X: Matrix

    def mean_diagonal(self) -> float:
        X = self.X
        squares = X.multiply(X).sum() if is_sparse(X) else np.vdot(X, X)
        return float(squares) / X.shape[0]

    def apply(self, beta: Float64Array) -> Float64Array:
        return np.asarray(self.X @ (self.X.T @ beta))

    def step(self, system: NewtonSystem) -> tuple[Float64Array, Float64Array]:
        """Solve ``(2 lam + X' H X) e = X' (u - beta)``; the scores change by ``X e``."""
        block_ptr = system.point.block_ptr
        d = self.X.shape[1]
        matrix = np.zeros((d, d))
        scale = system.block_weight / system.tau
        for first, last in query_chunks(block_ptr, CHUNK_ROWS):
            lo, hi = block_ptr[first], block_ptr[last]
            rows = self.X[system.block_rows[lo:hi]]
            block = densify(rows)
            root = np.sqrt(scale[lo:hi])[:, None]
            # The sum within a block is fixed, so only columns about its mean count.
            block = _centre(block, scale[lo:hi], block_ptr[first : last + 1] - lo) * root
            matrix += block.T @ block
        matrix.flat[:: d + 1] += 2.0 * system.lam
        e = _solve_definite(matrix, np.asarray(self.X.T @ system.residual))
        score_step = np.asarray(self.X @ e)
        moved = score_step[system.block_rows][:, None]
        return scale * _centre(moved, scale, block_ptr)[:, 0], score_step


# Inner products between rows; only within-query differences matter.
RowProducts: TypeAlias = KernelProducts | ColumnProducts


def kernel_products(
    K: Float64Array, indptr: Int64Array, rows: Int64Array | None = None
) -> KernelProducts:
    """Products of a kernel matrix, see :func:`centre_kernel`."""
    return KernelProducts(centre_kernel(K, indptr, rows))


def column_products(X: Matrix, indptr: Int64Array, rows: Int64Array) -> ColumnProducts:
    """Columns of ``X[rows]`` in float64; dense ones are centred by query. X is not changed."""
    columns = X[rows].astype(np.float64, copy=False)
    if is_sparse(columns):
        return ColumnProducts(columns)
    for lo, hi in itertools.pairwise(indptr.tolist()):
        if hi > lo:
            columns[lo:hi] -= columns[lo:hi].mean(axis=0)
    return ColumnProducts(columns)


def _centre(block: Float64Array, weight: Float64Array, block_ptr: Int64Array) -> Float64Array:
    """Rows minus the weighted mean of their block."""
    starts = block_ptr[:-1]
    sums = np.add.reduceat(block * weight[:, None], starts, axis=0)
    means = sums / np.add.reduceat(weight, starts)[:, None]
    return block - np.repeat(means, np.diff(block_ptr), axis=0)


def _solve_definite(matrix: Float64Array, vector: Float64Array) -> Float64Array:
    """Cholesky on the lower triangle; if it breaks down, with a shift of rounding size."""
    shift, size = 0.0, len(vector) * EPS * float(np.abs(matrix.diagonal()).max(initial=0.0))
    while True:
        shifted = matrix if shift == 0.0 else matrix + shift * np.eye(len(matrix))
        _, solution, info = _posv(shifted.T, vector, lower=0)
        if info == 0:
            return solution
        shift = max(100.0 * shift, size)
