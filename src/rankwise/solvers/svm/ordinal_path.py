"""Solutions along C of ordinal support vector machines with a kernel, for all rows or for folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankwise.checks.column_ranges import far_means
from rankwise.features.kernel import Kernel
from rankwise.features.kernel_expansion import KernelExpansion
from rankwise.groups import QueryGroups
from rankwise.metrics.measure import Measure
from rankwise.rows.fit_data import FitData
from rankwise.rows.merged_rows import MergedRows, merge_rows
from rankwise.solvers.result import SolveResult
from rankwise.solvers.svm.kernel_rows import kernel_rows
from rankwise.solvers.svm.linear_ordinal_smo import LinearOrdinalSMO
from rankwise.solvers.svm.ordinal_smo import OrdinalSMO, OrdinalSolution
from rankwise.tuning.held_out import mean_measure
from rankwise.tuning.penalty_search import PenaltySearch
from rankwise.typing import Float64Array, Int64Array, is_sparse


@dataclass(frozen=True, eq=False)
class OrdinalFit:
    """Solutions for every C, ascending.

    Attributes
    ----------
    merged : MergedRows
    expansion : KernelExpansion
        Expansion over the merged rows; rows of a linear kernel are shifted.
    results : sequence of SolveResult
        Each with an OrdinalSolution of the merged rows.
    coefs : ndarray of shape (n_C, n_merged)
    shifted_intercepts, intercepts : ndarray of shape (n_C,)
        Intercepts for shifted rows, and for unshifted rows.
    thresholds : ndarray of shape (n_C, n_classes - 1)
        Thresholds between the classes, ascending in each row.
    """

    merged: MergedRows
    expansion: KernelExpansion
    results: Sequence[SolveResult[OrdinalSolution]]
    coefs: Float64Array
    shifted_intercepts: Float64Array
    intercepts: Float64Array
    thresholds: Float64Array


def ordinal_path(
    data: FitData,
    thresholds: Float64Array,
    kernel: Kernel,
    solver: OrdinalSMO,
    search: PenaltySearch,
    max_bytes: int,
) -> tuple[OrdinalFit, Float64Array | None]:
    """Solutions on all rows for every C of a search, and its measures of held-out rows.

    Minimises hinge losses of ordinal margins plus half a squared norm.

    Parameters
    ----------
    data : FitData
        Training rows with class numbers as y.
    thresholds : ndarray of shape (n_samples, n_classes - 1)
        Weight of the margin of each row and threshold.
    kernel : Kernel
    solver : OrdinalSMO
    search : PenaltySearch
        Its values of C are ascending; each solution starts from the one before.
    max_bytes : int
        Memory limit for kernel values.

    Raises
    ------
    ValueError
        If a kernel without an intercept turns out not to be positive definite.
    """
    named = kernel.name if kernel.function is None else kernel.function
    if solver.intercept:  # coefficients sum to 0
        kernel = replace(kernel, delta=0.0)
    elif kernel.definite == "conditional":
        raise ValueError(
            "fit_intercept=False needs a positive definite kernel, got kernel="
            f"{named!r}, which is only conditionally positive definite. Set fit_intercept=True."
        )
    merged, shift = _merge(data, thresholds), np.zeros(data.X.shape[1])
    X: Any = data.X[merged.rows].astype(np.float64, copy=False)
    if is_sparse(X) and 8 * X.shape[0] * X.shape[1] <= max_bytes // 8:
        X = X.toarray()  # sparse products round differently, and steps depend on it
    if kernel.name == "linear" and solver.intercept:
        # The intercept absorbs a shift; without it, products of columns far from zero lose
        # precision.
        shift = far_means(X)
        X = X - shift if shift.any() else X
    columns = merged.rows if data.kept is None else np.flatnonzero(data.kept)[merged.rows]
    expansion = KernelExpansion(kernel, X, columns)
    values = kernel_rows(kernel, X, max_bytes, columns)
    if not solver.intercept and (values.diagonal < 0).any():
        raise ValueError(
            f"fit_intercept=False needs a positive definite kernel, got kernel={named!r} with "
            "K(x, x) < 0. Set fit_intercept=True."
        )
    machine = LinearOrdinalSMO(solver, X) if kernel.name == "linear" else solver
    classes, bounds = data.y[merged.rows].astype(np.int64), thresholds[merged.rows]

    def solve(weight: Float64Array) -> OrdinalFit:
        """Solutions for every C with the given weights of the merged rows; weight 0 omits a row."""
        results: list[SolveResult[OrdinalSolution]] = []
        start: OrdinalSolution | None = None
        last = search.penalties.values[0]
        for C in search.penalties.values:
            upper = C * (weight[:, None] * bounds)
            results.append(machine.solve(values, classes, upper, start, C / last))
            start, last = results[-1].x, C
        coefs = np.stack([result.x.coef for result in results])
        intercepts = shifted = np.array([result.x.intercept for result in results])
        if shift.any():
            intercepts = shifted - coefs @ (X @ shift)
        cuts = np.sort([-result.x.theta for result in results], axis=1)
        return OrdinalFit(merged, expansion, results, coefs, shifted, intercepts, cuts)

    fit = solve(merged.weight)

    def validated(new: FitData) -> Float64Array:
        rows: Any = new.X
        rows = rows - shift if shift.any() else rows
        scores = expansion.scores(rows, fit.coefs.T) + fit.shifted_intercepts
        return measure_scores(search.measure, new.y, scores, fit.thresholds, new.groups)

    def refitted(train: Int64Array, test: Int64Array) -> Float64Array:
        position = merged.position
        weight = np.ones(len(train)) if data.sample_weight is None else data.sample_weight[train]
        part = solve(np.bincount(position[train], weight, len(classes)))
        products = [values.products(position[test], coef) for coef in part.coefs]
        scores = np.stack(products, axis=1) + part.shifted_intercepts
        groups = data.groups.take(test)
        return measure_scores(search.measure, data.y[test], scores, part.thresholds, groups)

    # Kernel rows that are computed on demand share one buffer, so only one thread may read.
    return fit, search.held_out(data, validated, refitted, on_threads=values.is_whole)


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
    """Mean of a measure for columns of scores, each with its thresholds.

    Parameters
    ----------
    measure : Measure
        Measure of class numbers if it reads labels, otherwise of scores.
    y : ndarray of shape (n_samples,)
        Class numbers; a number below all classes of the fit has no gain.
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
