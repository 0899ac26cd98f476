"""Plot of the ranks that the tests leave open, one line per ranker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from rankwise.report.axes import FONT, WIDTH, style
from rankwise.report.colours import light
from rankwise.runtime.shown_text import escape_figure
from rankwise.selection.leaderboard_text import has_rank_intervals

if TYPE_CHECKING:
    from rankwise.selection import Leaderboard

# Inches per ranker; less for many, whose names then have a smaller font.
_ROW, _SMALLEST_ROW, _TALLEST = 0.26, 0.115, 14.0


def plot_rank_intervals(board: Leaderboard, measure: str | None = None) -> Figure | None:
    """Plot the joint interval of every rank, best first; a dot marks the order of the means.

    Parameters
    ----------
    board : Leaderboard
    measure : str, optional
        Measure to plot (default: the first).

    Returns
    -------
    matplotlib.figure.Figure or None
        None if the correction leaves ranks open, or there are fewer than two rankers.

    Examples
    --------
    >>> from rankwise import leaderboard
    >>> board = leaderboard({"a": [0.5, 0.6, 0.4], "b": [0.4, 0.6, 0.3]})
    >>> plot_rank_intervals(board).savefig("ranks.svg")  # doctest: +SKIP
    """
    rows = [row for row in board.rows(measure) if row["rank"]]
    return _draw(rows) if has_rank_intervals(rows) else None


def _draw(rows: list[dict[str, Any]]) -> Figure:
    n = len(rows)
    row_height = float(np.clip(_TALLEST / n, _SMALLEST_ROW, _ROW))
    figure = Figure(figsize=(WIDTH, 0.7 + row_height * n), layout="constrained")
    axes = figure.subplots()
    at = np.arange(n)
    for place, row in enumerate(rows):
        is_open = row["rank_low"] == 1
        axes.plot(
            [row["rank_low"], row["rank_high"]], [place, place], solid_capstyle="round",
            linewidth=min(3.0, 11 * row_height), color=light("accent" if is_open else "muted"),
        )  # fmt: skip
    axes.plot(
        [row["rank"] for row in rows], at, "o", markersize=min(4.0, 16 * row_height),
        color=light("ink"),
    )  # fmt: skip
    size = min(FONT, 72 * row_height * 0.8)
    axes.set_yticks(at, [escape_figure(row["ranker"]) for row in rows], fontsize=size)
    axes.set_ylim(n - 0.4, -0.6)
    axes.set_xlim(0.5, n + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(12, integer=True))
    axes.set_xlabel("rank")
    style(axes)
    axes.tick_params(axis="y", labelsize=size)
    return figure
