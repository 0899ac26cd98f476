"""Rules for the growth of a gradient tree: order, limits, penalties and draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rankwise.trees.boosted.constraints import Groups

Growth = Literal["leaf", "depth", "symmetric"]

# What "auto" stands for, chosen by benchmarks/study_generalisation.py. Large trees overfit few
# judgements; 31 leaves were level or behind at 52,000 rows (two sets), and ahead at 210,000 (one).
FEW_LEAVES, MANY_LEAVES, MANY_ROWS = 7, 31, 100_000
PENALTY_QUERIES = 10.0


def automatic_leaves(n_rows: int, growth: Growth, max_depth: int | None) -> int:
    """Largest number of leaves of trees on distinct rows, if the user names none."""
    # Levels bound these trees; 7 leaves would end them after two.
    is_bounded = growth == "symmetric" or max_depth is not None
    return MANY_LEAVES if is_bounded or n_rows >= MANY_ROWS else FEW_LEAVES


def automatic_penalty(n_queries: int) -> float:
    """L2 penalty as a share of the second derivatives in the root, if the user names none."""
    return PENALTY_QUERIES / (PENALTY_QUERIES + n_queries)


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

    @property
    def draws(self) -> bool:
        """Whether trees grown on all rows and columns vary randomly."""
        return self.by_level < 1 or self.by_node < 1 or self.random_thresholds
