"""The path of SVRank for a ranker: on kernel values or on columns, for all rows or for folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rankwise.groups import QueryGroups
from rankwise.losses.pairwise_absolute import pairwise_absolute
from rankwise.metrics.measure import Measure
from rankwise.runtime.threads import thread_imap
from rankwise.solvers.least_squares.path_selection import PathFit
from rankwise.solvers.newton.merged_rows import merge_rows
from rankwise.solvers.newton.proximal_newton import Gram, ProximalNewton
from rankwise.solvers.newton.row_products import column_products, kernel_products
from rankwise.solvers.result import SolveResult
from rankwise.tuning.held_out import mean_defined, per_query
from rankwise.typing import Float64Array, Int64Array, Matrix, as_dense


@dataclass(frozen=True, eq=False)
class SolvedPath(PathFit):
    """Solutions of an iterative solver; ``results`` has one entry per penalty."""

    results: Sequence[SolveResult]


@dataclass(frozen=True, eq=False)
class PairwiseAbsolutePath:
    """Absolute differences of residuals over pairs, plus a squared norm, for a grid of penalties.

    Attributes
    ----------
    X : ndarray or CSR of shape (n_samples, n_features)
        Rows as the user gave them: which of them are equal.
    y : ndarray of shape (n_samples,)
    groups : QueryGroups
    sample_weight : ndarray of shape (n_samples,) or None
    values : ndarray or CSR
        Columns of every row, (n_samples, n_columns), or kernel values, (n_samples, n_samples).
    is_kernel : bool
    lams : ndarray of shape (n_lam,)
    epsilon : float
    query_weight : str
    solver : ProximalNewton
    """

    X: Matrix
    y: Float64Array
    groups: QueryGroups
    sample_weight: Float64Array | None
    values: Matrix
    is_kernel: bool
    lams: Float64Array
    epsilon: float
    query_weight: str
    solver: ProximalNewton

    def fit(self) -> SolvedPath:
        """Coefficients of the columns (or of the rows) for every penalty, from all rows."""
        coefs, results = self._solve(np.arange(len(self.y)))
        return SolvedPath([coefs], None, None, results)

    def split_scores(
        self, measure: Measure, splits: Sequence[tuple[Int64Array, Int64Array]]
    ) -> Float64Array:
        """Mean of the measure on each split's test rows, shape (n_splits, n_lam)."""

        def held_out(split: tuple[Int64Array, Int64Array]) -> Float64Array:
            train, test = split
            scores = np.asarray(self.values[test] @ self._solve(train)[0].T)
            groups = self.groups.take(test)
            return mean_defined(per_query(measure, self.y[test], scores, groups))

        n_threads = None if len(self.y) > 500 else 1
        return np.stack(list(thread_imap(held_out, splits, n_threads)))

    def objective(self, coef: Float64Array, lam: float) -> float:
        """``g(y - f) + lam |f|^2`` on all rows, without merging any."""
        order = self.groups.rows(np.arange(self.groups.n_queries))
        weight = None if self.sample_weight is None else self.sample_weight[order]
        loss = pairwise_absolute(
            self.groups.indptr, weight, epsilon=self.epsilon, query_weight=self.query_weight
        )
        scores = np.asarray(self.values @ coef)
        norm = float(coef @ scores) if self.is_kernel else float(coef @ coef)
        return loss.value((self.y - scores)[order]) + lam * norm

    def _solve(self, rows: Int64Array) -> tuple[Float64Array, list[SolveResult]]:
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        merged = merge_rows(self.X[rows], self.y[rows], self.groups.take(rows), weight)
        kept = rows[merged.rows]
        loss = pairwise_absolute(
            merged.indptr, merged.weight, epsilon=self.epsilon, query_weight=self.query_weight
        )
        if self.is_kernel:
            gram = kernel_products(as_dense(self.values), merged.indptr, kept)
            solved = self.solver.path(loss, self.y[kept], gram, self.lams)
            coefs = np.zeros((len(self.lams), len(self.y)))
            coefs[:, rows] = _stacked(solved)[:, merged.position] * merged.share
        else:
            columns = column_products(self.values, merged.indptr, kept)
            products: Gram = columns
            if len(kept) < self.values.shape[1]:
                K = columns.X @ columns.X.T
                K = as_dense(K)
                products = kernel_products(K, merged.indptr)
            solved = self.solver.path(loss, self.y[kept], products, self.lams)
            coefs = np.asarray(columns.X.T @ _stacked(solved).T).T
        return coefs, [replace(result, x=coef) for result, coef in zip(solved, coefs, strict=True)]


def _stacked(results: Sequence[SolveResult]) -> Float64Array:
    return np.stack([result.x for result in results])
