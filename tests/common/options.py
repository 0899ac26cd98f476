"""Documented options of every estimator: values of its parameters, and arguments of ``fit``."""

from __future__ import annotations

import inspect
import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold
from sklearn.svm import SVC

from rankwise._registry import REGISTRY
from rankwise.runtime.constraints import NumberRange as Interval
from rankwise.runtime.constraints import Options
from rankwise.runtime.constraints import validate_parameters as _validate
from tests.common.estimators import accepts, load_class, small

N_ROWS, N_FEATURES = 24, 4
FORMS = ("array", "float32", "sparse", "frame", "strided")
SCORING = ("predict", "predict_proba", "rank_score", "decision_function", "transform")
_MEASURES = ["nDCG@10", "nDCG@2", "AP", "ERR", "RR", "P@2"]
# Values of parameters whose constraints name a type only.
_NAMED: dict[str, list[Any]] = {
    "measure": _MEASURES,
    "validation_measure": _MEASURES,
    "objective": _MEASURES,
    "cv": [2, 3, KFold(2), GroupKFold(3)],
    "n_jobs": [1, 2],
    "random_state": [0, 1, np.random.RandomState(3)],
    "classes": [[0, 1, 2], [0, 1, 2, 3]],
    "costs": ["absolute", "squared", [[0, 1, 4], [2, 0, 1], [3, 1, 0]]],
    "monotonic_cst": [[1, -1, 0, 1], {"a": 1, "b": -1}],
    "interaction_cst": [[[0, 1], [2, 3]], [["a", "b"], ["c"]], ([0, 1, 2],)],
    "categorical_features": [[2], [False, False, True, False], ["c"]],
    "kernel_params": [{"degree": 2}, {"delta": 2.0}, {"coef0": 0.5, "degree": 2}],
    "features": [[0, 2], ["a", "b"]],
    "hidden_layer_sizes": [(3,), (3, 2), ()],
    "n_pair_nodes": [0, 2],
    "estimators": [
        ["ridge", "linear_regression"], [("a", small("ridge")), ("b", small("lambdamart"))],
    ],
    "final_estimator": ["ridge", small("linear_regression")],
    "scaler": [small("query_scaling")],
    "time_budget": [None],
    "n_estimators": [1, 3],
    "n_trials": [1, 3],
    "n_epochs": [1, 2],
    "base_iter": [1, 5],
}  # fmt: skip
_LEARNERS = [LogisticRegression(), LinearRegression(), Ridge(), SVC(), "stump", "perceptron"]
# Estimators with parameters that would take a second.
_FIXED = {"auto": {"time_budget", "n_trials"}, "boltz_rank": {"n_rankings"}}


def values_of(key: str, name: str) -> list[Any]:
    """Documented values of a parameter, its default first."""
    cls = load_class(key)
    default = inspect.signature(cls).parameters[name].default
    constraints = cls._parameter_constraints.get(name, [])
    if name in _FIXED.get(key, ()):
        return [getattr(small(key), name)]
    found = [default, *_NAMED.get(name, [])]
    if name == "estimator":
        found += _LEARNERS
    for constraint in constraints:
        if constraint is None or isinstance(constraint, Options):
            found += sorted(constraint.options, key=str) if constraint is not None else [None]
        elif isinstance(constraint, str) and constraint == "boolean":
            found += [False, True]
        elif isinstance(constraint, Interval) and name not in _NAMED:
            found += _numbers(constraint)
        elif constraint == "array-like" and name in ("C", "alpha", "lam", "gamma", "epsilon"):
            found.append([0.1, 1.0])
    return [
        value
        for place, value in enumerate(found)
        if not any(_equal(value, other) for other in found[:place])
        and _is_allowed(cls, name, value)
    ]


def _numbers(interval: Interval) -> list[Any]:
    whole = interval.type is Integral or (interval.type is not Real and interval.type is int)
    candidates = [1, 2, 3] if whole else [1e-3, 0.1, 0.5, 1.0, 2.0]
    ends = [interval.left, interval.right]
    candidates += [end for end in ends if end is not None and abs(end) < 300]
    return [value for value in candidates if interval.is_satisfied_by(value)]


def _is_allowed(cls: type, name: str, value: Any) -> bool:
    constraints = cls._parameter_constraints
    if name not in constraints:
        return True
    try:
        _validate({name: constraints[name]}, {name: value}, cls.__name__)
    except (ValueError, TypeError):
        return False
    return True


def _equal(one: Any, other: Any) -> bool:
    return type(one) is type(other) and repr(one) == repr(other)


def parameters(key: str) -> list[str]:
    """Names of the parameters."""
    return list(inspect.signature(load_class(key)).parameters)


def draw_options(key: str, rng: np.random.Generator, share: float = 0.3) -> dict[str, Any]:
    """Values for some parameters, and arguments of ``fit`` under ``"fit"``."""
    chosen = {}
    for name in parameters(key):
        values = values_of(key, name)
        if rng.random() < share:
            chosen[name] = values[rng.integers(len(values))]
    return {"params": chosen, "form": str(rng.choice(FORMS)), "extra": int(rng.integers(16))}


def training_data(
    key: str, params: dict[str, Any], form: str, extra: int, seed: int = 0
) -> dict[str, Any]:
    """Arguments of ``fit``; the bits of ``extra`` add weights, validation rows, positions, text."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, N_FEATURES))
    X[:, 2] = rng.integers(0, 3, N_ROWS)
    kind = REGISTRY[key].kind
    if params.get("kernel") == "precomputed":
        X = X @ X.T + np.eye(N_ROWS)
    given: dict[str, Any] = {"X": in_form(X, form)}
    if kind == "multi-label":
        given["y"] = rng.integers(0, 2, (N_ROWS, 3))
    elif kind != "transformer":
        given["y"] = np.arange(N_ROWS) % 3
    if accepts(key, "qid"):
        given["qid"] = np.arange(N_ROWS) // 6
    if extra & 1 and accepts(key, "sample_weight"):
        given["sample_weight"] = 1.0 + np.arange(N_ROWS) % 2
    if (extra & 2 or "val" in params.values()) and accepts(key, "X_val"):
        given |= {"X_val": given["X"], "y_val": given["y"]}
        if "qid" in given:
            given["qid_val"] = given["qid"]
    if extra & 4 and accepts(key, "position"):
        given["position"] = np.arange(N_ROWS) % 6
    if extra & 8 and kind in ("ordinal", "cost-sensitive"):
        names = np.array(["bad", "fair", "good"])
        for name in ("y", "y_val"):
            if name in given:
                given[name] = names[given[name]]
    return given


def in_form(X: np.ndarray, form: str) -> Any:
    """Rows as an array, a CSR matrix or a frame with the columns a, b, c and d."""
    if form == "frame" and X.shape[1] == N_FEATURES:
        import pandas

        return pandas.DataFrame(X, columns=list("abcd"))
    if form == "float32":
        return X.astype(np.float32)
    if form == "sparse":
        return sparse.csr_array(np.where(X > 0, X, 0.0))
    return np.repeat(X, 2, axis=1)[:, ::2] if form == "strided" else X


def fit_options(key: str, params: dict[str, Any], form: str = "array", extra: int = 0) -> Any:
    """A model fitted with options; the errors of ``fit`` are those of the estimator."""
    if extra & 8 and REGISTRY[key].kind == "ordinal":
        params = {**params, "classes": ["bad", "fair", "good"]}
    model = small(key, **{name: _copy(value) for name, value in params.items()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(**training_data(key, params, form, extra))


def _copy(value: Any) -> Any:
    if isinstance(value, np.random.RandomState):
        return np.random.RandomState(3)
    return clone(value) if hasattr(value, "get_params") else value


def results(key: str, model: Any, form: str = "array") -> list[Any]:
    """All that the model says of other rows."""
    params = model.get_params(deep=False)
    given = training_data(key, params, form, 0, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [getattr(model, name)(given["X"]) for name in SCORING if hasattr(model, name)]


def attributes(model: Any) -> dict[str, Any]:
    """All attributes but the parsed model of a boosting library, which is a cache."""
    made = ("_booster", "_ensemble")
    return {name: value for name, value in vars(model).items() if name not in made}
