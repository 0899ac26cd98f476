"""Means over queries of several folds, with Student's t, and systems with several runs.

The estimate is the mean of the fold means, as LETOR reports it. Its standard error is based on the
spread of the queries within their folds: pooled over folds of about equal size, that of each fold
otherwise.

A run of a trained system, such as a seed, is better or worse on all queries at once. The spread
over queries does not show that, however many queries there are; the spread of the means of the runs
does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.special import stdtr, stdtrit

from rankwise.runtime.finite import names_its_class
from rankwise.runtime.messages import check_share
from rankwise.runtime.result import Result
from rankwise.typing import ArrayLike, Float64Array, Int64Array

# Degrees of freedom per term below which few terms decide, see spread_freedom.
FEW = 0.25
# Digits, of the largest value, to which equal values agree however they were summed.
_SAME_DIGITS = 10
# Ratio of the sizes of two strata above which each has a variance of its own.
MOST_UNEQUAL = 1.25
# Skewness of a mean beyond which its corrected t errs in more than 8 % of the cases instead of 5,
# found with gamma, Weibull, Pareto and beta values and rare gains in 20 to 200 queries.
MOST_SKEWED = 0.3
# Queries below which a gain of one query in ten may not have occurred, and power .8 may be .65 if
# differences are skewed.
FEW_QUERIES = 30


class StratifiedMeans(NamedTuple):
    """Means of several systems; all arrays are (n_systems,)."""

    mean: Float64Array  # of the stratum means; NaN if a system has no value
    error: Float64Array  # standard error of ``mean``; NaN if no stratum has two values
    freedom: Float64Array  # of ``error``: values minus strata if the strata are pooled
    # Of ``mean``: that of the values divided by the root of their number. Only what is beyond the
    # standard error of such a number, 0 otherwise.
    skewness: Float64Array


def stratified_means(
    values: NDArray[np.floating], strata: ArrayLike | None = None
) -> StratifiedMeans:
    """Mean of the stratum means, with its standard error; of each system by itself.

    ``values`` (n_queries, n_systems) are NaN if the query does not count for the system; ``strata``
    (n_queries,) is the fold of each query.

    With K strata of n_k values and the residuals r of the values about their stratum means, the
    squared standard error is ``sum(r**2) / (n - K) * sum(1 / n_k) / K**2`` while no stratum has
    more than 1.25 times the values of another: whatever the spreads of the strata, its expectation
    is then at least .8 of the true one. Otherwise each stratum counts with its own variance,
    ``sum_k s_k**2 / n_k / K**2``, with Satterthwaite's degrees of freedom; a stratum with a single
    value takes the pooled variance. O(n_queries · n_systems).
    """
    codes = stratum_codes(strata, len(values))
    order = np.argsort(codes, kind="stable")
    codes, ordered = codes[order], np.asarray(values, dtype=np.float64)[order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    counted = ~np.isnan(ordered)
    sizes = all_sizes = np.add.reduceat(counted, starts, axis=0, dtype=np.float64)
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
        pooled = squares / np.where(freedom > 0, freedom, math.nan)
        error = np.sqrt(pooled * inverse_sizes)
        error = error / n_strata
        apart = _are_unequal(sizes) & (freedom > 0)
        if apart.any():
            of_stratum = np.add.reduceat(residuals[:, apart] ** 2, starts, axis=0)
            sizes, pooled = all_sizes[:, apart], pooled[apart]
            own = np.where(sizes > 1, of_stratum / (sizes - 1) / sizes, 0.0)
            single = pooled * (sizes == 1).sum(axis=0)
            variance = own.sum(axis=0) + single
            spread = np.where(sizes > 1, own**2 / (sizes - 1), 0.0).sum(axis=0)
            spread += single**2 / freedom[apart]
            error[apart] = np.sqrt(variance) / n_strata[apart]
            found = np.where(variance > 0, variance**2 / spread, math.inf)
            freedom[apart] = np.minimum(found, freedom[apart])
    skewness = _skewness(residuals, starts, all_sizes, squares, error * n_strata)
    return StratifiedMeans(mean, error, freedom, skewness)


def _skewness(
    residuals: Float64Array,
    starts: Int64Array,
    sizes: Float64Array,
    squares: Float64Array,
    error: Float64Array,
) -> Float64Array:
    """Third cumulant of the sum of stratum means over its error cubed, beyond its standard error.

    ``error`` is that of the sum. Third moments are pooled where the variances are.
    """
    freedom = np.maximum(sizes.sum(axis=0) - (sizes > 0).sum(axis=0), 1.0)
    spread = np.sqrt(squares / freedom)
    spread = np.where(spread > 0, spread, 1.0)
    scaled = residuals / spread
    cubes = np.add.reduceat(scaled**3, starts, axis=0)
    # Sums of cubes have the expectation known · (third moment), and of normal values the variance
    # 6 · known · sigma^6.
    known = np.where(sizes > 2, (sizes - 1.0) * (sizes - 2.0) / np.maximum(sizes, 1.0), 0.0)
    inverse = np.where(sizes > 0, 1.0 / np.maximum(sizes, 1.0), 0.0)
    total = np.where(known.sum(axis=0) > 0, known.sum(axis=0), math.inf)
    third = cubes.sum(axis=0) / total * (inverse**2).sum(axis=0)
    variance = 6.0 / total * (inverse**2).sum(axis=0) ** 2
    apart = _are_unequal(sizes)
    if apart.any():
        known, inverse = np.where(known > 0, known, math.inf)[:, apart], inverse[:, apart]
        own = np.add.reduceat(scaled[:, apart] ** 2, starts, axis=0)
        own /= np.maximum(sizes[:, apart] - 1.0, 1.0)
        third[apart] = (cubes[:, apart] / known * inverse**2).sum(axis=0)
        variance[apart] = (6.0 * own**3 / known * inverse**4).sum(axis=0)
    beyond = np.sign(third) * np.maximum(np.abs(third) - np.sqrt(variance), 0.0)
    ratio = np.where(error > 0, error, math.inf) / spread
    return np.where(np.isnan(error), 0.0, beyond / ratio**3)


def _are_unequal(sizes: Float64Array) -> NDArray[np.bool_]:
    """Whether strata of (n_strata, ...) values differ too much in size for a pooled variance."""
    smallest = np.where(sizes > 0, sizes, math.inf).min(axis=0)
    return np.asarray(sizes.max(axis=0) > MOST_UNEQUAL * smallest)


def error_scales(sizes: Float64Array) -> Float64Array:
    """Weights of the squares of strata about their means in the error of :func:`stratified_means`.

    ``sizes`` has the shape (n_strata, ...); the weighted squares add up to the squared error.
    """
    n_strata = np.maximum((sizes > 0).sum(axis=0), 1)
    inverse, unequal = 1.0 / np.maximum(sizes, 1.0) * (sizes > 0), _are_unequal(sizes)
    own = np.where(unequal & (sizes > 1), inverse / np.maximum(sizes - 1.0, 1.0), 0.0)
    pooled = np.where(unequal, (sizes == 1).sum(axis=0), inverse.sum(axis=0))
    return (own + pooled / np.maximum(sizes.sum(axis=0) - n_strata, 1.0)) / n_strata**2


def stratified_mean(values: Float64Array, strata: ArrayLike | None = None) -> float:
    """Mean of the stratum means over values that are not NaN; NaN if there are none."""
    column = np.asarray(values, dtype=np.float64)[:, None]
    return float(stratified_means(column, strata).mean[0])


def adjust_means(values: Float64Array, strata: ArrayLike | None = None) -> Float64Array:
    """Means that systems would have on the queries of all, if some lack values.

    Least squares of value = query + system over the cells with a value, in which each stratum
    weighs the same. Without gaps, the means of the stratum means. Systems that no chain of common
    queries links to others stay at the level of their own queries. O(n_queries · n_systems²).
    """
    there = ~np.isnan(values)
    rows, known = there.any(axis=1), there.any(axis=0)
    if there[np.ix_(rows, known)].all():
        return stratified_means(values, strata).mean
    codes = stratum_codes(strata, len(values))
    weight = np.where(rows, 1.0 / np.maximum(np.bincount(codes, rows), 1.0)[codes], 0.0)
    effects, levels = fit_queries_and_systems(values, weight)
    part = connected_components(there.T.astype(np.float64) @ there > 0, directed=False)[1]
    for number in np.unique(part[known]):
        members = part == number
        inside = there[:, members].any(axis=1)
        effects[members] += stratified_mean(np.where(inside, levels, math.nan), codes)
    return np.where(known, effects, math.nan)


def fit_queries_and_systems(
    values: Float64Array, weight: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """Effects of systems and levels of queries by least squares of value = query + system."""
    there = (~np.isnan(values)).astype(np.float64)
    filled = np.where(np.isnan(values), 0.0, values)
    per_row = np.maximum(there.sum(axis=1), 1.0)
    scaled = (weight / per_row)[:, None] * there
    normal = np.diag(weight @ there) - there.T @ scaled
    right = weight @ filled - scaled.T @ filled.sum(axis=1)
    effects = np.linalg.lstsq(normal, right, rcond=None)[0]
    return effects, (filled.sum(axis=1) - there @ effects) / per_row


@names_its_class
def t_intervals(
    values: NDArray[np.floating], *, strata: ArrayLike | None = None, confidence_level: float = 0.95
) -> Float64Array:
    """Student's t intervals of the mean over queries, one per system.

    Parameters
    ----------
    values : ndarray of shape (n_queries, n_systems)
        Values per query; NaN if the query does not count for the system.
    strata : array-like of shape (n_queries,), optional
        Fold of each query; the estimate is then the mean of the fold means.
    confidence_level : float in (0, 1)

    Returns
    -------
    ndarray of shape (n_systems, 2), float64
        Lower and upper ends. Both are the mean if the values of every stratum are equal, and NaN
        if no stratum has two values.

    Raises
    ------
    ValueError
        If lengths differ, values are infinite, or ``confidence_level`` is out of range.

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
    check_level(confidence_level)
    found = stratified_means(values, strata)
    half = t_quantile(found.freedom, confidence_level) * found.error
    return np.column_stack([found.mean - half, found.mean + half])


def t_statistics(estimate: StratifiedMeans) -> Float64Array:
    """Means divided by their standard errors: 0 if both are 0, infinite if only the error is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = estimate.mean / estimate.error
    return np.where((estimate.mean == 0) & (estimate.error == 0), 0.0, t)


def correct_t(estimate: StratifiedMeans) -> Float64Array:
    """Sizes of t statistics; of skewed values, the smaller one after Hall's transformation.

    Few values in the long tail decide the mean of skewed values and its error, so that Student's t
    errs too often on one side [1]_. Sizes are never raised: without skewness, they are those of t.

    .. [1] Hall, "On the removal of skewness by transformation", J. R. Statist. Soc. B 54:221-228,
       1992.
    """
    t = t_statistics(estimate)
    size, r = np.abs(t), np.where(np.isinf(t), 0.0, estimate.skewness) * np.sign(t)
    with np.errstate(invalid="ignore"):
        transformed = size + r * size**2 / 3.0 + r**2 * size**3 / 27.0 + r / 6.0
    return np.where(r == 0, size, np.minimum(size, np.maximum(transformed, 0.0)))


def correct_ends(
    critical: Float64Array | float, skewness: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """Values of t between which :func:`correct_t` does not exceed ``critical``."""
    r = np.where(skewness == 0, 1.0, skewness)
    ends = []
    for side in (-1.0, 1.0):
        plain = side * np.broadcast_to(critical, r.shape)
        turned = 3.0 / r * (np.cbrt(1.0 + r * (plain - r / 6.0)) - 1.0)
        wider = side * np.maximum(side * plain, side * turned)
        ends.append(np.where(skewness == 0, plain, wider))
    return ends[0], ends[1]


def t_p_values(estimate: StratifiedMeans) -> Float64Array:
    """Two-sided p-values of the hypothesis that a mean is 0; NaN if it cannot be tested.

    Of Student's t, with the correction of :func:`correct_t` for skewed values.
    """
    t = correct_t(estimate)
    p = 2.0 * stdtr(np.where(estimate.freedom > 0, estimate.freedom, math.nan), -t)
    return np.asarray(np.where(np.isinf(t), 0.0, p), dtype=np.float64)


def t_quantile(freedom: Float64Array, confidence_level: float) -> Float64Array:
    """Half width of a two-sided interval in standard errors."""
    return np.asarray(
        stdtrit(np.where(freedom > 0, freedom, math.nan), 0.5 + confidence_level / 2),
        dtype=np.float64,
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
    adds in it, does not depend on the order in which queries were given. ``values`` is (n_queries,
    n_systems). O(n log n) per system.
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


def stack_columns(name: str, values: Mapping[str, ArrayLike], unit: str = "query") -> Float64Array:
    """Values of systems as the columns of a table, (n_queries, n_systems)."""
    columns = {key: np.asarray(column, dtype=np.float64) for key, column in values.items()}
    shapes = {key: column.shape for key, column in columns.items()}
    if len(set(shapes.values())) > 1 or len(next(iter(shapes.values()))) != 1:
        raise ValueError(
            f"{name} must hold 1-d arrays of equal length, got shapes {shapes}. Pass one value per "
            f"{unit} for every system."
        )
    return np.column_stack(list(columns.values()))


def check_level(confidence_level: float) -> None:
    """Raise ValueError unless ``confidence_level`` lies between 0 and 1."""
    check_share("confidence_level", confidence_level, "Write 0.95 for 95 %.")


class _Errors(NamedTuple):
    error: Float64Array
    freedom: Float64Array


class RunErrors(Result, _Errors):
    """Errors of the means of systems due to their runs.

    Attributes
    ----------
    error : ndarray of shape (n_systems,)
        Standard error of a system's mean over its runs; 0 for a system with one run.
    freedom : ndarray of shape (n_systems,)
        Its degrees of freedom: runs minus 1.
    """


def run_error(values: Float64Array, strata: ArrayLike | None = None) -> tuple[float, float]:
    """Standard error of a system's mean due to its runs, and its degrees of freedom.

    Parameters
    ----------
    values : ndarray of shape (n_queries, n_runs)
        Values of every run; queries with a NaN are left out.
    strata : array-like of shape (n_queries,), optional
        Fold of each query.

    Notes
    -----
    Standard deviation of the means of the runs, divided by the root of their number. The noise of
    single values also moves these means, and the spread over queries holds it too: it counts
    twice, so that intervals are rather too long than too short.

    Examples
    --------
    >>> error, freedom = run_error(np.array([[0.1, 0.3], [0.5, 0.7]]))
    >>> round(error, 12), freedom
    (0.1, 1.0)
    """
    n_runs = values.shape[1]
    known = ~np.isnan(values).any(axis=1)
    if n_runs < 2 or not known.any():
        return 0.0, 0.0
    means = stratified_means(values[known], None if strata is None else np.asarray(strata)[known])
    return float(np.std(means.mean, ddof=1)) / float(np.sqrt(n_runs)), float(n_runs - 1)


def pool_run_errors(
    errors: Mapping[str, tuple[float, float]],
) -> dict[str, tuple[float, float]]:
    """Errors due to runs of systems that have few runs each, from the runs of all.

    Parameters
    ----------
    errors : mapping of str to (float, float)
        Results of :func:`run_error`; the systems have freedom + 1 runs.

    Returns
    -------
    dict of str to (float, float)
        With the spread of a system's own runs or, where it is larger, the spread within systems
        pooled over all; both with the degrees of freedom of the latter.

    Notes
    -----
    Three to five runs say little of their spread: with degrees of freedom of its own for every
    system, joint intervals over many of them would tell nothing apart. Pooling assumes that runs of
    most systems spread alike; a system that spreads more keeps its own, larger error.
    ``python -m benchmarks.rank_intervals`` measures both cases.

    Examples
    --------
    >>> error, freedom = pool_run_errors({"a": (0.1, 3.0), "b": (0.3, 3.0)})["a"]
    >>> round(error, 4), freedom
    (0.2236, 6.0)
    """
    total = sum(freedom for _, freedom in errors.values())
    if not total:
        return dict(errors)
    squares = sum(f * (f + 1) * error**2 for error, f in errors.values())
    pooled = float(np.sqrt(squares / total))
    return {
        name: (max(error, pooled / float(np.sqrt(f + 1))), total) if f else (error, f)
        for name, (error, f) in errors.items()
    }


def add_errors(
    estimate: StratifiedMeans, *parts: tuple[Float64Array, Float64Array]
) -> StratifiedMeans:
    """Estimate with further independent errors, each a pair of errors and degrees of freedom.

    Degrees of freedom of the sum are Satterthwaite's (Biometrics Bulletin 2:110-114, 1946).
    """
    variance, weight = estimate.error**2, np.zeros_like(estimate.error)
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = variance**2 / estimate.freedom
        for error, freedom in parts:
            variance = variance + error**2
            weight = weight + np.where(error > 0, error**4 / freedom, 0.0)
        freedom = np.where(weight > 0, variance**2 / weight, estimate.freedom)
        error = np.sqrt(variance)
        # The further errors are taken as symmetric.
        skewness = np.where(error > 0, estimate.skewness * (estimate.error / error) ** 3, 0.0)
    return StratifiedMeans(estimate.mean, error, freedom, skewness)
