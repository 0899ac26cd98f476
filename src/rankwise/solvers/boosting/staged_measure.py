"""A measure on validation rows after every stage of an ensemble."""

from __future__ import annotations

import numpy as np

from rankwise.groups import QueryGroups
from rankwise.metrics.measure import Measure
from rankwise.metrics.undefined_means import refuse_constant
from rankwise.typing import Float64Array


class StagedMeasure:
    """Follows the scores of validation rows.

    Labels ``y`` are in the form that the measure takes. ``values`` are those of the measure so far;
    NaN if it is undefined for every query, such as a rank correlation of equal scores.
    """

    def __init__(self, measure: Measure, y: Float64Array, groups: QueryGroups) -> None:
        self._measure, self._y, self._groups = measure, y, groups
        self._scores = np.zeros(len(y))
        self.values: list[float] = []
        refuse_constant(measure, y, "The number of stages", len(groups.sizes))
        # Distinct scores: a measure undefined for these is undefined for the labels, not for ties.
        places = np.arange(len(y), dtype=np.float64)
        if np.isnan(measure.mean(y, places, groups)):
            raise ValueError(
                f"measure {str(measure)!r} must score at least one query of X_val, got none. "
                "Pass validation queries that have relevant rows, or another measure."
            )

    def add(self, change: Float64Array, thresholds: Float64Array | None = None) -> None:
        """Measure the rows after a stage has changed their scores.

        With ``thresholds``, a measure that reads labels gets class numbers.
        """
        self._scores += change
        values = self._scores
        if thresholds is not None and self._measure.reads_labels:
            # A score on a threshold belongs to the upper class, as in predict.
            values = np.searchsorted(thresholds, values, side="right").astype(np.float64)
        self.record(values)

    def record(self, scores: Float64Array) -> None:
        """Measure the rows under the scores of a stage."""
        self.values.append(self._measure.mean(self._y, scores, self._groups))

    @property
    def best(self) -> int:
        """1-based number of the first best stage; 0 before the first."""
        # argmax takes the first of equal stages, the smaller model.
        return 1 + int(np.argmax(self._ascending())) if self.values else 0

    @property
    def stages_since_best(self) -> int:
        """Stages after the best."""
        return len(self.values) - self.best

    def _ascending(self) -> Float64Array:
        values = np.array(self.values)
        values = values if self._measure.greater_is_better else -values
        # A stage without a value, such as one of equal scores, is worse than any other.
        return np.where(np.isnan(values), -np.inf, values)
