"""Learning curves: a measure against the number of training queries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator

from rankwise import fusion
from rankwise.report.axes import WIDTH, style
from rankwise.report.line_plots import chart_height, draw_lines, name_ends
from rankwise.runtime.shown_text import escape_figure
from rankwise.selection import LearningCurve
from rankwise.typing import Float64Array, Int64Array

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
