"""Corrections for calls with an argument that a method does not take."""

from __future__ import annotations

from collections.abc import Container, Mapping
from inspect import Signature

from rankwise.runtime.vocabulary import did_you_mean

_QID = "Pass qid, one query id per row"
_SIZES = f"{_QID}; from the sizes of the queries: numpy.repeat(numpy.arange(len(group)), group)"
_WEIGHT = "Pass sample_weight, one weight per row"
_VALIDATION = "Pass validation rows as X_val, y_val and qid_val"
# Argument names of LightGBM, XGBoost, CatBoost and scikit-learn, with the name here and the fix.
_ELSEWHERE = {
    "group": ("qid", _SIZES),
    "groups": ("qid", _QID),
    "group_id": ("qid", _QID),
    "query": ("qid", _QID),
    "query_id": ("qid", _QID),
    "weight": ("sample_weight", _WEIGHT),
    "weights": ("sample_weight", _WEIGHT),
    "eval_set": ("X_val", _VALIDATION),
    "evals": ("X_val", _VALIDATION),
    "validation_data": ("X_val", _VALIDATION),
    "eval_group": ("X_val", f"{_VALIDATION}, one query id per row in qid_val"),
    "eval_qid": ("X_val", _VALIDATION),
}
# Arguments of fit and train elsewhere, and the parameter of the estimator that takes their place.
_SETTINGS_ELSEWHERE = {
    "categorical_feature": "categorical_features",
    "cat_features": "categorical_features",
    "callbacks": "early_stopping_rounds",
    "eval_at": "measure",
    "eval_metric": "measure",
    "feval": "measure",
    "num_boost_round": "n_estimators",
}


def wrong_call(
    method: str,
    signature: Signature,
    given: Mapping[str, object],
    error: TypeError,
    settings: Container[str] = (),
) -> str:
    """The message for a call of ``method``, "Class.method", that does not fit its signature.

    ``given`` are the keyword arguments, ``error`` is Python's own, and ``settings`` are the names
    of the parameters of the estimator.
    """
    takes = [name for name in signature.parameters if name != "self"]
    unknown = next((name for name in given if name not in takes), None)
    if unknown is None:
        said = str(error)
        return method + said[said.index("(") :] if "(" in said else f"{method}: {said}"
    said = f"{method} takes no argument {unknown!r}."
    name, hint = _ELSEWHERE.get(unknown, ("", ""))
    if name in takes:
        return f"{said} {hint}."
    setting = _SETTINGS_ELSEWHERE.get(unknown, unknown)
    if setting in settings:
        return f"{said} Set it in the estimator: {method.split('.')[0]}({setting}=…)."
    hint = did_you_mean(unknown, takes, f"It takes {', '.join(takes)}.")
    return f"{said} {hint}"
