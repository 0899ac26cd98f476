"""The path of ordinal support vector machines over C, for all rows or for folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rankwise.features.kernel_expansion import KernelExpansion
from rankwise.groups import QueryGroups
from rankwise.metrics.measure import Measure
from rankwise.runtime.threads import thread_imap
from rankwise.solvers.newton.merged_rows import MergedRows, merge_rows
from rankwise.solvers.result import SolveResult
from rankwise.solvers.svm.kernel_rows import KernelRows
from rankwise.solvers.svm.ordinal_smo import OrdinalSMO, OrdinalSolution
from rankwise.tuning.held_out import mean_defined, per_query
from rankwise.typing import Float64Array, Int64Array, Matrix


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
    def of(
        X: Matrix,
        y: Float64Array,
        thresholds: Float64Array,
        sample_weight: Float64Array | None,
    ) -> OrdinalRows:
        """Merge rows with class numbers y; ``thresholds`` has their weights, (n_samples, K - 1)."""
        kinds = np.unique(thresholds, axis=0, return_inverse=True)[1].ravel()
        groups = (
            QueryGroups.from_qid(kinds, len(y)) if thresholds.size else QueryGroups.single(len(y))
        )
        merged = merge_rows(X, y, groups, sample_weight)
        return OrdinalRows(merged, y[merged.rows].astype(np.int64), thresholds[merged.rows])


@dataclass(frozen=True, eq=False)
class OrdinalFit:
    """Solutions for every C, ascending.

    Attributes
    ----------
    results : sequence of SolveResult
        Each with an OrdinalSolution of the merged rows.
    """

    results: Sequence[SolveResult]

    @cached_property
    def coefs(self) -> Float64Array:
        """Coefficients of the merged rows, shape (n_C, n_merged)."""
        return np.stack([result.x.coef for result in self.results])

    @cached_property
    def intercepts(self) -> Float64Array:
        """Shape (n_C,)."""
        return np.array([result.x.intercept for result in self.results])

    @cached_property
    def thresholds(self) -> Float64Array:
        """Where classes change, ascending in each row, shape (n_C, n_classes - 1)."""
        return np.sort([-result.x.theta for result in self.results], axis=1)


@dataclass(frozen=True, eq=False)
class KernelFit:
    """Solutions with one kernel.

    Attributes
    ----------
    expansion : KernelExpansion
        Of rows minus ``shift``.
    path : OrdinalFit
    scores : ndarray of shape (n_splits, n_C), or None
        Of the measure.
    shift : ndarray of shape (n_features,)
    """

    expansion: KernelExpansion
    path: OrdinalFit
    scores: Float64Array | None
    shift: Float64Array


@dataclass(frozen=True, eq=False)
class OrdinalPath:
    """Hinge losses of ordinal margins plus half a squared norm, for a grid of C.

    Attributes
    ----------
    kernel : KernelRows
        Of the merged rows.
    rows : OrdinalRows
    sample_weight : ndarray of shape (n_samples,), or None
    C : ndarray of shape (n_C,)
        Ascending; each solution starts from the one before.
    solver : OrdinalSMO
    """

    kernel: KernelRows
    rows: OrdinalRows
    sample_weight: Float64Array | None
    C: Float64Array
    solver: OrdinalSMO

    def fit(self) -> OrdinalFit:
        """Solutions for every C, from all rows."""
        return self._solve(self.rows.merged.weight)

    def split_scores(
        self,
        measure: Measure,
        y: Float64Array,
        groups: QueryGroups,
        splits: Sequence[tuple[Int64Array, Int64Array]],
    ) -> Float64Array:
        """Mean of the measure on each split's test rows, shape (n_splits, n_C)."""
        position = self.rows.merged.position
        weight = np.ones(len(position)) if self.sample_weight is None else self.sample_weight

        def held_out(split: tuple[Int64Array, Int64Array]) -> Float64Array:
            train, test = split
            n_merged = len(self.rows.classes)
            fit = self._solve(np.bincount(position[train], weight[train], n_merged))
            products = [self.kernel.products(position[test], coef) for coef in fit.coefs]
            scores = np.stack(products, axis=1) + fit.intercepts
            return measure_scores(measure, y[test], scores, fit.thresholds, groups.take(test))

        # Rows that are computed as they are read have one place for all.
        on_threads = self.kernel.is_whole and len(position) > 500
        return np.stack(list(thread_imap(held_out, splits, None if on_threads else 1)))

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
        return OrdinalFit(results)


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
        return mean_defined(per_query(measure, y, np.stack(ranks, axis=1).astype(float), groups))
    return mean_defined(per_query(measure, np.maximum(y, 0.0), scores, groups))
