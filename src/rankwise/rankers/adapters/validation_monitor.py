"""Measure of the validation rows after every tree, under its own convention."""

from __future__ import annotations

import numpy as np

from rankwise.metrics.measure import Measure
from rankwise.rankers.adapters._rows import library_matrix
from rankwise.rows.fit_data import FitData
from rankwise.solvers.boosting.staged_measure import StagedMeasure
from rankwise.typing import ArrayLike


class ValidationMonitor(StagedMeasure):
    """Evaluates the measure on the validation rows after every tree."""

    def __init__(self, measure: Measure, rows: FitData) -> None:
        super().__init__(measure, rows.y, rows.groups)
        self.X, self.n_samples = library_matrix(rows.X), len(rows.y)

    def __call__(self, scores: ArrayLike) -> float:
        """Append the measure of these scores; returns its value, negated if smaller is better."""
        self.record(np.array(scores, dtype=np.float64))
        return float(self._ascending()[-1])
