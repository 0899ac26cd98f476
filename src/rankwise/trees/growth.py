"""Growth of a tree, shared by exact and histogram splits.

Nodes are split level by level. If the number of leaves is limited, the node with the largest gain
is split first. Among splits of equal gain up to rounding, the first column wins, then missing
values on the left, then the lowest threshold. The result does not depend on the number of threads.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankwise.features.binning import find_bins
from rankwise.kernels.tree_splits import UNSEEN
from rankwise.row_order import scramble
from rankwise.trees.node_splits import Criterion, Frontier, NodeRows, Splits, make_criterion
from rankwise.trees.split_search import (
    BinnedColumns,
    HistogramRows,
    SortedColumns,
    SortedRows,
    sort_columns,
)
from rankwise.trees.tree import Tree
from rankwise.typing import ArrayLike, Float64Array, FloatArray, Int64Array

TIE = 1e-12  # share of a node's impurity below which gains count as equal
SIDES = np.array([0x9E3779B97F4A7C15, 0xD1B54A32D192ED03], dtype=np.uint64)


@dataclass(frozen=True)
class Limits:
    """Stopping rules, and the sampling of features for each node.

    None sets no limit. Weights count repetitions. A ``min_samples_leaf`` up to 1 and a
    ``min_samples_split`` up to 2 set no limit, so that rows of weight below 1 can be separated too.
    """

    max_depth: int | None = None
    min_samples_leaf: float = 1  # minimum weight of a child
    min_samples_split: float = 2  # minimum weight of a node that is split
    # Minimum gain of a split, not divided by the weight. Even at 0, splits without gain are
    # rejected.
    min_gain: float = 0.0
    # If set (at least 2), nodes are split in the order of their gain.
    max_leaf_nodes: int | None = None
    # Number of features drawn for each node; if none of them allows a split, all are tried.
    max_features: int | None = None
    seed: int = 0  # In [0, 2^63). A node's features depend on the seed and the path to the node.


def prepare(
    columns: FloatArray,
    *,
    n_categories: ArrayLike | None = None,
    method: Literal["exact", "histogram"] = "exact",
    max_bins: int = 255,
    weight: Float64Array | None = None,
) -> SortedColumns | BinnedColumns:
    """Sort or bin the columns once, for any number of trees over the same rows.

    The result is for :func:`grow_from`. ``columns`` is (n_samples, n_features), NaN where missing.
    ``n_categories`` (n_features,) is 0 for ordered columns; a nominal column holds codes
    ``0 ... n_categories - 1``. ``method="histogram"`` splits ordered columns between bins of
    about equal ``weight`` (n_samples,), see :func:`rankwise.features.binning.find_bins`;
    ``max_bins`` is in [2, 255]. That method needs at most 255 categories in a column, and its
    splits are exact if a column has at most ``max_bins`` values.
    """
    if n_categories is None:
        sizes = np.zeros(columns.shape[1], dtype=np.int64)
    else:
        sizes = np.asarray(n_categories, dtype=np.int64)
    if method == "exact":
        return sort_columns(columns, sizes)
    binning = find_bins(columns, max_bins, weight, sizes)
    return BinnedColumns(binning, binning.codes(columns), sizes)


def grow(
    columns: FloatArray,
    codes: NDArray[Any],
    n_classes: int,
    weight: Float64Array | None = None,
    criterion: str | ArrayLike = "rank",
    limits: Limits | None = None,
    *,
    method: Literal["exact", "histogram"] = "exact",
    n_categories: ArrayLike | None = None,
    max_bins: int = 255,
) -> Tree:
    """Grow one tree; ``limits=None`` grows it until no split gains anything.

    ``columns`` is (n_samples, n_features), finite or NaN where missing. Every split is tried with
    missing values on either side, and the split of missing from present values is tried too. A
    nominal column holds codes ``0 ... n_categories - 1`` and is split by subsets. A node with at
    most 8 categories tries all subsets; a node with more sorts them by mean class and splits that
    order.

    ``codes`` (n_samples,) are class numbers ``0 ... n_classes - 1``. ``weight`` (n_samples,) counts
    as a number of repetitions; rows of weight 0 are ignored. For ``criterion``, see
    :func:`rankwise.trees.node_splits.make_criterion`; for the other arguments, :func:`prepare`.

    For N rows, d columns and depth t: O(N d log N) to sort and O(N d t) to grow, or, with
    histograms of B bins, O(N d log N) to bin and O((N + n_nodes B) d t); the constant is much
    smaller. If all weights are whole numbers, the larger of two siblings is counted by subtraction.
    Histograms of large nodes are stored in up to 256 MB.

    Row order and increasing transformations of ordered columns do not affect the splits, except for
    ties, thresholds (midpoints of values) and the last digits of sums of fractional weights.

    Composition: criterion x splits of sorted or binned columns x order of growth.
    """
    prepared = prepare(
        columns, n_categories=n_categories, method=method, max_bins=max_bins, weight=weight
    )
    return grow_from(prepared, codes, n_classes, weight, criterion, limits)


def grow_from(
    prepared: SortedColumns | BinnedColumns,
    codes: NDArray[Any],
    n_classes: int,
    weight: Float64Array | None = None,
    criterion: str | ArrayLike = "rank",
    limits: Limits | None = None,
) -> Tree:
    """Grow one tree on columns sorted or binned by :func:`prepare`; see :func:`grow`."""
    limits = Limits() if limits is None else limits
    rule = make_criterion(criterion, n_classes)
    # Two bytes a row while they suffice: the kernels read the class of every row of a node.
    y = codes.astype(np.uint16 if n_classes <= 1 << 16 else np.int64)
    # Up to 1 sets no limit, so that rows of weight below 1 can be separated too.
    least = limits.min_samples_leaf if limits.min_samples_leaf > 1 else 0.0
    depth = np.inf if limits.max_depth is None else limits.max_depth
    if weight is not None:
        weight = np.ascontiguousarray(weight, dtype=np.float64)
    rows: NodeRows
    if isinstance(prepared, SortedColumns):
        rows = SortedRows(prepared, y, weight, rule, least)
    else:
        rows = HistogramRows(prepared, y, weight, rule, least, depth)
    grower = _Grower(rows, rule, limits, prepared.n_categories)
    root = grower.root(np.bincount(y, weight, n_classes).astype(np.float64))
    if limits.max_leaf_nodes is None:
        grower.by_levels(root)
    else:
        grower.best_first(root, limits.max_leaf_nodes)
    return grower.tree()


@dataclass
class _Grower:
    """Nodes of a growing tree."""

    rows: NodeRows
    criterion: Criterion
    limits: Limits
    n_categories: Int64Array
    counts: list[Float64Array] = field(default_factory=list)
    depths: list[NDArray[np.int32]] = field(default_factory=list)
    n_nodes: int = 0
    # Of nodes that were split together: their numbers, those of their children, the splits, and
    # whether missing values go left.
    divided: list[tuple[Int64Array, Int64Array, Splits, NDArray[np.bool_]]] = field(
        default_factory=list
    )

    def root(self, counts: Float64Array) -> Frontier:
        """Frontier that holds only the root."""
        self.counts.append(counts[None])
        self.depths.append(np.zeros(1, dtype=np.int32))
        self.n_nodes = 1
        pair = np.stack([counts, np.zeros_like(counts)])[None]
        impurity, depth = self.criterion.impurity(pair[0])[None], np.zeros(1, dtype=np.int32)
        # The seed plus 1, because scrambled leaves 0 as it is.
        key = scramble(np.array([[self.limits.seed + 1, 0]], dtype=np.uint64))
        is_open = self._is_open(pair, impurity, depth)
        n = self.rows.n_rows
        return Frontier(
            np.array([[0, n, n]]), np.array([[0, -1]]), is_open, pair, impurity, depth, key,
            np.array([-1]), None,
        )  # fmt: skip

    def by_levels(self, frontier: Frontier) -> None:
        """Split every node that can be split, a level at a time."""
        while frontier.n_open:
            splits = self._find(frontier)
            frontier = self._divide(frontier, splits, self._select_splits(splits))

    def best_first(self, frontier: Frontier, max_leaf_nodes: int) -> None:
        """Split the node with the largest gain until there are enough leaves."""
        heap: list[tuple[float, int, Frontier, Splits, int]] = []
        for _ in range(1, max_leaf_nodes):
            if frontier.n_open:
                splits, numbers = self._find(frontier), frontier.numbers[frontier.is_open]
                for i in self._select_splits(splits):
                    # Of equal gains the smaller node number, which is unique, so frontiers are
                    # never compared.
                    entry = (-float(splits.gain[i]), int(numbers[i]), frontier, splits, int(i))
                    heapq.heappush(heap, entry)
            if not heap:
                return
            _, _, frontier, splits, i = heapq.heappop(heap)
            frontier = self._divide(frontier, splits, np.array([i]))

    def _find(self, frontier: Frontier) -> Splits:
        """Best split of every open node, by the features drawn for it."""
        # No gain exceeds the impurity, so rounding of gains is measured by it.
        ties = TIE * frontier.impurity[frontier.is_open]
        n_features, most = len(self.n_categories), self.limits.max_features
        if most is None or most >= n_features:
            return self.rows.find(frontier, ties, None)
        drawn = _draw(frontier.keys[frontier.is_open], n_features, most)
        splits = self.rows.find(frontier, ties, drawn)
        without = splits.gain <= 0
        if not without.any():
            return splits
        # The features that were not drawn, for the nodes that drew none with a split.
        others = self.rows.find(frontier, ties, ~drawn & without[:, None])
        return others.where(without, splits)

    def _select_splits(self, splits: Splits) -> Int64Array:
        """The nodes whose best split gains enough."""
        return np.flatnonzero((splits.gain > 0) & (splits.gain >= self.limits.min_gain))

    def _divide(self, frontier: Frontier, splits: Splits, nodes: Int64Array) -> Frontier:
        """Split some open nodes; return the frontier of their children."""
        splits, segments = splits.take(nodes), frontier.segments[nodes]
        n_left, counts = self.rows.mark(segments, splits)
        pairs, sides = (index[nodes] for index in np.nonzero(frontier.is_open))
        depth = frontier.depth[pairs] + np.int32(1)
        numbers = self.n_nodes + np.arange(2 * len(nodes)).reshape(-1, 2)
        self.n_nodes += 2 * len(nodes)
        self.counts.append(counts.reshape(-1, counts.shape[2]))
        self.depths.append(np.repeat(depth, 2))
        parents = frontier.numbers[pairs, sides]
        weights = counts.sum(axis=2)
        # If no row of a node misses the value, missing values follow the heavier child, left on
        # ties.
        to_left = np.where(splits.side >= 0, splits.side == 1, weights[:, 0] >= weights[:, 1])
        self.divided.append((parents, numbers, splits, to_left))
        impurity = self.criterion.impurity(counts.reshape(-1, counts.shape[2])).reshape(-1, 2)
        is_open = self._is_open(counts, impurity, depth)
        going_on = is_open.any(axis=1)
        # Rows of two leaves are not read again and stay in any order.
        self.rows.part(segments[going_on])
        bounds = np.column_stack([segments[:, 0], segments[:, 0] + n_left, segments[:, 1]])
        # The key of a child depends on its path alone, not on the order in which nodes are split.
        keys = scramble(frontier.keys[pairs, sides][:, None] ^ SIDES)
        return Frontier(
            bounds, numbers, is_open, counts, impurity, depth, keys, splits.lines,
            splits.histograms,
        ).take(going_on)  # fmt: skip

    def _is_open(
        self, counts: Float64Array, impurity: Float64Array, depth: NDArray[np.int32]
    ) -> NDArray[np.bool_]:
        """Whether each of two siblings may be split, shape (n_pairs, 2)."""
        limits, weights = self.limits, counts.sum(axis=2)
        # A split gains the whole impurity at most.
        is_open = (impurity > 0) & (impurity >= limits.min_gain)
        if limits.max_depth is not None:
            is_open &= (depth < limits.max_depth)[:, None]
        if limits.min_samples_split > 2:
            is_open &= weights >= limits.min_samples_split
        if limits.min_samples_leaf > 1:
            is_open &= weights >= 2 * limits.min_samples_leaf
        return is_open

    def tree(self) -> Tree:
        """The grown tree."""
        n = self.n_nodes
        feature, left, right = (np.full(n, -1, dtype=np.int32) for _ in range(3))
        threshold, gain = np.full(n, np.nan), np.zeros(n)
        missing_left, n_codes = np.zeros(n, dtype=bool), np.zeros(n, dtype=np.int64)
        by_node: list[tuple[int, NDArray[np.int32]]] = []
        for parents, numbers, splits, to_left in self.divided:
            feature[parents], threshold[parents] = splits.feature, splits.threshold
            gain[parents], missing_left[parents] = splits.gain, to_left
            left[parents], right[parents] = numbers.T
            for i in np.flatnonzero(np.isnan(splits.threshold)):
                marks = splits.marks[i, : self.n_categories[splits.feature[i]]]
                goes_left = (marks == 1) | ((marks == UNSEEN) & to_left[i])
                codes = np.flatnonzero(goes_left).astype(np.int32)
                by_node.append((int(parents[i]), codes))
                n_codes[parents[i]] = len(codes)
        # Splits were recorded in the order of growth; the arrays go by node.
        by_node.sort(key=lambda entry: entry[0])
        return Tree(
            feature, threshold, left, right, missing_left,
            np.concatenate([[0], np.cumsum(n_codes)]),
            np.concatenate([np.empty(0, np.int32), *(codes for _, codes in by_node)]),
            np.concatenate(self.counts), gain, np.concatenate(self.depths),
        )  # fmt: skip


def _draw(keys: NDArray[np.uint64], n_features: int, most: int) -> NDArray[np.bool_]:
    """Draw ``most`` features for each node, shape (n_nodes, n_features)."""
    salts = np.arange(1, n_features + 1, dtype=np.uint64) * SIDES[0]
    # A lot for each feature from the key of the node: the features with the smallest are drawn.
    lots = scramble(keys[:, None] + salts)
    drawn = np.zeros(lots.shape, dtype=bool)
    np.put_along_axis(drawn, np.argpartition(lots, most - 1, axis=1)[:, :most], True, axis=1)
    return drawn
