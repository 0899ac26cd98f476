"""Kernel expansions ``f(x) = sum_i a_i K(x, x_i)`` over the training rows, and their path.

``penalise="norm"`` is the norm of the kernel's space, for a positive (or, where scores are centred
within queries, conditionally positive) definite kernel. With ``L = R'R``

    ``a = R' (R K R' + I/C)^-1 R y``,

the symmetric form of ``(I/C + L K)^-1 L y``. ``penalise="coefficients"`` is the l2 norm of a, for
any kernel, symmetric or not: ``a = (K' L K + I/C)^-1 K' L y``. A row of weight w stands for w
copies that share its coefficient: their penalty is ``a^2 / w``.

One reduction to tridiagonal form gives every C (one Cholesky factorisation where there is one C);
folds of rows cut the matrix and are solved for themselves.

Complexity: O(N^3) time for each training set, three N x N matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from rankwise.groups import QueryGroups
from rankwise.metrics.measure import Measure
from rankwise.runtime.threads import available_threads, thread_imap
from rankwise.solvers.least_squares.dual_path import cancelled, decompose_dual
from rankwise.solvers.least_squares.eigen_path import Equations, path_coef
from rankwise.solvers.least_squares.gram import Problem
from rankwise.solvers.least_squares.leave_out import (
    Decomposed,
    Intercept,
    leave_pair_out,
    leave_query_out,
)
from rankwise.tuning.folds import fold_splits
from rankwise.tuning.held_out import mean_defined, per_query
from rankwise.tuning.penalty import Penalties
from rankwise.typing import Float64Array, Int64Array

Penalise = Literal["norm", "coefficients"]
# N x N matrices alive at once, at most: with folds one after the other, and with an
# eigendecomposition of all rows and what leads from it to rows that are left out.
MATRICES = 6
LEAVE_OUT_MATRICES = 8


@dataclass(frozen=True, eq=False)
class Expansion:
    """The least-squares problem of a kernel expansion over N training rows.

    Attributes
    ----------
    K : ndarray of shape (N, N), float64
        ``K[i, j] = K(x_i, x_j)``, rows and columns in input order.
    problem : Problem
        Its X decides the folds of rows, nothing else.
    penalise : {"norm", "coefficients"}
    definite : bool
        Whether the kernel is known to be (conditionally) positive semidefinite.
    max_bytes : int
        As many folds are solved at once as stay below.
    """

    K: Float64Array
    problem: Problem
    penalise: Penalise = "norm"
    definite: bool = True
    max_bytes: int = 2**62

    def solve(self, penalties: Penalties, rows: Int64Array | None = None) -> Float64Array:
        """Coefficients for every penalty from the given training rows, shape (n_values, N).

        Rows that are left out have coefficient 0.
        """
        rows = np.arange(len(self.K)) if rows is None else rows
        problem = self._part(rows)
        order = problem.groups.rows(np.arange(problem.groups.n_queries))
        factor = problem.factor(order, QueryGroups(problem.groups.indptr, None, problem.groups.ids))
        n_queries = problem.groups.n_queries
        target = factor.apply(problem.y[order][:, None], 0, n_queries)[:, 0]
        columns = rows[order]
        noise = cancelled(self.K.diagonal()[columns], factor)
        half = factor.apply(self.K[np.ix_(columns, columns)], 0, n_queries)
        if self.penalise == "coefficients":
            weight = np.ones(len(order)) if problem.sample_weight is None else factor.weight
            half *= np.sqrt(weight)
            C = penalties.C(problem.pairs(), float(weight.sum()))
            inner = path_coef(Equations(half.T @ half, half.T @ target), C, overwrite=True)
            inner *= np.sqrt(weight)
        else:
            system = factor.apply(np.ascontiguousarray(half.T), 0, n_queries)
            del half
            C = penalties.C(problem.pairs())
            solved = path_coef(
                Equations(system, target),
                C,
                overwrite=True,
                checked=not self.definite,
                noise=noise,
            )
            inner = factor.apply_transposed(solved.T).T
        coefs = np.zeros((len(C), len(self.K)))
        coefs[:, columns] = inner
        return coefs

    def intercepts(self, coefs: Float64Array, rows: Int64Array | None = None) -> Float64Array:
        """Unpenalised intercept of each solution on its training rows (0 without), (n_values,)."""
        if not self.problem.intercept:
            return np.zeros(len(coefs))
        rows = np.arange(len(self.K)) if rows is None else rows
        weight = self.problem.sample_weight
        w = np.ones(len(rows)) if weight is None else weight[rows]
        residual = self.problem.y[rows] - coefs @ self.K[rows].T
        return residual @ w / w.sum()

    def cross_validate(self, penalties: Penalties, measure: Measure, n_folds: int) -> Float64Array:
        """Mean of the measure on each fold of queries (of rows where there are fewer queries)."""
        problem = self.problem
        splits = fold_splits(problem.X, problem.y, problem.groups, n_folds)
        return self.split_scores(penalties, measure, splits)

    def split_scores(
        self,
        penalties: Penalties,
        measure: Measure,
        splits: Sequence[tuple[Int64Array, Int64Array]],
    ) -> Float64Array:
        """Mean of the measure on each split's test rows, shape (n_splits, n_values)."""

        def held_out(split: tuple[Int64Array, Int64Array]) -> Float64Array:
            train, test = split
            coefs = self.solve(penalties, train)
            scores = self.K[test] @ coefs.T
            y, groups = self.problem.y[test], self.problem.groups.take(test)
            scores += self.intercepts(coefs, train)
            return mean_defined(per_query(measure, y, scores, groups))

        n_threads = self._n_threads(max((len(train) for train, _ in splits), default=0))
        return np.stack(list(thread_imap(held_out, splits, n_threads)))

    def _n_threads(self, n_train: int) -> int:
        """Folds of so many training rows that are solved at once; small ones one by one."""
        if len(self.K) <= 500:
            return 1
        per_fold = 8 * n_train * n_train * (MATRICES - 1)
        left = self.max_bytes - 8 * len(self.K) ** 2
        return max(1, min(available_threads(), left // max(per_fold, 1)))

    def leave_query_out(
        self, penalties: Penalties, measure: Measure
    ) -> tuple[Float64Array, Float64Array]:
        """Coefficients on all rows, and the measure of every query held out.

        Where coefficients are penalised the rows of a query take their columns with them, and
        every query is a split of its own: Q systems of N unknowns.
        """
        if self.penalise == "coefficients":
            groups, every = self.problem.groups, np.arange(len(self.K))
            held = [np.sort(groups.rows(query)) for query in range(groups.n_queries)]
            splits = [(np.setdiff1d(every, rows), rows) for rows in held]
            return self.solve(penalties), self.split_scores(penalties, measure, splits)
        draw, intercept, coefs = self._decomposed(penalties)
        return coefs, leave_query_out(self.problem, [draw], penalties, measure, intercept)

    def leave_pair_out(self, penalties: Penalties) -> tuple[Float64Array, Float64Array]:
        """Coefficients on all rows, and the share of misordered pairs of every query held out."""
        if self.penalise == "coefficients":
            raise ValueError(
                '"lpo" has no closed form where coefficients are penalised: every pair takes two '
                'columns with it. Use "cv", "loqo" or "val".'
            )
        draw, intercept, coefs = self._decomposed(penalties)
        return coefs, leave_pair_out(self.problem, [draw], penalties, intercept)

    def _part(self, rows: Int64Array) -> Problem:
        """The problem of some training rows, without their features.

        An unpenalised intercept is the same as all pairs of all rows, each row counting once.
        """
        problem = self.problem
        weight = None if problem.sample_weight is None else problem.sample_weight[rows]
        none = np.empty((len(rows), 0))
        if problem.intercept:
            groups = QueryGroups.single(len(rows))
            return Problem(none, problem.y[rows], groups, weight, "all", "document")
        groups = problem.groups.take(rows)
        return replace(problem, X=none, y=problem.y[rows], groups=groups, sample_weight=weight)

    def _decomposed(self, penalties: Penalties) -> tuple[Decomposed, Intercept, Float64Array]:
        """The eigendecomposed problem of all rows, and the coefficients for every penalty."""
        problem = self._part(np.arange(len(self.K)))
        order = problem.groups.rows(np.arange(problem.groups.n_queries))
        dual = decompose_dual(problem, self.K[np.ix_(order, order)], order)
        basis = np.empty((len(self.K), len(dual.values)))
        basis[order] = dual.combination / np.sqrt(dual.values)
        coefs = np.empty((len(penalties), len(self.K)))
        coefs[:, order] = dual.all_weights(penalties.C(problem.pairs())).T
        centre, intercept = np.zeros(len(self.K)), Intercept()
        if self.problem.intercept:
            w = np.ones(len(self.K)) if problem.sample_weight is None else problem.sample_weight
            centre = w @ self.K / w.sum()
            intercept = Intercept(float(w @ problem.y) / w.sum(), 1.0 / w.sum())
        draw = Decomposed(
            dual.values, dual.projected_rhs, lambda rows: (self.K[rows] - centre) @ basis
        )
        return draw, intercept, coefs
