"""How many queries a comparison needs, what it can detect, and intervals while it is under way."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from numbers import Real
from typing import NamedTuple

import numpy as np
from scipy.special import chdtr, ndtr, ndtri
from scipy.stats import chi2, nct, t

from rankwise.metrics.statistics.all_pairs import max_t, pair_differences
from rankwise.metrics.statistics.intervals import Interval
from rankwise.metrics.statistics.stratified import (
    FEW_QUERIES,
    MOST_SKEWED,
    check_columns,
    check_level,
    correct_ends,
    order_by_values,
    stack_columns,
    stratified_means,
    stratum_codes,
)
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.frames import numbers_of, wrap_frame
from rankwise.runtime.messages import callers_level, check_share, check_whole
from rankwise.typing import ArrayLike, Float64Array, Seed

_MOST_QUERIES = 10_000_000
# Draws for the critical value of several systems: its error is then about 1 %.
_DRAWS = 1999
# Number of values for an unknown spread.
_DRAWS_OF_SPREAD = 20
# Critical values and noncentralities beyond which the noncentral t is not computed.
_LARGE = 50.0
# Spread, as a share of the largest value, below which differences are equal but for rounding.
_ROUNDING = 1e-13
# Spread below which ratios of differences to it overflow.
_SMALLEST = 1e-100


@names_its_class
def queries_needed(
    pilot: Mapping[str, ArrayLike],
    difference: float,
    *,
    power: float = 0.8,
    confidence_level: float = 0.95,
    random_state: Seed = 0,
    strata: ArrayLike | None = None,
) -> int:
    """Number of queries with which a difference between two systems is found.

    Parameters
    ----------
    pilot : mapping of str to array-like of shape (n_queries,), or frame
        Values per query of two or more systems on the same queries, from which the spread of
        differences is taken; NaN: does not count.
    difference : float > 0
        Difference of the means to detect.
    power : float in (0, 1)
        Chance of a significant result if the true difference is this large.
    confidence_level : float in (0, 1)
        Joint level of the test over all pairs.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the draws for the critical value.
    strata : array-like of shape (n_queries,), optional
        Fold of each query of the pilot. Differences are then those of means of fold means, and
        further queries are drawn from the folds in the pilot's proportions.

    Returns
    -------
    int
        Number in all folds together, for a pair whose differences spread as those of the median
        pair of the pilot.

    Raises
    ------
    ValueError
        If there are fewer than two systems, a parameter is out of range, all differences are
        equal, or more than ten million queries were needed.

    Notes
    -----
    The test is that of :func:`compare_to_best`. Power is that of the noncentral t distribution, for
    two systems with the critical value of Student's paired t, which the sign-flip test approaches;
    the critical value of several systems is that of the pilot, in the scale of normal quantiles.
    Where strata of few queries decide, power is averaged over what their spread may be. A pilot of
    20 queries shows the spread of skewed differences only roughly: power .8 may be .65. At
    level .95 there are at least six queries: fewer have too few ways to flip signs.
    ``python -m benchmarks.planning`` compares planned with simulated power.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> values = rng.random(50)
    >>> queries_needed({"a": values, "b": values + rng.normal(0, 0.2, 50)}, 0.05)
    133
    """
    if not isinstance(difference, Real) or not 0 < difference < math.inf:
        raise ValueError(f"difference must be a number > 0, got {difference!r}.")
    check_share("power", power)
    found = _measure_pilot(pilot, strata, confidence_level, random_state)
    if found.power(_MOST_QUERIES, difference) < power:
        raise ValueError(
            f"difference={difference:g} needs more than {_MOST_QUERIES:,} queries, since the "
            f"differences of the pilot spread by {found.spread:.3g}. Look for a larger difference."
        )
    low = found.fewest - 1  # its power is too small
    high = low + 1
    while found.power(high, difference) < power:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if found.power(middle, difference) < power:
            low = middle
        else:
            high = middle
    return high


@names_its_class
def detectable_difference(
    pilot: Mapping[str, ArrayLike],
    n_queries: int | None = None,
    *,
    power: float = 0.8,
    confidence_level: float = 0.95,
    random_state: Seed = 0,
    strata: ArrayLike | None = None,
) -> float:
    """Smallest difference that is found with a number of queries.

    Parameters
    ----------
    pilot, power, level, random_state, strata
        As in :func:`queries_needed`.
    n_queries : int, optional
        Number of queries, at least 6 at level .95; None: those of the pilot that count for all
        systems.

    Returns
    -------
    float
        Difference that is significant with chance ``power``, for a pair whose differences spread
        as those of the median pair of the pilot.

    Raises
    ------
    ValueError
        As in :func:`queries_needed`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> values = rng.random(50)
    >>> round(detectable_difference({"a": values, "b": values + rng.normal(0, 0.2, 50)}, 133), 3)
    0.05
    """
    check_share("power", power)
    found = _measure_pilot(pilot, strata, confidence_level, random_state)
    n = found.n_complete if n_queries is None else n_queries
    if n < found.fewest:
        raise ValueError(
            f"n_queries must be >= {found.fewest}, got {n}: with fewer, no difference is "
            f"significant at level {confidence_level:g}."
        )
    low, high = 0.0, 1.0  # in standard deviations
    while found.power(n, high * found.spread) < power:
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = (low + high) / 2.0
        is_low = found.power(n, middle * found.spread) < power
        low, high = (middle, high) if is_low else (low, middle)
    return high * found.spread


def spread_is_rough(n: int) -> str:
    """Words to add to a planned number if the spread of few queries in the pilot is rough."""
    return "; rough, since so few show how much differences spread" if n < FEW_QUERIES else ""


@names_its_class
def always_valid_interval(
    differences: ArrayLike, *, confidence_level: float = 0.95, n_expected: int = 100
) -> Interval:
    """Interval of a mean that may be looked at after every query, without a price.

    Judge queries in batches, compute the interval after each, and stop as soon as it excludes 0 (or
    is short enough): with probability ``confidence_level``, the mean lies in all intervals at once.

    Parameters
    ----------
    differences : array-like of shape (n_queries,)
        Differences of two systems on the queries judged so far, which were drawn at random; NaN:
        does not count.
    confidence_level : float in (0, 1)
    n_expected : int >= 1
        Number of queries at which the interval is shortest. It must not be changed on the way.

    Returns
    -------
    low, high : float
        Infinite with fewer than two queries.

    Warns
    -----
    UserWarning
        If the differences are so skewed that the interval errs too often.

    Notes
    -----
    With n values of variance s² and rho² = (-2 log(1 - level) + log(-2 log(1 - level) + 1)) /
    n_expected, half of the interval is s · sqrt(2 (n rho² + 1) / (n² rho²) · log(sqrt(n rho² + 1) /
    (1 - level))) [1]_; the end on the side of a long tail is further away by Hall's transformation
    [2]_, as in :func:`compare_to_best`. It holds as the number of queries grows: before about 30
    queries, do not stop. If one query in k decides (a change that helps few queries much), wait
    for 3 k of them: before the first of those, the data do not show what is missing. At
    ``n_expected``, it is about 1.5 times as long as Student's.
    ``python -m benchmarks.interval_errors always`` measures how often it errs.

    .. [1] Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas, "Time-uniform central limit theory and
       asymptotic confidence sequences", Annals of Statistics 52(6), 2024.
    .. [2] Hall, "On the removal of skewness by transformation", J. R. Statist. Soc. B 54:221-228,
       1992.

    Examples
    --------
    >>> low, high = always_valid_interval([0.1, 0.3, 0.2, 0.1, 0.3, 0.2] * 10)
    >>> round(low, 3), round(high, 3)
    (0.167, 0.233)
    """
    check_level(confidence_level)
    check_whole("n_expected", n_expected, 1)
    values = np.asarray(differences, dtype=np.float64)
    if values.ndim != 1 or np.isinf(values).any():
        raise ValueError(
            f"differences must be a 1-d array of finite numbers or NaN, got shape {values.shape}."
        )
    values = values[~np.isnan(values)]
    n = len(values)
    if n < 2:
        return Interval(-math.inf, math.inf)
    found = stratified_means(values[:, None])
    skewness = float(found.skewness[0])
    if abs(skewness) > MOST_SKEWED:
        warnings.warn(
            "few of the differences decide their mean: always-valid intervals of values so skewed "
            f"err too often (skewness of the mean {skewness:.2g}, at most {MOST_SKEWED:g} is "
            "harmless). Judge more queries before you stop.",
            UserWarning,
            stacklevel=callers_level(),
        )
    critical = time_uniform_half_width(n, confidence_level, n_expected) * math.sqrt(n)
    lower, upper = correct_ends(critical, found.skewness)
    low, high = (found.mean - end * found.error for end in (upper, lower))
    return Interval(float(low[0]), float(high[0]))


def time_uniform_half_width(n: float, confidence_level: float, n_expected: float) -> float:
    """Half of the interval of :func:`always_valid_interval` after n values of variance 1."""
    tail = -2.0 * math.log(1.0 - confidence_level)
    rho2 = (tail + math.log(tail + 1.0)) / n_expected
    grown = n * rho2 + 1.0
    return math.sqrt(
        2.0 * grown / (n * n * rho2) * math.log(math.sqrt(grown) / (1.0 - confidence_level))
    )


class _Pilot(NamedTuple):
    """Test of the median pair: spread of a mean of n queries is ``spread / sqrt(n)``."""

    spread: float
    quantile: float  # of a normal, with the tail of the critical value
    n_strata: int
    freedom: float  # per query, beyond one query of each stratum
    fewest: int  # queries with which flipped signs reach a p-value below 1 - level
    n_complete: int
    errors: Float64Array  # of ``spread``: ratios of equal probability, estimate to truth

    def power(self, n: int, difference: float) -> float:
        """Chance that the paired t of n queries exceeds its critical value."""
        freedom = (n - self.n_strata) * self.freedom
        if freedom <= 0:
            return 0.0
        critical = float(t.isf(ndtr(-self.quantile), freedom))
        shift = difference / self.spread * math.sqrt(n) * self.errors
        if critical > _LARGE:  # the spread that few queries show decides; the noncentral t fails
            return float(chdtr(freedom, freedom * (shift / critical) ** 2).mean())
        near = np.minimum(shift, critical + _LARGE)
        return float(np.where(shift > near, 1.0, nct.sf(critical, freedom, near)).mean())


def _measure_pilot(
    pilot: Mapping[str, ArrayLike],
    strata: ArrayLike | None,
    confidence_level: float,
    random_state: Seed,
) -> _Pilot:
    check_level(confidence_level)
    values = _columns(pilot)
    order = order_by_values(values, strata)
    values, codes = values[order], stratum_codes(strata, len(values))[order]
    pairs = pair_differences(values, codes)
    above = np.triu_indices(values.shape[1], 1)
    there = (~np.isnan(values)).astype(np.float64)
    n = (there.T @ there)[above]
    with np.errstate(invalid="ignore"):
        spreads = (pairs.error[above] * np.sqrt(n))[pairs.freedom[above] > 0]
    spread = float(np.median(spreads[~np.isnan(spreads)])) if len(spreads) else math.nan
    least = max(_SMALLEST, _ROUNDING * float(np.nanmax(np.abs(values), initial=0.0)))
    if not least < spread < math.inf:
        raise ValueError(
            "pilot must hold two systems whose differences vary over at least two queries. Measure "
            "more queries."
        )
    freedom, n_strata = float(np.median(pairs.freedom[above])), int(codes.max()) + 1
    quantile = float(ndtri(0.5 + confidence_level / 2.0))
    if values.shape[1] > 2:
        centred = values - np.nanmean(values, axis=0)
        found = max_t(
            centred, pairs, strata=codes, confidence_level=confidence_level, n_resamples=_DRAWS,
            random_state=random_state,
        )  # fmt: skip
        # The same tail of a normal, so that it holds for other numbers of queries.
        quantile = float(-ndtri(t.sf(found.critical, max(1.0, freedom))))
    per_query = freedom / max(1.0, float(np.median(n)) - n_strata)
    errors = np.ones(1)
    if per_query < 1.0:
        # Small strata decide, whose spread few queries of the pilot show. Estimated degrees of
        # freedom vary with it; with four fifths of them, simulated power is .78 to .87 for .8.
        freedom, per_query = 0.8 * freedom, 0.8 * per_query
        errors = np.sqrt(chi2.ppf((np.arange(_DRAWS_OF_SPREAD) + 0.5) / _DRAWS_OF_SPREAD, freedom))
        errors /= math.sqrt(freedom)
    # Of 2^n flips, the given signs and the opposite ones are the most extreme.
    fewest = 2 + math.floor(-math.log2(1.0 - confidence_level))
    n_complete, fewest = int(there.all(axis=1).sum()), max(fewest, n_strata + 1)
    return _Pilot(spread, quantile, n_strata, per_query, fewest, n_complete, errors)


def _columns(pilot: Mapping[str, ArrayLike]) -> Float64Array:
    frame = wrap_frame(pilot)
    if frame is not None:
        pilot = {n: numbers_of(c) for n, c in frame.lazy().collect().to_dict().items()}
    if not isinstance(pilot, Mapping) or len(pilot) < 2:
        raise ValueError(
            "pilot must map at least two systems to their values per query, got "
            f"{type(pilot).__name__ if not isinstance(pilot, Mapping) else list(pilot)}."
        )
    by_name = {name: pilot[name] for name in sorted(pilot, key=str)}
    return check_columns(stack_columns("pilot", by_name))
