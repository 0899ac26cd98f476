"""The path of SVRank for a ranker: on kernel values or on columns, for all rows or for folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from rankwise.losses.pairwise_absolute import pairwise_absolute
from rankwise.rows.fit_data import FitData
from rankwise.rows.merged_rows import merge_rows
from rankwise.solvers.least_squares.kernel_design import AnyDesign, KernelDesign
from rankwise.solvers.newton.inner_products import column_products, kernel_products
from rankwise.solvers.newton.proximal_newton import ProximalNewton
from rankwise.solvers.result import SolveResult
from rankwise.tuning.held_out import mean_measure
from rankwise.tuning.penalty_search import PenaltySearch
from rankwise.typing import Float64Array, Int64Array, Matrix, as_dense


@dataclass(frozen=True, eq=False)
class PairwiseAbsoluteFit:
    """Solutions for every penalty on all training rows, and their path."""

    path: PairwiseAbsolutePath
    coefs: Float64Array
    results: Sequence[SolveResult[Float64Array]]

    def attributes(self, index: int) -> dict[str, Any]:
        """Fitted attributes of the solution at one value of the grid."""
        result = self.results[index]
        return {
            **self.path.design.attributes([self.coefs[index]]),
            "objective_": self.path.objective(self.coefs[index], float(self.path.lams[index])),
            "dual_gap_": result.stop_value,
            "n_iter_": result.n_iter,
        }

    def path_coef(self) -> Float64Array:
        """All solutions, as ``path_["coef"]`` holds them."""
        return self.path.design.path_coef([self.coefs])


@dataclass(frozen=True, eq=False)
class PairwiseAbsolutePath:
    """Absolute differences of residuals over pairs, plus a squared norm, for a grid of penalties.

    Attributes
    ----------
    rows : FitData
        Rows as the user passed them; they determine which rows are equal.
    design : Design or KernelDesign
        Columns of every row, or kernel values between the rows.
    lams : ndarray of shape (n_lam,)
    epsilon : float
    query_weight : str
    solver : ProximalNewton
    """

    rows: FitData
    design: AnyDesign
    lams: Float64Array
    epsilon: float
    query_weight: str
    solver: ProximalNewton

    def fit(self, search: PenaltySearch) -> tuple[PairwiseAbsoluteFit, Float64Array | None]:
        """Solutions on all rows for every penalty, and the search's measures of held-out rows."""
        rows, design = self.rows, self.design
        if isinstance(design, KernelDesign):
            design.check_convex(rows.groups)
        fit = PairwiseAbsoluteFit(self, *self._solve(np.arange(len(rows.y))))

        def validated(new: FitData) -> Float64Array:
            scores = design.scores(new.X, design.read_out([fit.coefs]))
            return mean_measure(search.measure, new.y, scores, new.groups)

        def refitted(train: Int64Array, test: Int64Array) -> Float64Array:
            scores = np.asarray(self._values[test] @ self._solve(train)[0].T)
            return mean_measure(search.measure, rows.y[test], scores, rows.groups.take(test))

        return fit, search.held_out(rows, validated, refitted)

    def objective(self, coef: Float64Array, lam: float) -> float:
        """``g(y - f) + lam |f|^2`` on all rows, without merging any."""
        groups, weight = self.rows.groups, self.rows.sample_weight
        order = groups.rows(np.arange(groups.n_queries))
        loss = pairwise_absolute(
            groups.indptr,
            None if weight is None else weight[order],
            epsilon=self.epsilon,
            query_weight=self.query_weight,
        )
        scores = np.asarray(self._values @ coef)
        norm = float(coef @ scores) if isinstance(self.design, KernelDesign) else float(coef @ coef)
        return loss.value((self.rows.y - scores)[order]) + lam * norm

    @cached_property
    def _values(self) -> Matrix:
        return self.design.training_values(self.rows.X)

    def _solve(self, rows: Int64Array) -> tuple[Float64Array, list[SolveResult[Float64Array]]]:
        X, y, weight = self.rows.X, self.rows.y, self.rows.sample_weight
        part = None if weight is None else weight[rows]
        merged = merge_rows(X[rows], y[rows], self.rows.groups.take(rows), part)
        kept = rows[merged.rows]
        loss = pairwise_absolute(
            merged.indptr, merged.weight, epsilon=self.epsilon, query_weight=self.query_weight
        )
        if isinstance(self.design, KernelDesign):
            products = kernel_products(as_dense(self._values), merged.indptr, kept)
            solved = self.solver.path(loss, y[kept], products, self.lams)
            coefs = np.zeros((len(self.lams), len(y)))
            coefs[:, rows] = _stacked(solved)[:, merged.position] * merged.share
        else:
            columns = column_products(self._values, merged.indptr, kept)
            products = columns
            if len(kept) < self._values.shape[1]:
                K = columns.X @ columns.X.T
                K = as_dense(K)
                products = kernel_products(K, merged.indptr)
            solved = self.solver.path(loss, y[kept], products, self.lams)
            coefs = np.asarray(columns.X.T @ _stacked(solved).T).T
        return coefs, [replace(result, x=coef) for result, coef in zip(solved, coefs, strict=True)]


def _stacked(results: Sequence[SolveResult[Float64Array]]) -> Float64Array:
    return np.stack([result.x for result in results])
