"""Measure of an estimator's ``score``, and warnings of means that say nothing.

This module is separate from the kernels, so importing the estimators compiles and loads nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np

from rankwise.checks.classes import are_whole, middle_label
from rankwise.groups import QueryGroups
from rankwise.metrics.measure import FunctionMeasure, Measure, MeasureLike, Reversed, is_own
from rankwise.metrics.scored import LARGEST_GRADE
from rankwise.metrics.spec import parse
from rankwise.runtime.messages import callers_level
from rankwise.typing import Float64Array

# Without a preset: gain 2**y - 1, discount 1 / log2(1 + rank), queries without relevant rows
# skipped, tied rows earn the mean over all their orders.
GRADED = "nDCG@10"
MISRANKING = "Misranking"
# Labels in place of those that were counted in chunks: some that are grades, and some that are not.
GRADES, TARGETS = np.zeros(1), np.array([-1.0, 0.5])


def default_score_name(y: Float64Array, measure: MeasureLike | None = None) -> str:
    """Name of the measure of ``score`` for the training labels ``y``; larger is better.

    ``measure`` is the estimator's own. Targets that are not grades have no nDCG@10, the default of
    most estimators, and may lie outside the domain of other measures: then 1 - Misranking replaces
    them.
    """
    graded = is_graded(y)
    if measure is None or measure == GRADED:
        return GRADED if graded else f"1 - {MISRANKING}"
    parsed = parse(measure)
    if not graded and not is_own(parsed):
        values = np.unique(y)
        try:
            if parsed == parse(GRADED):
                raise ValueError("nDCG@10 is of grades")
            parsed.per_query(values, np.zeros(len(values)), QueryGroups.single(len(values)))
        except ValueError:
            return f"1 - {MISRANKING}"
    name = measure if isinstance(measure, str) else str(parsed)
    if parsed.greater_is_better:
        return name
    return f"1 - {name}" if parsed.name == MISRANKING else f"-{name}"


def measure_of_score(name: str, measure: MeasureLike | None) -> MeasureLike:
    """The measure of that name: that of the parameter ``measure`` if it is the user's own."""
    own = None if measure is None or isinstance(measure, str) else parse(measure)
    if own is None or not is_own(own) or name not in (str(own), f"-{own}"):
        return name
    return own if own.greater_is_better else Reversed(own)


def mean_score(
    measure: MeasureLike,
    y: Float64Array,
    scores: Float64Array,
    groups: QueryGroups,
    weight: Float64Array | None = None,
) -> float:
    """Value of ``score``: the mean of a measure, as :func:`rankwise.evaluate` computes it.

    Rows of weight zero are left out. The weight of a query is the mean weight of its rows, which
    also weigh within the query if the measure is a mean over rows. NaN, with an
    UndefinedMeasureWarning, if no query counts.
    """
    values, query_weight = score_per_query(measure, y, scores, groups, weight)
    if len(y) > groups.n_queries:
        name = measure if isinstance(measure, str) else str(parse(measure))
        warn_of_constant({f"score, {name}": parse(measure)}, y, groups.n_queries)
    return aggregate_score(measure, y, values, query_weight)


def score_per_query(
    measure: MeasureLike,
    y: Float64Array,
    scores: Float64Array,
    groups: QueryGroups,
    weight: Float64Array | None = None,
) -> tuple[Float64Array, Float64Array | None]:
    """Value and weight of every query with a row of positive weight; no weights without any."""
    measure = parse(measure)
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
    measure: MeasureLike, y: Float64Array, values: Float64Array, query_weight: Float64Array | None
) -> float:
    """Mean over the queries that count, with a warning if none does."""
    name = measure if isinstance(measure, str) else str(parse(measure))
    measure = parse(measure)
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


class UndefinedMeasureWarning(UserWarning):
    """No query counts for a measure, or no row or every row is relevant to it."""


class WideGainsWarning(UndefinedMeasureWarning):
    """Gains 2^y - 1 span more than six orders of magnitude, so the highest grades decide alone."""


WIDEST_GAINS = 1e6


def list_wide_gains(measures: Mapping[str, Measure], y: Float64Array, where: str = "") -> list[str]:
    """A note on every measure whose gains 2^y - 1 of the labels span six orders of magnitude."""
    grades = np.clip(y[y > 0].astype(np.float64), None, LARGEST_GRADE)  # float16 would overflow
    gains = np.exp2(np.unique(grades)) - 1.0
    if not len(gains) or gains[-1] <= WIDEST_GAINS * gains[0]:
        return []
    fix = f"set {where}label_gain, one gain per grade, or gain=linear"
    return [
        f"{spec}: gains 2^y - 1 are {gains[0]:.2g} to {gains[-1]:.2g}, so the highest grades "
        f"decide alone: {fix}"
        for spec, measure in measures.items()
        if getattr(measure, "gain", None) == "exp2" and hasattr(measure, "label_gain")
    ]


def why_undefined(measure: Measure, largest: float | None = None) -> str:
    """Reason why no query counts, and what to change.

    ``largest`` is the largest label of the rows; it shows whether labels reach ``rel``.
    """
    rel = getattr(measure, "rel", None)
    told = "" if largest is None else f" (the largest is {largest:g})"
    if rel is not None and (largest is None or largest < rel):
        if largest is not None and largest <= 0:
            return f"no label is at least rel={rel:g}{told}: pass labels that grow with relevance"
        lower = "..." if largest is None else f"{largest:g}"
        return f"no label is at least rel={rel:g}{told}: set {measure.name}(rel={lower})"
    if measure.reads_grades:
        return f"no label is above 0{told}: pass labels that grow with relevance, from 0"
    if isinstance(measure, FunctionMeasure):
        return "it is NaN for every query"
    return "all labels, or all scores, of every query are equal"


def why_constant(measure: Measure, y: Float64Array, n_queries: int = 2) -> str | None:
    """Reason why all orders of the rows have the same value, and the remedy; None if they differ.

    Stars from 1 to 5 are the usual case: every row is relevant at rel=1. The labels must be those
    of all rows: where unjudged documents count as not relevant, orders differ. The only label of a
    single query, such as a fold, says nothing about the others.
    """
    rel = getattr(measure, "rel", None)
    has_gains = measure.reads_grades and not measure.reads_judgements
    if not len(y) or (rel is None and not has_gains):
        return None
    low, high = float(y.min()), float(y.max())
    if low == high:
        if n_queries < 2 or low <= 0 or (rel is not None and low < rel):
            return None
        return f"all labels are {low:g}: pass the rows that are less relevant, too"
    if rel is None or low < rel:
        return None
    cutoff = getattr(measure, "cutoff", None)
    better = f"{measure.name}(rel={middle_label(y):g})" + ("" if cutoff is None else f"@{cutoff}")
    return f"every row is relevant at rel={rel:g} (labels are {low:g} to {high:g}): set {better}"


def list_constant(
    measures: Mapping[str, Measure], y: Float64Array, n_queries: int = 2
) -> list[str]:
    """A note on every measure that has the same value for all orders of the rows."""
    reasons = {spec: why_constant(measure, y, n_queries) for spec, measure in measures.items()}
    return [
        f"{spec}: every order of the rows has the same value, since {why}"
        for spec, why in reasons.items()
        if why
    ]


def warn_of_constant(measures: Mapping[str, Measure], y: Float64Array, n_queries: int = 2) -> None:
    """Warn of measures that have the same value for all orders of the rows."""
    for note in list_constant(measures, y, n_queries):
        warnings.warn(f"{note}.", UndefinedMeasureWarning, stacklevel=callers_level())


def refuse_constant(measure: Measure, y: Float64Array, what: str, n_queries: int = 2) -> None:
    """Raise if the measure cannot choose, since it is the same for all orders of the rows."""
    why = why_constant(measure, y, n_queries)
    if why:
        raise ValueError(
            f"{what} cannot be chosen by {str(measure)!r}, the same for every order of the rows, "
            f"since {why}."
        )


def warn_of_undefined(
    measures: Mapping[str, Measure], per_query: Mapping[str, Float64Array], y: Float64Array
) -> None:
    """Warn of measures for which no query counts, or no label reaches ``rel``."""
    if not len(y):
        return
    for note in list_wide_gains(measures, y):
        warnings.warn(f"{note}.", WideGainsWarning, stacklevel=callers_level())
    largest = float(y.max())
    for spec, measure in measures.items():
        rel = getattr(measure, "rel", None)
        none_counts = bool(np.isnan(per_query[spec]).all())
        # Grades that are all 0 are nothing unusual, and 0 is what P@10 of them is.
        if none_counts or (rel is not None and largest < rel and largest != 0):
            what = "no query counts" if none_counts else "every query counts the same"
            warnings.warn(
                f"{spec}: {what}, since {why_undefined(measure, largest)}.",
                UndefinedMeasureWarning,
                stacklevel=callers_level(),
            )
