"""Judged data: readers, writers, the catalog of known sets, and lint.

Public names are imported when first used; one line of the table below each.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

if TYPE_CHECKING:
    from rankwise.datasets.cache import clear_cache, verify_cache
    from rankwise.datasets.data import Fold, FoldedData, RankingData
    from rankwise.datasets.svmlight import read_letor

_WHERE = {
    "Fold": "data",
    "FoldedData": "data",
    "RankingData": "data",
    "clear_cache": "cache",
    "read_letor": "svmlight",
    "verify_cache": "cache",
}

__all__ = [
    "Fold",
    "FoldedData",
    "RankingData",
    "clear_cache",
    "read_letor",
    "verify_cache",
]


def __getattr__(name: str) -> _Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'rankwise.datasets' has no attribute {name!r}")
    value = getattr(_import_module(f"rankwise.datasets.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
