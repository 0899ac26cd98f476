"""Plots of a comparison: curves over cut-offs, per-query differences, regularisation paths.

Each function returns a new :class:`matplotlib.figure.Figure` (no pyplot state), or None if the
leaderboard has nothing to draw. Save it with ``figure.savefig("curves.svg")``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from rankwise.report.axes import FONT, WIDTH, panels, style
from rankwise.report.colours import light, series
from rankwise.report.line_plots import chart_height, draw_lines, name_ends
from rankwise.report.series import (
    Curves,
    Differences,
    RegularisationPath,
    curves,
    differences,
    paths,
)
from rankwise.runtime.shown_text import escape_figure
from rankwise.typing import Float64Array

if TYPE_CHECKING:
    from rankwise.selection import Leaderboard

_MOST_PANELS = 12
_MOST_STEPS = 400


def plot_curves(board: Leaderboard) -> Figure | None:
    """Plot a measure against its cut-off, one line per ranker.

    With more than eight rankers, only the best and the baseline have colours.

    Parameters
    ----------
    board : Leaderboard
        Leaderboard whose cells hold one measure at three or more cut-offs, e.g. from
        ``measures=[f"nDCG@{k}" for k in range(1, 11)]``.
    """
    found = curves(board)
    return None if found is None else _draw_curves(found)


def plot_differences(board: Leaderboard, measure: str | None = None) -> Figure | None:
    """Plot the sorted differences of every ranker to the best, query by query.

    Parameters
    ----------
    board : Leaderboard
    measure : str, optional
        Measure to plot (default: the first).
    """
    measure = board.measures[0] if measure is None else measure
    found = differences(board, measure)[:_MOST_PANELS]
    return _draw_differences(found, measure) if found else None


def plot_paths(board: Leaderboard) -> Figure | None:
    """Plot the validation score along the penalty: a thin line per fold, a dot at its choice."""
    found = paths(board)[:_MOST_PANELS]
    return _draw_paths(found) if found else None


def _draw_curves(found: Curves) -> Figure:
    figure = Figure(figsize=(WIDTH, chart_height(len(found.means))), layout="constrained")
    axes = figure.subplots()
    drawn = draw_lines(axes, found.cutoffs, found.means, found.highlighted)
    axes.set_xticks(found.cutoffs)
    axes.set_xlabel("cut-off k")
    axes.set_ylabel(escape_figure(f"{found.name}@k"))
    style(axes)
    name_ends(axes, found.cutoffs, found.means, drawn)
    return figure


def _draw_differences(found: list[Differences], measure: str) -> Figure:
    figure, grid = panels(len(found), height=1.9)
    limit = max(float(np.abs(difference.values).max(initial=0.0)) for difference in found) or 1.0
    for axes, difference in zip(grid, found, strict=False):
        values, edges = step_line(difference.values)
        for what, kept in (("better", values > 0), ("worse", values < 0)):
            if kept.any():
                ends = edges[:-1][kept].min(), edges[1:][kept].max()
                inside = (edges >= ends[0]) & (edges <= ends[1])
                axes.stairs(values[kept], edges[inside], fill=True, color=light(what), linewidth=0)
        axes.axhline(0, color=light("ink"), linewidth=0.8)
        axes.set_title(
            escape_figure(difference.ranker), fontsize=FONT, loc="left", color=light("ink")
        )
        axes.set_ylim(-1.05 * limit, 1.05 * limit)
        axes.set_xlim(0, max(len(difference.values), 1))
        axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.text(
            0.97, 0.95, f"better on {difference.better}", transform=axes.transAxes, ha="right",
            va="top", fontsize=FONT - 1, color=light("better"),
        )  # fmt: skip
        axes.text(
            0.03, 0.05, f"worse on {difference.worse}", transform=axes.transAxes, ha="left",
            va="bottom", fontsize=FONT - 1, color=light("worse"),
        )  # fmt: skip
        style(axes)
    figure.supylabel(
        escape_figure(f"{measure} minus the best's"), fontsize=FONT, color=light("ink")
    )
    figure.supxlabel("queries, sorted", fontsize=FONT, color=light("ink"))
    return figure


def step_line(values: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Heights and edges of a step line; many queries are reduced to quantiles."""
    n = len(values)
    kept = np.arange(n) if n <= _MOST_STEPS else np.linspace(0, n - 1, _MOST_STEPS).astype(int)
    return values[kept], np.append(kept, n).astype(np.float64)


def _draw_paths(found: list[RegularisationPath]) -> Figure:
    figure, grid = panels(len(found), height=2.1)
    for number, (axes, path) in enumerate(zip(grid, found, strict=False)):
        colour = series(number)
        for fold, scores in path.scores.items():
            axes.plot(path.values, scores, color=light("muted"), linewidth=0.7, alpha=0.75)
            chosen = path.chosen.get(fold)
            if chosen is not None and chosen in path.values:
                axes.plot(
                    [chosen], [scores[path.values == chosen][0]], "o", markersize=4, color=colour
                )
        axes.plot(path.values, _mean_over_folds(path), color=colour, linewidth=2.0)
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(10, numticks=5))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_title(escape_figure(path.ranker), fontsize=FONT, loc="left", color=light("ink"))
        axes.set_xlabel(escape_figure(path.parameter))
        style(axes)
    figure.supylabel("validation score", fontsize=FONT, color=light("ink"))
    return figure


def _mean_over_folds(path: RegularisationPath) -> Float64Array:
    """Mean over the folds that have a value; NaN if none has."""
    scores = np.array(list(path.scores.values()))
    known = ~np.isnan(scores)
    count = known.sum(axis=0)
    total = np.where(known, scores, 0.0).sum(axis=0)
    return np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0)
