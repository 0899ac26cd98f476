"""Measures of held-out rows, for a whole path of scores at once."""

from __future__ import annotations

import numpy as np

from rankwise.groups import QueryGroups
from rankwise.metrics.measure import Measure
from rankwise.typing import Float64Array


def per_query(
    measure: Measure, y: Float64Array, scores: Float64Array, groups: QueryGroups
) -> Float64Array:
    """Values per query for every column of scores, shape (n_queries, n_columns)."""
    columns = np.ascontiguousarray(scores.T)
    return np.stack([measure.per_query(y, column, groups) for column in columns], axis=1)


def mean_defined(values: Float64Array) -> Float64Array:
    """Mean of each column over what is not NaN; NaN where nothing is."""
    defined = ~np.isnan(values)
    count = defined.sum(axis=0)
    sums = np.where(defined, values, 0.0).sum(axis=0)
    return np.where(count > 0, sums / np.maximum(count, 1), np.nan)
