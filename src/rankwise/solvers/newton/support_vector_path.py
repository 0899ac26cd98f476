"""The path of epsilon-SVR for a ranker: LIBSVM on kernels, proximal Newton steps on columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.svm import SVR

from rankwise.features.kernels import Kernel, check_symmetric
from rankwise.features.score_expansions import (
    Expansion,
    LinearKernelExpansion,
    PrecomputedExpansion,
    SupportExpansion,
)
from rankwise.groups import FitData, QueryGroups
from rankwise.losses.absolute_loss import PointwiseAbsolute
from rankwise.row_order import MergedRows, merge_rows
from rankwise.runtime.finite import foreign_range
from rankwise.solvers import SolveResult
from rankwise.solvers.newton.proximal_newton import ProximalNewton, column_products
from rankwise.tuning import Penalties, RefitPath
from rankwise.typing import Float64Array, Int64Array, Matrix, densify

# Kernels that LIBSVM evaluates itself when needed, with their LIBSVM names.
BUILT_IN = {"linear": "linear", "rbf": "rbf", "polynomial": "poly", "sigmoid": "sigmoid"}
CACHE_MEGABYTES = 500


@dataclass(frozen=True, eq=False)
class SupportVectorFit:
    """Solutions for every C on all training rows, or on some of them."""

    source: SupportVectorPath
    # Weights of the columns, (n_C, n_features), for a linear kernel; otherwise of the rows, (n_C,
    # n_samples).
    coefs: Float64Array
    results: Sequence[SolveResult[Float64Array]]
    intercepts: Float64Array  # (n_C,)
    # For each C, rows whose weight is not zero, in an order that depends on their content alone
    supports: Sequence[Int64Array]

    def attributes(self, index: int) -> dict[str, Any]:
        """Fitted attributes of the solution at one value of the grid."""
        return {
            "expansion_": self._expansion(index),
            "epsilon_": self.source.epsilon,
            "n_iter_": self.results[index].n_iter,
        }

    def _expansion(self, index: int) -> Expansion:
        rows, kernel, coef = self.source.rows, self.source.kernel, self.coefs[index]
        intercept = float(self.intercepts[index])
        if kernel.name == "linear":
            return LinearKernelExpansion(coef, intercept, kernel)
        if kernel.name != "precomputed":
            support = self.supports[index]
            X_fit = rows.X[support].astype(np.float64)
            return SupportExpansion(kernel, coef[support], intercept, X_fit)
        if rows.kept is None:
            return PrecomputedExpansion(kernel, coef, intercept)
        # Rows of zero weight still have columns.
        dual_coef = np.zeros(len(rows.kept))
        dual_coef[rows.kept] = coef
        return PrecomputedExpansion(kernel, dual_coef, intercept)

    def path(self) -> dict[str, Float64Array]:
        """All solutions, as ``path_`` holds them."""
        return {"coef": self.coefs}

    def shortfall(self, index: int, at: str) -> str:
        """How far the solver stopped from the solution; empty if it converged.

        LIBSVM reports no gap and emits its own warning.
        """
        result = self.results[index]
        if result.converged or not np.isfinite(result.stop_value):
            return ""
        return (
            f"stopped after {result.n_iter} steps at {at}; the relative duality gap is "
            f"{result.stop_value:.2g}, above 0.01 times tol={self.source.tol:g}. Increase max_iter "
            "or tol."
        )


@dataclass(frozen=True, eq=False)
class SupportVectorPath(RefitPath[SupportVectorFit]):
    """Absolute residuals beyond epsilon, plus half a squared norm, for a grid of C.

    ``loss`` is for the columns of a linear kernel, which LIBSVM has built in. It maps weights of
    the rows and epsilon to :class:`PointwiseAbsolute`.
    """

    rows: FitData  # training rows; queries only determine which rows are measured together
    design: tuple[Kernel, float]  # kernel, and the residual epsilon up to which a row has no loss
    loss: Callable[[Float64Array, float], PointwiseAbsolute]
    penalties: Penalties  # values of C
    tol: float
    max_iter: int | None
    max_bytes: int

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        return self.design[0]

    @property
    def epsilon(self) -> float:
        """Residual up to which a row has no loss."""
        return self.design[1]

    def _scores(self, fit: SupportVectorFit, X: Matrix) -> Float64Array:
        coefs = fit.coefs
        if self.kernel.name == "linear":
            return np.asarray(X @ coefs.T) + fit.intercepts
        X = X.astype(np.float64, copy=False)
        if self.kernel.name == "precomputed":
            kept = self.rows.kept
            columns = X if kept is None else X[:, kept]
            return np.asarray(columns @ coefs.T) + fit.intercepts
        used = np.flatnonzero(coefs.any(axis=0))
        rows = self.rows.X[used].astype(np.float64, copy=False)
        return self.kernel.products(X, rows, coefs[:, used].T) + fit.intercepts

    def _solve(self, rows: Int64Array) -> SupportVectorFit:
        weight = self.rows.sample_weight
        weight = None if weight is None else weight[rows]
        X, y = self.rows.X[rows], self.rows.y[rows]
        merged = merge_rows(X, y, QueryGroups.single(len(rows)), weight)
        # LIBSVM takes more steps for more rows and larger C; Newton steps solve a system of the
        # columns.
        if self.kernel.name == "linear" and len(merged.rows) >= X.shape[1]:
            return self._solve_on_columns(X, y, merged)
        given = self._prepare_input(X[merged.rows].astype(np.float64), rows[merged.rows])
        with foreign_range():
            machines = [
                self._machine(float(C)).fit(given, y[merged.rows], sample_weight=merged.weight)
                for C in self.penalties.values
            ]
        n_coefs = X.shape[1] if self.kernel.name == "linear" else len(self.rows.y)
        coefs, supports = np.zeros((len(machines), n_coefs)), []
        for coef, machine in zip(coefs, machines, strict=True):
            support, dual = np.asarray(machine.support_), densify(machine.dual_coef_).ravel()
            supports.append(rows[merged.rows[support]])
            if self.kernel.name == "linear":
                coef[:] = np.asarray(X[merged.rows[support]].T @ dual)
            elif self.kernel.name == "precomputed":
                full = np.zeros(len(merged.rows))
                full[support] = dual
                # Columns of a precomputed kernel belong to the rows as given, equal ones too.
                coef[rows] = full[merged.position] * merged.share
            else:
                coef[supports[-1]] = dual
        results = [
            SolveResult(coef, max(1, int(machine.n_iter_)), machine.fit_status_ == 0, np.nan)
            for coef, machine in zip(coefs, machines, strict=True)
        ]
        intercepts = np.array([float(machine.intercept_[0]) for machine in machines])
        return SupportVectorFit(self, coefs, results, intercepts, supports)

    def _solve_on_columns(self, X: Matrix, y: Float64Array, merged: MergedRows) -> SupportVectorFit:
        """The linear kernel on the columns of X."""
        y = y[merged.rows]
        loss = self.loss(merged.weight, self.epsilon)
        columns = column_products(X, merged.indptr, merged.rows)
        # tol is LIBSVM's, for a row's violation of optimality; the gap asked for is a hundredth of
        # it.
        solver = ProximalNewton(1e-2 * self.tol, self.max_iter or 1000)
        # C g + |w|^2 / 2 is, divided by C, g + lam |w|^2 with lam = 1 / (2 C).
        results = solver.path(loss, y, columns, 0.5 / self.penalties.values)
        coefs = np.stack([np.asarray(columns.X.T @ result.x) for result in results])
        scores = np.asarray(X @ coefs.T)[merged.rows]
        intercepts = np.array([loss.intercept(y - column) for column in scores.T])
        return SupportVectorFit(self, coefs, results, intercepts, [])

    def _prepare_input(self, X: Matrix, columns: Int64Array) -> Any:
        """Input of LIBSVM: rows, or the kernel between them."""
        if self.kernel.name == "precomputed":
            kept = self.rows.kept
            K = X[:, columns if kept is None else np.flatnonzero(kept)[columns]]
            check_symmetric(K, "precomputed")
            return K
        if self.kernel.name not in BUILT_IN:
            return self._matrix(X)
        # Dense where it fits: LIBSVM rounds sparse products differently.
        return densify(X) if 8 * X.shape[0] * X.shape[1] <= self.max_bytes else X

    def _machine(self, C: float) -> SVR:
        gamma: Any = self.kernel.gamma or 1.0
        return SVR(
            kernel=BUILT_IN.get(self.kernel.name, "precomputed"),
            gamma=gamma,
            degree=self.kernel.degree,
            coef0=self.kernel.coef0,
            C=C,
            epsilon=self.epsilon,
            tol=self.tol,
            max_iter=self.max_iter or -1,
            cache_size=CACHE_MEGABYTES,
        )

    def _matrix(self, X: Matrix) -> Float64Array:
        needed = 8 * X.shape[0] ** 2
        if needed > self.max_bytes:
            raise ValueError(
                f"max_bytes={self.max_bytes} is less than the {needed} bytes of the kernel matrix "
                f"of {X.shape[0]} distinct rows. Raise max_bytes, or use one of the kernels that "
                f"need none: {', '.join(BUILT_IN)}."
            )
        K = np.asarray(self.kernel(X, X), dtype=np.float64)
        if self.kernel.function is not None:  # the named ones are symmetric
            check_symmetric(K, self.kernel.function)
        return K
