"""Estimators for rows with several labels, and for errors of different cost."""

import warnings as _warnings
from typing import Any as _Any

from rankwise._exports import attach as _attach

_public, __dir__, __all__ = _attach(__name__, __file__)


def __getattr__(name: str) -> _Any:
    if name == "csovo_costs":
        _warnings.warn(
            "rankwise.labels.csovo_costs has been renamed to all_pairs_costs: it transforms costs "
            "as in weighted all-pairs, and CSOVO weights pairs by plain differences of costs. "
            "Import all_pairs_costs.",
            FutureWarning,
            stacklevel=2,
        )
        name = "all_pairs_costs"
    return _public(name)
