"""Self-contained HTML page of a reproduction, in the format of a comparison's report."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rankwise.experiments.experiment import Figure, ResultTable, Value, Verdict
from rankwise.experiments.reproduction import CSV_COLUMNS, Reproduction
from rankwise.experiments.reproduction_plots import plot_figure, plot_table
from rankwise.experiments.reproduction_text import cells_line, counts_line, problem_lines
from rankwise.report.page import render
from rankwise.report.svg import inline
from rankwise.runtime.output import write_file

_KINDS = {
    Verdict.MET: "met",
    Verdict.BETTER: "better",
    Verdict.MISSED: "missed",
    Verdict.NOT_EVIDENCE: "doubtful",
    Verdict.NO_PAPER: "",
    Verdict.NOT_RUN: "",
}


def write_page(reproduction: Reproduction, path: str | Path, command: str = "") -> Path:
    """Write tables, plots, explanations and the protocol as one page.

    Parameters
    ----------
    reproduction : Reproduction
        Results to show.
    path : path-like
        File to write; a missing folder is created.
    command : str
        Command that reproduces the page.

    Returns
    -------
    Path
        Path of the page.
    """
    path = Path(path)
    notes: list[str] = []
    tables = [_table(table, reproduction, notes) for table in reproduction.tables]
    page = render(
        "reproduction.html.j2",
        {
            "one": reproduction,
            "cells": cells_line(reproduction),
            "counts": counts_line(reproduction),
            "tables": tables,
            "figures": [_figure(figure) for figure in reproduction.figures],
            "notes": notes,
            "problems": problem_lines(reproduction),
            "protocol": list(_paragraphs(reproduction.protocol)),
            "command": command,
        },
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, page.encode())
    return path


def write_csv(reproduction: Reproduction, path: str | Path) -> Path:
    """Write one CSV row per value: ours, the paper's, source, tolerance, verdict, explanation."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    columns: list[str] = list(CSV_COLUMNS)
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns)
    writer.writeheader()
    writer.writerows(reproduction.rows())
    write_file(path, text.getvalue().encode())
    return path


def _table(table: ResultTable, reproduction: Reproduction, notes: list[str]) -> dict[str, Any]:
    rows = list(dict.fromkeys(value.row for value in table.values))
    columns = list(dict.fromkeys(value.column for value in table.values))
    entries = {(v.row, v.column): _entry(v, table, notes) for v in table.values}
    drawing = plot_table(table)
    counts = counts_line(reproduction, table)
    has_error = any(value.error is not None for value in table.values)
    return {
        "name": table.name,
        "title": table.title,
        "caption": table.caption,
        "error_is": table.error_is if has_error else "",
        "columns": columns,
        "rows": [(row, [entries.get((row, column)) for column in columns]) for row in rows],
        "counts": counts,
        "has_paper": any(value.paper is not None for value in table.values),
        "plot": None
        if drawing is None
        else inline(drawing, f"plot-{table.name}", table.title, f"{counts}."),
    }


def _entry(value: Value, table: ResultTable, notes: list[str]) -> dict[str, Any]:
    text = value.not_evidence or value.note
    if text and text not in notes:
        notes.append(text)
    said = [value.verdict.value, value.source]
    if value.tolerance is not None:
        said.append(f"tolerance {value.tolerance:.{table.digits + 1}g}")
    return {
        "ours": value.ours,
        "error": value.error,
        "paper": value.paper,
        "paper_error": value.paper_error,
        "digits": table.digits,
        "kind": _KINDS[value.verdict],
        "said": ", ".join(text for text in said if text),
        "note": notes.index(text) + 1 if text else None,
    }


def _figure(figure: Figure) -> dict[str, Any]:
    ends = "; ".join(
        f"{line.label} ends at {line.ours[-1]:.4g}" for line in figure.series if line.ours
    )
    return {
        "name": figure.name,
        "title": figure.title,
        "caption": figure.caption,
        "svg": inline(plot_figure(figure), f"figure-{figure.name}", figure.title, f"{ends}."),
    }


def _paragraphs(text: str) -> Iterator[tuple[str, list[str]]]:
    """Parse plain markdown; yield ("p", [text]), ("h", [text]) or ("ul", items)."""
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = block.strip().splitlines()
        if lines[0].startswith("#"):
            yield "h", [lines[0].lstrip("# ")]
        elif lines[0].startswith("- "):
            items = re.split(r"(?:^|\n)- ", block.strip())
            yield "ul", [" ".join(item.split()) for item in items if item.strip()]
        else:
            yield "p", [" ".join(block.split())]
