"""Rank-biased precision: a reader continues to the next row with probability p.

RBP = (1 − p) Σ_r [relevant at r] p^(r−1). Its residual is what RBP could gain: the weight
(1 − p) p^(r−1) of every unjudged row, and p^m for the ranks below the m that were read. With all
judgements of a ranking of any length, RBP would lie between RBP and RBP + residual. O(m) per query
of m rows.

Reference: Moffat and Zobel 2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwise.kernels.topk import add_discounted
from rankwise.metrics.conventions import Empty, check_number
from rankwise.metrics.ranking.gains import NO_TABLE
from rankwise.metrics.ranking.top import BinaryMeasure, TopMeasure, make_judged_only_field
from rankwise.metrics.scored import ScoredGroups
from rankwise.typing import Float64Array


@dataclass(frozen=True)
class RankBiasedPrecision(BinaryMeasure):
    """Rank-biased precision."""

    name: ClassVar[str] = "RBP"
    p: float = 0.8  # persistence of the reader, in (0, 1)
    rel: float = 1
    empty: Empty = 0  # value of a query without relevant rows
    ties: str = "mean"
    cutoff: int | None = None
    judged_only: bool = make_judged_only_field()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.name, "p", self.p, 0, 1, open_ends=True)

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        relevant = (scored.y >= self.rel).astype(np.float64)
        ranked, top = scored.rank(relevant, self.ties, self.depth)
        weights = weigh_ranks(self.p, scored.largest)
        values = np.empty(scored.n_queries)
        add_discounted(ranked, top, NO_TABLE, weights, False, self.depth, values)
        if self.empty == 0:
            return values
        return self.fill_empty(values, scored.count(self.rel))


@dataclass(frozen=True)
class RankBiasedResidual(TopMeasure):
    """Residual of rank-biased precision: the most that further judgements could add to RBP.

    The residual holds the weight of all ranks below the cut-off.
    """

    name: ClassVar[str] = "RBPResidual"
    greater_is_better: ClassVar[bool] = False

    p: float = 0.8  # persistence of the reader, in (0, 1)
    empty: Empty = 1  # value if nothing was retrieved for a query; 1: nothing is known of it
    ties: str = "mean"
    cutoff: int | None = None  # number of ranks that are read

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.name, "p", self.p, 0, 1, open_ends=True)

    @property
    def reads_judgements(self) -> bool:
        return True

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        unjudged = (~self.read_judged(scored)).astype(np.float64)
        ranked, top = scored.rank(unjudged, self.ties, self.depth)
        weights = weigh_ranks(self.p, scored.largest)
        values = np.empty(scored.n_queries)
        add_discounted(ranked, top, NO_TABLE, weights, False, self.depth, values)
        n_read = scored.retrieved_sizes
        if self.cutoff is not None:
            n_read = np.minimum(n_read, self.depth)
        return self.fill_empty(values + self.p**n_read, scored.retrieved_sizes)


def weigh_ranks(p: float, n: int) -> Float64Array:
    """Chance that the reader stops at rank 1 … n."""
    return (1.0 - p) * p ** np.arange(n, dtype=np.float64)
