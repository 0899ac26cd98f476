"""Newton's method for a cumulative link model: all coefficients and thresholds at once.

Minimises ``(1/W) sum_n loss_n(z_n.u, theta) + u' diag(penalty) u / 2`` over u and ascending theta,
where W is the sum of the weights. The loss is convex in both, so a full Newton step is taken unless
it crosses thresholds or does not lower the objective; then it is halved. The Hessian is dense: O(N
D^2 + D^3) per step for D = n_columns + n_thresholds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from rankwise.losses.cumulative_link import CumulativeLinkLoss, IntervalTerms, start_thresholds
from rankwise.runtime.threads import single_threaded_blas, thread_map
from rankwise.solvers.newton.standard_columns import StandardColumns, compute_weighted_gram
from rankwise.typing import Float64Array

SUFFICIENT_DECREASE = 1e-4
MOST_HALVINGS = 60
# A decrease, as a share of the objective, that rounding hides.
ROUNDING = 1e-13
# If this many steps in a row lower the mean loss by less than FLAT but are longer than the
# tolerance, the solution diverges. Near a finite minimum, steps shrink quadratically.
FLAT, MOST_FLAT_STEPS = 1e-13, 5


@dataclass(frozen=True, eq=False)
class CumulativeSolution:
    """Point at which the solver stopped."""

    u: Float64Array  # (n_columns,)
    thresholds: Float64Array  # (n_thresholds,), ascending
    value: float  # the objective
    loss: float  # sum of the losses, not divided by W
    n_iter: int
    step: float  # largest change of a score or a threshold by the last step
    converged: bool  # whether `step` is at most the tolerance


@dataclass(frozen=True, eq=False)
class CumulativeNewton:
    """The solver."""

    tol: float  # step size at which iteration ends; the remaining error is about its square
    max_iter: int

    def start(self, columns: StandardColumns, loss: CumulativeLinkLoss) -> CumulativeSolution:
        """Scores of 0 and the thresholds that fit them."""
        theta = start_thresholds(loss.link, np.bincount(loss.codes, loss.weight))
        return CumulativeSolution(
            np.zeros(columns.n_columns), theta, np.inf, np.inf, 0, np.inf, False
        )

    def solve(
        self,
        columns: StandardColumns,
        loss: CumulativeLinkLoss,
        penalty: Float64Array,
        start: CumulativeSolution,
    ) -> CumulativeSolution:
        """Take steps from ``start``; the steps that led to ``start`` are not counted.

        Without a penalty the steps end early if the loss has no minimum, see ``FLAT``.
        """
        problem = _Problem(columns, loss, penalty)
        with single_threaded_blas():
            u, theta = start.u, start.thresholds
            point, step = problem.at(columns.scores(u), u, theta), np.inf
            n_iter, n_flat, converged = 0, 0, False
            while n_iter < self.max_iter and not converged and n_flat < MOST_FLAT_STEPS:
                grad, hessian = problem.derivatives(point)
                move = _solve(hessian, -grad)
                if move is None:
                    break
                along, theta_move = columns.scores(move[: len(u)]), move[len(u) :]
                slope = float(grad @ move)
                taken = problem.search(point, move, along, theta_move, slope)
                if taken is None:
                    break
                share, point = taken
                n_iter += 1
                step = share * max(np.abs(along).max(), np.abs(theta_move).max())
                # A shortened step may be small without being near the minimum.
                converged = share == 1.0 and step <= self.tol
                n_flat = n_flat + 1 if slope > -FLAT and not penalty.any() else 0
        total = float(loss.weight.sum())
        return CumulativeSolution(
            point.u, point.theta, point.value, total * point.loss, n_iter, step, converged
        )

    def covariance(
        self, columns: StandardColumns, loss: CumulativeLinkLoss, solution: CumulativeSolution
    ) -> Float64Array | None:
        """Inverse of the observed information of (u, theta) without a penalty; None: singular."""
        problem = _Problem(columns, loss, np.zeros(columns.n_columns))
        with single_threaded_blas():
            u, theta = solution.u, solution.thresholds
            _, hessian = problem.derivatives(problem.at(columns.scores(u), u, theta))
        scale = _diagonal_scale(hessian)
        factor = _factor(hessian, scale)
        if factor is None:
            return None
        inverse = cho_solve((factor, True), np.eye(len(factor)))
        return scale[:, None] * inverse * scale / float(loss.weight.sum())


@dataclass(frozen=True, eq=False)
class _CumulativePoint:
    """Scores and thresholds, with the objective value and the derivatives of every chunk."""

    scores: Float64Array
    u: Float64Array
    theta: Float64Array
    loss: float
    value: float
    terms: list[IntervalTerms]


@dataclass(frozen=True, eq=False)
class _Problem:
    columns: StandardColumns
    loss: CumulativeLinkLoss
    penalty: Float64Array

    def at(self, scores: Float64Array, u: Float64Array, theta: Float64Array) -> _CumulativePoint:
        def of_rows(bounds: tuple[int, int]) -> IntervalTerms:
            rows = slice(*bounds)
            part = replace(self.loss, codes=self.loss.codes[rows], weight=self.share[rows])
            return part.terms(scores[rows], theta)

        terms = thread_map(of_rows, self.columns.bounds, self.columns.n_threads)
        loss = float(sum(part.value.sum() for part in terms))
        value = loss + 0.5 * float(self.penalty @ u**2)
        return _CumulativePoint(scores, u, theta, loss, value, terms)

    @property
    def share(self) -> Float64Array:
        """Weights that sum to 1."""
        return self.loss.weight / self.loss.weight.sum()

    def derivatives(self, point: _CumulativePoint) -> tuple[Float64Array, Float64Array]:
        """Gradient and Hessian by (u, theta)."""
        d, n_ends = self.columns.n_columns, len(point.theta) + 2
        codes = self.loss.codes

        def of_chunk(number: int) -> tuple[Float64Array, Float64Array]:
            Z, terms = self.columns.chunks[number], point.terms[number]
            classes = codes[slice(*self.columns.bounds[number])]
            grad, hessian = np.zeros(d + n_ends), np.zeros((d + n_ends, d + n_ends))
            # Ends of the intervals: -inf, the thresholds, inf; the outer two fall away at the end.
            first, last = int(classes.min()), int(classes.max()) + 2
            rows, here = np.arange(len(classes)), classes - first
            # Only the ends of classes in the chunk: few if the rows are sorted by class.
            cross = np.zeros((len(classes), last - first))
            cross[rows, here + 1] = -(terms.upper_upper + terms.upper_lower)
            cross[rows, here] = -(terms.lower_lower + terms.upper_lower)
            grad[:d] = Z.T @ terms.by_score
            hessian[:d, :d] = compute_weighted_gram(Z, terms.score_score)
            hessian[:d, d + first : d + last] = Z.T @ cross
            for classes_end, by, twice in (
                (classes + 1, terms.by_upper, terms.upper_upper),
                (classes, terms.by_lower, terms.lower_lower),
            ):
                grad[d:] += np.bincount(classes_end, by, n_ends)
                place = np.arange(d, d + n_ends)
                hessian[place, place] += np.bincount(classes_end, twice, n_ends)
            place = np.arange(d, d + n_ends - 1)
            hessian[place, place + 1] += np.bincount(classes, terms.upper_lower, n_ends - 1)
            return grad, hessian

        grad, hessian = self.columns.sum_of(of_chunk)
        kept = np.r_[:d, d + 1 : d + n_ends - 1]
        grad, hessian = grad[kept], hessian[np.ix_(kept, kept)]
        # The blocks above wrote the upper triangle only.
        hessian = np.triu(hessian) + np.triu(hessian, 1).T
        grad[:d] += self.penalty * point.u
        hessian[np.arange(d), np.arange(d)] += self.penalty
        return grad, hessian

    def search(
        self,
        point: _CumulativePoint,
        move: Float64Array,
        along: Float64Array,
        theta_move: Float64Array,
        slope: float,
    ) -> tuple[float, _CumulativePoint] | None:
        """Largest share of a step (1, 1/2, ...) that keeps order and lowers the objective."""
        share, slack = 1.0, ROUNDING * abs(point.value)
        for _ in range(MOST_HALVINGS):
            theta = point.theta + share * theta_move
            # Equal or crossed thresholds would leave a class without probability.
            if (np.diff(theta) > 0).all():
                u = point.u + share * move[: len(point.u)]
                there = self.at(point.scores + share * along, u, theta)
                # Near the minimum the decrease is below the rounding of the value: the slack lets
                # such steps pass.
                limit = point.value + SUFFICIENT_DECREASE * share * slope + slack
                if there.value <= limit:
                    return share, there
            share *= 0.5
        return None


def _solve(hessian: Float64Array, right: Float64Array) -> Float64Array | None:
    """Solution with a positive definite matrix; None if it is not numerically definite."""
    scale = _diagonal_scale(hessian)
    factor = _factor(hessian, scale)
    if factor is None:
        return None
    return scale * cho_solve((factor, True), scale * right)


def _diagonal_scale(hessian: Float64Array) -> Float64Array:
    diagonal = hessian.diagonal()
    return np.divide(
        1.0, np.sqrt(np.maximum(diagonal, 0.0)), out=np.zeros(len(diagonal)), where=diagonal > 0
    )


def _factor(hessian: Float64Array, scale: Float64Array) -> Float64Array | None:
    """Cholesky factor of the matrix with a unit diagonal."""
    try:
        return cho_factor(scale[:, None] * hessian * scale, lower=True, check_finite=False)[0]
    except np.linalg.LinAlgError:
        return None
