"""Shares of judged and of unjudged rows at the top of a ranking. O(m) per query of m rows.

Judged@k = (rows with a judgement among the first k) / min(k, retrieved rows), Unjudged@k = 1 −
Judged@k. They say how far another measure at the same cut-off rests on judgements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwise.kernels.topk import add_discounted
from rankwise.metrics.conventions import TIES, Empty
from rankwise.metrics.measure import Measure
from rankwise.metrics.ranking.gains import NO_TABLE
from rankwise.metrics.ranking.top import TopMeasure
from rankwise.metrics.scored import ScoredGroups
from rankwise.typing import Float64Array


@dataclass(frozen=True)
class Judged(TopMeasure):
    """Share of the first k rows that have a judgement; k is at most the number of retrieved rows.

    Differs from ir-measures: rows of a negative grade, which TREC gives to documents that were
    pooled but not judged, are unjudged, and ``ties`` decides the order of equal scores.
    """

    name: ClassVar[str] = "Judged"

    empty: Empty = "skip"  # value of a query for which nothing was retrieved
    ties: str = "mean"
    cutoff: int | None = None  # k; None: all retrieved rows

    @property
    def reads_judgements(self) -> bool:
        return True

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        return self.fill_empty(self.share(scored), scored.retrieved_sizes)

    def share(self, scored: ScoredGroups) -> Float64Array:
        """Share of the judged rows; 0 for a query for which nothing was retrieved."""
        ranked, top = scored.rank(
            self.read_judged(scored).astype(np.float64), self.ties, self.depth
        )
        counts = np.empty(scored.n_queries)
        ones = np.ones(scored.largest)
        add_discounted(ranked, top, NO_TABLE, ones, False, self.depth, counts)
        sizes = scored.retrieved_sizes
        if self.cutoff is not None:
            sizes = np.minimum(sizes, self.depth)
        return counts / np.maximum(sizes, 1)


@dataclass(frozen=True)
class Unjudged(Judged):
    """Share of the first k rows that have no judgement: 1 − Judged@k."""

    name: ClassVar[str] = "Unjudged"
    greater_is_better: ClassVar[bool] = False

    def share(self, scored: ScoredGroups) -> Float64Array:
        return 1.0 - super().share(scored)


def find_unjudged_share(measure: Measure) -> Unjudged | None:
    """Share of unjudged rows among those that a measure reads and takes as not relevant.

    None if the measure reads no ranking from its top, or treats unjudged rows otherwise.
    """
    if not measure.reads_from_top or measure.reads_judgements:
        return None
    rule = getattr(measure, "ties", "mean")
    cutoff = getattr(measure, "cutoff", None)
    return Unjudged(ties=rule if rule in TIES else "mean", cutoff=cutoff)
