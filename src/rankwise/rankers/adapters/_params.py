"""Translation of parameters for the libraries: column names, constraints and unknown keys."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rankwise.runtime.vocabulary import did_you_mean

_DIRECTIONS = (-1, 0, 1)


def refuse_unknown(owner: str, library: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raise for the first key of ``params`` that the library does not know.

    ``owner`` is the class name of the adapter, ``given`` holds the keys of ``params``, and
    ``known`` all names that the library accepts. The message suggests the most similar known name.
    """
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known, f"See {library}'s list of parameters.")
            raise ValueError(
                f"params must hold parameters of {library}, got {name!r} for {owner}. {hint}"
            )


def library_names(names: Sequence[str], forbidden: re.Pattern[str]) -> list[str]:
    """Distinct column names, with ``_`` for characters that a library forbids."""
    taken: set[str] = set()
    out = []
    for column, name in enumerate(names):
        word = forbidden.sub("_", str(name)) or f"Column_{column}"
        if word in taken:
            word = f"{word}_{column}"
        while word in taken:
            word += "_"
        taken.add(word)
        out.append(word)
    return out


def constraint_list(
    constraints: Any, n_features: int, names: Sequence[str] | None, nominal: Collection[int]
) -> list[int] | None:
    """Direction of every column, -1, 0 or 1; None if there are no constraints.

    ``constraints`` is the parameter ``monotone_constraints``: a mapping from names or numbers of
    columns to directions, or an array (n_features,). ``names`` are those of the columns, if X has
    names. The columns in ``nominal`` are categorical: they have no order, so a constraint on them
    is an error.
    """
    if constraints is None:
        return None
    directions = [0] * n_features
    if isinstance(constraints, Mapping):
        for key, direction in constraints.items():
            directions[_column(key, n_features, names)] = direction
    else:
        directions = np.asarray(constraints).tolist()
        if not isinstance(directions, list) or len(directions) != n_features:
            raise ValueError(
                f"monotone_constraints must have n_features={n_features} entries, got "
                f"{constraints!r}. Pass one of -1, 0 and 1 per column, or a dict of columns."
            )
    for column, direction in enumerate(directions):
        if direction not in _DIRECTIONS:
            raise ValueError(
                f"monotone_constraints must be -1, 0 or 1, got {direction!r} for column {column}. "
                "1: the score never decreases as the feature grows; -1: it never increases."
            )
        if direction and column in nominal:
            raise ValueError(
                f"monotone_constraints must be 0 for column {column}, which has unordered "
                "categories. Pass an ordered categorical, or remove the constraint."
            )
    return [int(direction) for direction in directions]


def _column(key: Any, n_features: int, names: Sequence[str] | None) -> int:
    if isinstance(key, str):
        if names is not None and key in names:
            return list(names).index(key)
        hint = did_you_mean(key, names or (), "Name columns of X, or number them.")
        raise ValueError(f"monotone_constraints must name columns of X, got {key!r}. {hint}")
    if not isinstance(key, int | np.integer) or not 0 <= key < n_features:
        raise ValueError(
            f"monotone_constraints must number columns from 0 to {n_features - 1}, got {key!r}."
        )
    return int(key)
