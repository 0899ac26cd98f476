"""Paths of ordinal support vector machines along C, with a kernel and linear, also for folds.

Rows of equal features and class are merged and their threshold weights added. The merged rows are
ordered by content, so the input order does not matter, and a weight is equivalent to repetition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np

from rankwise.checks.column_sizes import far_means
from rankwise.features.kernels import Kernel
from rankwise.features.score_expansions import (
    Expansion,
    LinearKernelExpansion,
    PrecomputedExpansion,
    SupportExpansion,
)
from rankwise.groups import FitData, QueryGroups
from rankwise.metrics.measure import Measure
from rankwise.row_order import MergedRows, merge_rows
from rankwise.runtime.threads import single_threaded_blas
from rankwise.solvers import SolveResult
from rankwise.solvers.svm.ordinal_smo import (
    LinearOrdinalSMO,
    OrdinalSMO,
    OrdinalSolution,
    kernel_rows,
)
from rankwise.solvers.svm.threshold_solver import (
    PowerMap,
    PowerRows,
    ThresholdHinge,
    ThresholdSolution,
    ThresholdSolver,
)
from rankwise.tuning import Penalties, RefitPath, mean_measure
from rankwise.typing import Float64Array, Int64Array, Matrix, is_sparse


@dataclass(frozen=True, eq=False)
class OrdinalFit:
    """Solutions for every C, ascending."""

    merged: MergedRows
    kernel: Kernel
    X: Matrix  # merged rows (n_merged, n_features), float64; those of a linear kernel are shifted
    # (n_merged,): columns of the merged rows in the values of a precomputed kernel
    columns: Int64Array
    results: Sequence[SolveResult[OrdinalSolution]]  # of the merged rows
    coefs: Float64Array  # (n_C, n_merged)
    shifted_intercepts: Float64Array  # (n_C,): for shifted rows
    intercepts: Float64Array  # (n_C,): for unshifted rows
    thresholds: Float64Array  # (n_C, n_classes - 1): between the classes, ascending in each row
    tol: float  # of the solver

    def attributes(self, index: int) -> dict[str, Any]:
        """Fitted attributes of the solution at one value of the grid."""
        result, kernel = self.results[index], self.kernel
        solution = result.x
        support = np.flatnonzero(solution.coef)
        found = {
            "thresholds_": self.thresholds[index],
            "support_": self.columns[support],
            "dual_objective_": solution.dual_objective,
            "objective_": solution.objective,
            "dual_gap_": solution.gap,
            "n_iter_": result.n_iter,
        }
        coef, intercept = solution.coef[support], float(self.intercepts[index])
        scores: Expansion = SupportExpansion(kernel, coef, intercept, self.X[support])
        if kernel.name == "linear":
            coef = np.asarray(self.X.T @ solution.coef)
            scores = LinearKernelExpansion(coef, intercept, kernel)
        elif kernel.name == "precomputed":
            dual_coef = np.zeros(self.X.shape[1])
            dual_coef[self.columns[support]] = coef
            scores = PrecomputedExpansion(kernel, dual_coef, intercept)
        return {**found, "expansion_": scores}

    def path(self) -> dict[str, Float64Array]:
        """All solutions, as ``path_`` holds them."""
        return {
            "coef": self.coefs[:, self.merged.position] * self.merged.share,
            "intercept": self.intercepts,
            "thresholds": self.thresholds,
        }

    def shortfall(self, index: int, at: str) -> str:
        """How far the solver stopped from the solution; empty if it converged."""
        result = self.results[index]
        if result.converged:
            return ""
        return (
            f"stopped after {result.n_iter} steps at {at}; the violation is "
            f"{result.stop_value:.2g}, above tol={self.tol:g}. Increase max_iter or tol, lower C, "
            "or scale X."
        )


class ThresholdedFit(Protocol):
    """Solutions whose scores are cut into classes."""

    @property
    def thresholds(self) -> Float64Array:
        """Scores at which classes change, (n_C, n_classes - 1), ascending in each row."""
        ...


AnyFit = TypeVar("AnyFit", bound=ThresholdedFit)


class ThresholdedPath(RefitPath[AnyFit]):
    """Base of the paths of scores with thresholds: measures read classes, or scores."""

    def _measure(
        self,
        fit: AnyFit,
        measure: Measure,
        y: Float64Array,
        scores: Float64Array,
        groups: QueryGroups,
    ) -> Float64Array:
        if measure.reads_labels:
            columns = zip(fit.thresholds, scores.T, strict=True)
            ranks = [np.searchsorted(cuts, column, side="right") for cuts, column in columns]
            return mean_measure(measure, y, np.stack(ranks, axis=1).astype(float), groups)
        # A class number below all classes of the fit has no gain.
        return mean_measure(measure, np.maximum(y, 0.0), scores, groups)


class OrdinalPath(ThresholdedPath[OrdinalFit]):
    """Hinge losses of ordinal margins plus half a squared norm, for a grid of C.

    ``rows`` are training rows with class numbers as y. ``loss`` maps rows to the weight of the
    margin of each row and threshold, shape (n_samples, n_classes - 1). The penalties are values of
    C, ascending; each solution starts from the one before. ``max_bytes`` limits the memory for
    kernel values. A kernel without an intercept must be positive definite.
    """

    rows: FitData

    def __init__(
        self,
        rows: FitData,
        kernel: Kernel,
        loss: Callable[[FitData], Float64Array],
        penalties: Penalties,
        *,
        solver: OrdinalSMO,
        max_bytes: int,
    ) -> None:
        self.rows, self._penalties, self._solver = rows, penalties, solver
        named = kernel.name if kernel.function is None else kernel.function
        if solver.intercept:  # coefficients sum to 0
            kernel = replace(kernel, delta=0.0)
        elif kernel.definite == "conditional":
            raise ValueError(
                "fit_intercept=False needs a positive definite kernel, got kernel="
                f"{named!r}, which is only conditionally positive definite. Set fit_intercept=True."
            )
        thresholds = loss(rows)
        self._merged, self._shift = _merge(rows, thresholds), np.zeros(rows.X.shape[1])
        merged = self._merged.rows
        X: Any = rows.X[merged].astype(np.float64, copy=False)
        if is_sparse(X) and 8 * X.shape[0] * X.shape[1] <= max_bytes // 8:
            X = X.toarray()  # sparse products round differently, and steps depend on it
        if kernel.name == "linear" and solver.intercept:
            # The intercept absorbs a shift; without it, products of columns far from zero lose
            # precision.
            self._shift = far_means(X)
            X = X - self._shift if self._shift.any() else X
        columns = merged if rows.kept is None else np.flatnonzero(rows.kept)[merged]
        self._kernel, self._X, self._columns = kernel, X, columns
        self._values = kernel_rows(kernel, X, max_bytes, columns)
        if not solver.intercept and (self._values.diagonal < 0).any():
            raise ValueError(
                f"fit_intercept=False needs a positive definite kernel, got kernel={named!r} with "
                "K(x, x) < 0. Set fit_intercept=True."
            )
        self._machine = LinearOrdinalSMO(solver, X) if kernel.name == "linear" else solver
        self._classes, self._bounds = rows.y[merged].astype(np.int64), thresholds[merged]

    def _solve(self, rows: Int64Array) -> OrdinalFit:
        merged, X = self._merged, self._X
        sample_weight = self.rows.sample_weight
        weight = np.ones(len(rows)) if sample_weight is None else sample_weight[rows]
        # Merged rows of weight 0 are left out.
        weight = np.bincount(merged.position[rows], weight, len(merged.rows))
        results: list[SolveResult[OrdinalSolution]] = []
        start: OrdinalSolution | None = None
        last = self._penalties.values[0]
        for C in self._penalties.values:
            upper = C * (weight[:, None] * self._bounds)
            results.append(self._machine.solve(self._values, self._classes, upper, start, C / last))
            start, last = results[-1].x, C
        coefs = np.stack([result.x.coef for result in results])
        intercepts = shifted = np.array([result.x.intercept for result in results])
        if self._shift.any():
            intercepts = shifted - coefs @ (X @ self._shift)
        cuts = np.sort([-result.x.theta for result in results], axis=1)
        known = merged, self._kernel, X, self._columns
        found = results, coefs, shifted, intercepts, cuts
        return OrdinalFit(*known, *found, self._solver.tol)

    def _scores(self, fit: OrdinalFit, X: Matrix) -> Float64Array:
        rows: Any = X
        rows = rows - self._shift if self._shift.any() else rows
        rows, coef = rows.astype(np.float64, copy=False), fit.coefs.T
        used = np.flatnonzero(coef.any(axis=1))
        if self._kernel.name == "precomputed":  # rows are values with all rows of the fit
            found = np.asarray(rows[:, self._columns[used]] @ coef[used])
        else:
            found = self._kernel.products(rows, self._X[used], coef[used])
        return found + fit.shifted_intercepts

    def _training_scores(self, fit: OrdinalFit, rows: Int64Array) -> Float64Array:
        position = self._merged.position[rows]
        products = [self._values.products(position, coef) for coef in fit.coefs]
        return np.stack(products, axis=1) + fit.shifted_intercepts

    @property
    def _on_threads(self) -> bool:
        # Kernel rows that are computed on demand share one buffer, so only one thread may read.
        return self._values.is_whole


def _merge(data: FitData, thresholds: Float64Array) -> MergedRows:
    """Rows in an order that depends on their content alone.

    Equal rows with equal threshold weights are merged and their bounds added, as for repeated rows.
    """
    kinds = np.unique(thresholds, axis=0, return_inverse=True)[1].ravel()
    n = len(data.y)
    groups = QueryGroups.from_qid(kinds, n) if thresholds.size else QueryGroups.single(n)
    return merge_rows(data.X, data.y, groups, data.sample_weight)


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
class ThresholdPath(ThresholdedPath[ThresholdFit]):
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
