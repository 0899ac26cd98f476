"""Measures of rankings: spec strings, conventions by name, per query first and mean second."""

from rankwise.metrics.evaluate import evaluate
from rankwise.metrics.measure import Measure
from rankwise.metrics.presets import PRESETS
from rankwise.metrics.result import EvaluationResult
from rankwise.metrics.scored import ScoredGroups
from rankwise.metrics.scorer import make_scorer
from rankwise.metrics.spec import parse

__all__ = [
    "PRESETS",
    "EvaluationResult",
    "Measure",
    "ScoredGroups",
    "evaluate",
    "make_scorer",
    "parse",
]
