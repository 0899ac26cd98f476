"""Figures of the page, with captions and descriptions for screen readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rankwise import fusion
from rankwise.report import ordinal_plots as rank_plots
from rankwise.report import plots
from rankwise.report.axes import Look, looks
from rankwise.report.model_plots import plot_feature_effect
from rankwise.report.ordinal_plots import calibrations, confusions, densities, plot_calibration
from rankwise.report.page import count, inline, number
from rankwise.report.plots import curves, differences, draw_growth, growth, paths
from rankwise.report.rank_diagram import RankDiagram, draw_ranks, plot_rank_intervals, rank_diagram
from rankwise.selection.standing import p_value, ranks_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rankwise.explain import FeatureEffect
    from rankwise.selection import Leaderboard, LearningCurve

_FEWEST_RANKED = 3


@dataclass(frozen=True, eq=False)
class Further:
    """Optional content of a page beside the leaderboard."""

    boards: Mapping[str, Leaderboard] | None = None  # by name of the data set
    learning_curve: LearningCurve | fusion.JudgementCurve | None = None
    feature_effects: Sequence[FeatureEffect] = ()


@dataclass(frozen=True)
class PageFigure:
    """A figure of the page with its texts."""

    name: str
    heading: str
    svg: str
    caption: str
    table: NumberTable | None = None  # numbers of the figure, if a table can show them
    # names and styles of lines, shown below the drawing if the page is narrow
    legend: list[tuple[str, Look]] = field(default_factory=list)


@dataclass(frozen=True)
class NumberTable:
    """Numbers of the lines of a figure, one row per line."""

    columns: list[str]
    rows: dict[str, list[float]]


def figures(board: Leaderboard, further: Further) -> list[PageFigure]:
    """Figures of the leaderboard and of further results, as far as there are data for them."""
    made = [
        _curves(board),
        _rank_intervals(board),
        _differences(board),
        _ranks(board),
        None if not further.boards else _ranks_over(further.boards),
        None if further.learning_curve is None else _learning(further.learning_curve),
        _effects(further.feature_effects) if further.feature_effects else None,
        _paths(board),
        _confusion(board),
        _scores(board),
        _calibration(board),
    ]
    return [figure for figure in made if figure is not None]


def _learning(curve: LearningCurve | fusion.JudgementCurve) -> PageFigure:
    found = growth(curve)
    first, last = found.sizes[0], found.sizes[-1]
    said = "; ".join(
        f"{name} {number(means[0])} with {first} and {number(means[-1])} with {last} queries"
        for name, means in found.means.items()
    )
    of_draws = isinstance(curve, fusion.JudgementCurve)
    what = "the middle 95\u00a0% of the draws" if of_draws else "intervals over test queries"
    return _figure(
        "learning-curve",
        "Learning curves",
        draw_growth(found),
        f"{found.measure}, best first: {said}.",
        f"{found.measure} by the number of training queries; a larger set contains the smaller "
        f"ones. The test queries are the same at every size. Vertical lines show {what}.",
        NumberTable(
            [f"{size}" for size in found.sizes],
            {name: means.tolist() for name, means in found.means.items()},
        ),
        _legend(list(found.means), found.highlighted),
    )


def _effects(effects: Sequence[FeatureEffect]) -> PageFigure:
    said = "; ".join(
        f"{effect.name} from {number(effect.mean[0], 2)} to {number(effect.mean[-1], 2)}, "
        f"at most {number(effect.mean.max(), 2)}"
        for effect in effects
    )
    return _figure(
        "feature-effects",
        "Feature effects",
        plot_feature_effect(effects),
        f"Share of the other documents of its query that a document outranks: {said}.",
        "Share of the other documents of its query that a document outranks if only this feature "
        "is changed. Dots mark the values tried, and the band covers the middle half of the "
        "queries. A feature that the model ignores stays at 0.5.",
    )


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
        NumberTable([f"@{k}" for k in found.cutoffs], found.means),
        _legend(list(found.means), found.highlighted),
    )


def _legend(names: list[str], highlighted: list[str]) -> list[tuple[str, Look]]:
    """Names and styles of the lines with a colour of their own."""
    return [(name, look) for name, look in looks(names, highlighted).items() if look.is_strong]


def _differences(board: Leaderboard) -> PageFigure | None:
    found = differences(board)
    drawn = plots.plot_differences(board)
    if drawn is None:
        return None
    best, measure = board.best, board.measures[0]
    said = "; ".join(
        f"{difference.ranker}: better on {difference.better}, equal on {difference.equal}, "
        f"worse on {difference.worse} {board.settings.unit}"
        for difference in found
    )
    return _figure(
        "differences",
        "Query by query against the best"
        if board.settings.unit == "queries"
        else "Unit by unit against the best",
        drawn,
        f"{said}.",
        f"{measure} of each of the {board.settings.unit} minus that of {best}, sorted; up is "
        f"better. The white gap between the two areas stands for {board.settings.unit} on which "
        "both are equal.",
    )


def _rank_intervals(board: Leaderboard) -> PageFigure | None:
    """Rank intervals of three or more rankers; two need no plot."""
    rows = [row for row in board.rows() if row["rank"]]
    drawn = plot_rank_intervals(board) if len(rows) >= _FEWEST_RANKED else None
    if drawn is None:
        return None
    said = "; ".join(f"{row['ranker']} {ranks_text(row)}" for row in rows)
    n_open = sum(row["rank_low"] == 1 for row in rows)
    level = f"{100 * board.settings.confidence:g}\u00a0%"
    return _figure(
        "rank-intervals",
        "Rank intervals",
        drawn,
        f"Ranks by {board.measures[0]}: {said}.",
        f"Ranks by {board.measures[0]} that the tests of all pairs leave open; the intervals hold "
        f"jointly at {level}. Dots mark the order of the means. "
        f"{count(n_open)} of {count(len(rows))} {board.settings.contestant}s, in colour, may be "
        "the best.",
    )


def _ranks(board: Leaderboard) -> PageFigure | None:
    """Average ranks of three or more rankers; two need no diagram."""
    finished = [row["ranker"] for row in board.rows() if row["rank"]]
    values = [values for name, values in board.per_query().items() if name in finished]
    n_complete = (~np.isnan(values).any(axis=0)).sum() if values else 0
    if len(finished) < _FEWEST_RANKED or n_complete < 2:
        return None
    found = rank_diagram(board, confidence=board.settings.confidence)
    words = board.settings.unit, board.settings.contestant
    return _rank_figure("ranks", f"Average ranks over {words[0]}", found, *words)


def _ranks_over(boards: Mapping[str, Leaderboard]) -> PageFigure:
    found = rank_diagram(boards)
    return _rank_figure("ranks-over-data-sets", "Average ranks over data sets", found)


def _rank_figure(
    name: str,
    heading: str,
    found: RankDiagram,
    unit: str = "queries",
    contestant: str = "ranker",
) -> PageFigure:
    ranks = found.ranks
    level = f"{100 * ranks.level:g}\u00a0%"
    said = ", ".join(f"{n} {r:.2f}" for n, r in zip(ranks.names, ranks.ranks, strict=True))
    without = f" Left out: {', '.join(found.left_out)}." if found.left_out else ""
    over_sets = found.blocks == "data sets"
    blocks = found.blocks if over_sets else unit
    what = "further data sets" if over_sets else f"further {unit} of these data"
    return _figure(
        name,
        heading,
        draw_ranks(ranks),
        f"Average ranks, best first: {said}; critical difference {ranks.critical_difference:.2f}.",
        f"{contestant.capitalize()}s ranked by {found.measure} in each of "
        f"{count(ranks.n_blocks)} {blocks}; "
        f"rank 1 is best. Friedman’s test: F {ranks.f:.2f}, p {p_value(ranks.f_p)}. A bar joins "
        f"{contestant}s that Nemenyi’s test does not separate at {level}; {contestant}s in grey "
        f"differ from the best. The tests generalise to {what}.{without}",
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
        "Score by which the parameter was chosen, along its grid. Each fold has a thin line with "
        "a dot at its choice; the mean is in colour. The test parts played no role.",
    )


def _confusion(board: Leaderboard) -> PageFigure | None:
    found = confusions(board)
    if not found:
        return None
    said = "; ".join(
        f"{name}: mean absolute rank loss {number(confusion.mae)}, "
        f"{100 * confusion.accuracy:.0f} % correct, "
        f"{100 * confusion.within(1):.0f} % at most one rank off"
        for name, confusion in found.items()
    )
    return _figure(
        "confusion",
        "Predicted ranks",
        rank_plots.plot_confusion(found),
        f"{said}.",
        "Test rows of all folds by label and predicted rank, in rank order. Darker cells hold "
        f"more of the label's rows; correct predictions lie on the diagonal. {said}.",
    )


def _scores(board: Leaderboard) -> PageFigure | None:
    found = densities(board)
    if not found:
        return None
    said = "; ".join(
        f"{ranker.name} cuts at " + ", ".join(f"{value:.3g}" for value in ranker.thresholds)
        for ranker in found
    )
    return _figure(
        "thresholds",
        "Scores and thresholds",
        rank_plots.draw_thresholds(found),
        f"{said}.",
        f"Scores of the test rows of {board.folds[0]}, class by class, and the thresholds of the "
        "ordinal estimators between ranks. Scores between the thresholds of their own class have "
        "the colour of correct predictions.",
    )


def _calibration(board: Leaderboard) -> PageFigure | None:
    found = calibrations(board)
    if not found:
        return None
    said = "; ".join(
        f"{name}: mean error {number(curve.error, 3)}" for name, curve in found.items()
    )
    return _figure(
        "calibration",
        "Calibration",
        plot_calibration(found),
        f"{said}.",
        "Share of the test rows of all folds whose label lies above a class, against the "
        "predicted probability, in bins of about equally many rows with exact "
        f"95\u00a0% intervals. Calibrated probabilities lie on the diagonal. {said}.",
    )


def _figure(
    name: str,
    heading: str,
    drawing: Figure | None,
    said: str,
    caption: str,
    table: NumberTable | None = None,
    legend: list[tuple[str, Look]] | None = None,
) -> PageFigure:
    assert drawing is not None
    svg = inline(drawing, name, heading, said)
    return PageFigure(name, heading, svg, caption, table, legend or [])
