r"""All pairs of systems: joint tests, ranks that they leave open, and average ranks.

Joint tests are based on the largest t statistic of a pair. Under the null hypothesis, the
differences of all systems in a query could equally have the opposite sign. Each draw of one sign
per query yields a largest \|t\| over all pairs. The p-value of a pair is the share of draws whose
largest \|t\| is at least the pair's own. All pairs enter the maximum, so the p-values account for
the selection of the best system by the same queries.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from string import ascii_letters
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.stats import chi2, f, rankdata, studentized_range

from rankwise.kernels.random_draws import SMALLEST_ERROR, STEP, largest_pair_t
from rankwise.metrics.statistics.stratified import (
    RunErrors,
    StratifiedMeans,
    add_errors,
    check_level,
    correct_t,
    error_scales,
    stack_columns,
    stratified_means,
    stratum_codes,
)
from rankwise.row_order import scramble
from rankwise.runtime.constraints import make_generator
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.jit import are_few
from rankwise.runtime.messages import join_lines
from rankwise.runtime.result import Result
from rankwise.runtime.threads import available_threads, thread_map
from rankwise.typing import ArrayLike, Float64Array, Int64Array, Seed

# The t of a pair and the same t among the draws may differ by rounding.
_TIE = 1e-9
# Number of summed values below which threads do not pay off, and number that NumPy sums in the time
# of a step of plain Python.
_SMALL, _PER_STEP = 1 << 22, 1000


class MaxT(NamedTuple):
    """Outcome of :func:`max_t`."""

    # Adjusted for all pairs, (n_systems, n_systems); NaN on the diagonal and for pairs that cannot
    # be tested
    p_values: Float64Array
    # Value of |t| above which the p-value of a pair is below 1 - level. The differences plus or
    # minus ``critical`` standard errors (more on the side of a long tail, see correct_ends) are
    # joint intervals for all pairs.
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
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    random_state: Seed = 0,
) -> MaxT:
    """Single-step sign-flip test of all pairs of systems, or of ``reference`` with all others.

    ``pairs`` is the result of :func:`pair_differences` for the same values (n_queries, n_systems),
    strata and runs. Each draw of signs also shifts every mean by a Student's t of the degrees of
    freedom of its runs times their error. With ``reference``, the largest \\|t\\| is over fewer
    pairs, which gives more power. A p-value is (1 + extreme draws) / (1 + n_resamples). The outcome
    is identical for any number of threads.

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
        is_reference = np.arange(len(squared_t)) == reference
        untested |= is_reference[:, None] == is_reference
    squared_t[untested] = math.nan
    if np.isnan(squared_t).all():
        return MaxT(squared_t, math.nan)
    maxima = np.sort(_flipped_maxima(values, strata, runs, untested, n_resamples, random_state))
    n_below = np.searchsorted(maxima, squared_t * (1.0 - _TIE))
    p_values = (1.0 + n_resamples - n_below) / (1.0 + n_resamples)
    # p < 1 - level as soon as fewer than this many draws reach the pair's t.
    allowed = math.ceil(round((1.0 - confidence_level) * (1 + n_resamples), 6)) - 1
    # Signs that make all differences equal leave no spread, and the kernel a limit in its stead.
    largest = maxima[-allowed] if allowed > 0 else math.inf
    critical = math.inf if largest > 0.5 / SMALLEST_ERROR else math.sqrt(largest)
    return MaxT(np.where(np.isnan(squared_t), math.nan, p_values), critical)


def _flipped_maxima(
    values: Float64Array,
    strata: ArrayLike | None,
    runs: RunErrors | None,
    untested: NDArray[np.bool_],
    n_resamples: int,
    random_state: Seed,
) -> Float64Array:
    """Largest squared t of a tested pair for every draw of signs."""
    rng = make_generator(random_state)
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
    work = n_resamples * values.shape[1] * (len(values) + values.shape[1] * len(sizes))
    n_partial = int((~counted).any(axis=1).sum())
    few = work + n_resamples * n_partial * values.shape[1] ** 2
    if are_few(largest_pair_t, few // _PER_STEP):
        return np.concatenate([
            _maxima_of_few(ordered, counted, spans, base, ratio, share, shifts[i : i + 500],
                           variances, seeds[i : i + 500])
            for i in range(0, n_resamples, 500)
        ])  # fmt: skip
    maxima = np.empty(n_resamples)
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


def _maxima_of_few(
    values: Float64Array,
    counted: NDArray[np.bool_],
    spans: Sequence[tuple[int, int]],
    base: Float64Array,
    ratio: Float64Array,
    share: Float64Array,
    shifts: Float64Array,
    variances: Float64Array,
    seeds: NDArray[np.uint64],
) -> Float64Array:
    """:func:`largest_pair_t` in NumPy, all draws at a time.

    The same sums in the same order, so the results are bit-identical.
    """
    n_queries, k = values.shape
    sums = np.zeros((len(spans), k, len(seeds)))
    # Differences on queries that do not count for every system
    partial = np.zeros((len(spans), k, k, 1 if counted.all() else len(seeds)))
    words = seeds + STEP * np.arange(1, n_queries // 64 + 2, dtype=np.uint64)[:, None]
    words = scramble(words)
    for stratum, span in enumerate(spans):
        for q in range(*span):
            is_plus = words[q // 64] >> np.uint64(q % 64) & np.uint64(1) == 1
            sign, there = np.where(is_plus, 1.0, -1.0), np.flatnonzero(counted[q])
            if len(there) == k:
                sums[stratum] += sign * values[q][:, None]
                continue
            differences = values[q][there, None] - values[q][there]
            partial[stratum, there[:, None], there] += sign * differences[:, :, None]
    largest = np.zeros(len(seeds))
    for i, j in zip(*np.nonzero(np.triu(~np.isnan(base), 1)), strict=True):
        error, mean = np.full(len(seeds), base[i, j]), np.zeros(len(seeds))
        for stratum in range(len(spans)):
            total = sums[stratum, i] - sums[stratum, j] + partial[stratum, i, j]
            error -= total * total * ratio[stratum, i, j]
            mean += total * share[stratum, i, j]
        mean += shifts[:, i] - shifts[:, j]
        error += variances[i] + variances[j]
        error = np.maximum(error, SMALLEST_ERROR * mean * mean)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(error > 0.0, mean * mean / error, 0.0)
        largest = np.maximum(largest, t)
    return largest


class _RankEnds(NamedTuple):
    low: Int64Array
    high: Int64Array


class RankIntervals(Result, _RankEnds):
    """Lowest and highest rank of every system, both from 1 (the best) to the number of systems."""


def rank_intervals(is_better: NDArray[np.bool_]) -> RankIntervals:
    """Ranks of systems between those that are certainly better and those that are certainly worse.

    Parameters
    ----------
    is_better : ndarray of shape (n_systems, n_systems), bool
        Entry (i, j): system i is significantly better than system j, by tests that are corrected
        for all pairs.

    Returns
    -------
    RankIntervals
        From 1 + the number of systems that are significantly better to the number of systems less
        those that are significantly worse.

    Raises
    ------
    ValueError
        If the table is not square, or names two systems better than each other.

    Notes
    -----
    If the chance of any false claim among the pairs is at most alpha, all intervals together
    contain the true ranks with probability 1 - alpha [1]_, [2]_. A system that shares its true
    value with others has all ranks of this group, and its interval contains them all.
    O(n_systems²).

    .. [1] Al Mohamad, Goeman & van Zwet, "Simultaneous confidence intervals for ranks with
       application to ranking institutions", Biometrics 78(1):238-247, 2022.
    .. [2] Klein, Wright & Wieczorek, "A joint confidence region for an overall ranking of
       populations", J. R. Statist. Soc. C 69(3):589-606, 2020.

    Examples
    --------
    The first system is better than the third; nothing else is known.

    >>> low, high = rank_intervals(np.array([[0, 0, 1], [0, 0, 0], [0, 0, 0]], dtype=bool))
    >>> low.tolist(), high.tolist()
    ([1, 1, 2], [2, 3, 3])
    """
    is_better = np.asarray(is_better, dtype=bool)
    if is_better.ndim != 2 or len(set(is_better.shape)) > 1 or (is_better & is_better.T).any():
        raise ValueError(
            "is_better must be a square table in which no two systems are better than each other, "
            f"got shape {is_better.shape}. Set entry (i, j) if system i is better than system j."
        )
    return RankIntervals(1 + is_better.sum(axis=0), len(is_better) - is_better.sum(axis=1))


def order_by_tests(is_better: NDArray[np.bool_]) -> tuple[Int64Array, NDArray[np.bool_]]:
    """Order of systems that no test contradicts, and the tests that do not contradict each other.

    Systems are given in the order of their means, which stays where it can. Tests of pairs on
    queries of their own may go round in a circle, of which none then counts. O(n_systems²).
    """
    part = connected_components(is_better, directed=True, connection="strong")[1]
    is_better = is_better & (part[:, None] != part)
    n_better, order = is_better.sum(axis=0), np.arange(len(is_better))
    if np.tril(is_better).any():
        for position in range(len(order)):
            system = int(np.flatnonzero(n_better == 0)[0])
            order[position] = system
            n_better = n_better - is_better[system]
            n_better[system] = len(order)  # taken: out of reach of all that follow
    return order, is_better


def compact_letters(are_separable: NDArray[np.bool_]) -> list[str]:
    """Letters of which two systems share one if and only if they are not separable.

    Parameters
    ----------
    are_separable : ndarray of shape (n_systems, n_systems), bool
        Symmetric table of the pairs that differ significantly; systems in the order of their means.

    Returns
    -------
    list of str
        Letters of every system, "a" for the group of the first; beyond 52 groups, their numbers
        with points between.

    Notes
    -----
    Groups are cliques of the graph of pairs that are not separable [1]_. Each is grown from a pair
    that no group holds so far by the following systems in turn, so there are at most as many as
    pairs, and as few as possible if the groups are runs of neighbouring systems.
    O(n_groups · n_systems²).

    .. [1] Piepho, "An algorithm for a letter-based representation of all-pairwise comparisons",
       J. Comput. Graph. Statist. 13(2):456-466, 2004.

    Examples
    --------
    >>> compact_letters(np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=bool))
    ['a', 'ab', 'b']
    """
    close = ~np.asarray(are_separable, dtype=bool)
    np.fill_diagonal(close, True)
    groups: list[list[int]] = []
    is_open = close.copy()
    for first in range(len(close)):
        while is_open[first].any():
            group = [first]
            fits = close[first].copy()
            # Pairs that have no group come first; the others then fill the group up.
            for candidates in (is_open[first].copy(), fits.copy()):
                for system in np.flatnonzero(candidates).tolist():
                    if fits[system] and system not in group:
                        group.append(system)
                        fits &= close[system]
            is_open[np.ix_(group, group)] = False
            groups.append(sorted(group))
    names, between = list(ascii_letters), ""
    if len(groups) > len(ascii_letters):
        names, between = [str(number + 1) for number in range(len(groups))], "."
    members: list[list[str]] = [[] for _ in close]
    for name, group in zip(names, groups, strict=False):
        for system in group:
            members[system].append(name)
    return [between.join(letters) for letters in members]


@dataclass(frozen=True, eq=False)
class AverageRanks(Result):
    """Systems ranked in every block.

    Attributes
    ----------
    names : list of str
        Systems, best average rank first.
    ranks : ndarray of shape (n_systems,)
        Average rank of each system; 1 is best, and tied systems share the mean of their ranks.
    n_blocks : int
        Number of blocks in which every system has a value.
    chi2, chi2_p : float
        Friedman's statistic and its p-value, from the chi-squared distribution.
    f, f_p : float
        Statistic of Iman and Davenport and its p-value, from the F distribution. The statistic is
        infinite if all blocks rank the systems alike.
    critical_difference : float
        Two systems differ by Nemenyi's test if their average ranks differ by at least this.
    confidence_level : float
        Joint level of ``critical_difference`` over all pairs.
    """

    names: list[str]
    ranks: Float64Array
    n_blocks: int
    chi2: float
    chi2_p: float
    f: float
    f_p: float
    critical_difference: float
    confidence_level: float

    def cliques(self) -> list[list[str]]:
        """Largest groups of systems that Nemenyi's test does not separate, best first.

        Only groups of at least two systems are listed.
        """
        found: list[tuple[int, int]] = []
        for first, rank in enumerate(self.ranks):
            last = int(np.searchsorted(self.ranks, rank + self.critical_difference)) - 1
            if last > first and (not found or last > found[-1][1]):
                found.append((first, last))
        return [self.names[first : last + 1] for first, last in found]

    def __str__(self) -> str:
        width = max(map(len, self.names))
        lines = [f"{n:<{width}}  {r:.3f}" for n, r in zip(self.names, self.ranks, strict=True)]
        if self.n_blocks == 2:
            lines.append(
                "Two blocks: the p-values are approximate; with tied values F's is below .05 in "
                ".11 of samples without a difference."
            )
        return join_lines(
            [
                *lines,
                f"Friedman chi2 {self.chi2:.2f}, p {self.chi2_p:.3g}; "
                f"F {self.f:.2f}, p {self.f_p:.3g}; {self.n_blocks} blocks",
                f"critical difference {self.critical_difference:.3f} at level "
                f"{self.confidence_level:g}",
            ]
        )


@names_its_class
def average_ranks(
    values: Mapping[str, ArrayLike],
    *,
    greater_is_better: bool = True,
    confidence_level: float = 0.95,
    tie_correction: bool = True,
) -> AverageRanks:
    """Rank systems in every block and test whether their average ranks differ.

    Parameters
    ----------
    values : mapping of str to array-like of shape (n_blocks,)
        Value of each system in each block, blocks in the same order; NaN: no value. A block is
        usually a data set. If it is a query, the tests concern further queries of the same data
        set instead of further data sets.
    greater_is_better : bool, default=True
    confidence_level : float in (0, 1), default=0.95
        Joint level of the critical difference.
    tie_correction : bool, default=True
        Divide Friedman's statistic by ``1 - sum(t**3 - t) / (N (k**3 - k))`` over groups of t tied
        values, as :func:`scipy.stats.friedmanchisquare` does. False: the formula of Demšar, which
        has less power if values are tied.

    Returns
    -------
    AverageRanks

    Raises
    ------
    ValueError
        If there are fewer than two systems or two complete blocks, if lengths differ, or if the
        level is outside (0, 1).

    Notes
    -----
    With k systems, N blocks and average ranks R, Friedman's statistic [1]_ is
    ``12 N / (k (k + 1)) * (sum(R**2) - k (k + 1)**2 / 4)``, that of Iman and Davenport [2]_
    ``(N - 1) chi2 / (N (k - 1) - chi2)``. Nemenyi's critical difference [3]_ is
    ``q sqrt(k (k + 1) / (6 N))``, with q the quantile of the studentized range for k groups and
    infinite degrees of freedom, divided by sqrt(2). Demšar [4]_ describes all of them.
    O(N k log k).

    References
    ----------
    .. [1] Friedman, "The use of ranks to avoid the assumption of normality implicit in the analysis
       of variance", JASA 32 (1937).
    .. [2] Iman & Davenport, "Approximations of the critical region of the Friedman statistic",
       Communications in Statistics A9 (1980).
    .. [3] Nemenyi, "Distribution-free multiple comparisons", PhD thesis, Princeton (1963).
    .. [4] Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7 (2006).

    Examples
    --------
    >>> found = average_ranks(
    ...     {"a": [0.1, 0.2, 0.4, 0.3], "b": [0.3, 0.5, 0.5, 0.4], "c": [0.2, 0.4, 0.3, 0.1]}
    ... )
    >>> found.names, found.ranks.tolist(), round(found.critical_difference, 2)
    (['b', 'a', 'c'], [1.0, 2.5, 2.5], 1.66)
    >>> found.cliques()
    [['b', 'a', 'c']]
    """
    check_level(confidence_level)
    if len(values) < 2:
        raise ValueError(f"values must hold at least two systems, got {len(values)}.")
    table = stack_columns("values", values, "block")
    table = table[~np.isnan(table).any(axis=1)]
    n, k = table.shape
    if n < 2:
        raise ValueError(
            f"values must hold at least two blocks in which every system has a value, got {n}."
        )
    by_block = rankdata(-table if greater_is_better else table, axis=1)
    means = by_block.mean(axis=0)
    order = np.argsort(means, kind="stable")
    statistic = 12 * n / (k * (k + 1)) * (np.sum(means**2) - k * (k + 1) ** 2 / 4)
    if tie_correction:
        blocks = (k + 1) * np.arange(n)[:, None]  # set values of blocks apart
        tied = np.unique(by_block + blocks, return_counts=True)[1]
        share = 1 - float(np.sum(tied.astype(np.float64) ** 3 - tied)) / (n * (k**3 - k))
        statistic = statistic / share if share > 0 else 0.0  # 0: all values of all blocks tied
    statistic = max(float(statistic), 0.0)
    rest = n * (k - 1) - statistic
    ratio = (n - 1) * statistic / rest if rest > 1e-9 * n * k else np.inf
    q = studentized_range.ppf(confidence_level, k, np.inf) / np.sqrt(2)
    names = list(values)
    return AverageRanks(
        names=[names[i] for i in order.tolist()],
        ranks=means[order],
        n_blocks=n,
        chi2=statistic,
        chi2_p=float(chi2.sf(statistic, k - 1)),
        f=float(ratio),
        f_p=float(f.sf(ratio, k - 1, (k - 1) * (n - 1))),
        critical_difference=float(q * np.sqrt(k * (k + 1) / (6 * n))),
        confidence_level=confidence_level,
    )
