"""Linear scores with thresholds by Newton steps on smoothed hinges.

The problem is that of :mod:`rankwise.solvers.svm.threshold_descent`. Each round maximises the dual
minus ``(bend / 2) |alpha - centre|^2 / w`` and makes the maximiser the new centre [1]_. For the
weights and thresholds, this means minimising hinges that are smoothed around the margin. They are
twice differentiable except at kinks, and Newton steps with a line search find the minimum. A round
ends when the gradient is below the movement of the dual values. The squared hinge needs no
smoothing and one round. The number of steps does not grow with C, whereas coordinate descent slows
down.

Complexity: a step is O(N (D + K) + a D^2 + D^3) for D columns and a rows near the margins.

References
----------
.. [1] Rockafellar, "Augmented Lagrangians and applications of the proximal point algorithm in
   convex programming", Mathematics of Operations Research 1 (1976).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from rankwise.losses.threshold_hinge import BentHinge, ThresholdHinge
from rankwise.runtime.threads import thread_imap
from rankwise.solvers.svm.power_rows import PowerRows
from rankwise.solvers.svm.threshold_descent import ThresholdSolution, solution_of
from rankwise.typing import Float64Array

FIRST_BEND = 0.1  # of the margin; 0.03 to 1 measured as equally good
SMALLEST_BEND = 1e-8
SLOW, SHARPER = 0.3, 0.3  # sharper where a round leaves more than SLOW of the gap
MOVED_SHARE = 0.5  # of the movement that the gradient may be
NOTHING = 1e-13  # a gradient of this share of the weights is rounding
SLOPE_LEFT, HALVINGS = 0.1, 40
BLOCK_ROWS = 1024


@dataclass(frozen=True)
class ThresholdNewton:
    """Proximal Newton steps."""

    tol: float  # duality gap to reach, as a share of the objective
    max_iter: int  # Newton steps

    def solve(
        self, loss: ThresholdHinge, rows: PowerRows, start: ThresholdSolution
    ) -> ThresholdSolution:
        """Solution that starts from another one for the same rows, with feasible dual values."""
        centre, bend = start.alpha, 0.0 if loss.squared else FIRST_BEND
        point = _ThresholdPoint.at(loss, rows, start.x, start.theta, centre, bend)
        n_iter, last_gap, fresh = 0, np.inf, True
        while True:
            if point.gap <= self.tol * point.objective or n_iter >= self.max_iter:
                solution = solution_of(loss, rows, point.hinge.alpha, n_iter, self.tol)
                if solution.converged or n_iter >= self.max_iter:
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
                point = point.moved_to(point.place, point.scores, centre, bend)
                continue
            point, fresh = _step(point, centre, bend), False
            n_iter += 1


@dataclass(frozen=True, eq=False)
class _ThresholdPoint:
    """Weights and thresholds, with their smoothed loss."""

    loss: ThresholdHinge
    rows: PowerRows
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
        w: Float64Array,
        theta: Float64Array,
        centre: Float64Array,
        bend: float,
    ) -> _ThresholdPoint:
        scores = rows.scores(w)
        return cls._at(loss, rows, np.concatenate([w, theta]), scores, centre, bend)

    def moved_to(
        self, place: Float64Array, scores: Float64Array, centre: Float64Array, bend: float
    ) -> _ThresholdPoint:
        return self._at(self.loss, self.rows, place, scores, centre, bend)

    @classmethod
    def _at(
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
        return cls(loss, rows, place, scores, hinge, place - of_dual, objective, gap)


def _step(point: _ThresholdPoint, centre: Float64Array, bend: float) -> _ThresholdPoint:
    """Take a Newton step, extended while the slope along it is far below zero."""
    D = point.rows.n_columns
    step = -cho_solve(cho_factor(_hessian(point), lower=True), point.gradient)
    score_step = point.rows.scores(step[:D])
    first_slope = float(point.gradient @ step)
    length, low, high = 1.0, 0.0, 0.0
    for _ in range(HALVINGS):
        place, scores = point.place + length * step, point.scores + length * score_step
        hinge = point.loss.bent(scores, place[D:], centre, bend)
        along = float(hinge.signed @ score_step) + float(hinge.thresholds @ step[D:])
        slope = float(place @ step) - along
        # Flat enough; or still falling after a full step, from where the next one goes on.
        if abs(slope) <= -SLOPE_LEFT * first_slope or (slope < 0 and high == 0.0):
            break
        low, high = (low, length) if slope > 0 else (length, high)
        length = 0.5 * (low + high)
    return point.moved_to(
        point.place + length * step, point.scores + length * score_step, centre, bend
    )


def _hessian(point: _ThresholdPoint) -> Float64Array:
    """Second derivative of the smoothed problem; at least the lower triangle is filled."""
    D, n_thresholds = point.rows.n_columns, point.hinge.curvature.shape[1]
    H = np.zeros((D + n_thresholds, D + n_thresholds))
    near = np.flatnonzero(point.hinge.curvature.any(axis=1))

    def part(first: int) -> tuple[Float64Array, Float64Array]:
        which = near[first : first + BLOCK_ROWS]
        curvature, Z = point.hinge.curvature[which], point.rows.expanded(which)
        mixed = curvature.T @ Z
        # One product Z'Z: all thresholds of a row share its columns.
        Z *= np.sqrt(curvature.sum(axis=1))[:, None]
        return Z.T @ Z, mixed

    blocks = range(0, len(near), BLOCK_ROWS)
    for square, mixed in thread_imap(part, blocks, None if len(near) * D > 1e5 else 1):
        H[:D, :D] += square
        H[D:, :D] += mixed
    H.flat[:: len(H) + 1] += 1.0
    H[range(D, len(H)), range(D, len(H))] += point.hinge.curvature.sum(axis=0)
    return H
