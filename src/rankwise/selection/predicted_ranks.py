"""Predicted ranks of one cell, as compact JSON values: counts and histograms."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.metrics import confusion
from rankwise.prediction import Predictions, innermost
from rankwise.typing import Float64Array

N_BINS = 60
N_NARROW = 200
MOST_CLASSES = 50
# Scores outside this share of the rows do not stretch the axis.
_OUTER = 0.005


def summarise_predicted_ranks(
    estimator: Any, y: Float64Array, told: Predictions, shares: Float64Array | None = None
) -> dict[str, Any]:
    """Counts of predicted ranks, histograms of scores around thresholds, and calibration.

    ``told`` are predictions for the rows labelled ``y``, and ``shares`` (n_samples, n_classes) the
    probabilities of the estimator's classes.

    The result has ``classes``, all that occur or were fitted, ascending, and ``counts[i][j]``, the
    number of rows of class i predicted as class j. If the estimator has ``thresholds_``, it also
    has ``thresholds``, ``edges`` of a histogram of the scores, and ``heights[i][b]``, the number of
    rows of class i in bin b. With probabilities, it also has ``calibration``, see
    :func:`cumulative_counts`. It is empty if no classes, or more than 50, are predicted.
    """
    if told.labels is None:
        return {}
    last = innermost(estimator)
    classes = np.unique(np.concatenate([last.classes_, y, told.labels]).astype(np.float64))
    if len(classes) > MOST_CLASSES:
        return {}
    found: dict[str, Any] = {
        "classes": classes.tolist(),
        "counts": confusion(y, told.labels, classes).counts.tolist(),
    }
    if shares is not None and len(y):
        found["calibration"] = cumulative_counts(y, shares, last.classes_.astype(np.float64))
    thresholds = getattr(last, "thresholds_", None)
    if thresholds is None or not len(y):
        return found
    edges = bin_edges(told.scores, np.asarray(thresholds, dtype=np.float64))
    heights = [np.histogram(told.scores[y == k], edges)[0].tolist() for k in classes]
    return found | {
        "thresholds": np.asarray(thresholds, dtype=np.float64).tolist(),
        "edges": edges.tolist(),
        "heights": heights,
    }


def cumulative_counts(
    y: Float64Array, shares: Float64Array, classes: Float64Array
) -> list[dict[str, Any]]:
    """Rows by the probability of lying above a class, in narrow bins that can be summed.

    For each class except the highest: ``label`` and, by bin, ``sums`` of the probabilities,
    ``counts`` of the rows, and the number of rows ``above`` the class. Bins have equal widths in
    the arcsine of the square root; ``bins`` holds the numbers of the non-empty bins.
    """
    above = np.clip(np.cumsum(shares[:, ::-1], axis=1)[:, -2::-1], 0.0, 1.0)
    found = []
    for k, label in enumerate(classes[:-1].tolist()):
        angle = np.arcsin(np.sqrt(above[:, k])) / (np.pi / 2)  # closer bins near 0 and 1
        place = np.minimum((angle * N_NARROW).astype(np.int64), N_NARROW - 1)
        bins, atom, counts = np.unique(place, return_inverse=True, return_counts=True)
        found.append(
            {
                "label": label,
                "bins": bins.tolist(),
                "sums": np.bincount(atom, above[:, k]).tolist(),
                "counts": counts.tolist(),
                "above": np.bincount(atom, y > label).tolist(),
            }
        )
    return found


def bin_edges(scores: Float64Array, thresholds: Float64Array) -> Float64Array:
    """Edges of a histogram that covers nearly all scores and the thresholds between them."""
    low, high = np.quantile(scores, [_OUTER, 1 - _OUTER])
    within = thresholds[(thresholds >= scores.min()) & (thresholds <= scores.max())]
    low, high = min([low, *within]), max([high, *within])
    margin = 0.02 * (high - low) or 0.5
    return np.linspace(low - margin, high + margin, N_BINS + 1)
