"""Measures of rankings: spec strings, conventions by name, per query first and mean second.

Importing this loads no kernel: the command line lists measures without waiting for numba.
"""

from typing import TYPE_CHECKING
from typing import Any as _Any

from rankwise.metrics.evaluate import evaluate
from rankwise.metrics.measure import Measure
from rankwise.metrics.presets import PRESETS
from rankwise.metrics.result import EvaluationResult
from rankwise.metrics.scorer import make_scorer
from rankwise.metrics.spec import parse

if TYPE_CHECKING:
    from rankwise.metrics.scored import ScoredGroups

__all__ = [
    "PRESETS",
    "EvaluationResult",
    "Measure",
    "ScoredGroups",
    "evaluate",
    "make_scorer",
    "parse",
]


def __getattr__(name: str) -> _Any:
    if name != "ScoredGroups":
        raise AttributeError(f"module 'rankwise.metrics' has no attribute {name!r}")
    from rankwise.metrics.scored import ScoredGroups

    globals()[name] = ScoredGroups
    return ScoredGroups
