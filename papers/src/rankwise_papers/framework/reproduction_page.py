"""Self-contained HTML page of a reproduction, in the format of a comparison's report."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import MaxNLocator

from rankwise.report.axes import FONT, MARKERS, N_SERIES, WIDTH, light, panels, series, style
from rankwise.report.page import inline, render
from rankwise.runtime.files import write_file
from rankwise.runtime.messages import escape_spreadsheet
from rankwise_papers.framework.experiment import Figure, ResultTable, Series, Value, Verdict
from rankwise_papers.framework.reproduction import (
    CSV_COLUMNS,
    Reproduction,
    cells_line,
    counts_line,
    problem_lines,
)

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
        package="rankwise_papers.framework",
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
    rows = ({k: escape_spreadsheet(v) for k, v in row.items()} for row in reproduction.rows())
    writer.writerows(rows)
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


if TYPE_CHECKING:
    from matplotlib.axes import Axes

_REACH = 5.0  # tolerances; values further out are drawn at the edge
_ACROSS = 4
_COLOURS = {
    Verdict.MET: "ink",
    Verdict.BETTER: "better",
    Verdict.MISSED: "worse",
    Verdict.NOT_EVIDENCE: "muted",
}


def plot_table(table: ResultTable) -> Drawing | None:
    """Plot our values minus the paper's in units of the tolerance, one panel per column.

    Right is better. The band marks values that count as met; bars show ± of ours. Returns None if
    no values are comparable.
    """
    shown = [v for v in table.values if v.verdict in _COLOURS]
    if not shown:
        return None
    rows = list(dict.fromkeys(value.row for value in shown))
    columns = list(dict.fromkeys(value.column for value in shown))
    figure, grid = panels(len(columns), 0.45 + 0.19 * len(rows), _ACROSS, share_y=True)
    for i, (axes, column) in enumerate(zip(grid, columns, strict=False)):
        axes.axvspan(-1, 1, color=light("soft"), zorder=0)
        axes.axvline(0, color=light("rule"), linewidth=1)
        for value in shown:
            if value.column == column:
                _draw_value(axes, value, rows.index(value.row))
        axes.set_title(column, fontsize=FONT, loc="left", color=light("ink"))
        axes.set_xlim(-_REACH - 0.4, _REACH + 0.4)
        axes.set_xticks([-4, -2, 0, 2, 4])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_yticks(range(len(rows)), rows)
        axes.tick_params(axis="y", labelleft=i % _ACROSS == 0)
        style(axes)
    figure.supxlabel(
        "ours minus the paper's, in tolerances; right is better", fontsize=FONT, color=light("ink")
    )
    return figure


def _draw_value(axes: Axes, value: Value, row: int) -> None:
    assert value.ours is not None and value.paper is not None and value.tolerance is not None
    unit = value.tolerance or np.finfo(float).tiny
    turn = -1.0 if value.larger_is_better is False else 1.0
    difference = turn * (value.ours - value.paper) / unit
    at = float(np.clip(difference, -_REACH, _REACH))
    marker = "o" if at == difference else ("<" if at < 0 else ">")
    colour = light(_COLOURS[value.verdict])
    if value.error is not None and marker == "o":
        ends = np.clip([at - value.error / unit, at + value.error / unit], -_REACH, _REACH)
        axes.plot(ends, [row, row], color=colour, linewidth=1.2)
    face = light("paper") if value.verdict is Verdict.NOT_EVIDENCE else colour
    axes.plot([at], [row], marker, color=colour, markerfacecolor=face, markersize=5)


def plot_figure(figure: Figure) -> Drawing:
    """Plot lines against x: ours solid with a band of ±, the paper's dashed."""
    drawing = Drawing(figsize=(WIDTH, 3.9), layout="constrained")
    axes = drawing.subplots()
    for number, line in enumerate(figure.series):
        _draw_series(axes, line, number)
    if figure.log_x:
        axes.set_xscale("log")
    else:
        axes.xaxis.set_major_locator(MaxNLocator(8))
    axes.set_xlabel(figure.x_label)
    axes.set_ylabel(figure.y_label)
    style(axes)
    axes.legend(
        frameon=False, fontsize=FONT - 1, labelcolor=light("ink"),
        loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0,
    )  # fmt: skip
    return drawing


def _draw_series(axes: Axes, line: Series, number: int) -> None:
    colour = series(number)
    look = {
        "color": colour,
        "marker": MARKERS[number] if number < N_SERIES else "",
        "markersize": 4.5,
        "linewidth": 1.8,
    }
    if line.ours is not None:
        axes.plot(line.x, line.ours, label=line.label, **look)
        if line.error is not None:
            low, high = _band(line.ours, line.error)
            axes.fill_between(line.x, low, high, color=colour, alpha=0.15, linewidth=0)
    if line.paper is not None:
        dashed = look | {"linestyle": "--", "linewidth": 1.2, "markerfacecolor": light("paper")}
        axes.plot(line.x, line.paper, label=f"{line.label}, paper", **dashed)


def _band(ours: Sequence[float], error: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    middle, half = np.asarray(ours, dtype=np.float64), np.asarray(error, dtype=np.float64)
    return middle - half, middle + half
