"""Models of other libraries as models of this library."""

from __future__ import annotations

from typing import Any

from rankwise.rankers.imported.read_booster import library_of, read_booster


def own_model(estimator: Any) -> Any:
    """The estimator itself, or the trees of a LightGBM, XGBoost or CatBoost model."""
    return estimator if library_of(estimator) is None else read_booster(estimator)
