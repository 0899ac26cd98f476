"""Leaderboards as tables of papers and pages: LaTeX, Markdown, CSV."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from rankwise.runtime.shown_text import escape_spreadsheet, escape_table
from rankwise.selection.leaderboard_text import (
    has_rank_intervals,
    how_adjusted,
    how_tested,
    how_tested_against_baseline,
    is_adjusted,
    merge_notes,
    queries_that_count,
    ranks_text,
)

if TYPE_CHECKING:
    from rankwise.selection.leaderboard import Leaderboard

FORMATS = {"latex": ".tex", "markdown": ".md", "csv": ".csv"}
_BETTER = {"latex": r"$^{\uparrow}$", "markdown": " ↑"}
_WORSE = {"latex": r"$^{\downarrow}$", "markdown": " ↓"}


def leaderboard_table(board: Leaderboard, form: str, digits: int = 4) -> str:
    """Table of a leaderboard; systems that are significantly worse than the best are marked.

    "latex" needs the package booktabs; its caption and the line below the table in "markdown"
    define marks and intervals. "csv" has all numbers of :meth:`Leaderboard.rows` in full precision,
    and no marks. ``digits`` are decimals of means.
    """
    if form not in FORMATS:
        raise ValueError(f"form must be one of {list(FORMATS)}, got {form!r}.")
    if not isinstance(digits, int) or digits < 0:
        raise ValueError(f"digits must be a whole number >= 0, got {digits!r}.")
    rows = [row for row in board.rows() if row["rank"]]
    if form == "csv":
        return _csv(board, rows)
    header = ["", board.settings.contestant, *board.measures]
    lines = [_line(row, board.measures, form, digits) for row in rows]
    if is_adjusted(rows):
        header.append("adjusted")
        for row, line in zip(rows, lines, strict=True):
            line.append(f"{row['adjusted_mean']:.{digits}f}")
    if has_rank_intervals(rows):
        header.append("ranks")
        for row, line in zip(rows, lines, strict=True):
            line.append(ranks_text(row))
    if board.settings.baseline is not None:
        header.append(f"to {board.settings.baseline}")
        for row, line in zip(rows, lines, strict=True):
            line.append(_list_to_baseline(board, row, form, digits))
    return (_latex if form == "latex" else _markdown)(header, lines, _caption(board, form, rows))


def _line(row: dict[str, Any], measures: list[str], form: str, digits: int) -> list[str]:
    cells = [str(row["rank"]), escape_table(row["ranker"], form)]
    for name in measures:
        found = row["measures"][name]
        cell = "–" if found["mean"] is None else f"{found['mean']:.{digits}f}"
        cells.append(cell + (_WORSE[form] if found["separable"] else ""))
    return cells


def _list_to_baseline(board: Leaderboard, row: dict[str, Any], form: str, digits: int) -> str:
    """Difference to the baseline by the first measure, marked if it is significant."""
    found = row["against_baseline"].get(board.measures[0])
    if found is None or found["diff"] is None or row["ranker"] == board.settings.baseline:
        return "–"
    mark = ""
    if found["separable"]:
        is_worse = (found["diff"] < 0) == board.greater_is_better()
        mark = (_WORSE if is_worse else _BETTER)[form]
    return f"{found['diff']:+.{digits}f}{mark}"


def _caption(board: Leaderboard, form: str, rows: list[dict[str, Any]]) -> str:
    settings = board.settings
    level = f"{100 * settings.confidence:g}" + (r"\,\%" if form == "latex" else " %")
    counted = escape_table(queries_that_count(board), form)
    said = [f"Means over {len(board.qids)} {settings.unit}{counted}"]
    if any(found["separable"] for row in rows for found in row["measures"].values()):
        said.append(
            f"{_WORSE[form].strip()}: significantly worse than the best of the column "
            f"({how_tested(settings)}, p < {1 - settings.confidence:g})"
        )
    if has_rank_intervals(rows):
        said.append(
            f"Ranks by {escape_table(board.measures[0], form)}: {level} intervals, which hold "
            "jointly"
        )
    if is_adjusted(rows):
        said.append(escape_table(how_adjusted(board), form))
    if settings.baseline is not None:
        said.append(
            f"To {escape_table(settings.baseline, form)}: difference in "
            f"{escape_table(board.measures[0], form)} ({_BETTER[form].strip()}, "
            f"{_WORSE[form].strip()}: significantly better, worse; "
            f"{how_tested_against_baseline(settings)})"
        )
    notes = [f"{escape_table(who, form)}: {escape_table(note, form)}"
             for who, note in merge_notes(rows, settings.contestant)]  # fmt: skip
    return ". ".join([*said, *notes]) + "."


def _latex(header: list[str], lines: list[list[str]], caption: str) -> str:
    texts = [" & ".join(line).replace("–", "--") + r" \\" for line in lines]
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{caption}}}",
            rf"\begin{{tabular}}{{rl{'r' * (len(header) - 2)}}}",
            r"\toprule",
            " & ".join(escape_table(name, "latex") for name in header) + r" \\",
            r"\midrule",
            *texts,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _markdown(header: list[str], lines: list[list[str]], caption: str) -> str:
    names = [escape_table(name, "markdown") for name in header]
    rule = ["---:", "---", *["---:"] * (len(header) - 2)]
    table = [f"| {' | '.join(cells)} |" for cells in [names, rule, *lines]]
    return "\n".join([*table, "", caption, ""])


def _csv(board: Leaderboard, rows: list[dict[str, Any]]) -> str:
    kept = [
        "mean", "low", "high", "diff", "diff_low", "diff_high", "p", "p_corrected", "rank_low",
        "rank_high", "letters",
    ]  # fmt: skip
    kept += ["adjusted_mean"] if is_adjusted(rows) else []
    kept_against = ["diff", "diff_low", "diff_high", "p_corrected"]
    against = board.measures if board.settings.baseline is not None else []
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    header = [
        "rank",
        board.settings.contestant,
        *(f"{m} {k}" for m in board.measures for k in kept),
        *(f"{m} {k} to {board.settings.baseline}" for m in against for k in kept_against),
    ]
    writer.writerow(map(escape_spreadsheet, header))
    for row in rows:
        cells: list[Any] = [row["rank"], escape_spreadsheet(row["ranker"])]
        cells += [row["measures"][name][what] for name in board.measures for what in kept]
        cells += [row["against_baseline"].get(m, {}).get(k) for m in against for k in kept_against]
        writer.writerow(
            [
                row["rank"],
                escape_spreadsheet(row["ranker"]),
                *("" if c is None else c for c in cells),
            ]
        )
    return out.getvalue()
