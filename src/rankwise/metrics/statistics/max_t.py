"""Joint tests of all pairs of systems, based on the largest t statistic of a pair.

Under the null hypothesis, the differences of all systems in a query could equally have the
opposite sign. Each draw of one sign per query yields a largest \\|t\\| over all pairs. The p-value
of a pair is the share of draws whose largest \\|t\\| is at least the pair's own. All pairs enter
the maximum, so the p-values account for the selection of the best system by the same queries.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise.kernels.max_t import SMALLEST_ERROR, largest_pair_t
from rankwise.metrics.statistics.runs import RunErrors, add_errors
from rankwise.metrics.statistics.stratified import (
    StratifiedMeans,
    correct_t,
    error_scales,
    stratified_means,
    stratum_codes,
)
from rankwise.runtime.threads import available_threads, thread_map
from rankwise.typing import ArrayLike, Float64Array

# The t of a pair and the same t among the draws may differ by rounding.
_TIE = 1e-9
# Number of summed values below which threads do not pay off.
_SMALL = 1 << 22


class MaxT(NamedTuple):
    """Outcome of :func:`max_t`.

    Attributes
    ----------
    p_values : ndarray of shape (n_systems, n_systems)
        p-values adjusted for all pairs; NaN on the diagonal and for pairs that cannot be tested.
    critical : float
        Value of \\|t\\| above which the p-value of a pair is below ``1 - level``. The differences
        plus or minus ``critical`` standard errors (more on the side of a long tail, see
        :func:`correct_ends`) are joint intervals for all pairs.
    """

    p_values: Float64Array
    critical: float


def pair_differences(
    values: Float64Array, strata: ArrayLike | None = None, runs: RunErrors | None = None
) -> StratifiedMeans:
    """Means of the paired differences of all systems, arrays of shape (n_systems, n_systems).

    Entry (i, j) is system i minus system j, on the queries that count for both. The errors of the
    two systems due to their ``runs`` are independent of each other.
    """
    k = values.shape[1]
    per_call = max(1, _SMALL // max(1, values.size))
    parts = [
        stratified_means(
            (values[:, i : i + per_call, None] - values[:, None, :]).reshape(len(values), -1),
            strata,
        )
        for i in range(0, k, per_call)
    ]
    pairs = StratifiedMeans(
        *(np.concatenate(part).reshape(k, k) for part in zip(*parts, strict=True))
    )
    if runs is None:
        return pairs
    both = np.full((k, k), 1.0) - np.eye(k)
    first = (runs.error[:, None] * both, runs.freedom[:, None])
    return add_errors(pairs, first, (runs.error[None] * both, runs.freedom[None]))


def max_t(
    values: Float64Array,
    pairs: StratifiedMeans,
    *,
    strata: ArrayLike | None = None,
    runs: RunErrors | None = None,
    reference: int | None = None,
    level: float = 0.95,
    n_resamples: int = 9999,
    random_state: int | np.random.Generator | None = 0,
) -> MaxT:
    """Single-step sign-flip test of all pairs of systems, or of one system with all others.

    Parameters
    ----------
    values : ndarray of shape (n_queries, n_systems), float64
        Values per query; NaN if the query does not count for the pairs of the system.
    pairs : StratifiedMeans
        Result of :func:`pair_differences` for the same values, strata and runs.
    strata : array-like of shape (n_queries,), optional
        Fold of each query.
    runs : RunErrors, optional
        Errors of the systems' means due to their runs. Each draw also shifts every mean by a
        Student's t of its degrees of freedom times this error.
    reference : int, optional
        System whose pairs alone are tested. The largest \\|t\\| is then over fewer pairs, which
        gives more power. None: all pairs.
    level : float in (0, 1)
        Joint level of the intervals.
    n_resamples : int >= 1
        Number of draws of the signs; a p-value is (1 + extreme draws) / (1 + n_resamples).
    random_state : int, Generator or None
        Seed or generator for the draws.

    Returns
    -------
    MaxT
        Identical for any number of threads.

    Notes
    -----
    All systems of a query share a sign, so their spreads and correlations may differ. (Permuting
    values among systems would require more than equal means: exchangeable systems.) Consider the
    pairs with equal means, and assume that their differences are jointly symmetric about 0. Then
    the probability that any of their p-values is at most alpha is at most alpha, regardless of the
    other systems. Without symmetry, this holds as the number of queries grows;
    ``python -m benchmarks.error_rates`` also measures skewed values. The intervals invert the test.
    They hold jointly for differences that are small compared with the spread over queries. Their
    coverage is too low if the means of many systems lie several spreads apart.

    O(n_resamples · n_systems · (n_queries + n_systems · n_strata)), plus
    O(n_resamples · n_systems²) for every query with a missing value.

    .. [1] Westfall & Young, "Resampling-Based Multiple Testing", 1993.
    .. [2] Carterette, "Multiple testing in statistical analysis of systems-based information
       retrieval experiments", ACM TOIS 30(1):4, 2012.
    .. [3] Romano & Wolf, "Exact and approximate stepdown methods for multiple hypothesis testing",
       JASA 100(469), 2005.
    """
    squared_t = np.minimum(correct_t(pairs) ** 2, 1.0 / SMALLEST_ERROR)
    untested = np.eye(len(squared_t), dtype=bool)
    if reference is not None:
        untested |= ~_pairs_of(reference, len(squared_t))
    squared_t[untested] = math.nan
    if np.isnan(squared_t).all():
        return MaxT(squared_t, math.nan)
    maxima = np.sort(_flipped_maxima(values, strata, runs, untested, n_resamples, random_state))
    n_below = np.searchsorted(maxima, squared_t * (1.0 - _TIE))
    p_values = (1.0 + n_resamples - n_below) / (1.0 + n_resamples)
    # p < 1 - level as soon as fewer than this many draws reach the pair's t.
    allowed = math.ceil(round((1.0 - level) * (1 + n_resamples), 6)) - 1
    # Signs that make all differences equal leave no spread, and the kernel a limit in its stead.
    largest = maxima[-allowed] if allowed > 0 else math.inf
    critical = math.inf if largest > 0.5 / SMALLEST_ERROR else math.sqrt(largest)
    return MaxT(np.where(np.isnan(squared_t), math.nan, p_values), critical)


def _pairs_of(reference: int, n_systems: int) -> NDArray[np.bool_]:
    """Mask of the pairs of one system in a table of pairs."""
    is_reference = np.arange(n_systems) == reference
    return is_reference[:, None] ^ is_reference


def _flipped_maxima(
    values: Float64Array,
    strata: ArrayLike | None,
    runs: RunErrors | None,
    untested: NDArray[np.bool_],
    n_resamples: int,
    random_state: int | np.random.Generator | None,
) -> Float64Array:
    """Largest squared t of a tested pair for every draw of signs."""
    rng = np.random.default_rng(random_state)
    seeds = rng.integers(0, 1 << 64, n_resamples, dtype=np.uint64)
    codes = stratum_codes(strata, len(values))
    order = np.argsort(codes, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(codes))])
    ordered = values[order]
    counted = ~np.isnan(ordered)
    ordered = np.ascontiguousarray(np.where(counted, ordered, 0.0))
    there = counted.astype(np.float64)
    spans = list(pairwise(starts.tolist()))
    sizes = np.array([there[a:b].T @ there[a:b] for a, b in spans])
    scale = error_scales(sizes)
    base = np.zeros(sizes.shape[1:])
    for (a, b), of_stratum in zip(spans, scale, strict=True):
        part, both = ordered[a:b], counted[a:b]
        for i in range(values.shape[1]):
            squares = (part[:, [i]] - part) ** 2
            base[i] += of_stratum[i] * squares.sum(axis=0, where=both[:, [i]] & both)
    base[(sizes.sum(axis=0) <= (sizes > 0).sum(axis=0)) | untested] = math.nan
    inverse = (sizes > 0) / np.maximum(sizes, 1.0)
    share, ratio = inverse / np.maximum((sizes > 0).sum(axis=0), 1), scale * inverse
    shifts = np.zeros((n_resamples, values.shape[1]))
    variances = np.zeros(values.shape[1])
    if runs is not None:
        several = runs.error > 0
        variances[several] = runs.error[several] ** 2
        t = rng.standard_t(runs.freedom[several], (n_resamples, int(several.sum())))
        shifts[:, several] = t * runs.error[several]
    maxima = np.empty(n_resamples)
    work = n_resamples * values.shape[1] * (len(values) + values.shape[1] * len(sizes))
    n_chunks = 1 if work < _SMALL else 8 * available_threads()
    edges = np.linspace(0, n_resamples, n_chunks + 1).astype(np.int64)

    def fill(chunk: tuple[int, int]) -> None:
        part = slice(*chunk)
        largest_pair_t(
            ordered, counted, starts, base, ratio, share, shifts[part], variances, seeds[part],
            maxima[part],
        )  # fmt: skip

    thread_map(fill, list(pairwise(edges.tolist())))
    return maxima
