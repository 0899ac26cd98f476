"""Kernel least squares by conjugate gradients: the N x N kernel is evaluated and never held.

Solves ``(R K R' + I/C) z = R y`` for one C, ``a = R' z``, where ``L = R'R`` is the Laplacian of
the pairs. With n landmarks the Nystroem features ``Phi`` give the preconditioner
``(B B' + I/C)^-1``, ``B = R Phi``, in the eigenvectors of ``B B'``, which leaves the
eigenvalues of the kernel beyond the landmarks' span to the iteration.

Complexity: O(N^2 d) a step, N n numbers.

References
----------
.. [1] Rudi, Carratino & Rosasco, "FALKON: an optimal large scale kernel method", NIPS 30 (2017).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from rankwise.features.kernel import Kernel
from rankwise.groups import QueryGroups
from rankwise.losses.laplacian import LaplacianFactor
from rankwise.runtime.threads import thread_imap
from rankwise.solvers.least_squares.gram import BlockMap, Problem
from rankwise.solvers.result import SolveResult
from rankwise.typing import Float64Array, Matrix

# Kernel values held at a time and thread, in numbers.
BLOCK_NUMBERS = 4_000_000


@dataclass(frozen=True)
class PreconditionedConjugateGradients:
    """Solver for a symmetric positive definite operator.

    Attributes
    ----------
    tol : float
        Stops when the norm of the residual is at most ``tol`` times that of the right-hand side.
    max_iter : int
    """

    tol: float = 1e-8
    max_iter: int = 500

    def solve(
        self,
        operator: Callable[[Float64Array], Float64Array],
        rhs: Float64Array,
        precondition: Callable[[Float64Array], Float64Array],
    ) -> SolveResult:
        """Solve ``operator(x) = rhs``; ``history`` holds the relative residual of every step.

        The residual that is updated drifts from the true one: where it meets the tolerance the
        true one is looked at, and the iteration starts anew from there when it does not.
        """
        x = np.zeros_like(rhs)
        residual = rhs.copy()
        scale = float(np.linalg.norm(rhs))
        history: list[float] = []
        if scale == 0.0:
            return SolveResult(x, 0, True, 0.0)
        direction, rho = np.zeros_like(rhs), np.inf
        for step in range(1, self.max_iter + 1):
            z = precondition(residual)
            rho, previous = float(residual @ z), rho
            direction = z + (rho / previous) * direction
            image = operator(direction)
            curvature = float(direction @ image)
            if not curvature > 0.0:  # rounding is all that is left
                return SolveResult(x, step, False, float(np.linalg.norm(residual)) / scale, history)
            x += (rho / curvature) * direction
            residual -= (rho / curvature) * image
            history.append(float(np.linalg.norm(residual)) / scale)
            if history[-1] <= self.tol:
                residual = rhs - operator(x)
                history[-1] = float(np.linalg.norm(residual)) / scale
                if history[-1] <= self.tol:
                    return SolveResult(x, step, True, history[-1], history)
                rho = np.inf
        return SolveResult(x, self.max_iter, False, history[-1], history)


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
) -> SolveResult:
    """Coefficients of the expansion over the rows of X (input order) for one C.

    Parameters
    ----------
    landmarks : block map
        Features whose inner products approximate the kernel.
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
    kept = squares > len(squares) * np.finfo(np.float64).eps * max(squares[-1], 0.0)
    squares = squares[kept]
    U = B @ (V[:, kept] / np.sqrt(squares))
    # 1/(s + alpha) on the span of U, 1/alpha beside it.
    inside = 1.0 / (squares + alpha) - 1.0 / alpha
    return lambda v: v / alpha + U @ (inside * (U.T @ v))
