"""Data of the plots of predicted ranks, taken from a leaderboard or an estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.classes import order_labels
from rankwise.metrics import Confusion
from rankwise.selection.predicted_ranks import bin_edges
from rankwise.typing import ArrayLike, Float64Array, FrameLike

if TYPE_CHECKING:
    from rankwise.selection import Leaderboard

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
