"""Means over queries of several folds, with Student's t: estimates, standard errors, intervals.

The estimate is the mean of the fold means, as LETOR reports it. Its standard error is based on the
spread of the queries within their folds, pooled over folds with n - 1 degrees of freedom each.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from rankwise.typing import ArrayLike, Float64Array, Int64Array

# Degrees of freedom per term below which few terms decide, see spread_freedom.
FEW = 0.25
# Digits, of the largest value, to which equal values agree however they were summed.
_SAME_DIGITS = 10


class StratifiedMeans(NamedTuple):
    """Means of several systems, one entry per system.

    Attributes
    ----------
    mean : ndarray of shape (n_systems,)
        Mean of the stratum means; NaN if a system has no value.
    error : ndarray of shape (n_systems,)
        Standard error of ``mean``; NaN if no stratum has two values.
    freedom : ndarray of shape (n_systems,)
        Degrees of freedom of ``error``: values minus strata.
    """

    mean: Float64Array
    error: Float64Array
    freedom: Float64Array


def stratified_means(
    values: NDArray[np.floating], strata: ArrayLike | None = None
) -> StratifiedMeans:
    """Mean of the stratum means, with its standard error.

    Parameters
    ----------
    values : ndarray of shape (n_queries, n_systems)
        Values per query; NaN if the query does not count for the system.
    strata : array-like of shape (n_queries,), optional
        Fold of each query.

    Returns
    -------
    StratifiedMeans
        Means and errors; each is independent of the other systems.

    Notes
    -----
    With K strata of n_k values and the residuals r of the values about their stratum means, the
    squared standard error is ``sum(r**2) / (n - K) * sum(1 / n_k) / K**2``.
    O(n_queries · n_systems).
    """
    codes = stratum_codes(strata, len(values))
    order = np.argsort(codes, kind="stable")
    codes, ordered = codes[order], np.asarray(values, dtype=np.float64)[order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    counted = ~np.isnan(ordered)
    sizes = np.add.reduceat(counted, starts, axis=0, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        centres = np.add.reduceat(np.where(counted, ordered, 0.0), starts, axis=0) / sizes
        inverse_sizes = np.where(sizes > 0, 1.0 / sizes, 0.0).sum(axis=0)
    # Equal values have no spread, even if their mean is rounded.
    least = np.fmin.reduceat(ordered, starts, axis=0)
    equal = least == np.fmax.reduceat(ordered, starts, axis=0)
    centres = np.where(equal, least, centres)
    residuals = np.where(counted, ordered - centres[codes], 0.0)
    squares = np.einsum("ij,ij->j", residuals, residuals)
    n_values, n_strata = sizes.sum(axis=0), np.count_nonzero(sizes, axis=0)
    mean = np.where(sizes > 0, centres, 0.0).sum(axis=0)
    freedom = n_values - n_strata
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(n_strata > 0, mean / n_strata, math.nan)
        error = np.sqrt(squares / np.where(freedom > 0, freedom, math.nan) * inverse_sizes)
        error = error / n_strata
    return StratifiedMeans(mean, error, freedom)


def stratified_mean(values: Float64Array, strata: ArrayLike | None = None) -> float:
    """Mean of the stratum means over values that are not NaN; NaN if there are none."""
    column = np.asarray(values, dtype=np.float64)[:, None]
    return float(stratified_means(column, strata).mean[0])


def t_intervals(
    values: NDArray[np.floating], *, strata: ArrayLike | None = None, level: float = 0.95
) -> Float64Array:
    """Student's t intervals of the mean over queries, one per system.

    Parameters
    ----------
    values : ndarray of shape (n_queries, n_systems)
        Values per query; NaN if the query does not count for the system.
    strata : array-like of shape (n_queries,), optional
        Fold of each query; the estimate is then the mean of the fold means.
    level : float in (0, 1)

    Returns
    -------
    ndarray of shape (n_systems, 2), float64
        Lower and upper ends. Both are the mean if the values of every stratum are equal, and NaN
        if no stratum has two values.

    Raises
    ------
    ValueError
        If lengths differ, values are infinite, or ``level`` is out of range.

    Notes
    -----
    O(n_queries · n_systems). ``python -m benchmarks.coverage`` measures how often these intervals
    and those of the bootstrap contain the true mean.

    Examples
    --------
    >>> t_intervals(np.array([[0.1], [0.4], [0.3], [0.9], [0.5], [0.2], [0.6]])).round(3).tolist()
    [[0.18, 0.677]]
    """
    values = check_columns(values)
    check_level(level)
    mean, error, freedom = stratified_means(values, strata)
    half = t_quantile(freedom, level) * error
    return np.column_stack([mean - half, mean + half])


def t_statistics(estimate: StratifiedMeans) -> Float64Array:
    """Means divided by their standard errors: 0 if both are 0, infinite if only the error is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = estimate.mean / estimate.error
    return np.where((estimate.mean == 0) & (estimate.error == 0), 0.0, t)


def t_p_values(estimate: StratifiedMeans) -> Float64Array:
    """Two-sided p-values of the hypothesis that a mean is 0; NaN if it cannot be tested."""
    t = np.abs(t_statistics(estimate))
    p = 2.0 * stdtr(np.where(estimate.freedom > 0, estimate.freedom, math.nan), -t)
    return np.asarray(np.where(np.isinf(t), 0.0, p), dtype=np.float64)


def t_quantile(freedom: Float64Array, level: float) -> Float64Array:
    """Half width of a two-sided interval in standard errors."""
    return np.asarray(
        stdtrit(np.where(freedom > 0, freedom, math.nan), 0.5 + level / 2), dtype=np.float64
    )


def spread_freedom(terms: Float64Array) -> float:
    """Degrees of freedom of the sum of the squares of independent terms, from their kurtosis.

    One fewer than there are terms if these are normal or have light tails, fewer if few terms
    decide. O(n).
    """
    squares = np.square(terms - terms.mean())
    if not squares.any():
        return float(len(terms) - 1)
    kurtosis = float(np.square(squares).mean() / squares.mean() ** 2)
    return max(1.0, min(2.0 * len(terms) / max(kurtosis - 1.0, 1e-9), len(terms) - 1.0))


def stratum_codes(strata: ArrayLike | None, n_queries: int) -> Int64Array:
    """Stratum number of every query; all 0 without strata, or if each holds one query."""
    if strata is None:
        return np.zeros(n_queries, np.int64)
    strata = np.asarray(strata)
    if strata.shape != (n_queries,):
        raise ValueError(
            f"strata must have shape ({n_queries},) as the values do, got {strata.shape}. "
            "Pass the fold of each query."
        )
    found, codes = np.unique(strata, return_inverse=True)
    return np.zeros(n_queries, np.int64) if len(found) == n_queries else codes.astype(np.int64)


def order_by_values(values: Float64Array, strata: ArrayLike | None = None) -> Int64Array:
    """Order of the queries by stratum, then by their values in the first system, the second, ….

    Queries with equal rows are interchangeable. What draws numbers for queries in this order, and
    adds in it, does not depend on the order in which queries were given. O(n log n) per system.

    Parameters
    ----------
    values : ndarray of shape (n_queries, n_systems)
    strata : array-like of shape (n_queries,), optional
    """
    largest = np.nanmax(np.abs(values), initial=0.0)
    # Values of one query that were summed in another order are equal.
    keys = np.round(values / largest, _SAME_DIGITS) if largest > 0 else values
    return np.lexsort((*keys.T[::-1], stratum_codes(strata, len(values))))


def check_columns(values: NDArray[np.floating]) -> Float64Array:
    """Values as float64 of shape (n_queries, n_systems), without infinities."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 2 or np.isinf(values).any():
        raise ValueError(
            "values must be finite numbers or NaN, one row per query, "
            f"got shape {values.shape}. Mark queries without a value as NaN."
        )
    return values


def check_level(level: float) -> None:
    """Raise ValueError unless ``level`` lies between 0 and 1."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}. Write 0.95 for 95 %.")
