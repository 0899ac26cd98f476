"""The page's figures with their captions, and what a screen reader says instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankwise.report import plots, rank_plots
from rankwise.report.ranks import confusions, densities
from rankwise.report.series import Curves, curves, differences, paths
from rankwise.report.svg import inline
from rankwise.report.text import number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rankwise.selection import Leaderboard


@dataclass(frozen=True)
class PageFigure:
    """A drawing with its words; ``curves`` has the numbers where a table can show them."""

    name: str
    heading: str
    svg: str
    caption: str
    curves: Curves | None = None


def figures(board: Leaderboard) -> list[PageFigure]:
    """Those for which the leaderboard has data."""
    made = [_curves(board), _differences(board), _paths(board), _confusion(board), _scores(board)]
    return [figure for figure in made if figure is not None]


def _curves(board: Leaderboard) -> PageFigure | None:
    found = curves(board)
    if found is None:
        return None
    ends = ", ".join(f"{name} {number(means[-1])}" for name, means in found.means.items())
    return _figure(
        "curves",
        f"{found.name} by cut-off",
        plots.plot_curves(board),
        f"Means at cut-off {found.cutoffs[-1]}, best first: {ends}.",
        f"Mean of the fold means of {found.spec} at each cut-off.",
        found,
    )


def _differences(board: Leaderboard) -> PageFigure | None:
    found = differences(board)
    drawn = plots.plot_differences(board)
    if drawn is None:
        return None
    best, measure = board.best, board.measures[0]
    said = "; ".join(
        f"{one.ranker}: better on {one.better}, equal on {one.equal}, worse on {one.worse} queries"
        for one in found
    )
    return _figure(
        "differences",
        "Query by query against the best",
        drawn,
        f"{said}.",
        f"{measure} of each query minus that of {best}, turned so that up is better, sorted. "
        "The white between the two areas is queries on which both are equal.",
    )


def _paths(board: Leaderboard) -> PageFigure | None:
    found = paths(board)
    drawn = plots.plot_paths(board)
    if drawn is None:
        return None
    said = "; ".join(
        f"{path.ranker} chose {path.parameter} "
        + ", ".join(f"{value:.3g} on {fold}" for fold, value in path.chosen.items())
        for path in found
    )
    return _figure(
        "paths",
        "Regularisation paths",
        drawn,
        f"{said}.",
        "Score by which the parameter was chosen, along its grid: a thin line per fold with its "
        "choice as a dot, the mean in colour. The test parts played no role.",
    )


def _confusion(board: Leaderboard) -> PageFigure | None:
    found = confusions(board)
    if not found:
        return None
    said = "; ".join(
        f"{name}: mean absolute rank loss {number(one.mae)}, {100 * one.accuracy:.0f} % right, "
        f"{100 * one.within(1):.0f} % at most one rank off"
        for name, one in found.items()
    )
    return _figure(
        "confusion",
        "Predicted ranks",
        rank_plots.plot_confusion(found),
        f"{said}.",
        "Test rows of all folds by label and predicted rank, in rank order: a cell is as dark as "
        f"its share of the label's rows, right predictions lie on the diagonal. {said}.",
    )


def _scores(board: Leaderboard) -> PageFigure | None:
    found = densities(board)
    if not found:
        return None
    said = "; ".join(
        f"{one.name} cuts at " + ", ".join(f"{value:.3g}" for value in one.thresholds)
        for one in found
    )
    return _figure(
        "thresholds",
        "Scores and thresholds",
        rank_plots.draw_thresholds(found),
        f"{said}.",
        f"Scores of the test rows of {board.folds[0]}, class by class, and the thresholds of the "
        "ordinal estimators between ranks. What lies between a class's own thresholds has the "
        "colour of the right predictions.",
    )


def _figure(
    name: str,
    heading: str,
    drawing: Figure | None,
    said: str,
    caption: str,
    numbers: Curves | None = None,
) -> PageFigure:
    assert drawing is not None
    return PageFigure(name, heading, inline(drawing, name, heading, said), caption, numbers)
