"""Linear scores with thresholds along C: coordinate descent, then Newton steps if it stalls.

Each C starts from the previous dual values times the ratio of the two C, so values at their bounds
stay there. For the same reason, a large C is approached through smaller ones, which takes fewer
passes than a cold start. If descent still stalls, Newton steps take over.

The hinges are those of the margins between one score and all thresholds (Li & Lin [1]_). Row n of
class y asks, for k = 0 .. K-2, whether its class is above k. With ``s_k = 1`` for k < y and -1
otherwise and margins ``m_nk = s_k (f_n + theta_k)`` the loss is

    sum_nk w_nk max(0, 1 - m_nk)    or, squared,    sum_nk w_nk max(0, 1 - m_nk)^2.

Its dual values are within [0, w_nk], or >= 0.

The problem is to minimise ``(|w|^2 + |theta|^2) / 2 + sum_nk w_nk hinge(s_nk (w.z_n + theta_k))``,
a linear SVM without bias on K - 1 implicit rows ``(z_n, e_k)`` per row [1]_. Its dual is

    maximise  sum alpha - (|w|^2 + |theta|^2) / 2,   w = sum_n (sum_k s alpha) z_n,
                                                     theta_k = sum_n s_nk alpha_nk.

Descent visits rows in random order and solves all dual values of a row at once [2]_. Rows with
values held at bounds are left out until the others have converged. Each visit yields the row's
share of the duality gap; their sum decides when to compute the exact gap.

Each round of Newton steps maximises the dual minus ``(bend / 2) |alpha - centre|^2 / w`` and makes
the maximiser the new centre [3]_. For the weights and thresholds, this means minimising hinges that
are smoothed around the margin. They are twice differentiable except at kinks, and Newton steps with
a line search find the minimum. A round ends when the gradient is below the movement of the dual
values. The squared hinge needs no smoothing and one round. The number of steps does not grow with
C, whereas coordinate descent slows down.

Complexity: a pass of descent is O(N (D + K^2)) for D columns, 4 N D operations; a Newton step is
O(N (D + K) + a D^2 + D^3) for a rows near the margins.

References
----------
.. [1] Li & Lin, "Ordinal regression by extended binary classification", NIPS 19 (2007).
.. [2] Hsieh, Chang, Lin, Keerthi & Sundararajan, "A dual coordinate descent method for large-scale
   linear SVM", ICML 25 (2008).
.. [3] Rockafellar, "Augmented Lagrangians and applications of the proximal point algorithm in
   convex programming", Mathematics of Operations Research 1 (1976).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from rankwise.features.polynomial_terms import TermMap
from rankwise.kernels import ordinal_descent as kernels
from rankwise.kernels.ordinal_descent import respond
from rankwise.runtime.jit import convert_layout
from rankwise.runtime.threads import thread_imap, thread_map
from rankwise.solvers import SolveResult
from rankwise.typing import Float64Array, Int64Array, Matrix, densify, is_sparse


class BentHinge(NamedTuple):
    """Value of the hinge, bent around dual values ``centre``, at some scores.

    ``alpha`` are the dual values and ``curvature`` is minus their derivative with respect to the
    margin, both of shape (n_samples, K - 1). ``signed`` (n_samples,) and ``thresholds`` (K - 1,)
    are the sums of ``s alpha``. ``loss`` is the plain loss, ``bent`` the bent loss, ``dual`` the
    contribution of the dual values to the dual objective, and ``moved`` is
    ``bend |alpha - centre|^2 / w``.
    """

    alpha: Float64Array
    curvature: Float64Array
    signed: Float64Array
    thresholds: Float64Array
    loss: float
    dual: float
    bent: float
    moved: float


@dataclass(frozen=True, eq=False)
class ThresholdHinge:
    """The loss of some rows."""

    codes: Int64Array  # (n_samples,): class numbers
    weight: Float64Array  # (n_samples, n_classes - 1), >= 0
    squared: bool

    def scaled(self, C: float) -> ThresholdHinge:
        """The loss times C."""
        return ThresholdHinge(self.codes, C * self.weight, self.squared)

    def signed(self, alpha: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Sums of ``s alpha`` by row, (n_samples,), and by threshold, (n_classes - 1,)."""
        values = np.where(self._above, alpha, -alpha)
        return values.sum(axis=1), values.sum(axis=0)

    def dual_sum(self, alpha: Float64Array) -> float:
        """Contribution of dual values to the dual objective."""
        total = float(alpha.sum())
        if self.squared:
            weighed = self.weight > 0
            total -= 0.25 * float((alpha[weighed] ** 2 / self.weight[weighed]).sum())
        return total

    def value(self, scores: Float64Array, theta: Float64Array) -> float:
        """The loss at scores (n_samples,) and thresholds (n_classes - 1,)."""
        margins = scores[:, None] + theta
        beyond = np.maximum(1.0 - np.where(self._above, margins, -margins), 0.0)
        return float(np.vdot(self.weight, beyond**2 if self.squared else beyond))

    def bent(
        self, scores: Float64Array, theta: Float64Array, centre: Float64Array, bend: float
    ) -> BentHinge:
        """Hinge with ``bend |alpha - centre|^2 / (2 w)`` subtracted inside its dual maximum.

        The squared hinge needs no bend: pass 0.
        """
        shape = self.weight.shape
        outputs = (np.empty(shape), np.empty(shape), np.empty(len(scores)), np.empty(len(theta)))
        values = respond(
            scores, theta, self.codes, self.weight, centre, bend, self.squared, outputs
        )
        return BentHinge(*outputs, *values)

    @property
    def _above(self) -> Float64Array:
        return np.arange(self.weight.shape[1]) < self.codes[:, None]


CHUNK_ROWS = 4096
# Below this number of entries in X, one thread is quicker.
_SMALL = 1e6


class PowerRows:
    """Selected rows of a matrix, in a given order, with the powers of their features as columns.

    If t are the scaled features, the columns are ``t, t^2, ..., t^degree``, ordered by power. They
    are not stored: products read the features once, and only a few rows are ever written out.

    X is float32 or float64. ``inverse``, (n_features,), holds factors of the features, applied
    first; None: ones. Without ``rows``, all rows are taken in their order.
    """

    degree: int
    n_features: Any
    n_columns: Any
    n_samples: int

    def __init__(
        self,
        X: Matrix,
        degree: int,
        inverse: Float64Array | None = None,
        rows: Int64Array | None = None,
    ) -> None:
        self._rows = np.arange(X.shape[0]) if rows is None else rows
        self.degree, self.n_features = degree, X.shape[1]
        self.n_samples, self.n_columns = len(self._rows), degree * X.shape[1]
        self._inverse = np.ones(X.shape[1]) if inverse is None else inverse
        self._sparse = is_sparse(X)
        self._given = X
        size = X.nnz if is_sparse(X) else X.size
        self._n_threads = None if size > _SMALL else 1
        # What the kernels take: they are compiled for contiguous rows. Many read-only rows may be a
        # file mapped into memory, and stay there.
        if is_sparse(X):
            self._X: Any = X.data, X.indices, X.indptr
        else:
            self._X = np.ascontiguousarray(X) if size > _SMALL else convert_layout(X)

    def take(self, which: Int64Array) -> PowerRows:
        """Select rows by their numbers in this object."""
        return PowerRows(self._given, self.degree, self._inverse, self._rows[which])

    @cached_property
    def norms(self) -> Float64Array:
        """Squared norms of the rows, shape (n_samples,)."""
        out = np.empty(self.n_samples)
        of_norms = kernels.norms_csr if self._sparse else kernels.norms_rows
        self._map_chunks(lambda at: of_norms(self._X, *self._take(at), self.degree, out[at]))
        return out

    def scores(self, w: Float64Array) -> Float64Array:
        """Products of all rows with weights of shape (n_columns,); shape (n_samples,)."""
        out, table = np.empty(self.n_samples), self.table(w)
        times = kernels.scores_csr if self._sparse else kernels.scores_rows
        self._map_chunks(lambda at: times(self._X, *self._take(at), table, out[at]))
        return out

    def transposed(self, factors: Float64Array) -> Float64Array:
        """Sum of the rows, each times its factor, shape (n_columns,)."""
        add = kernels.add_csr if self._sparse else kernels.add_rows

        def part(at: slice) -> Float64Array:
            table = np.zeros_like(self.table(np.zeros(self.n_columns)))
            add(self._X, *self._take(at), factors[at], table)
            return table

        # Only a few sums at a time: with many columns, one sum per chunk would not fit in memory.
        total = np.zeros(self.n_columns)
        chunks = self._chunks()
        for first in range(0, len(chunks), 16):
            for table in thread_map(part, chunks[first : first + 16], self._n_threads):
                total += self.weights(table)
        return total

    def expanded(self, which: Int64Array) -> Float64Array:
        """Columns of selected rows of this object, shape (n_which, n_columns), float64."""
        block = self._given[self._rows[which]]
        t = densify(block).astype(np.float64) * self._inverse
        out = np.empty((len(which), self.n_columns))
        power = out[:, : self.n_features]
        power[:] = t
        for p in range(1, self.degree):
            # Each power is the one before times t, a product instead of a power.
            following = out[:, p * self.n_features : (p + 1) * self.n_features]
            np.multiply(power, t, out=following)
            power = following
        return out

    def descend(
        self,
        order: Int64Array,
        codes: Int64Array,
        weight: Float64Array,
        state: tuple[Float64Array, Float64Array, Float64Array],
        squared: bool,
        slack: float,
    ) -> tuple[int, float, float]:
        """One pass of coordinate descent; ``state`` starts with a :meth:`table` of weights."""
        descend = kernels.descend_csr if self._sparse else kernels.descend_rows
        return descend(
            self._X,
            self._inverse,
            self._rows,
            order,
            codes,
            weight,
            self.norms,
            state,
            squared,
            slack,
        )

    def table(self, w: Float64Array) -> Float64Array:
        """Copy of the weights (n_columns,) in the shape that the compiled kernels take."""
        table = w.reshape(self.degree, self.n_features)
        # All powers of a sparse entry lie together; of dense rows, all columns of a power.
        return np.array(table.T if self._sparse else table, order="C")

    def weights(self, table: Float64Array) -> Float64Array:
        """Inverse of :meth:`table`."""
        return (table.T if self._sparse else table).ravel()

    def _take(self, at: slice) -> tuple[Float64Array, Int64Array]:
        return self._inverse, self._rows[at]

    def _chunks(self) -> list[slice]:
        return [slice(lo, lo + CHUNK_ROWS) for lo in range(0, self.n_samples, CHUNK_ROWS)]

    def _map_chunks(self, work: Callable[[slice], None]) -> None:
        thread_map(work, self._chunks(), self._n_threads)


@dataclass(frozen=True, eq=False)
class PowerMap:
    """Rows of a matrix, scaled, with powers or products of their features."""

    scale: Float64Array  # (n_features,): divisors of the features
    terms: TermMap | None  # products of features, which are stored; None: powers, which are not
    degree: int  # highest power

    def __call__(self, X: Matrix) -> PowerRows:
        """Rows of checked X, a dense matrix or CSR."""
        inverse = 1.0 / self.scale
        if self.terms is None:
            return PowerRows(X, self.degree, inverse)
        scaled = X.multiply(inverse).tocsr() if is_sparse(X) else X * inverse
        return PowerRows(self.terms(scaled), 1, np.ones(len(self.terms.factors)))


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
    """Solution for given dual values, with its duality gap; two passes over the rows.

    It counts as converged if the gap is at most ``tol`` times the objective.
    """
    signed, theta = loss.signed(alpha)
    w = rows.transposed(signed)
    norm = 0.5 * float(w @ w + theta @ theta)
    objective = norm + loss.value(rows.scores(w), theta)
    gap = objective + norm - loss.dual_sum(alpha)
    share = gap / objective if objective > 0 else 0.0
    return ThresholdSolution(w, n_iter, share <= tol, share, theta, alpha, objective, gap)


def descend(
    loss: ThresholdHinge, rows: PowerRows, alpha: Float64Array, tol: float, max_iter: int
) -> ThresholdSolution:
    """Dual coordinate descent from dual values (n_samples, n_classes - 1) within their bounds.

    ``max_iter`` counts passes over the rows.
    """
    alpha = alpha.copy()
    signed, theta = loss.signed(alpha)
    table = rows.table(rows.transposed(signed))
    order, n_left, slack = np.arange(rows.n_samples), rows.n_samples, np.inf
    random = np.random.RandomState(_SEED)
    for n_iter in range(1, max_iter + 1):
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
        if gap <= tol * (loss.dual_sum(alpha) - norm + gap):
            solution = solution_of(loss, rows, alpha, n_iter, tol)
            if solution.converged:
                return solution
            # The hint was wrong: all rows take part again.
            n_left, slack = rows.n_samples, np.inf
    return solution_of(loss, rows, alpha, max_iter, tol)


FIRST_BEND = 0.1  # of the margin; 0.03 to 1 measured as equally good
SMALLEST_BEND = 1e-8
SLOW, SHARPER = 0.3, 0.3  # sharper where a round leaves more than SLOW of the gap
MOVED_SHARE = 0.5  # of the movement that the gradient may be
NOTHING = 1e-13  # a gradient of this share of the weights is rounding
SLOPE_LEFT, HALVINGS = 0.1, 40
BLOCK_ROWS = 1024


def take_newton_steps(
    loss: ThresholdHinge, rows: PowerRows, start: ThresholdSolution, tol: float, max_iter: int
) -> ThresholdSolution:
    """Proximal Newton steps from a solution for the same rows, with feasible dual values."""
    centre, bend = start.alpha, 0.0 if loss.squared else FIRST_BEND
    place = np.concatenate([start.x, start.theta])
    point = _ThresholdPoint.at(loss, rows, place, rows.scores(start.x), centre, bend)
    n_iter, last_gap, fresh = 0, np.inf, True
    while True:
        if point.gap <= tol * point.objective or n_iter >= max_iter:
            solution = solution_of(loss, rows, point.hinge.alpha, n_iter, tol)
            if solution.converged or n_iter >= max_iter:
                return solution
        error = float(np.linalg.norm(point.gradient))
        enough = MOVED_SHARE * np.sqrt(point.hinge.moved)
        size = 1.0 + float(np.linalg.norm(point.place))
        # Rockafellar's criterion (B) with an extra exit where the gradient is rounding. At
        # least one step a round: a fresh centre has not moved yet.
        if not fresh and (error <= enough or error <= NOTHING * size) and not loss.squared:
            centre = point.hinge.alpha
            # The round did too little: a smaller bend lets the dual values move further.
            if point.gap > SLOW * last_gap:
                bend = max(SHARPER * bend, SMALLEST_BEND)
            last_gap, fresh = point.gap, True
            point = _ThresholdPoint.at(loss, rows, point.place, point.scores, centre, bend)
            continue
        point, fresh = _step(loss, rows, point, centre, bend), False
        n_iter += 1


@dataclass(frozen=True, eq=False)
class _ThresholdPoint:
    """Weights and thresholds, with their smoothed loss."""

    place: Float64Array  # weights, then thresholds
    scores: Float64Array
    hinge: BentHinge
    gradient: Float64Array  # of the bent problem
    objective: float
    gap: float  # of the problem itself, at the hinge's dual values

    @classmethod
    def at(
        cls,
        loss: ThresholdHinge,
        rows: PowerRows,
        place: Float64Array,
        scores: Float64Array,
        centre: Float64Array,
        bend: float,
    ) -> _ThresholdPoint:
        hinge = loss.bent(scores, place[rows.n_columns :], centre, bend)
        # Weights that the dual values give; at the optimum they are the weights themselves.
        of_dual = np.concatenate([rows.transposed(hinge.signed), hinge.thresholds])
        objective = 0.5 * float(place @ place) + hinge.loss
        gap = objective + 0.5 * float(of_dual @ of_dual) - hinge.dual
        return cls(place, scores, hinge, place - of_dual, objective, gap)


def _step(
    loss: ThresholdHinge,
    rows: PowerRows,
    point: _ThresholdPoint,
    centre: Float64Array,
    bend: float,
) -> _ThresholdPoint:
    """Take a Newton step, extended while the slope along it is far below zero."""
    D = rows.n_columns
    step = -cho_solve(cho_factor(_hessian(rows, point.hinge), lower=True), point.gradient)
    score_step = rows.scores(step[:D])
    first_slope = float(point.gradient @ step)
    length, low, high = 1.0, 0.0, 0.0
    for _ in range(HALVINGS):
        place, scores = point.place + length * step, point.scores + length * score_step
        hinge = loss.bent(scores, place[D:], centre, bend)
        along = float(hinge.signed @ score_step) + float(hinge.thresholds @ step[D:])
        slope = float(place @ step) - along
        # Flat enough; or still falling after a full step, from where the next one goes on.
        if abs(slope) <= -SLOPE_LEFT * first_slope or (slope < 0 and high == 0.0):
            break
        low, high = (low, length) if slope > 0 else (length, high)
        length = 0.5 * (low + high)
    place, scores = point.place + length * step, point.scores + length * score_step
    return _ThresholdPoint.at(loss, rows, place, scores, centre, bend)


def _hessian(rows: PowerRows, hinge: BentHinge) -> Float64Array:
    """Second derivative of the smoothed problem; at least the lower triangle is filled."""
    D, n_thresholds = rows.n_columns, hinge.curvature.shape[1]
    H = np.zeros((D + n_thresholds, D + n_thresholds))
    near = np.flatnonzero(hinge.curvature.any(axis=1))

    def part(first: int) -> tuple[Float64Array, Float64Array]:
        which = near[first : first + BLOCK_ROWS]
        curvature, Z = hinge.curvature[which], rows.expanded(which)
        mixed = curvature.T @ Z
        # One product Z'Z: all thresholds of a row share its columns.
        Z *= np.sqrt(curvature.sum(axis=1))[:, None]
        return Z.T @ Z, mixed

    blocks = range(0, len(near), BLOCK_ROWS)
    for square, mixed in thread_imap(part, blocks, None if len(near) * D > 1e5 else 1):
        H[:D, :D] += square
        H[D:, :D] += mixed
    H.flat[:: len(H) + 1] += 1.0
    H[range(D, len(H)), range(D, len(H))] += hinge.curvature.sum(axis=0)
    return H


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
                tol, alpha = self.tol if here == C else max(self.tol, COARSE), start.alpha
                start = descend(loss.scaled(here), rows, alpha * (here / at), tol, most)
                n_iter, at = n_iter + start.n_iter, here
                if may_step and not start.converged:
                    break
            if start.converged or not may_step:
                return replace(start, n_iter=n_iter)
        # Feasible for C: bounds scale with it.
        start = replace(start, alpha=start.alpha * (C / at))
        start = take_newton_steps(loss.scaled(C), rows, start, self.tol, self.max_iter)
        return replace(start, n_iter=n_iter + start.n_iter)
