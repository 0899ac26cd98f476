"""The path of a linear ordinal support vector machine along C, for all rows and for each fold.

Rows of equal features and class are merged and their threshold weights added. The merged rows are
ordered by content, so the input order does not matter, and a weight is equivalent to repetition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rankwise.groups import QueryGroups
from rankwise.losses.threshold_hinge import ThresholdHinge
from rankwise.metrics.measure import Measure
from rankwise.rows.fit_data import FitData
from rankwise.rows.merged_rows import MergedRows, merge_rows
from rankwise.runtime.threads import single_threaded_blas
from rankwise.solvers.svm.ordinal_path import measure_scores
from rankwise.solvers.svm.power_rows import PowerMap, PowerRows
from rankwise.solvers.svm.threshold_descent import ThresholdSolution
from rankwise.solvers.svm.threshold_solver import ThresholdSolver
from rankwise.tuning.penalty import Penalties
from rankwise.tuning.refit_path import RefitPath
from rankwise.typing import Float64Array, Int64Array, Matrix


@dataclass(frozen=True, eq=False)
class ThresholdFit:
    """Solutions for every C."""

    solutions: list[ThresholdSolution]
    # (n_C, n_classes - 1): scores at which classes change, ascending in each row
    thresholds: Float64Array
    source: ThresholdPath

    def attributes(self, index: int) -> dict[str, Any]:
        """Fitted attributes of the solution at one value of the grid."""
        solution, columns = self.solutions[index], self.source.design
        return {
            "scale_": columns.scale,
            "terms_": columns.terms,
            "coef_": solution.x,
            "thresholds_": self.thresholds[index],
            "objective_": solution.objective,
            "dual_objective_": solution.gap - solution.objective,
            "dual_gap_": solution.stop_value,
            "n_iter_": solution.n_iter,
        }

    def path(self) -> dict[str, Float64Array]:
        """All solutions, as ``path_`` holds them."""
        coef = np.stack([solution.x for solution in self.solutions])
        return {"coef": coef, "thresholds": self.thresholds}

    def shortfall(self, index: int, at: str) -> str:
        """How far the solver stopped from the solution; empty if it converged."""
        solution = self.solutions[index]
        if solution.converged:
            return ""
        return (
            f"stopped after {solution.n_iter} passes at {at}; the relative duality gap is "
            f"{solution.stop_value:.2g}, above tol={self.source.solver.tol:g}. Increase max_iter "
            "or tol, lower C, or set solver='newton'."
        )


@dataclass(frozen=True, eq=False)
class ThresholdPath(RefitPath[ThresholdFit]):
    """Hinges of margins to thresholds plus half a squared norm, for a grid of C.

    ``loss`` maps rows to the weight of every row and threshold, shape (n_samples, n_classes - 1).
    """

    rows: FitData
    design: PowerMap
    loss: Callable[[FitData], Float64Array]
    penalties: Penalties  # values of C, ascending
    squared: bool
    solver: ThresholdSolver

    @cached_property
    def _columns(self) -> PowerRows:
        return self.design(self.rows.X)

    @cached_property
    def _merged(self) -> MergedRows:
        rows = self.rows
        return merge_rows(rows.X, rows.y, QueryGroups.single(len(rows.y)), rows.sample_weight)

    @cached_property
    def _weight(self) -> Float64Array:
        weight, of_rows = self.loss(self.rows), self.rows.sample_weight
        return weight if of_rows is None else weight * of_rows[:, None]

    def _scores(self, fit: ThresholdFit, X: Matrix) -> Float64Array:
        return _scores_of_columns(fit, self.design(X))

    def _training_scores(self, fit: ThresholdFit, rows: Int64Array) -> Float64Array:
        return _scores_of_columns(fit, self._columns.take(rows))

    def _measure(
        self,
        fit: ThresholdFit,
        measure: Measure,
        y: Float64Array,
        scores: Float64Array,
        groups: QueryGroups,
    ) -> Float64Array:
        return measure_scores(measure, y, scores, fit.thresholds, groups)

    def _solve(self, rows: Int64Array) -> ThresholdFit:
        present, position = np.unique(self._merged.position[rows], return_inverse=True)
        weight = np.empty((len(present), self._weight.shape[1]))
        for column, of_rows in zip(weight.T, self._weight[rows].T, strict=True):
            # Of a fold's rows only: merged rows are those of all rows, found once for all folds.
            column[:] = np.bincount(position, of_rows, len(present))
        taken = self._merged.rows[present]
        loss = ThresholdHinge(self.rows.y[taken].astype(np.int64), weight, self.squared)
        with single_threaded_blas():
            solutions = self.solver.path(loss, self._columns.take(taken), self.penalties.values)
        # A threshold that no row pulls at stays at 0, which says nothing.
        weighed = weight.sum(axis=0) > 0
        cuts = [sorted_thresholds(solution.theta, weighed) for solution in solutions]
        return ThresholdFit(solutions, np.stack(cuts), self)


def _scores_of_columns(fit: ThresholdFit, columns: PowerRows) -> Float64Array:
    return np.stack([columns.scores(solution.x) for solution in fit.solutions], axis=1)


def sorted_thresholds(theta: Float64Array, weighed: Float64Array) -> Float64Array:
    """Ascending scores at which classes change.

    ``theta``, (n_classes - 1,), holds the offset of the score for each threshold. ``weighed``,
    (n_classes - 1,), marks thresholds that have at least one weighted row. The others take the
    value of the next one below or, failing that, above.
    """
    known = np.flatnonzero(weighed)
    if not len(known):
        return np.zeros(len(theta))
    below = np.searchsorted(known, np.arange(len(theta)), side="right") - 1
    # They may come out of order; sorted, each score has one class.
    return np.sort(-theta[known[np.maximum(below, 0)]])
