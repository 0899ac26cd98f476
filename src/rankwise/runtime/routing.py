"""Call any estimator with the metadata that it accepts.

The method's signature decides. If a pipeline or another meta-estimator passes metadata on,
scikit-learn's routing decides.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import sklearn
from sklearn.utils.metadata_routing import get_routing_for_object


def select_accepted(estimator: Any, method: str, offered: Mapping[str, Any]) -> dict[str, Any]:
    """The offered metadata (e.g. ``{"qid": …, "groups": …}``) that a method accepts.

    These are the arguments named by the method's signature, and those that a pipeline step or
    search requests.
    """
    parameters = inspect.signature(getattr(estimator, method)).parameters
    named = {name for name in offered if name in parameters}
    routed: set[str] = set()
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        router = get_routing_for_object(estimator)
        routed = set(router.consumes(method, [name for name in offered if name not in named]))
    return {name: value for name, value in offered.items() if name in named | routed}


def fit_with(
    estimator: Any,
    X: Any,
    y: Any,
    offered: Mapping[str, Any],
    validation: Mapping[str, Any] | None = None,
) -> set[str]:
    """Fit in place with the metadata that ``fit`` accepts; return the names of those passed.

    ``validation`` (``X_val, y_val, qid_val``) goes to an estimator whose ``fit`` names ``X_val``,
    and only as a whole. If no ``qid`` is offered, the rows are one query.
    """
    with sklearn.config_context(enable_metadata_routing=True):
        metadata = select_accepted(estimator, "fit", {"qid": 0, **offered})
        if validation is not None and takes_validation(estimator):
            metadata |= validation
        estimator.fit(X, y, **metadata)
    return set(metadata) - ({"qid"} - set(offered))


def call_with(estimator: Any, method: str, X: Any, qid: Any) -> Any:
    """``estimator.method(X)``, with ``qid`` if it is given and the method accepts it."""
    if qid is None:
        return getattr(estimator, method)(X)
    with sklearn.config_context(enable_metadata_routing=True):
        return getattr(estimator, method)(X, **select_accepted(estimator, method, {"qid": qid}))


def check_ranker(name: str, ranker: Any) -> None:
    """Raise TypeError, with a fix, for an object that cannot be fitted or cloned."""
    needed = f"rankers: {name!r} must be a registry key or an estimator object, got {ranker!r}"
    if isinstance(ranker, type):
        raise TypeError(f"{needed}. Call the class to make an object.")
    missing = [method for method in ("fit", "get_params") if not hasattr(ranker, method)]
    if missing == ["get_params"]:
        raise TypeError(
            f"{needed}, which has no get_params, so that it cannot be cloned. Derive its class "
            "from sklearn.base.BaseEstimator."
        )
    if missing:
        raise TypeError(f"{needed}, which has no fit. See 'rankwise list rankers' for keys.")


def takes_validation(estimator: Any) -> bool:
    """Whether ``fit`` accepts a validation part."""
    return "X_val" in inspect.signature(estimator.fit).parameters
