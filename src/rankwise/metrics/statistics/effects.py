"""Effect sizes, which measure how large a difference is rather than how surprising."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import rankdata

from rankwise.typing import ArrayLike, Float64Array


def subtract_pairs(a: ArrayLike, b: ArrayLike) -> Float64Array:
    """Paired differences ``a - b``; NaN if either value is NaN.

    Raises
    ------
    ValueError
        If a and b are not one-dimensional of equal length, or hold infinity.
    """
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(
            f"a and b must be 1-d of equal length, got shapes {a.shape} and {b.shape}. "
            "Pass one value per query, queries in the same order."
        )
    if np.isinf(a).any() or np.isinf(b).any():
        raise ValueError("a and b must not hold infinity. Mark queries without a value as NaN.")
    return a - b


def cohens_d(a: ArrayLike, b: ArrayLike) -> float:
    """Cohen's d of paired values: mean difference over its standard deviation (d_z).

    Parameters
    ----------
    a, b : array-like of shape (n_queries,)
        Values of two systems; pairs with a NaN are dropped.

    Returns
    -------
    float
        0 if all differences are 0, ±inf if they are equal but not 0, NaN for fewer than two
        pairs. The t statistic is ``d * sqrt(n)``.

    Examples
    --------
    >>> cohens_d([2.0, 3.0, 7.0], [1.0, 1.0, 4.0])
    2.0
    """
    differences = subtract_pairs(a, b)
    differences = differences[~np.isnan(differences)]
    if len(differences) < 2:
        return math.nan
    mean = float(differences.mean())
    if differences.min() == differences.max():
        return math.copysign(math.inf, mean) if mean else 0.0
    return mean / float(differences.std(ddof=1))


def rank_biserial(a: ArrayLike, b: ArrayLike) -> float:
    """Matched-pairs rank-biserial correlation, the effect size of Wilcoxon's test.

    Share of the rank sum in favour of ``a`` minus the share in favour of ``b``. The ranks are
    those of the absolute differences, without pairs of equal values.

    Parameters
    ----------
    a, b : array-like of shape (n_queries,)
        Values of two systems; pairs with a NaN are dropped.

    Returns
    -------
    float
        Correlation in [-1, 1]; 0 if all pairs are equal, NaN if there are none.

    Notes
    -----
    Kerby (2014), Comprehensive Psychology 3:11.IT.3.1. O(n log n).

    Examples
    --------
    >>> round(rank_biserial([3.0, 5.0, 1.0], [1.0, 1.0, 2.0]), 4)
    0.6667
    """
    differences = subtract_pairs(a, b)
    differences = differences[~np.isnan(differences)]
    if len(differences) == 0:
        return math.nan
    differences = differences[differences != 0]
    if len(differences) == 0:
        return 0.0
    ranks = rankdata(np.abs(differences))
    return float((np.sign(differences) * ranks).sum() / ranks.sum())


def cliffs_delta(a: ArrayLike, b: ArrayLike) -> float:
    """Cliff's delta of two independent samples: P(a > b) - P(a < b).

    Parameters
    ----------
    a : array-like of shape (n,)
        First sample; NaN is dropped.
    b : array-like of shape (m,)
        Second sample; NaN is dropped.

    Returns
    -------
    float
        Delta in [-1, 1]; NaN if a sample is empty.

    Notes
    -----
    Cliff (1993), Psychological Bulletin 114:494-509. O((n + m) log m).

    Examples
    --------
    >>> cliffs_delta([3.0, 4.0], [1.0, 3.0])
    0.75
    """
    a, b = np.ravel(np.asarray(a, np.float64)), np.ravel(np.asarray(b, np.float64))
    a, b = a[~np.isnan(a)], np.sort(b[~np.isnan(b)])
    if len(a) == 0 or len(b) == 0:
        return math.nan
    below, not_above = np.searchsorted(b, a, side="left"), np.searchsorted(b, a, side="right")
    return float((below.sum() + not_above.sum()) / (len(a) * len(b)) - 1.0)
