"""Fit any scikit-learn estimator on several outputs, with one model if it supports this."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import get_tags

from rankwise.runtime.routing import fit_with
from rankwise.typing import Float64Array, Matrix


def fit_outputs(
    estimator: Any, X: Matrix, targets: Float64Array, sample_weight: Float64Array | None
) -> list[Any]:
    """Fitted clones of a regressor: one if it supports several outputs, else one for each.

    ``targets`` is (n_samples, n_outputs) and ``sample_weight`` (n_samples,). Weights raise
    ValueError if the regressor does not accept them.
    """
    together = targets.shape[1] > 1 and get_tags(estimator).target_tags.multi_output
    parts = [targets] if together else list(np.ascontiguousarray(targets.T))
    return [fit_clone(estimator, X, part, sample_weight) for part in parts]


def fit_clone(
    estimator: Any, X: Matrix, target: NDArray[Any], sample_weight: Float64Array | None
) -> Any:
    """Clone fitted with the weights; raises ValueError if it does not accept them."""
    offered = {} if sample_weight is None else {"sample_weight": sample_weight}
    model = clone(estimator)
    if fit_with(model, X, target, offered) != offered.keys():
        raise ValueError(
            "estimator must accept sample_weight if fit receives it, but "
            f"{type(estimator).__name__} does not. "
            "Remove sample_weight, choose another estimator, or call "
            "set_fit_request(sample_weight=True) on the step of a pipeline that accepts it."
        )
    return model


def predict_outputs(models: list[Any], X: Matrix) -> Float64Array:
    """Predictions of shape (n_samples, n_outputs), float64."""
    columns = [np.asarray(model.predict(X), dtype=np.float64) for model in models]
    return np.column_stack(columns)


def output_scores(models: list[Any], X: Matrix, n_outputs: int) -> Float64Array:
    """Scores (n_samples, n_outputs) of how likely each output is 1.

    ``models`` holds one classifier for all outputs, or one for each. Scores are probabilities if
    the classifiers have them; otherwise ``(1 + d / (1 + |d|)) / 2`` for decision values d, which
    exceeds one half if d > 0; otherwise predictions.
    """
    together = len(models) < n_outputs
    return np.column_stack([_scores(model, X, together=together) for model in models])


def _scores(model: Any, X: Matrix, *, together: bool) -> Float64Array:
    if hasattr(model, "predict_proba"):
        shares: Any = model.predict_proba(X)
        if not together:
            return _share_of_ones(shares, model.classes_)
        if not isinstance(shares, list):  # one column for each output
            return np.asarray(shares, dtype=np.float64)
        parts = zip(shares, model.classes_, strict=True)
        return np.column_stack([_share_of_ones(*part) for part in parts])
    if hasattr(model, "decision_function"):
        values = np.asarray(model.decision_function(X), dtype=np.float64)
        return (1.0 + values / (1.0 + np.abs(values))) / 2.0
    return np.asarray(model.predict(X), dtype=np.float64)


def _share_of_ones(shares: Any, classes: Any) -> Float64Array:
    """Column of class 1; zeros if the training rows do not have this class."""
    ones = np.asarray(classes) == 1
    return np.asarray(shares, dtype=np.float64)[:, ones].sum(axis=1)
