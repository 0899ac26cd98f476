"""Systems with several runs, such as seeds: the part of their errors that all queries share.

A run of a trained system is better or worse on all queries at once. The spread over queries does
not show that, however many queries there are; the spread of the means of the runs does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from rankwise.metrics.statistics.stratified import StratifiedMeans, stratified_means
from rankwise.typing import ArrayLike, Float64Array


class RunErrors(NamedTuple):
    """Errors of the means of systems due to their runs.

    Attributes
    ----------
    error : ndarray of shape (n_systems,)
        Standard error of a system's mean over its runs; 0 for a system with one run.
    freedom : ndarray of shape (n_systems,)
        Its degrees of freedom: runs minus 1.
    """

    error: Float64Array
    freedom: Float64Array


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
