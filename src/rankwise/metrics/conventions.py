"""Conventions behind a name such as nDCG: gain, discount, empty queries, ties, short queries.

Every measure stores its conventions as fields. This module defines the allowed values and
translates them into arguments of the kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from rankwise.typing import Float64Array

Gain: TypeAlias = str | tuple[float, ...]
Empty: TypeAlias = int | str

GAINS = ("exp2", "linear")
DISCOUNTS = ("log2", "letor")
EMPTY = (0, 1, "skip", "nan")
# "mean" is the expected value: tied rows stand in every order equally often.
TIES = ("mean", "stable", "docid", "worst", "best")
# Sums of 2**grade overflow for larger integer grades.
LARGEST_GRADE = 1000


def check_choice(measure: str, name: str, value: Any, choices: Sequence[Any]) -> None:
    """Raise ValueError unless ``value`` is one of the choices."""
    if value not in choices or isinstance(value, bool):
        raise ValueError(f"{measure}: {name} must be one of {list(choices)}, got {value!r}.")


def check_cutoff(measure: str, cutoff: Any) -> None:
    """Raise ValueError unless the cut-off is None or an integer >= 1."""
    if cutoff is not None and not (isinstance(cutoff, int | np.integer) and cutoff >= 1):
        raise ValueError(
            f"{measure}: the cut-off must be an integer >= 1, got {cutoff!r}. "
            "Leave '@k' out for the whole ranking."
        )


def check_number(
    measure: str, name: str, value: Any, low: float, high: float, *, open_ends: bool = False
) -> None:
    """Raise ValueError unless ``value`` is a number from ``low`` to ``high``."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    inside = number and (low < value < high if open_ends else low <= value <= high)
    if not inside:
        between = f"between {low} and {high}" if open_ends else f"from {low} to {high}"
        raise ValueError(f"{measure}: {name} must be a number {between}, got {value!r}.")


def check_gain(measure: str, gain: Any) -> None:
    """Raise ValueError unless ``gain`` is a name or a table of non-decreasing gains >= 0."""
    if not isinstance(gain, tuple):
        check_choice(measure, "gain", gain, GAINS)
        return
    try:
        table = np.asarray(gain, dtype=np.float64)
    except (TypeError, ValueError):
        table = np.full(1, np.nan)
    if table.ndim != 1 or not table.size or not (np.diff(table, prepend=0.0) >= 0).all():
        raise ValueError(
            f"{measure}: gain must be 'exp2', 'linear' or a tuple of non-decreasing numbers >= 0, "
            f"the gains of grades 0, 1, ..., got {gain!r}."
        )


def gain_table(gain: Gain, n_grades: int) -> Float64Array:
    """Gain of the grades 0 … n_grades - 1; empty for the linear gain, which needs none."""
    if isinstance(gain, tuple):
        return np.asarray(gain, dtype=np.float64)
    if gain == "linear":
        return np.empty(0)
    return _exp2_table(n_grades)


@lru_cache(maxsize=32)
def _exp2_table(n_grades: int) -> Float64Array:
    table = np.exp2(np.arange(n_grades)) - 1.0
    table.flags.writeable = False
    return table


def discounts(discount: str, n_ranks: int) -> Float64Array:
    """Weights of the ranks 1 … n_ranks, possibly of further ranks.

    ``"log2"``: 1 / log2(1 + r). ``"letor"``: 1 at rank 1 and 1 / log2(r) below it, so the second
    rank is not discounted. ``"reciprocal"``: 1 / r.
    """
    return _discounts(discount, 1 << max(4, int(n_ranks - 1).bit_length()))


@lru_cache(maxsize=16)
def _discounts(discount: str, n_ranks: int) -> Float64Array:
    ranks = np.arange(1, n_ranks + 1, dtype=np.float64)
    if discount == "log2":
        weights = 1.0 / np.log2(ranks + 1.0)
    elif discount == "letor":
        weights = 1.0 / np.log2(np.maximum(ranks, 2.0))
    else:
        weights = 1.0 / ranks
    weights.flags.writeable = False
    return weights


def value_of_empty(empty: Empty) -> float:
    """Value of a query without possible gain; NaN if the query does not count."""
    return np.nan if isinstance(empty, str) else float(empty)
