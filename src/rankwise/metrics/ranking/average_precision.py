"""Average precision: the mean, over relevant rows, of the precision at their ranks.

AP@k = (1/N) Σ_{r ≤ k, relevant} (relevant rows down to r) / r, where N is the number of relevant
rows of the query (trec_eval, LETOR), or min(k, that number) (LightGBM, XGBoost, CatBoost). O(m)
per query of m rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwise.metrics.conventions import TIES, Empty, check_choice
from rankwise.metrics.ranking.top import BinaryMeasure, make_judged_only_field
from rankwise.metrics.scored import ScoredGroups
from rankwise.typing import Float64Array


@dataclass(frozen=True)
class AveragePrecision(BinaryMeasure):
    """Average precision.

    ``norm`` divides by the number of relevant rows R ("all"), or by min(cutoff, R) ("cutoff"). With
    ties="block", tied rows share the last of their ranks (scikit-learn).
    """

    name: ClassVar[str] = "AP"
    tie_rules: ClassVar[tuple[str, ...]] = (*TIES, "block")

    rel: float = 1
    norm: str = "all"
    empty: Empty = "skip"  # value of a query without relevant rows
    ties: str = "mean"
    cutoff: int | None = None
    judged_only: bool = make_judged_only_field()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.name, "norm", self.norm, ("all", "cutoff"))
        if self.ties == "block" and self.cutoff is not None:
            raise ValueError("AP: ties='block' has no cut-off. Drop '@k'.")

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        if self.ties == "block":
            n_relevant, precisions = self._block_sums(scored)
        else:
            sums = self.sums(scored)
            n_relevant, precisions = sums[:, 0], sums[:, 2]
        most = n_relevant
        if self.norm == "cutoff" and self.cutoff is not None:
            most = np.minimum(n_relevant, self.cutoff)
        return self.fill_empty(precisions / np.maximum(most, 1.0), n_relevant)

    def _block_sums(self, scored: ScoredGroups) -> tuple[Float64Array, Float64Array]:
        """Relevant rows per query, and sum of the precisions at the ends of their blocks."""
        relevant = scored.rank((scored.y >= self.rel).astype(np.float64)).values
        down_to = np.concatenate([[0.0], np.cumsum(relevant)])
        lengths = np.diff(scored.tie_starts)
        ends = np.repeat(scored.tie_starts[1:], lengths)
        query_start = np.repeat(scored.indptr[:-1], scored.sizes)
        precision = (down_to[ends] - down_to[query_start]) / (ends - query_start)
        total = np.concatenate([[0.0], np.cumsum(relevant * precision)])
        indptr = scored.indptr
        return scored.count(self.rel).astype(np.float64), np.diff(total[indptr])
