"""Leaf-wise growth of a tree that follows gradients.

The open leaf with the largest gain is split next. Of its two children the smaller one's histogram
is added up from its rows, the other's is what is left of the parent's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.kernels.boosted_trees import (
    BINS,
    FEATURE,
    GAIN,
    LOWER,
    MISSING_LEFT,
    N_FIELDS,
    PLACE,
    WORD,
    absolute_sums,
    add_leaf_values,
    add_values,
    find_splits,
    pack,
    packed_sum,
    part,
)
from rankwise.runtime.threads import thread_map
from rankwise.trees.boosted.binned_rows import BinnedRows
from rankwise.trees.score_tree import ScoreTree
from rankwise.typing import Float64Array, Int64Array

SMALL = 100_000  # rows times words, up to which one thread is quicker
CHUNK_ROWS = 65_536
LARGEST_SUM = 2.0**31


@dataclass(frozen=True)
class GrowthRules:
    """What bounds a tree.

    Attributes
    ----------
    max_leaf_nodes : int >= 2
    max_depth : int >= 1 or None
    min_samples_leaf : int >= 1
        Compared with the share of a child in the sum of second derivatives, times the number of
        the node's rows.
    min_hessian_leaf : float >= 0
    reg_lambda : float >= 0
    """

    max_leaf_nodes: int = 31
    max_depth: int | None = None
    min_samples_leaf: int = 20
    min_hessian_leaf: float = 1e-3
    reg_lambda: float = 0.0


@dataclass
class _Leaf:
    node: int
    start: int
    end: int
    total: int
    depth: int
    slot: int = -1
    split: Any = None
    left_sum: int = 0

    @property
    def gain(self) -> float:
        return 0.0 if self.split is None else float(self.split[GAIN])


@dataclass(frozen=True, eq=False)
class GradientTree:
    """A grown tree, and the rows of its leaves.

    Attributes
    ----------
    tree : ScoreTree
        Values are those of Newton steps, times the shrinkage; the cover counts rows.
    gain : ndarray of shape (n_nodes,), float64
        How much the splits lower the second-order model of the loss, times two; 0 at leaves.
    place : ndarray of shape (n_nodes,), int64
        Last code that goes left; not read at leaves.
    rows : ndarray of shape (n_rows,), int32
    starts : ndarray of shape (n_leaves + 1,), int64
    leaf_values : ndarray of shape (n_leaves,), float64
    """

    tree: ScoreTree
    gain: Float64Array
    place: Int64Array
    rows: NDArray[np.int32]
    starts: Int64Array
    leaf_values: Float64Array

    def add_to(self, scores: Float64Array) -> None:
        """Add the values of the leaves to the scores of their rows."""
        add_values(scores, self.rows, self.starts, self.leaf_values)


class TreeGrower:
    """Grows trees over the same rows; keeps the memory of the histograms.

    Parameters
    ----------
    binned : BinnedRows
    rules : GrowthRules
    n_threads : int
        The same trees for any number.
    """

    def __init__(self, binned: BinnedRows, rules: GrowthRules, n_threads: int) -> None:
        self._binned, self._rules, self._n_threads = binned, rules, n_threads
        n_features, n = binned.columns.shape
        n_words = binned.words.shape[1]
        self._n_bins = binned.binning.n_cuts + 1
        self._packed = np.empty(n, dtype=np.int64)
        self._spare = np.empty(n, dtype=np.int32)
        self._histograms = np.empty((rules.max_leaf_nodes, n_words, WORD * BINS), dtype=np.int64)
        self._allowed = np.ones(n_features, dtype=bool)

    def grow(
        self,
        gradients: Float64Array,
        hessians: Float64Array,
        shrinkage: float,
        rows: NDArray[np.int32] | None = None,
        columns: NDArray[np.bool_] | None = None,
    ) -> GradientTree:
        """Grow a tree.

        Parameters
        ----------
        gradients, hessians : ndarray of shape (n_samples,), float64
            First and second derivatives of the loss; the latter >= 0.
        shrinkage : float
            Multiplies the values of the leaves.
        rows : ndarray of shape (n_rows,), int32, optional
            Rows that the tree follows, which become those of its leaves; None: all.
        columns : ndarray of shape (n_features,), bool, optional
            Columns that it may split; None: all.

        Notes
        -----
        Sums are those of whole numbers, so that neither the number of threads nor the order of
        rows changes a bit of the tree: derivatives are rounded to multiples of powers of two that
        let no sum leave 31 bits.
        """
        rows = np.arange(len(gradients), dtype=np.int32) if rows is None else rows
        self._allowed[:] = True if columns is None else columns
        unit = self._pack(gradients, hessians, rows)
        nodes = _Nodes()
        root = _Leaf(nodes.add(), 0, len(rows), int(packed_sum(self._packed, rows)), 0, 0)
        leaves = [root]
        self._search(rows, root, None, unit)
        while len(leaves) < self._rules.max_leaf_nodes:
            best = max(leaves, key=lambda leaf: (leaf.gain, -leaf.node))
            if best.gain <= 0:
                break
            leaves.remove(best)
            left, right = self._split(rows, best, nodes)
            leaves += [left, right]
            if len(leaves) < self._rules.max_leaf_nodes:
                small, large = (left, right) if _size(left) <= _size(right) else (right, left)
                small.slot, large.slot = len(leaves) - 1, best.slot
                self._search(rows, small, large, unit)
        leaves.sort(key=lambda leaf: leaf.start)
        values = shrinkage * np.array([self._value(leaf, unit) for leaf in leaves])
        starts = np.array([leaf.start for leaf in leaves] + [len(rows)], dtype=np.int64)
        for leaf, value in zip(leaves, values.tolist(), strict=True):
            nodes.values[leaf.node], nodes.cover[leaf.node] = value, _size(leaf)
        places = np.array(nodes.place, dtype=np.int64)
        return GradientTree(nodes.tree(), np.array(nodes.gain), places, rows, starts, values)

    def add_to_others(
        self, grown: GradientTree, scores: Float64Array, others: NDArray[np.int32]
    ) -> None:
        """Add the values of the leaves to the scores of rows that the tree did not follow."""
        tree, missing = grown.tree, self._binned.binning.missing_code

        def add(start: int) -> None:
            add_leaf_values(
                scores, others[start : start + CHUNK_ROWS], self._binned.columns, tree.feature,
                grown.place, missing, tree.missing_left, tree.left, tree.right, tree.values,
            )  # fmt: skip

        thread_map(add, range(0, len(others), CHUNK_ROWS), self._n_threads)

    def _pack(
        self, gradients: Float64Array, hessians: Float64Array, rows: NDArray[np.int32]
    ) -> Float64Array:
        """Write the packed derivatives; returns what a unit of each is worth."""
        chunks = range(0, len(rows), CHUNK_ROWS)
        sums = np.zeros((len(chunks), 2))

        def add(number: int) -> None:
            part_of = slice(number * CHUNK_ROWS, (number + 1) * CHUNK_ROWS)
            absolute_sums(gradients, hessians, rows[part_of], sums[number])

        thread_map(add, range(len(chunks)), self._n_threads)
        room = LARGEST_SUM - len(rows) - 1
        g_scale, h_scale = (
            _power_of_two(room / total) if total > 0 else 1.0 for total in sums.sum(axis=0).tolist()
        )

        def write(start: int) -> None:
            part_of = slice(start, start + CHUNK_ROWS)
            pack(gradients, hessians, g_scale, h_scale, rows[part_of], self._packed)

        thread_map(write, chunks, self._n_threads)
        return 1.0 / np.array([g_scale, h_scale])

    def _search(
        self, rows: NDArray[np.int32], small: _Leaf, large: _Leaf | None, unit: Float64Array
    ) -> None:
        """Find the best splits of two children, or of the root."""
        pair = [small] if large is None else [small, large]
        slots, totals, least = np.full(2, -1), np.zeros(2, dtype=np.int64), np.full(2, -1)
        for child, leaf in enumerate(pair):
            slots[child], totals[child] = leaf.slot, leaf.total
            least[child] = self._least(leaf, unit)
        if (least < 0).all():
            return
        words = self._binned.words
        n_words = words.shape[1]
        n_parts = self._n_threads if _size(small) * n_words > SMALL else 1
        edges = np.linspace(0, n_words, min(n_parts, n_words) + 1).astype(np.int64)
        found = np.zeros((len(edges) - 1, 2, N_FIELDS))
        lefts = np.zeros((len(edges) - 1, 2), dtype=np.int64)

        def find(number: int) -> None:
            find_splits(
                words, rows[small.start : small.end], self._packed, self._n_bins, self._allowed,
                edges[number], edges[number + 1], self._histograms, slots, totals, least, unit,
                self._rules.reg_lambda, found[number], lefts[number],
            )  # fmt: skip

        thread_map(find, range(len(edges) - 1), n_parts)
        for child, leaf in enumerate(pair):
            number = int(np.argmax(found[:, child, GAIN]))  # the first of equal ones
            leaf.split, leaf.left_sum = found[number, child], int(lefts[number, child])

    def _least(self, leaf: _Leaf, unit: Float64Array) -> int:
        """Smallest sum of second derivatives in a child, in units; -1: the leaf stays one."""
        rules, n, whole = self._rules, _size(leaf), leaf.total & LOWER
        if rules.max_depth is not None and leaf.depth >= rules.max_depth:
            return -1
        by_rows = (rules.min_samples_leaf - 0.5) * whole / n
        least = max(1, int(np.ceil(max(by_rows, rules.min_hessian_leaf / unit[1]))))
        return least if 2 * least <= whole else -1

    def _split(self, rows: NDArray[np.int32], leaf: _Leaf, nodes: _Nodes) -> tuple[_Leaf, _Leaf]:
        """Part the rows of a leaf; returns its children."""
        feature, place = int(leaf.split[FEATURE]), int(leaf.split[PLACE])
        binning = self._binned.binning
        missing_left = bool(leaf.split[MISSING_LEFT])
        n_left = part(
            rows[leaf.start : leaf.end], self._binned.columns[feature], place,
            int(self._n_bins[feature]), missing_left, self._spare,
        )  # fmt: skip
        cuts = binning.of_column(feature)
        threshold = float(cuts[place]) if place < len(cuts) else np.inf
        left, right = nodes.split(leaf.node, feature, threshold, missing_left, leaf.gain)
        nodes.place[leaf.node] = place
        nodes.cover[leaf.node] = _size(leaf)
        middle, depth = leaf.start + n_left, leaf.depth + 1
        return (
            _Leaf(left, leaf.start, middle, leaf.left_sum, depth),
            _Leaf(right, middle, leaf.end, leaf.total - leaf.left_sum, depth),
        )

    def _value(self, leaf: _Leaf, unit: Float64Array) -> float:
        """Newton step of a leaf."""
        curvature = (leaf.total & LOWER) * unit[1] + self._rules.reg_lambda
        return float(-(leaf.total >> 32) * unit[0] / curvature) if curvature > 0 else 0.0


class _Nodes:
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
        self.place: list[int] = []

    def add(self) -> int:
        """A new leaf's number."""
        self.feature.append(-1)
        self.threshold.append(np.nan)
        self.left.append(-1)
        self.right.append(-1)
        self.missing_left.append(False)
        self.values.append(0.0)
        self.cover.append(0.0)
        self.gain.append(0.0)
        self.place.append(-1)
        return len(self.feature) - 1

    def split(
        self, node: int, feature: int, threshold: float, missing_left: bool, gain: float
    ) -> tuple[int, int]:
        """Give a leaf two children; returns their numbers."""
        self.feature[node], self.threshold[node] = feature, threshold
        self.missing_left[node], self.gain[node] = missing_left, gain
        self.left[node], self.right[node] = self.add(), self.add()
        return self.left[node], self.right[node]

    def tree(self) -> ScoreTree:
        """The nodes as arrays."""
        return ScoreTree(
            np.array(self.feature, dtype=np.int64),
            np.array(self.threshold),
            np.array(self.left, dtype=np.int64),
            np.array(self.right, dtype=np.int64),
            np.array(self.missing_left),
            np.array(self.values),
            cover=np.array(self.cover),
        )


def _size(leaf: _Leaf) -> int:
    return leaf.end - leaf.start


def _power_of_two(x: float) -> float:
    """Largest power of two up to x."""
    return float(np.exp2(np.clip(np.floor(np.log2(x)), -1000, 1000)))
