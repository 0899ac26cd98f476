"""Trees that boosting libraries store: what all models have, and checks of what a file says.

:mod:`rankwise.rankers.adapters` has a reader for the format of each library. A category is a code,
and codes that the training rows did not have count as missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.trees.tree_ensemble import ScoreTree
from rankwise.typing import Float64Array, Int64Array


class BoosterError(ValueError):
    """A stored model is damaged, not supported, or does not fit the arguments."""


@dataclass(frozen=True, eq=False)
class StoredTrees:
    """Trees read from a stored model; ``constant`` is added to their sum."""

    trees: tuple[ScoreTree, ...]
    constant: float = 0.0
    # whether values were missing in the training rows, as far as the model knows
    has_missing: bool = False
    tells_missing: bool = True  # whether the model knows


@dataclass(frozen=True, eq=False)
class StoredModel:
    """A model before its trees are read."""

    library: str  # "LightGBM", "XGBoost" or "CatBoost"
    n_features: int
    names: list[str] | None  # of the columns; None if the file only numbers them
    nominal: set[int]  # columns that nodes split by sets of categories
    # Of columns, in the order of their codes, as far as the file lists them.
    categories: dict[int, list[Any]]
    # Returns the trees, given the number of categories of each column.
    read: Callable[[NDArray[np.integer]], StoredTrees]
    in_float32: bool = False  # whether the library rounds rows to float32


def categories_by_column(
    given: Mapping[Any, Sequence[Any]] | None, names: Sequence[str] | None, n_features: int
) -> dict[int, list[Any]]:
    """Categories that the caller passes by the name or number of a column, by its number."""
    by_column = {}
    for key, values in (given or {}).items():
        if isinstance(key, str) and names is not None and key in names:
            by_column[list(names).index(key)] = list(values)
        elif isinstance(key, int | np.integer) and 0 <= key < n_features:
            by_column[int(key)] = list(values)
        else:
            known = f"the names {list(names)}, or " if names is not None else ""
            raise BoosterError(
                f"categories must have columns as keys ({known}numbers from 0 to "
                f"{n_features - 1}), got {key!r}."
            )
    return by_column


def category_sides(listed: NDArray[np.integer], n_codes: int) -> tuple[Float64Array, Float64Array]:
    """Codes that a node lists, and all others."""
    codes = np.arange(n_codes)
    inside = np.isin(codes, listed)
    return codes[inside].astype(np.float64), codes[~inside].astype(np.float64)


def last_rounded_to(values: Any) -> Float64Array:
    """Largest float64 numbers that libraries round to the given float32 numbers.

    Beyond the middle between two float32 numbers, rows are rounded to the larger one; in the
    middle, to the one whose last bit is 0.
    """
    values = np.asarray(values, dtype=np.float32)
    above = np.nextafter(values, np.float32(np.inf))
    middle = 0.5 * values.astype(np.float64) + 0.5 * above.astype(np.float64)
    return np.where(middle.astype(np.float32) == values, middle, np.nextafter(middle, -np.inf))


def check_trees(stored: StoredTrees, n_features: int) -> StoredTrees:
    """The trees, if kernels may walk them.

    Raises BoosterError if a node has a child that does not exist, two parents or a column that does
    not exist, or if a threshold or a leaf is not a number.
    """
    for number, tree in enumerate(stored.trees):
        is_numeric = tree.feature >= 0
        children = np.concatenate([tree.left[is_numeric], tree.right[is_numeric]])
        if ((children < 0) | (children >= len(is_numeric))).any():
            raise BoosterError(f"tree {number} has a child that does not exist.")
        # With a root that is no child, neither a cycle nor a second path is reached from it.
        if (children == 0).any() or (np.bincount(children) > 1).any():
            raise BoosterError(f"tree {number} has a node with two parents.")
        if tree.feature.max(initial=-1) >= n_features:
            raise BoosterError(
                f"tree {number} splits a column beyond the {n_features} of the model."
            )
        is_numeric[list(tree.members)] = False
        if np.isnan(tree.threshold[is_numeric]).any() or not np.isfinite(tree.values).all():
            raise BoosterError(f"tree {number} has a threshold or a leaf that is not a number.")
    return stored


# Errors of code that reads a damaged file.
DAMAGE = (
    KeyError, IndexError, TypeError, ValueError, OverflowError, AttributeError, RecursionError,
)  # fmt: skip


@contextmanager
def refuse_damage(library: str) -> Iterator[None]:
    """Raise what a check or the reading of a model raises as BoosterError that names the library.

    The libraries use the numbers of a file as array indices, so a crafted file could make them read
    or write out of bounds. They get only what was checked.
    """
    try:
        yield
    except DAMAGE as error:
        raise BoosterError(f"{library} model: {error}") from None


def require(condition: Any, message: str) -> None:
    """Raise BoosterError unless a condition is true."""
    if not condition:
        raise BoosterError(message)


def require_keys(found: dict[str, Any], expected: set[str]) -> None:
    """Raise unless a table has exactly these entries."""
    require(type(found) is dict, "an entry is not a table")
    odd = sorted(set(found) ^ expected)
    require(not odd, f"unknown or missing entries {odd}")


def require_numbers(values: list[Any], n: int | None, what: str) -> None:
    """Raise unless a list has n numbers; None: any number of them."""
    is_long = type(values) is list and (n is None or len(values) == n)
    require(is_long, f"{what} has a wrong length")
    require(all(type(value) in (int, float) for value in values), f"{what} holds no numbers")


def require_range(indices: NDArray[Any], n: int, what: str) -> None:
    """Raise unless all indices are at least 0 and below n."""
    require(not ((indices < 0) | (indices >= n)).any(), f"{what} must lie in 0..{n - 1}")


def index_array(values: ArrayLike) -> Int64Array:
    """Whole numbers of 32 bits."""
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    require(array.dtype.kind == "i" and array.ndim == 1, "an index is not an integer")
    require(array.min() >= -(2**31) and array.max() < 2**31, "an index is too large")
    return array.astype(np.int64)
