"""Standing of every ranker by one measure, and how its numbers and tests are put in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from rankwise.datasets.table_columns import list_names
from rankwise.metrics.significance import (
    compare_to_baseline,
    compare_to_best,
    stratified_mean,
)
from rankwise.metrics.statistics.against_best import Correction
from rankwise.metrics.statistics.paired import TestMethod
from rankwise.runtime.messages import (
    escape_hidden,
    setting,
)
from rankwise.runtime.result import align_columns
from rankwise.selection.cells.result_store import (
    Settings,
)
from rankwise.typing import Float64Array, Int64Array

# Fields about the difference to the best, or to the baseline.
OF_DIFFERENCE = ("diff", "diff_low", "diff_high", "p", "p_corrected", "separable", "effect", "wins",
                 "ties", "losses")  # fmt: skip
NO_VALUE = "–"
_MEGABYTE = 1e6
_MOST_NAMED = 12
_TESTS = {"t": "t", "wilcoxon": "Wilcoxon", "randomization": "randomization"}
_CORRECTED = {
    "holm": "Holm-corrected",
    "bonferroni": "Bonferroni-corrected",
    "benjamini_hochberg": "Benjamini-Hochberg-corrected (false discovery rate)",
}


_NOT_FINISHED: dict[str, Any] = dict.fromkeys(
    ("rank", "mean", "adjusted_mean", "low", "high", "folds", *OF_DIFFERENCE, "skewness",
     "rank_low", "rank_high")
) | {"letters": ""}  # fmt: skip


def standings(
    per_query: Mapping[str, Float64Array],
    fold_of_query: Int64Array,
    n_folds: int,
    complete: Mapping[str, bool],
    *,
    greater_is_better: bool,
    test: TestMethod,
    correction: Correction,
    confidence_level: float,
    random_state: int,
    baseline: str | None = None,
    bounds: tuple[float, float] = (-math.inf, math.inf),
    run_errors: Mapping[str, tuple[float, float]] | None = None,
) -> dict[str, dict[str, Any]]:
    """Standing of every ranker, see :meth:`rankwise.selection.Leaderboard.rows`.

    Incomplete rankers have fold means only.

    ``per_query`` has an array (n_queries,) for each ranker, and ``complete`` tells whether all
    folds of a ranker are finished. ``greater_is_better``, ``test``, ``correction``,
    ``confidence_level``, ``random_state`` and ``run_errors`` are those of
    :func:`rankwise.metrics.significance.compare_to_best`. A ``baseline`` takes the place of the
    best ranker, see :func:`rankwise.metrics.significance.compare_to_baseline`.

    ``bounds`` are the lowest and highest possible value of the measure. Intervals are cut there,
    and those of differences at plus and minus the distance of the two.
    """
    width = bounds[1] - bounds[0]
    folds = {
        name: [_number(stratified_mean(values[fold_of_query == i])) for i in range(n_folds)]
        for name, values in per_query.items()
    }
    against = (
        compare_to_best if baseline is None else partial(compare_to_baseline, baseline=baseline)
    )
    table = against(
        {name: values for name, values in per_query.items() if complete[name]},
        greater_is_better=greater_is_better,
        method=test,
        correction=correction,
        strata=fold_of_query,
        confidence_level=confidence_level,
        random_state=random_state,
        run_errors=run_errors,
    )
    found = {name: _NOT_FINISHED | {"folds": values} for name, values in folds.items()}
    for rank, row in enumerate(table, start=1):
        if math.isnan(row.mean):
            continue
        is_best = row is table[0] if baseline is None else row.name == baseline
        is_tested = not math.isnan(row.p_corrected)
        found[row.name] |= {
            "rank": rank,
            "mean": row.mean,
            "adjusted_mean": row.adjusted_mean,
            "low": _number(max(row.low, bounds[0])),
            "high": _number(min(row.high, bounds[1])),
            "diff": _number(row.difference),
            "diff_low": _number(max(row.difference_low, -width)),
            "diff_high": _number(min(row.difference_high, width)),
            "p": _number(row.p_value),
            "p_corrected": _number(row.p_corrected),
            "separable": row.p_corrected < round(1 - confidence_level, 12) if is_tested else None,
            "effect": None if is_best else _number(row.effect),
            "wins": None if is_best else row.wins,
            "ties": None if is_best else row.ties,
            "losses": None if is_best else row.losses,
            "skewness": _number(row.skewness),
            "rank_low": row.rank_low,
            "rank_high": row.rank_high,
            "letters": row.letters,
        }
    return found


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def has_rank_intervals(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether ranks are more than the order of the means."""
    known = [row for row in rows if row["rank_low"] is not None]
    return len(known) > 1


def is_adjusted(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether values are missing, so that the order of the means is not that of the systems."""
    return any(row["adjusted_mean"] != row["mean"] for row in rows)


def merge_notes(
    rows: Sequence[Mapping[str, Any]], contestant: str = "ranker"
) -> list[tuple[str, str]]:
    """Each note of a leaderboard once, after the rankers that it is about."""
    rankers: dict[str, list[str]] = {}
    for row in rows:
        for note in row["notes"]:
            rankers.setdefault(note, []).append(row["ranker"])
    return [
        (f"all {contestant}s" if len(names) == len(rows) > 2 else ", ".join(names), note)
        for note, names in rankers.items()
    ]


def describe_columns(settings: Settings) -> list[str]:
    """Lines on the columns of a table that are not features, and on features that are rankers."""
    lines = []
    if settings.shared:
        names, fix = list_names(settings.shared, quote=str), setting("ignore", settings.shared)
        lines.append(
            f"Column {names} is also a feature of the other rankers; leave it out with {fix}."
            if len(settings.shared) == 1
            else f"Columns {names} are also features of the other rankers; leave them out with "
            f"{fix}."
        )
    if settings.left_out:
        shown = [f"{name} ({why})" for name, why in settings.left_out.items()]
        lines.append(f"Columns that are not features: {list_names(shown, quote=str)}.")
    return lines


def is_fitted(settings: Settings) -> bool:
    """Whether rankers were fitted on folds, rather than existing systems evaluated."""
    return bool(settings.select_by)


def how_tested(settings: Settings) -> str:
    """Phrase for the test and its correction over all pairs."""
    return _how(settings, f"all pairs of {settings.contestant}s")


def how_tested_against_baseline(settings: Settings) -> str:
    """Phrase for the test and its correction over the pairs with the baseline."""
    return _how(settings, "all pairs with the baseline")


def _how(settings: Settings, pairs: str) -> str:
    correction = settings.correction
    if correction == "max_t":
        return f"max-t sign-flip test over {pairs}"
    test = _TESTS.get(settings.test, settings.test)
    return f"paired {test} test, {_CORRECTED[correction]} over {pairs}"


def joint_interval(settings: Settings) -> str:
    """Phrase for the interval of a difference to the best."""
    kind = "interval" if settings.correction == "max_t" else "t interval by Bonferroni"
    return f"joint {level_of(settings)} {kind}"


def level_of(settings: Settings) -> str:
    return f"{100 * settings.confidence_level:g} %"


def list_intervals(rows: list[dict[str, Any]], settings: Settings) -> list[str]:
    """Line of the differences to the best that are not significant, with their intervals."""
    found = []
    for row in rows:
        if row["separable"] is False:
            interval = "not bounded"  # as far as any value, or none
            if row["diff_low"] is not None and row["diff_high"] is not None:
                interval = f"{row['diff_low']:+.4f} to {row['diff_high']:+.4f}"
            found.append(f"{row['ranker']} {row['diff']:+.4f} ({interval})")
    if not found:
        return []
    more = len(found) - _MOST_NAMED
    named = ", ".join(found[:_MOST_NAMED]) + (f", and {more} more" if more > 0 else "")
    return [
        f"Differences to the best with p >= {1 - settings.confidence_level:g} "
        f"({joint_interval(settings)}): {named}."
    ]


def _sides(row: dict[str, Any], name: str) -> list[float]:
    """Distances of the ends of an interval from its mean: unequal near the ends of the measure."""
    low, mean, high = (row["measures"][name][what] for what in ("low", "mean", "high"))
    return [] if low is None else [mean - low, high - mean]


def longer_side(rows: list[dict[str, Any]], measures: list[str]) -> str:
    sides = [_sides(row, name) for row in rows if row["rank"] for name in measures]
    return "the longer side" if any(abs(s[0] - s[1]) > 5e-5 for s in sides if s) else "half"


def row_cells(row: dict[str, Any], measures: list[str]) -> list[str]:
    means = []
    for name in measures:
        mean, sides = row["measures"][name]["mean"], _sides(row, name)
        means.append(format_or_dash(mean, ".4f") + (f" ± {max(sides):.4f}" if sides else ""))
    memory = row["memory_bytes"]
    return [
        str(row["rank"]),
        row["ranker"],
        *means,
        format_or_dash(row["adjusted_mean"], ".4f"),
        format_or_dash(row["diff"] or None, "+.4f"),
        p_value(row["p_corrected"]),
        ranks_text(row),
        format_or_dash(row["fit_seconds"], ".3f"),
        format_or_dash(row["predict_seconds"], ".4f"),
        format_or_dash(None if memory is None else memory / _MEGABYTE, ".0f"),
    ]


def format_or_dash(value: float | None, form: str) -> str:
    return NO_VALUE if value is None else format(value, form)


def ranks_text(row: Mapping[str, Any]) -> str:
    """Interval of a rank, such as "1–3", or one number if it is certain."""
    low, high = row["rank_low"], row["rank_high"]
    if low is None:
        return NO_VALUE
    return str(low) if low == high else f"{low}–{high}"


def p_value(p: float | None) -> str:
    """Format with three digits, or as "< 0.001"."""
    if p is None:
        return NO_VALUE
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def fit_width(
    width: int | None, lines: list[list[str]], dispensable: list[str]
) -> tuple[list[str], list[str]]:
    """Aligned lines that fit the width, and the names of the columns left out."""
    hidden: list[str] = []
    lines = [[escape_hidden(cell) for cell in line] for line in lines]
    while True:
        kept = [place for place, name in enumerate(lines[0]) if name not in hidden]
        cells = [[line[place] for place in kept] for line in lines]
        rule = ["-" * max(map(len, column)) for column in zip(*cells, strict=True)]
        table = align_columns([cells[0], rule, *cells[1:]], left=(1,))
        rest = dispensable[len(hidden) :]
        if width is None or not rest or max(map(len, table)) <= width:
            return table, hidden[::-1]
        hidden.append(rest[0])
