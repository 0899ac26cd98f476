"""Boosting of ordinal margins: exact steps and exact thresholds (ORBoost [1]_).

Every round weighs the rows by the derivative of the loss at the best thresholds. It takes the base
learner h in {-1, 1} that agrees most with the weights and adds ``log(agree / disagree) / 2`` times
h to the score. ``agree`` and ``disagree`` are the sums of the loss terms whose margins grow and
shrink. Then the thresholds are solved again. The loss falls in every round. A constant base learner
agrees as much as it disagrees, because the thresholds are at their optimum.

Row n of class y_n (0 to K - 1), weight w_n and score H_n has the margin ``rho_nk = H_n - theta_k``
at the thresholds below its class and ``theta_k - H_n`` at those above. The loss is
``sum_n w_n sum_k exp(-rho_nk)`` over all thresholds k ("all") or over the two next to the class
("lr", left and right). The loss and its optimal thresholds depend on the scores only through
``sum w exp(H)`` and ``sum w exp(-H)`` over each class.

References
----------
.. [1] Lin & Li, "Large-margin thresholded ensembles for ordinal regression: theory and practice",
   Algorithmic Learning Theory (2006).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.kernels.boosting_rounds import (
    advance_rows,
    read_sums,
    solve_thresholds,
    unit_scale,
    write_weights,
)
from rankwise.runtime.threads import thread_map
from rankwise.solvers.boosting.rounds import SLACK, RowWeights, State
from rankwise.typing import Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class BestThresholds:
    """Thresholds that minimise the loss, with the loss and its slopes.

    The derivative of the loss for a step h in {-1, 1} of a row of class y is
    ``-h w (up[y] exp(-H) - down[y] exp(H))``. The two terms are the row's loss at the thresholds
    below and above its class.
    """

    # (n_classes - 1,), ascending: -inf if no row is below the threshold, inf if no row is above it
    thresholds: Float64Array
    loss: float
    up: Float64Array  # (n_classes,), as ``down``
    down: Float64Array

    def finite(self, bound: float) -> Float64Array:
        """Thresholds, with infinite ones set beyond ``bound``, which no score exceeds."""
        return np.clip(self.thresholds, -1.0 - bound, 1.0 + bound)


def best_thresholds(sums: Float64Array, form: str) -> BestThresholds:
    """Minimise the loss over the thresholds, in O(n_classes).

    ``sums`` (2, n_classes) holds ``sum w exp(H)`` and ``sum w exp(-H)`` over the rows of each
    class. For the form "all", ``theta_k = log(sum_{y <= k} w exp(H) / sum_{y > k} w exp(-H)) / 2``.
    For "lr", the two sums cover only the classes k and k + 1, and thresholds that are out of order
    are pooled by adding their sums.
    """
    n_classes = sums.shape[1]
    thresholds, up, down = np.empty(n_classes - 1), np.empty(n_classes), np.empty(n_classes)
    loss = solve_thresholds(sums, form == "lr", thresholds, up, down)
    return BestThresholds(thresholds, loss, up, down)


ROWS_AT_ONCE = 131_072
# That of a base learner without mistakes, 14.2.
LARGEST_STEP = 0.5 * math.log((2.0 - SLACK) / SLACK)
# Of P and Q, weights of 1 times exp of a score: near the end of the numbers.
LARGEST = 1e290


class MarginBoosting:
    """The state of boosting on training rows, class by class, for the form "all" or "lr".

    Class k has the rows ``class_ptr[k]:class_ptr[k + 1]``; ``weight`` is (n_rows,), >= 0. The
    attribute ``thresholds``, (n_classes - 1,), holds the best ones for the scores so far. They are
    finite: if one side has no rows, the threshold lies beyond every score.
    """

    def __init__(self, class_ptr: Int64Array, weight: Float64Array, form: str) -> None:
        self._class_ptr, self._form = class_ptr, form
        # Weights near 1 leave the exponentials their range; by a power of two no digit changes.
        self._unit = 2.0 ** math.frexp(float(weight.max(initial=0.0)))[1]
        weight = weight / self._unit
        self._P, self._Q = weight, weight.copy()
        self._parts = [
            (start, min(start + ROWS_AT_ONCE, len(weight)))
            for start in range(0, len(weight), ROWS_AT_ONCE)
        ]
        # reduceat gives an empty class the next row, hence the appended 0 and the line after.
        by_class = np.add.reduceat(np.append(weight, 0.0), class_ptr[:-1])
        by_class[np.diff(class_ptr) == 0] = 0.0
        self._sums = np.stack([by_class, by_class])
        self._u = np.empty(len(weight), dtype=np.int64)
        self._reach = 0.0  # no score is larger
        self._perfect = False
        self._advance(np.zeros(len(weight), dtype=bool), 0.0)

    @property
    def thresholds(self) -> Float64Array:
        """Best thresholds for the scores so far."""
        return self._best.finite(self._reach)

    @property
    def loss(self) -> float:
        """Loss at these thresholds."""
        return self._unit * self._best.loss

    @property
    def state(self) -> State:
        """Loss and thresholds."""
        return State(self.loss, self.thresholds)

    def weigh(self) -> RowWeights | None:
        """Signed weights of all rows.

        None if the last base learner made no mistake, or if the exponentials of the scores are
        about to leave the floating-point range.
        """
        best = self._best
        # The scan of all rows is needed only where exp(reach) may exceed exp(600) = 1e260.
        leaves_range = self._reach > 600.0 and max(self._P.max(), self._Q.max()) > LARGEST
        if not best.loss > 0.0 or self._perfect or leaves_range:
            return None

        def weigh(part: tuple[int, int]) -> int:
            return write_weights(
                self._P, self._Q, self._class_ptr, best.up, best.down, best.loss, *part, self._u
            )

        total = int(sum(thread_map(weigh, self._parts)))
        return self._u, total, best.loss * unit_scale(best.loss)

    def take(self, side: NDArray[np.bool_], edge: float) -> float:
        """Add a base learner with its best step."""
        step = LARGEST_STEP  # where nothing disagrees
        if edge < 1.0 - SLACK:
            step = 0.5 * math.log((1.0 + edge) / (1.0 - edge))
        self.add(side, step)
        return step

    def add(self, side: NDArray[np.bool_], step: float) -> None:
        """Add ``step`` to the scores of the rows of ``side`` and take it from the others."""
        before = self._best.loss
        self._reach += step
        self._advance(side, step)
        # The step leaves exp(-step) of what agrees: of all the loss, but for twice as much at most
        # by the slack, where nothing disagrees.
        left = 4.0 * math.exp(-step) * before
        self._perfect = step >= LARGEST_STEP and self._best.loss <= left

    def _advance(self, side: NDArray[np.bool_], step: float) -> None:
        def advance(part: tuple[int, int]) -> Int64Array:
            totals = np.zeros(self._sums.shape, dtype=np.int64)
            advance_rows(self._P, self._Q, side, step, self._class_ptr, self._sums, *part, totals)
            return totals

        totals = sum(thread_map(advance, self._parts))
        read_sums(totals, step, self._sums)
        self._best: BestThresholds = best_thresholds(self._sums, self._form)


def class_order(y: Float64Array, n_classes: int) -> tuple[Int64Array, Int64Array]:
    """Rows sorted by class (numbers 0, 1, …), and the position at which each class begins."""
    codes: Any = y.astype(np.int64)
    rows = np.argsort(codes, kind="stable").astype(np.int64)
    counts = np.bincount(codes, minlength=n_classes)
    return rows, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
