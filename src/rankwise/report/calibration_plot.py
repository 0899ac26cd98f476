"""Calibration of ordinal estimators: observed shares against predicted probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.metrics import Calibration, calibration
from rankwise.metrics.ordinal.calibration import calibration_line
from rankwise.prediction import innermost, probabilities_of
from rankwise.report.axes import FONT, panels, style
from rankwise.report.colours import MARKERS, N_SERIES, light, series
from rankwise.runtime.shown_text import escape_figure
from rankwise.typing import ArrayLike, FrameLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rankwise.selection import Leaderboard

MOST_PANELS = 12
_BINS, _LEVEL = 10, 0.95
_TICKS = [0, 0.25, 0.5, 0.75, 1]
_SHIFT = 0.006  # between the intervals of two lines


def plot_calibration(
    found: Any, X: FrameLike | None = None, y: ArrayLike | None = None, *, n_bins: int = _BINS
) -> Figure:
    """Plot the observed share of labels above each class against its predicted probability.

    Parameters
    ----------
    found : estimator, ndarray of shape (n_samples, n_classes), Calibration, or mapping to these
        Fitted ordinal estimator with ``predict_proba``, probabilities of the sorted classes of
        ``y``, or a result of :func:`rankwise.metrics.calibration`. A mapping from names gets one
        panel per entry, at most twelve.
    X : array-like of shape (n_samples, n_features), optional
        Rows that were not used to fit the estimators; required for estimators only.
    y : array-like of shape (n_samples,), optional
        Classes of the rows; not required for a Calibration.
    n_bins : int >= 1, default=10
        Number of bins, with about equally many rows each; not used for a Calibration.

    Returns
    -------
    matplotlib.figure.Figure
        One line per class except the highest, with exact intervals. Calibrated probabilities lie
        on the diagonal.

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
    if isinstance(source, np.ndarray) and y is not None:
        return calibration(y, source, n_bins=n_bins, level=_LEVEL)
    if X is None or y is None:
        raise TypeError(
            f"plot_calibration needs X and y with a {type(source).__name__}. Pass rows that were "
            "not used to fit it and their classes, or "
            "rankwise.metrics.calibration(y, probabilities)."
        )
    shares = probabilities_of(source, X)
    if shares is None:
        raise TypeError(
            "plot_calibration takes an ordinal estimator with predict_proba, got "
            f"{type(source).__name__}. Set probability=True if it has that parameter, or pass "
            "rankwise.metrics.calibration(y, probabilities)."
        )
    return calibration(y, shares, innermost(source).classes_, n_bins=n_bins, level=_LEVEL)


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
    if n <= N_SERIES:
        axes.legend(
            loc="lower right", fontsize=FONT - 2, frameon=False, labelcolor=light("ink"),
            handlelength=1.4, borderaxespad=0.1,
        )  # fmt: skip
