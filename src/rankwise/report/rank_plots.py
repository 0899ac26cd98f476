"""Plots of predicted ranks: confusion in rank order, thresholds over the scores of every class.

Each function returns a new :class:`matplotlib.figure.Figure` (no pyplot state).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from rankwise.metrics import Confusion
from rankwise.report.axes import FONT, panels, style
from rankwise.report.colours import light
from rankwise.report.rank_densities import Densities, density
from rankwise.runtime.shown_text import escape_figure
from rankwise.typing import ArrayLike, FrameLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 12
# More classes have no room for numbers.
_MOST_NUMBERS = 9
_ROW = 0.33
_OVERLAP = 1.25


def plot_confusion(found: Confusion | Mapping[str, Confusion]) -> Figure:
    """Plot the confusion matrix in rank order: one cell per label and predicted rank.

    Darker cells hold a larger share of the label's rows; the number in a cell is the count.
    Correct predictions lie on the rising diagonal. The distance from it is the error in ranks.

    Parameters
    ----------
    found : Confusion or mapping from name to Confusion
        Result of :func:`rankwise.metrics.confusion`. A mapping gets one panel per entry, at most
        twelve.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    TypeError
        If ``found`` is neither a Confusion nor a mapping to them.
    ValueError
        If the mapping is empty.

    Examples
    --------
    >>> from rankwise.metrics import confusion
    >>> figure = plot_confusion(confusion([1, 1, 2, 3], [1, 2, 2, 2]))
    >>> figure.savefig("confusion.svg")  # doctest: +SKIP
    """
    named = dict(found) if isinstance(found, Mapping) else {"": found}
    for confusion in named.values():
        if not isinstance(confusion, Confusion):
            raise TypeError(
                "found must be a Confusion or a mapping from names to them, got "
                f"{type(confusion).__name__}. Pass rankwise.metrics.confusion(y_true, y_pred)."
            )
    if not named:
        raise ValueError(
            "found must hold at least one Confusion, got an empty mapping. Pass "
            '{"name": rankwise.metrics.confusion(y_true, y_pred)}.'
        )
    shown = list(named.items())[:MOST_PANELS]
    figure, grid = panels(len(shown), height=2.75)
    for axes, (name, confusion) in zip(grid, shown, strict=False):
        _draw_confusion(axes, confusion)
        axes.set_title(escape_figure(name), fontsize=FONT, loc="left", color=light("ink"))
    return figure


def plot_thresholds(estimator: Any, X: FrameLike, y: ArrayLike) -> Figure:
    """Plot the density of the scores of every class, and the thresholds between classes.

    Each class has a row, with the highest class on top. Scores between the thresholds of their own
    class are predicted correctly and have one colour; the others have another.

    Parameters
    ----------
    estimator : fitted ordinal estimator
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Classes of the rows.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    TypeError
        If the estimator has no thresholds.
    ValueError
        If a label of ``y`` is not a class of the estimator.

    Notes
    -----
    Some estimators predict by another rule, such as the median of a leaf in trees. The colours
    then show what the thresholds would predict, which is close to the actual prediction.
    """
    return draw_thresholds([density(estimator, X, y)])


def draw_thresholds(found: Sequence[Densities]) -> Figure:
    """Draw one panel each, at most twelve."""
    shown = list(found)[:MOST_PANELS]
    rows = max(len(ranker.classes) for ranker in shown)
    figure, grid = panels(len(shown), height=0.75 + _ROW * (rows + 1))
    for axes, ranker in zip(grid, shown, strict=False):
        _draw_thresholds(axes, ranker)
        axes.set_title(escape_figure(ranker.name), fontsize=FONT, loc="left", color=light("ink"))
    return figure


def _draw_confusion(axes: Axes, found: Confusion) -> None:
    n = len(found.classes)
    share = found.counts / np.maximum(found.support, 1)[:, None]
    for label in range(n):
        for predicted in range(n):
            colour = light("accent" if label == predicted else "worse")
            depth = float(np.sqrt(share[label, predicted]))  # rare cells stay visible
            square = Rectangle(
                (predicted - 0.47, label - 0.47), 0.94, 0.94, facecolor=colour, alpha=depth,
                edgecolor="none",
            )  # fmt: skip
            axes.add_patch(square)
            count = found.counts[label, predicted]
            if count and n <= _MOST_NUMBERS:
                axes.text(
                    predicted, label, f"{count:.0f}", ha="center", va="center",
                    fontsize=FONT - 1.5, color=light("paper" if depth > 0.6 else "ink"),
                )  # fmt: skip
    axes.set_xlim(-0.5, n - 0.5)
    axes.set_ylim(-0.5, n - 0.5)
    axes.set_aspect("equal")
    axes.set_xlabel("predicted")
    axes.set_ylabel("label")
    _name_classes(axes, found.classes, on_x=True)
    _name_classes(axes, found.classes, on_x=False)
    style(axes)
    axes.grid(False)


def _draw_thresholds(axes: Axes, found: Densities) -> None:
    edges, n = found.edges, len(found.classes)
    tallest = found.heights / np.maximum(found.heights.sum(axis=1), 1)[:, None]
    scale = _OVERLAP / (tallest.max(initial=0.0) or 1.0)
    is_cut = len(found.thresholds) == n - 1
    ends = np.concatenate([[edges[0]], found.thresholds, [edges[-1]]])
    for rank in range(n - 1, -1, -1):  # lower classes in front
        values, order = rank + scale * tallest[rank], n - rank
        axes.stairs(
            values, edges, baseline=rank, fill=True, color=light("worse"), alpha=0.75, zorder=order
        )
        if is_cut:
            own = axes.stairs(
                values, edges, baseline=rank, fill=True, color=light("accent"), zorder=order
            )
            left, right = np.clip(ends[rank : rank + 2], edges[0], edges[-1])
            zone = Rectangle((left, rank), right - left, _OVERLAP + 1, transform=axes.transData)
            own.set_clip_path(zone)
        axes.axhline(rank, color=light("rule"), linewidth=0.8, zorder=order)
    for threshold in found.thresholds:
        if edges[0] <= threshold <= edges[-1]:
            axes.axvline(threshold, color=light("ink"), linewidth=0.9, zorder=n + 2)
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(-0.1, n - 1 + 1.08 * _OVERLAP)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.set_xlabel("score")
    axes.set_ylabel("label")
    _name_classes(axes, found.classes, on_x=False)
    style(axes)
    axes.grid(False)


def _name_classes(axes: Axes, classes: Any, *, on_x: bool) -> None:
    """Set ticks at the classes; of many classes, at every second, third, …"""
    step = -(-len(classes) // 12)
    at = np.arange(0, len(classes), step)
    names = [_short(label) for label in np.asarray(classes)[at].tolist()]
    set_ticks = axes.set_xticks if on_x else axes.set_yticks
    set_ticks(at, names)


def _short(label: Any) -> str:
    return f"{label:g}" if isinstance(label, float) else escape_figure(str(label))
