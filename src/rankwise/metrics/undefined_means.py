"""Measures for which no query counts, or which are the same for every order, and why."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np

from rankwise.checks.label_order import middle_label
from rankwise.metrics.measure import Measure
from rankwise.runtime.callers import callers_level
from rankwise.typing import Float64Array


class UndefinedMeasureWarning(UserWarning):
    """No query counts for a measure, or no row or every row is relevant to it."""


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
    if measure.reads_from_top:
        return f"no label is above 0{told}: pass labels that grow with relevance, from 0"
    return "all labels, or all scores, of every query are equal"


def why_constant(measure: Measure, y: Float64Array, n_queries: int = 2) -> str | None:
    """Reason why all orders of the rows have the same value, and the remedy; None if they differ.

    Stars from 1 to 5 are the usual case: every row is relevant at rel=1. The labels must be those
    of all rows: where unjudged documents count as not relevant, orders differ. The only label of a
    single query, such as a fold, says nothing about the others.
    """
    rel = getattr(measure, "rel", None)
    has_gains = measure.reads_from_top and not measure.reads_judgements
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
