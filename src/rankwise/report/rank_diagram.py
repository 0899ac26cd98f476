"""Ranks of rankers: critical-difference diagram, and the ranks that the tests leave open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from rankwise.metrics.significance import AverageRanks, average_ranks
from rankwise.report.axes import FONT, WIDTH, light, style
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.messages import escape_figure
from rankwise.selection import Leaderboard
from rankwise.selection.standing import has_rank_intervals, joint_interval, level_of, ranks_text
from rankwise.selection.verdict import may_be_best

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# In inches: height of a name, step between bars, height of the axis above them; minimum and
# maximum width for names at each side, and width of a character.
_LINE, _BAR, _HEAD = 0.27, 0.11, 0.62
_SIDES, _CHARACTER = (1.85, 3.1), 0.088
_TIP = 0.05  # of a bar beyond the ranks that it joins


@dataclass(frozen=True, eq=False)
class RankDiagram:
    """Average ranks of the rankers of one or several leaderboards."""

    ranks: AverageRanks
    blocks: str  # unit in which rankers are ranked: "data sets" or "queries"
    measure: str
    left_out: list[str]  # rankers that did not finish everywhere


@names_its_class
def plot_critical_difference(
    boards: Leaderboard | Mapping[str, Leaderboard],
    measure: str | None = None,
    *,
    confidence_level: float = 0.95,
) -> Figure:
    """Plot average ranks on a line; bars join rankers that Nemenyi's test does not separate.

    Parameters
    ----------
    boards : mapping of str to Leaderboard, or Leaderboard
        Leaderboards by name of the data set; the rankers that all of them share are compared. Each
        data set is a block in which rankers are ranked by the mean of the measure, so the test
        generalises to further data sets [1]_. In a single leaderboard, the test queries are the
        blocks, and the test generalises only to further queries of its data set.
    measure : str, optional
        Name of a measure of all leaderboards (default: the first of the first leaderboard).
    confidence_level : float in (0, 1), default=0.95
        Joint level of the test over all pairs of rankers.

    Returns
    -------
    matplotlib.figure.Figure
        Diagram with rank 1, the best, at the left.

    Raises
    ------
    TypeError
        If ``boards`` is neither a Leaderboard nor a mapping to them.
    ValueError
        If fewer than two rankers finished everywhere, there are fewer than two blocks, or a
        leaderboard lacks the measure.

    Notes
    -----
    Ranks and tests: see :func:`rankwise.metrics.significance.average_ranks`. Ranks ignore how far
    apart rankers are; :func:`plot_differences` shows that.

    References
    ----------
    .. [1] Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7 (2006).

    Examples
    --------
    >>> from rankwise import compare
    >>> from rankwise.datasets import load_dataset
    >>> board = compare(["linear_regression", "ridge"], load_dataset("lambdarank"), isolate=False)
    >>> plot_critical_difference(board).savefig("ranks.svg")  # doctest: +SKIP
    """
    return draw_ranks(rank_diagram(boards, measure, confidence_level=confidence_level).ranks)


def rank_diagram(
    boards: Leaderboard | Mapping[str, Leaderboard],
    measure: str | None = None,
    *,
    confidence_level: float = 0.95,
) -> RankDiagram:
    """Numbers shown by :func:`plot_critical_difference`; raises the same errors."""
    named = {"": boards} if isinstance(boards, Leaderboard) else boards
    if not isinstance(named, Mapping) or not all(
        isinstance(board, Leaderboard) for board in named.values()
    ):
        raise TypeError(
            "boards must be a Leaderboard or a mapping from data sets to Leaderboards, got "
            f"{type(boards).__name__}. Pass results of compare."
        )
    if not named:
        raise ValueError(
            "boards must hold at least two Leaderboards, got an empty mapping. Pass "
            '{"name": compare(...), ...}.'
        )
    first = next(iter(named.values()))
    measure = first.measures[0] if measure is None else measure
    for name, board in named.items():
        if measure not in board.specs:
            where = f"the leaderboard of {name!r}" if name else "the leaderboard"
            raise ValueError(
                f"measure must be one that all leaderboards have, got {measure!r}. Measures of "
                f"{where}: {', '.join(board.measures)}."
            )
    finished = {
        name: {row["ranker"]: row["adjusted_mean"] for row in board.rows(measure) if row["rank"]}
        for name, board in named.items()
    }
    everywhere = [r for r in first.rankers if all(r in means for means in finished.values())]
    if len(everywhere) < 2:
        raise ValueError(
            "boards must share at least two rankers that finished on every fold, got "
            f"{', '.join(everywhere) or 'none'}."
        )
    values: dict[str, Any] = {
        ranker: [means[ranker] for means in finished.values()] for ranker in everywhere
    }
    if isinstance(boards, Leaderboard):
        per_query = boards.per_query(measure)
        values = {ranker: per_query[ranker] for ranker in everywhere}
    known = dict.fromkeys(ranker for board in named.values() for ranker in board.rankers)
    return RankDiagram(
        ranks=average_ranks(
            values,
            greater_is_better=first.greater_is_better(measure),
            confidence_level=confidence_level,
        ),
        blocks="queries" if isinstance(boards, Leaderboard) else "data sets",
        measure=measure,
        left_out=[ranker for ranker in known if ranker not in everywhere],
    )


def draw_ranks(found: AverageRanks) -> Figure:
    """Draw the axis, the critical difference above it, names at both sides, bars between."""
    n = len(found.names)
    n_left = -(-n // 2)
    groups = [[found.names.index(name) for name in clique] for clique in found.cliques()]
    depth = 0.16 + _BAR * len(groups)
    height = _HEAD + depth + _LINE * n_left + 0.1
    side = float(np.clip(0.55 + _CHARACTER * max(map(len, found.names)), *_SIDES))
    inch = (n - 1) / (WIDTH - 2 * side)  # in ranks
    figure = Figure(figsize=(WIDTH, height))
    axes = figure.add_axes((side / WIDTH, 0.0, 1 - 2 * side / WIDTH, 1.0))
    axes.set_axis_off()
    axes.set_xlim(1, n)
    axes.set_ylim(height - _HEAD, -_HEAD)  # inches below the axis
    _draw_axis(axes, n, found.critical_difference, inch, n + 0.9 * side * inch)
    for number, group in enumerate(groups):
        y = 0.16 + _BAR * number
        ends = found.ranks[group[0]] - _TIP * inch, found.ranks[group[-1]] + _TIP * inch
        axes.plot(ends, [y, y], color=light("accent"), linewidth=3.2, solid_capstyle="round")
    _draw_names(axes, found, n_left, depth, inch)
    return figure


def _draw_axis(axes: Axes, n: int, critical_difference: float, inch: float, right: float) -> None:
    ink = light("ink")
    _line(axes, [1, n], [0, 0])
    step = -(-n // 16)
    for rank in range(1, n + 1):
        is_named = (rank - 1) % step == 0
        _line(axes, [rank, rank], [0, -0.07 if is_named else -0.04])
        if is_named:
            axes.text(
                rank, -0.1, str(rank), ha="center", va="bottom", fontsize=FONT - 1,
                color=light("muted"),
            )  # fmt: skip
    end, y = 1 + critical_difference, -0.42
    shown = min(end, right)  # the bar may be longer than the axis
    _line(axes, [1, shown], [y, y])
    for x in [1.0, end] if shown == end else [1.0]:
        _line(axes, [x, x], [y - 0.05, y + 0.05])
    for place, text in ((y, f"critical difference {critical_difference:.2f}"), (0, "average rank")):
        axes.text(
            1 - 0.17 * inch, place, text, ha="right", va="center", fontsize=FONT - 1, color=ink
        )


def _line(axes: Axes, x: list[float], y: list[float]) -> None:
    axes.plot(x, y, color=light("ink"), linewidth=1.0, clip_on=False)


def _draw_names(axes: Axes, found: AverageRanks, n_left: int, depth: float, inch: float) -> None:
    """Write the better half at the left, the worse half at the right, outermost ranks on top."""
    n = len(found.names)
    is_close = found.ranks < found.ranks[0] + found.critical_difference
    for place, (name, rank) in enumerate(zip(found.names, found.ranks, strict=True)):
        is_left = place < n_left
        y = depth + _LINE * ((place if is_left else n - 1 - place) + 0.5)
        end = 1 - 0.12 * inch if is_left else n + 0.12 * inch
        axes.plot(
            [rank, rank, end], [0, y, y], color=light("muted"), linewidth=0.9,
            solid_joinstyle="miter", clip_on=False, zorder=1,
        )  # fmt: skip
        axes.text(
            end + (-0.05 if is_left else 0.05) * inch, y,
            escape_figure(f"{name}\u2002{rank:.2f}" if is_left else f"{rank:.2f}\u2002{name}"),
            ha="right" if is_left else "left", va="center", fontsize=FONT,
            color=light("ink" if is_close[place] else "muted"),
            weight="bold" if place == 0 else "normal",
        )  # fmt: skip


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
    if not has_rank_intervals(rows):
        return None
    figure, (axes,) = _draw_rows(rows, ["rank"], [("rank_low", "rank", "rank_high")])
    axes.set_xlim(0.5, len(rows) + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(12, integer=True))
    return figure


def plot_leaderboard(board: Leaderboard, measure: str | None = None) -> Figure | None:
    """Plot every mean and its difference to the best with their intervals, best first.

    Rankers that may be the best are in colour. The intervals of means overlap even where a test
    decides, since all rankers find the same queries hard; the intervals of differences show what
    the test decides.

    Parameters
    ----------
    board : Leaderboard
    measure : str, optional
        Measure to plot (default: the first).

    Returns
    -------
    matplotlib.figure.Figure or None
        None if no ranker finished. Without tests of differences, the figure shows means only.

    Examples
    --------
    >>> from rankwise import leaderboard
    >>> from rankwise.report import plot_leaderboard
    >>> board = leaderboard({"a": [0.5, 0.6, 0.4], "b": [0.4, 0.6, 0.3]})
    >>> plot_leaderboard(board).savefig("leaderboard.svg")  # doctest: +SKIP
    """
    name = board.measures[0] if measure is None else measure
    rows = [row for row in board.rows(name) if row["rank"]]
    if not rows:
        return None
    titles = [f"{name}, {level_of(board.settings)} interval"]
    if any(row["diff_low"] is not None for row in rows):
        titles.append(f"difference to the best, {joint_interval(board.settings)}")
    fields = [("low", "mean", "high"), ("diff_low", "diff", "diff_high")]
    figure, grid = _draw_rows(rows, titles, fields[: len(titles)])
    for axes, at in zip(grid, (rows[0]["mean"], 0.0), strict=False):
        axes.axvline(at, color=light("muted"), linewidth=0.8, zorder=1)
        axes.xaxis.set_major_locator(MaxNLocator(5))
    if has_rank_intervals(rows):
        edge = grid[-1].get_yaxis_transform()
        size = grid[0].get_yticklabels()[0].get_fontsize()
        for place, text in enumerate(["ranks", *map(ranks_text, rows)], start=-1):
            grid[-1].text(1.03, place, text, transform=edge, va="center", fontsize=size,
                          color=light("muted" if place < 0 else "ink"))  # fmt: skip
    return figure


def _draw_rows(
    rows: list[dict[str, Any]], titles: list[str], fields: list[tuple[str, str, str]]
) -> tuple[Figure, list[Axes]]:
    """Panels with one line per row: the ``fields`` low, dot and high of each panel."""
    n = len(rows)
    row_height = float(np.clip(_TALLEST / n, _SMALLEST_ROW, _ROW))
    figure = Figure(figsize=(WIDTH, 0.7 + row_height * n), layout="constrained")
    grid = list(figure.subplots(1, len(titles), squeeze=False, sharey=True).flat)
    is_open = [row in may_be_best(rows) for row in rows]
    size = min(FONT, 72 * row_height * 0.8)
    for axes, title, (low, dot, high) in zip(grid, titles, fields, strict=True):
        for place, row in enumerate(rows):
            colour = light("accent" if is_open[place] else "muted")
            if row[low] is not None and row[high] is not None:
                axes.plot([row[low], row[high]], [place, place], color=colour,
                          solid_capstyle="round", linewidth=min(3.0, 11 * row_height))  # fmt: skip
            if row[dot] is not None:
                axes.plot(row[dot], place, "o", markersize=min(4.0, 16 * row_height),
                          color=light("ink"))  # fmt: skip
        axes.set_xlabel(escape_figure(title))
        style(axes)
        axes.tick_params(axis="y", labelsize=size)
    grid[0].set_yticks(range(n), [escape_figure(row["ranker"]) for row in rows], fontsize=size)
    grid[0].set_ylim(n - 0.4, -0.6)
    return figure, grid
