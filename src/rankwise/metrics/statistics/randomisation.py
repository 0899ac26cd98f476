"""Paired randomisation test: under the null hypothesis, the systems of a pair are exchangeable.

The statistic is the sum of the differences; its null distribution is over all flips of their signs
(Fisher 1935). For up to 32 non-zero differences, the p-value is exact: the sums of each half of
the differences are enumerated, and pairs of half-sums are counted by binary search. That takes
2 · 2^16 sums instead of 2^32. For more differences, flips are drawn, shared by all systems.
"""

from __future__ import annotations

import math

import numpy as np

from rankwise.typing import Float64Array

EXACT_UP_TO = 32
# Sums of the same differences in another order count as ties.
TIE = 1e-12
# Number of flipped values per block: small enough for the cache and one BLAS thread.
CHUNK = 1 << 16


def sign_flip_p_values(
    differences: Float64Array,
    *,
    alternative: str = "two-sided",
    n_resamples: int = 9999,
    random_state: int | np.random.Generator | None = 0,
    mid_p: bool = False,
) -> Float64Array:
    """p-values of the hypothesis that the differences in a column are symmetric about 0.

    Parameters
    ----------
    differences : ndarray of shape (n_queries, n_systems), float64
        Differences per query and system; NaN if the pair does not count.
    alternative : {"two-sided", "greater", "less"}
    n_resamples : int >= 1
        Number of flips drawn if a column has more than 32 non-zero differences; its p-value is then
        (1 + extreme draws) / (1 + n_resamples).
    random_state : int, Generator or None
        Seed or generator for the flips.
    mid_p : bool
        Whether flips that are as extreme as the differences count half (Lancaster 1961). With few
        distinct differences, such as -1 and 1, the test then errs about as often as its level says
        instead of less often, but may err slightly more often.

    Returns
    -------
    ndarray of shape (n_systems,), float64
        p-values, whatever the order of the queries; 1 if all differences are 0, NaN if a column
        holds none. The value of a column does not depend on the other columns.

    Notes
    -----
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
    random_state: int | np.random.Generator | None,
    mid_p: bool,
) -> Float64Array:
    rng = np.random.default_rng(random_state)
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
