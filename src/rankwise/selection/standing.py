"""Standing of every ranker by one measure: mean, interval, and test against the best."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from rankwise.metrics.significance import compare_to_baseline, compare_to_best, stratified_mean
from rankwise.typing import Float64Array, Int64Array

# Fields about the difference to the best, or to the baseline.
OF_DIFFERENCE = ("diff", "diff_low", "diff_high", "p", "p_corrected", "separable", "effect", "wins",
                 "ties", "losses")  # fmt: skip


@dataclass(frozen=True)
class Standing:
    """Standing of one ranker by one measure; missing values are None.

    Attributes
    ----------
    rank : int or None
        Position by this measure, from 1; None if a fold is missing.
    mean, low, high : float or None
        Mean of the fold means and its t interval; None if a fold is missing.
    adjusted_mean : float or None
        The mean over the queries of all rankers that a fit of value = query + ranker expects; it
        orders the table. Equal to ``mean`` unless some ranker lacks values.
    folds : list of float or None
        Mean of every fold.
    diff, diff_low, diff_high : float or None
        Mean difference to the best by this measure, with its joint interval over all pairs of
        rankers. The best itself has the difference 0 and no interval.
    p, p_corrected : float or None
        p-values of the paired test against the best, uncorrected and corrected for all pairs of
        rankers; None for the best itself.
    separable : bool or None
        Whether ``p_corrected`` is below 1 - confidence; None for the best itself.
    effect : float or None
        Cohen's d of the paired differences to the best.
    wins, ties, losses : int or None
        Numbers of queries on which the ranker is better than, equal to and worse than the best.
    skewness : float or None
        Largest skewness of the ranker's mean and of its mean differences to others, beyond its
        standard error: from 0.3 on, tests and intervals err too often.
    rank_low, rank_high : int or None
        Joint interval of the rank, see :func:`rankwise.metrics.significance.rank_intervals`; None
        with the correction "benjamini-hochberg", which leaves it open.
    letters : str
        Rankers that share a letter are not separable from each other; all other pairs are.
    """

    rank: int | None = None
    mean: float | None = None
    adjusted_mean: float | None = None
    low: float | None = None
    high: float | None = None
    folds: list[float | None] = field(default_factory=list)
    diff: float | None = None
    diff_low: float | None = None
    diff_high: float | None = None
    p: float | None = None
    p_corrected: float | None = None
    separable: bool | None = None
    effect: float | None = None
    wins: int | None = None
    ties: int | None = None
    losses: int | None = None
    skewness: float | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    letters: str = ""


def standings(
    per_query: Mapping[str, Float64Array],
    fold_of_query: Int64Array,
    n_folds: int,
    complete: Mapping[str, bool],
    *,
    greater_is_better: bool,
    test: str,
    correction: str | None,
    confidence: float,
    random_state: int,
    baseline: str | None = None,
    bounds: tuple[float, float] = (-math.inf, math.inf),
    run_errors: Mapping[str, tuple[float, float]] | None = None,
) -> dict[str, Standing]:
    """Standing of every ranker; incomplete rankers have fold means only.

    ``per_query`` has an array (n_queries,) for each ranker, and ``complete`` tells whether all
    folds of a ranker are finished. ``greater_is_better``, ``test``, ``correction``, ``confidence``,
    ``random_state`` and ``run_errors`` are those of
    :func:`rankwise.metrics.significance.compare_to_best`. A ``baseline`` takes the place of the
    best ranker, see :func:`rankwise.metrics.significance.compare_to_baseline`.

    ``bounds`` are the lowest and highest possible value of the measure. Intervals are cut there,
    and those of differences at plus and minus the distance of the two.
    """
    width = bounds[1] - bounds[0]
    folds = {
        name: [_number(stratified_mean(values[fold_of_query == i])) for i in range(n_folds)]
        for name, values in per_query.items()
    }
    against = (
        compare_to_best if baseline is None else partial(compare_to_baseline, baseline=baseline)
    )
    table = against(
        {name: values for name, values in per_query.items() if complete[name]},
        greater_is_better=greater_is_better,
        method=test,
        correction=correction,
        strata=fold_of_query,
        level=confidence,
        random_state=random_state,
        run_errors=run_errors,
    )
    found = {name: Standing(folds=fold_values) for name, fold_values in folds.items()}
    for rank, row in enumerate(table, start=1):
        if not math.isnan(row.mean):
            is_best = row is table[0] if baseline is None else row.name == baseline
            found[row.name] = Standing(
                rank=rank,
                mean=row.mean,
                adjusted_mean=row.adjusted_mean,
                low=_number(max(row.low, bounds[0])),
                high=_number(min(row.high, bounds[1])),
                folds=folds[row.name],
                diff=_number(row.difference),
                diff_low=_number(max(row.difference_low, -width)),
                diff_high=_number(min(row.difference_high, width)),
                p=_number(row.p_value),
                p_corrected=_number(row.p_corrected),
                separable=None
                if math.isnan(row.p_corrected)
                else row.p_corrected < round(1 - confidence, 12),
                effect=None if is_best else _number(row.effect),
                wins=None if is_best else row.wins,
                ties=None if is_best else row.ties,
                losses=None if is_best else row.losses,
                skewness=_number(row.skewness),
                rank_low=row.rank_low,
                rank_high=row.rank_high,
                letters=row.letters,
            )
    return found


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
