"""All pairs of systems at once: p-values and intervals from the largest t statistic of a pair.

Under the null hypothesis the differences of all systems in a query could as well have the other
sign. Each draw of one sign per query gives a largest \\|t\\| over all pairs; a pair's p-value is
the share of draws whose largest \\|t\\| is at least the pair's own. All pairs are counted, so the
p-values account for the selection of the best system by the same queries.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise.kernels.max_t import SMALLEST_ERROR, largest_pair_t
from rankwise.metrics.statistics.stratified import (
    StratifiedMeans,
    stratified_means,
    stratum_codes,
    t_statistics,
)
from rankwise.runtime.threads import available_threads, thread_map
from rankwise.typing import ArrayLike, Float64Array

# A pair's t and the same t among the draws differ by rounding.
_TIE = 1e-9
# Work, in values added up, below which threads do not pay.
_SMALL = 1 << 22


class MaxT(NamedTuple):
    """Outcome of :func:`max_t`.

    Attributes
    ----------
    p_values : ndarray of shape (n_systems, n_systems)
        Adjusted for all pairs; NaN on the diagonal and for pairs that cannot be tested.
    critical : float
        \\|t\\| above which a pair's p-value is below ``1 - level``. The differences plus or minus
        ``critical`` standard errors are joint intervals for all pairs.
    """

    p_values: Float64Array
    critical: float


def pair_differences(values: Float64Array, strata: ArrayLike | None = None) -> StratifiedMeans:
    """Means of the paired differences of all systems, arrays of shape (n_systems, n_systems).

    Entry (i, j) is system i minus system j, on the queries that count for both.
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
    return StratifiedMeans(
        *(np.concatenate(part).reshape(k, k) for part in zip(*parts, strict=True))
    )


def max_t(
    values: Float64Array,
    pairs: StratifiedMeans,
    *,
    strata: ArrayLike | None = None,
    reference: int | None = None,
    level: float = 0.95,
    n_resamples: int = 9999,
    random_state: int | np.random.Generator | None = 0,
) -> MaxT:
    """Sign-flip test of all pairs of systems, or of one with all others, single-step.

    Parameters
    ----------
    values : ndarray of shape (n_queries, n_systems), float64
        NaN: the query does not count for the system's pairs.
    pairs : StratifiedMeans
        :func:`pair_differences` of the same values and strata.
    strata : array-like of shape (n_queries,), optional
        Fold of each query.
    reference : int, optional
        Only the pairs of this system are tested and counted: the largest \\|t\\| is that of fewer
        pairs, which gives more power. None: all pairs.
    level : float in (0, 1)
    n_resamples : int >= 1
        Draws of the signs; a p-value is (1 + extreme draws) / (1 + n_resamples).
    random_state : int, Generator or None

    Returns
    -------
    MaxT
        The same for any number of threads.

    Notes
    -----
    All systems of a query share a sign, so their spreads and correlations may differ. (To permute
    values among systems would ask for more than equal means: that the systems be exchangeable.)
    The chance of any p-value of at most alpha among the pairs with equal means is at most alpha
    when the differences of those pairs, jointly, are distributed symmetrically about 0, whatever
    the other systems are. Without symmetry this holds as the number of queries grows;
    ``python -m benchmarks.error_rates`` measures skewed values too. The intervals invert the test.
    They hold jointly for differences that are small beside the spread over queries, and too
    seldom when the means of many systems lie several spreads apart.

    O(n_resamples · n_systems · (n_queries + n_systems · n_strata)), and
    O(n_resamples · n_systems²) more for every query with a missing value.

    .. [1] Westfall & Young, "Resampling-Based Multiple Testing", 1993.
    .. [2] Carterette, "Multiple testing in statistical analysis of systems-based information
       retrieval experiments", ACM TOIS 30(1):4, 2012.
    .. [3] Romano & Wolf, "Exact and approximate stepdown methods for multiple hypothesis testing",
       JASA 100(469), 2005.
    """
    squared_t = np.minimum(t_statistics(pairs) ** 2, 1.0 / SMALLEST_ERROR)
    untested = np.eye(len(squared_t), dtype=bool)
    if reference is not None:
        untested |= ~_pairs_of(reference, len(squared_t))
    squared_t[untested] = math.nan
    if np.isnan(squared_t).all():
        return MaxT(squared_t, math.nan)
    maxima = np.sort(_flipped_maxima(values, strata, untested, n_resamples, random_state))
    n_below = np.searchsorted(maxima, squared_t * (1.0 - _TIE))
    p_values = (1.0 + n_resamples - n_below) / (1.0 + n_resamples)
    # p < 1 - level as soon as fewer than this many draws reach the pair's t.
    allowed = math.ceil(round((1.0 - level) * (1 + n_resamples), 6)) - 1
    critical = math.sqrt(maxima[-allowed]) if allowed > 0 else math.inf
    return MaxT(np.where(np.isnan(squared_t), math.nan, p_values), critical)


def _pairs_of(reference: int, n_systems: int) -> NDArray[np.bool_]:
    """Which entries of a table of pairs are those of one system."""
    is_reference = np.arange(n_systems) == reference
    return is_reference[:, None] ^ is_reference


def _flipped_maxima(
    values: Float64Array,
    strata: ArrayLike | None,
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
    sizes = np.array([there[a:b].T @ there[a:b] for a, b in pairwise(starts)])
    squares = np.array(
        [
            np.sum((ordered[:, [i]] - ordered) ** 2, axis=0, where=counted[:, [i]] & counted)
            for i in range(values.shape[1])
        ]
    )
    n_strata, n_values = (sizes > 0).sum(axis=0), sizes.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse_sizes = np.where(sizes > 0, 1.0 / sizes, 0.0).sum(axis=0)
        scale = inverse_sizes / n_strata**2 / (n_values - n_strata)
    scale[(n_values <= n_strata) | untested] = math.nan
    maxima = np.empty(n_resamples)
    work = n_resamples * values.shape[1] * (len(values) + values.shape[1] * len(sizes))
    n_chunks = 1 if work < _SMALL else 8 * available_threads()
    edges = np.linspace(0, n_resamples, n_chunks + 1).astype(np.int64)

    def fill(chunk: tuple[int, int]) -> None:
        part = slice(*chunk)
        largest_pair_t(ordered, counted, starts, squares, sizes, scale, seeds[part], maxima[part])

    thread_map(fill, list(pairwise(edges.tolist())))
    return maxima
