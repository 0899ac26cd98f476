"""Kernel least squares by conjugate gradients: the N x N kernel matrix is never stored.

Solves ``(R K R' + I/C) z = R y`` for one C, ``a = R' z``, where ``L = R'R`` is the Laplacian of
the pairs. With n landmarks the Nystroem features ``Phi`` give the preconditioner
``(B B' + I/C)^-1``, ``B = R Phi``, applied in the eigenvectors of ``B B'``. The iteration handles
the kernel's eigenvalues outside the span of the landmarks.

Complexity: O(N^2 d) per step; memory for N n numbers.

References
----------
.. [1] Rudi, Carratino & Rosasco, "FALKON: an optimal large scale kernel method", NIPS 30 (2017).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from rankwise.features.kernel import Kernel
from rankwise.groups import QueryGroups
from rankwise.losses.laplacian import LaplacianFactor
from rankwise.losses.squared_loss import Problem, SquaredLoss
from rankwise.metrics.measure import Measure
from rankwise.rows.fit_data import FitData
from rankwise.runtime.threads import thread_imap
from rankwise.solvers.least_squares.gram import BlockMap
from rankwise.solvers.least_squares.kernel_design import KernelDesign
from rankwise.solvers.least_squares.path_selection import PathFit
from rankwise.solvers.solve_result import SolveResult
from rankwise.tuning.penalty import Penalties
from rankwise.typing import Float64Array, Matrix

# Number of kernel values held per thread at a time.
BLOCK_NUMBERS = 4_000_000


@dataclass(frozen=True)
class PreconditionedConjugateGradients:
    """Solver for a symmetric positive definite operator."""

    tol: float = 1e-8  # largest norm of the residual, as a share of that of the right-hand side
    max_iter: int = 500

    def solve(
        self,
        operator: Callable[[Float64Array], Float64Array],
        rhs: Float64Array,
        precondition: Callable[[Float64Array], Float64Array],
    ) -> SolveResult[Float64Array]:
        """Solve ``operator(x) = rhs``; ``stop_value`` is the relative residual.

        The updated residual drifts from the true one. When the updated residual meets the
        tolerance, the true one is checked; if it is too large, the iteration restarts from the
        current point.
        """
        x = np.zeros_like(rhs)
        residual = rhs.copy()
        scale = float(np.linalg.norm(rhs))
        left = 1.0
        if scale == 0.0:
            return SolveResult(x, 0, True, 0.0)
        # rho / inf is 0: the first direction, and the first after a restart, is the residual's.
        direction, rho = np.zeros_like(rhs), np.inf
        for step in range(1, self.max_iter + 1):
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
            if left <= self.tol:
                residual = rhs - operator(x)
                left = float(np.linalg.norm(residual)) / scale
                if left <= self.tol:
                    return SolveResult(x, step, True, left)
                rho = np.inf
        return SolveResult(x, self.max_iter, False, left)


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
    solver: PreconditionedConjugateGradients

    def solve(self) -> PathFit:
        """The solution on all rows."""
        problem = self.loss.on(self.rows)
        C = float(self.penalties.C(problem.pairs())[0])
        if np.isinf(C):
            raise ValueError('approximation="pcg" needs alpha > 0, got alpha=0. Use a small one.')
        solved = solve_expansion_by_pcg(
            self.design.kernel,
            self.design.X,
            problem,
            C,
            self.landmarks(self.rows, self.design.kernel),
            self.solver,
        )
        problem = ""
        if not solved.converged:
            problem = (
                f"stopped after max_iter={self.solver.max_iter} conjugate gradients at a relative "
                f"residual of {solved.stop_value:.2e}, above tol={self.solver.tol:g}. Raise "
                "max_iter or n_landmarks."
            )
        return PathFit(self.design, [solved.x[None, :]], n_iter=solved.n_iter, problem=problem)

    def validate(self, measure: Measure, rows: FitData) -> NoReturn:
        self._refuse()

    def cross_validate(self, measure: Measure, cv: Any) -> NoReturn:
        self._refuse()

    def leave_query_out(self, measure: Measure) -> NoReturn:
        self._refuse()

    def leave_pair_out(self) -> NoReturn:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ValueError(
            'approximation="pcg" solves for one penalty, got several values, a name or a list of '
            'widths. Give numbers for alpha and gamma, or use approximation="nystroem" to search.'
        )


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


def solve_expansion_by_pcg(
    kernel: Kernel,
    X: Matrix,
    problem: Problem,
    C: float,
    landmarks: BlockMap,
    solver: PreconditionedConjugateGradients,
) -> SolveResult[Float64Array]:
    """Coefficients of the expansion over the rows of X (input order) for one C.

    ``landmarks`` gives features whose inner products approximate the kernel.
    """
    groups = problem.groups
    order = groups.rows(np.arange(groups.n_queries))
    sorted_groups = QueryGroups(groups.indptr, None, groups.ids)
    factor = problem.factor(order, sorted_groups)
    rows = X[order]
    B = factor.apply(landmarks.rows(problem.X[order]), 0, groups.n_queries)
    target = factor.apply(problem.y[order][:, None], 0, groups.n_queries)[:, 0]
    solved = solver.solve(
        kernel_operator(kernel, rows, factor, 1.0 / C), target, low_rank_preconditioner(B, 1.0 / C)
    )
    a = np.empty(len(order))
    a[order] = factor.apply_transposed(solved.x[:, None])[:, 0]
    return replace(solved, x=a)


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
