"""Paths that measure held-out rows by solving again without them."""

from __future__ import annotations

from typing import Any, Generic

import numpy as np

from rankwise.groups import QueryGroups
from rankwise.metrics.measure import Measure
from rankwise.rows.fit_data import FitData
from rankwise.runtime.threads import thread_imap
from rankwise.tuning.folds import cv_splits
from rankwise.tuning.held_out import mean_measure
from rankwise.tuning.penalty_search import Fit
from rankwise.typing import Float64Array, Int64Array, Matrix

# Up to this number of rows, threads cost more time than they save.
FEW_ROWS = 500


class RefitPath(Generic[Fit]):
    """Base of paths of iterative solvers.

    A subclass defines ``_solve`` and ``_scores``, and overrides the others where the solutions have
    more than scores, or where scores of training rows need no new kernel values.
    """

    rows: FitData

    def solve(self) -> Fit:
        """Solutions for every penalty, from all rows."""
        return self._solve(np.arange(len(self.rows.y)))

    def validate(self, measure: Measure, rows: FitData) -> tuple[Fit, Float64Array]:
        """Solutions on all rows, measured on validation rows."""
        fit = self.solve()
        scores = self._scores(fit, rows.X)
        return fit, self._measure(fit, measure, rows.y, scores, rows.groups)[None]

    def cross_validate(self, measure: Measure, cv: Any) -> tuple[Fit, Float64Array]:
        """Solutions on all rows, measured by cross-validation; each split is refitted."""
        fit, rows = self.solve(), self.rows

        def held_out(split: tuple[Int64Array, Int64Array]) -> Float64Array:
            train, test = split
            part = self._solve(train)
            scores = self._training_scores(part, test)
            return self._measure(part, measure, rows.y[test], scores, rows.groups.take(test))

        n_threads = None if self._on_threads and len(rows.y) > FEW_ROWS else 1
        return fit, np.stack(list(thread_imap(held_out, cv_splits(cv, rows), n_threads)))

    @property
    def _on_threads(self) -> bool:
        """Whether splits may be solved in parallel."""
        return True

    def _solve(self, rows: Int64Array) -> Fit:
        """Solutions for every penalty, from some of the rows."""
        raise NotImplementedError(f"{type(self).__name__} must define _solve.")

    def _scores(self, fit: Fit, X: Matrix) -> Float64Array:
        """Scores of new rows under every solution, shape (n_rows, n_values)."""
        raise NotImplementedError(f"{type(self).__name__} must define _scores.")

    def _training_scores(self, fit: Fit, rows: Int64Array) -> Float64Array:
        """Scores of some of the training rows."""
        return self._scores(fit, self.rows.X[rows])

    def _measure(
        self, fit: Fit, measure: Measure, y: Float64Array, scores: Float64Array, groups: QueryGroups
    ) -> Float64Array:
        """Mean of the measure for every solution, shape (n_values,)."""
        return mean_measure(measure, y, scores, groups)
