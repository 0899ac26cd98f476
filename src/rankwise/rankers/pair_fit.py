"""Fit of rankers with a loss of scores: feature map x loss over pairs x solver x search.

Minimises ``|f|^2 / 2 + C L(f)`` for a loss L over pairs of distinct grades.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankwise.checks.dominant_columns import kernel_limit
from rankwise.checks.rows import check_fit, check_validation
from rankwise.losses.score_loss import AnyLoss
from rankwise.rankers.basis_expansion import publish
from rankwise.rows.fit_data import FitData
from rankwise.rows.grouped_rows import GroupedRows
from rankwise.runtime.threads import single_threaded_blas
from rankwise.solvers.least_squares.kernel_design import AnyDesign
from rankwise.solvers.newton.score_path import ScorePath, ScoreSolver
from rankwise.streams.row_stream import RowStream
from rankwise.structure.rules import Number, Rule
from rankwise.tuning.penalty_search import Penalty, PenaltySearch
from rankwise.typing import ArrayLike, FrameLike

# 10^-5, 10^-4.5, ..., 10^2.
C_OF_PAIRS = Penalty("C", "C", 10.0 ** np.arange(-5, 2.5, 0.5))
# Fitted attributes that describe the solution of an iterative solver.
SOLVER_STRUCTURE: dict[str, Rule] = {
    "n_iter_": Number("i", low=0),
    "objective_": Number(finite=False),
    "dual_gap_": Number(finite=False),
}


class SearchedFeatures(Protocol):
    """Feature map before the rows are known."""

    @property
    def searched(self) -> Sequence[Any]:
        """Parameters other than C whose lists and names are searched."""
        ...

    def designs(self, rows: FitData) -> Iterator[tuple[Mapping[str, Any], AnyDesign]]:
        """Candidate designs, each with the values of its searched parameters."""
        ...


def fit_pairs(
    ranker: Any,
    features: SearchedFeatures,
    loss: Callable[[GroupedRows], AnyLoss],
    solver: ScoreSolver[AnyLoss],
    X: FrameLike,
    y: ArrayLike | None,
    qid: ArrayLike | None,
    sample_weight: ArrayLike | None,
    validation: tuple[FrameLike | None, ArrayLike | None, ArrayLike | None],
) -> AnyLoss:
    """Fit for every C, choose a model, and set the fitted attributes; returns the loss."""
    # Newton steps are preconditioned, and columns with large means are centred.
    limit = None if ranker.kernel == "linear" else kernel_limit(ranker.kernel)
    rows = check_fit(ranker, X, y, qid, sample_weight, column_limit=limit)
    ranker._set_score_name(rows.y)
    search = PenaltySearch.of(
        C_OF_PAIRS,
        ranker.C,
        measure=ranker.measure,
        cv=ranker.cv,
        validation=check_validation(ranker, rows, *validation),
        beside=features.searched,
    )
    search.check_measure(rows)
    with single_threaded_blas():
        choice = search.choose(
            (parameters, *ScorePath(rows, design, loss, solver).fit(search))
            for parameters, design in features.designs(rows)
        )
    publish(ranker, search, choice)
    result = choice.fit.results[choice.index]
    if not result.converged:
        warnings.warn(
            f"{type(ranker).__name__} stopped after {result.n_iter} steps at C={choice.value:g}; "
            f"the relative duality gap is {result.stop_value:.2g}, above tol={ranker.tol:g}. "
            "Increase max_iter or tol, or scale the columns of X.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return choice.fit.loss


def refuse_stream(ranker: object, X: object, losses: str) -> None:
    """Raise if X is a stream, because these losses have no statistics that add up."""
    if isinstance(X, RowStream):
        raise ValueError(
            f"{type(ranker).__name__} needs all rows in memory, got a stream: {losses} cannot be "
            "summed chunk by chunk. Pass arrays, or use RankRLS."
        )
