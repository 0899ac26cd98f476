"""Class of a row from the result of its chain."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.export.grown_trees import node_classes
from rankwise.export.maps import Chain, ExportError


def cuts_scores(estimator: Any) -> bool:
    """Whether the class is the number of thresholds that the score reaches."""
    by_leaf = getattr(estimator, "leaf", "mean") == "mean"
    by_votes = getattr(estimator, "votes", "mean") == "mean"
    by_threshold = not hasattr(estimator, "link") or len(estimator.classes_) == 2
    return by_threshold and by_leaf and (by_votes or getattr(estimator, "combine", "") == "bpm")


def class_chain(estimator: Any) -> Chain | None:
    """Maps that compute the class number; None if thresholds of the score determine it.

    Raises
    ------
    ExportError
        If the estimator has no classes, or no chain can compute them.
    """
    if not hasattr(estimator, "classes_"):
        raise ExportError(
            f"label=True needs an ordinal estimator, which predicts classes; "
            f"{type(estimator).__name__} predicts scores. Drop it."
        )
    if cuts_scores(estimator):
        return None
    if hasattr(estimator, "link"):
        raise ExportError(
            f"{type(estimator).__name__} predicts the most probable class, which its score does "
            "not determine. Drop label=True, or count the thresholds_ that the score reaches to "
            "get the median class."
        )
    if hasattr(estimator, "node_classes_"):
        return node_classes(estimator)
    raise ExportError(
        f"{type(estimator).__name__} chooses classes by votes, which its score does not determine. "
        'Drop label=True, or fit with leaf="mean" or votes="mean".'
    )


def label_values(classes: Any) -> Any:
    """Classes as whole numbers if possible, else as text."""
    values = np.asarray(classes)
    if values.dtype.kind in "biu":
        return values.astype(np.int64)
    if values.dtype.kind == "f" and (values == np.rint(values)).all():
        return values.astype(np.int64)
    return np.array([str(value) for value in values.tolist()], dtype=object)
