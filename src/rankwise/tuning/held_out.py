"""Measures of held-out rows, for a whole path of scores at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rankwise.groups import QueryGroups
from rankwise.metrics.measure import Measure
from rankwise.rows.fit_data import FitData
from rankwise.runtime.threads import thread_imap
from rankwise.typing import Float64Array, Int64Array


def measure_per_query(
    measure: Measure, y: Float64Array, scores: Float64Array, groups: QueryGroups
) -> Float64Array:
    """Values per query for every column of scores, shape (n_queries, n_columns)."""
    columns = np.ascontiguousarray(scores.T)
    return np.stack([measure.per_query(y, column, groups) for column in columns], axis=1)


def mean_measure(
    measure: Measure, y: Float64Array, scores: Float64Array, groups: QueryGroups
) -> Float64Array:
    """Mean of the measure over the queries for every column of scores, shape (n_columns,)."""
    return mean_defined(measure_per_query(measure, y, scores, groups))


def measure_refits(
    measure: Measure,
    rows: FitData,
    splits: Sequence[tuple[Int64Array, Int64Array]],
    scores: Callable[[Int64Array, Int64Array], Float64Array],
    n_threads: int | None = None,
) -> Float64Array:
    """Mean of the measure on the test rows of each split, shape (n_splits, n_columns).

    ``scores`` maps training and test rows to the scores of the test rows, one column per solution.
    ``n_threads`` splits are fitted in parallel.
    """

    def held_out(split: tuple[Int64Array, Int64Array]) -> Float64Array:
        train, test = split
        return mean_measure(measure, rows.y[test], scores(train, test), rows.groups.take(test))

    return np.stack(list(thread_imap(held_out, splits, n_threads)))


class RunningMean:
    """Running mean of each column over the values that are not NaN; NaN if there are none.

    Parts are summed in order, so the same parts give a bit-identical mean.
    """

    def __init__(self) -> None:
        self.sums: Float64Array | float = 0.0
        self.counts: Float64Array | int = 0

    def add(self, values: Float64Array) -> None:
        """Add a part of shape (n_values, n_columns)."""
        defined = ~np.isnan(values)
        self.sums = self.sums + np.where(defined, values, 0.0).sum(axis=0)
        self.counts = self.counts + defined.sum(axis=0)

    def __add__(self, other: RunningMean) -> RunningMean:
        both = RunningMean()
        both.sums, both.counts = self.sums + other.sums, self.counts + other.counts
        return both

    def value(self) -> Float64Array:
        """The mean so far, shape (n_columns,)."""
        counts = np.asarray(self.counts)
        return np.where(counts > 0, self.sums / np.maximum(counts, 1), np.nan)


def mean_defined(values: Float64Array) -> Float64Array:
    """Mean of each column over the values that are not NaN; NaN if there are none."""
    mean = RunningMean()
    mean.add(values)
    return mean.value()
