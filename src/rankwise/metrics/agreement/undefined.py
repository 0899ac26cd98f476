"""Common base of the measures of agreement, with a rule for queries on which they are undefined.

Whether a measure is defined on a query depends on its labels alone. Otherwise the means of two
rankers could be over different queries, and a ranker could drop its bad queries by tying them.
"""

from __future__ import annotations

import math

import numpy as np

from rankwise.metrics.conventions import EMPTY, Empty, check_choice, value_of_empty
from rankwise.metrics.measure import Measure
from rankwise.typing import Float64Array


class AgreementMeasure(Measure):
    """Base class of measures that compare all labels of a query with all its scores.

    Subclasses declare the field ``empty``, which is only annotated here. Thus each class prints
    its parameters in its own order.
    """

    empty: Empty  # 0, 1, "skip" or "nan": value of a query for which the measure is undefined

    def __post_init__(self) -> None:
        check_choice(self.name, "empty", self.empty, EMPTY)

    def aggregate(self, values: Float64Array) -> float:
        """Mean of the values that count; NaN with ``empty="nan"`` if a query has no value."""
        if self.empty == "nan" and np.isnan(values).any():
            return math.nan
        return super().aggregate(values)

    def fill_empty(self, values: Float64Array, defined: np.ndarray) -> Float64Array:
        """Fill in the convention's value for queries on which the measure is undefined."""
        return np.where(defined, values, value_of_empty(self.empty))
