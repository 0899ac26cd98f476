"""Constraints of parameters, and the intervals that most estimators need.

The parameter ``max_bytes``: how much memory the kernel values or terms of a fit may take.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from rankwise.runtime.constraints import HasMethods, Hidden, Options, StrOptions
from rankwise.runtime.constraints import NumberRange as Interval

__all__ = [
    "FRACTION", "NOT_NEGATIVE", "N_JOBS", "POSITIVE", "HasMethods", "Hidden", "Interval",
    "Options", "StrOptions", "minimum",
]  # fmt: skip


def minimum(low: int) -> Interval:
    """Whole numbers from ``low``."""
    return Interval(Integral, low, None, closed="left")


POSITIVE = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
FRACTION = Interval(Real, 0, 1, closed="right")
N_JOBS: list[Any] = [Interval(Integral, None, -1, closed="right"), minimum(1), None]

DEFAULT_MAX_BYTES = 2**33  # 8 GiB
MAX_BYTES_CONSTRAINT = [minimum(1)]
