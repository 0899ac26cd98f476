"""Paired tests of two systems on the same queries, effect sizes, and corrections of p-values.

Queries that do not count for a measure (NaN) are dropped pairwise. If there are too few pairs for
a test, the result is NaN.

Under the null hypothesis of the randomisation test, the systems of a pair are exchangeable. The
statistic is the sum of the differences; its null distribution is over all flips of their signs
(Fisher 1935). For up to 32 non-zero differences, the p-value is exact: the sums of each half of
the differences are enumerated, and pairs of half-sums are counted by binary search. That takes
2 · 2^16 sums instead of 2^32. For more differences, flips are drawn, shared by all systems.

The corrections of Holm and Bonferroni keep the probability of any false rejection below the level
under any dependence between the tests. Holm's is never weaker (Holm 1979, Scand. J. Statist.
6:65-70). The correction of Benjamini and Hochberg keeps the expected share of false rejections
among all rejections below the level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import stdtr
from scipy.stats import rankdata, wilcoxon

from rankwise.metrics.statistics.stratified import (
    FEW_QUERIES,
    MOST_SKEWED,
    correct_t,
    stratified_means,
)
from rankwise.runtime.constraints import make_generator
from rankwise.runtime.messages import check_choice, check_whole
from rankwise.runtime.result import Result
from rankwise.typing import ArrayLike, Float64Array, Seed

METHODS = ("t", "wilcoxon", "randomization")
TestMethod = Literal["t", "wilcoxon", "randomization"]
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
class PairedTest(Result):
    """Outcome of a paired test of ``a`` against ``b``.

    Attributes
    ----------
    statistic : float
        Student's t for "t". The smaller rank sum for "wilcoxon", or that of the positive
        differences in a one-sided test. The mean difference for "randomization".
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
    method: TestMethod = "t",
    *,
    alternative: Literal["two-sided", "greater", "less"] = "two-sided",
    n_resamples: int = 9999,
    random_state: Seed = 0,
) -> PairedTest:
    """Test whether two systems differ on the same queries.

    Parameters
    ----------
    a, b : array-like of shape (n_queries,)
        Values per query in the same order; pairs with a NaN are dropped.
    method : {"t", "wilcoxon", "randomization"}
        "t": Student's paired t, corrected for skewed differences. "wilcoxon": signed ranks of the
        non-zero differences, with the exact null distribution for up to 50 pairs without ties.
        "randomization": flipped signs of the differences, exact for up to 32 non-zero differences,
        sampled for more.
    alternative : {"two-sided", "greater", "less"}
        "greater": ``a`` tends to larger values than ``b``.
    n_resamples : int >= 1
        Number of draws for "randomization".
    random_state : int, RandomState, Generator or None, default=0
        Seed or generator for the draws.

    Returns
    -------
    PairedTest
        If all differences are 0, p is 1. If they are equal but not 0, t is ±inf, and its p is that
        of "randomization", ``2 ** (1 - n)``, since equal differences have no spread to judge by.
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
    check_whole("n_resamples", n_resamples, 1)
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
    most = {"t": MOST_SKEWED, "randomization": MOST_SKEWED / 2}  # t is corrected, flips are not
    return most.get(method, _OF_SIGNED_RANKS / max(1, n))


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


EXACT_UP_TO = 32
# Sums of the same differences in another order count as ties.
TIE = 1e-12
# Number of flipped values per block: small enough for the cache and one BLAS thread.
CHUNK = 1 << 16


def sign_flip_p_values(
    differences: Float64Array,
    *,
    alternative: Literal["two-sided", "greater", "less"] = "two-sided",
    n_resamples: int = 9999,
    random_state: Seed = 0,
    mid_p: bool = False,
) -> Float64Array:
    """p-values of the hypothesis that the differences in a column are symmetric about 0.

    ``differences`` (n_queries, n_systems) are NaN if the pair does not count. The p-value of a
    column does not depend on the other columns or on the order of the queries; it is 1 if all
    differences are 0, NaN if there are none. Beyond 32 non-zero differences, ``n_resamples`` flips
    are drawn, and it is (1 + extreme draws) / (1 + n_resamples). With ``mid_p``, flips that are as
    extreme as the differences count half (Lancaster 1961): with few distinct differences, such as
    -1 and 1, the test then errs about as often as its level says instead of less often, but may err
    slightly more often.

    O(n_resamples · n_queries · n_systems) as matrix products. Differs from
    ``scipy.stats.permutation_test`` only if flips are drawn: both tails of the symmetric null
    distribution are counted, not twice the smaller one.
    """
    flipped = np.where(np.isnan(differences), 0.0, differences)
    if alternative == "less":
        flipped = -flipped
    p_values = np.empty(flipped.shape[1])
    drawn = []
    for column, values in enumerate(flipped.T):
        values = values[values != 0]
        if np.isnan(differences[:, column]).all():
            p_values[column] = math.nan
        elif len(values) <= EXACT_UP_TO:
            p_values[column] = _exact(values, alternative == "two-sided", mid_p)
        else:
            drawn.append(column)
    if drawn:
        p_values[drawn] = _draw_p_values(
            flipped[:, drawn], alternative == "two-sided", n_resamples, random_state, mid_p
        )
    return p_values


def _exact(values: Float64Array, two_sided: bool, mid_p: bool) -> float:
    observed = values.sum()
    if two_sided:
        observed = abs(observed)
    tie = TIE * np.abs(values).sum()
    if two_sided and observed - tie <= 0:
        return 1.0
    half = len(values) // 2
    left, right = _all_sums(values[:half]), np.sort(_all_sums(values[half:]))
    n_flips = len(left) * len(right)
    thresholds = (observed - tie, observed + tie) if mid_p else (observed - tie,)
    n_extreme = [n_flips - np.searchsorted(right, limit - left).sum() for limit in thresholds]
    return float((2 if two_sided else 1) * np.mean(n_extreme) / n_flips)


def _all_sums(values: Float64Array) -> Float64Array:
    """Sums under all 2^n choices of signs."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    return sums


def _draw_p_values(
    values: Float64Array,
    two_sided: bool,
    n_resamples: int,
    random_state: Seed,
    mid_p: bool,
) -> Float64Array:
    rng = make_generator(random_state)
    n = len(values)
    # Flips of |d| are as likely as flips of d; sorted, they do not depend on the order of queries.
    sizes = np.sort(np.abs(values), axis=0)
    total = sizes.sum(axis=0)
    observed = values.sum(axis=0)
    tie = TIE * total
    threshold = (np.abs(observed) if two_sided else observed) - tie
    n_extreme = np.zeros(values.shape[1], dtype=np.int64)
    n_more = n_extreme.copy()
    per_chunk = max(1, CHUNK // n)
    for start in range(0, n_resamples, per_chunk):
        n_flips = min(per_chunk, n_resamples - start)
        random_bytes = rng.integers(0, 256, size=(n_flips, -(-n // 8)), dtype=np.uint8)
        kept = np.unpackbits(random_bytes, axis=1, count=n).astype(np.float64)
        sums = 2.0 * (kept @ sizes) - total
        sums = np.abs(sums) if two_sided else sums
        n_extreme += (sums >= threshold).sum(axis=0)
        n_more += (sums > threshold + 2 * tie).sum(axis=0)
    if mid_p:
        # The differences themselves are one more flip, and tied.
        return np.asarray((0.5 + (n_extreme + n_more) / 2) / (1.0 + n_resamples))
    return np.asarray((1.0 + n_extreme) / (1.0 + n_resamples), dtype=np.float64)


def subtract_pairs(a: ArrayLike, b: ArrayLike) -> Float64Array:
    """Paired differences ``a - b`` of 1-d arrays without infinity; NaN if either value is NaN."""
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
    # Equal differences of unequal values vary by rounding.
    largest = max(float(np.nanmax(np.abs(values))) for values in (a, b))
    rounding = 4 * np.finfo(np.float64).eps * largest
    if np.ptp(differences) <= rounding:
        return math.copysign(math.inf, mean) if abs(mean) > rounding else 0.0
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


def holm(p_values: ArrayLike) -> Float64Array:
    """Holm's step-down adjusted p-values, in the order given.

    Parameters
    ----------
    p_values : array-like of shape (n_tests,)
        p-values in [0, 1]. NaN marks a test that could not be made; it is not counted.

    Returns
    -------
    ndarray of shape (n_tests,), float64
        Adjusted p-values; reject a hypothesis if its value is at most the level.

    Raises
    ------
    ValueError
        If a value lies outside [0, 1].

    Notes
    -----
    O(n log n).

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p, made = _check_p_values(p_values)
    tested = p[made]
    order = np.argsort(tested, kind="stable")
    steps = len(tested) - np.arange(len(tested))
    adjusted = np.empty_like(tested)
    adjusted[order] = np.minimum(np.maximum.accumulate(tested[order] * steps), 1.0)
    p[made] = adjusted
    return p


def bonferroni(p_values: ArrayLike) -> Float64Array:
    """Bonferroni's p-values: times the number of tests, at most 1; NaN as in :func:`holm`.

    Examples
    --------
    >>> bonferroni([0.01, 0.4, 0.04]).tolist()
    [0.03, 1.0, 0.12]
    """
    p, made = _check_p_values(p_values)
    p[made] = np.minimum(p[made] * made.sum(), 1.0)
    return p


def benjamini_hochberg(p_values: ArrayLike) -> Float64Array:
    """Benjamini and Hochberg's adjusted p-values, in the order given; NaN as in :func:`holm`.

    Notes
    -----
    Controls the false discovery rate for independent or positively dependent tests (Benjamini &
    Hochberg 1995, J. R. Statist. Soc. B 57:289-300). O(n log n).

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.04, 0.04]
    """
    p, made = _check_p_values(p_values)
    tested = p[made]
    order = np.argsort(-tested, kind="stable")
    steps = len(tested) / np.arange(len(tested), 0, -1)
    adjusted = np.empty_like(tested)
    adjusted[order] = np.minimum(np.minimum.accumulate(tested[order] * steps), 1.0)
    p[made] = adjusted
    return p


def _check_p_values(p_values: ArrayLike) -> tuple[Float64Array, np.ndarray]:
    """Copy of the p-values, and a mask of those that are not NaN."""
    p = np.array(p_values, dtype=np.float64, ndmin=1)
    made = ~np.isnan(p)
    if p.ndim != 1 or ((p[made] < 0) | (p[made] > 1)).any():
        raise ValueError(
            "p_values must be a 1-d array of numbers in [0, 1], "
            f"got {np.array2string(p, threshold=8)}. Pass one p-value per test."
        )
    return p, made
