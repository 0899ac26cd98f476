"""Ranked and ideal gains of a block of queries, which DCG, nDCG and MeanNDCG sum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.kernels.topk import add_discounted
from rankwise.metrics.conventions import LARGEST_GRADE, Gain, discounts, gain_table
from rankwise.metrics.scored import Ranked, ScoredGroups
from rankwise.typing import Float64Array

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
