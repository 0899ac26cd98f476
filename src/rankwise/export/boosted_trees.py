"""Trees of the boosting adapters as chains of maps."""

from __future__ import annotations

from typing import Any

from rankwise.export.maps import Chain, ExportError, Trees
from rankwise.trees.stored_boosters import (
    StoredTrees,
    catboost_trees,
    lightgbm_trees,
    xgboost_trees,
)


def lightgbm(estimator: Any) -> Chain:
    """Trees of LightGBM's text model."""
    stored = lightgbm_trees(estimator.model_)
    if any(tree.zero_missing is not None for tree in stored.trees):
        raise ExportError(
            "A LightGBM model of zero_as_missing=True takes zeros for missing values, which "
            "no other format does. Fit without it."
        )
    return _chain(stored)


def xgboost(estimator: Any) -> Chain:
    """Trees of XGBoost's JSON model."""
    return _chain(xgboost_trees(estimator.model_))


def catboost(estimator: Any) -> Chain:
    """Trees of CatBoost's JSON model, written out as ordinary ones."""
    return _chain(catboost_trees(estimator.model_))


def _chain(stored: StoredTrees) -> Chain:
    return (Trees(stored.trees, stored.constant, stored.has_missing),)
