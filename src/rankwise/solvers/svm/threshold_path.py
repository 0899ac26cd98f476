"""The path of a linear ordinal support vector machine along C, for all rows and for each fold.

Rows of equal features and class are merged, their weights of the thresholds added, and put in an
order that their content decides: the order of the input does not matter, and a weight is a
repetition. Each C starts from the dual values of the one before, times the ratio: values at their
bounds stay there. A large C is approached over smaller ones for the same reason, which takes fewer
passes than descent from nothing; where descent stalls all the same, Newton steps take over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from rankwise.groups import QueryGroups
from rankwise.losses.threshold_hinge import ThresholdHinge
from rankwise.metrics.measure import Measure
from rankwise.runtime.threads import single_threaded_blas, thread_imap
from rankwise.solvers.newton.merged_rows import MergedRows
from rankwise.solvers.svm.ordinal_path import measure_scores
from rankwise.solvers.svm.power_rows import PowerRows
from rankwise.solvers.svm.threshold_descent import ThresholdDescent, ThresholdSolution, solution_of
from rankwise.solvers.svm.threshold_newton import ThresholdNewton
from rankwise.typing import Float64Array, Int64Array, Matrix

Solver = Literal["auto", "descent", "newton"]
SOLVERS = ("auto", "descent", "newton")
# Passes after which "auto" takes Newton steps, unless these would have more columns than that.
PATIENCE, MOST_COLUMNS = 30, 2000
# C grows by at most this factor from one descent to the next; only the last needs all digits.
FACTOR, COARSE = 5.0, 1e-3


@dataclass(frozen=True, eq=False)
class ThresholdFit:
    """Solutions for every C.

    Attributes
    ----------
    solutions : list of ThresholdSolution
    thresholds : ndarray of shape (n_C, n_classes - 1)
        Scores at which classes change, ascending in each row.
    """

    solutions: list[ThresholdSolution]
    thresholds: Float64Array

    def scores(self, rows: PowerRows) -> Float64Array:
        """Scores of rows under every solution, shape (n_rows, n_C)."""
        return np.stack([rows.scores(solution.x) for solution in self.solutions], axis=1)


@dataclass(frozen=True, eq=False)
class ThresholdPath:
    """Hinges of margins to thresholds plus half a squared norm, for a grid of C.

    Attributes
    ----------
    merged : MergedRows
        Of equal features and class.
    y : ndarray of shape (n_samples,)
        Class numbers.
    weight : ndarray of shape (n_samples, n_classes - 1)
        Of every row and threshold.
    values : ndarray or CSR of shape (n_samples, n_columns / degree)
        Columns whose powers the model takes, in the order of ``y``.
    degree : int
    inverse : ndarray
        What columns are multiplied with before.
    squared : bool
    C : ndarray of shape (n_C,), ascending
    solver : {"auto", "descent", "newton"}
    tol : float
    max_iter : int
    """

    merged: MergedRows
    y: Float64Array
    weight: Float64Array
    values: Matrix
    degree: int
    inverse: Float64Array
    squared: bool
    C: Float64Array
    solver: str
    tol: float
    max_iter: int

    def fit(self) -> ThresholdFit:
        """Solutions for every C, from all rows."""
        return self._solve(np.arange(len(self.y)))

    def split_scores(
        self,
        measure: Measure,
        groups: QueryGroups,
        splits: Sequence[tuple[Int64Array, Int64Array]],
    ) -> Float64Array:
        """Mean of the measure on each split's test rows, shape (n_splits, n_C)."""

        def held_out(split: tuple[Int64Array, Int64Array]) -> Float64Array:
            train, test = split
            fit = self._solve(train)
            scores = fit.scores(self.rows(test))
            return measure_scores(measure, self.y[test], scores, fit.thresholds, groups.take(test))

        n_threads = None if len(self.y) > 500 else 1
        return np.stack(list(thread_imap(held_out, splits, n_threads)))

    def rows(self, which: Int64Array) -> PowerRows:
        """Some of the rows, with their powers."""
        return PowerRows(self.values, self.degree, self.inverse, which)

    def _solve(self, which: Int64Array) -> ThresholdFit:
        """Solutions for every C from some of the rows."""
        present, position = np.unique(self.merged.position[which], return_inverse=True)
        weight = np.empty((len(present), self.weight.shape[1]))
        for column, of_rows in zip(weight.T, self.weight[which].T, strict=True):
            column[:] = np.bincount(position, of_rows, len(present))
        taken = self.merged.rows[present]
        loss = ThresholdHinge(self.y[taken].astype(np.int64), weight, self.squared)
        with single_threaded_blas():
            solutions = self._path(loss, self.rows(taken))
        weighed = weight.sum(axis=0) > 0
        cuts = [sorted_thresholds(solution.theta, weighed) for solution in solutions]
        return ThresholdFit(solutions, np.stack(cuts))

    def _path(self, loss: ThresholdHinge, rows: PowerRows) -> list[ThresholdSolution]:
        solution = solution_of(loss, rows, np.zeros(loss.weight.shape), 0, self.tol)
        largest = float(loss.weight.max(initial=0.0))
        if largest == 0.0:
            return [solution] * len(self.C)
        # Below this C a first pass takes values to their bounds.
        last, solutions = 1.0 / (largest * (1.0 + float(rows.norms.mean()))), []
        for C in self.C.tolist():
            solution = self._approach(loss, rows, C, last, solution)
            last = C
            solutions.append(solution)
        return solutions

    def _approach(
        self, loss: ThresholdHinge, rows: PowerRows, C: float, last: float, start: ThresholdSolution
    ) -> ThresholdSolution:
        """Solution for C from one for ``last``, or from none."""
        may_step = self.solver == "auto" and rows.n_columns <= MOST_COLUMNS
        n_iter, at = 0, last
        if self.solver != "newton":
            n_more = max(0, int(np.ceil(np.log(C / last) / np.log(FACTOR))) - 1)
            most = min(PATIENCE, self.max_iter) if may_step else self.max_iter
            for here in [*(C / FACTOR**step for step in range(n_more, 0, -1)), C]:
                descent = ThresholdDescent(self.tol if here == C else max(self.tol, COARSE), most)
                start = descent.solve(loss.scaled(here), rows, start.alpha * (here / at))
                n_iter, at = n_iter + start.n_iter, here
                if may_step and not start.converged:
                    break
            if start.converged or not may_step:
                return replace(start, n_iter=n_iter)
        start = replace(start, alpha=start.alpha * (C / at))
        start = ThresholdNewton(self.tol, self.max_iter).solve(loss.scaled(C), rows, start)
        return replace(start, n_iter=n_iter + start.n_iter)


def sorted_thresholds(theta: Float64Array, weighed: Float64Array) -> Float64Array:
    """Ascending scores at which classes change.

    Parameters
    ----------
    theta : ndarray of shape (n_classes - 1,)
        What is added to the score for each threshold.
    weighed : ndarray of bool of shape (n_classes - 1,)
        Thresholds that some row counts for; the others take the place of the next one below, or
        else above.
    """
    known = np.flatnonzero(weighed)
    if not len(known):
        return np.zeros(len(theta))
    below = np.searchsorted(known, np.arange(len(theta)), side="right") - 1
    return np.sort(-theta[known[np.maximum(below, 0)]])
