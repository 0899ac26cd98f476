"""Discounted cumulative gain, plain and normalised by that of the best ordering.

DCG@k = Σ_{r ≤ k} gain(y_r) · d(r), with gain 2^y − 1 or y and d(r) = 1 / log2(1 + r), or LETOR's
d(1) = d(2) = 1, d(r) = 1 / log2(r). nDCG@k = DCG@k / (DCG@k of the rows by descending grade).
O(m) per query of m rows.

References: Järvelin and Kekäläinen 2002; Burges et al. 2005 (exponential gain); Qin et al. 2010
(LETOR's scripts); McSherry and Najork 2008 (``ties="mean"``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankwise.kernels.topk import average_normalised
from rankwise.metrics.conventions import (
    DISCOUNTS,
    Empty,
    Gain,
    check_choice,
    check_gain,
    discounts,
)
from rankwise.metrics.ranking.gains import check_grades, ideal_gains, rank_gains, sum_discounted
from rankwise.metrics.ranking.top import SMALLEST_GRADE, TopMeasure, make_judged_only_field
from rankwise.metrics.scored import ScoredGroups
from rankwise.typing import Float64Array


class GainMeasure(TopMeasure):
    """Base class of measures with the fields ``gain`` and ``discount``."""

    gain: Gain
    discount: str

    def __post_init__(self) -> None:
        super().__post_init__()
        check_gain(self.name, self.gain)
        check_choice(self.name, "discount", self.discount, DISCOUNTS)


@dataclass(frozen=True)
class DCG(GainMeasure):
    """Discounted cumulative gain.

    ``gain`` of grade y is 2**y - 1 ("exp2"), y ("linear"), or one of the gains >= 0 of the grades
    0, 1, …
    """

    name: ClassVar[str] = "DCG"
    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)

    gain: Gain = "exp2"
    discount: str = "log2"
    empty: Empty = 0  # value of a query without gain
    ties: str = "mean"
    cutoff: int | None = None
    judged_only: bool = make_judged_only_field()

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        check_grades(str(self), self.gain, scored)
        gains = rank_gains(scored, self.gain, self.ties, self.depth)
        values = sum_discounted(scored, gains, self.discount, self.depth)
        if self.empty == 0:
            return values
        return self.fill_empty(values, scored.count(SMALLEST_GRADE))


@dataclass(frozen=True)
class NDCG(GainMeasure):
    """Normalised discounted cumulative gain, with gain and discount as of :class:`DCG`.

    ``short`` treats queries with fewer rows than the cut-off: "pad" measures the rows there are,
    "zero" sets the value to 0 (LETOR's scripts).
    """

    name: ClassVar[str] = "nDCG"

    gain: Gain = "exp2"
    discount: str = "log2"
    empty: Empty = "skip"  # value of a query without gain, whose ideal DCG is 0
    ties: str = "mean"
    short: str = "pad"
    cutoff: int | None = None
    judged_only: bool = make_judged_only_field()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.name, "short", self.short, ("pad", "zero"))

    @property
    def reads_sizes(self) -> bool:
        return self.short == "zero"

    def prepare(self, scored: ScoredGroups) -> None:
        super().prepare(scored)
        scored.need("ideal", self.cutoff)

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        check_grades(str(self), self.gain, scored)
        gains = rank_gains(scored, self.gain, self.ties, self.depth)
        best = ideal_gains(scored, self.gain, self.depth)
        ideal = sum_discounted(scored, best, self.discount, self.depth)
        values = sum_discounted(scored, gains, self.discount, self.depth)
        np.divide(values, ideal, out=values, where=ideal > 0)
        if self.short == "zero":
            values[scored.sizes < self.depth] = 0.0
        return self.fill_empty(values, ideal)


@dataclass(frozen=True)
class MeanNDCG(GainMeasure):
    """Mean of nDCG@j over all ranks j of a query, as LETOR 4's scripts print it; see ``DCG``."""

    name: ClassVar[str] = "MeanNDCG"
    cutoff = None

    gain: Gain = "exp2"
    discount: str = "log2"
    empty: Empty = "skip"  # value of a query without gain
    ties: str = "mean"
    judged_only: bool = make_judged_only_field()

    @property
    def reads_sizes(self) -> bool:
        return True

    def prepare(self, scored: ScoredGroups) -> None:
        super().prepare(scored)
        scored.need("ideal", None)

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        check_grades(str(self), self.gain, scored)
        gains = rank_gains(scored, self.gain, self.ties, 0)
        best = ideal_gains(scored, self.gain, 0)
        table, ideal = gains.table, best.rows.values
        if len(best.table) and not len(table):  # averaged gains have no gain table
            ideal = best.table[ideal.astype(np.int64)]
        values = np.empty(scored.n_queries)
        weights = discounts(self.discount, scored.largest)
        average_normalised(gains.rows.values, ideal, scored.indptr, table, weights, values)
        return self.fill_empty(values, np.where(np.isnan(values), 0.0, 1.0))
