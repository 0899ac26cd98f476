"""Measures of rankings: spec strings, conventions by name, per query first and mean second.

Public names are imported when first used, so that the command line lists measures and presets
without waiting for NumPy and Numba.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

if TYPE_CHECKING:
    from rankwise.metrics.confusion_matrix import Confusion, confusion
    from rankwise.metrics.cost import make_cost_scorer, mean_cost
    from rankwise.metrics.evaluation import evaluate
    from rankwise.metrics.label_evaluation import LabelResult, evaluate_labels
    from rankwise.metrics.label_scorer import make_label_scorer
    from rankwise.metrics.measure import Measure
    from rankwise.metrics.presets import PRESETS
    from rankwise.metrics.propensity import label_propensities
    from rankwise.metrics.result import EvaluationResult
    from rankwise.metrics.scored import ScoredGroups
    from rankwise.metrics.scorer import make_scorer
    from rankwise.metrics.spec import parse

_WHERE = {
    "PRESETS": "presets",
    "Confusion": "confusion_matrix",
    "EvaluationResult": "result",
    "LabelResult": "label_evaluation",
    "Measure": "measure",
    "ScoredGroups": "scored",
    "confusion": "confusion_matrix",
    "evaluate": "evaluation",
    "evaluate_labels": "label_evaluation",
    "label_propensities": "propensity",
    "make_cost_scorer": "cost",
    "make_label_scorer": "label_scorer",
    "make_scorer": "scorer",
    "mean_cost": "cost",
    "parse": "spec",
}

__all__ = [
    "PRESETS",
    "Confusion",
    "EvaluationResult",
    "LabelResult",
    "Measure",
    "ScoredGroups",
    "confusion",
    "evaluate",
    "evaluate_labels",
    "label_propensities",
    "make_cost_scorer",
    "make_label_scorer",
    "make_scorer",
    "mean_cost",
    "parse",
]


def __getattr__(name: str) -> _Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'rankwise.metrics' has no attribute {name!r}")
    value = getattr(_import_module(f"rankwise.metrics.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
