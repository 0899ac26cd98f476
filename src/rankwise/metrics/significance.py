"""Is the difference between rankers more than chance? Tests, corrections, effects, intervals.

Two rankers are compared on the same queries by :func:`paired_test`. Several are tested against the
best of them by :func:`compare_to_best`, which accounts for all pairs and for the selection of the
best, or against one that was named beforehand by :func:`compare_to_baseline`. :func:`holm`,
:func:`benjamini_hochberg` and :func:`bonferroni` correct any p-values. Over several data sets
:func:`average_ranks` compares them by Friedman's and Nemenyi's tests. Means have
:func:`t_intervals` or :func:`bootstrap_intervals`. Queries that do not count for a measure
(NaN) are dropped.
"""

from __future__ import annotations

from rankwise.metrics.statistics.against_best import (
    Comparison,
    compare_to_baseline,
    compare_to_best,
)
from rankwise.metrics.statistics.average_ranks import AverageRanks, average_ranks
from rankwise.metrics.statistics.effects import cliffs_delta, cohens_d, rank_biserial
from rankwise.metrics.statistics.intervals import (
    Interval,
    bootstrap_interval,
    bootstrap_intervals,
)
from rankwise.metrics.statistics.multiplicity import benjamini_hochberg, bonferroni, holm
from rankwise.metrics.statistics.paired import PairedTest, paired_test
from rankwise.metrics.statistics.stratified import stratified_mean, t_intervals

__all__ = [
    "AverageRanks",
    "Comparison",
    "Interval",
    "PairedTest",
    "average_ranks",
    "benjamini_hochberg",
    "bonferroni",
    "bootstrap_interval",
    "bootstrap_intervals",
    "cliffs_delta",
    "cohens_d",
    "compare_to_baseline",
    "compare_to_best",
    "holm",
    "paired_test",
    "rank_biserial",
    "stratified_mean",
    "t_intervals",
]
