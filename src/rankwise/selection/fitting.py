"""Fit any estimator on judged data: what its ``fit`` accepts is what it gets."""

from __future__ import annotations

import inspect
from typing import Any

import sklearn
from sklearn.utils.metadata_routing import get_routing_for_object

from rankwise.datasets.data import RankingData


def fit(estimator: Any, train: RankingData, vali: RankingData | None = None) -> list[str]:
    """Fit in place on the training part; says what the estimator could not take.

    Parameters
    ----------
    estimator : object with ``fit(X, y, …)``
        Gets ``qid``, ``sample_weight`` (where the data have it) and ``X_val, y_val, qid_val``
        (where ``vali`` is given) as far as its signature names them. Pipelines and searches
        get ``qid``, ``groups`` and ``sample_weight`` where metadata routing says that a part of
        them requests these. A plain regressor gets X and y.
    train, vali : RankingData

    Returns
    -------
    list of str
        Notes, for instance that the sample weights went unused.
    """
    parameters = inspect.signature(estimator.fit).parameters
    offered: dict[str, Any] = {"qid": train.qid, "groups": train.qid}
    if train.sample_weight is not None:
        offered["sample_weight"] = train.sample_weight
    named = {name for name in offered if name in parameters}
    routed: set[str] = set()
    has_router = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    with sklearn.config_context(enable_metadata_routing=True):
        if has_router:
            router = get_routing_for_object(estimator)
            routed = set(router.consumes("fit", [n for n in offered if n not in named]))
        metadata = {name: offered[name] for name in (*sorted(named), *sorted(routed))}
        if vali is not None and takes_validation(estimator):
            metadata |= {"X_val": vali.X, "y_val": vali.y, "qid_val": vali.qid}
        estimator.fit(train.X, train.y, **metadata)
    if train.sample_weight is not None and "sample_weight" not in metadata:
        return ["fitted without sample_weight, which its fit does not take"]
    return []


def takes_validation(estimator: Any) -> bool:
    """Whether ``fit`` accepts a validation part."""
    return "X_val" in inspect.signature(estimator.fit).parameters
