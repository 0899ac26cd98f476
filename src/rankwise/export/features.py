"""Names of the features that a model takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def feature_names(estimator: Any, given: Sequence[str] | None = None) -> list[str]:
    """Names in the order of the columns: those given, those of the fit, or f1, f2, ...

    Raises
    ------
    ValueError
        Where there are not as many as columns, or two are equal.
    """
    n = int(estimator.n_features_in_)
    known = getattr(estimator, "feature_names_in_", None) if given is None else given
    numbered = [f"f{number}" for number in range(1, n + 1)]
    names = numbered if known is None else [str(name) for name in known]
    if len(names) != n:
        raise ValueError(
            f"features must have one name for each of the {n} columns, got {len(names)}."
        )
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"features must be distinct, got {', '.join(twice)} more than once.")
    return names
