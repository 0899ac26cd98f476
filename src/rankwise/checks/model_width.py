"""Checks that rows have the columns that a model reads, by the arrays of the model itself.

``n_features_in_`` is an attribute that anyone can set, and compiled code indexes rows without
checking bounds. So the width of the model is taken from its arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from rankwise.structure.rules import (
    Array,
    Either,
    MatrixRows,
    Optional,
    Rule,
    Size,
    Sometimes,
    structure_of,
)

_WIDTH = "n_features_in_"


def check_model_width(estimator: Any) -> None:
    """Raise ValueError unless ``n_features_in_`` is the width of the arrays of the fitted model.

    The arrays are those with a dimension ``n_features_in_`` among the declared attributes; the
    fingerprint of the training rows counts as one. O(number of attributes).
    """
    state = vars(estimator)
    width = state.get(_WIDTH)
    for name, n_axes, axis in _arrays_of_width(type(estimator)):
        shape = getattr(state.get(name), "shape", ())
        if len(shape) == n_axes and shape[axis] != width:
            raise _other_width(estimator, width, shape[axis], name)
    fingerprint = state.get("fit_fingerprint_")
    if isinstance(fingerprint, Mapping) and fingerprint.get("n_features", width) != width:
        raise _other_width(estimator, width, fingerprint["n_features"], "fit_fingerprint_")


def check_columns_read(features: np.ndarray[Any, Any], n_columns: int) -> None:
    """Raise ValueError if one of the columns that a model reads is beyond those of the rows."""
    last = int(features.max(initial=-1))
    if last >= n_columns:
        raise ValueError(
            f"X must have column {last}, which the model reads, but has only {n_columns} columns. "
            "Pass rows with the features of the fit."
        )


@cache
def _arrays_of_width(cls: type) -> tuple[tuple[str, int, int], ...]:
    """Names of the declared arrays of a class, each with its number of axes and that of columns."""
    return tuple(
        (name, len(sizes), axis)
        for name, rule in structure_of(cls).items()
        for sizes in _shapes(rule)
        for axis, size in enumerate(sizes)
        if size == _WIDTH
    )


def _shapes(rule: Rule) -> list[tuple[Size, ...]]:
    """Shapes that a rule allows for an array."""
    if isinstance(rule, Either):
        return [shape for choice in rule.rules for shape in _shapes(choice)]
    if isinstance(rule, Sometimes | Optional):
        return _shapes(rule.rule)
    if isinstance(rule, MatrixRows):
        return [(rule.n_rows, rule.n_columns)]
    return [rule.shape] if isinstance(rule, Array) and rule.shape is not None else []


def _other_width(estimator: Any, width: Any, expected: Any, name: str) -> ValueError:
    return ValueError(
        f"{type(estimator).__name__}.n_features_in_ must be {expected}, as in {name}, got {width}: "
        "it was changed after the fit. Fit the model again."
    )
