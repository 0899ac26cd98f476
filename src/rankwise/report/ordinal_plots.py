"""Plots of ordinal estimators: confusion in rank order, thresholds over scores, calibration.

Each function returns a new :class:`matplotlib.figure.Figure` (no pyplot state).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from rankwise.checks.classes import order_labels
from rankwise.metrics import Calibration, Confusion, RelevanceCalibration, calibration
from rankwise.metrics.measures.confusion_matrix import calibration_line
from rankwise.prediction import innermost, probabilities_of
from rankwise.report.axes import FONT, MARKERS, MOST_PANELS, N_SERIES, light, panels, series, style
from rankwise.runtime.messages import escape_figure
from rankwise.selection.cells.measured import bin_edges
from rankwise.typing import ArrayLike, Float64Array, FrameLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rankwise.selection import Leaderboard

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

    Examples
    --------
    >>> from rankwise import ProportionalOdds
    >>> from rankwise.datasets import make_ordinal_square
    >>> from rankwise.report import plot_thresholds
    >>> X, y = make_ordinal_square(400, random_state=0)
    >>> model = ProportionalOdds().fit(X[:200], y[:200])
    >>> figure = plot_thresholds(model, X[200:], y[200:])
    >>> figure.savefig("thresholds.svg")  # doctest: +SKIP
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


_DRAWN = ("classes", "thresholds", "edges", "heights")


@dataclass(frozen=True)
class Densities:
    """Histograms of the scores of every class, and the thresholds between classes.

    Thresholds separate the classes if there is one threshold fewer than classes.
    """

    name: str
    classes: NDArray[Any]  # ascending
    thresholds: Float64Array  # ascending
    edges: Float64Array  # (n_bins + 1,)
    heights: Float64Array  # (n_classes, n_bins): number of rows of each class in each bin


def confusions(board: Leaderboard) -> dict[str, Confusion]:
    """Confusion over the test rows of all folds, of all rankers that predict classes."""
    found = {}
    for row in board.rows():
        cells = [board.cell(row["ranker"], fold).ranks for fold in board.folds]
        if row["rank"] and all(cells):
            found[row["ranker"]] = _sum(cells)
    return found


def densities(board: Leaderboard) -> list[Densities]:
    """Densities of the first fold, since the scales of scores differ between folds."""
    found = []
    for row in board.rows():
        ranks = board.cell(row["ranker"], board.folds[0]).ranks
        if row["rank"] and "thresholds" in ranks:
            classes, thresholds, edges, heights = (np.array(ranks[what]) for what in _DRAWN)
            found.append(Densities(row["ranker"], classes, thresholds, edges, heights))
    return found


def density(estimator: Any, X: FrameLike, y: ArrayLike) -> Densities:
    """Densities of a fitted ordinal estimator with thresholds on rows labelled with its classes."""
    if not hasattr(estimator, "rank_score") or not hasattr(estimator, "thresholds_"):
        raise TypeError(
            f"plot_thresholds takes a fitted ordinal estimator, got {type(estimator).__name__}. "
            "Fit one that has thresholds_ of its rank_score."
        )
    scores = np.asarray(estimator.rank_score(X), dtype=np.float64)
    labels = order_labels(y, len(scores))
    rows, classes = labels.classes[labels.codes], estimator.classes_
    unknown = [label for label in labels.classes.tolist() if label not in classes.tolist()]
    if unknown:
        raise ValueError(f"y must hold classes of the fit, got {unknown[0]!r}.")
    edges = bin_edges(scores, estimator.thresholds_)
    heights = [np.histogram(scores[rows == label], edges)[0] for label in classes]
    name = type(estimator).__name__
    return Densities(name, classes, estimator.thresholds_, edges, np.array(heights))


def _sum(cells: Sequence[dict[str, Any]]) -> Confusion:
    """Sum the counts of all folds, some of which may lack classes."""
    classes = np.unique(np.concatenate([cell["classes"] for cell in cells]))
    counts = np.zeros((len(classes), len(classes)))
    for cell in cells:
        at = np.searchsorted(classes, cell["classes"])
        counts[np.ix_(at, at)] += np.array(cell["counts"])
    return Confusion(classes, counts)


_BINS, _LEVEL = 10, 0.95
_TICKS = [0, 0.25, 0.5, 0.75, 1]
_SHIFT = 0.006  # between the intervals of two lines


def plot_calibration(
    found: Any, X: FrameLike | None = None, y: ArrayLike | None = None, *, n_bins: int = _BINS
) -> Figure:
    """Plot observed shares against predicted probabilities: a reliability plot.

    Parameters
    ----------
    found : estimator, ndarray of shape (n_samples, n_classes), result, or mapping to these
        A result of :func:`rankwise.metrics.relevance_calibration` for probabilities of relevance,
        or of :func:`rankwise.metrics.calibration` for those of ordered classes; else a fitted
        ordinal estimator with ``predict_proba``, or probabilities of the sorted classes of ``y``. A
        mapping from names gets one panel per entry, at most twelve.
    X : array-like of shape (n_samples, n_features), optional
        Rows that were not used to fit the estimators; required for estimators only.
    y : array-like of shape (n_samples,), optional
        Classes of the rows; not required for a result.
    n_bins : int >= 1, default=10
        Number of bins, with about equally many rows each; not used for a result.

    Returns
    -------
    matplotlib.figure.Figure
        One line for relevance, or one per class except the highest, with exact intervals.
        Calibrated probabilities lie on the diagonal.

    Raises
    ------
    TypeError
        If an estimator has no ``predict_proba`` or is not ordinal, or X or y is missing.
    ValueError
        If the mapping is empty, or as in :func:`rankwise.metrics.calibration`.

    Examples
    --------
    >>> from rankwise import ProportionalOdds
    >>> from rankwise.datasets import make_ordinal_square
    >>> X, y = make_ordinal_square(400, random_state=0)
    >>> model = ProportionalOdds().fit(X[:200], y[:200])
    >>> figure = plot_calibration(model, X[200:], y[200:])
    >>> figure.savefig("calibration.pdf")  # doctest: +SKIP
    """
    named = dict(found) if isinstance(found, Mapping) else {"": found}
    if not named:
        raise ValueError("found must hold at least one estimator, got an empty mapping.")
    shown = {
        name: _calibration(source, X, y, n_bins)
        for name, source in list(named.items())[:MOST_PANELS]
    }
    figure, grid = panels(len(shown), height=2.75)
    for axes, (name, curve) in zip(grid, shown.items(), strict=False):
        _draw(axes, curve)
        axes.set_title(escape_figure(name), fontsize=FONT, loc="left", color=light("ink"))
    return figure


def calibrations(board: Leaderboard) -> dict[str, Calibration]:
    """Calibration over the test rows of all folds, of all rankers with probabilities."""
    found = {}
    for row in board.rows():
        cells = [board.cell(row["ranker"], fold).ranks for fold in board.folds]
        if row["rank"] and all("calibration" in cell for cell in cells):
            found[row["ranker"]] = _pool_folds([cell["calibration"] for cell in cells])
    return found


def _pool_folds(folds: list[list[dict[str, Any]]]) -> Calibration:
    """Sum over folds, some of which may lack classes."""
    labels = sorted({line["label"] for fold in folds for line in fold})
    lines = []
    for label in labels:
        same = [line for fold in folds for line in fold if line["label"] == label]
        place = np.concatenate([line["bins"] for line in same]).astype(np.int64)
        sums, counts, above = (
            np.bincount(place, np.concatenate([line[what] for line in same]))
            for what in ("sums", "counts", "above")
        )
        kept = counts > 0
        values = sums[kept] / counts[kept]
        lines.append(calibration_line(values, counts[kept], above[kept], _BINS, _LEVEL))
    return Calibration(np.array([*labels, np.inf]), lines, _LEVEL)


def _calibration(source: Any, X: FrameLike | None, y: ArrayLike | None, n_bins: int) -> Calibration:
    if isinstance(source, Calibration):
        return source
    if isinstance(source, RelevanceCalibration):
        return Calibration(np.arange(2), [source.line], source.confidence_level)
    if isinstance(source, np.ndarray) and y is not None:
        return calibration(y, source, n_bins=n_bins, confidence_level=_LEVEL)
    if X is None or y is None:
        raise TypeError(
            f"plot_calibration needs X and y with a {type(source).__name__}. Pass rows that were "
            "not used to fit it and their classes, or a result of rankwise.metrics.calibration or "
            "relevance_calibration."
        )
    shares = probabilities_of(source, X)
    if shares is None:
        raise TypeError(
            "plot_calibration takes an ordinal estimator with predict_proba, got "
            f"{type(source).__name__}. Set probability=True if it has that parameter, or pass "
            "rankwise.metrics.calibration(y, probabilities)."
        )
    return calibration(
        y, shares, innermost(source).classes_, n_bins=n_bins, confidence_level=_LEVEL
    )


def _draw(axes: Axes, found: Calibration) -> None:
    axes.plot([0, 1], [0, 1], color=light("muted"), linewidth=0.8, linestyle=(0, (4, 3)))
    n = len(found.lines)
    for number, (label, line) in enumerate(
        zip(found.classes[:-1].tolist(), found.lines, strict=True)
    ):
        colour = series(number)
        shift = _SHIFT * (number - (n - 1) / 2) if n <= N_SERIES else 0.0
        axes.vlines(
            line.predicted + shift, line.low, line.high, color=colour, linewidth=1.0, alpha=0.7
        )
        axes.plot(
            line.predicted, line.observed, color=colour, linewidth=1.4, markersize=4,
            marker=MARKERS[number] if number < N_SERIES else "",
            label=escape_figure(f"label > {f'{label:g}' if isinstance(label, float) else label}"),
        )  # fmt: skip
    axes.set_xlim(-0.03, 1.03)
    axes.set_ylim(-0.03, 1.03)
    axes.set_xticks(_TICKS)
    axes.set_yticks(_TICKS)
    axes.set_aspect("equal")
    axes.set_xlabel("predicted probability")
    axes.set_ylabel("observed share")
    style(axes)
    if 1 < n <= N_SERIES:
        axes.legend(
            loc="lower right", fontsize=FONT - 2, frameon=False, labelcolor=light("ink"),
            handlelength=1.4, borderaxespad=0.1,
        )  # fmt: skip
