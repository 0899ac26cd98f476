"""Plots of a reproduction: differences from the paper in tolerances, and the paper's figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import MaxNLocator

from rankwise.experiments.experiment import Figure, ResultTable, Series, Value, Verdict
from rankwise.report.axes import FONT, WIDTH, panels, style
from rankwise.report.colours import MARKERS, N_SERIES, light, series

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
