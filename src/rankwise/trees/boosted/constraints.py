"""User constraints: signs of monotone columns, and groups of columns that may interact."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_monotonic_cst

Groups = tuple[frozenset[int], ...]


def monotone_signs(
    estimator: Any, monotonic_cst: Any, nominal: Collection[int] = ()
) -> tuple[int, ...]:
    """Sign of every column: 1, -1 or 0.

    The estimator has ``n_features_in_`` and, if fitted on frames, ``feature_names_in_``;
    ``monotonic_cst`` is None, (n_features_in_,) or a dict by name. ``nominal`` columns take no
    sign.
    """
    # scikit-learn's own check, so that its rules and messages hold for names and lengths.
    signs = _check_monotonic_cst(estimator, monotonic_cst)
    for column in nominal:
        if signs[column] != 0:
            raise ValueError(
                f"monotonic_cst must be 0 for columns of categories, which have no order, got "
                f"{signs[column]} for column {column}. Set it to 0."
            )
    return tuple(int(sign) for sign in signs)


def interaction_groups(estimator: Any, interaction_cst: Any) -> Groups | None:
    """Groups of columns; each path uses columns of one group. None: no restriction.

    The estimator has ``n_features_in_`` and, if fitted on frames, ``feature_names_in_``;
    ``interaction_cst`` is "no_interactions", "pairwise", None or sequences of columns, as numbers
    or names. Columns outside all groups form one group.
    """
    n = int(estimator.n_features_in_)
    if interaction_cst is None:
        return None
    if isinstance(interaction_cst, str):
        # With a single column, the only pair is the column itself.
        size = 1 if interaction_cst == "no_interactions" else min(2, n)
        return tuple(frozenset(group) for group in combinations(range(n), size))
    groups = []
    for given in interaction_cst:
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise ValueError(
                f"interaction_cst must hold sequences of columns, got {given!r} in "
                f"{interaction_cst!r}. Pass for example [[0, 1], [2, 3]]."
            )
        group = frozenset(_column(estimator, column) for column in given)
        if not group:
            raise ValueError(
                f"interaction_cst must hold groups with columns, got {given!r}. Drop the group."
            )
        groups.append(group)
    # Together, not one by one, as in scikit-learn.
    rest = frozenset(range(n)).difference(*groups)
    return (*groups, rest) if rest else tuple(groups)


def _column(estimator: Any, column: Any) -> int:
    names = list(getattr(estimator, "feature_names_in_", []))
    if isinstance(column, str) and column in names:
        return names.index(column)
    if isinstance(column, int | np.integer) and 0 <= column < estimator.n_features_in_:
        return int(column)
    what = f"or names of {names}" if names else "as X has no names"
    raise ValueError(
        f"interaction_cst must hold numbers of columns from 0 to {estimator.n_features_in_ - 1}, "
        f"{what}, got {column!r}."
    )
