"""Rank-biased precision: a reader continues to the next row with probability p.

RBP = (1 − p) Σ_r [relevant at r] p^(r−1). O(m) per query of m rows.

Reference: Moffat and Zobel 2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwise.kernels.topk import add_discounted
from rankwise.metrics.conventions import Empty, check_number
from rankwise.metrics.ranking.gains import NO_TABLE
from rankwise.metrics.ranking.top import BinaryMeasure
from rankwise.metrics.scored import ScoredGroups
from rankwise.typing import Float64Array


@dataclass(frozen=True)
class RankBiasedPrecision(BinaryMeasure):
    """Rank-biased precision.

    Parameters
    ----------
    p : float in (0, 1)
        Persistence of the reader.
    rel : float
        Rows of at least this grade are relevant.
    empty : {0, 1, "skip", "nan"}
        Value of a query without relevant rows.
    ties : {"mean", "stable", "docid", "worst", "best"}
    cutoff : int >= 1, optional
    """

    name: ClassVar[str] = "RBP"
    p: float = 0.8
    rel: float = 1
    empty: Empty = 0
    ties: str = "mean"
    cutoff: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.name, "p", self.p, 0, 1, open_ends=True)

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        relevant = (scored.y >= self.rel).astype(np.float64)
        ranked, top = scored.rank(relevant, self.ties, self.depth)
        weights = (1.0 - self.p) * self.p ** np.arange(scored.largest, dtype=np.float64)
        values = np.empty(scored.n_queries)
        add_discounted(ranked, top, NO_TABLE, weights, False, self.depth, values)
        if self.empty == 0:
            return values
        return self.fill_empty(values, scored.count(self.rel))
