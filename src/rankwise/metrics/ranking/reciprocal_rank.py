"""Reciprocal rank: 1 / rank of the first relevant row; its mean over queries is MRR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rankwise.metrics.conventions import Empty
from rankwise.metrics.ranking.top import BinaryMeasure, make_judged_only_field
from rankwise.metrics.scored import ScoredGroups
from rankwise.typing import Float64Array


@dataclass(frozen=True)
class ReciprocalRank(BinaryMeasure):
    """Reciprocal rank of the first relevant row; 0 if it lies beyond the cut-off."""

    name: ClassVar[str] = "RR"

    rel: float = 1
    empty: Empty = 0  # value of a query without relevant rows
    ties: str = "mean"
    cutoff: int | None = None
    judged_only: bool = make_judged_only_field()

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        sums = self.sums(scored)
        return self.fill_empty(sums[:, 3], sums[:, 0])
