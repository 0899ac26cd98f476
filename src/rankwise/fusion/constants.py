"""Constants in the formulas of fusion, with the range in which they tell ranks apart."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, nan
from numbers import Real
from typing import Any


@dataclass(frozen=True)
class Constant:
    """Default and range of a constant; ``reason`` says what is lost beyond the range."""

    default: float
    least: float = 0.0
    largest: float = inf
    reason: str = ""

    def check(self, name: str, value: Any) -> float:
        """The value as a float; ValueError if it is not a finite number of the range."""
        # float: NumPy compares with float32 in float32, where 1 - 1e-9 is 1.
        number = float(value) if isinstance(value, Real) else nan
        if isfinite(number) and self.least <= number <= self.largest:
            return number
        bounds = f"in [{self.least:.9g}, {self.largest:.9g}]"
        allowed = bounds if isfinite(self.largest) else f">= {self.least:g}"
        raise ValueError(
            f"{name} must be a finite number {allowed}{self.reason}, got {value!r}. "
            f"The default is {self.default:g}."
        )


_TIES = ", where ranks differ by more than rounding"
# Of differences of 1e-12 of a score, a sum over a thousand systems rounds away a tenth.
RANK_CONSTANT = Constant(60.0, 0.0, 1e12, _TIES)
# At 1 the factor 1 - phi makes all points 0. At 0 those of all ranks but 1 are 0, and so are those
# of documents that tie at the top. RBP refuses both as well.
PERSISTENCE = Constant(0.8, 1e-9, 1.0 - 1e-9, _TIES)
GAMMA = Constant(1.0)
SIGMA = Constant(0.01, 0.0, 1.0)
