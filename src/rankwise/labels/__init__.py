"""Estimators for rows that have several labels, or whose errors differ in cost.

Public names are imported when first used.
"""

import warnings as _warnings
from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

if TYPE_CHECKING:
    from rankwise._costs import ClassCosts, RowCosts
    from rankwise.labels.splits import fit_splits, plst_path
    from rankwise.losses.class_costs import confusion_costs, ordinal_costs, random_costs
    from rankwise.losses.pair_costs import all_pairs_costs

_WHERE = {
    "ClassCosts": "rankwise._costs",
    "RowCosts": "rankwise._costs",
    "all_pairs_costs": "rankwise.losses.pair_costs",
    "confusion_costs": "rankwise.losses.class_costs",
    "fit_splits": "rankwise.labels.splits",
    "ordinal_costs": "rankwise.losses.class_costs",
    "plst_path": "rankwise.labels.splits",
    "random_costs": "rankwise.losses.class_costs",
}

__all__ = [
    "ClassCosts",
    "RowCosts",
    "all_pairs_costs",
    "confusion_costs",
    "fit_splits",
    "ordinal_costs",
    "plst_path",
    "random_costs",
]


def __getattr__(name: str) -> _Any:
    if name == "csovo_costs":
        _warnings.warn(
            "rankwise.labels.csovo_costs has been renamed to all_pairs_costs: it transforms costs "
            "as weighted all-pairs does, and CSOVO weighs pairs by plain differences of costs. "
            "Import all_pairs_costs.",
            FutureWarning,
            stacklevel=2,
        )
        return __getattr__("all_pairs_costs")
    if name not in _WHERE:
        raise AttributeError(f"module 'rankwise.labels' has no attribute {name!r}")
    value = getattr(_import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
