"""Allowed values of the parameters of LambdaMART."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

from rankwise.losses.boosted_objectives import OBJECTIVES
from rankwise.losses.laplacian import QUERY_WEIGHTS
from rankwise.trees.columns import FROM_DTYPE

AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
SHARE = Interval(Real, 0, 1, closed="right")
PROBABILITY = Interval(Real, 0, 1, closed="both")

PARAMETERS: dict[str, Any] = {
    "n_estimators": [AT_LEAST_ONE],
    "learning_rate": [Interval(Real, 0, None, closed="neither")],
    "max_leaf_nodes": [Interval(Integral, 2, None, closed="left")],
    "measure": [str],
    "objective": [StrOptions(set(OBJECTIVES))],
    "max_depth": [AT_LEAST_ONE, None],
    "truncation_level": [AT_LEAST_ONE, None],
    "min_samples_leaf": [AT_LEAST_ONE],
    "min_hessian_leaf": [NOT_NEGATIVE],
    "reg_lambda": [NOT_NEGATIVE],
    "reg_alpha": [NOT_NEGATIVE],
    "min_split_gain": [NOT_NEGATIVE],
    "growth": [StrOptions({"leaf", "depth", "symmetric"})],
    "max_bins": [Interval(Integral, 2, 255, closed="both")],
    "normalize": ["boolean"],
    "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
    "position_bias_regularization": [NOT_NEGATIVE],
    "sampling": [StrOptions({"queries", "goss"})],
    "subsample": [SHARE],
    "top_rate": [SHARE],
    "other_rate": [SHARE],
    "drop_rate": [PROBABILITY],
    "skip_drop": [PROBABILITY],
    "colsample_bytree": [SHARE],
    "colsample_bylevel": [SHARE],
    "colsample_bynode": [SHARE],
    "extra_trees": ["boolean"],
    "monotonic_cst": ["array-like", dict, None],
    "interaction_cst": [list, tuple, StrOptions({"no_interactions", "pairwise"}), None],
    "categorical_features": [StrOptions({FROM_DTYPE}), "array-like", None],
    "early_stopping_rounds": [AT_LEAST_ONE, None],
    "validation_measure": [str, None],
    "importance_type": [StrOptions({"gain", "split"})],
    "warm_start": ["boolean"],
    "random_state": ["random_state"],
    "n_jobs": [Interval(Integral, None, -1, closed="right"), AT_LEAST_ONE, None],
}
