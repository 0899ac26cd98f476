"""Coordinate ascent on a measure of linear scores: line searches over one weight at a time.

A ranking measure is a step function of the weights. A line search therefore tries weights at
geometrically growing distances and takes the best. Changing one weight adds a multiple of one
column to the scores.
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

    It ends when a sweep gains no more than ``tol`` in mean measure, or after ``max_iter`` sweeps.
    The weights apply to columns divided by their spread; constant columns keep a weight of 0.
    """

    def __init__(self, rows: MeasuredRows, tol: float, max_iter: int) -> None:
        self._rows, self._tol, self._max_iter = rows, tol, max_iter
        self._varying = np.flatnonzero(rows.spread > 0)

    def coef(self, weights: Float64Array) -> Float64Array:
        """Coefficients of the columns themselves."""
        return weights / np.where(self._rows.spread > 0, self._rows.spread, 1.0)

    def preferences(self) -> Float64Array:
        """Initial weights: how much better each column ranks ascending than descending."""

        def preference(j: int) -> float:
            column = self._rows.column(j)
            ends = self._rows.mean(column), self._rows.mean(-column)
            # Both ends are infinite if no query counts.
            return ends[0] - ends[1] if np.isfinite(ends).all() else 0.0

        weights = np.zeros(self._rows.n_columns)
        weights[self._varying] = self._rows.map(preference, self._varying.tolist())
        return weights

    def run(self, weights: Float64Array, rng: np.random.RandomState) -> Iterator[Sweep]:
        """Yield the given weights, then those after each sweep; the mean measure never falls.

        Each sweep visits the columns in a new random order. The search ends after a sweep that
        gains no more than the tolerance.
        """
        weights = _normalise(weights)
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
        weights = _normalise(weights)
        return Sweep(weights, self._rows.mean(self._rows.scores(self.coef(weights))))

    def _trials(self, weights: Float64Array, j: int) -> list[float]:
        """Candidate changes of a weight, smallest first; one of them sets the weight to 0."""
        size = float(np.abs(weights).max()) or 1.0
        either_way = np.stack([STEPS, -STEPS], axis=1).ravel() * size
        trials = np.append(either_way, -weights[j]) if weights[j] != 0 else either_way
        return trials[np.argsort(np.abs(trials), kind="stable")].tolist()


def _normalise(weights: Float64Array) -> Float64Array:
    """Weights scaled so that the largest magnitude is 1."""
    size = float(np.abs(weights).max(initial=0.0))
    return weights / size if size > 0 else weights
