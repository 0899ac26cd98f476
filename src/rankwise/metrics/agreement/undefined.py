"""What the measures of agreement share: a rule for queries on which they are not defined.

Whether a measure is defined on a query depends on its labels alone. Were it to depend on the
scores too, means of two rankers would be over different queries, and a ranker could lose its bad
queries by tying them.
"""

from __future__ import annotations

import math

import numpy as np

from rankwise.metrics.conventions import EMPTY, Empty, check_choice, value_of_empty
from rankwise.metrics.measure import Measure
from rankwise.typing import Float64Array


class AgreementMeasure(Measure):
    """Base of measures that compare all labels of a query with all its scores.

    Subclasses declare the field ``empty`` (annotated here only), so that each prints its
    parameters in an order of its own.
    """

    empty: Empty

    def __post_init__(self) -> None:
        check_choice(self.name, "empty", self.empty, EMPTY)

    def aggregate(self, values: Float64Array) -> float:
        """Mean of the values that count; with ``empty="nan"`` NaN where a query has none."""
        if self.empty == "nan" and np.isnan(values).any():
            return math.nan
        return super().aggregate(values)

    def fill_empty(self, values: Float64Array, defined: np.ndarray) -> Float64Array:
        """``values`` with the convention's value on queries where the measure is not defined."""
        return np.where(defined, values, value_of_empty(self.empty))
