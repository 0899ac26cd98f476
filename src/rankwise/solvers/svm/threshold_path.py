"""The path of a linear ordinal support vector machine along C, for all rows and for each fold.

Rows of equal features and class are merged and their threshold weights added. The merged rows are
ordered by content, so the input order does not matter, and a weight is equivalent to repetition.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.groups import QueryGroups
from rankwise.losses.threshold_hinge import ThresholdHinge
from rankwise.rows.fit_data import FitData
from rankwise.rows.merged_rows import MergedRows, merge_rows
from rankwise.runtime.threads import single_threaded_blas
from rankwise.solvers.svm.ordinal_path import measure_scores
from rankwise.solvers.svm.power_rows import PowerMap, PowerRows
from rankwise.solvers.svm.threshold_descent import ThresholdSolution
from rankwise.solvers.svm.threshold_solver import ThresholdSolver
from rankwise.tuning.penalty_search import PenaltySearch
from rankwise.typing import Float64Array, Int64Array


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
    data : FitData
    map : PowerMap
    rows : PowerRows
        The mapped rows of ``data``.
    merged : MergedRows
        Groups of rows of equal features and class.
    weight : ndarray of shape (n_samples, n_classes - 1)
        Weight of every row and threshold.
    squared : bool
    C : ndarray of shape (n_C,), ascending
    solver : ThresholdSolver
    """

    data: FitData
    map: PowerMap
    rows: PowerRows
    merged: MergedRows
    weight: Float64Array
    squared: bool
    C: Float64Array
    solver: ThresholdSolver

    @staticmethod
    def of(
        data: FitData,
        map: PowerMap,
        weight: Float64Array,
        squared: bool,
        C: Float64Array,
        solver: ThresholdSolver,
    ) -> ThresholdPath:
        """The path of mapped rows; ``weight`` holds threshold weights without row weights."""
        if data.sample_weight is not None:
            weight = weight * data.sample_weight[:, None]
        merged = merge_rows(data.X, data.y, QueryGroups.single(len(data.y)), data.sample_weight)
        return ThresholdPath(data, map, map(data.X), merged, weight, squared, C, solver)

    def fit(self, search: PenaltySearch) -> tuple[ThresholdFit, Float64Array | None]:
        """Solutions on all rows for every C, and the search's measures of held-out rows."""
        data, measure = self.data, search.measure
        fit = self._solve(np.arange(len(data.y)))

        def validated(new: FitData) -> Float64Array:
            scores = fit.scores(self.map(new.X))
            return measure_scores(measure, new.y, scores, fit.thresholds, new.groups)

        def refitted(train: Int64Array, test: Int64Array) -> Float64Array:
            part, groups = self._solve(train), data.groups.take(test)
            scores = part.scores(self.rows.take(test))
            return measure_scores(measure, data.y[test], scores, part.thresholds, groups)

        return fit, search.held_out(data, validated, refitted)

    def _solve(self, which: Int64Array) -> ThresholdFit:
        """Solutions for every C from some of the rows."""
        present, position = np.unique(self.merged.position[which], return_inverse=True)
        weight = np.empty((len(present), self.weight.shape[1]))
        for column, of_rows in zip(weight.T, self.weight[which].T, strict=True):
            column[:] = np.bincount(position, of_rows, len(present))
        taken = self.merged.rows[present]
        loss = ThresholdHinge(self.data.y[taken].astype(np.int64), weight, self.squared)
        with single_threaded_blas():
            solutions = self.solver.path(loss, self.rows.take(taken), self.C)
        weighed = weight.sum(axis=0) > 0
        cuts = [sorted_thresholds(solution.theta, weighed) for solution in solutions]
        return ThresholdFit(solutions, np.stack(cuts))


def sorted_thresholds(theta: Float64Array, weighed: Float64Array) -> Float64Array:
    """Ascending scores at which classes change.

    Parameters
    ----------
    theta : ndarray of shape (n_classes - 1,)
        Offset of the score for each threshold.
    weighed : ndarray of bool of shape (n_classes - 1,)
        Thresholds that have at least one weighted row. The others take the value of the next one
        below or, failing that, above.
    """
    known = np.flatnonzero(weighed)
    if not len(known):
        return np.zeros(len(theta))
    below = np.searchsorted(known, np.arange(len(theta)), side="right") - 1
    return np.sort(-theta[known[np.maximum(below, 0)]])
