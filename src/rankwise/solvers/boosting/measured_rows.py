"""Training rows and a measure, for learners that optimise the measure directly.

Rows are sorted by their content, so that neither the input order nor the grades decide how equal
scores are ranked. The ideal ranking depends on the labels alone and is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from rankwise.metrics.measure import Measure
from rankwise.metrics.scored import ScoredGroups
from rankwise.rows.fit_data import FitData
from rankwise.rows.row_hash import canonical_order
from rankwise.runtime.threads import available_threads, thread_map
from rankwise.typing import Float64Array, Matrix, densify, is_sparse

LARGEST_GRADE = 30  # gain 2^30
LABEL_SPAN = 4.0  # other labels are spread over the usual range of grades
SMALL = 4000  # rows, up to which one thread is quicker

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class LabelScale:
    """Labels in the form that ranking measures take: grades unchanged, others scaled to 0 to 4.

    Both fields code the training labels. They are None if the labels are grades or the measure
    takes any numbers.
    """

    low: float | None = None
    half_span: float | None = None

    @classmethod
    def of(cls, y: Float64Array, measure: Measure) -> LabelScale:
        """The scale of training labels; whole numbers from 0 to 30 count as grades."""
        # Gains of grades are 2^y - 1; fractions, negative or huge labels would distort or overflow
        # them.
        is_grade = bool((y >= 0).all() and (y % 1 == 0).all() and y.max() <= LARGEST_GRADE)
        if is_grade or not measure.reads_from_top:
            return cls()
        # Half of the span, because the whole span of huge labels may overflow.
        return cls(float(y.min()), float(0.5 * y.max() - 0.5 * y.min()))

    def __call__(self, y: Float64Array) -> Float64Array:
        """Grades of labels; labels beyond the training range are clipped to its ends."""
        if self.low is None or self.half_span is None:
            return y
        if not self.half_span > 0:
            return np.zeros(len(y))
        return LABEL_SPAN * np.clip((0.5 * y - 0.5 * self.low) / self.half_span, 0.0, 1.0)


class MeasuredRows:
    """Training rows, their columns, and the measure of any scores of these rows.

    ``spread``, (n_columns,), is the standard deviation of each column, 0 if it is constant.
    """

    def __init__(self, data: FitData, measure: Measure) -> None:
        order, sizes = canonical_order(data.X, data.y, data.groups)
        # Rows of equal scores keep this order, so it must not depend on labels or on the input.
        rows = data.X[order]
        self._columns: Matrix = rows.tocsc() if is_sparse(rows) else np.asfortranarray(rows)
        self._measure, self.labels = measure, LabelScale.of(data.y, measure)
        indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        y = np.ascontiguousarray(self.labels(data.y[order]))
        self._scored = ScoredGroups(y, np.arange(len(y), dtype=np.float64), indptr)
        measure.prepare(self._scored)
        self._n_threads = 1 if len(y) <= SMALL else available_threads()
        self.counted = ~np.isnan(measure.from_groups(self._scored))
        self.n_columns = rows.shape[1]
        self.spread = np.array([_spread(self.column(j)) for j in range(self.n_columns)])

    def column(self, j: int) -> Float64Array:
        """Values of a column."""
        column = self._columns[:, [j]]
        dense = densify(column)
        return dense.ravel().astype(np.float64)

    def scores(self, coef: Float64Array) -> Float64Array:
        """Sum of the columns times their coefficients, added in column order."""
        total = np.zeros(len(self._scored.y))
        for j in np.flatnonzero(coef).tolist():
            # Column by column instead of a product, whose order of sums depends on the processor.
            total += coef[j] * self.column(j)
        return total

    def per_query(self, scores: Float64Array) -> Float64Array:
        """The measure of every query; NaN for queries that do not count."""
        return self._measure.from_groups(self._scored.with_scores(scores))

    def mean(self, scores: Float64Array) -> float:
        """Mean over the queries, larger is better; minus infinity if no query counts."""
        value = self._measure.aggregate(self.per_query(scores))
        value = value if self._measure.greater_is_better else -value
        return -np.inf if np.isnan(value) else float(value)

    def map(self, func: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """``[func(item) for item in items]``, on threads if there are many rows."""
        return thread_map(func, items, self._n_threads)


def _spread(column: Float64Array) -> float:
    low, high = column.min(initial=np.inf), column.max(initial=-np.inf)
    # Rounding may leave a constant column a deviation above 0.
    return float(column.std()) if high > low else 0.0
