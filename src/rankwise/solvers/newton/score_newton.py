"""Truncated Newton method for losses of linear scores plus a squared norm.

Minimises ``P(w) = |w|^2 / 2 + C L(X w)`` where L is convex, adds over queries and is known by its
value, gradient and curvature at scores. Newton steps are solved by conjugate gradients up to a
share of the gradient [1]_; a line search on the scores alone, which cost no products with X,
makes every step a descent. P is 1-strongly convex, so ``|P'(w)|^2 / 2`` bounds how far its value is
above the minimum. This bound, as a share of P, is compared with the tolerance. Columns of large
values magnify the rounding error of the gradient beyond that bound. If a step's gain is below the
rounding of P and no longer shrinks the gradient, half the Newton decrement replaces the bound.

Rows come in parts of whole queries that fit the cache: a part is read once for ``X v``, the
curvature and ``X' h``. Parts are assigned to a fixed number of lanes whose sums are added in order,
so results are bit-identical on any number of threads.

Complexity: a product of the second derivative with a vector is 4 N d operations and one pass over
X; a handful of products per step, and five to twenty steps. The hinge over pairs is solved through
progressively sharper smooth hinges.

References
----------
.. [1] Lin, Weng & Keerthi, "Trust region Newton method for logistic regression", Journal of
   Machine Learning Research 9 (2008).
"""

from __future__ import annotations

import itertools
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, cast

import numpy as np

from rankwise.kernels.row_products import add_moments, add_transposed, times_vector
from rankwise.losses.pairwise_hinge import ListedHinge, PairwiseHinge
from rankwise.losses.score_loss import AnyLoss, LossState, ScoreLoss
from rankwise.runtime.progress import TimeLimitError, check_time
from rankwise.runtime.threads import query_chunks, single_threaded_blas, thread_map
from rankwise.solvers import SolveResult
from rankwise.typing import Float64Array, Matrix, is_sparse

N_LANES = 10
PART_ROWS = 3000  # that fit the cache
FORCING = 0.1  # of the gradient's norm that conjugate gradients leave at most
SUFFICIENT = 1e-4  # share of the slope that a step must gain
HALVINGS = 40
MOST_PRODUCTS = 500  # of conjugate gradients in one step
# Gains below this share of P are judged by the slope at the end of the step, which is less affected
# by rounding. P is convex, and its slope must have become flatter by this share.
FINE, FLATTER = 1e-8, 0.8
# If even a full step gains less than this share of P and does not halve the gradient, the minimum
# is reached to working precision.
ROUNDING, SHRUNK = 1e-12, 0.25
# Ratio of diagonal entries of the second derivative that indicates columns of different scale.
UNEVEN = 1e6
# Number of parts from which a share of them is first solved roughly to get a start.
MANY_PARTS, STRIDE, START_STEPS = 32, 8, 4
# Below this number of entries in X, one thread is quicker.
_SMALL = 2e5


@dataclass(frozen=True)
class ScoreResult(SolveResult[Float64Array]):
    """The solution w and its scores."""

    # (n_samples,): coefficients a of the rows, w = X' a up to the gradient: minus C times the
    # slopes
    dual: Float64Array
    objective: float


LossPart = tuple[slice, Matrix, LossState]


@dataclass(frozen=True)
class ScoreNewton:
    """Solver of ``|w|^2 / 2 + C L(X w)``."""

    tol: float = 1e-6  # largest |P'|^2 / 2 as a share of P
    max_iter: int = 200  # Newton steps for each C

    def path(self, rows: LinearRows[ScoreLoss], Cs: Float64Array) -> list[ScoreResult]:
        """Solutions for every C in the order given; each starts from the next smaller one.

        Their ``x`` has shape (n_features,). If a time limit ends the path, the larger C have the
        last solution, which did not converge for them. Raises TimeLimitError if the smallest C is
        not solved in time.
        """
        results: list[ScoreResult] = []
        ascending = np.argsort(Cs, kind="stable")
        with single_threaded_blas():
            w = self._start(rows, float(np.min(Cs)))
            for C in Cs[ascending].tolist():
                try:
                    results.append(self.solve(rows, C, w))
                except TimeLimitError:
                    if not results:
                        raise
                    unsolved = len(Cs) - len(results)
                    results += [replace(results[-1], converged=False)] * unsolved
                    break
                w = results[-1].x
        return [results[place] for place in np.argsort(ascending)]

    def _start(self, rows: LinearRows[ScoreLoss], C: float) -> Float64Array:
        """Start near the solution: with many parts, solve for a reweighted share first."""
        if len(rows.parts) < MANY_PARTS:
            return np.zeros(rows.n_features)
        sample = rows.every(STRIDE)
        # A share of the rows has that share of the loss.
        C *= rows.n_samples / sample.n_samples
        few = ScoreNewton(self.tol, min(START_STEPS, self.max_iter))
        return few.solve(sample, C, np.zeros(rows.n_features)).x

    def solve(self, rows: LinearRows[ScoreLoss], C: float, w: Float64Array) -> ScoreResult:
        """Solution for one C from the start ``w``."""
        scores = rows.scores(w)
        loss, slopes = rows.value_grad(scores)
        value = 0.5 * float(w @ w) + C * loss
        gradient = w + C * rows.transposed(slopes)
        # stalled: no step gains; exhausted: a full step gains only rounding, which counts as
        # solved.
        stalled, exhausted, slope = False, False, 0.0
        for n_iter in itertools.count():
            gap = 0.5 * float(gradient @ gradient) / value if value > 0 else 0.0
            if exhausted:
                gap = min(gap, -0.5 * slope / value)
            converged = exhausted or gap <= self.tol
            if converged or stalled or n_iter >= self.max_iter:
                return ScoreResult(w, n_iter, converged, gap, -C * slopes, value)
            # Of the second derivative, 1 from the norm: the preconditioner.
            diagonal = 1.0 + C * rows.diagonal()
            step, score_step, solved = _direction(rows, C, gradient, diagonal)
            slope = float(gradient @ step)
            # Differences of values would be rounding: the slope at the end judges the step.
            by_slope = -slope <= FINE * value
            length, stalled = 1.0, True
            next_w, next_scores, next_value = w, scores, value
            for _ in range(HALVINGS):
                next_w, next_scores = w + length * step, scores + length * score_step
                loss, slopes = rows.value_grad(next_scores)
                next_value = 0.5 * float(next_w @ next_w) + C * loss
                if by_slope:
                    next_slope = float(next_w @ step) + C * float(slopes @ score_step)
                    enough = next_slope <= -FLATTER * slope
                else:
                    enough = next_value <= value + SUFFICIENT * length * slope
                if enough:
                    stalled = False
                    break
                length *= 0.5
            if stalled:  # rounding: no step of the line gains any more
                loss, slopes = rows.value_grad(scores)
                continue
            last_square = float(gradient @ gradient)
            w, scores, value = next_w, next_scores, next_value
            gradient = w + C * rows.transposed(slopes)
            gains_rounding = solved and -slope <= ROUNDING * value
            exhausted = gains_rounding and float(gradient @ gradient) > SHRUNK * last_square
        raise AssertionError("counting never ends")


def _direction(
    rows: LinearRows[ScoreLoss], C: float, gradient: Float64Array, diagonal: Float64Array
) -> tuple[Float64Array, Float64Array, bool]:
    """Newton step by preconditioned conjugate gradients, and the change of the scores.

    The flag tells whether the step is as accurate as requested. If columns differ greatly in scale,
    the norm of the preconditioner is used, because the largest column dominates the norm of the
    gradient.
    """
    uneven = float(diagonal.max(initial=1.0)) > UNEVEN * float(diagonal.min(initial=1.0))
    step, score_step = np.zeros(len(gradient)), np.zeros(rows.n_samples)
    residual = -gradient
    # Rough systems first: precision far from the minimum would be wasted.
    enough = FORCING * float(np.linalg.norm(gradient))
    conditioned = residual / diagonal
    direction, energy = conditioned.copy(), float(residual @ conditioned)
    little = FORCING**2 * energy
    for _ in range(MOST_PRODUCTS):
        check_time()
        curved, along = rows.curvature(direction)
        curved = direction + C * curved
        length = energy / float(direction @ curved)
        step += length * direction
        score_step += length * along
        residual -= length * curved
        if not uneven and float(np.linalg.norm(residual)) <= enough:
            return step, score_step, True
        conditioned = residual / diagonal
        last, energy = energy, float(residual @ conditioned)
        if uneven and energy <= little:
            return step, score_step, True
        direction = conditioned + (energy / last) * direction
    return step, score_step, False


class LinearRows(Generic[AnyLoss]):
    """Rows of linear scores and their loss, in parts of whole queries of about ``part_rows`` rows.

    X, (n_samples, n_features), is in group order; ``loss`` is that of all rows.
    """

    n_features: Any
    n_samples: Any

    def __init__(self, X: Matrix, loss: AnyLoss, part_rows: int = PART_ROWS) -> None:
        self.n_samples, self.n_features = X.shape
        self.X, self.loss = X, loss
        self._queries = query_chunks(loss.indptr, part_rows)
        parts = []
        for first, last in self._queries:
            place = slice(int(loss.indptr[first]), int(loss.indptr[last]))
            parts.append((place, X[place], loss.part(first, last)))
        lanes = N_LANES if (X.nnz if is_sparse(X) else X.size) > _SMALL else 1
        self._deal(parts, min(lanes, len(parts)))
        self._n_threads = None if lanes > 1 else 1

    def _deal(self, parts: list[LossPart], lanes: int) -> None:
        self.parts = parts
        self._lanes = [parts[lane::lanes] for lane in range(lanes)]

    def every(self, stride: int) -> LinearRows[AnyLoss]:
        """Every ``stride``-th part, as separate rows."""
        other, parts, end = copy(self), [], 0
        vars(other).pop("spread", None)  # of all rows, if known
        for _, X, loss in self.parts[::stride]:
            parts.append((slice(end, end + X.shape[0]), X, loss))
            end += X.shape[0]
        other.n_samples, other._queries = end, self._queries[::stride]
        other._deal(parts, len(self._lanes))
        return other

    def with_loss(self, loss: Any) -> LinearRows[AnyLoss]:
        """The same rows with another loss of the same queries."""
        other = copy(self)
        other.loss = loss
        cuts = zip(self.parts, self._queries, strict=True)
        parts = [(place, X, loss.part(*queries)) for (place, X, _), queries in cuts]
        other._deal(parts, len(self._lanes))
        return other

    def scores(self, w: Float64Array) -> Float64Array:
        """``X w``, shape (n_samples,)."""
        out = np.empty(self.n_samples)

        def run(lane: list[LossPart]) -> None:
            for place, X, _ in lane:
                _times_vector(X, w, out[place])

        thread_map(run, self._lanes, self._n_threads)
        return out

    def value_grad(self, scores: Float64Array) -> tuple[float, Float64Array]:
        """Value of the loss and its gradient with respect to the scores."""
        out = np.empty(self.n_samples)

        def run(lane: list[LossPart]) -> float:
            return sum(loss.value_grad(scores[place], out[place]) for place, _, loss in lane)

        return sum(thread_map(run, self._lanes, self._n_threads)), out

    def transposed(self, slopes: Float64Array) -> Float64Array:
        """``X' slopes``, shape (n_features,)."""

        def run(lane: list[LossPart]) -> Float64Array:
            total = np.zeros(self.n_features)
            for place, X, _ in lane:
                _add_transposed(X, slopes[place], total)
            return total

        return np.sum(thread_map(run, self._lanes, self._n_threads), axis=0)

    def curvature(self, v: Float64Array) -> tuple[Float64Array, Float64Array]:
        """``X' H X v`` for the curvature H at the point last visited, and ``X v``."""
        along = np.empty(self.n_samples)

        def run(lane: list[LossPart]) -> Float64Array:
            total = np.zeros(self.n_features)
            for place, X, loss in lane:
                step = along[place]
                _times_vector(X, v, step)
                curved = np.empty(len(step))
                loss.curvature(step, curved)
                _add_transposed(X, curved, total)
            return total

        return np.sum(thread_map(run, self._lanes, self._n_threads), axis=0), along

    def diagonal(self) -> Float64Array:
        """Approximate diagonal of ``X' H X``: mean curvature of a row times the column's spread."""
        total = sum(loss.total_curvature() for _, _, loss in self.parts)
        return total / max(self.n_samples, 1) * self.spread

    @cached_property
    def spread(self) -> Float64Array:
        """Sum of squares of every column around its mean per part; many parts are sampled."""
        if len(self.parts) >= MANY_PARTS:
            sample = self.every(STRIDE)
            return sample.spread * (self.n_samples / sample.n_samples)

        def run(lane: list[LossPart]) -> Float64Array:
            total = np.zeros(self.n_features)
            for _, X, _ in lane:
                sums, squares = _moments(X)
                total += squares - sums**2 / max(1, X.shape[0])
            return total

        sums = np.sum(thread_map(run, self._lanes, self._n_threads), axis=0)
        return np.maximum(sums, 0.0)


def _times_vector(X: Matrix, w: Float64Array, out: Float64Array) -> None:
    if is_sparse(X):
        out[:] = X @ w
    else:
        times_vector(X, w, out)


def _add_transposed(X: Matrix, h: Float64Array, out: Float64Array) -> None:
    if is_sparse(X):
        out += X.T @ h
    else:
        add_transposed(X, h, out)


def _moments(X: Matrix) -> tuple[Float64Array, Float64Array]:
    if is_sparse(X):
        squares = np.bincount(
            X.indices, weights=np.square(X.data, dtype=float), minlength=X.shape[1]
        )
        return np.asarray(X.sum(axis=0, dtype=float)).ravel(), squares
    sums, squares = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    add_moments(X, sums, squares)
    if not np.isfinite(squares).all():  # float32 squares overflow long before float64 ones
        sums[:], squares[:] = 0.0, 0.0
        add_moments(X.astype(np.float64), sums, squares)
    return sums, squares


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
