"""Rankers of an ensemble: names, creation from registry keys, fits and scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from rankwise._registry import BY_CLASS_NAME, REGISTRY, find_ranker
from rankwise.prediction import scores_of
from rankwise.runtime.routing import check_ranker, fit_with
from rankwise.typing import Float64Array, Matrix


def name_members(rankers: Any) -> list[tuple[str, Any]]:
    """Pairs (name, key or estimator) of all rankers.

    A key is its own name. An estimator of the registry has its key as name, any other estimator its
    class name in lower case. Equal names are numbered: "rank_svm-1", "rank_svm-2". Given names are
    kept. The result is empty if ``estimators`` is not a list, which ``fit`` reports.
    """
    if not isinstance(rankers, list | tuple):
        return []
    pairs = [
        ranker if isinstance(ranker, tuple) and len(ranker) == 2 else (None, ranker)
        for ranker in rankers
    ]
    derived = [_name(ranker) if name is None else name for name, ranker in pairs]
    many = {name for name, times in Counter(derived).items() if times > 1}
    seen: Counter[str] = Counter()
    named = []
    for (given, ranker), name in zip(pairs, derived, strict=True):
        seen[name] += 1
        named.append((f"{name}-{seen[name]}" if given is None and name in many else name, ranker))
    return named


def _name(ranker: Any) -> str:
    if isinstance(ranker, str):
        return ranker
    entry = BY_CLASS_NAME.get(type(ranker).__name__)
    keys = [key for key, known in REGISTRY.items() if known is entry]
    return keys[0] if keys else type(ranker).__name__.lower()


def check_members(rankers: Any, own: Sequence[str]) -> None:
    """Raise if a name cannot be a parameter name, or if an entry is not a ranker.

    ``own`` contains the names of the parameters of the ensemble.
    """
    if not len(rankers):
        raise ValueError("estimators must hold at least one ranker, got none.")
    for entry in rankers:
        if isinstance(entry, tuple) and not (len(entry) == 2 and isinstance(entry[0], str)):
            raise ValueError(
                f"estimators must hold keys, estimators or (name, estimator) pairs, got {entry!r}."
            )
    named = name_members(rankers)
    names = [name for name, _ in named]
    for name, ranker in named:
        if names.count(name) > 1 or "__" in name or name in own:
            why = "is used twice" if names.count(name) > 1 else "is taken or has two underscores"
            raise ValueError(
                f"estimators: the name {name!r} {why}. Choose another name for the ranker."
            )
        if isinstance(ranker, str):
            find_ranker(ranker, "estimators")
        else:
            check_ranker(name, ranker)


def make_member(
    ranker: Any,
    measure: str,
    random_state: int | None,
    *,
    has_validation: bool = True,
    setting: str = "estimators",
) -> Any:
    """Unfitted estimator for a registry key or an estimator.

    A key stands for the parameters of the registry, with ``measure`` if the class has this
    parameter, and with "cv" instead of "val" without validation data. Every ``random_state`` of
    None is replaced by the given one. ``setting`` is the name of the parameter for the message
    about an unknown key.
    """
    estimator: Any
    if isinstance(ranker, str):
        entry = find_ranker(ranker, setting)
        given = {
            name: "cv"
            if isinstance(value, str) and value == "val" and not has_validation
            else value
            for name, value in entry.params.items()
        }
        estimator = entry.load()(**given)
        own = estimator.get_params(deep=False)
        changes = {"measure": measure, "random_state": random_state}
        estimator.set_params(**{name: value for name, value in changes.items() if name in own})
    else:
        estimator = clone(ranker)
    open_seeds = {
        name: random_state
        for name, value in estimator.get_params(deep=True).items()
        if name.rpartition("__")[2] == "random_state" and value is None
    }
    return estimator.set_params(**open_seeds)


def fit_members(
    members: Mapping[str, Any],
    X: Matrix,
    y: Float64Array,
    qid: Any,
    validation: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Fitted clones of the members; each receives the metadata that it accepts."""
    models = {}
    for name, member in members.items():
        models[name] = clone(member)
        offered = {} if qid is None else {"qid": qid, "groups": qid}
        fit_with(models[name], X, y, offered, validation)
    return models


def member_scores(models: Mapping[str, Any], X: Matrix, qid: Any) -> Float64Array:
    """Scores of every fitted member, shape (n_samples, n_members)."""
    return np.column_stack([scores_of(model, X, qid) for model in models.values()])
