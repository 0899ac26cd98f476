"""The path of a squared loss whose coefficients are bounded below by zero.

With ``G = Phi' L Phi`` and ``g = Phi' L y`` the minimiser of ``b' (G + I/C) b - 2 g'b`` over b >= 0
also minimises ``|R b - R^-T g|^2`` for any ``R'R = G + I/C``. This is a square non-negative
least-squares problem, solved by the active-set method of Lawson and Hanson.

References
----------
.. [1] Lawson & Hanson, "Solving least squares problems", 1974, chapter 23.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy.optimize import nnls

from rankwise.losses.squared_loss import Problem, SquaredLoss
from rankwise.metrics.measure import Measure
from rankwise.rows.fit_data import FitData
from rankwise.solvers.least_squares.design import Design, draw_grams
from rankwise.solvers.least_squares.eigen_path import RELATIVE_CUT
from rankwise.solvers.least_squares.gram import Gram, total
from rankwise.solvers.least_squares.path_selection import (
    PathFit,
    measure_held_out,
    measure_validation,
)
from rankwise.tuning.folds import DEFAULT_FOLDS, cv_splits, deal_queries
from rankwise.tuning.penalty import Penalties
from rankwise.typing import Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class NonNegativePath:
    """A squared loss on the columns of a design with coefficients >= 0, for a grid of penalties."""

    rows: FitData
    design: Design  # statistics of one draw
    loss: SquaredLoss  # without an intercept
    penalties: Penalties

    def solve(self) -> PathFit:
        """Solutions for every penalty, from all rows."""
        (grams,) = draw_grams(self.design, self._problem, None)
        return PathFit(self.design, [self._coef(total(grams))])

    def validate(self, measure: Measure, rows: FitData) -> tuple[PathFit, Float64Array]:
        """Solutions on all rows, measured on validation rows."""
        fit = self.solve()
        return fit, measure_validation(self.design, fit.coefs, measure, rows)

    def cross_validate(self, measure: Measure, cv: Any) -> tuple[PathFit, Float64Array]:
        """Solutions on all rows, measured by cross-validation.

        An integer ``cv`` gives folds of queries, or folds of rows if there are fewer queries than
        folds.
        """
        is_number = cv is None or isinstance(cv, Integral)
        n_folds = int(cv or DEFAULT_FOLDS) if is_number else 0
        problem = self._problem
        # Folds of queries subtract from sums; folds of rows cut queries apart and need a pass each.
        if is_number and problem.groups.n_queries >= n_folds:
            return self._leave_out(deal_queries(problem.groups, n_folds), measure)
        values = []
        for train, test in cv_splits(cv, self.rows):
            (grams,) = draw_grams(self.design, problem.subset(train), None)
            groups = problem.groups.take(test)
            queries, read_out = np.arange(groups.n_queries), self._read_out(total(grams))
            parts = (problem.X[test], problem.y[test], groups, [queries], measure)
            values.append(measure_held_out(self.design, [read_out], *parts)[0])
        return self.solve(), np.array(values)

    def leave_query_out(self, measure: Measure) -> tuple[PathFit, Float64Array]:
        """Solutions on all rows, measured by exact leave-one-query-out."""
        queries = np.arange(self._problem.groups.n_queries)
        return self._leave_out(list(queries[:, None]), measure)

    @property
    def _problem(self) -> Problem:
        return self.loss.on(self.rows)

    def _leave_out(
        self, folds: Sequence[Int64Array], measure: Measure
    ) -> tuple[PathFit, Float64Array]:
        """Solutions on all rows, and the measure of each fold under the solutions without it."""
        problem = self._problem
        (grams,) = draw_grams(self.design, problem, folds)
        whole = total(grams)
        # Training sums by difference: one pass over the rows for all folds.
        read_outs = [self._read_out(whole - part) for part in grams]
        parts = (problem.X, problem.y, problem.groups, folds, measure)
        fit = PathFit(self.design, [self._coef(whole)])
        return fit, measure_held_out(self.design, read_outs, *parts)

    def _read_out(self, gram: Gram) -> Any:
        return self.design.read_out([self._coef(gram)], np.dtype(np.float64))

    def _coef(self, gram: Gram) -> Float64Array:
        return non_negative_coef(gram, self.penalties.C(gram.pairs))


def non_negative_coef(gram: Gram, C: Float64Array) -> Float64Array:
    """Solutions b >= 0 for every C, shape (n_C, p); O(p^3) for each.

    Directions are left out of the objective if eigenvalue and penalty are both below 1e-12 of the
    largest eigenvalue.
    """
    values, vectors = np.linalg.eigh(gram.matrix)
    rhs = vectors.T @ gram.rhs
    least = RELATIVE_CUT * max(float(values[-1]), 0.0) if len(values) else 0.0
    found = np.zeros((len(C), len(rhs)))
    for place, alpha in enumerate(1.0 / np.asarray(C, dtype=np.float64)):
        # Directions of rounding alone would be divided by almost nothing.
        kept = values + alpha > least
        root = np.sqrt(values[kept] + alpha)
        # |R b - R^-T g|^2 for R = (values + alpha)^(1/2) V', from the eigenvectors of all
        # penalties.
        found[place] = nnls(root[:, None] * vectors[:, kept].T, rhs[kept] / root)[0]
    return found
