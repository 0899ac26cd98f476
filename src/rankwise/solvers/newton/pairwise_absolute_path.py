"""The path of SVRank for a ranker: on kernel values or on columns, for all rows or for folds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from rankwise.losses.pairwise_absolute import PairwiseAbsolute
from rankwise.rows.fit_data import FitData
from rankwise.rows.merged_rows import merge_rows
from rankwise.solvers.least_squares.kernel_design import AnyDesign, KernelDesign
from rankwise.solvers.newton.inner_products import column_products, kernel_products
from rankwise.solvers.newton.proximal_newton import ProximalNewton
from rankwise.solvers.solve_result import SolveResult
from rankwise.tuning.penalty import Penalties
from rankwise.tuning.refit_path import RefitPath
from rankwise.typing import Float64Array, Int64Array, Matrix, densify


@dataclass(frozen=True, eq=False)
class PairwiseAbsoluteFit:
    """Solutions for every penalty on all training rows, and their path."""

    source: PairwiseAbsolutePath
    coefs: Float64Array
    results: Sequence[SolveResult[Float64Array]]

    def attributes(self, index: int) -> dict[str, Any]:
        """Fitted attributes of the solution at one value of the grid."""
        source, result = self.source, self.results[index]
        lam = float(source.penalties.values[index])
        return {
            "expansion_": source.design.expansion([self.coefs[index]]),
            "objective_": source.objective(self.coefs[index], lam),
            "dual_gap_": result.stop_value,
            "n_iter_": result.n_iter,
        }

    def path(self) -> dict[str, Float64Array]:
        """All solutions, as ``path_`` holds them."""
        return {"coef": self.source.design.path_coef([self.coefs])}

    def shortfall(self, index: int, at: str) -> str:
        """How far the solver stopped from the solution; empty if it converged."""
        solver, result = self.source.solver, self.results[index]
        if result.converged:
            return ""
        return (
            f"stopped after max_iter={solver.max_iter} steps at {at}; the relative duality gap is "
            f"{result.stop_value:.2g}, above tol={solver.tol:g}. Increase max_iter or tol."
        )


@dataclass(frozen=True, eq=False)
class PairwiseAbsolutePath(RefitPath[PairwiseAbsoluteFit]):
    """Absolute differences of residuals over pairs, plus a squared norm, for a grid of penalties.

    ``loss`` maps queries and row weights to the loss of residuals, as
    :func:`rankwise.losses.pairwise_absolute.pairwise_absolute` does.
    """

    rows: FitData  # as the user passed them; they determine which rows are equal
    design: AnyDesign  # columns of every row, or kernel values between the rows
    loss: Callable[[Int64Array, Float64Array | None], PairwiseAbsolute]
    penalties: Penalties  # values of lam
    solver: ProximalNewton

    def solve(self) -> PairwiseAbsoluteFit:
        """Solutions for every penalty, from all rows."""
        if isinstance(self.design, KernelDesign):
            self.design.check_convex(self.rows.groups)
        return super().solve()

    def _scores(self, fit: PairwiseAbsoluteFit, X: Matrix) -> Float64Array:
        return self.design.scores(X, self.design.read_out([fit.coefs]))

    def _training_scores(self, fit: PairwiseAbsoluteFit, rows: Int64Array) -> Float64Array:
        return np.asarray(self._values[rows] @ fit.coefs.T)

    def objective(self, coef: Float64Array, lam: float) -> float:
        """``g(y - f) + lam |f|^2`` on all rows, without merging any."""
        groups, weight = self.rows.groups, self.rows.sample_weight
        order = groups.rows(np.arange(groups.n_queries))
        loss = self.loss(groups.indptr, None if weight is None else weight[order])
        scores = np.asarray(self._values @ coef)
        norm = float(coef @ scores) if isinstance(self.design, KernelDesign) else float(coef @ coef)
        return loss.value((self.rows.y - scores)[order]) + lam * norm

    @cached_property
    def _values(self) -> Matrix:
        return self.design.training_values(self.rows.X)

    def _solve(self, rows: Int64Array) -> PairwiseAbsoluteFit:
        X, y, weight = self.rows.X, self.rows.y, self.rows.sample_weight
        part = None if weight is None else weight[rows]
        # Equal rows of a query are one row of their weight: a smaller system, the same solution.
        merged = merge_rows(X[rows], y[rows], self.rows.groups.take(rows), part)
        kept = rows[merged.rows]
        loss, lams = self.loss(merged.indptr, merged.weight), self.penalties.values
        if isinstance(self.design, KernelDesign):
            products = kernel_products(densify(self._values), merged.indptr, kept)
            solved = self.solver.path(loss, y[kept], products, lams)
            coefs = np.zeros((len(lams), len(y)))
            # A merged row's coefficient goes to its members by weight: weight means repetition.
            coefs[:, rows] = _stack_solutions(solved)[:, merged.position] * merged.share
        else:
            columns = column_products(self._values, merged.indptr, kept)
            products = columns
            # Fewer rows than columns: a Newton step solves the system of the rows.
            if len(kept) < self._values.shape[1]:
                K = columns.X @ columns.X.T
                K = densify(K)
                products = kernel_products(K, merged.indptr)
            solved = self.solver.path(loss, y[kept], products, lams)
            coefs = np.asarray(columns.X.T @ _stack_solutions(solved).T).T
        results = [replace(result, x=coef) for result, coef in zip(solved, coefs, strict=True)]
        return PairwiseAbsoluteFit(self, coefs, results)


def _stack_solutions(results: Sequence[SolveResult[Float64Array]]) -> Float64Array:
    return np.stack([result.x for result in results])
