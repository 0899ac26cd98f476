"""The path of ordinal support vector machines with a kernel over C, for all rows or for folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rankwise.checks.column_ranges import far_means
from rankwise.checks.rows import FitData
from rankwise.features.kernel import Kernel
from rankwise.features.kernel_expansion import KernelExpansion
from rankwise.groups import QueryGroups
from rankwise.metrics.measure import Measure
from rankwise.solvers.newton.merged_rows import MergedRows, merge_rows
from rankwise.solvers.result import SolveResult
from rankwise.solvers.svm.kernel_rows import KernelRows, kernel_rows
from rankwise.solvers.svm.linear_ordinal_smo import LinearOrdinalSMO
from rankwise.solvers.svm.ordinal_smo import OrdinalSMO, OrdinalSolution
from rankwise.tuning.held_out import mean_measure
from rankwise.tuning.penalty_search import PenaltySearch
from rankwise.typing import Float64Array, Int64Array, is_sparse


@dataclass(frozen=True, eq=False)
class OrdinalRows:
    """Rows of ordered classes in an order that depends on their content alone.

    Equal rows with equal weights of their thresholds are one: bounds add up, as repetition does.

    Attributes
    ----------
    merged : MergedRows
    classes : ndarray of shape (n_merged,), int64
    thresholds : ndarray of shape (n_merged, n_classes - 1)
        Weights of the thresholds.
    """

    merged: MergedRows
    classes: Int64Array
    thresholds: Float64Array

    @staticmethod
    def of(data: FitData, thresholds: Float64Array) -> OrdinalRows:
        """Merge rows; ``thresholds`` has the weights of their thresholds, (n_samples, K - 1)."""
        kinds = np.unique(thresholds, axis=0, return_inverse=True)[1].ravel()
        n_samples = len(data.y)
        groups = (
            QueryGroups.from_qid(kinds, n_samples)
            if thresholds.size
            else QueryGroups.single(n_samples)
        )
        merged = merge_rows(data.X, data.y, groups, data.sample_weight)
        return OrdinalRows(merged, data.y[merged.rows].astype(np.int64), thresholds[merged.rows])


@dataclass(frozen=True, eq=False)
class OrdinalFit:
    """Solutions for every C, ascending.

    Attributes
    ----------
    rows : OrdinalRows
    expansion : KernelExpansion
        Of the merged rows minus ``shift``.
    shift : ndarray of shape (n_features,)
    results : sequence of SolveResult
        Each with an OrdinalSolution of the merged rows.
    """

    rows: OrdinalRows
    expansion: KernelExpansion
    shift: Float64Array
    results: Sequence[SolveResult]

    @cached_property
    def coefs(self) -> Float64Array:
        """Coefficients of the merged rows, shape (n_C, n_merged)."""
        return np.stack([result.x.coef for result in self.results])

    @cached_property
    def shifted_intercepts(self) -> Float64Array:
        """Of rows minus ``shift``, shape (n_C,)."""
        return np.array([result.x.intercept for result in self.results])

    @cached_property
    def intercepts(self) -> Float64Array:
        """Shape (n_C,)."""
        if not self.shift.any():
            return self.shifted_intercepts
        return self.shifted_intercepts - self.coefs @ (self.expansion.X @ self.shift)

    @cached_property
    def thresholds(self) -> Float64Array:
        """Where classes change, ascending in each row, shape (n_C, n_classes - 1)."""
        return np.sort([-result.x.theta for result in self.results], axis=1)


@dataclass(frozen=True, eq=False)
class OrdinalPath:
    """Hinge losses of ordinal margins plus half a squared norm, for a grid of C.

    Attributes
    ----------
    data : FitData
    rows : OrdinalRows
    expansion : KernelExpansion
        Of the merged rows minus ``shift``.
    shift : ndarray of shape (n_features,)
    kernel : KernelRows
        Of the same rows.
    C : ndarray of shape (n_C,)
        Ascending; each solution starts from the one before.
    solver : OrdinalSMO or LinearOrdinalSMO
    """

    data: FitData
    rows: OrdinalRows
    expansion: KernelExpansion
    shift: Float64Array
    kernel: KernelRows
    C: Float64Array
    solver: OrdinalSMO | LinearOrdinalSMO

    @staticmethod
    def of(
        kernel: Kernel,
        data: FitData,
        rows: OrdinalRows,
        C: Float64Array,
        solver: OrdinalSMO,
        max_bytes: int,
    ) -> OrdinalPath:
        """The path of one kernel, whose values take at most ``max_bytes``.

        Raises
        ------
        ValueError
            Where a kernel without an intercept is seen not to be positive definite.
        """
        known = rows.merged.rows
        columns = known if data.kept is None else np.flatnonzero(data.kept)[known]
        X = data.X[known].astype(np.float64, copy=False)
        if is_sparse(X) and 8 * X.shape[0] * X.shape[1] <= max_bytes // 8:
            X = X.toarray()  # sparse products round otherwise, and steps follow the last digit
        shift = np.zeros(X.shape[1])
        if kernel.name == "linear" and solver.intercept:
            # The intercept takes a shift; products of columns far from zero lose their digits.
            shift = far_means(X)
            X = X - shift if shift.any() else X
        expansion = KernelExpansion(kernel, X, columns)
        values = kernel_rows(kernel, expansion.X, max_bytes, columns)
        if not solver.intercept and (values.diagonal < 0).any():
            name = kernel.name if kernel.function is None else kernel.function
            raise ValueError(
                f"fit_intercept=False needs a positive definite kernel, got kernel={name!r} with "
                "K(x, x) < 0. Set fit_intercept=True."
            )
        quick = LinearOrdinalSMO(solver, X) if kernel.name == "linear" else solver
        return OrdinalPath(data, rows, expansion, shift, values, C, quick)

    def fit(self, search: PenaltySearch) -> tuple[OrdinalFit, Float64Array | None]:
        """Solutions on all rows for every C, and the search's measures of held-out rows."""
        data, measure, position = self.data, search.measure, self.rows.merged.position
        weight = np.ones(len(position)) if data.sample_weight is None else data.sample_weight
        fit = self._solve(self.rows.merged.weight)

        def validated(new: FitData) -> Float64Array:
            X = new.X - self.shift if self.shift.any() else new.X
            scores = self.expansion.scores(X, fit.coefs.T) + fit.shifted_intercepts
            return measure_scores(measure, new.y, scores, fit.thresholds, new.groups)

        def refitted(train: Int64Array, test: Int64Array) -> Float64Array:
            part = self._solve(np.bincount(position[train], weight[train], len(self.rows.classes)))
            products = [self.kernel.products(position[test], coef) for coef in part.coefs]
            scores, groups = np.stack(products, axis=1), data.groups.take(test)
            scores += part.shifted_intercepts
            return measure_scores(measure, data.y[test], scores, part.thresholds, groups)

        # Kernel rows that are computed when they are read share one buffer, so one thread reads.
        whole = self.kernel.is_whole
        return fit, search.held_out(data, validated, refitted, on_threads=whole)

    def _solve(self, weight: Float64Array) -> OrdinalFit:
        """Solutions for every C with weights of the merged rows; 0 leaves one out."""
        bounds = weight[:, None] * self.rows.thresholds
        results: list[SolveResult] = []
        start: OrdinalSolution | None = None
        for number, C in enumerate(self.C):
            scale = C / self.C[number - 1] if number else 1.0
            result = self.solver.solve(self.kernel, self.rows.classes, C * bounds, start, scale)
            results.append(result)
            start = result.x
        return OrdinalFit(self.rows, self.expansion, self.shift, results)


def measure_scores(
    measure: Measure,
    y: Float64Array,
    scores: Float64Array,
    thresholds: Float64Array,
    groups: QueryGroups,
) -> Float64Array:
    """Mean of a measure for columns of scores, each with its thresholds.

    Parameters
    ----------
    measure : Measure
        Gets the class numbers where it reads labels, else the scores.
    y : ndarray of shape (n_samples,)
        Class numbers; one below all classes of the fit is without gain.
    scores : ndarray of shape (n_samples, n_columns)
    thresholds : ndarray of shape (n_columns, n_classes - 1)
    groups : QueryGroups

    Returns
    -------
    ndarray of shape (n_columns,)
    """
    if measure.reads_labels:
        columns = zip(thresholds, scores.T, strict=True)
        ranks = [np.searchsorted(cuts, column, side="right") for cuts, column in columns]
        return mean_measure(measure, y, np.stack(ranks, axis=1).astype(float), groups)
    return mean_measure(measure, np.maximum(y, 0.0), scores, groups)
