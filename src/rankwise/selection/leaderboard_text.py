"""Leaderboard as plain text with aligned columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankwise.datasets.table_columns import list_names
from rankwise.metrics import parse
from rankwise.metrics.statistics.sample_size import spread_is_rough
from rankwise.metrics.statistics.stratified import FEW_QUERIES
from rankwise.runtime.shown_text import escape_hidden, join_lines
from rankwise.runtime.vocabulary import setting
from rankwise.selection.fold_result import DONE
from rankwise.selection.provenance import Settings

if TYPE_CHECKING:
    from rankwise.selection.leaderboard import Leaderboard

_NONE = "–"
_ADJUSTED = "adjusted"
_COSTS = ("fit s", "predict s", "MB")
_OF_COSTS = "fit (its search included), predict, MB (peak above the start): medians over folds."
_MEGABYTE = 1e6
_MOST_NAMED = 12


def leaderboard_text(board: Leaderboard, width: int | None = None) -> str:
    """Table with explanations of its columns, failures and notes.

    To fit a ``width`` in characters, columns are left out from the right: costs, then measures
    after the first, then counts of queries against a baseline.
    """
    rows = board.rows()
    first, settings = board.measures[0], board.settings
    ranks = has_rank_intervals(rows)
    header = ["#", settings.contestant, *board.measures, _ADJUSTED, "to best", "p", "ranks"]
    header += _COSTS
    lines = [_cells(row, board.measures) for row in rows if row["rank"]]
    absent = [*([] if ranks else ["ranks"]), *([] if is_fitted(settings) else _COSTS)]
    absent += [] if is_adjusted(rows) else [_ADJUSTED]
    kept = [place for place, name in enumerate(header) if name not in absent]
    header, lines = _select_cells(header, kept), [_select_cells(line, kept) for line in lines]
    dispensable = [*reversed([*board.measures[1:], *(_COSTS if is_fitted(settings) else ())])]
    table, hidden = _fit_width(width, [header, *lines], dispensable)
    text = [
        f"{settings.data or 'data'}: {len(board.qids)} {settings.unit}{queries_that_count(board)}"
        f"{_describe_strata(board)}, ordered by {first}",
        *([f"{settings.layout}."] if settings.layout else []),
        *recall_of_rows(board),
        "",
        *table,
        *([f"Left out for the width: {', '.join(hidden)}."] if hidden else []),
        "",
        f"± {_side(rows, board.measures)} of the {_level(settings)} interval over {settings.unit}. "
        f"to best: difference in {first} to the best {settings.contestant}.",
        f"p of this difference: {how_tested(settings)}.",
        *([f"ranks: {_level(settings)} intervals, which hold jointly."] if ranks else []),
        *([how_adjusted(board) + "."] if is_adjusted(rows) else []),
        *_not_separable(rows, settings),
        *what_can_be_seen(board),
        *_list_against_baseline(board, rows, width),
    ]
    if is_fitted(settings):
        text += [_OF_COSTS] if not {*_COSTS} <= {*hidden} else []
        text.append(f"Parameters were chosen on validation parts by {settings.select_by}.")
    text += describe_columns(settings)
    text += none_counts(board)
    text += shares_of_unjudged(board)
    text += rows_left_out(board)
    specs = {name: spec for name, spec in board.specs.items() if name != spec}
    text += [f"{name} = {spec}" for name, spec in specs.items()]
    for row in rows:
        if not row["rank"] and row["status"] == DONE:
            text.append(f"{row['ranker']} has no value of {first}.")
        elif not row["rank"]:
            missing = [c.fold for c in board.cells if c.ranker == row["ranker"] and not c.values]
            text.append(
                f"{row['status']}: {row['ranker']} ({', '.join(missing)}): {row['message']}"
            )
    text += [f"note: {who}: {note}" for who, note in merge_notes(rows, settings.contestant)]
    return join_lines(text)


def has_rank_intervals(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether ranks are more than the order of the means."""
    known = [row for row in rows if row["rank_low"] is not None]
    return len(known) > 1


def is_adjusted(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether values are missing, so that the order of the means is not that of the systems."""
    return any(row["adjusted_mean"] != row["mean"] for row in rows)


def how_adjusted(board: Leaderboard) -> str:
    """Sentence on what orders a table with missing values."""
    units, contestant = board.settings.unit, board.settings.contestant
    unit = "query" if units == "queries" else units.removesuffix("s")
    return (
        f"{_ADJUSTED}: mean of {board.measures[0]} over the {units} of all {contestant}s, by a fit "
        f"of value = {unit} + {contestant}; it orders the table, unless a test on the {units} of "
        "both contradicts it"
    )


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


def shares_of_unjudged(board: Leaderboard) -> list[str]:
    """A line on the unjudged documents behind each measure, if there are any."""
    shares = []
    for name in board.measures:
        found = [board.unjudged(ranker, name) for ranker in board.rankers]
        known = [share for share in found if share is not None]
        if max(known, default=0.0) > 0:
            ends = dict.fromkeys([f"{min(known):.1%}", f"{max(known):.1%}"])
            between = " to ".join(ends)
            cutoff = getattr(parse(board.specs[name]), "cutoff", None)
            read = "all ranks" if cutoff is None else f"the first {cutoff}"
            shares.append(f"{name} {between} of {read}")
    if not shares:
        return []
    return [f"Unjudged documents count as not relevant: {', '.join(shares)}."]


def rows_left_out(board: Leaderboard) -> list[str]:
    """A line on training rows without a judgement, if there are any."""
    n = sum(info.n_unjudged for info in board.fold_infos)
    if not n:
        return []
    n_all = n + sum(info.n_train for info in board.fold_infos)
    parts = "training part" if len(board.folds) == 1 else "training parts"
    return [
        f"Rankers were fitted on judged rows only: {n} of {n_all} rows of the {parts} are unjudged."
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


def _describe_strata(board: Leaderboard) -> str:
    n = len(board.folds)
    if is_fitted(board.settings):
        return f" in {n} fold{'s' if n > 1 else ''}"
    return f" in {n} strata" if n > 1 else ""


def how_tested(settings: Settings) -> str:
    """Phrase for the test and its correction over all pairs."""
    return _how(settings, f"all pairs of {settings.contestant}s")


def how_tested_against_baseline(settings: Settings) -> str:
    """Phrase for the test and its correction over the pairs with the baseline."""
    return _how(settings, "all pairs with the baseline")


def _how(settings: Settings, pairs: str) -> str:
    correction = settings.correction or ""
    if correction == "max-t":
        return f"max-t sign-flip test over {pairs}"
    test = _TESTS.get(settings.test, settings.test)
    return f"paired {test} test, {_CORRECTED[correction]} over {pairs}"


def joint_interval(settings: Settings) -> str:
    """Phrase for the interval of a difference to the best."""
    kind = "interval" if settings.correction == "max-t" else "t interval by Bonferroni"
    return f"joint {_level(settings)} {kind}"


def queries_that_count(board: Leaderboard) -> str:
    """In parentheses, the number of counted queries of every measure, if some do not count."""
    counts = {name: board.n_counted(name) for name in board.measures}
    told = any(n < len(board.qids) for n in counts.values())
    fewer = [f"{n} for {name}" for name, n in counts.items() if told]
    return f" ({', '.join(fewer).replace(' for', ' count for', 1)})" if fewer else ""


def none_counts(board: Leaderboard) -> list[str]:
    """A line for every measure for which no query counts."""
    reasons = {name: board.why_undefined(name) for name in board.measures}
    return [f"{name}: no query counts, since {why}." for name, why in reasons.items() if why]


def recall_of_rows(board: Leaderboard) -> list[str]:
    """Line on the share of relevant documents that could be found; empty if it is unknown."""
    if board.recall is None:
        return []
    return [
        f"{board.recall:.4f} of the relevant documents are among the rows (mean over queries); the "
        "others count as missed."
    ]


def _level(settings: Settings) -> str:
    return f"{100 * settings.confidence:g} %"


_TESTS = {"t": "t", "wilcoxon": "Wilcoxon", "randomisation": "randomisation"}
_CORRECTED = {
    "holm": "Holm-corrected",
    "bonferroni": "Bonferroni-corrected",
    "benjamini-hochberg": "Benjamini-Hochberg-corrected (false discovery rate)",
}


def _interval_of_difference(row: dict[str, Any]) -> str:
    if row["diff_low"] is None or row["diff_high"] is None:  # as far as any value, or none
        return "not bounded"
    return f"{row['diff_low']:+.4f} to {row['diff_high']:+.4f}"


def _not_separable(rows: list[dict[str, Any]], settings: Settings) -> list[str]:
    """Line of the rankers that may be as good as the best, with differences and intervals."""
    found = [
        f"{row['ranker']} ({row['diff']:+.4f}, {_interval_of_difference(row)})"
        for row in rows
        if row["separable"] is False
    ]
    if not found:
        return []
    more = len(found) - _MOST_NAMED
    named = ", ".join(found[:_MOST_NAMED]) + (f", and {more} more" if more > 0 else "")
    return [
        f"Not separable from the best, p >= {1 - settings.confidence:g} (difference, "
        f"{joint_interval(settings)}): {named}."
    ]


def what_can_be_seen(board: Leaderboard) -> list[str]:
    """Line with the difference that the queries suffice to find; empty if it is unknown."""
    n, unit = len(board.qids), board.settings.unit
    few = [
        f"Few {unit}: what happens in one of ten may be missing among {n}; p, ranks and intervals "
        "cannot be relied on if such a case would decide."
    ]
    few = few if n < FEW_QUERIES and len(board.rankers) > 1 else []
    # Further queries would not help against runs that differ.
    found = None if board.run_errors else board.detectable_difference()
    if found is None:
        return few
    return [
        *few,
        f"With these {len(board.qids)} {board.settings.unit}, a difference of {found:.2g} is found "
        f"with probability 0.8 (median pair of {board.settings.contestant}s"
        f"{spread_is_rough(len(board.qids))}).",
    ]


def _select_cells(line: list[str], places: list[int]) -> list[str]:
    return [line[place] for place in places]


def _list_against_baseline(
    board: Leaderboard, rows: list[dict[str, Any]], width: int | None
) -> list[str]:
    """Table of the differences to the baseline, between empty lines."""
    baseline, first = board.settings.baseline, board.measures[0]
    if baseline is None:
        return []
    found = [(row, row["against_baseline"].get(first)) for row in rows if row["rank"]]
    lines = [
        [
            "",
            row["ranker"],
            _number(difference["diff"], "+.4f"),
            _NONE
            if difference["diff_low"] is None
            else f"{difference['diff_low']:+.4f} to {difference['diff_high']:+.4f}",
            p_value(difference["p_corrected"]),
            *(str(difference[what]) for what in ("wins", "ties", "losses")),
        ]
        for row, difference in found
        if difference is not None and row["ranker"] != baseline
    ]
    if not lines:
        return ["", f"Nothing is tested against the baseline {baseline}: too little finished.", ""]
    counts = ["better", "equal", "worse"]
    header = ["", board.settings.contestant, "difference", "interval", "p", *counts]
    table, hidden = _fit_width(None if width is None else width + 2, [header, *lines], counts[::-1])
    return [
        "",
        f"Against the baseline {baseline}, {first}:",
        "",
        *(line.removeprefix("  ") for line in table),
        "",
        f"interval: {joint_interval(board.settings)}. p: "
        f"{how_tested_against_baseline(board.settings)}."
        + ("" if {*counts} <= {*hidden} else f" better, equal, worse: {board.settings.unit}."),
    ]


def _sides(row: dict[str, Any], name: str) -> list[float]:
    """Distances of the ends of an interval from its mean: unequal near the ends of the measure."""
    low, mean, high = (row["measures"][name][what] for what in ("low", "mean", "high"))
    return [] if low is None else [mean - low, high - mean]


def _side(rows: list[dict[str, Any]], measures: list[str]) -> str:
    sides = [_sides(row, name) for row in rows if row["rank"] for name in measures]
    return "the longer side" if any(abs(s[0] - s[1]) > 5e-5 for s in sides if s) else "half"


def _cells(row: dict[str, Any], measures: list[str]) -> list[str]:
    means = []
    for name in measures:
        mean, sides = row["measures"][name]["mean"], _sides(row, name)
        means.append(_number(mean, ".4f") + (f" ± {max(sides):.4f}" if sides else ""))
    memory = row["memory_bytes"]
    return [
        str(row["rank"]),
        row["ranker"],
        *means,
        _number(row["adjusted_mean"], ".4f"),
        _number(row["diff"] or None, "+.4f"),
        p_value(row["p_corrected"]),
        ranks_text(row),
        _number(row["fit_seconds"], ".3f"),
        _number(row["predict_seconds"], ".4f"),
        _number(None if memory is None else memory / _MEGABYTE, ".0f"),
    ]


def _number(value: float | None, form: str) -> str:
    return _NONE if value is None else format(value, form)


def ranks_text(row: Mapping[str, Any]) -> str:
    """Interval of a rank, such as "1–3", or one number if it is certain."""
    low, high = row["rank_low"], row["rank_high"]
    if low is None:
        return _NONE
    return str(low) if low == high else f"{low}–{high}"


def p_value(p: float | None) -> str:
    """Format with three digits, or as "< 0.001"."""
    if p is None:
        return _NONE
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _fit_width(
    width: int | None, lines: list[list[str]], dispensable: list[str]
) -> tuple[list[str], list[str]]:
    """Aligned lines that fit the width, and the names of the columns left out."""
    hidden: list[str] = []
    lines = [[escape_hidden(cell) for cell in line] for line in lines]
    while True:
        kept = [place for place, name in enumerate(lines[0]) if name not in hidden]
        table = _align_columns([[line[place] for place in kept] for line in lines])
        rest = dispensable[len(hidden) :]
        if width is None or not rest or max(map(len, table)) <= width:
            return table, hidden[::-1]
        hidden.append(rest[0])


def _align_columns(lines: list[list[str]]) -> list[str]:
    """Aligned columns: names to the left, numbers to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    ruled = [lines[0], ["-" * width for width in widths], *lines[1:]]
    return [
        "  ".join(
            cell.ljust(width) if number == 1 else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in ruled
    ]
