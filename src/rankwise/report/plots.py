"""Plots of a comparison: cut-offs, differences per query, regularisation paths, learning curves.

Each function returns a new :class:`matplotlib.figure.Figure` (no pyplot state), or None if the
leaderboard has nothing to draw. Save it with ``figure.savefig("curves.svg")``.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, NullLocator

from rankwise import fusion
from rankwise.metrics.significance import stratified_mean
from rankwise.report.axes import (
    FONT,
    MOST_PANELS,
    WIDTH,
    chart_height,
    draw_lines,
    light,
    name_ends,
    name_points,
    panels,
    series,
    style,
)
from rankwise.runtime.messages import escape_figure
from rankwise.selection import FoldResult, Leaderboard, LearningCurve
from rankwise.selection.cells.result_store import measure_of
from rankwise.selection.verdict import may_be_best
from rankwise.typing import Float64Array, Int64Array

_MOST_STEPS = 400
_MOST_POINTS = 12  # with names of their own
_TIMES = {"fit_seconds": "seconds to fit, search included", "predict_seconds": "seconds to predict"}


def plot_curves(board: Leaderboard) -> Figure | None:
    """Plot a measure against its cut-off, one line per ranker.

    With more than eight rankers, only the best and the baseline have colours.

    Parameters
    ----------
    board : Leaderboard
        Leaderboard whose cells hold one measure at three or more cut-offs, e.g. from
        ``measures=[f"nDCG@{k}" for k in range(1, 11)]``.

    Examples
    --------
    >>> from rankwise.datasets import load_dataset
    >>> from rankwise.report import plot_curves
    >>> from rankwise.selection import compare
    >>> fold = load_dataset("lambdarank", fold=1)
    >>> measures = [f"nDCG@{k}" for k in (1, 3, 5, 10)]
    >>> board = compare(["linear_regression", "ridge"], [fold], measures=measures)
    >>> figure = plot_curves(board)
    >>> figure.savefig("curves.svg")  # doctest: +SKIP
    """
    found = curves(board)
    if found is None:
        return None
    figure = Figure(figsize=(WIDTH, chart_height(len(found.means))), layout="constrained")
    axes = figure.subplots()
    drawn = draw_lines(axes, found.cutoffs, found.means, found.highlighted)
    axes.set_xticks(found.cutoffs)
    axes.set_xlabel("cut-off k")
    axes.set_ylabel(escape_figure(f"{found.name}@k"))
    style(axes)
    name_ends(axes, found.cutoffs, found.means, drawn)
    return figure


def plot_costs(board: Leaderboard, measure: str | None = None) -> Figure | None:
    """Plot the mean of every ranker against its time to fit and to predict.

    Rankers that may be the best are in colour. A line joins those that no faster ranker beats. Of
    more than twelve rankers, only these have names.

    Parameters
    ----------
    board : Leaderboard
        Leaderboard of rankers that were fitted.
    measure : str, optional
        Measure to plot (default: the first).

    Returns
    -------
    matplotlib.figure.Figure or None
        Panels with logarithmic axes of seconds, medians over folds; None if fewer than two rankers
        have times.

    Examples
    --------
    >>> from rankwise import compare
    >>> from rankwise.datasets import load_dataset
    >>> from rankwise.report import plot_costs
    >>> board = compare(["linear_regression", "ridge"], load_dataset("lambdarank", fold=1))
    >>> plot_costs(board).savefig("costs.svg")  # doctest: +SKIP
    """
    name = board.measures[0] if measure is None else measure
    rows = [row for row in board.rows(name) if row["rank"]]
    timed = {what: [row for row in rows if row[what]] for what in _TIMES}
    timed = {what: points for what, points in timed.items() if len(points) > 1}
    if not timed:
        return None
    open_rows, named = may_be_best(rows), []
    turn = 1 if board.greater_is_better(name) else -1
    figure, grid = panels(len(timed), height=3.0, most=2, share_y=True)
    for axes, (what, points) in zip(grid, timed.items(), strict=True):
        ordered = sorted(points, key=lambda row, what=what: (row[what], -turn * row["mean"]))
        undominated: list[dict[str, Any]] = []
        for row in ordered:
            if not undominated or turn * (row["mean"] - undominated[-1]["mean"]) > 0:
                undominated.append(row)
        is_crowded = len(points) > _MOST_POINTS
        named.append([r for r in points if not is_crowded or r in undominated or r in open_rows])
        axes.plot([row[what] for row in undominated], [row["mean"] for row in undominated],
                  color=light("muted"), linewidth=0.7, alpha=0.6, zorder=1)  # fmt: skip
        colours = [light("accent" if row in open_rows else "muted") for row in points]
        axes.scatter([row[what] for row in points], [row["mean"] for row in points], 26,
                     colours, zorder=3)  # fmt: skip
        axes.set_xscale("log")
        axes.margins(x=0.3, y=0.12)
        axes.xaxis.set_major_locator(LogLocator(10, numticks=6))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel(_TIMES[what])
        style(axes)
    grid[0].set_ylabel(escape_figure(name))
    figure.draw_without_rendering()  # sizes of the panels
    for axes, what, points in zip(grid, timed, named, strict=True):
        name_points(axes, [(row[what], row["mean"]) for row in points],
                    [row["ranker"] for row in points])  # fmt: skip
    return figure


def plot_differences(board: Leaderboard, measure: str | None = None) -> Figure | None:
    """Plot the sorted differences of every ranker to the best, query by query.

    Parameters
    ----------
    board : Leaderboard
    measure : str, optional
        Measure to plot (default: the first).

    Examples
    --------
    >>> from rankwise.datasets import load_dataset
    >>> from rankwise.report import plot_differences
    >>> from rankwise.selection import compare
    >>> fold = load_dataset("lambdarank", fold=1)
    >>> measures = ["nDCG@10"]
    >>> board = compare(["linear_regression", "ridge"], [fold], measures=measures)
    >>> figure = plot_differences(board)
    >>> figure.savefig("differences.svg")  # doctest: +SKIP
    """
    measure = board.measures[0] if measure is None else measure
    found = differences(board, measure)[:MOST_PANELS]
    if not found:
        return None
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
    figure.supxlabel(
        escape_figure(f"{board.settings.unit}, sorted"), fontsize=FONT, color=light("ink")
    )
    return figure


def plot_paths(board: Leaderboard) -> Figure | None:
    """Plot the validation score along the penalty: a thin line per fold, a dot at its choice.

    Examples
    --------
    >>> from rankwise.datasets import load_dataset
    >>> from rankwise.report import plot_paths
    >>> from rankwise.selection import compare
    >>> fold = load_dataset("lambdarank", fold=1)
    >>> measures = ["nDCG@10"]
    >>> board = compare(["linear_regression", "ridge"], [fold], measures=measures)
    >>> figure = plot_paths(board)
    >>> figure.savefig("paths.svg")  # doctest: +SKIP
    """
    found = paths(board)[:MOST_PANELS]
    if not found:
        return None
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


def step_line(values: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Heights and edges of a step line; many queries are reduced to quantiles."""
    n = len(values)
    kept = np.arange(n) if n <= _MOST_STEPS else np.linspace(0, n - 1, _MOST_STEPS).astype(int)
    return values[kept], np.append(kept, n).astype(np.float64)


def _mean_over_folds(path: RegularisationPath) -> Float64Array:
    """Mean over the folds that have a value; NaN if none has."""
    scores = np.array(list(path.scores.values()))
    known = ~np.isnan(scores)
    count = known.sum(axis=0)
    total = np.where(known, scores, 0.0).sum(axis=0)
    return np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0)


_FEWEST_POINTS = 3


@dataclass(frozen=True)
class Curves:
    """Means of one measure at several cut-offs."""

    name: str  # measure without its cut-off, e.g. "nDCG"
    cutoffs: list[int]  # ascending
    # means of the fold means by ranker, best first at the largest cut-off
    means: dict[str, list[float]]
    highlighted: list[str]  # the best and the baseline, which stand out among many


@dataclass(frozen=True)
class Differences:
    """Differences of one ranker to the best, query by query."""

    ranker: str
    values: Float64Array  # (n_queries,), in descending order; > 0 is better than the best
    better: int  # better, equal and worse are numbers of queries
    equal: int
    worse: int


@dataclass(frozen=True)
class RegularisationPath:
    """A ranker's validation score along one parameter."""

    ranker: str
    parameter: str
    values: Float64Array  # (n_values,), ascending, positive
    scores: dict[str, Float64Array]  # (n_values,), by fold
    chosen: dict[str, float]  # chosen value by fold


def curves(board: Leaderboard) -> Curves | None:
    """Curves of the measure with the most cut-offs in the cells; None if fewer than three."""
    if board.settings.greater_is_better is not None:
        return None  # values of a table, whose names say nothing about cut-offs
    found: dict[str, dict[int, str]] = defaultdict(dict)
    for spec in {spec for cell in board.cells for spec in cell.values}:
        family, _, cutoff = spec.rpartition("@")
        if family and cutoff.isdigit():
            found[family][int(cutoff)] = spec
    if not found:
        return None
    family = max(found, key=lambda name: (len(found[name]), name))
    by_cutoff = dict(sorted(found[family].items()))
    if len(by_cutoff) < _FEWEST_POINTS:
        return None
    means = {
        row["ranker"]: [
            stratified_mean(board.values(row["ranker"], spec), board.fold_of_query)
            for spec in by_cutoff.values()
        ]
        for row in board.rows()
        if row["rank"]
    }
    if not means:
        return None
    any_spec = next(iter(by_cutoff.values()))
    measure = measure_of(any_spec, board.settings)
    turn = -1 if measure.greater_is_better else 1
    ordered = dict(sorted(means.items(), key=lambda item: turn * item[1][-1]))
    wanted = (board.best, board.settings.baseline)
    highlighted = [name for name in wanted if name is not None and name in ordered]
    return Curves(measure.name, list(by_cutoff), ordered, highlighted)


def differences(board: Leaderboard, measure: str | None = None) -> list[Differences]:
    """Differences of every finished ranker but the best, in the order of the table."""
    measure = board.measures[0] if measure is None else measure
    finished = [row["ranker"] for row in board.rows(measure) if row["rank"]]
    if not finished:
        return []
    values = board.per_query(measure)
    turn = 1.0 if board.greater_is_better(measure) else -1.0
    found = []
    for ranker in finished[1:]:
        difference = turn * (values[ranker] - values[finished[0]])
        difference = np.sort(difference[~np.isnan(difference)])[::-1]
        better, worse = int((difference > 0).sum()), int((difference < 0).sum())
        found.append(
            Differences(ranker, difference, better, len(difference) - better - worse, worse)
        )
    return found


def paths(board: Leaderboard) -> list[RegularisationPath]:
    """Paths of rankers that chose one positive number from a grid, in the order of the table."""
    found = []
    for row in board.rows():
        cells = [board.cell(row["ranker"], fold) for fold in board.folds]
        path = _path(row["ranker"], [cell for cell in cells if cell.search])
        if path is not None:
            found.append(path)
    return found


def _path(ranker: str, cells: list[FoldResult]) -> RegularisationPath | None:
    settings = [setting["params"] for cell in cells for setting in cell.search]
    names = {name for params in settings for name in params}
    if len(names) != 1 or any(len(params) != 1 for params in settings):
        return None
    parameter = names.pop()
    by_fold: dict[str, dict[float, float]] = {}
    for cell in cells:
        by_fold[cell.fold] = {
            float(value): math.nan if setting["score"] is None else float(setting["score"])
            for setting in cell.search
            if _is_positive(value := setting["params"][parameter])
        }
    values = sorted({value for scores in by_fold.values() for value in scores})
    if len(values) < _FEWEST_POINTS:
        return None
    return RegularisationPath(
        ranker,
        parameter,
        np.array(values),
        {
            fold: np.array([scores.get(value, math.nan) for value in values])
            for fold, scores in by_fold.items()
        },
        {
            cell.fold: float(cell.chosen[parameter])
            for cell in cells
            if _is_positive(cell.chosen.get(parameter))
        },
    )


def _is_positive(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 < value < math.inf


_SHIFT = 0.006  # approximate share of the axis between two intervals


@dataclass(frozen=True, eq=False)
class Growth:
    """Lines of a learning curve, at n_sizes sizes."""

    sizes: Int64Array
    # (n_sizes,), each ranker that finished at some size, best first at the largest size
    means: dict[str, Float64Array]
    intervals: dict[str, Float64Array]  # (n_sizes, 2) by ranker
    measure: str
    highlighted: list[str]  # the best and the baseline, which stand out among many


def plot_learning_curve(
    curve: LearningCurve | fusion.JudgementCurve, measure: str | None = None
) -> Figure:
    """Plot a measure against the number of training queries, one line per ranker.

    Parameters
    ----------
    curve : rankwise.selection.LearningCurve or rankwise.fusion.JudgementCurve
        Vertical lines show t intervals of the mean over test queries or, for fusion, the middle
        95 % of the draws of training queries. With more than eight rankers, only the best and the
        baseline have colours and intervals.
    measure : str, optional
        Measure of the comparison (default: the first).

    Returns
    -------
    matplotlib.figure.Figure
        Figure with a logarithmic axis of training queries.

    Raises
    ------
    TypeError
        If ``curve`` is not a LearningCurve.

    Examples
    --------
    >>> from rankwise.datasets import load_dataset
    >>> from rankwise.selection import learning_curve
    >>> folds = load_dataset("lambdarank")
    >>> curve = learning_curve("ridge", folds, [10, 40], measures="AP", isolate=False)
    >>> plot_learning_curve(curve).savefig("curve.pdf")  # doctest: +SKIP
    """
    return draw_growth(growth(curve, measure))


def growth(curve: LearningCurve | fusion.JudgementCurve, measure: str | None = None) -> Growth:
    """Numbers shown by :func:`plot_learning_curve`; raises the same error."""
    if isinstance(curve, fusion.JudgementCurve):
        curves = {"learned": curve.learned, curve.rule: curve.baseline}
        ends = {
            name: np.quantile(values, [0.025, 0.975], axis=1).T for name, values in curves.items()
        }
        means = {name: values.mean(axis=1) for name, values in curves.items()}
        return Growth(curve.n_judged, means, ends, curve.measure, [])
    if not isinstance(curve, LearningCurve):
        raise TypeError(
            f"curve must be a LearningCurve, got {type(curve).__name__}. Pass the result of "
            "rankwise.selection.learning_curve or rankwise.fusion.learning_curve."
        )
    measure = curve.measure if measure is None else measure
    last = curve.boards[-1]
    highlighted = [name for name in (last.best, last.settings.baseline) if name is not None]
    means = {n: values for n, values in curve.means(measure).items() if not np.isnan(values).all()}
    intervals = curve.intervals(measure)
    return Growth(curve.sizes, means, {n: intervals[n] for n in means}, measure, highlighted)


def draw_growth(found: Growth) -> Figure:
    """Draw the chart."""
    figure = Figure(figsize=(WIDTH, chart_height(len(found.means))), layout="constrained")
    axes = figure.subplots()
    sizes = found.sizes.astype(float).tolist()
    axes.set_xscale("log")
    drawn = draw_lines(axes, sizes, found.means, found.highlighted)
    strong = [name for name, look in drawn.items() if look.is_strong]
    shifts = np.linspace(-1.0, 1.0, len(strong)) if len(strong) > 1 else np.zeros(len(strong))
    for name, shift in zip(strong, shifts, strict=True):  # shifted so that they do not overlap
        places = found.sizes * (sizes[-1] / sizes[0]) ** (_SHIFT * shift)
        low, high = found.intervals[name].T
        axes.vlines(places, low, high, color=drawn[name].colour, linewidth=1.1, alpha=0.75)
    axes.set_xticks(sizes, [f"{size:g}" for size in sizes])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("training queries")
    axes.set_ylabel(escape_figure(found.measure))
    style(axes)
    name_ends(axes, sizes, found.means, drawn)
    return figure
