"""Any scikit-learn estimator below: one model for several outputs where it can, else one each."""

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
    """Fitted clones of a regressor: one where it takes several outputs, else one for each.

    Parameters
    ----------
    estimator : regressor
    X : ndarray or CSR of shape (n_samples, n_features)
    targets : ndarray of shape (n_samples, n_outputs), float64
    sample_weight : ndarray of shape (n_samples,), float64, or None

    Raises
    ------
    ValueError
        Where there are weights and the regressor takes none.
    """
    together = targets.shape[1] > 1 and get_tags(estimator).target_tags.multi_output
    parts = [targets] if together else list(np.ascontiguousarray(targets.T))
    return [fitted_clone(estimator, X, part, sample_weight) for part in parts]


def fitted_clone(
    estimator: Any, X: Matrix, target: NDArray[Any], sample_weight: Float64Array | None
) -> Any:
    """A fitted clone that has seen the weights; an error where it takes none."""
    offered = {} if sample_weight is None else {"sample_weight": sample_weight}
    model = clone(estimator)
    if fit_with(model, X, target, offered) != offered.keys():
        raise ValueError(
            "estimator must take sample_weight where fit is given one, "
            f"{type(estimator).__name__} does not. "
            "Drop sample_weight, choose another estimator, or request it: "
            "set_fit_request(sample_weight=True) on the part of a pipeline that takes it."
        )
    return model


def predict_outputs(models: list[Any], X: Matrix) -> Float64Array:
    """Predictions of shape (n_samples, n_outputs), float64."""
    columns = [np.asarray(model.predict(X), dtype=np.float64) for model in models]
    return np.column_stack(columns)
