"""Measure of the validation rows after every tree, under its own convention."""

from __future__ import annotations

import numpy as np

from rankwise.metrics.measure import Measure
from rankwise.rankers.adapters._rows import library_matrix
from rankwise.rows.fit_data import FitData
from rankwise.typing import ArrayLike, Float64Array


class ValidationMonitor:
    """Evaluates the measure on the validation rows after every tree.

    Attributes
    ----------
    X : ndarray or CSR of shape (n_samples, n_features)
    n_samples : int
        Number of validation rows.
    values : list of float
        Values of the measure so far. NaN if it scores no query, such as a rank correlation of equal
        scores.
    """

    def __init__(self, measure: Measure, rows: FitData) -> None:
        self.X = library_matrix(rows.X)
        self.n_samples = len(rows.y)
        self.values: list[float] = []
        self._measure, self._y, self._groups = measure, rows.y, rows.groups
        if np.isnan(measure.mean(rows.y, np.arange(self.n_samples, dtype=float), rows.groups)):
            raise ValueError(
                f"measure {str(measure)!r} must score at least one query of X_val, got none. "
                "Pass validation queries that have relevant rows, or another measure."
            )

    def __call__(self, scores: ArrayLike) -> float:
        """Append the measure of these scores; returns its value, negated if smaller is better."""
        scores = np.array(scores, dtype=np.float64)
        self.values.append(self._measure.mean(self._y, scores, self._groups))
        return float(self._ascending()[-1])

    @property
    def best_iteration(self) -> int:
        """1-based number of the first tree with the best value."""
        return 1 + int(np.argmax(self._ascending()))

    def _ascending(self) -> Float64Array:
        values = np.array(self.values)
        values = values if self._measure.greater_is_better else -values
        return np.where(np.isnan(values), -np.inf, values)
