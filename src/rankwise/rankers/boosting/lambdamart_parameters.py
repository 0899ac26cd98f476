"""Allowed values of the parameters of LambdaMART."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, get_args

from rankwise.checks.parameter_constraints import (
    FRACTION,
    N_JOBS,
    NOT_NEGATIVE,
    POSITIVE,
    Interval,
    StrOptions,
    minimum,
)
from rankwise.losses.boosted_objectives import Objective
from rankwise.losses.laplacian import QUERY_WEIGHTS
from rankwise.trees.boosted.growth_rules import Growth
from rankwise.trees.column_table import FROM_DTYPE

PROBABILITY = Interval(Real, 0, 1, closed="both")

PARAMETERS: dict[str, Any] = {
    "n_estimators": [minimum(1)],
    "learning_rate": [POSITIVE],
    "max_leaf_nodes": [minimum(2), StrOptions({"auto"})],
    "measure": [str],
    "objective": [StrOptions(set(get_args(Objective))), callable],
    "max_depth": [minimum(1), None],
    "truncation_level": [minimum(1), None],
    "decay": [Interval(Real, 0, 1, closed="neither"), None],
    "min_samples_leaf": [minimum(1)],
    "min_hessian_leaf": [NOT_NEGATIVE],
    "reg_lambda": [NOT_NEGATIVE, StrOptions({"auto"})],
    "reg_alpha": [NOT_NEGATIVE],
    "min_split_gain": [NOT_NEGATIVE],
    "growth": [StrOptions(set(get_args(Growth)))],
    "max_bins": [Interval(Integral, 2, 255, closed="both")],
    "normalize": ["boolean"],
    "query_weight": [StrOptions(set(QUERY_WEIGHTS))],
    "position_bias_regularization": [NOT_NEGATIVE],
    "sampling": [StrOptions({"queries", "goss"})],
    "subsample": [FRACTION],
    "top_rate": [FRACTION],
    "other_rate": [FRACTION],
    "drop_rate": [PROBABILITY],
    "skip_drop": [PROBABILITY],
    "colsample_bytree": [FRACTION],
    "colsample_bylevel": [FRACTION],
    "colsample_bynode": [FRACTION],
    "extra_trees": ["boolean"],
    "monotonic_cst": ["array-like", dict, None],
    "interaction_cst": [list, tuple, StrOptions({"no_interactions", "pairwise"}), None],
    "categorical_features": [StrOptions({FROM_DTYPE}), "array-like", None],
    "early_stopping_rounds": [minimum(1), None],
    "validation_measure": [str, None],
    "importance_type": [StrOptions({"gain", "split"})],
    "warm_start": ["boolean"],
    "random_state": ["random_state"],
    "n_jobs": N_JOBS,
}
