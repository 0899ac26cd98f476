"""Inferred average precision: an estimate of AP from a judged sample of the pool.

infAP = (1/R) Σ_{relevant} E(precision at its rank) over the judged relevant rows, R of them. With k
rows above, of which c are in the pool and r relevant and n otherwise judged, the expected precision
is 1 / (k + 1) + c / (k + 1) · (r + ε) / (r + n + 2 ε), ε = 0.00001: rows of the pool without a
judgement are taken to be relevant as often as the judged ones, rows outside of the pool never.
O(m) per query of m rows without ties.

Reference: Yilmaz and Aslam 2006, with the smoothing of trec_eval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwise.kernels.inferred_precision import (
    MISSING,
    OTHER,
    OUTSIDE,
    POOLED,
    RELEVANT,
    add_inferred_precisions,
)
from rankwise.metrics.conventions import Empty
from rankwise.metrics.ranking.top import BinaryMeasure
from rankwise.metrics.scored import ScoredGroups
from rankwise.typing import Float64Array


@dataclass(frozen=True)
class InferredAveragePrecision(BinaryMeasure):
    """Inferred average precision.

    Rows of the pool without a judgement have a negative grade in TREC's judgements. If the pool is
    not known, it consists of the judged rows.
    """

    name: ClassVar[str] = "infAP"
    cutoff = None

    rel: float = 1
    empty: Empty = "skip"  # value of a query without relevant rows
    ties: str = "mean"

    @property
    def reads_judgements(self) -> bool:
        return True

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        judged = self.read_judged(scored)
        pooled = judged if scored.pooled is None else scored.pooled
        relevant = judged & (scored.y >= self.rel)
        kinds = np.where(pooled, POOLED, OUTSIDE)
        kinds[judged] = OTHER
        kinds[relevant] = RELEVANT
        rule = "stable" if self.ties == "mean" else self.ties
        ranked = scored.rank(kinds, rule, missing=MISSING).values
        starts = scored.tie_starts if self.ties == "mean" else np.arange(len(ranked) + 1)
        total = np.empty(scored.n_queries)
        add_inferred_precisions(ranked, starts, scored.indptr, total)
        n_relevant = scored.sum(relevant)
        return self.fill_empty(total / np.maximum(n_relevant, 1), n_relevant)
