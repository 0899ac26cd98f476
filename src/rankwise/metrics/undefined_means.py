"""Measures for which no query counts, and why."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np

from rankwise.metrics.measure import Measure
from rankwise.runtime.callers import callers_level
from rankwise.typing import Float64Array


class UndefinedMeasureWarning(UserWarning):
    """No query counts for a measure, or no label is relevant to it."""


def why_undefined(measure: Measure, largest: float | None = None) -> str:
    """Reason why no query counts, and what to change.

    Parameters
    ----------
    measure : Measure
    largest : float, optional
        Largest label of the rows; it shows whether labels reach ``rel``.
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
