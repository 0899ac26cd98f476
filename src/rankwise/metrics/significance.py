"""Is the difference between rankers more than chance? One door to tests, effects and intervals.

Two rankers are compared on the same queries by :func:`paired_test`; several are tested against
the best of them by :func:`compare_to_best`, with the p-values corrected (:func:`holm`,
:func:`bonferroni`), effect sizes and bootstrap intervals. Queries that do not count for a measure
(NaN) are dropped.
"""

from __future__ import annotations

from rankwise.metrics.against_best import Comparison, compare_to_best
from rankwise.metrics.effects import cliffs_delta, cohens_d, rank_biserial
from rankwise.metrics.intervals import (
    Interval,
    bootstrap_interval,
    bootstrap_intervals,
    stratified_mean,
)
from rankwise.metrics.multiplicity import bonferroni, holm
from rankwise.metrics.paired import PairedTest, paired_test

__all__ = [
    "Comparison",
    "Interval",
    "PairedTest",
    "bonferroni",
    "bootstrap_interval",
    "bootstrap_intervals",
    "cliffs_delta",
    "cohens_d",
    "compare_to_best",
    "holm",
    "paired_test",
    "rank_biserial",
    "stratified_mean",
]
