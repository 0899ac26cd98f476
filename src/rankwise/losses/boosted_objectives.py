"""Losses that boosted trees minimise, by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias

from rankwise.losses.cross_entropy_gradients import CrossEntropyGradients
from rankwise.losses.function_gradients import FunctionGradients, GradientFunction
from rankwise.losses.gradient_loss import GradientLoss, JudgedRows
from rankwise.losses.lambda_gradients import LambdaGradients, NeighbourGradients
from rankwise.losses.pair_gradients import LogisticGradients, SquaredGradients
from rankwise.metrics import parse
from rankwise.metrics.measure import Measure
from rankwise.metrics.ranking.ndcg import DCG, NDCG

Objective: TypeAlias = Literal["lambdarank", "yetirank", "xendcg", "logistic", "squared"]


def follows_measure(objective: Objective | GradientFunction, decay: float | None) -> bool:
    """Whether the loss weights pairs by the change of a measure."""
    return objective == "lambdarank" or (objective == "yetirank" and decay is None)


def make_loss(
    objective: Objective | GradientFunction,
    rows: JudgedRows,
    measure: Measure,
    truncation_level: int | None,
    normalised: bool,
    decay: float | None,
    seed: int,
    n_threads: int,
) -> GradientLoss:
    """Create a loss on rows, by name or from a function that computes its derivatives.

    lambdarank and yetirank optimise ``measure``; xendcg uses the gains of nDCG or DCG. lambdarank
    follows nDCG@k and DCG@k down to rank ``max(k, truncation_level)``. For ``normalised``, see
    :class:`rankwise.losses.lambda_gradients.LambdaGradients`, for ``decay``
    :class:`rankwise.losses.lambda_gradients.NeighbourGradients`. Only xendcg and yetirank draw
    random numbers, from ``seed``.
    """
    if not isinstance(objective, str):
        return FunctionGradients(rows, objective, n_threads)
    if objective == "lambdarank":
        if isinstance(measure, NDCG | DCG) and measure.cutoff and truncation_level:
            measure = replace(measure, cutoff=max(measure.cutoff, truncation_level))
        return LambdaGradients(rows, measure, normalised, n_threads)
    if objective == "yetirank":
        return NeighbourGradients(rows, measure, decay, seed, n_threads)
    if objective == "xendcg":
        gains = measure if isinstance(measure, NDCG | DCG) else parse("nDCG")
        assert isinstance(gains, NDCG | DCG)
        return CrossEntropyGradients(rows, gains, seed, n_threads)
    return (LogisticGradients if objective == "logistic" else SquaredGradients)(rows, n_threads)
