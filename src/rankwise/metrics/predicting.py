"""What a fitted estimator says of rows: scores to rank by and, of a classifier, classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.metrics.measure import Measure
from rankwise.typing import Float64Array


@dataclass(frozen=True, eq=False)
class Predicted:
    """Scores and labels of some rows.

    Attributes
    ----------
    scores : ndarray of shape (n_samples,), float64
        What to rank by.
    labels : ndarray of shape (n_samples,), float64, or None
        Predicted classes; None of an estimator that predicts none.
    """

    scores: Float64Array
    labels: Float64Array | None = None

    def read_by(self, measure: Measure) -> Float64Array:
        """Labels for a measure that reads these, where there are any; else the scores."""
        return self.scores if self.labels is None or not measure.reads_labels else self.labels


def predictions(estimator: Any, X: Any) -> Predicted:
    """Scores and, of a classifier or ordinal estimator, predicted classes.

    Raises
    ------
    ValueError
        When they are not one finite number per row.
    """
    scores = scores_of(estimator, X)
    return Predicted(scores, labels_of(estimator, X, scores))


def labels_of(estimator: Any, X: Any, scores: Float64Array) -> Float64Array | None:
    """Predicted classes as numbers, None of an estimator that predicts none.

    Parameters
    ----------
    estimator : fitted estimator
    X : matrix of shape (n_samples, n_features)
    scores : ndarray of shape (n_samples,)
        What :func:`scores_of` gave: the classes already, where there is no ``rank_score``.

    Raises
    ------
    ValueError
        When they are not one finite number per row.
    """
    last = innermost(estimator)
    if not hasattr(last, "classes_"):
        return None
    return _column(estimator, estimator.predict(X), X) if hasattr(last, "rank_score") else scores


def scores_of(estimator: Any, X: Any) -> Float64Array:
    """Scores to rank by: ``rank_score`` of ordinal estimators, else ``predict``.

    The ordinal estimator may be the last step of a pipeline or the best of a search.

    Raises
    ------
    ValueError
        When they are not one finite number per row.
    """
    is_ordinal = hasattr(innermost(estimator), "rank_score")
    return _column(estimator, _rank_score(estimator, X) if is_ordinal else estimator.predict(X), X)


def innermost(estimator: Any) -> Any:
    """The estimator that predicts: the last step of a pipeline, the best of a search."""
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            estimator = estimator.steps[-1][1]
        else:
            return estimator


def _rank_score(estimator: Any, X: Any) -> Any:
    """``rank_score`` of the innermost estimator, of what reaches it."""
    if hasattr(estimator, "best_estimator_"):
        return _rank_score(estimator.best_estimator_, X)
    if hasattr(estimator, "steps"):
        before = estimator[:-1]
        return _rank_score(estimator[-1], before.transform(X) if len(before) else X)
    return estimator.rank_score(X)


def _column(estimator: Any, values: Any, X: Any) -> Float64Array:
    """One finite number per row of X."""
    column = np.asarray(values, dtype=np.float64)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
    if column.shape != (n_samples,):
        raise ValueError(
            f"{type(estimator).__name__} must predict one score per row, shape ({n_samples},), "
            f"got {column.shape}."
        )
    if not np.isfinite(column).all():
        row = int(np.argmin(np.isfinite(column)))
        raise ValueError(
            f"{type(estimator).__name__} must predict finite scores, got {column[row]} at row "
            f"{row}. Check its parameters and the scale of X."
        )
    return column
