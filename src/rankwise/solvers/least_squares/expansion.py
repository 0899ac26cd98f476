"""Squared loss of kernel expansions ``f(x) = sum_i a_i K(x, x_i)``: decomposed, or by gradients.

``penalise="norm"`` penalises the norm of the kernel's space. The kernel must be positive definite;
if scores are centred within queries, conditionally positive definite is enough. With ``L = R'R``

    ``a = R' (R K R' + I/C)^-1 R y``,

the symmetric form of ``(I/C + L K)^-1 L y``. ``penalise="coefficients"`` penalises the l2 norm of
a, for any kernel, symmetric or not: ``a = (K' L K + I/C)^-1 K' L y``. A row of weight w represents
w copies that share its coefficient, so its penalty is ``a^2 / w``.

One reduction to tridiagonal form gives every C; a single C takes one Cholesky factorisation. Folds
of rows take a submatrix each and are solved separately.

Complexity: O(N^3) time for each training set, three N x N matrices.

Conjugate gradients never store the N x N kernel matrix [1]_. They solve ``(R K R' + I/C) z = R y``
for one C, ``a = R' z``. With n landmarks the Nystroem features ``Phi`` give the preconditioner
``(B B' + I/C)^-1``, ``B = R Phi``, applied in the eigenvectors of ``B B'``. The iteration handles
the kernel's eigenvalues outside the span of the landmarks.

Complexity: O(N^2 d) per step; memory for N n numbers.

References
----------
.. [1] Rudi, Carratino & Rosasco, "FALKON: an optimal large scale kernel method", NIPS 30 (2017).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn

import numpy as np

from rankwise.features.kernels import Kernel
from rankwise.groups import FitData, QueryGroups
from rankwise.losses.squared_loss import LaplacianFactor, Problem, SquaredLoss
from rankwise.metrics.measure import Measure
from rankwise.runtime.threads import available_threads, thread_imap
from rankwise.solvers import SolveResult
from rankwise.solvers.least_squares.design import KernelDesign
from rankwise.solvers.least_squares.eigen_path import (
    NotSemidefiniteError,
    decompose_dual,
    limit_cancellation,
    path_coef,
)
from rankwise.solvers.least_squares.gram import BlockMap
from rankwise.solvers.least_squares.leave_out import (
    Decomposed,
    Intercept,
    leave_pair_out,
    leave_query_out,
)
from rankwise.solvers.least_squares.path_selection import PathFit
from rankwise.tuning import Penalties, cv_splits, mean_measure
from rankwise.typing import Float64Array, Int64Array, Matrix

Penalise = Literal["norm", "coefficients"]
# N x N matrices alive at once, at most: with folds one after the other, and with an
# eigendecomposition of all rows and what leads from it to rows that are left out.
MATRICES = 6
LEAVE_OUT_MATRICES = 8


@dataclass(frozen=True, eq=False)
class ExpansionPath:
    """A squared loss of a kernel expansion, plus a penalty, for a grid of penalties."""

    rows: FitData
    design: KernelDesign  # with the kernel between the rows
    loss: SquaredLoss
    penalties: Penalties
    penalise: Penalise = "norm"
    max_bytes: int = 2**62  # memory limit that decides how many folds are solved at once

    def solve(self) -> PathFit:
        """Solutions for every penalty, from all rows."""
        with self._definite():
            return self._fit(self._coefs(self._every))

    def validate(self, measure: Measure, rows: FitData) -> tuple[PathFit, Float64Array]:
        """Solutions on all rows, measured on validation rows."""
        fit = self.solve()
        scores = self.design.scores(rows.X, fit.coefs[0])
        if fit.constants is not None:
            scores += fit.constants
        return fit, mean_measure(measure, rows.y, scores, rows.groups)[None]

    def cross_validate(self, measure: Measure, cv: Any) -> tuple[PathFit, Float64Array]:
        """Solutions on all rows, measured by cross-validation; each split is refitted."""
        return self.solve(), self._measure_refits(measure, cv_splits(cv, self.rows))

    def leave_query_out(self, measure: Measure) -> tuple[PathFit, Float64Array]:
        """Solutions on all rows, measured by exact leave-one-query-out.

        If coefficients are penalised, leaving out the rows of a query also removes their columns.
        Every query is then a separate split: Q systems of N unknowns.
        """
        if self.penalise == "coefficients":
            groups = self.rows.groups
            held = [np.sort(groups.rows(query)) for query in range(groups.n_queries)]
            splits = [(np.setdiff1d(self._every, rows), rows) for rows in held]
            return self.solve(), self._measure_refits(measure, splits)
        with self._definite():
            draw, intercept, coefs = self._decompose()
            problem = self.loss.on(self.rows)
            scores = leave_query_out(problem, [draw], self.penalties, measure, intercept)
        return self._fit(coefs), scores

    def leave_pair_out(self) -> tuple[PathFit, Float64Array]:
        """Solutions on all rows, and the share of pairs misordered by exact leave-pair-out."""
        with self._definite():
            draw, intercept, coefs = self._decompose()
            problem = self.loss.on(self.rows)
            scores = leave_pair_out(problem, [draw], self.penalties, intercept)
        return self._fit(coefs), scores

    @property
    def _K(self) -> Float64Array:
        assert self.design.K is not None
        return self.design.K

    @property
    def _every(self) -> Int64Array:
        return np.arange(len(self._K))

    def _fit(self, coefs: Float64Array) -> PathFit:
        """The solutions without the kernel matrix, whose memory the next kernel width needs."""
        constants = self._intercepts(coefs, self._every) if self.loss.intercept else None
        return PathFit(replace(self.design, K=None), [coefs], constants)

    @contextmanager
    def _definite(self) -> Iterator[None]:
        try:
            yield
        except NotSemidefiniteError as error:
            raise ValueError(
                "kernel must be positive semidefinite if its norm is penalised, got "
                f"kernel={self.design.given!r}. {error} CLSRRank takes any kernel."
            ) from error

    def _coefs(self, rows: Int64Array) -> Float64Array:
        """Coefficients for every penalty from the given training rows, shape (n_values, N).

        Rows that are left out have coefficient 0.
        """
        penalties = self.penalties
        problem = self._part(rows)
        order = problem.groups.rows(np.arange(problem.groups.n_queries))
        factor = problem.factor(
            order, QueryGroups(problem.groups.indptr, None, ids=problem.groups.ids)
        )
        n_queries = problem.groups.n_queries
        target = factor.apply(problem.y[order][:, None], 0, n_queries)[:, 0]
        columns = rows[order]
        # The rounding error of eigenvalues: negative ones within it are none.
        noise = limit_cancellation(self._K.diagonal()[columns], factor)
        half = factor.apply(self._K[np.ix_(columns, columns)], 0, n_queries)
        if self.penalise == "coefficients":
            # A penalty a^2 / w is that of a / sqrt(w), whose column is sqrt(w) times as long.
            weight = np.ones(len(order)) if problem.sample_weight is None else factor.weight
            half *= np.sqrt(weight)
            C = penalties.C(problem.pairs(), float(weight.sum()))
            inner = path_coef(half.T @ half, half.T @ target, C, overwrite=True)
            inner *= np.sqrt(weight)
        else:
            system = factor.apply(np.ascontiguousarray(half.T), 0, n_queries)
            # Freed before the solver needs matrices of its own, see MATRICES.
            del half
            C = penalties.C(problem.pairs())
            checked = not self.design.definite
            solved = path_coef(system, target, C, overwrite=True, checked=checked, noise=noise)
            inner = factor.apply_transposed(solved.T).T
        coefs = np.zeros((len(C), len(self._K)))
        coefs[:, columns] = inner
        return coefs

    def _intercepts(self, coefs: Float64Array, rows: Int64Array) -> Float64Array:
        """Unpenalised intercept of each solution on its training rows (0 without), (n_values,)."""
        if not self.loss.intercept:
            return np.zeros(len(coefs))
        weight = self.rows.sample_weight
        w = np.ones(len(rows)) if weight is None else weight[rows]
        residual = self.rows.y[rows] - coefs @ self._K[rows].T
        return residual @ w / w.sum()

    def _measure_refits(
        self, measure: Measure, splits: Sequence[tuple[Int64Array, Int64Array]]
    ) -> Float64Array:
        rows = self.rows

        def held_out(split: tuple[Int64Array, Int64Array]) -> Float64Array:
            train, test = split
            coefs = self._coefs(train)
            scores = self._K[test] @ coefs.T + self._intercepts(coefs, train)
            return mean_measure(measure, rows.y[test], scores, rows.groups.take(test))

        n_threads = self._n_threads(max((len(train) for train, _ in splits), default=0))
        with self._definite():
            return np.stack(list(thread_imap(held_out, splits, n_threads)))

    def _n_threads(self, n_train: int) -> int:
        """Number of folds solved at once for this size; small folds are solved one by one."""
        # Starting threads takes longer than a fold.
        if len(self._K) <= 500:
            return 1
        per_fold = 8 * n_train * n_train * (MATRICES - 1)
        left = self.max_bytes - 8 * len(self._K) ** 2
        return max(1, min(available_threads(), left // max(per_fold, 1)))

    def _part(self, rows: Int64Array) -> Problem:
        """The problem of some training rows, without their features.

        An unpenalised intercept is equivalent to the loss over all pairs of all rows, each row
        counted once.
        """
        problem = self.loss.on(self.rows)
        weight = None if problem.sample_weight is None else problem.sample_weight[rows]
        none = np.empty((len(rows), 0))
        if problem.intercept:
            groups = QueryGroups.single(len(rows))
            # See the docstring: an intercept that is free centres all rows about their weighted
            # mean.
            return Problem(none, problem.y[rows], groups, weight, "all", "document")
        groups = problem.groups.take(rows)
        return replace(problem, X=none, y=problem.y[rows], groups=groups, sample_weight=weight)

    def _decompose(self) -> tuple[Decomposed, Intercept, Float64Array]:
        """The eigendecomposed problem of all rows, and the coefficients for every penalty."""
        penalties, problem = self.penalties, self._part(self._every)
        order = problem.groups.rows(np.arange(problem.groups.n_queries))
        dual = decompose_dual(problem, self._K[np.ix_(order, order)], order)
        basis = np.empty((len(self._K), len(dual.values)))
        basis[order] = dual.combination / np.sqrt(dual.values)
        coefs = np.empty((len(penalties), len(self._K)))
        coefs[:, order] = dual.all_weights(penalties.C(problem.pairs())).T
        centre, intercept = np.zeros(len(self._K)), Intercept()
        if self.loss.intercept:
            w = np.ones(len(self._K)) if problem.sample_weight is None else problem.sample_weight
            centre = w @ self._K / w.sum()
            intercept = Intercept(float(w @ problem.y) / w.sum(), 1.0 / w.sum())
        draw = Decomposed(
            dual.values, dual.projected_rhs, lambda rows: (self._K[rows] - centre) @ basis
        )
        return draw, intercept, coefs


# Number of kernel values held per thread at a time.
BLOCK_NUMBERS = 4_000_000


def solve_by_conjugate_gradients(
    operator: Callable[[Float64Array], Float64Array],
    rhs: Float64Array,
    precondition: Callable[[Float64Array], Float64Array],
    tol: float,
    max_iter: int,
) -> SolveResult[Float64Array]:
    """Solve ``operator(x) = rhs`` for a symmetric positive definite operator.

    ``tol`` is for the relative residual, the ``stop_value``. The updated residual drifts from the
    true one. When the updated residual meets the tolerance, the true one is checked; if it is too
    large, the iteration restarts from the current point.
    """
    x = np.zeros_like(rhs)
    residual = rhs.copy()
    scale = float(np.linalg.norm(rhs))
    left = 1.0
    if scale == 0.0:
        return SolveResult(x, 0, True, 0.0)
    # rho / inf is 0: the first direction, and the first after a restart, is the residual's.
    direction, rho = np.zeros_like(rhs), np.inf
    for step in range(1, max_iter + 1):
        z = precondition(residual)
        rho, previous = float(residual @ z), rho
        direction = z + (rho / previous) * direction
        image = operator(direction)
        curvature = float(direction @ image)
        if not curvature > 0.0:  # only rounding error is left
            return SolveResult(x, step, False, float(np.linalg.norm(residual)) / scale)
        x += (rho / curvature) * direction
        residual -= (rho / curvature) * image
        left = float(np.linalg.norm(residual)) / scale
        if left <= tol:
            residual = rhs - operator(x)
            left = float(np.linalg.norm(residual)) / scale
            if left <= tol:
                return SolveResult(x, step, True, left)
            rho = np.inf
    return SolveResult(x, max_iter, False, left)


@dataclass(frozen=True, eq=False)
class ConjugateGradientsPath:
    """A squared loss of a kernel expansion that is solved for one penalty.

    Several penalties, or alpha=0, raise ValueError.
    """

    rows: FitData
    design: KernelDesign  # without the kernel between the rows
    loss: SquaredLoss
    penalties: Penalties
    # Maps the rows and the kernel to features whose inner products approximate the kernel.
    landmarks: Callable[[FitData, Kernel], BlockMap]
    tol: float
    max_iter: int

    def solve(self) -> PathFit:
        """The solution on all rows."""
        problem = self.loss.on(self.rows)
        C = float(self.penalties.C(problem.pairs())[0])
        if np.isinf(C):
            raise ValueError('approximation="pcg" needs alpha > 0, got alpha=0. Use a small one.')
        kernel, groups = self.design.kernel, problem.groups
        order = groups.rows(np.arange(groups.n_queries))
        factor = problem.factor(order, QueryGroups(groups.indptr, None, ids=groups.ids))
        features = self.landmarks(self.rows, kernel).rows(problem.X[order])
        B = factor.apply(features, 0, groups.n_queries)
        target = factor.apply(problem.y[order][:, None], 0, groups.n_queries)[:, 0]
        solved = solve_by_conjugate_gradients(
            kernel_operator(kernel, self.design.X[order], factor, 1.0 / C),
            target,
            low_rank_preconditioner(B, 1.0 / C),
            self.tol,
            self.max_iter,
        )
        a = np.empty(len(order))
        a[order] = factor.apply_transposed(solved.x[:, None])[:, 0]
        shortfall = ""
        if not solved.converged:
            shortfall = (
                f"stopped after max_iter={self.max_iter} conjugate gradients at a relative "
                f"residual of {solved.stop_value:.2e}, above tol={self.tol:g}. Raise "
                "max_iter or n_landmarks."
            )
        return PathFit(self.design, [a[None, :]], n_iter=solved.n_iter, problem=shortfall)

    def _refuse(self, *given: Any) -> NoReturn:
        raise ValueError(
            'approximation="pcg" solves for one penalty, got several values, a name or a list of '
            'widths. Give numbers for alpha and gamma, or use approximation="nystroem" to search.'
        )

    validate = cross_validate = leave_query_out = leave_pair_out = _refuse


def kernel_operator(
    kernel: Kernel, X: Matrix, factor: LaplacianFactor, alpha: float
) -> Callable[[Float64Array], Float64Array]:
    """``z -> (R K R' + alpha) z``; rows of X and of the factor in group order."""
    n = X.shape[0]
    size = n if kernel.function is not None else max(1, BLOCK_NUMBERS // n)
    starts = range(0, n, size)
    n_queries = len(factor.indptr) - 1

    def operator(z: Float64Array) -> Float64Array:
        a = factor.apply_transposed(z[:, None])[:, 0]
        # Values are computed again in every step: N^2 of them would not fit in memory.
        parts = thread_imap(lambda lo: np.asarray(kernel(X[lo : lo + size], X)) @ a, starts)
        scores = np.concatenate(list(parts)).astype(np.float64)
        return factor.apply(scores[:, None], 0, n_queries)[:, 0] + alpha * z

    return operator


def low_rank_preconditioner(
    B: Float64Array, alpha: float
) -> Callable[[Float64Array], Float64Array]:
    """``v -> (B B' + alpha)^-1 v`` for B of shape (n_rows, n_landmarks)."""
    squares, V = np.linalg.eigh(B.T @ B)
    # Dividing by smaller ones would give directions that are not orthogonal.
    kept = squares > len(squares) * np.finfo(np.float64).eps * max(squares[-1], 0.0)
    squares = squares[kept]
    U = B @ (V[:, kept] / np.sqrt(squares))
    # 1/(s + alpha) on the span of U, 1/alpha on its complement.
    inside = 1.0 / (squares + alpha) - 1.0 / alpha
    return lambda v: v / alpha + U @ (inside * (U.T @ v))
