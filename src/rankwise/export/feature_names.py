"""Names of the features that a model reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def first_step(estimator: Any) -> Any:
    """First estimator that reads the features: the first active step of a pipeline."""
    while hasattr(estimator, "best_estimator_"):
        estimator = estimator.best_estimator_
    for _, step in getattr(estimator, "steps", ()):
        if step not in (None, "passthrough"):
            return first_step(step)
    return estimator


def feature_names(estimator: Any, given: Sequence[str] | None = None) -> list[str]:
    """Feature names in the order of the columns: given, from the fit, or f1, f2, ...

    Raises
    ------
    ValueError
        If the number of names differs from the number of columns, or two names are equal.
    """
    first = first_step(estimator)
    n = int(first.n_features_in_)
    known = getattr(first, "feature_names_in_", None) if given is None else given
    numbered = [f"f{number}" for number in range(1, n + 1)]
    names = numbered if known is None else [str(name) for name in known]
    if len(names) != n:
        raise ValueError(
            f"features must have one name for each of the {n} columns, got {len(names)}."
        )
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"features must be distinct, got {', '.join(twice)} more than once.")
    return names
