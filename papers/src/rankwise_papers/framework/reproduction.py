"""Results of an experiment beside the paper's, and their text."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rankwise.runtime.result import Result
from rankwise_papers.framework.experiment import Figure, ResultTable, Value, Verdict

DONE, FAILED, LEFT_OUT = "done", "failed", "left out"
CSV_COLUMNS = (
    "experiment", "table", "row", "column", "ours", "error", "error_is", "paper", "paper_error",
    "source", "tolerance", "verdict", "note",
)  # fmt: skip


@dataclass(frozen=True)
class Outcome(Result):
    """Outcome of one cell.

    Attributes
    ----------
    name : str
    status : str
        "done", "failed" (an exception, in ``message``) or "left out" (its data are missing).
    value : JSON value
        Result of ``run``; None without a result.
    seconds : float or None
        Wall time of the computation.
    message : str
    is_stored : bool
        Whether an earlier run computed the cell.
    is_of_other_code : bool
        Whether another version of the code computed the cell.
    """

    name: str
    status: str
    value: Any = None
    seconds: float | None = None
    message: str = ""
    is_stored: bool = False
    is_of_other_code: bool = False


@dataclass(frozen=True)
class Reproduction(Result):
    """Our values beside the published ones.

    Attributes
    ----------
    key, title, paper : str
    quick : bool
    protocol : str
    outcomes : sequence of Outcome
        Outcomes of all cells, in the experiment's order.
    tables : sequence of Table
    figures : sequence of Figure
    missing : mapping from data set to message
        Missing data sets, with messages that say where to get them.
    n_jobs : int
    versions : dict
    """

    key: str
    title: str
    paper: str
    quick: bool
    protocol: str
    outcomes: Sequence[Outcome]
    tables: Sequence[ResultTable]
    figures: Sequence[Figure] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    n_jobs: int = 1
    versions: Mapping[str, str] = field(default_factory=dict)

    def counts(self, table: ResultTable | None = None) -> dict[str, int]:
        """How often each verdict was given, in the order of :class:`Verdict`, zeros left out."""
        tables = self.tables if table is None else [table]
        found = Counter(value.verdict for table in tables for value in table.values)
        return {verdict.value: found[verdict] for verdict in Verdict if found[verdict]}

    def with_status(self, status: str) -> list[Outcome]:
        """Cells that are done, failed or left out."""
        return [outcome for outcome in self.outcomes if outcome.status == status]

    @property
    def seconds(self) -> float:
        """Wall time of all cells, one after another, whenever they were computed."""
        return sum(outcome.seconds or 0.0 for outcome in self.outcomes)

    def _columns(self) -> dict[str, Any]:
        rows = self.rows()
        return {name: [row[name] for row in rows] for name in CSV_COLUMNS}

    def __str__(self) -> str:
        return reproduction_text(self)

    def rows(self) -> list[dict[str, Any]]:
        """A flat row per value, with the columns of ``CSV_COLUMNS``."""
        return [
            {
                "experiment": self.key,
                "table": table.name,
                "row": value.row,
                "column": value.column,
                "ours": value.ours,
                "error": value.error,
                "error_is": table.error_is if value.error is not None else "",
                "paper": value.paper,
                "paper_error": value.paper_error,
                "source": value.source,
                "tolerance": value.tolerance,
                "verdict": value.verdict.value,
                "note": value.not_evidence or value.note,
            }
            for table in self.tables
            for value in table.values
        ]

    def _values(self) -> dict[str, Any]:
        """Everything but the cells' own values."""
        kept = ("title", "paper", "quick", "seconds", "n_jobs", "versions", "missing", "figures")
        return {"experiment": self.key, "counts": self.counts(), "values": self.rows()} | {
            **{name: getattr(self, name) for name in kept},
            "cells": [
                {name: v for name, v in outcome.to_dict().items() if name != "value"}
                for outcome in self.outcomes
            ],
        }


MARKS = {
    Verdict.MET: "=",
    Verdict.BETTER: "+",
    Verdict.MISSED: "-",
    Verdict.NOT_EVIDENCE: "~",
    Verdict.NO_PAPER: "",
    Verdict.NOT_RUN: "",
}
LEGEND = "= met, + better, - missed, ~ not evidence, no mark: no published value"
WIDTH = 100
KINDS = ("ours", "paper")
_NONE = "–"
_GAP = "  "


def reproduction_text(reproduction: Reproduction, width: int | None = None) -> str:
    """Text of the tables, counts of verdicts and explanations.

    Parameters
    ----------
    reproduction : Reproduction
    width : int or None
        Maximum width; wider tables are split into blocks of columns. None: no limit.
    """
    notes = _Notes()
    tables = [_table(table, reproduction, notes, width) for table in reproduction.tables]
    head = [
        f"{reproduction.key}: {reproduction.title}",
        *_wrap_text(reproduction.paper),
        cells_line(reproduction),
    ]
    parts = ["\n".join(head), *tables]
    if reproduction.tables:
        parts.append(f"{LEGEND}\n{counts_line(reproduction)}")
    if notes.texts:
        listed = (f"[{i}] {text}" for i, text in enumerate(notes.texts, 1))
        parts.append("\n".join(line for text in listed for line in _wrap_text(text, "    ")))
    problems = problem_lines(reproduction)
    if problems:
        parts.append("\n".join(line for text in problems for line in _wrap_text(text, "    ")))
    return "\n\n".join(parts)


def cells_line(reproduction: Reproduction) -> str:
    """Line with the number of cells, their time, and problems."""
    outcomes = reproduction.outcomes
    done = [outcome for outcome in outcomes if outcome.value is not None]
    said = [f"{len(done)} of {len(outcomes)} cells{' (quick run)' if reproduction.quick else ''}"]
    said.append(f"{reproduction.seconds:.0f} s of computing")
    stored = sum(outcome.is_stored for outcome in outcomes)
    if stored:
        said.append(f"{stored} of them in an earlier run")
    other = sum(outcome.is_of_other_code for outcome in outcomes)
    if other:
        said.append(f"{other} by other code than the present")
    return ", ".join(said)


def counts_line(reproduction: Reproduction, table: ResultTable | None = None) -> str:
    """Numbers of each verdict, as a phrase."""
    counts = reproduction.counts(table)
    return ", ".join(f"{n} {verdict}" for verdict, n in counts.items()) or "no values"


def problem_lines(reproduction: Reproduction) -> list[str]:
    """Missing data and failed cells, each as one line."""
    left_out = reproduction.with_status(LEFT_OUT)
    lines = []
    for name, message in reproduction.missing.items():
        n = sum(outcome.message == message for outcome in left_out)
        lines.append(f"{name}: {n} cell{'' if n == 1 else 's'} left out. {message}")
    return lines + [
        f"{outcome.name} failed: {outcome.message}" for outcome in reproduction.with_status(FAILED)
    ]


class _Notes:
    """Footnotes; equal ones are listed once."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def mark(self, value: Value) -> str:
        """Number of the value's note in brackets; "" if there is none."""
        text = value.not_evidence or value.note
        if not text:
            return ""
        if text not in self.texts:
            self.texts.append(text)
        return f"[{self.texts.index(text) + 1}]"


def _table(table: ResultTable, reproduction: Reproduction, notes: _Notes, width: int | None) -> str:
    if all(value.verdict is Verdict.NOT_RUN for value in table.values):
        reasons = dict.fromkeys(value.note for value in table.values if value.note)
        said = f"{counts_line(reproduction, table)}. {' '.join(reasons)}".strip()
        return "\n".join([table.title, *_wrap_text(said)])
    lines = [table.title]
    has_error = any(value.error is not None for value in table.values)
    caption = f"{table.caption} ±: {table.error_is}." if has_error else table.caption
    lines += _wrap_text(caption.strip()) if caption.strip() else []
    lines += ["", *_grid(table, notes, width), counts_line(reproduction, table)]
    return "\n".join(lines)


def _grid(table: ResultTable, notes: _Notes, width: int | None) -> list[str]:
    """Rows of the table, in as many blocks of columns as the width requires."""
    rows = list(dict.fromkeys(value.row for value in table.values))
    columns = list(dict.fromkeys(value.column for value in table.values))
    entries = {(v.row, v.column): _Entry.of(v, table.digits, notes) for v in table.values}
    laid = {name: _lay_out(name, rows, entries) for name in columns}
    label = max(len(row) for row in rows)
    kind = len(_GAP) + max(map(len, KINDS)) if any(v.paper is not None for v in table.values) else 0
    lines: list[str] = []
    for block in _blocks(columns, laid, None if width is None else width - label - kind):
        heads = (_GAP + laid[name].head for name in block)
        lines.append((" " * (label + kind) + "".join(heads)).rstrip())
        for i, row in enumerate(rows):
            for number, name in enumerate(KINDS):
                texts = [laid[column].lines[i][number] for column in block]
                if number == 0 or any(text.strip() for text in texts):
                    start = f"{'' if number else row:{label}}" + (f"{_GAP}{name:5}" if kind else "")
                    lines.append((start + "".join(_GAP + text for text in texts)).rstrip())
        lines.append("")
    return lines


def _blocks(
    columns: Sequence[str], laid: Mapping[str, _Column], width: int | None
) -> list[list[str]]:
    """Split columns into blocks that fit the width, with at least one column each."""
    blocks: list[list[str]] = [[]]
    used = 0
    for column in columns:
        wide = len(_GAP) + len(laid[column].head)
        if width is not None and blocks[-1] and used + wide > width:
            blocks.append([])
            used = 0
        blocks[-1].append(column)
        used += wide
    return blocks


@dataclass(frozen=True)
class _Entry:
    """Number, spread and marks of our value, number and spread of the paper's value."""

    ours: str
    error: str
    marks: str
    paper: str
    paper_error: str

    @classmethod
    def of(cls, value: Value, digits: int, notes: _Notes) -> _Entry:
        spread = [
            "" if error is None else f"±{error:.{digits}f}"
            for error in (value.error, value.paper_error)
        ]
        ours = _NONE if value.ours is None else f"{value.ours:.{digits}f}"
        paper = "" if value.paper is None else f"{value.paper:.{digits}f}"
        marks = f"{MARKS[value.verdict]:1}{notes.mark(value)}"
        return cls(ours, spread[0], marks, paper, spread[1])


@dataclass(frozen=True)
class _Column:
    """Heading and both lines of every row, all of the same width."""

    head: str
    lines: list[tuple[str, str]]


def _lay_out(
    column: str, rows: Sequence[str], entries: Mapping[tuple[str, str], _Entry]
) -> _Column:
    """Align numbers, spreads and marks, with the heading above the numbers."""
    empty = _Entry("", "", "", "", "")
    found = [entries.get((row, column), empty) for row in rows]
    number = max(max(len(entry.ours), len(entry.paper)) for entry in found)
    spread = max(max(len(entry.error), len(entry.paper_error)) for entry in found)
    marks = max(len(entry.marks) for entry in found)
    ours = [
        f"{entry.ours:>{number}}{entry.error:<{spread}} {entry.marks:<{marks}}" for entry in found
    ]
    paper = [
        f"{entry.paper:>{number}}{entry.paper_error:<{spread}} {'':{marks}}" for entry in found
    ]
    wide = max(len(column), *map(len, ours))
    head = f"{column:>{number + spread}}".ljust(wide) if len(column) < wide else column
    lines = [(a.rjust(wide), b.rjust(wide)) for a, b in zip(ours, paper, strict=True)]
    return _Column(head, lines)


def _wrap_text(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
