"""Significance of differences between rankers: tests, corrections, effects, intervals.

:func:`paired_test` compares two rankers on the same queries. :func:`compare_to_best` tests several
rankers against the best of them, and accounts for all pairs and for the selection of the best.
:func:`compare_to_baseline` tests them against a ranker that was named beforehand. :func:`holm`,
:func:`benjamini_hochberg` and :func:`bonferroni` correct any p-values. :func:`average_ranks`
compares rankers over several data sets by Friedman's and Nemenyi's tests. :func:`mean_intervals`
are intervals of means of bounded values, :func:`t_intervals` and :func:`bootstrap_intervals` of
any. Queries that do not count for a measure (NaN) are dropped. :func:`prediction_powered_mean`
estimates a mean from few human and many machine values.
"""

from __future__ import annotations

from rankwise.metrics.statistics.against_best import (
    Comparison,
    compare_to_baseline,
    compare_to_best,
)
from rankwise.metrics.statistics.all_pairs import (
    AverageRanks,
    RankIntervals,
    average_ranks,
    compact_letters,
    rank_intervals,
)
from rankwise.metrics.statistics.intervals import (
    Interval,
    bootstrap_interval,
    bootstrap_intervals,
    mean_intervals,
)
from rankwise.metrics.statistics.paired import (
    PairedTest,
    benjamini_hochberg,
    bonferroni,
    cliffs_delta,
    cohens_d,
    holm,
    paired_test,
    rank_biserial,
)
from rankwise.metrics.statistics.prediction_powered import PoweredMean, prediction_powered_mean
from rankwise.metrics.statistics.sample_size import (
    always_valid_interval,
    detectable_difference,
    queries_needed,
)
from rankwise.metrics.statistics.stratified import (
    RunErrors,
    pool_run_errors,
    run_error,
    stratified_mean,
    t_intervals,
)

__all__ = [
    "AverageRanks",
    "Comparison",
    "Interval",
    "PairedTest",
    "PoweredMean",
    "RankIntervals",
    "RunErrors",
    "always_valid_interval",
    "average_ranks",
    "benjamini_hochberg",
    "bonferroni",
    "bootstrap_interval",
    "bootstrap_intervals",
    "cliffs_delta",
    "cohens_d",
    "compact_letters",
    "compare_to_baseline",
    "compare_to_best",
    "detectable_difference",
    "holm",
    "mean_intervals",
    "paired_test",
    "pool_run_errors",
    "prediction_powered_mean",
    "queries_needed",
    "rank_biserial",
    "rank_intervals",
    "run_error",
    "stratified_mean",
    "t_intervals",
]
