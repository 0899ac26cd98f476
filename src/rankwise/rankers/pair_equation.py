"""Equations with a loss over pairs: feature map x loss over pairs x solver.

Minimise ``|f|^2 / 2 + C L(f)`` for a loss L over pairs of distinct grades.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from rankwise.checks.parameter_constraints import POSITIVE, StrOptions, minimum
from rankwise.equation import Equation, FeatureMap
from rankwise.losses.laplacian import QUERY_WEIGHTS
from rankwise.losses.pair_weights import PAIR_WEIGHTS
from rankwise.losses.score_loss import AnyLoss
from rankwise.rows.grouped_rows import GroupedRows
from rankwise.solvers.newton.score_path import ScorePath, ScoreSolver
from rankwise.structure.rules import Number, Rule
from rankwise.tuning.penalty_search import Penalty

# 10^-5, 10^-4.5, ..., 10^2.
C_OF_PAIRS = Penalty("C", "C", 10.0 ** np.arange(-5, 2.5, 0.5))
PAIR_CONSTRAINTS: dict[str, list[Any]] = {
    "C": C_OF_PAIRS.constraint,
    "pair_weight": [StrOptions(set(PAIR_WEIGHTS)), callable, None],
    "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
    "tol": [POSITIVE],
    "max_iter": [minimum(1)],
}
# Fitted attributes that describe the solution of an iterative solver.
SOLVER_STRUCTURE: dict[str, Rule] = {
    "n_iter_": Number("i", low=0),
    "objective_": Number(finite=False),
    "dual_gap_": Number(finite=False),
}


def build_pair_equation(
    features: FeatureMap,
    loss: Callable[[GroupedRows], AnyLoss],
    solver: ScoreSolver[AnyLoss],
    losses: str,
) -> Equation:
    """Equation of a loss over pairs; ``losses`` names what a stream cannot sum."""
    needs_rows = f"{losses} cannot be summed chunk by chunk"
    make_path = partial(ScorePath, solver=solver)
    return Equation(features, loss, make_path, C_OF_PAIRS, needs_rows=needs_rows)
