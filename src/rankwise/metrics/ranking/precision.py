"""Precision, recall, R-precision and success: counts of relevant rows at the top.

With h relevant rows among the first k, R relevant rows and m rows in the query: P@k = h / k,
R@k = h / R, Success@k = [h > 0]; Rprec is P@R. O(m) per query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwise.metrics.conventions import Empty, check_choice
from rankwise.metrics.ranking.top import BinaryMeasure, make_judged_only_field
from rankwise.metrics.scored import ScoredGroups
from rankwise.typing import Float64Array


class HitMeasure(BinaryMeasure):
    """Base class of measures that count the hits within the cut-off."""

    def counts(self, scored: ScoredGroups) -> tuple[Float64Array, Float64Array]:
        """Number of relevant rows of each query, in total and within the cut-off."""
        sums = self.sums(scored)
        return sums[:, 0], sums[:, 1]


@dataclass(frozen=True)
class Precision(HitMeasure):
    """Share of relevant rows among the first k.

    ``short`` treats a query with m < k rows: divide by k ("pad"), set the value to 0 ("zero",
    LETOR 3), or divide by m ("cut", XGBoost and CatBoost).
    """

    name: ClassVar[str] = "P"

    rel: float = 1
    empty: Empty = 0  # value of a query without relevant rows
    ties: str = "mean"
    short: str = "pad"
    cutoff: int | None = None  # k; None: all rows of the query
    judged_only: bool = make_judged_only_field()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.name, "short", self.short, ("pad", "zero", "cut"))

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        n_relevant, hits = self.counts(scored)
        sizes = np.maximum(scored.retrieved_sizes, 1)
        if self.cutoff is None:
            values = hits / sizes
        elif self.short == "cut":
            values = hits / np.minimum(sizes, self.cutoff)
        else:
            values = hits / self.cutoff
            if self.short == "zero":
                values[scored.retrieved_sizes < self.cutoff] = 0.0
        return self.fill_empty(values, n_relevant)


@dataclass(frozen=True)
class Recall(HitMeasure):
    """Share of the relevant rows that are among the first k."""

    name: ClassVar[str] = "R"

    rel: float = 1
    empty: Empty = "skip"  # value of a query without relevant rows
    ties: str = "mean"
    cutoff: int | None = None  # k; None: all rows of the query
    judged_only: bool = make_judged_only_field()

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        n_relevant, hits = self.counts(scored)
        return self.fill_empty(hits / np.maximum(n_relevant, 1.0), n_relevant)


@dataclass(frozen=True)
class RPrecision(BinaryMeasure):
    """Precision at rank R, the number of relevant rows of the query."""

    name: ClassVar[str] = "Rprec"
    cutoff = None

    rel: float = 1
    empty: Empty = "skip"  # value of a query without relevant rows
    ties: str = "mean"
    judged_only: bool = make_judged_only_field()

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        n_relevant = scored.count(self.rel)
        relevant = (scored.y >= self.rel).astype(np.float64)
        ranked = scored.rank(relevant, self.ties).values
        down_to = np.concatenate([[0.0], np.cumsum(ranked)])
        start = scored.indptr[:-1]
        hits = down_to[start + n_relevant] - down_to[start]
        return self.fill_empty(hits / np.maximum(n_relevant, 1), n_relevant)


@dataclass(frozen=True)
class Success(BinaryMeasure):
    """Whether any of the first k rows is relevant."""

    name: ClassVar[str] = "Success"

    rel: float = 1
    empty: Empty = 0  # value of a query without relevant rows
    ties: str = "mean"
    cutoff: int | None = None  # k; None: all rows of the query
    judged_only: bool = make_judged_only_field()

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        sums = self.sums(scored)
        return self.fill_empty(sums[:, 4], sums[:, 0])
