"""Rules for the growth of a gradient tree: order, limits, penalties, constraints and draws."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankwise.typing import Int64Array

Growth = Literal["leaf", "depth", "symmetric"]

# What "auto" stands for, chosen by benchmarks/study_generalisation.py. Large trees overfit few
# judgements; 31 leaves were level or behind at 52,000 rows (two sets), and ahead at 210,000 (one).
# Up to 321 training queries, 4 leaves were ahead of 7 on 11 of 14 sets in nDCG@10 and in AP; from
# 827 queries on they were behind on average, on two of six sets by more than two standard errors.
FEWEST_LEAVES, FEW_LEAVES, MANY_LEAVES = 4, 7, 31
FEW_QUERIES, MANY_ROWS = 600, 100_000
PENALTY_QUERIES = 10.0
# Splits by categories: chosen on simulations of 4,000 to 64,000 rows, in queries of 20 and of 120
# rows. The best share fell with the number of rows, not of queries: rows tell categories apart.
CATEGORY_PENALTY_ROWS = 6000.0


def automatic_growth(
    n_rows: int, n_queries: int, max_depth: int | None, has_effects: bool
) -> Growth:
    """Growth, if the user names neither it nor a number of leaves.

    ``has_effects`` is whether numbers replace categories that change the order in queries.
    """
    # Chosen by benchmarks/study_categories.py: .005 to .016 nDCG@10 ahead of leaf by leaf in every
    # simulation, level on five real tables of 700 to 3,900 training queries, and behind on Expedia
    # with 290. Less penalty or 16 leaves instead of 31 help in some simulations, not on tables.
    is_bounded = max_depth is not None or n_rows >= MANY_ROWS or n_queries < FEW_QUERIES
    return "symmetric" if has_effects and not is_bounded else "leaf"


def automatic_leaves(n_rows: int, n_queries: int, growth: Growth, max_depth: int | None) -> int:
    """Largest number of leaves of trees on distinct rows of queries, if the user names none."""
    # Levels bound these trees; 7 leaves would end them after two.
    if growth == "symmetric" or max_depth is not None or n_rows >= MANY_ROWS:
        return MANY_LEAVES
    return FEWEST_LEAVES if n_queries < FEW_QUERIES else FEW_LEAVES


def automatic_penalty(n_queries: int) -> float:
    """L2 penalty as a share of the second derivatives in the root, if the user names none."""
    return PENALTY_QUERIES / (PENALTY_QUERIES + n_queries)


def automatic_category_penalty(n_rows: int) -> float:
    """Further L2 penalty of splits by categories as such a share, if the user names none."""
    return CATEGORY_PENALTY_ROWS / (CATEGORY_PENALTY_ROWS + n_rows)


@dataclass(frozen=True)
class GrowthRules:
    """Rules for the growth of a tree: order, limits, penalties and draws.

    ``growth="leaf"`` splits the leaf with the largest gain, "depth" a leaf of the smallest depth,
    and "symmetric" all leaves of a level in the same way. Minima and penalties are >= 0.
    """

    max_leaf_nodes: int = 31  # at least 2
    max_depth: int | None = None
    # Compared with a child's share of the node's second derivatives, times the number of the node's
    # rows.
    min_samples_leaf: int = 20
    min_hessian_leaf: float = 1e-3
    reg_lambda: float = 0.0
    reg_alpha: float = 0.0
    min_split_gain: float = 0.0  # the gain of a split must exceed this value
    growth: Growth = "leaf"
    by_level: float = 1.0  # in (0, 1]: share of the tree's columns drawn for each depth
    by_node: float = 1.0  # in (0, 1]: share of the depth's columns drawn for each node
    # Try one random threshold per column and node, among those that leave enough on each side.
    random_thresholds: bool = False
    # By column: leaf values increase (1), decrease (-1) or are free (0). Empty: all 0.
    signs: tuple[int, ...] = ()
    # All columns on a path must be in one group. None: no restriction.
    groups: Groups | None = None
    # L2 penalty in units of the root's sum of second derivatives; added to ``reg_lambda``.
    relative_lambda: float = 0.0
    # Further L2 penalty on the gains of splits by more than four categories, and the same in units
    # of the root's sum of second derivatives.
    cat_l2: float = 0.0
    relative_cat_l2: float = 0.0
    max_cat_threshold: int = 255  # categories that a split may part from all others

    @property
    def draws(self) -> bool:
        """Whether trees grown on all rows and columns vary randomly."""
        return self.by_level < 1 or self.by_node < 1 or self.random_thresholds


Groups = tuple[frozenset[int], ...]


def monotone_signs(
    estimator: Any, monotonic_cst: Any, nominal: Collection[int] = ()
) -> tuple[int, ...]:
    """Sign of every column: 1, -1 or 0.

    The estimator has ``n_features_in_`` and, if fitted on frames, ``feature_names_in_``;
    ``monotonic_cst`` is None, (n_features_in_,) or a dict by name. ``nominal`` columns take no
    sign.
    """
    n = int(estimator.n_features_in_)
    if isinstance(monotonic_cst, dict):
        names = list(getattr(estimator, "feature_names_in_", []))
        unknown = sorted(map(str, monotonic_cst.keys() - set(names)))
        if unknown:
            known = f"the columns are {', '.join(names[:12])}" if names else "X has no names"
            raise ValueError(
                f"monotonic_cst names columns that X does not have: {', '.join(unknown[:5])}; "
                f"{known}. Pass names of columns, or one sign per column."
            )
        signs = [monotonic_cst.get(name, 0) for name in names]
    else:
        signs = [0] * n if monotonic_cst is None else np.asarray(monotonic_cst).tolist()
    if not isinstance(signs, list) or len(signs) != n:
        raise ValueError(
            f"monotonic_cst must hold a sign for each of the {n} columns of X, got shape "
            f"{np.asarray(signs).shape}. Pass one of 1, -1 and 0 per column."
        )
    for sign in signs:
        if sign not in (-1, 0, 1):
            raise ValueError(
                f"monotonic_cst must hold 1 (increasing), -1 (decreasing) and 0 (free), got "
                f"{sign!r}. Set it to one of them."
            )
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
