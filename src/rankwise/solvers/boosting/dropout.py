"""Trees that are left out while the next one is grown (DART) [1]_.

References
----------
.. [1] Rashmi and Gilad-Bachrach, "DART: dropouts meet multiple additive regression trees", AISTATS
   2015.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rankwise.trees.ordered_rows import OrderedRows
from rankwise.trees.score_tree import ScoreTree
from rankwise.trees.tree_ensemble import TreeEnsemble
from rankwise.typing import Float64Array

# LightGBM's default for max_drop: scoring the dropped trees is what a round of dropout costs.
MOST_DROPPED = 50


@dataclass(frozen=True)
class Dropout:
    """Drop earlier trees, and share their part of the scores with the new tree.

    When k trees are dropped, the new tree is scaled by ``learning_rate / (k + 1)``. Each dropped
    tree is permanently multiplied by ``k / (k + 1)``.
    """

    rate: float = 0.0  # probability that a tree is dropped; at most 50 are dropped at once
    skip: float = 0.5  # probability that no tree is dropped

    def drop(self, rng: np.random.Generator, n_trees: int) -> list[int]:
        """Numbers of the trees that are left out, ascending."""
        # Without dropout nothing is drawn, so the draws of rows and columns stay the same.
        if self.rate == 0 or rng.random() < self.skip:
            return []
        dropped = np.flatnonzero(rng.random(n_trees) < self.rate)
        if len(dropped) > MOST_DROPPED:
            dropped = np.sort(rng.choice(dropped, MOST_DROPPED, replace=False))
        return dropped.tolist()


def sum_trees(trees: list[ScoreTree], numbers: list[int], rows: OrderedRows) -> Float64Array:
    """Contribution of some trees to the scores of rows, shape (n_rows,)."""
    return rows.scores(TreeEnsemble.of([trees[number] for number in numbers]))


def score_without(
    trees: list[ScoreTree], dropped: list[int], rows: OrderedRows, scores: Float64Array
) -> Float64Array:
    """Scores of rows from the remaining trees; all 0 if every tree is dropped."""
    # Score the fewer trees, the dropped ones or the others; the two sums differ by rounding only.
    if 2 * len(dropped) <= len(trees):
        return scores - sum_trees(trees, dropped, rows)
    return sum_trees(trees, sorted(set(range(len(trees))) - set(dropped)), rows)


def shrink(trees: list[ScoreTree], dropped: list[int]) -> None:
    """Multiply the dropped trees by k / (k + 1)."""
    factor = len(dropped) / (len(dropped) + 1)
    for number in dropped:
        trees[number] = replace(trees[number], values=trees[number].values * factor)
