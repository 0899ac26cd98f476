"""Confidence intervals of a mean over queries by the bootstrap.

Queries are drawn with replacement, within strata if there are any. With one stratum per fold, the
statistic is the mean of the fold means, as LETOR reports it. All systems share the same draws.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from rankwise.metrics.statistics.stratified import check_columns, check_level, stratum_codes
from rankwise.typing import ArrayLike, Float64Array

# Means of the same values in another order count as ties.
TIE = 1e-12
# Number of drawn values per block: small enough for the cache and one BLAS thread.
CHUNK = 1 << 16


class Interval(NamedTuple):
    """Ends of a confidence interval."""

    low: float
    high: float


def bootstrap_interval(
    values: ArrayLike,
    *,
    strata: ArrayLike | None = None,
    level: float = 0.95,
    method: str = "bca",
    n_resamples: int = 9999,
    random_state: int | np.random.Generator | None = 0,
) -> Interval:
    """Bootstrap confidence interval of the mean over queries.

    Parameters
    ----------
    values : array-like of shape (n_queries,)
        One value per query; NaN (the query does not count) is dropped.
    strata : array-like of shape (n_queries,), optional
        Fold of each query. Queries are drawn within folds, and the statistic is the mean of the
        fold means.
    level : float in (0, 1)
        Level of the interval.
    method : {"bca", "percentile"}
        "bca" corrects for bias and skewness (Efron 1987, JASA 82:171-185).
    n_resamples : int >= 1
        Number of bootstrap samples.
    random_state : int, Generator or None
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

    Notes
    -----
    O(n_resamples · n_queries) time. Equal to ``scipy.stats.bootstrap`` with the same generator.
    Intervals are too short for few queries, above all within folds
    (``python -m benchmarks.coverage``). Prefer
    :func:`rankwise.metrics.significance.t_intervals` for means and differences of means.

    Examples
    --------
    >>> low, high = bootstrap_interval([0.1, 0.4, 0.3, 0.9, 0.5, 0.2, 0.6])
    >>> bool(low < 0.4286 < high)
    True
    """
    low, high = bootstrap_intervals(
        np.asarray(values, dtype=np.float64)[:, None],
        strata=strata,
        level=level,
        method=method,
        n_resamples=n_resamples,
        random_state=random_state,
    )[0].tolist()
    return Interval(low, high)


def bootstrap_intervals(
    values: NDArray[np.floating],
    *,
    strata: ArrayLike | None = None,
    level: float = 0.95,
    method: str = "bca",
    n_resamples: int = 9999,
    random_state: int | np.random.Generator | None = 0,
) -> Float64Array:
    """Compute :func:`bootstrap_interval` for many systems from the same draws.

    Parameters
    ----------
    values : ndarray of shape (n_queries, n_systems)
        Values of the systems; the other parameters are those of :func:`bootstrap_interval`.

    Returns
    -------
    ndarray of shape (n_systems, 2), float64
        Intervals; each is independent of the other systems.
    """
    values = check_columns(values)
    codes = stratum_codes(strata, len(values))
    check_level(level)
    if method not in ("bca", "percentile"):
        raise ValueError(f"method must be 'bca' or 'percentile', got {method!r}.")
    if n_resamples < 1:
        raise ValueError(f"n_resamples must be >= 1, got {n_resamples}.")
    seed = random_state
    if not isinstance(seed, int | np.integer):
        seed = int(np.random.default_rng(seed).integers(1 << 62))

    # Systems with values for the same queries share their draws.
    counted = ~np.isnan(values)
    patterns, pattern_of = np.unique(counted, axis=1, return_inverse=True)
    intervals = np.empty((values.shape[1], 2))
    for number, rows in enumerate(patterns.T):
        systems = np.flatnonzero(np.ravel(pattern_of) == number)
        parts = [values[np.ix_(rows & (codes == code), systems)] for code in np.unique(codes[rows])]
        rng = np.random.default_rng(seed)
        intervals[systems] = (
            _intervals(parts, level, method == "bca", n_resamples, rng)
            if any(len(part) > 1 for part in parts)
            else math.nan
        )
    return intervals


def _intervals(
    parts: list[Float64Array], level: float, bca: bool, n_resamples: int, rng: np.random.Generator
) -> Float64Array:
    """Intervals of the mean of the part means; each part has shape (n_part, n_systems)."""
    mean = np.mean([part.mean(axis=0) for part in parts], axis=0)
    constant = np.all([part.min(axis=0) == part.max(axis=0) for part in parts], axis=0)
    draws = _draw_means(parts, n_resamples, rng)
    tail = (1.0 - level) / 2.0
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
    share: Float64Array, n: Float64Array, level: float
) -> tuple[Float64Array, Float64Array]:
    """Ends of Wilson's interval of shares of ``n`` independent trials, within 0 and 1."""
    z = float(ndtri(0.5 + level / 2))
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)
