"""Columns that each node may split on: a random draw from those allowed on its path."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankwise.trees.boosted.constraints import Groups
from rankwise.typing import Int64Array

Columns = NDArray[np.bool_]


class ColumnChoice:
    """Columns that the nodes of one tree may split on.

    ``features`` are the columns of the tree, to which masks refer. ``by_level`` in (0, 1] is the
    share drawn for each depth, ``by_node`` the share of these drawn for each node. All columns on a
    path must be in one of the ``groups``; None: no restriction.
    """

    def __init__(
        self,
        features: Int64Array,
        by_level: float,
        by_node: float,
        groups: Groups | None,
        rng: np.random.Generator,
    ) -> None:
        self._features, self._by_level, self._by_node = features, by_level, by_node
        self._groups, self._rng = groups, rng
        self._all = np.ones(len(features), dtype=bool)
        self._levels: dict[int, Columns] = {}
        self._may_meet: dict[frozenset[int], Columns] = {}

    def of_node(self, depth: int, path: frozenset[int]) -> Columns:
        """Mask of the columns that a node may split on; ``path`` holds its ancestors' columns.

        Every call makes a new draw.
        """
        allowed = self._all
        if self._by_level < 1:
            # Drawn when the first node of a depth asks, and shared by the others.
            if depth not in self._levels:
                self._levels[depth] = self._draw(self._all, self._by_level)
            allowed = self._levels[depth]
        # After the draw of the level, so that a level may allow no column to some paths.
        if self._groups is not None:
            allowed = allowed & self._may_join(path)
        return allowed if self._by_node == 1 else self._draw(allowed, self._by_node)

    def _may_join(self, path: frozenset[int]) -> Columns:
        assert self._groups is not None
        if path not in self._may_meet:
            # Columns that may join all those of the path in some group.
            joined = frozenset().union(*(group for group in self._groups if path <= group))
            self._may_meet[path] = np.isin(self._features, list(joined))
        return self._may_meet[path]

    def _draw(self, among: Columns, share: float) -> Columns:
        """Draw a share of some columns, at least one."""
        columns = np.flatnonzero(among)
        out = np.zeros(len(among), dtype=bool)
        if len(columns):
            # Half to even, as round does; at least one column.
            n = max(1, round(share * len(columns)))
            out[self._rng.choice(columns, n, replace=False)] = True
        return out
