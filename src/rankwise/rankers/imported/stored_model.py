"""Parts of a stored model that all libraries have, and checks of its trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.trees.score_tree import ScoreTree
from rankwise.trees.stored_boosters import StoredTrees


class BoosterError(ValueError):
    """A stored model is damaged, not supported, or does not fit the arguments."""


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


@dataclass
class GivenCategories:
    """Categories that the caller passes, by the number of their column."""

    given: Mapping[Any, Sequence[Any]] | None
    names: Sequence[str] | None
    n_features: int
    by_column: dict[int, list[Any]] = field(init=False)

    def __post_init__(self) -> None:
        self.by_column = {}
        for key, values in (self.given or {}).items():
            self.by_column[self._column(key)] = list(values)

    def _column(self, key: Any) -> int:
        if isinstance(key, str) and self.names is not None and key in self.names:
            return list(self.names).index(key)
        if isinstance(key, int | np.integer) and 0 <= key < self.n_features:
            return int(key)
        known = f"the names {list(self.names)}, or " if self.names is not None else ""
        raise BoosterError(
            f"categories must have columns as keys ({known}numbers from 0 to "
            f"{self.n_features - 1}), got {key!r}."
        )


def check_trees(stored: StoredTrees, n_features: int) -> StoredTrees:
    """Trees without nodes that the root does not reach.

    Raises BoosterError if a node has no children, two parents or a column that does not exist, or
    if a threshold or a leaf is not a number.
    """
    trees = [_keep_reached(tree, number, n_features) for number, tree in enumerate(stored.trees)]
    return replace(stored, trees=tuple(trees))


def _keep_reached(tree: ScoreTree, number: int, n_features: int) -> ScoreTree:
    n_nodes = len(tree.feature)
    inner = tree.feature >= 0
    order, level, seen = [], [0], {0}
    while level:
        order += level
        children = []
        for node in level:
            if inner[node]:
                children += [int(tree.left[node]), int(tree.right[node])]
        if any(not 0 <= child < n_nodes for child in children):
            raise BoosterError(f"tree {number} has a child that does not exist.")
        if len(seen | set(children)) != len(seen) + len(children):
            raise BoosterError(f"tree {number} has a node with two parents.")
        seen |= set(children)
        level = children
    kept = np.array(order)
    place = np.full(n_nodes, -1)
    place[kept] = np.arange(len(kept))
    is_inner = inner[kept]
    if tree.feature.max(initial=-1) >= n_features:
        raise BoosterError(f"tree {number} splits a column beyond the {n_features} of the model.")
    numeric = is_inner & ~np.isin(kept, list(tree.members))
    if np.isnan(tree.threshold[kept][numeric]).any() or not np.isfinite(tree.values[kept]).all():
        raise BoosterError(f"tree {number} has a threshold or a leaf that is not a number.")

    def taken(array: Any) -> Any:
        return None if array is None else array[kept]

    return replace(
        tree,
        feature=tree.feature[kept],
        threshold=tree.threshold[kept],
        left=np.where(is_inner, place[tree.left[kept]], -1),
        right=np.where(is_inner, place[tree.right[kept]], -1),
        missing_left=tree.missing_left[kept],
        values=np.where(is_inner, 0.0, tree.values[kept]),
        members={int(place[n]): s for n, s in tree.members.items() if place[n] >= 0},
        cover=taken(tree.cover),
        gain=taken(tree.gain),
        zero_missing=taken(tree.zero_missing),
    )
