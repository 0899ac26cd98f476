"""What rankers with an iterative solver of a loss over pairs share, linear or with a kernel."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankwise.checks.dominant_columns import ColumnLimit, kernel_limit
from rankwise.checks.rows import FitData
from rankwise.rankers.kernel.kernel_model import KernelDesign
from rankwise.rankers.kernel.kernel_ranker import KernelRanker
from rankwise.rankers.kernel.solved_model import SolvedModel
from rankwise.solvers.least_squares.design import LinearDesign
from rankwise.solvers.least_squares.gram import Problem
from rankwise.solvers.least_squares.path_selection import PathFit
from rankwise.solvers.newton.row_products import is_semidefinite, kernel_products
from rankwise.solvers.newton.score_newton import ScoreResult
from rankwise.solvers.newton.score_path import ScorePath, ScoreProblem
from rankwise.tuning.penalty import Penalties, Scale
from rankwise.typing import Float64Array, Matrix

# 10^-5, 10^-4.5, ..., 10^2.
GRID = 10.0 ** np.arange(-5, 2.5, 0.5)


class PairRanker(SolvedModel, KernelRanker):
    """A ranker that minimises ``|f|^2 / 2 + C L(f)`` for a loss L over pairs.

    Subclasses define ``_score_problem`` and have the parameters of :class:`KernelRanker`, ``C``,
    ``query_weight``, ``tol`` and ``max_iter``.
    """

    _penalty: ClassVar[str] = "C"
    _scale: ClassVar[Scale] = "C"
    C_: float
    query_weight: Any
    tol: float
    max_iter: int

    def _column_limit(self) -> ColumnLimit | None:
        # The solver scales columns itself.
        return None if self.kernel == "linear" else kernel_limit(self.kernel)

    def _score_problem(self) -> ScoreProblem:
        raise TypeError(f"{type(self).__name__} must define _score_problem.")

    def _problem(self, data: FitData) -> Problem:
        return Problem(
            data.X, data.y, data.groups, data.sample_weight, "distinct", self.query_weight
        )

    def _default_grid(self) -> Float64Array:
        return GRID

    def _path(self, design: Any, problem: Problem, penalties: Penalties) -> ScorePath:
        """The problem on kernel values, on the columns of X, or on those of the landmarks."""
        is_kernel = isinstance(design, KernelDesign)
        if is_kernel:
            assert design.expansion is not None
            values = design.expansion.K
            if not design.expansion.definite:
                self._check_definite(values, problem)
        else:
            values = problem.X if isinstance(design, LinearDesign) else design.block(problem.X, 0)
        return ScorePath(
            problem.X,
            problem.y,
            problem.groups,
            problem.sample_weight,
            values,
            is_kernel,
            penalties.values,
            self._score_problem(),
        )

    def _check_definite(self, K: Float64Array, problem: Problem) -> None:
        order = problem.groups.rows(np.arange(problem.groups.n_queries))
        if not is_semidefinite(kernel_products(K, problem.groups.indptr, order).K):
            raise ValueError(
                "kernel must be positive semidefinite on coefficients that sum to 0 in each query, "
                f"or the problem is not convex; got kernel={self.kernel!r}, whose matrix has "
                "negative eigenvalues there. CLSRRank takes any kernel."
            )

    def _held_out(self, design: Any, path: Any, X: Matrix, fit: Any) -> Float64Array:
        if isinstance(design, KernelDesign):
            return design.scores(X, fit.coefs[0])
        return design.scores(X, design.read_out(fit.coefs))

    def _set_fitted(
        self, design: Any, problem: Problem, fit: PathFit, penalties: Penalties, chosen: int
    ) -> None:
        super()._set_fitted(design, problem, fit, penalties, chosen)
        result: ScoreResult = fit.results[chosen]  # type: ignore[attr-defined]
        self.objective_, self.n_iter_ = result.objective, result.n_iter
        self.dual_gap_ = result.stop_value
        if not result.converged:
            warnings.warn(
                f"{type(self).__name__} stopped after {result.n_iter} steps at C={self.C_:g} with "
                f"a duality gap of {result.stop_value:.2g} of the objective, above "
                f"tol={self.tol:g}. Raise max_iter or tol, or scale the columns of X.",
                ConvergenceWarning,
                stacklevel=4,
            )
