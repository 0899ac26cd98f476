"""Runner of published experiments: cells computed once, tables of our values beside the paper's.

The experiments themselves come from other packages, through the entry points that
:mod:`rankwise.experiments.registry` reads; ``rankwise-papers`` has those of the papers.

Public names are imported when first used, so that listing the experiments imports nothing else.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

if TYPE_CHECKING:
    from rankwise.experiments.base import (
        Cell,
        Experiment,
        Figure,
        FindFiles,
        Results,
        Series,
        Table,
        Value,
        Verdict,
    )
    from rankwise.experiments.registry import Entry
    from rankwise.experiments.reproduction import Outcome, Reproduction
    from rankwise.experiments.running import reproduce
    from rankwise.experiments.text import as_text

_WHERE = {
    "Cell": "base",
    "Entry": "registry",
    "Experiment": "base",
    "Figure": "base",
    "FindFiles": "base",
    "Outcome": "reproduction",
    "Reproduction": "reproduction",
    "Results": "base",
    "Series": "base",
    "Table": "base",
    "Value": "base",
    "Verdict": "base",
    "as_text": "text",
    "reproduce": "running",
}

__all__ = [
    "Cell",
    "Entry",
    "Experiment",
    "Figure",
    "FindFiles",
    "Outcome",
    "Reproduction",
    "Results",
    "Series",
    "Table",
    "Value",
    "Verdict",
    "as_text",
    "reproduce",
]


def __getattr__(name: str) -> _Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'rankwise.experiments' has no attribute {name!r}")
    value = getattr(_import_module(f"rankwise.experiments.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
