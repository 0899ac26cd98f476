"""Closed-form rankers on rows that lie on several machines: sums travel, rows stay.

:func:`fit` runs on Dask (the ``dask`` extra). :func:`plan`, :func:`partition_statistics`,
:func:`merge` and :func:`solve` are its steps and need no Dask: they run on any system that maps a
function over partitions and reduces the results, such as Spark or Ray.

Public names are imported when first used.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

if TYPE_CHECKING:
    from rankwise.distributed.partition import partition_statistics
    from rankwise.distributed.planning import Plan, plan, solve
    from rankwise.distributed.sums import Statistics, merge
    from rankwise.distributed.with_dask import fit

_WHERE = {
    "Plan": "planning",
    "Statistics": "sums",
    "fit": "with_dask",
    "merge": "sums",
    "partition_statistics": "partition",
    "plan": "planning",
    "solve": "planning",
}

__all__ = [
    "Plan",
    "Statistics",
    "fit",
    "merge",
    "partition_statistics",
    "plan",
    "solve",
]


def __getattr__(name: str) -> _Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'rankwise.distributed' has no attribute {name!r}")
    value = getattr(_import_module(f"rankwise.distributed.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
