"""Nodes of a growing gradient tree, and the finished tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankwise.kernels.boosted_trees import BINS, add_values
from rankwise.trees.score_tree import ScoreTree
from rankwise.typing import Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class GradientTree:
    """Grown tree with the rows of its leaves.

    Leaf values are Newton steps times the shrinkage. The cover counts rows. Gains are twice the
    decrease of the second-order model of the loss.
    """

    tree: ScoreTree
    goes_left: NDArray[np.bool_]  # (n_nodes, 256): codes that go left; all False at leaves
    rows: NDArray[np.int32]  # (n_rows,), by leaf
    starts: Int64Array  # (n_leaves + 1,), into ``rows``
    leaf_values: Float64Array  # (n_leaves,)

    def add_to(self, scores: Float64Array) -> None:
        """Add the leaf values to the scores of the rows in the leaves."""
        add_values(scores, self.rows, self.starts, self.leaf_values)


class Nodes:
    """Nodes of a growing tree."""

    def __init__(self) -> None:
        self.feature: list[int] = []
        self.threshold: list[float] = []
        self.left: list[int] = []
        self.right: list[int] = []
        self.missing_left: list[bool] = []
        self.values: list[float] = []
        self.cover: list[float] = []
        self.gain: list[float] = []
        self.goes_left: list[NDArray[np.bool_]] = []
        self.members: dict[int, tuple[Float64Array, Float64Array]] = {}

    def add(self) -> int:
        """Add a leaf, and return its number."""
        self.feature.append(-1)
        self.threshold.append(np.nan)
        self.left.append(-1)
        self.right.append(-1)
        self.missing_left.append(False)
        self.values.append(0.0)
        self.cover.append(0.0)
        self.gain.append(0.0)
        self.goes_left.append(NO_CODE)
        return len(self.feature) - 1

    def split(
        self,
        node: int,
        feature: int,
        threshold: float,
        missing_left: bool,
        gain: float,
        goes_left: NDArray[np.bool_],
    ) -> None:
        """Give a leaf two children."""
        self.feature[node], self.threshold[node] = feature, threshold
        self.missing_left[node], self.gain[node] = missing_left, gain
        self.goes_left[node] = goes_left
        # Children get the next numbers, so that parents come first, as ensembles require.
        self.left[node], self.right[node] = self.add(), self.add()

    def tree(self) -> ScoreTree:
        """Convert the nodes to arrays."""
        return ScoreTree(
            np.array(self.feature, dtype=np.int64),
            np.array(self.threshold),
            np.array(self.left, dtype=np.int64),
            np.array(self.right, dtype=np.int64),
            np.array(self.missing_left),
            np.array(self.values),
            self.members,
            cover=np.array(self.cover),
            gain=np.array(self.gain),
        )


NO_CODE = np.zeros(BINS, dtype=bool)
