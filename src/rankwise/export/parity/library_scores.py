"""Scores of LightGBM, XGBoost and CatBoost themselves, by which a model of theirs is verified."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from rankwise.rankers.imported.read_booster import library_of
from rankwise.typing import Float64Array, is_sparse


def library_scores(model: Any, X: Any) -> Float64Array:
    """Scores before the link function, by the library that trained a model.

    Parameters
    ----------
    model : fitted model of LightGBM, XGBoost or CatBoost
    X : array-like, CSR or frame of shape (n_samples, n_features)
        Absent entries of CSR are zeros, as in exported files.

    Returns
    -------
    ndarray of shape (n_samples,), float64
    """
    rows = X.toarray() if is_sparse(X) else X
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        found = _SCORES[str(library_of(model))](model, rows)
    return np.asarray(found, dtype=np.float64).reshape(-1)


def _of_lightgbm(model: Any, X: Any) -> Any:
    scores = model.predict(X, raw_score=True)
    booster = getattr(model, "booster_", model)
    # Raw scores of random forests are sums, of which their files are means.
    text = booster.model_to_string()
    is_mean = "\naverage_output\n" in text.partition("\nTree=")[0]
    return scores / max(text.count("\nTree="), 1) if is_mean else scores


def _of_xgboost(model: Any, X: Any) -> Any:
    if hasattr(model, "get_booster"):
        return model.predict(X, output_margin=True, validate_features=False)
    return model.inplace_predict(X, predict_type="margin", validate_features=False)


def _of_catboost(model: Any, X: Any) -> Any:
    return model.predict(X, prediction_type="RawFormulaVal")


_SCORES = {"lightgbm": _of_lightgbm, "xgboost": _of_xgboost, "catboost": _of_catboost}
