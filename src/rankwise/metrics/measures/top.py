"""Base classes of the measures of a ranked list, and the discounted gains that they sum."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankwise.kernels.topk import add_discounted
from rankwise.metrics.measure import (
    EMPTY,
    LARGEST_GRADE,
    TIES,
    Empty,
    Gain,
    Measure,
    check_choice,
    check_cutoff,
    check_number,
    discounts,
    gain_table,
    value_of_empty,
)
from rankwise.metrics.scored import Ranked, ScoredGroups
from rankwise.typing import Float64Array

# Smallest positive number: grades from here on have a gain.
SMALLEST_GRADE = float(np.nextafter(0.0, 1.0))
_DEEPEST = int(np.iinfo(np.int64).max)


def make_judged_only_field() -> Any:
    """Field ``judged_only`` of a measure, which is printed only if it is set.

    It says whether to leave rows without a judgement out of the ranking (condensed list, Sakai
    2007).
    """
    return field(default=False, kw_only=True, metadata={"only_if_set": True})


class TopMeasure(Measure):
    """Base class of measures that read a ranking from its top.

    Subclasses declare the fields ``empty``, ``ties`` and ``cutoff``, which are only annotated here.
    Thus each class prints its parameters in its own order. Those that can leave unjudged rows out
    declare ``judged_only`` with :func:`make_judged_only_field`.
    """

    reads_from_top: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    tie_rules: ClassVar[tuple[str, ...]] = TIES

    empty: Empty  # 0, 1, "skip" or "nan": value of a query for which the measure is undefined
    ties: str  # order of rows with equal scores, one of ``tie_rules``
    cutoff: int | None  # number of ranks that count, >= 1; None: all
    judged_only: bool = False

    def __post_init__(self) -> None:
        check_choice(self.name, "empty", self.empty, EMPTY)
        check_choice(self.name, "ties", self.ties, self.tie_rules)
        check_cutoff(self.name, self.cutoff)
        if not isinstance(self.judged_only, bool):
            raise ValueError(
                f"{self.name}: judged_only must be True or False, got {self.judged_only!r}."
            )

    @property
    def depth(self) -> int:
        """Cut-off in the form of the kernels: 0 for none, and no more than they can hold."""
        return min(self.cutoff or 0, _DEEPEST)

    @property
    def nanoseconds_per_row(self) -> float:
        few = self.cutoff is not None and self.cutoff <= 20 and self.ties in ("mean", "stable")
        return 4.0 if few else 16.0

    @property
    def reads_judgements(self) -> bool:
        return self.judged_only

    def prepare(self, scored: ScoredGroups) -> None:
        if self.judged_only:
            self.read_judged(scored)
        if self.ties in TIES:
            scored.need(self.ties, self.cutoff)
        else:
            scored.need("stable", None)

    def read_judged(self, scored: ScoredGroups) -> NDArray[np.bool_]:
        """Mask of the judged rows; ValueError if the rows do not say which are judged."""
        if scored.judged is None:
            name = f"{self.name}(judged_only=True)" if self.judged_only else self.name
            raise ValueError(
                f"{name} depends on which rows are judged, but the rows do not say which are "
                "judged. Evaluate a run with its judgements, or pass judged, one truth value per "
                "row."
            )
        return scored.judged

    def aggregate(self, values: Float64Array) -> float:
        if self.empty == "nan" and np.isnan(values).any():
            return math.nan
        return super().aggregate(values)

    def fill_empty(self, values: Float64Array, gain: NDArray[Any]) -> Float64Array:
        """Fill in the convention's value for queries without possible gain."""
        return np.where(gain > 0, values, value_of_empty(self.empty))


class BinaryMeasure(TopMeasure):
    """Base class of measures that only distinguish grades of at least ``rel`` from others."""

    rel: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.name, "rel", self.rel, -math.inf, math.inf, open_ends=True)

    def sums(self, scored: ScoredGroups) -> Float64Array:
        """Result of ``ScoredGroups.relevance`` for the parameters of this measure."""
        return scored.relevance(self.ties, self.rel, self.depth)


NO_TABLE = np.empty(0)


@dataclass(frozen=True)
class RankedGains:
    """Rows in ranked order; the gain is ``table[value]``, or the value itself without a table."""

    rows: Ranked
    table: Float64Array


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
        return RankedGains(
            scored.tie_means(scored.y if values is None else values, table), NO_TABLE
        )
    if values is None:
        return RankedGains(scored.ranked(ties), table)
    return RankedGains(scored.rank(values, ties, depth), NO_TABLE)


def ideal_gains(scored: ScoredGroups, gain: Gain, depth: int) -> RankedGains:
    """Gains in descending order."""
    table, values = _table_or_values(scored, gain)
    if values is None:
        return RankedGains(scored.ideal(), table)
    return RankedGains(scored.rank_by_label(values, depth), NO_TABLE)


def sum_discounted(
    scored: ScoredGroups, gains: RankedGains, discount: str, depth: int
) -> Float64Array:
    """Sum of discounted gains down to ``depth`` (0: all), per query."""
    out = np.empty(scored.n_queries)
    n_ranks = min(depth, scored.largest) if depth else scored.largest
    add_discounted(*gains.rows, gains.table, discounts(discount, n_ranks), False, depth, out)
    return out


def _table_or_values(scored: ScoredGroups, gain: Gain) -> tuple[Float64Array, Float64Array | None]:
    """Gain table for integer grades, or the gain of every row if grades are not integers."""
    if gain == "exp2" and not scored.integral:
        return NO_TABLE, np.exp2(scored.y) - 1.0
    return gain_table(gain, int(scored.highest_grade) + 1), None
