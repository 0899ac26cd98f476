"""Table of systems, each tested against the best one or a baseline, with corrected p-values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankwise.metrics.statistics.all_pairs import (
    compact_letters,
    max_t,
    order_by_tests,
    pair_differences,
    rank_intervals,
)
from rankwise.metrics.statistics.intervals import bootstrap_intervals, widen_near_bounds
from rankwise.metrics.statistics.paired import (
    METHODS,
    TestMethod,
    benjamini_hochberg,
    bonferroni,
    cohens_d,
    holm,
    paired_test,
    sign_flip_p_values,
)
from rankwise.metrics.statistics.stratified import (
    RunErrors,
    StratifiedMeans,
    add_errors,
    adjust_means,
    check_columns,
    check_level,
    correct_ends,
    order_by_values,
    stack_columns,
    stratified_means,
    t_p_values,
    t_quantile,
)
from rankwise.runtime.constraints import draw_seed
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.messages import check_choice
from rankwise.runtime.result import Result, ResultList
from rankwise.typing import ArrayLike, Float64Array, Int64Array, Seed

_OF_P_VALUES = {
    "holm": holm,
    "benjamini_hochberg": benjamini_hochberg,
    "bonferroni": bonferroni,
}
CORRECTIONS = ("max_t", *_OF_P_VALUES)
Correction = Literal["auto", "max_t", "holm", "benjamini_hochberg", "bonferroni"]
INTERVALS = ("t", "bca", "percentile")


@dataclass(frozen=True)
class Comparison(Result):
    """One system of a table, tested against the best system.

    In a table of :func:`compare_to_baseline`, "best" means the baseline.

    Attributes
    ----------
    name : str
    mean, low, high : float
        Mean over queries (over folds, if there are any) and its interval.
    adjusted_mean : float
        ``mean`` if all systems have values on the same queries. Otherwise the mean that least
        squares of value = query + system expect over the queries of all, which orders the table.
    difference, difference_low, difference_high : float
        Mean difference to the best system on the queries that count for both, and its joint
        interval over all pairs of systems (all pairs with the baseline). The interval is that of
        the max-t test, or Bonferroni's t interval with other corrections. The ends are NaN in the
        best system's own row.
    p_value, p_corrected : float
        p-values of the test against the best system, uncorrected and corrected for all these
        pairs; NaN in the best system's own row.
    effect : float
        Cohen's d of the paired differences (system minus best).
    wins, ties, losses : int
        Numbers of queries on which the system is better than, equal to and worse than the best.
    skewness : float >= 0
        Largest skewness of the system's mean and of its mean differences to those it is tested
        with, beyond its standard error. Above 0.3, tests and intervals err more often than they
        say (``python -m benchmarks.interval_errors board``).
    rank_low, rank_high : int or None
        Joint interval of the rank over all pairs of systems: from 1 + the number of systems that
        are significantly better to the number of systems less those that are significantly worse.
        Systems whose tests contradict each other, each pair on queries of its own, are not ranked
        by them. None in a table of :func:`compare_to_baseline` and with the correction
        "benjamini_hochberg", which leave the chance of any false claim among the pairs open.
    letters : str
        Systems that share a letter are not separable; all others are. Empty like the interval.
    """

    _drawn = "mean"

    name: str
    mean: float
    adjusted_mean: float
    low: float
    high: float
    difference: float
    difference_low: float
    difference_high: float
    p_value: float
    p_corrected: float
    effect: float
    wins: int
    ties: int
    losses: int
    skewness: float
    rank_low: int | None = None
    rank_high: int | None = None
    letters: str = ""


@names_its_class
def compare_to_best(
    per_query: Mapping[str, ArrayLike],
    *,
    greater_is_better: bool = True,
    method: TestMethod = "t",
    correction: Correction = "auto",
    strata: ArrayLike | None = None,
    confidence_level: float = 0.95,
    interval: Literal["t", "bca", "percentile"] = "t",
    n_resamples: int = 9999,
    random_state: Seed = 0,
    run_errors: Mapping[str, tuple[float, float]] | None = None,
) -> ResultList[Comparison]:
    """Test each system against the best one; return a table of systems, best first.

    Parameters
    ----------
    per_query : mapping of str to array-like of shape (n_queries,)
        Values per query of each system, queries in the same order; NaN: does not count.
    greater_is_better : bool
        Whether larger values are better.
    method : {"t", "wilcoxon", "randomization"}
        Two-sided test of a pair of systems. "t" uses the differences within folds; the others are
        those of :func:`paired_test`, on the queries of all folds.
    correction : {"auto", "max_t", "holm", "benjamini_hochberg", "bonferroni"}
        Correction over all pairs of systems, which accounts for the selection of the best by the
        same queries. "max_t": sign-flip test of the largest t statistic of a pair (method "t"
        only); "holm", "bonferroni": any dependence; "benjamini_hochberg": the false discovery
        rate instead of the chance of any false rejection. "auto": "max_t" with method "t",
        "holm" with the others.
    strata : array-like of shape (n_queries,), optional
        Fold of each query; means are then means of fold means.
    confidence_level : float in (0, 1)
        Level of the intervals.
    interval : {"t", "bca", "percentile"}
        Interval of a mean: :func:`mean_intervals`, or :func:`bootstrap_interval` with this method.
    n_resamples : int >= 1
        Number of draws of signs and of bootstrap samples.
    random_state : int, RandomState, Generator or None, default=0
        Seed for the draws.
    run_errors : mapping of str to (float, float), optional
        Standard error of a system's mean due to its runs, and its degrees of freedom, see
        :func:`run_error` and :func:`pool_run_errors`; values per query are then means over runs.
        Needs method "t" and interval "t".

    Returns
    -------
    list of Comparison, with the methods of a result
        Ordered by the adjusted mean, unless a test on the queries of both contradicts it; systems
        without any value come last.

    Raises
    ------
    ValueError
        If the arrays differ in length, or a parameter is not one of its choices.

    Notes
    -----
    The interval of a difference excludes 0 if and only if the p-value of "max_t" is below
    ``1 - confidence_level``. With the other corrections, the interval is Bonferroni's; it
    contains 0 for every difference that the corrected t test does not reject.

    Examples
    --------
    >>> table = compare_to_best({"a": [0.1, 0.2, 0.4, 0.3], "b": [0.3, 0.5, 0.5, 0.4]})
    >>> [(row.name, round(row.difference, 3), row.wins, row.losses) for row in table]
    [('b', 0.0, 0, 0), ('a', -0.175, 0, 4)]
    """
    return _table(
        per_query, None, greater_is_better, method, correction, strata, confidence_level, interval,
        n_resamples, random_state, run_errors,
    )  # fmt: skip


@names_its_class
def compare_to_baseline(
    per_query: Mapping[str, ArrayLike],
    baseline: str,
    *,
    greater_is_better: bool = True,
    method: TestMethod = "t",
    correction: Correction = "auto",
    strata: ArrayLike | None = None,
    confidence_level: float = 0.95,
    interval: Literal["t", "bca", "percentile"] = "t",
    n_resamples: int = 9999,
    random_state: Seed = 0,
    run_errors: Mapping[str, tuple[float, float]] | None = None,
) -> ResultList[Comparison]:
    """Test each system against a baseline named beforehand; return a table, best first.

    Only the pairs with the baseline are tested and corrected for: with k systems, k - 1 pairs
    instead of k (k - 1) / 2. Smaller differences are detected than by :func:`compare_to_best`. The
    baseline must not have been chosen by the same queries.

    Parameters
    ----------
    per_query : mapping of str to array-like of shape (n_queries,)
        Values per query of each system, queries in the same order; NaN: does not count.
    baseline : str
        A key of ``per_query``, such as the system in production.
    greater_is_better, method, correction, strata, confidence_level, interval, n_resamples, \
random_state, run_errors
        As in :func:`compare_to_best`.

    Returns
    -------
    list of Comparison, with the methods of a result
        Ordered by the adjusted mean; "best" in its attributes means the baseline.

    Raises
    ------
    KeyError
        If the baseline is not one of the systems.
    ValueError
        As in :func:`compare_to_best`.

    Examples
    --------
    >>> scores = {"now": [0.1, 0.2, 0.4, 0.3], "new": [0.3, 0.5, 0.5, 0.4]}
    >>> table = compare_to_baseline(scores, "now")
    >>> [(row.name, round(row.difference, 3), row.wins, row.losses) for row in table]
    [('new', 0.175, 4, 0), ('now', 0.0, 0, 0)]
    """
    if baseline not in per_query:
        raise KeyError(f"baseline={baseline!r} is not one of the systems {list(per_query)}.")
    return _table(
        per_query, baseline, greater_is_better, method, correction, strata, confidence_level,
        interval, n_resamples, random_state, run_errors,
    )  # fmt: skip


def _table(
    per_query: Mapping[str, ArrayLike],
    baseline: str | None,
    greater_is_better: bool,
    method: str,
    correction: str,
    strata: ArrayLike | None,
    confidence_level: float,
    interval: Literal["t", "bca", "percentile"],
    n_resamples: int,
    random_state: Seed,
    run_errors: Mapping[str, tuple[float, float]] | None,
) -> ResultList[Comparison]:
    """Test every system against the baseline or, if None, against the best."""
    correction = check_correction(method, correction)
    check_choice("interval", interval, INTERVALS)
    if not per_query:
        return ResultList(Comparison)
    # Systems by name and queries by values: the given orders change no sum and no draw.
    by_name = {name: per_query[name] for name in sorted(per_query, key=str)}
    given = stack_columns("per_query", by_name)
    order = order_by_values(given, strata)
    given = check_columns(given[order])
    strata = None if strata is None else np.asarray(strata)[order]
    means = dict(zip(by_name, adjust_means(given, strata).tolist(), strict=True))
    sign = -1.0 if greater_is_better else 1.0
    names = sorted(means, key=lambda name: (math.isnan(means[name]), sign * means[name]))
    values = dict(zip(by_name, given.T, strict=True))
    columns = np.column_stack([values[name] for name in names])
    sampled = {"n_resamples": n_resamples, "random_state": draw_seed(random_state)}
    runs = _runs_of(names, run_errors, method, interval)
    estimate = stratified_means(columns, strata)
    if interval == "t":
        check_level(confidence_level)
        of_runs = estimate if runs is None else add_errors(estimate, (runs.error, runs.freedom))
        half = t_quantile(of_runs.freedom, confidence_level) * of_runs.error
        ends = np.column_stack([estimate.mean - half, estimate.mean + half])
        ends = widen_near_bounds(columns, ends, None, strata, confidence_level)
    else:
        ends = bootstrap_intervals(
            columns, strata=strata, confidence_level=confidence_level, method=interval, **sampled
        )
    pairs = pair_differences(columns, strata, runs)
    reference = None if baseline is None else names.index(baseline)
    if correction == "max_t":
        plain = t_p_values(pairs)
        adjusted, critical = max_t(
            columns,
            pairs,
            strata=strata,
            runs=runs,
            reference=reference,
            confidence_level=confidence_level,
            **sampled,
        )
    else:
        first, second = np.triu_indices(len(names), 1)
        if reference is not None:
            second = np.delete(np.arange(len(names)), reference)
            first = np.full(len(second), reference)
        p_values = _pair_p_values(columns, pairs, first, second, method, sampled)
        plain = np.full((len(names), len(names)), math.nan)
        plain[first, second] = plain[second, first] = p_values
        adjusted = np.full((len(names), len(names)), math.nan)
        adjusted[first, second] = adjusted[second, first] = _OF_P_VALUES[correction](p_values)
        critical = t_quantile(pairs.freedom, 1 - (1 - confidence_level) / max(1, len(first)))
    separable = adjusted < round(1 - confidence_level, 12)
    order, is_better = order_by_tests(separable & (-sign * pairs.mean > 0))
    to = int(order[0]) if reference is None else reference
    if reference is not None:
        order = np.arange(len(names))
    ranks: list[dict[str, Any]] = [{}] * len(names)
    if reference is None and correction != "benjamini_hochberg":
        ranks = _ranks(is_better, order, int(np.isfinite(estimate.mean).sum()))
    plain, corrected = plain[to], adjusted[to].copy()
    lower, upper = correct_ends(critical, pairs.skewness)
    with np.errstate(invalid="ignore"):  # endless times an error of 0: a system with itself
        low_end = pairs.mean[:, to] - (upper * pairs.error)[:, to]
        high_end = pairs.mean[:, to] - (lower * pairs.error)[:, to]
    differences = pairs.mean[:, to]
    plain[to] = corrected[to] = low_end[to] = high_end[to] = math.nan
    tested = pairs.skewness if reference is None else pairs.skewness[:, [to]]
    skewness = np.fmax(np.abs(tested).max(axis=1), np.abs(estimate.skewness))
    better = -sign * (columns - columns[:, [to]])
    compared = (
        Comparison(
            name=names[i],
            mean=float(estimate.mean[i]),
            adjusted_mean=means[names[i]],
            low=float(ends[i, 0]),
            high=float(ends[i, 1]),
            difference=float(differences[i]),
            difference_low=float(low_end[i]),
            difference_high=float(high_end[i]),
            p_value=float(plain[i]),
            p_corrected=float(corrected[i]),
            effect=cohens_d(columns[:, i], columns[:, to]),
            wins=int((better[:, i] > 0).sum()),
            ties=int((better[:, i] == 0).sum()),
            losses=int((better[:, i] < 0).sum()),
            skewness=float(skewness[i]),
            **ranks[i],
        )
        for i in order.tolist()
    )
    return ResultList(Comparison, compared)


def _runs_of(
    names: list[str],
    run_errors: Mapping[str, tuple[float, float]] | None,
    method: str,
    interval: str,
) -> RunErrors | None:
    """Errors due to runs in the order of the names; None without any."""
    if not run_errors or not any(error for error, _ in run_errors.values()):
        return None
    if method != "t" or interval != "t":
        raise ValueError(
            "several runs of a system need method='t' and interval='t', got "
            f"method={method!r}, interval={interval!r}. Use the t test, or average the runs."
        )
    found = [run_errors.get(name, (0.0, 0.0)) for name in names]
    return RunErrors(*(np.array(part, dtype=np.float64) for part in zip(*found, strict=True)))


def _ranks(is_better: NDArray[np.bool_], order: Int64Array, n_counted: int) -> list[dict[str, Any]]:
    """Fields of the rank intervals and letters; none for the last systems, without a mean."""
    low, high = rank_intervals(is_better[:n_counted, :n_counted])
    counted = order[order < n_counted]
    part = is_better[np.ix_(counted, counted)]
    letters = dict(zip(counted.tolist(), compact_letters(part | part.T), strict=True))
    return [
        {"rank_low": int(low[i]), "rank_high": int(high[i]), "letters": letters[i]}
        if i < n_counted
        else {}
        for i in range(len(order))
    ]


def check_correction(method: str, correction: str, name: str = "method") -> str:
    """Resolve the correction; raise ValueError if it does not apply to the test.

    ``name`` is the caller's parameter that corresponds to ``method``.
    """
    check_choice(name, method, METHODS)
    check_choice("correction", correction, ("auto", *CORRECTIONS))
    if correction == "auto":
        return "max_t" if method == "t" else "holm"
    if correction == "max_t" and method != "t":
        raise ValueError(
            f"correction='max_t' needs t statistics, got {name}={method!r}. "
            f"Use {name}='t', or correction='holm'."
        )
    return correction


def _pair_p_values(
    columns: Float64Array,
    pairs: StratifiedMeans,
    first: Int64Array,
    second: Int64Array,
    method: str,
    sampled: Mapping[str, Any],
) -> Float64Array:
    """p-values of the pairs (first, second), in ascending order of first."""
    if method == "t":
        return t_p_values(pairs)[first, second]
    if method == "wilcoxon":
        tests = (
            paired_test(columns[:, j], columns[:, i], method)
            for i, j in zip(first, second, strict=True)
        )
        return np.array([test.p_value for test in tests])
    found = [
        sign_flip_p_values(columns[:, second[first == i]] - columns[:, [i]], **sampled)
        for i in np.unique(first)
    ]
    return np.concatenate([*found, np.zeros(0)])
