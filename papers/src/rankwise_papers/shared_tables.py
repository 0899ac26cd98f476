"""What the tables of several experiments are made of: means with their spread, and paired tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import stdtr

from rankwise.metrics.significance import bootstrap_interval, stratified_mean
from rankwise.typing import Float64Array

ABSENT = (
    "Its cells have not run: they are no part of a quick run, or data or a library are missing."
)
Sample = Sequence[float | None] | Float64Array | None
MeanAndSpread = tuple[float | None, float | None]


def mean_and_deviation(values: Sample) -> MeanAndSpread:
    """Mean and standard deviation of the values that are not None or NaN; None if too few are."""
    known = _known(values)
    if not len(known):
        return None, None
    return math.fsum(known) / len(known), float(known.std(ddof=1)) if len(known) > 1 else None


def mean_and_error(values: Sample) -> MeanAndSpread:
    """Mean and standard error of the values that are not None or NaN; None if too few are."""
    mean, deviation = mean_and_deviation(values)
    return mean, None if deviation is None else deviation / math.sqrt(len(_known(values)))


def mean_and_half_interval(values: Float64Array, strata: Any) -> tuple[float, float | None]:
    """Mean of the strata's means, and half of its 95 % bootstrap interval.

    None in its place where a single value has no interval.
    """
    interval = bootstrap_interval(values, strata=strata)
    half = (interval.high - interval.low) / 2
    return stratified_mean(values, strata), None if np.isnan(half) else half


def resampling_p_value(
    differences: Float64Array, strata: Sequence[int] | Float64Array, test_per_train: float
) -> float:
    """Two-sided p of the mean difference over random splits of the same rows.

    The variance of the mean is ``(1 / J + test_per_train)`` times that of the J differences, as
    Nadeau and Bengio, Machine Learning 52 (2003) 239-281, correct it for shared rows. The
    differences vary around the means of their strata, which are taken as they are.
    """
    known, codes = np.unique(strata, return_inverse=True)
    J, freedom = len(differences), len(differences) - len(known)
    if freedom < 1:
        return math.nan
    means = np.bincount(codes, weights=differences) / np.bincount(codes)
    within = float(np.sum((differences - means[codes]) ** 2)) / freedom
    variance = within * (1 / J + test_per_train)
    if variance == 0:
        return 1.0 if differences.mean() == 0 else 0.0
    return float(2 * stdtr(freedom, -abs(differences.mean()) / math.sqrt(variance)))


def all_or_none(found: Sequence[Any]) -> list[Any] | None:
    """The values as a list; None if one is missing."""
    return None if any(cell is None for cell in found) else list(found)


def _known(values: Sample) -> Float64Array:
    array = np.array(() if values is None else values, dtype=np.float64)
    return array[~np.isnan(array)]
