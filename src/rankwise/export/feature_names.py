"""Names of the features that a model reads."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

# Blanks end a name in LightGBM's file, and the others end one in its JSON.
LIGHTGBM_FORBIDDEN = re.compile(r"[\s\x00-\x1f\x7f\"',:\[\]{}=]")
XGBOOST_FORBIDDEN = re.compile(r"[\[\]<\x00-\x1f\x7f]")
NONE_FORBIDDEN = re.compile(r"(?!)")


def first_step(estimator: Any) -> Any:
    """First estimator that reads the features: the first active step of a pipeline."""
    while hasattr(estimator, "best_estimator_"):
        estimator = estimator.best_estimator_
    for _, step in getattr(estimator, "steps", ()):
        if step not in (None, "passthrough"):
            return first_step(step)
    return estimator


def feature_names(estimator: Any, given: Sequence[str] | None = None) -> list[str]:
    """Distinct feature names in the order of the columns: given, from the fit, or f1, f2, ..."""
    first = first_step(estimator)
    if not hasattr(first, "n_features_in_"):
        check_is_fitted(first)
        raise TypeError(f"a model must know its features, got a {type(first).__name__}.")
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


def replace_forbidden(names: Sequence[str], forbidden: re.Pattern[str], format: str) -> list[str]:
    """Distinct names with ``_`` for each character that a format forbids.

    A warning that names the format is issued if a name changes.
    """
    allowed: list[str] = []
    taken = {name for name in names if name and not forbidden.search(name)}
    for column, name in enumerate(names):
        word = name
        if name not in taken:
            word = forbidden.sub("_", name) or f"f{column + 1}"
            while word in taken:
                word += "_"
            taken.add(word)
        allowed.append(word)
    changed = [pair for pair in zip(names, allowed, strict=True) if pair[0] != pair[1]]
    if changed:
        warnings.warn(
            f"{format} does not accept {len(changed)} of the feature names; the first, "
            f"{changed[0][0]!r}, becomes {changed[0][1]!r}. Pass features=[...] to choose others.",
            UserWarning,
            stacklevel=3,
        )
    return allowed
