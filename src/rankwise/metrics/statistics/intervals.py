"""Confidence intervals of a mean over queries: for bounded values, and by the bootstrap.

Few values near a bound say little of the mean: ten successes of ten have no spread. There Student's
t is replaced by the bound of [1]_, which adds one value at the bound to the sample and weighs all
values by Dirichlet weights; for shares it is the exact interval of Clopper and Pearson. That it
covers every law on an interval is a conjecture without known exception. Its distribution is found
by a saddlepoint approximation instead of draws.

The bootstrap draws queries with replacement, within strata if there are any. With one stratum per
fold, the statistic is the mean of the fold means, as LETOR reports it. All systems share the same
draws.

References
----------
.. [1] Learned-Miller and Thomas 2019, A new confidence interval for the mean of a bounded random
   variable, arXiv:1905.06208; Gaffke 2005, Three test statistics for a nonparametric one-sided
   hypothesis on the mean of a nonnegative variable.
"""

from __future__ import annotations

import math
import warnings
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtr, ndtri, stdtr

from rankwise.metrics.statistics.stratified import (
    FEW_QUERIES,
    MOST_SKEWED,
    check_columns,
    check_level,
    stratified_means,
    stratum_codes,
    t_intervals,
    t_quantile,
)
from rankwise.runtime.constraints import draw_seed
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.messages import callers_level, check_choice, check_whole
from rankwise.runtime.result import Result
from rankwise.typing import ArrayLike, Float64Array, Seed

# Means of the same values in another order count as ties.
TIE = 1e-12
# Number of drawn values per block: small enough for the cache and one BLAS thread.
CHUNK = 1 << 16
# Widths of t within which a bound makes values too skewed for it: then 5 % of errors were 11.
_NEAR = 1.5
# Share of the width of t by which one value at a bound moves the mean. Beyond it, a rare value
# there that did not occur makes t too short.
_FAR = 0.3
_ROUNDS = 60
# Errors of normal values per promised one at which the bootstrap warns.
_MORE_ERRORS = 1.6


class _Ends(NamedTuple):
    low: float
    high: float


class Interval(Result, _Ends):
    """Ends of a confidence interval."""


@names_its_class
def mean_intervals(
    values: NDArray[np.floating],
    *,
    bounds: tuple[float, float] | None = None,
    strata: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> Float64Array:
    """Intervals of the mean over queries of bounded values, one per system.

    Student's t, widened where values near a bound make it too short: if a bound is nearer to the
    mean than 1.5 widths of t, if all values are equal, and if one more value at the farther bound
    would move the mean by more than .3 widths (rare values far from the others).

    Parameters
    ----------
    values : ndarray of shape (n_queries, n_systems)
        Values per query; NaN if the query does not count for the system.
    bounds : (float, float), optional
        Lowest and highest possible value; if infinite, t is not widened, and there is no interval
        of equal values. None: 0 and 1 or -1 and 1 if all values
        lie between them, else the lowest and the highest value of any system, of which only systems
        with equal values make use.
    strata : array-like of shape (n_queries,), optional
        Fold of each query; the estimate is then the mean of the fold means.
    confidence_level : float in (0, 1)

    Returns
    -------
    ndarray of shape (n_systems, 2), float64
        Lower and upper ends within the bounds; NaN if no stratum has two values.

    Raises
    ------
    ValueError
        If lengths differ, values are infinite or beyond the bounds, or ``confidence_level`` is out
        of range.

    Notes
    -----
    The widening is the union with the interval of Learned-Miller and Thomas 2019
    (arXiv:1905.06208), by a saddlepoint approximation; for shares it is that of Clopper and
    Pearson. With strata, values get the weights that they have in the mean.
    O(n_queries · n_systems).
    ``python -m benchmarks.interval_errors evaluate`` measures its errors.

    Examples
    --------
    >>> solved = np.ones((20, 1))
    >>> mean_intervals(solved, bounds=(0, 1)).round(3).tolist()
    [[0.832, 1.0]]
    >>> values = np.array([[0.1], [0.4], [0.3], [0.9], [0.5], [0.2], [0.6]])
    >>> mean_intervals(values).round(3).tolist()
    [[0.18, 0.708]]
    """
    values = check_columns(values)
    return widen_near_bounds(
        values,
        t_intervals(values, strata=strata, confidence_level=confidence_level),
        bounds,
        strata,
        confidence_level,
    )


def widen_near_bounds(
    values: Float64Array,
    ends: Float64Array,
    bounds: tuple[float, float] | None,
    strata: ArrayLike | None,
    confidence_level: float,
) -> Float64Array:
    """Widen and cut symmetric intervals as :func:`mean_intervals` does Student's t."""
    low, high, is_known = value_bounds(values, bounds)
    mean, width, ends = ends.mean(axis=1), ends[:, 1] - ends[:, 0], ends.copy()
    counted = ~np.isnan(values)
    n_values = counted.sum(axis=0)
    span = high - low
    is_near = np.minimum(mean - low, high - mean) < _NEAR * width
    is_near |= _may_lack_rare(mean, width * n_values, low, high)
    is_near &= is_known
    chosen = np.flatnonzero((n_values > 0) & (is_near | (width == 0)))
    if len(chosen) and 0 < span < math.inf:
        counted, values = counted[:, chosen], values[:, chosen]
        codes = stratum_codes(strata, len(values))
        sizes = np.zeros((int(codes.max()) + 1, len(chosen)))
        np.add.at(sizes, codes, counted)
        sizes = sizes * (sizes > 0).sum(axis=0) / n_values[chosen]  # of equal strata: 1
        weights = np.divide(counted, sizes[codes], out=np.zeros(values.shape), where=counted)
        tail = (1.0 - confidence_level) / 2.0
        filled = np.where(counted, values, 0.0)
        bound = (
            dirichlet_bounds(-filled, weights, -low, tail),
            dirichlet_bounds(filled, weights, high, tail),
        )
        ends[chosen, 0] = np.fmin(ends[chosen, 0], -bound[0])
        ends[chosen, 1] = np.fmax(ends[chosen, 1], bound[1])
    elif is_known and math.isinf(span):
        ends[width == 0] = math.nan
    return np.clip(ends, low, high) if is_known else ends


def _may_lack_rare(
    mean: Float64Array, weight: Float64Array, low: float, high: float
) -> NDArray[np.bool_]:
    """Whether a rare value at a bound would decide; ``weight``: width times number of values."""
    return np.maximum(mean - low, high - mean) > _FAR * weight


def value_bounds(
    values: Float64Array, bounds: tuple[float, float] | None
) -> tuple[float, float, bool]:
    """Lowest and highest value, and whether these are bounds rather than just the values seen."""
    least = float(np.nanmin(values, initial=math.inf))
    most = float(np.nanmax(values, initial=-math.inf))
    if bounds is None:
        if least >= -1.0 and most <= 1.0:
            return 0.0 if least >= 0 else -1.0, 1.0, True
        return least, most, False
    low, high = bounds
    if not low <= least or not most <= high:
        raise ValueError(
            f"values must lie between bounds={bounds}, got {least:g} to {most:g}. Pass the lowest "
            "and the highest possible value."
        )
    return low, high, True


def dirichlet_bounds(
    values: Float64Array, weights: Float64Array, highest: float, tail: float
) -> Float64Array:
    """Upper bounds of means that hold but for a probability of ``tail``, (n_systems,).

    They are quantiles of the mean of the values and ``highest``, weighed by exponential draws.
    ``values`` and ``weights`` are (n_queries, n_systems). Weights add up to the number of values;
    those of values that do not count are 0. ``highest`` is the highest possible value.
    """
    n_systems = values.shape[1]
    n = len(values)
    n_highest = (values == highest).sum(axis=0)
    if (n_highest + (values == values.min(axis=0)).sum(axis=0) >= n).all() and (weights == 1).all():
        # Two values: the weight of the highest one has a beta law.
        share = betaincinv(n_highest + 1.0, np.maximum(n - n_highest, 1e-9), 1.0 - tail)
        least = values.min(axis=0)
        return np.where(n_highest < n, least + share * (highest - least), highest)
    values = np.vstack([values, np.full((1, n_systems), highest)])
    weights = np.vstack([weights, np.ones((1, n_systems))])
    total = weights.sum(axis=0)
    mean = (weights * values).sum(axis=0) / total
    error = np.sqrt((np.square(weights * (values - mean))).sum(axis=0)) / total
    quantile = -float(ndtri(tail))
    left, right = mean, np.full(n_systems, float(highest))
    at_left, at_right = np.full(n_systems, -quantile), np.full(n_systems, 40.0)
    at = np.minimum(mean + quantile * error, (mean + highest) / 2)
    for _ in range(_ROUNDS):
        found = np.clip(_normal_score(weights * (values - at)) - quantile, -40.0, 40.0)
        if (np.minimum(right - left, np.abs(found)) < 1e-5).all():
            break
        # Illinois: a secant in which an end that stays halves its value.
        is_below = found < 0
        left, right = np.where(is_below, at, left), np.where(is_below, right, at)
        at_left = np.where(is_below, found, at_left / 2)
        at_right = np.where(is_below, at_right / 2, found)
        gap = at_right - at_left
        share = np.divide(-at_left, gap, out=np.full(n_systems, 0.5), where=gap > 1e-200)
        at = left + share * (right - left)
    return at


def _normal_score(coefficients: Float64Array) -> Float64Array:
    """Standard normal quantile of the probability that a sum of exponential draws is at most 0.

    The saddlepoint approximation of Lugannani and Rice in the form of Barndorff-Nielsen.
    """
    least, most = coefficients.min(axis=0), coefficients.max(axis=0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        low, high = 1.0 / least, 1.0 / most
        at = np.zeros(len(least))
        for _ in range(_ROUNDS):
            terms = coefficients / (1.0 - at * coefficients)
            slope, bend = terms.sum(axis=0), np.square(terms).sum(axis=0)
            low, high = np.where(slope < 0, at, low), np.where(slope > 0, at, high)
            step = at - slope / bend
            step = np.where((step > low) & (step < high), step, (low + high) / 2)
            is_done = np.abs(step - at) <= 1e-6 * np.abs(step)
            at = step
            if is_done.all():
                break
        factors = 1.0 - at * coefficients
        root = np.sign(at) * np.sqrt(np.maximum(2.0 * np.log(factors).sum(axis=0), 0.0))
        scale = at * np.sqrt(np.square(coefficients / factors).sum(axis=0))
        score = np.where(np.abs(root) < 1e-4, root, root + np.log(scale / root) / root)
    # No coefficient below 0: the sum is never at most 0; none above 0: always.
    return np.where(least >= 0, -math.inf, np.where(most <= 0, math.inf, score))


@names_its_class
def bootstrap_interval(
    values: ArrayLike,
    *,
    strata: ArrayLike | None = None,
    confidence_level: float = 0.95,
    method: Literal["bca", "percentile"] = "bca",
    n_resamples: int = 9999,
    random_state: Seed = 0,
) -> Interval:
    """Bootstrap confidence interval of the mean over queries.

    Parameters
    ----------
    values : array-like of shape (n_queries,)
        One value per query; NaN (the query does not count) is dropped.
    strata : array-like of shape (n_queries,), optional
        Fold of each query. Queries are drawn within folds, and the statistic is the mean of the
        fold means.
    confidence_level : float in (0, 1)
        Level of the interval.
    method : {"bca", "percentile"}
        "bca" corrects for bias and skewness (Efron 1987, JASA 82:171-185).
    n_resamples : int >= 1
        Number of bootstrap samples.
    random_state : int, RandomState, Generator or None, default=0
        Seed or generator for the samples.

    Returns
    -------
    Interval
        ``(low, high)``. Both are the mean if the values of every stratum are equal, and NaN if no
        stratum has two values.

    Raises
    ------
    ValueError
        If lengths differ, values are infinite, or a parameter is out of range.

    Warns
    -----
    UserWarning
        If the interval is too short: fewer than 30 values, equal or skewed values, or small strata.

    Notes
    -----
    O(n_resamples · n_queries) time. Equal to ``scipy.stats.bootstrap`` with the same generator.
    Intervals are too short for few queries, above all within folds
    (``python -m benchmarks.coverage``, ``python -m benchmarks.interval_errors bootstrap``). Prefer
    :func:`rankwise.metrics.significance.mean_intervals` for means.

    Examples
    --------
    >>> low, high = bootstrap_interval([0.1, 0.4, 0.3, 0.9, 0.5, 0.2, 0.6] * 5)
    >>> bool(low < 0.4286 < high)
    True
    """
    low, high = bootstrap_intervals(
        np.asarray(values, dtype=np.float64)[:, None],
        strata=strata,
        confidence_level=confidence_level,
        method=method,
        n_resamples=n_resamples,
        random_state=random_state,
    )[0].tolist()
    return Interval(low, high)


@names_its_class
def bootstrap_intervals(
    values: NDArray[np.floating],
    *,
    strata: ArrayLike | None = None,
    confidence_level: float = 0.95,
    method: Literal["bca", "percentile"] = "bca",
    n_resamples: int = 9999,
    random_state: Seed = 0,
) -> Float64Array:
    """:func:`bootstrap_interval` of each of many systems, (n_systems, 2), from the same draws.

    ``values`` is (n_queries, n_systems). Each interval is independent of the other systems.
    """
    values = check_columns(values)
    codes = stratum_codes(strata, len(values))
    check_level(confidence_level)
    check_choice("method", method, ("bca", "percentile"))
    check_whole("n_resamples", n_resamples, 1)
    _warn_of_short(values, strata, confidence_level)
    seed = draw_seed(random_state)

    # Systems with values for the same queries share their draws.
    counted = ~np.isnan(values)
    patterns, pattern_of = np.unique(counted, axis=1, return_inverse=True)
    intervals = np.empty((values.shape[1], 2))
    for number, rows in enumerate(patterns.T):
        systems = np.flatnonzero(np.ravel(pattern_of) == number)
        parts = [values[np.ix_(rows & (codes == code), systems)] for code in np.unique(codes[rows])]
        rng = np.random.default_rng(seed)
        intervals[systems] = (
            _intervals(parts, confidence_level, method == "bca", n_resamples, rng)
            if any(len(part) > 1 for part in parts)
            else math.nan
        )
    return intervals


def _warn_of_short(values: Float64Array, strata: ArrayLike | None, confidence_level: float) -> None:
    """Warn of values for which the bootstrap errs too often."""
    found, n = stratified_means(values, strata), (~np.isnan(values)).sum(axis=0)
    has = found.freedom > 0
    # Resampled means lack a share of the variance: that of the degrees of freedom lost to means.
    share = np.sqrt(np.maximum(found.freedom, 0.0) / np.maximum(n, 1))
    errors = 2.0 * stdtr(
        np.maximum(found.freedom, 1.0), share * ndtri((1.0 - confidence_level) / 2.0)
    )
    low, high, is_known = value_bounds(values, None)
    width = 2.0 * t_quantile(found.freedom, confidence_level) * found.error
    is_rare = _may_lack_rare(found.mean, width * n, low, high) & is_known
    reasons = {
        f"fewer than {FEW_QUERIES} values": n < FEW_QUERIES,
        "equal values": found.error == 0,
        f"a skewness of the mean beyond {MOST_SKEWED:g}": np.abs(found.skewness) > MOST_SKEWED,
        "a bound far from all values": is_rare,
        "small strata": errors > _MORE_ERRORS * (1.0 - confidence_level),
    }
    given = [reason for reason, applies in reasons.items() if (applies & has).any()]
    if given:
        warnings.warn(
            f"bootstrap intervals of such values are too short ({', '.join(given)}). Use "
            "mean_intervals for bounded values, t_intervals for others.",
            UserWarning,
            stacklevel=callers_level(),
        )


def _intervals(
    parts: list[Float64Array],
    confidence_level: float,
    bca: bool,
    n_resamples: int,
    rng: np.random.Generator,
) -> Float64Array:
    """Intervals of the mean of the part means; each part has shape (n_part, n_systems)."""
    mean = np.mean([part.mean(axis=0) for part in parts], axis=0)
    constant = np.all([part.min(axis=0) == part.max(axis=0) for part in parts], axis=0)
    draws = _draw_means(parts, n_resamples, rng)
    tail = (1.0 - confidence_level) / 2.0
    intervals = np.empty((len(mean), 2))
    for system in range(len(mean)):
        if constant[system]:
            intervals[system] = mean[system]
            continue
        tails = np.array([tail, 1.0 - tail])
        if bca:
            columns = [part[:, system] for part in parts]
            tails = _bca_tails(columns, draws[:, system], mean[system], tails)
        intervals[system] = np.quantile(draws[:, system], tails)
    return intervals


def _draw_means(
    parts: list[Float64Array], n_resamples: int, rng: np.random.Generator
) -> Float64Array:
    """Resampled statistics, shape (n_resamples, n_systems)."""
    per_chunk = max(1, CHUNK // max(len(part) for part in parts))
    draws = np.zeros((n_resamples, parts[0].shape[1]))
    for start in range(0, n_resamples, per_chunk):
        n_draws = min(per_chunk, n_resamples - start)
        for part in parts:
            n = len(part)
            rows = rng.integers(0, n, (n_draws, n))
            rows += np.arange(n_draws)[:, None] * n
            times = np.bincount(rows.ravel(), minlength=n_draws * n).reshape(n_draws, n)
            means = (times.astype(np.float64) @ part) / n
            draws[start : start + n_draws] += means / len(parts)
    return draws


def _bca_tails(
    columns: list[Float64Array], draws: Float64Array, mean: float, tails: Float64Array
) -> Float64Array:
    """Quantile levels of the draws, corrected for bias and acceleration.

    The acceleration comes from the influence of each query on the mean of the part means
    (Davison & Hinkley 1997, Bootstrap Methods, section 5.3.2).
    """
    tie = TIE * np.abs(draws).max()
    below = np.count_nonzero(draws < mean - tie)
    not_above = np.count_nonzero(draws <= mean + tie)
    share = (below + not_above) / (2 * len(draws))
    least = 0.5 / len(draws)  # all draws on one side: a corner, not an infinity
    bias = ndtri(min(max(share, least), 1 - least))
    influence = np.concatenate([(column - column.mean()) / len(column) for column in columns])
    influence /= np.abs(influence).max()
    acceleration = (influence**3).sum() / (6.0 * (influence**2).sum() ** 1.5)
    shifted = bias + ndtri(tails)
    return ndtr(bias + shifted / (1.0 - acceleration * shifted))


def wilson_interval(
    share: Float64Array, n: Float64Array, confidence_level: float
) -> tuple[Float64Array, Float64Array]:
    """Ends of Wilson's interval of shares of ``n`` independent trials, within 0 and 1."""
    z = float(ndtri(0.5 + confidence_level / 2))
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)
