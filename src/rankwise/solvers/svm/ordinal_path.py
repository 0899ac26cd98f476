"""Solutions along C of ordinal support vector machines with a kernel, for all rows or for folds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankwise.checks.column_ranges import far_means
from rankwise.features.kernel import Kernel
from rankwise.features.kernel_expansion import KernelExpansion
from rankwise.features.score_expansions import (
    Expansion,
    LinearKernelExpansion,
    PrecomputedExpansion,
    SupportExpansion,
)
from rankwise.groups import QueryGroups
from rankwise.metrics.measure import Measure
from rankwise.rows.fit_data import FitData
from rankwise.rows.merged_rows import MergedRows, merge_rows
from rankwise.solvers.solve_result import SolveResult
from rankwise.solvers.svm.kernel_rows import kernel_rows
from rankwise.solvers.svm.linear_ordinal_smo import LinearOrdinalSMO
from rankwise.solvers.svm.ordinal_smo import OrdinalSMO, OrdinalSolution
from rankwise.tuning.held_out import mean_measure
from rankwise.tuning.penalty import Penalties
from rankwise.tuning.refit_path import RefitPath
from rankwise.typing import Float64Array, Int64Array, Matrix, is_sparse


@dataclass(frozen=True, eq=False)
class OrdinalFit:
    """Solutions for every C, ascending."""

    merged: MergedRows
    expansion: KernelExpansion  # over the merged rows; rows of a linear kernel are shifted
    results: Sequence[SolveResult[OrdinalSolution]]  # of the merged rows
    coefs: Float64Array  # (n_C, n_merged)
    shifted_intercepts: Float64Array  # (n_C,): for shifted rows
    intercepts: Float64Array  # (n_C,): for unshifted rows
    thresholds: Float64Array  # (n_C, n_classes - 1): between the classes, ascending in each row
    tol: float  # of the solver

    def attributes(self, index: int) -> dict[str, Any]:
        """Fitted attributes of the solution at one value of the grid."""
        expansion, result = self.expansion, self.results[index]
        solution, kernel = result.x, expansion.kernel
        support = np.flatnonzero(solution.coef)
        found = {
            "thresholds_": self.thresholds[index],
            "support_": expansion.columns[support],
            "dual_objective_": solution.dual_objective,
            "objective_": solution.objective,
            "dual_gap_": solution.gap,
            "n_iter_": result.n_iter,
        }
        coef, intercept = solution.coef[support], float(self.intercepts[index])
        scores: Expansion = SupportExpansion(kernel, coef, intercept, expansion.X[support])
        if kernel.name == "linear":
            coef = np.asarray(expansion.X.T @ solution.coef)
            scores = LinearKernelExpansion(coef, intercept, kernel)
        elif kernel.name == "precomputed":
            dual_coef = np.zeros(expansion.X.shape[1])
            dual_coef[expansion.columns[support]] = coef
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


class OrdinalPath(RefitPath[OrdinalFit]):
    """Hinge losses of ordinal margins plus half a squared norm, for a grid of C.

    ``rows`` are training rows with class numbers as y. ``loss`` maps rows to the weight of the
    margin of each row and threshold, shape (n_samples, n_classes - 1). The penalties are values of
    C, ascending; each solution starts from the one before. ``max_bytes`` limits the memory for
    kernel values. A kernel without an intercept must be positive definite.
    """

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
        self._expansion = KernelExpansion(kernel, X, columns)
        self._values = kernel_rows(kernel, X, max_bytes, columns)
        if not solver.intercept and (self._values.diagonal < 0).any():
            raise ValueError(
                f"fit_intercept=False needs a positive definite kernel, got kernel={named!r} with "
                "K(x, x) < 0. Set fit_intercept=True."
            )
        self._machine = LinearOrdinalSMO(solver, X) if kernel.name == "linear" else solver
        self._classes, self._bounds = rows.y[merged].astype(np.int64), thresholds[merged]

    def _solve(self, rows: Int64Array) -> OrdinalFit:
        merged, X = self._merged, self._expansion.X
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
        found = results, coefs, shifted, intercepts, cuts
        return OrdinalFit(merged, self._expansion, *found, self._solver.tol)

    def _scores(self, fit: OrdinalFit, X: Matrix) -> Float64Array:
        rows: Any = X
        rows = rows - self._shift if self._shift.any() else rows
        return self._expansion.scores(rows, fit.coefs.T) + fit.shifted_intercepts

    def _training_scores(self, fit: OrdinalFit, rows: Int64Array) -> Float64Array:
        position = self._merged.position[rows]
        products = [self._values.products(position, coef) for coef in fit.coefs]
        return np.stack(products, axis=1) + fit.shifted_intercepts

    def _measure(
        self,
        fit: OrdinalFit,
        measure: Measure,
        y: Float64Array,
        scores: Float64Array,
        groups: QueryGroups,
    ) -> Float64Array:
        return measure_scores(measure, y, scores, fit.thresholds, groups)

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


def measure_scores(
    measure: Measure,
    y: Float64Array,
    scores: Float64Array,
    thresholds: Float64Array,
    groups: QueryGroups,
) -> Float64Array:
    """Mean of a measure for columns of scores, each with its thresholds; shape (n_columns,).

    The measure is one of class numbers if it reads labels, otherwise of scores. ``y``,
    (n_samples,), holds class numbers; a number below all classes of the fit has no gain. ``scores``
    is (n_samples, n_columns), ``thresholds`` (n_columns, n_classes - 1).
    """
    if measure.reads_labels:
        columns = zip(thresholds, scores.T, strict=True)
        ranks = [np.searchsorted(cuts, column, side="right") for cuts, column in columns]
        return mean_measure(measure, y, np.stack(ranks, axis=1).astype(float), groups)
    return mean_measure(measure, np.maximum(y, 0.0), scores, groups)
