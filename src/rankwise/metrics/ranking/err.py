"""Expected reciprocal rank: a reader goes down the list and stops when satisfied.

ERR@k = Σ_{r ≤ k} (1/r) R_r Π_{s<r} (1 − R_s), with R = (2^y − 1) / 2^G for the highest grade G of
the scale, which may be higher than the highest grade in the data. O(k) per query after ranking.

Reference: Chapelle, Metzler, Zhang and Grinspan 2009.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwise.kernels.topk import add_discounted
from rankwise.metrics.conventions import (
    GAINS,
    LARGEST_GRADE,
    Empty,
    check_choice,
    check_number,
    discounts,
)
from rankwise.metrics.ranking.gains import NO_TABLE, check_grades
from rankwise.metrics.ranking.top import SMALLEST_GRADE, TopMeasure, make_judged_only_field
from rankwise.metrics.scored import ScoredGroups
from rankwise.typing import Float64Array


@dataclass(frozen=True)
class ExpectedReciprocalRank(TopMeasure):
    """Expected reciprocal rank.

    ``gain`` is the probability of stopping at grade y: (2**y - 1) / 2**max_grade ("exp2"), or
    y / max_grade ("linear").
    """

    name: ClassVar[str] = "ERR"

    gain: str = "exp2"
    max_grade: float = 4  # highest grade of the scale; larger grades raise ValueError
    empty: Empty = 0  # value of a query without a grade above 0
    ties: str = "mean"
    cutoff: int | None = None
    judged_only: bool = make_judged_only_field()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.name, "gain", self.gain, GAINS)
        check_number(self.name, "max_grade", self.max_grade, 0, LARGEST_GRADE, open_ends=True)

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        check_grades(str(self), self.gain, scored)
        if scored.highest_grade > self.max_grade:
            raise ValueError(
                f"y must be <= max_grade={self.max_grade} for {self}, got "
                f"{scored.highest_grade:g}. Set the scale's highest grade: ERR(max_grade=...)."
            )
        if scored.integral:
            table = self._probability(np.arange(scored.highest_grade + 1.0))
        else:
            table = NO_TABLE
        stops = scored.y if scored.integral else self._probability(scored.y)
        if self.ties == "mean":
            values = scored.expected_stops(stops, table, self.depth)
        else:
            if scored.integral:
                ranked, top = scored.ranked(self.ties)
            else:
                ranked, top = scored.rank(stops, self.ties, self.depth)
            n_ranks = min(self.depth, scored.largest) if self.depth else scored.largest
            weights = discounts("reciprocal", n_ranks)
            values = np.empty(scored.n_queries)
            add_discounted(ranked, top, table, weights, True, self.depth, values)
        if self.empty == 0:
            return values
        return self.fill_empty(values, scored.count(SMALLEST_GRADE))

    def _probability(self, grades: Float64Array) -> Float64Array:
        """Probability of stopping at a row of each grade."""
        if self.gain == "linear":
            return grades / self.max_grade
        return (np.exp2(grades) - 1.0) / np.exp2(self.max_grade)
