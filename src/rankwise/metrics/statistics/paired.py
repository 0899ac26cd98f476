"""Paired tests of two systems on the same queries: t, Wilcoxon's signed ranks, randomisation.

Queries that do not count for a measure (NaN) are dropped pairwise. If there are too few pairs for
a test, the result is NaN.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtr
from scipy.stats import wilcoxon

from rankwise.metrics.statistics.effects import cohens_d, subtract_pairs
from rankwise.metrics.statistics.randomisation import sign_flip_p_values
from rankwise.metrics.statistics.stratified import (
    FEW_QUERIES,
    MOST_SKEWED,
    correct_t,
    stratified_means,
)
from rankwise.typing import ArrayLike, Float64Array

METHODS = ("t", "wilcoxon", "randomisation")
ALTERNATIVES = ("two-sided", "greater", "less")
# Beyond a skewness of 4 / n of the mean difference, Wilcoxon's test errs too often.
_OF_SIGNED_RANKS = 4.0
_FEW = (
    "few queries: what happens in one of ten may be missing among {0}; p cannot be relied on if "
    "such a query would decide"
)
_SKEWED = (
    "differences are so skewed that few queries decide; p cannot be relied on (skewness of the "
    "mean {0:.2g})"
)
_SKEWED_RANKS = (
    "differences are skewed, and Wilcoxon's test finds what is better on more queries; for means, "
    "p cannot be relied on (skewness of the mean {0:.2g})"
)


@dataclass(frozen=True)
class PairedTest:
    """Outcome of a paired test of ``a`` against ``b``.

    Attributes
    ----------
    statistic : float
        Student's t for "t". The smaller rank sum for "wilcoxon", or that of the positive
        differences in a one-sided test. The mean difference for "randomisation".
    p_value : float
    n_pairs : int
        Number of queries that count for both systems.
    mean_difference : float
        Mean of ``a - b``.
    skewness : float
        Skewness of the mean difference, beyond its standard error.
    notes : tuple of str
        Reasons why p cannot be relied on: skewed differences, fewer than 30 queries.
    """

    statistic: float
    p_value: float
    n_pairs: int
    mean_difference: float
    skewness: float = 0.0
    notes: tuple[str, ...] = ()


def paired_test(
    a: ArrayLike,
    b: ArrayLike,
    method: str = "t",
    *,
    alternative: str = "two-sided",
    n_resamples: int = 9999,
    random_state: int | np.random.Generator | None = 0,
) -> PairedTest:
    """Test whether two systems differ on the same queries.

    Parameters
    ----------
    a, b : array-like of shape (n_queries,)
        Values per query in the same order; pairs with a NaN are dropped.
    method : {"t", "wilcoxon", "randomisation"}
        "t": Student's paired t, corrected for skewed differences. "wilcoxon": signed ranks of the
        non-zero differences, with the exact null distribution for up to 50 pairs without ties.
        "randomisation": flipped signs of the differences, exact for up to 32 non-zero differences,
        sampled for more.
    alternative : {"two-sided", "greater", "less"}
        "greater": ``a`` tends to larger values than ``b``.
    n_resamples : int >= 1
        Number of draws for "randomisation".
    random_state : int, Generator or None
        Seed or generator for the draws.

    Returns
    -------
    PairedTest
        If all differences are 0, p is 1. If they are equal but not 0, t is ±inf, and its p is that
        of "randomisation", ``2 ** (1 - n)``, since equal differences have no spread to judge by.
        "t" needs two pairs and the others one; with fewer pairs, the results are NaN.

    Raises
    ------
    ValueError
        If lengths differ, values are infinite, or a parameter is not one of its choices.

    Notes
    -----
    Equal to ``scipy.stats.ttest_rel`` (but for equal or skewed differences), ``wilcoxon`` (of the
    non-zero differences) and ``permutation_test``. Where the skewness of the differences exceeds
    its standard error, p of "t" is that of the smaller t after Hall's transformation [1]_, as in
    :func:`compare_to_best`. On IR data, the three tests agree in nearly all cases [2]_.
    ``python -m benchmarks.interval_errors paired`` measures their errors.

    .. [1] Hall, "On the removal of skewness by transformation", J. R. Statist. Soc. B 54:221-228,
       1992.
    .. [2] Smucker, Allan & Carterette, "A comparison of statistical significance tests for
       information retrieval evaluation", CIKM 2007.

    Examples
    --------
    >>> result = paired_test([0.5, 0.6, 0.9, 0.4], [0.4, 0.4, 0.6, 0.5])
    >>> round(result.p_value, 4)
    0.2394
    """
    check_choice("method", method, METHODS)
    check_choice("alternative", alternative, ALTERNATIVES)
    if n_resamples < 1:
        raise ValueError(f"n_resamples must be >= 1, got {n_resamples}.")
    differences = subtract_pairs(a, b)
    counted = differences[~np.isnan(differences)]
    mean = float(counted.mean()) if len(counted) else math.nan
    estimate = stratified_means(counted[:, None]) if len(counted) > 1 else None
    skewness = 0.0 if estimate is None else float(estimate.skewness[0])
    if method == "t":
        size = math.nan if estimate is None else float(correct_t(estimate)[0])
        statistic, p_value = _student(counted, size, alternative)
    elif method == "wilcoxon":
        statistic, p_value = _signed_ranks(counted, alternative)
    else:
        statistic = mean
        p_value = sign_flip_p_values(
            differences[:, None],
            alternative=alternative,
            n_resamples=n_resamples,
            random_state=random_state,
        )[0]
    notes = [_FEW.format(len(counted))] if 0 < len(counted) < FEW_QUERIES else []
    if abs(skewness) > most_skewed(method, len(counted)):
        notes.append((_SKEWED_RANKS if method == "wilcoxon" else _SKEWED).format(skewness))
    return PairedTest(float(statistic), float(p_value), len(counted), mean, skewness, tuple(notes))


def most_skewed(method: str, n: int) -> float:
    """Skewness of a mean difference of n queries beyond which a test errs too often."""
    most = {"t": MOST_SKEWED, "randomisation": MOST_SKEWED / 2}  # t is corrected, flips are not
    return most.get(method, _OF_SIGNED_RANKS / max(1, n))


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Raise ValueError if ``value`` is not one of ``choices``."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {list(choices)}, got {value!r}.")


def _student(differences: Float64Array, size: float, alternative: str) -> tuple[float, float]:
    """Student's t and p of a t of the corrected size."""
    n = len(differences)
    if n < 2:
        return math.nan, math.nan
    if not differences.any():
        return 0.0, 1.0
    t = cohens_d(differences, np.zeros(n)) * math.sqrt(n)
    if math.isinf(t):
        of_signs = 2.0 ** (1 - n if alternative == "two-sided" else -n)
        return t, of_signs if alternative in ("two-sided", "greater" if t > 0 else "less") else 1.0
    p_less = float(stdtr(n - 1, -size))  # the smaller tail
    if alternative == "two-sided":
        return t, 2 * p_less
    return t, p_less if (t > 0) == (alternative == "greater") else 1 - p_less


def _signed_ranks(differences: Float64Array, alternative: str) -> tuple[float, float]:
    if len(differences) == 0:
        return math.nan, math.nan
    differences = differences[differences != 0]
    if len(differences) == 0:
        return 0.0, 1.0
    result: Any = wilcoxon(differences, alternative=alternative)
    return float(result.statistic), float(result.pvalue)
