"""The path of a penalised cumulative link model along C, for all rows and for each fold.

``|w|^2 / 2 + C sum_n w_n loss_n``, with free thresholds. Equal rows are merged, ordered by content
and sorted by class. Each C starts from the previous solution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.groups import QueryGroups
from rankwise.losses.cumulative_link import CumulativeLinkLoss, Link
from rankwise.metrics.measure import Measure
from rankwise.rows.fit_data import FitData
from rankwise.rows.merged_rows import merge_rows
from rankwise.runtime.threads import single_threaded_blas
from rankwise.solvers.newton.cumulative_newton import CumulativeNewton, CumulativeSolution
from rankwise.solvers.newton.standard_columns import StandardColumns
from rankwise.tuning.held_out import mean_measure
from rankwise.tuning.penalty import Penalties
from rankwise.tuning.refit_path import RefitPath
from rankwise.typing import Float64Array, Int64Array, Matrix, is_sparse

# Above this size rows are not merged, and rounding depends on their order.
LARGEST_MERGED = 5e6
# Largest penalty of a column in units of its spread; beyond it, the coefficient is numerically
# zero.
MOST_PENALTY = 1e100
# Thresholds beyond the classes of the rows: no score reaches them, or falls short of them.
BEYOND = 1e300


@dataclass(frozen=True, eq=False)
class CumulativeModel:
    """A solution in units of the features."""

    coef: Float64Array  # (n_features,)
    thresholds: Float64Array  # (n_classes - 1,)
    log_likelihood: float
    objective: float  # |w|^2 / 2 + C sum of losses; only the sum if C is infinite
    n_iter: int
    step: float  # largest change of a score by the last step
    converged: bool
    # (n_features + n_classes - 1,) * 2: of coefficients and thresholds, without a penalty; NaN if
    # not estimated
    covariance: Float64Array | None


@dataclass(frozen=True, eq=False)
class CumulativeFit:
    """Models of all rows for every C."""

    models: Sequence[CumulativeModel]
    source: CumulativePath

    def attributes(self, index: int) -> dict[str, Any]:
        """Fitted attributes of the model at one value of the grid."""
        model = self.models[index]
        found = {
            "coef_": model.coef,
            "intercept_": self.source.loss.median,
            "thresholds_": model.thresholds,
            "log_likelihood_": model.log_likelihood,
            "objective_": model.objective,
            "n_iter_": model.n_iter,
        }
        if model.covariance is not None:
            found["standard_errors_"] = np.sqrt(model.covariance.diagonal())
        return found

    def path(self) -> dict[str, Float64Array]:
        """All solutions, as ``path_`` holds them."""
        return {
            "coef": np.stack([model.coef for model in self.models]),
            "thresholds": np.stack([model.thresholds for model in self.models]),
        }

    def shortfall(self, index: int, at: str) -> str:
        """How far the solver stopped from the solution; empty if it converged."""
        model, solver = self.models[index], self.source.solver
        if model.converged:
            return ""
        if np.isinf(self.source.penalties.values[index]) and model.n_iter < solver.max_iter:
            return (
                f"stopped after {model.n_iter} Newton steps: the likelihood has no maximum because "
                "a combination of columns separates classes; coefficients grow without bound "
                f"(log-likelihood {model.log_likelihood:.4g}). Set a finite C, or drop such "
                "columns."
            )
        return (
            f"stopped after {model.n_iter} Newton steps at {at}; the last step was "
            f"{model.step:.2g}, above tol={solver.tol:g}. Increase max_iter or tol, or lower C."
        )


@dataclass(frozen=True, eq=False)
class CumulativePath(RefitPath[CumulativeFit]):
    """Models for a grid of C."""

    rows: FitData
    design: None  # the columns of X themselves
    loss: Link
    penalties: Penalties  # values of C, ascending; may end with infinity
    solver: CumulativeNewton

    def _scores(self, fit: CumulativeFit, X: Matrix) -> Float64Array:
        return np.stack([X @ model.coef for model in fit.models], axis=1)

    def _measure(
        self,
        fit: CumulativeFit,
        measure: Measure,
        y: Float64Array,
        scores: Float64Array,
        groups: QueryGroups,
    ) -> Float64Array:
        if not measure.reads_labels:
            return mean_measure(measure, np.maximum(y, 0.0), scores, groups)
        probable = [
            self.loss.probabilities(column, model.thresholds).argmax(axis=1)
            for column, model in zip(scores.T, fit.models, strict=True)
        ]
        return mean_measure(measure, y, np.stack(probable, axis=1).astype(np.float64), groups)

    def _solve(self, rows: Int64Array) -> CumulativeFit:
        X, y, weight = self._take(rows)
        assert self.rows.classes is not None
        frame = _Frame.of(X, y, weight, len(self.rows.classes))
        if len(frame.present) < 2:
            return CumulativeFit([frame.constant() for _ in self.penalties.values], self)
        loss = CumulativeLinkLoss(self.loss, frame.codes, weight)
        start = self.solver.start(frame.columns, loss)
        models = []
        with single_threaded_blas():
            for C in self.penalties.values.tolist():
                model, start = self._solve_one(frame, loss, C, start)
                models.append(model)
        return CumulativeFit(models, self)

    def _solve_one(
        self, frame: _Frame, loss: CumulativeLinkLoss, C: float, start: CumulativeSolution
    ) -> tuple[CumulativeModel, CumulativeSolution]:
        columns, total = frame.columns, float(loss.weight.sum())
        if np.isinf(C):
            # No penalty chooses among equal fits: dependent columns would make the Hessian
            # singular.
            kept = columns.independent(loss.weight)
            penalty = np.zeros(len(kept))
        else:
            with np.errstate(all="ignore"):
                # In units of the spread, and of the mean loss; one by one, as products may
                # overflow.
                every = 1.0 / C / total / columns.spread / columns.spread
            kept = np.flatnonzero(every < MOST_PENALTY)
            penalty = every[kept]
        taken = columns if len(kept) == columns.n_columns else columns.take(kept)
        here = CumulativeSolution(
            start.u[kept], start.thresholds, start.value, start.loss, 0, start.step, False
        )
        solution = self.solver.solve(taken, loss, penalty, here)
        u = np.zeros(columns.n_columns)
        u[kept] = solution.u
        covariance = None
        if np.isinf(C) and solution.converged:
            covariance = self.solver.covariance(taken, loss, solution)
        start = CumulativeSolution(u, solution.thresholds, 0.0, 0.0, 0, np.inf, False)
        return frame.model(solution, u, kept, covariance, C), start

    def _take(self, rows: Int64Array) -> tuple[Matrix, Float64Array, Float64Array]:
        """Selected rows sorted by class, with class numbers and weights."""
        data = self.rows
        every = len(rows) == len(data.y)
        X, y = (data.X, data.y) if every else (data.X[rows], data.y[rows])
        weight = np.ones(len(y)) if data.sample_weight is None else data.sample_weight[rows]
        size = X.nnz if is_sparse(X) else X.size
        if size > LARGEST_MERGED:
            order = np.argsort(y, kind="stable")
            return X[order], y[order], weight[order]
        merged = merge_rows(X, y, QueryGroups.single(len(y)), weight)
        order = np.argsort(y[merged.rows], kind="stable")
        taken = merged.rows[order]
        return X[taken], y[taken], merged.weight[order]


@dataclass(frozen=True, eq=False)
class _Frame:
    """Columns in units of their spread, non-empty classes, and the back-transformation."""

    columns: StandardColumns
    codes: Int64Array
    present: Int64Array
    n_classes: int

    @classmethod
    def of(cls, X: Matrix, y: Float64Array, weight: Float64Array, n_classes: int) -> _Frame:
        present, codes = np.unique(y.astype(np.int64), return_inverse=True)
        return cls(StandardColumns.of(X, weight), codes, present, n_classes)

    def constant(self) -> CumulativeModel:
        """Model for rows of a single class."""
        thresholds = self._all_thresholds(np.zeros(0))
        return CumulativeModel(
            np.zeros(self.columns.n_columns), thresholds, 0.0, 0.0, 0, 0.0, True, None
        )

    def model(
        self,
        solution: CumulativeSolution,
        u: Float64Array,
        kept: Int64Array,
        covariance: Float64Array | None,
        C: float,
    ) -> CumulativeModel:
        spread, mean = self.columns.spread, self.columns.mean
        coef = np.divide(u, spread, out=np.zeros(len(u)), where=spread > 0)
        thresholds = self._all_thresholds(solution.thresholds + float(mean @ coef))
        objective = solution.loss
        if np.isfinite(C):
            objective = 0.5 * float(coef @ coef) + C * solution.loss
        if np.isinf(C):
            covariance = self._all_covariance(covariance, kept)
        return CumulativeModel(
            coef,
            thresholds,
            -solution.loss,
            objective,
            solution.n_iter,
            solution.step,
            solution.converged,
            covariance,
        )

    def _all_thresholds(self, solved: Float64Array) -> Float64Array:
        """Thresholds between all classes; an empty class repeats its neighbour's threshold."""
        ends = np.concatenate([[-BEYOND], solved, [BEYOND]])
        return ends[self._solved_place()]

    def _all_covariance(self, covariance: Float64Array | None, kept: Int64Array) -> Float64Array:
        """Covariance of coefficients and thresholds, from that of columns in other units."""
        d = self.columns.n_columns
        n = d + self.n_classes - 1
        result = np.full((n, n), np.nan)
        if covariance is None:
            return result
        n_kept, n_solved = len(kept), len(self.present) - 1
        back = np.zeros((n_kept + n_solved, n_kept + n_solved))
        inverse = 1.0 / self.columns.spread[kept]
        back[:n_kept, :n_kept] = np.diag(inverse)
        back[n_kept:, :n_kept] = self.columns.mean[kept] * inverse
        back[n_kept:, n_kept:] = np.eye(n_solved)
        place = self._solved_place()
        known = np.flatnonzero((place > 0) & (place <= n_solved))
        rows = np.concatenate([kept, d + known])
        places = np.concatenate([np.arange(n_kept), n_kept + place[known] - 1])
        result[np.ix_(rows, rows)] = (back @ covariance @ back.T)[np.ix_(places, places)]
        return result

    def _solved_place(self) -> Int64Array:
        """Number of classes with rows up to each threshold, shape (n_classes - 1,)."""
        # 0 and the number of classes present are the outer ends, which no threshold solved.
        return np.searchsorted(self.present, np.arange(self.n_classes - 1), side="right")
