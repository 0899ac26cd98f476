"""Measure of an estimator's ``score``: chosen once, by its parameters and its training labels.

This module is separate from the kernels, so importing the estimators compiles and loads nothing.
"""

from __future__ import annotations

import warnings

import numpy as np

from rankwise.checks.label_order import are_whole
from rankwise.groups import QueryGroups
from rankwise.metrics.undefined_means import (
    UndefinedMeasureWarning,
    warn_of_constant,
    why_undefined,
)
from rankwise.runtime.callers import callers_level
from rankwise.typing import Float64Array

# Without a preset: gain 2**y - 1, discount 1 / log2(1 + rank), queries without relevant rows
# skipped, tied rows earn the mean over all their orders.
GRADED = "nDCG@10"
MISRANKING = "Misranking"
# Sums of 2**y overflow float64 for larger grades, so such integers are treated as real targets.
LARGEST_GRADE = 1000
# Labels in place of those that were counted in chunks: some that are grades, and some that are not.
GRADES, TARGETS = np.zeros(1), np.array([-1.0, 0.5])


def default_score_name(y: Float64Array, measure: str | None = None) -> str:
    """Name of the measure of ``score`` for the training labels ``y``; larger is better.

    ``measure`` is the estimator's own. Targets that are not grades have no nDCG@10, the default of
    most estimators, and may lie outside the domain of other measures: then 1 - Misranking replaces
    them.
    """
    graded = is_graded(y)
    if measure is None or measure == GRADED:
        return GRADED if graded else f"1 - {MISRANKING}"
    from rankwise.metrics.spec import parse

    parsed = parse(measure)
    if not graded:
        values = np.unique(y)
        try:
            if parsed == parse(GRADED):
                raise ValueError("nDCG@10 is of grades")
            parsed.per_query(values, np.zeros(len(values)), QueryGroups.single(len(values)))
        except ValueError:
            return f"1 - {MISRANKING}"
    if parsed.greater_is_better:
        return measure
    return f"1 - {measure}" if parsed.name == MISRANKING else f"-{measure}"


def mean_score(
    name: str,
    y: Float64Array,
    scores: Float64Array,
    groups: QueryGroups,
    weight: Float64Array | None = None,
) -> float:
    """Value of ``score``: the measure of that name, as :func:`rankwise.evaluate` computes it.

    Rows of weight zero are left out. The weight of a query is the mean weight of its rows, which
    also weigh within the query if the measure is a mean over rows. NaN, with an
    UndefinedMeasureWarning, if no query counts.
    """
    from rankwise.metrics.spec import parse

    values, query_weight = score_per_query(name, y, scores, groups, weight)
    if len(y) > groups.n_queries:
        warn_of_constant({f"score, {name}": parse(name)}, y, groups.n_queries)
    return aggregate_score(name, y, values, query_weight)


def score_per_query(
    name: str,
    y: Float64Array,
    scores: Float64Array,
    groups: QueryGroups,
    weight: Float64Array | None = None,
) -> tuple[Float64Array, Float64Array | None]:
    """Value and weight of every query with a row of positive weight; no weights without any."""
    from rankwise.metrics.spec import parse

    measure = parse(name)
    if weight is None:
        return measure.per_query(y, scores, groups), None
    kept = weight > 0
    if not kept.all():
        y, scores, weight, groups = y[kept], scores[kept], weight[kept], groups.take(kept)
    total = np.bincount(groups.codes(), weights=weight, minlength=groups.n_queries)
    query_weight = total / np.maximum(groups.sizes, 1)
    if not measure.averages_rows:
        return measure.per_query(y, scores, groups), query_weight
    by_row = measure.per_query(y, scores, QueryGroups.from_sizes(np.ones(len(y), dtype=np.int64)))
    sums = np.bincount(groups.codes(), weights=weight * by_row, minlength=groups.n_queries)
    return sums / total, query_weight


def aggregate_score(
    name: str, y: Float64Array, values: Float64Array, query_weight: Float64Array | None
) -> float:
    """Mean over the queries that count, with a warning if none does."""
    from rankwise.metrics.spec import parse

    measure = parse(name)
    counted = ~np.isnan(values)
    if not counted.any():
        largest = float(y.max()) if len(y) else None
        warnings.warn(
            f"score is NaN: no query counts for {name}, since {why_undefined(measure, largest)}. "
            "In cross-validation, use folds in which every test part has such rows.",
            UndefinedMeasureWarning,
            stacklevel=callers_level(),
        )
    if query_weight is None or not counted.any():
        return measure.aggregate(values)
    return float(np.average(values[counted], weights=query_weight[counted]))


def is_graded(y: Float64Array) -> bool:
    """Whether the targets are relevance grades: integers from 0 to 1000."""
    return bool(y.size and (y <= LARGEST_GRADE).all() and are_whole(y))


def check_same_kind(y: Float64Array, name: str) -> None:
    """Raise if labels cannot be grades, which the labels of the fit were."""
    if are_whole(y):
        return
    row = int(np.argmax((y < 0) | (y != np.floor(y))))
    raise ValueError(
        f"y must hold whole grades from 0 on, as the labels of the fit did, got {y[row]:g} at row "
        f"{row}. Convert the labels, or pass a measure of your choice to rankwise.evaluate instead "
        f"of calling score, which is {name} here."
    )
