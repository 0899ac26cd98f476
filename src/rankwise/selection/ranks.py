"""Predicted ranks of one cell, as JSON values small enough to be kept: counts and histograms."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.metrics import confusion
from rankwise.metrics.predicting import Predicted, innermost
from rankwise.typing import Float64Array

N_BINS = 60
N_NARROW = 200
MOST_CLASSES = 50
# Scores outside of this share of the rows do not stretch the axis.
_OUTER = 0.005


def predicted_ranks(
    estimator: Any, y: Float64Array, told: Predicted, shares: Float64Array | None = None
) -> dict[str, Any]:
    """Which ranks are predicted for which, how the scores lie about the thresholds, probabilities.

    Parameters
    ----------
    estimator : fitted estimator
    y : ndarray of shape (n_samples,)
        Labels.
    told : Predicted
        Of the same rows.
    shares : ndarray of shape (n_samples, n_classes), optional
        Probabilities of the estimator's classes.

    Returns
    -------
    dict
        ``classes``: all that appear or were fitted, ascending; ``counts[i][j]``: rows of class i
        predicted as class j. With ``thresholds_`` on the estimator also ``thresholds``, ``edges``
        of a histogram of the scores, and ``heights[i][b]``: rows of class i in bin b. With
        probabilities also ``calibration``, see :func:`cumulative_counts`. Empty where no classes
        are predicted, or more than 50.
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
    """Rows by their probability to lie above a class, in narrow bins that can be added up.

    Returns
    -------
    list of dict
        For each class but the highest: ``label``, and by bin ``sums`` of the probabilities,
        ``counts`` of the rows, and rows ``above`` the class. Bins have equal widths of the arc sine
        of the root; ``bins`` has the numbers of those that are not empty.
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
    """Edges of a histogram that spans nearly all scores and the thresholds between them."""
    low, high = np.quantile(scores, [_OUTER, 1 - _OUTER])
    within = thresholds[(thresholds >= scores.min()) & (thresholds <= scores.max())]
    low, high = min([low, *within]), max([high, *within])
    margin = 0.02 * (high - low) or 0.5
    return np.linspace(low - margin, high + margin, N_BINS + 1)
