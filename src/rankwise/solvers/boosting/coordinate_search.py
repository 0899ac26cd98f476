"""Coordinate ascent on a measure of linear scores: line searches of one weight after the other.

A measure of rankings is a step function of the weights, so a line search tries weights at
distances that grow by a factor, and takes the best. Scores change by a multiple of one column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rankwise.solvers.boosting.measured_rows import MeasuredRows
from rankwise.typing import Float64Array

# Steps as shares of the largest weight: 0.01, 0.02, ..., 5.12, in both directions.
STEPS = 0.01 * 2.0 ** np.arange(10)
ROUNDING = 1e-12  # gains that are none


@dataclass(frozen=True, eq=False)
class Sweep:
    """Weights after a sweep over all columns, and the mean measure under them."""

    weights: Float64Array
    value: float


class CoordinateSearch:
    """Coordinate ascent on measured rows.

    Parameters
    ----------
    rows : MeasuredRows
        Weights are for columns divided by their spread; constant columns keep a weight of 0.
    tol : float >= 0
        Least gain of the mean measure in a sweep.
    max_iter : int
        Sweeps.
    """

    def __init__(self, rows: MeasuredRows, tol: float, max_iter: int) -> None:
        self._rows, self._tol, self._max_iter = rows, tol, max_iter
        self._varying = np.flatnonzero(rows.spread > 0)

    def coef(self, weights: Float64Array) -> Float64Array:
        """Coefficients of the columns themselves."""
        return weights / np.where(self._rows.spread > 0, self._rows.spread, 1.0)

    def preferences(self) -> Float64Array:
        """Weights to begin with: how much better each column ranks ascending than descending."""

        def preference(j: int) -> float:
            column = self._rows.column(j)
            ends = self._rows.mean(column), self._rows.mean(-column)
            return ends[0] - ends[1] if np.isfinite(ends).all() else 0.0

        weights = np.zeros(self._rows.n_columns)
        weights[self._varying] = self._rows.map(preference, self._varying.tolist())
        return weights

    def run(self, weights: Float64Array, rng: np.random.RandomState) -> Iterator[Sweep]:
        """The weights as given, then after each sweep; the mean measure never falls.

        Columns come in a random order, anew in each sweep. Ends after a sweep that gains no more
        than the tolerance.
        """
        weights = _normalised(weights)
        before = self._rows.mean(self._rows.scores(self.coef(weights)))
        yield Sweep(weights, before)
        for _ in range(self._max_iter):
            after = self._sweep(weights, before, rng.permutation(self._varying))
            # Decisions that depend on the last digits of the scores, such as ties, may differ.
            if not after.value >= before:
                return
            yield after
            if not after.value > before + self._tol:
                return
            weights, before = after.weights, after.value

    def _sweep(self, weights: Float64Array, value: float, order: Float64Array) -> Sweep:
        weights = weights.copy()
        scores = self._rows.scores(self.coef(weights))
        for j in order.tolist():
            column = self._rows.column(j) / self._rows.spread[j]
            trials = self._trials(weights, j)
            values = np.array(
                self._rows.map(
                    lambda step, scores=scores, column=column: self._rows.mean(
                        scores + step * column
                    ),
                    trials,
                )
            )
            best = int(values.argmax())  # the first of equal ones: the smallest step
            if values[best] > value + ROUNDING:
                value = float(values[best])
                scores = scores + trials[best] * column
                weights[j] += trials[best]
        weights = _normalised(weights)
        return Sweep(weights, self._rows.mean(self._rows.scores(self.coef(weights))))

    def _trials(self, weights: Float64Array, j: int) -> list[float]:
        """Changes of a weight, small ones first; among them the one that leaves the column out."""
        size = float(np.abs(weights).max()) or 1.0
        either_way = np.stack([STEPS, -STEPS], axis=1).ravel() * size
        trials = np.append(either_way, -weights[j]) if weights[j] != 0 else either_way
        return trials[np.argsort(np.abs(trials), kind="stable")].tolist()


def _normalised(weights: Float64Array) -> Float64Array:
    """Weights of which the largest is 1 or -1."""
    size = float(np.abs(weights).max(initial=0.0))
    return weights / size if size > 0 else weights
