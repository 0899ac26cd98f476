"""Effect sizes: how large a difference is, where a p-value only says how surprising it is."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import rankdata

from rankwise.typing import ArrayLike, Float64Array


def paired_differences(a: ArrayLike, b: ArrayLike) -> Float64Array:
    """``a - b``, NaN where either is NaN.

    Raises
    ------
    ValueError
        When the two are not one-dimensional of equal length, or hold an infinity.
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
        0 where all differences are 0, ±inf where they are equal and not 0, NaN for fewer than
        two pairs. The t statistic is ``d * sqrt(n)``.

    Examples
    --------
    >>> cohens_d([2.0, 3.0, 7.0], [1.0, 1.0, 4.0])
    2.0
    """
    differences = paired_differences(a, b)
    differences = differences[~np.isnan(differences)]
    if len(differences) < 2:
        return math.nan
    mean = float(differences.mean())
    if differences.min() == differences.max():
        return math.copysign(math.inf, mean) if mean else 0.0
    return mean / float(differences.std(ddof=1))


def rank_biserial(a: ArrayLike, b: ArrayLike) -> float:
    """Matched-pairs rank-biserial correlation, the effect size of Wilcoxon's test.

    Share of the rank sum in favour of ``a`` minus the share in favour of ``b``; the absolute
    differences are ranked, equal pairs left out.

    Parameters
    ----------
    a, b : array-like of shape (n_queries,)
        Pairs with a NaN are dropped.

    Returns
    -------
    float
        In [-1, 1]; 0 where all pairs are equal, NaN where there is none.

    Notes
    -----
    Kerby (2014), Comprehensive Psychology 3:11.IT.3.1. O(n log n).

    Examples
    --------
    >>> round(rank_biserial([3.0, 5.0, 1.0], [1.0, 1.0, 2.0]), 4)
    0.6667
    """
    differences = paired_differences(a, b)
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
    b : array-like of shape (m,)
        NaN is dropped.

    Returns
    -------
    float
        In [-1, 1]; NaN where a sample is empty.

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
