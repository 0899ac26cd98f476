"""Measures of graded gains: DCG, nDCG, MeanNDCG and ERR.

DCG@k = Σ_{r ≤ k} gain(y_r) · d(r), with gain 2^y − 1 or y and d(r) = 1 / log2(1 + r), or LETOR's
d(1) = d(2) = 1, d(r) = 1 / log2(r). nDCG@k = DCG@k / (DCG@k of the rows by descending grade).
O(m) per query of m rows.

ERR@k = Σ_{r ≤ k} (1/r) R_r Π_{s<r} (1 − R_s), with R = (2^y − 1) / 2^G for the highest grade G of
the scale, which may be higher than the highest grade in the data: a reader goes down the list and
stops when satisfied. O(k) per query after ranking.

References: Järvelin and Kekäläinen 2002; Burges et al. 2005 (exponential gain); Qin et al. 2010
(LETOR's scripts); McSherry and Najork 2008 (``ties="mean"``); Chapelle, Metzler, Zhang and Grinspan
2009 (ERR).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar, TypeAlias

import numpy as np

from rankwise.kernels.topk import add_discounted, average_normalised
from rankwise.metrics.measure import (
    DISCOUNTS,
    GAINS,
    Empty,
    Gain,
    Measure,
    TopMeasure,
    check_choice,
    check_gain,
    check_number,
    make_judged_only_field,
)
from rankwise.metrics.scored import LARGEST_GRADE, Ranked, ScoredGroups, discounts
from rankwise.typing import Float64Array

# Smallest positive number: grades from here on have a gain.
SMALLEST_GRADE = float(np.nextafter(0.0, 1.0))
NO_TABLE = np.empty(0)
# Rows in ranked order and a table: the gain of a row is table[value], or the value without a table.
RankedGains: TypeAlias = tuple[Ranked, Float64Array]


class GainMeasure(TopMeasure):
    """Base class of measures with the fields ``gain`` and ``discount``."""

    gain: Gain
    discount: str

    def __post_init__(self, label_gain: Sequence[float] | None = None) -> None:
        super().__post_init__()
        if label_gain is not None:
            if self.gain != "exp2":
                raise ValueError(
                    f"{self.name}: gain and label_gain are the same, got {self.gain!r} and "
                    f"{label_gain!r}. Pass one of them."
                )
            object.__setattr__(self, "gain", read_label_gain(label_gain))
        check_gain(self.name, self.gain)
        check_choice(self.name, "discount", self.discount, DISCOUNTS)


@dataclass(frozen=True)
class DCG(GainMeasure):
    """Discounted cumulative gain.

    ``gain`` of grade y is 2**y - 1 ("exp2"), y ("linear"), or one of the gains >= 0 of the grades
    0, 1, …, which ``label_gain`` lists as LightGBM does.
    """

    name: ClassVar[str] = "DCG"
    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)

    gain: Gain = "exp2"
    discount: str = "log2"
    empty: Empty = 0  # value of a query without gain
    ties: str = "mean"
    cutoff: int | None = None
    judged_only: bool = make_judged_only_field()
    label_gain: InitVar[Sequence[float] | None] = field(default=None, kw_only=True)

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
    label_gain: InitVar[Sequence[float] | None] = field(default=None, kw_only=True)

    def __post_init__(self, label_gain: Sequence[float] | None) -> None:
        super().__post_init__(label_gain)
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
    label_gain: InitVar[Sequence[float] | None] = field(default=None, kw_only=True)

    @property
    def reads_sizes(self) -> bool:
        return True

    def prepare(self, scored: ScoredGroups) -> None:
        super().prepare(scored)
        scored.need("ideal", None)

    def from_groups(self, scored: ScoredGroups) -> Float64Array:
        check_grades(str(self), self.gain, scored)
        (ranked, _), table = rank_gains(scored, self.gain, self.ties, 0)
        (ideal, _), best_table = ideal_gains(scored, self.gain, 0)
        if len(best_table) and not len(table):  # averaged gains have no gain table
            ideal = best_table[ideal.astype(np.int64)]
        values = np.empty(scored.n_queries)
        weights = discounts(self.discount, scored.largest)
        scored.run(average_normalised, ranked, ideal, scored.indptr, table, weights, values)
        return self.fill_empty(values, np.where(np.isnan(values), 0.0, 1.0))


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
                ranked = scored.ranked(self.ties)
            else:
                ranked = scored.rank(stops, self.ties, self.depth)
            n_ranks = min(self.depth, scored.largest) if self.depth else scored.largest
            weights = discounts("reciprocal", n_ranks)
            values = np.empty(scored.n_queries)
            scored.run(add_discounted, *ranked, table, weights, True, self.depth, values)
        if self.empty == 0:
            return values
        return self.fill_empty(values, scored.count(SMALLEST_GRADE))

    def _probability(self, grades: Float64Array) -> Float64Array:
        """Probability of stopping at a row of each grade."""
        if self.gain == "linear":
            return grades / self.max_grade
        return (np.exp2(grades) - 1.0) / np.exp2(self.max_grade)


def read_label_gain(label_gain: Any) -> tuple[float, ...]:
    """Gains of the grades 0, 1, … as Python numbers, whole ones as int."""
    try:
        gains = np.asarray(label_gain, dtype=np.float64)
    except (TypeError, ValueError):
        gains = np.empty(0)
    if gains.ndim != 1 or not gains.size:
        raise ValueError(
            "label_gain must list the gains of the grades 0, 1, …, such as [0, 1, 3, 7], got "
            f"{label_gain!r}."
        )
    return tuple(int(gain) if gain == gain // 1 else gain for gain in gains.tolist())


def replace_label_gain(measure: Measure, label_gain: Any) -> Measure:
    """nDCG and DCG with a table of gains; other measures unchanged."""
    if not isinstance(measure, GainMeasure):
        return measure
    return replace(measure, **{"gain": read_label_gain(label_gain)})


def check_grades(measure: str, gain: Gain, scored: ScoredGroups) -> None:
    """Raise ValueError if a label has no gain."""
    if scored.lowest_grade < 0:
        raise ValueError(
            f"y must be >= 0 for {measure}, got {scored.lowest_grade:g}. Shift the grades, clip "
            "them with np.maximum(y, 0), or use a measure of real-valued targets."
        )
    if gain == "exp2" and scored.highest_grade > LARGEST_GRADE:
        raise ValueError(
            f"y must be <= {LARGEST_GRADE} for {measure}, whose gain is 2**y - 1, got "
            f"{scored.highest_grade:g}. Use gain='linear' or a gain table."
        )
    if isinstance(gain, tuple) and not (scored.integral and scored.highest_grade < len(gain)):
        raise ValueError(
            f"y must hold integers from 0 to {len(gain) - 1} for {measure}, whose gain is a table "
            f"of {len(gain)} grades, got up to {scored.highest_grade:g}. Pass one gain per grade."
        )


def rank_gains(scored: ScoredGroups, gain: Gain, ties: str, depth: int) -> RankedGains:
    """Gains by descending score, averaged over tied rows with ``ties="mean"``."""
    table, values = _table_or_values(scored, gain)
    if ties == "mean":
        return scored.tie_means(scored.y if values is None else values, table), NO_TABLE
    if values is None:
        return scored.ranked(ties), table
    return scored.rank(values, ties, depth), NO_TABLE


def ideal_gains(scored: ScoredGroups, gain: Gain, depth: int) -> RankedGains:
    """Gains in descending order."""
    table, values = _table_or_values(scored, gain)
    if values is None:
        return scored.ideal(), table
    return scored.rank_by_label(values, depth), NO_TABLE


def sum_discounted(
    scored: ScoredGroups, gains: RankedGains, discount: str, depth: int
) -> Float64Array:
    """Sum of discounted gains down to ``depth`` (0: all), per query."""
    out = np.empty(scored.n_queries)
    n_ranks = min(depth, scored.largest) if depth else scored.largest
    rows, table = gains
    weights = discounts(discount, n_ranks)
    scored.run(add_discounted, *rows, table, weights, False, depth, out)
    return out


def _table_or_values(scored: ScoredGroups, gain: Gain) -> tuple[Float64Array, Float64Array | None]:
    """Gain table for integer grades, or the gain of every row if grades are not integers."""
    if gain == "exp2" and not scored.integral:
        return NO_TABLE, np.exp2(scored.y) - 1.0
    return gain_table(gain, int(scored.highest_grade) + 1), None


def gain_table(gain: Gain, n_grades: int) -> Float64Array:
    """Gain of the grades 0 … n_grades - 1; empty for the linear gain, which needs none."""
    if isinstance(gain, tuple):
        return np.asarray(gain, dtype=np.float64)
    if gain == "linear":
        return np.empty(0)
    return _exp2_table(n_grades)


@lru_cache(maxsize=32)
def _exp2_table(n_grades: int) -> Float64Array:
    table = np.exp2(np.arange(n_grades)) - 1.0
    table.flags.writeable = False
    return table
