"""The estimators of the registry, small enough to fit many times."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rankwise._registry import REGISTRY

_NETWORK = {"hidden_layer_sizes": (8,), "n_epochs": 4, "learning_rate_init": 0.1, "batch_size": 8}
_MEMBERS = ["linear_regression", "ada_rank()"]  # no recipes, whose choices ignore weights
SMALL: dict[str, dict[str, Any]] = {
    "pointwise_elm": {"n_nodes": 40},
    "pairwise_elm": {"n_nodes": 40},
    "elmrank": {"n_nodes": 40},
    "random_nodes": {"n_nodes": 40},
    "nystroem": {"n_components": 20},
    "random_fourier": {"n_frequencies": 20},
    "random_perceptrons": {"n_nodes": 40},
    "lightgbm": {"n_estimators": 10, "min_child_samples": 5, "n_jobs": 1},
    "xgboost": {"n_estimators": 10, "n_jobs": 1},
    "catboost": {"n_estimators": 10, "n_jobs": 1},
    "rank_lr": {"n_steps": 2000},  # for solver="sgd" only
    "orboost": {"n_estimators": 40},
    "rank_boost": {"n_estimators": 40},
    "frank": {"n_estimators": 40},
    "lambdamart": {"n_estimators": 20, "min_samples_leaf": 5},
    "mc_rank": {"n_estimators": 8, "learning_rate": 0.4},
    "ranking_forest": {"n_estimators": 10, "n_jobs": 1},
    "rank_net": {**_NETWORK},
    "list_net": {**_NETWORK},
    "list_mle": {**_NETWORK},
    "lambda_rank": {**_NETWORK},
    "boltz_rank": {
        "n_nodes": 4,
        "n_epochs": 5,
        "learning_rate_init": 0.05,
        "batch_size": 8,
        "n_rankings": 10,
    },
    "auto": {"time_budget": None, "n_trials": 6, "cv": 2, "n_jobs": 1},
    "stacking_ranker": {"estimators": _MEMBERS, "final_estimator": "linear_regression", "cv": 3},
    "calibrated_ranker": {"estimator": "linear_regression", "cv": 3},
    "score_blend": {"estimators": _MEMBERS},
    "borda_blend": {"estimators": _MEMBERS},
    "reciprocal_rank_blend": {"estimators": _MEMBERS},
    "coordinate_ascent": {"n_restarts": 1, "max_iter": 4},
}
RANKERS = [key for key, entry in REGISTRY.items() if entry.kind == "ranker"]
# Their libraries weigh rows or queries where a repeated row would weigh pairs.
NO_REPETITION = {"lightgbm", "xgboost", "catboost"}
QUERY_WEIGHTS = {"xgboost", "catboost"}
ORDINAL = [key for key, entry in REGISTRY.items() if entry.kind == "ordinal"]


def with_default_grid(ranker: Any, values: list[float]) -> Any:
    """The ranker, whose named ways search these values, from the weakest model on."""
    make, penalty = ranker._equation, ranker._equation().penalty
    grid = np.sort(values) if penalty.is_rising else np.sort(values)[::-1]
    ranker._equation = lambda: replace(make(), penalty=replace(penalty, default=grid))
    return ranker


def load_class(key: str) -> type:
    """The class of a registry entry; skips where its extra is not installed."""
    entry = REGISTRY[key]
    try:
        return entry.load()
    except ImportError as error:
        if not entry.extra:
            raise
        pytest.skip(str(error))


def small(key: str, **params: Any) -> Any:
    """A quick estimator of a registry entry with a fixed seed where it draws.

    Skips where what its ``fit`` needs is not installed.
    """
    if REGISTRY[key].extra == "neural":
        pytest.importorskip("torch", reason="needs rankwise[neural]")
    cls = load_class(key)
    names = inspect.signature(cls).parameters
    seed = {"random_state": 0} if "random_state" in names else {}
    return cls(**{**seed, **SMALL.get(key, {}), **params})


def row_scores(estimator: Any, X: Any) -> Any:
    """What the estimator ranks rows by."""
    return getattr(estimator, "rank_score", estimator.predict)(X)


def accepts(key: str, argument: str) -> bool:
    """Whether ``fit`` takes the argument."""
    return argument in inspect.signature(load_class(key).fit).parameters
