"""Growth of a tree that follows gradients: leaf by leaf, level by level, or symmetric.

Of the two children of a split the smaller one's histogram is added up from its rows, the other's
is what is left of the parent's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankwise.kernels.boosted_splits import (
    FEATURE,
    GAIN,
    MISSING_LEFT,
    N_FIELDS,
    PLACE,
    find_splits,
    leaf_value,
    part_codes,
    split_gain,
)
from rankwise.kernels.boosted_trees import (
    BINS,
    LOWER,
    WORD,
    absolute_sums,
    add_leaf_values,
    pack,
    packed_sum,
    part,
)
from rankwise.runtime.threads import thread_map
from rankwise.trees.boosted.binned_rows import BinnedRows
from rankwise.trees.boosted.nodes import GradientTree, Nodes
from rankwise.trees.boosted.rules import GrowthRules
from rankwise.typing import Float64Array

SMALL = 100_000  # rows times words, up to which one thread is quicker
CHUNK_ROWS = 65_536
LARGEST_SUM = 2.0**31


@dataclass
class _Leaf:
    node: int
    start: int
    end: int
    total: int
    depth: int
    slot: int
    least: int = -1
    split: Float64Array | None = None

    @property
    def size(self) -> int:
        return self.end - self.start

    @property
    def gain(self) -> float:
        return 0.0 if self.split is None else float(self.split[GAIN])


_Pair = tuple[_Leaf, ...]  # siblings, or the root alone


class TreeGrower:
    """Grows trees over the same rows; keeps the memory of the histograms.

    Parameters
    ----------
    binned : BinnedRows
    rules : GrowthRules
    n_threads : int
        The same trees for any number.
    weight : ndarray of shape (n_samples,), float64, optional
        Rows that a row counts as; None: one each.
    """

    def __init__(
        self,
        binned: BinnedRows,
        rules: GrowthRules,
        n_threads: int,
        weight: Float64Array | None = None,
    ) -> None:
        self._binned, self._rules, self._n_threads = binned, rules, n_threads
        self._weight = weight
        n_features, n = binned.columns.shape
        n_words = binned.words.shape[1]
        self._n_bins = binned.binning.n_cuts + 1
        self._packed = np.empty(n, dtype=np.int64)
        self._spare = np.empty(n, dtype=np.int32)
        self._histograms = np.empty((rules.max_leaf_nodes, n_words, WORD * BINS), dtype=np.int64)
        self._allowed = np.ones(n_features, dtype=bool)
        self._signs = np.zeros(n_features, dtype=np.int64)
        self._limits = np.array([rules.reg_alpha, rules.reg_lambda, -np.inf, np.inf])
        self._unit, self._n_slots = np.ones(2), 0

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
        self._pack(gradients, hessians, rows)
        self._n_slots = 0
        nodes = Nodes()
        root = _Leaf(nodes.add(), 0, len(rows), int(packed_sum(self._packed, rows)), 0, 0)
        symmetric = self._rules.growth == "symmetric"
        leaves = (self._grow_levels if symmetric else self._grow_leaves)(rows, root, nodes)
        leaves.sort(key=lambda leaf: leaf.start)
        values = shrinkage * np.array([self._value(leaf) for leaf in leaves])
        starts = np.array([leaf.start for leaf in leaves] + [len(rows)], dtype=np.int64)
        for leaf, value in zip(leaves, values.tolist(), strict=True):
            nodes.values[leaf.node], nodes.cover[leaf.node] = value, self._count(rows, leaf)
        goes_left = np.stack(nodes.goes_left)
        return GradientTree(nodes.tree(), np.array(nodes.gain), goes_left, rows, starts, values)

    def add_to_others(
        self, grown: GradientTree, scores: Float64Array, others: NDArray[np.int32]
    ) -> None:
        """Add the values of the leaves to the scores of rows that the tree did not follow."""
        tree = grown.tree

        def add(start: int) -> None:
            add_leaf_values(
                scores, others[start : start + CHUNK_ROWS], self._binned.columns, tree.feature,
                grown.goes_left, tree.left, tree.right, tree.values,
            )  # fmt: skip

        thread_map(add, range(0, len(others), CHUNK_ROWS), self._n_threads)

    def _grow_leaves(self, rows: NDArray[np.int32], root: _Leaf, nodes: Nodes) -> list[_Leaf]:
        """Split one leaf at a time: that of the largest gain, of all or of the lowest depth."""
        by_depth = self._rules.growth == "depth"
        leaves = [root]
        self._search(rows, [(root,)])
        while len(leaves) < self._rules.max_leaf_nodes:
            best = max(
                (leaf for leaf in leaves if leaf.gain > 0),
                key=lambda leaf: (-leaf.depth if by_depth else 0, leaf.gain, -leaf.node),
                default=None,
            )
            if best is None:
                break
            pairs = self._split(rows, [best], nodes)
            leaves.remove(best)
            leaves += pairs[0]
            if len(leaves) < self._rules.max_leaf_nodes:
                self._search(rows, pairs)
        return leaves

    def _grow_levels(self, rows: NDArray[np.int32], root: _Leaf, nodes: Nodes) -> list[_Leaf]:
        """Split all leaves of a level in the same way, but for those that it leaves too little."""
        ends: list[_Leaf] = []
        level, pairs = [root], [(root,)]
        while level and len(ends) + 2 * len(level) <= self._rules.max_leaf_nodes:
            self._search(rows, pairs)
            asked = [leaf for leaf in level if leaf.gain > 0]
            if not asked:
                break
            pairs = self._split(rows, asked, nodes)
            ends += [leaf for leaf in level if nodes.feature[leaf.node] < 0]
            level = [leaf for pair in pairs for leaf in pair]
        return ends + level

    def _pack(
        self, gradients: Float64Array, hessians: Float64Array, rows: NDArray[np.int32]
    ) -> None:
        """Write the packed derivatives, and what a unit of each is worth."""
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
        self._unit = 1.0 / np.array([g_scale, h_scale])

    def _search(self, rows: NDArray[np.int32], pairs: list[_Pair]) -> None:
        """Find the best splits of pairs of siblings, or of the root."""
        for leaf in (leaf for pair in pairs for leaf in pair):
            leaf.least = self._least(rows, leaf)
        pairs = [pair for pair in pairs if max(leaf.least for leaf in pair) >= 0]
        if not pairs:
            return
        builds = np.array([_build(*pair) for pair in pairs])
        leaves = [leaf for pair in pairs for leaf in pair if leaf.least >= 0]
        lines = np.array([(leaf.slot, leaf.total, leaf.least) for leaf in leaves])
        limits = np.array([self._limits] * len(leaves))
        allowed = np.array([self._allowed] * len(leaves))
        words, common = self._binned.words, self._rules.growth == "symmetric"
        n_words, n_rows = words.shape[1], int((builds[:, 1] - builds[:, 0]).sum())
        n_parts = self._n_threads if n_rows * n_words > SMALL else 1
        edges = np.linspace(0, n_words, min(n_parts, n_words) + 1).astype(np.int64)
        found = np.zeros((len(edges) - 1, len(leaves), N_FIELDS))

        def find(number: int) -> None:
            find_splits(
                words, rows, self._packed, builds, self._n_bins, self._signs, allowed,
                edges[number], edges[number + 1], self._histograms, lines, limits, self._unit,
                self._rules.min_split_gain, common, found[number],
            )  # fmt: skip

        thread_map(find, range(len(edges) - 1), n_parts)
        winners = found[:, :, GAIN].argmax(axis=0)  # the first of equal ones
        for i, leaf in enumerate(leaves):
            leaf.split = found[winners[0 if common else i], 0 if common else i]

    def _count(self, rows: NDArray[np.int32], leaf: _Leaf) -> float:
        """Weight of the rows of a leaf."""
        if self._weight is None:
            return leaf.size
        return float(self._weight[rows[leaf.start : leaf.end]].sum())

    def _least(self, rows: NDArray[np.int32], leaf: _Leaf) -> int:
        """Smallest sum of second derivatives in a child, in units; -1: the leaf stays one."""
        rules, n, whole = self._rules, self._count(rows, leaf), leaf.total & LOWER
        if rules.max_depth is not None and leaf.depth >= rules.max_depth:
            return -1
        by_rows = (rules.min_samples_leaf - 0.5) * whole / n
        least = max(1, int(np.ceil(max(by_rows, rules.min_hessian_leaf / self._unit[1]))))
        return least if 2 * least <= whole else -1

    def _split(self, rows: NDArray[np.int32], leaves: list[_Leaf], nodes: Nodes) -> list[_Pair]:
        """Part the rows of leaves of one split; returns the children.

        A leaf that it would leave too little on a side has none.
        """
        split = leaves[0].split
        assert split is not None
        feature, place = int(split[FEATURE]), int(split[PLACE])
        goes_left, lefts = np.empty(BINS, dtype=bool), np.empty(len(leaves), dtype=np.int64)
        missing_left = part_codes(
            self._histograms, np.array([leaf.slot for leaf in leaves]), feature,
            int(self._n_bins[feature]), place, bool(split[MISSING_LEFT]), goes_left, lefts,
        )  # fmt: skip
        cuts = self._binned.binning.of_column(feature)
        threshold = float(cuts[place]) if place < len(cuts) else np.inf
        children = []
        for leaf, left_sum in zip(leaves, lefts.tolist(), strict=True):
            right_sum = leaf.total - left_sum
            if min(left_sum & LOWER, right_sum & LOWER) < leaf.least:
                continue
            n_left = part(
                rows[leaf.start : leaf.end], self._binned.columns[feature], goes_left, self._spare
            )
            gain = leaf.gain
            if len(leaves) > 1:
                gain = split_gain(leaf.total, left_sum, self._unit, self._limits)
            node, middle = leaf.node, leaf.start + n_left
            nodes.split(node, feature, threshold, missing_left, gain, goes_left)
            nodes.cover[node] = self._count(rows, leaf)
            self._n_slots += 1
            slots = [leaf.slot, self._n_slots]  # the larger child's takes the place of its parent's
            if 2 * n_left <= leaf.size:
                slots.reverse()
            ends, depth = (nodes.left[node], nodes.right[node]), leaf.depth + 1
            children.append(
                (
                    _Leaf(ends[0], leaf.start, middle, left_sum, depth, slots[0]),
                    _Leaf(ends[1], middle, leaf.end, right_sum, depth, slots[1]),
                )
            )
        return children

    def _value(self, leaf: _Leaf) -> float:
        """Newton step of a leaf."""
        g, h = (leaf.total >> 32) * self._unit[0], (leaf.total & LOWER) * self._unit[1]
        return leaf_value(g, h, self._limits)


def _build(leaf: _Leaf, sibling: _Leaf | None = None) -> tuple[int, int, int, int]:
    """Rows and slot of the smaller of two siblings, and the slot of their parent."""
    if sibling is None:
        return leaf.start, leaf.end, leaf.slot, -1
    small, large = (leaf, sibling) if leaf.size <= sibling.size else (sibling, leaf)
    return small.start, small.end, small.slot, large.slot


def _power_of_two(x: float) -> float:
    """Largest power of two up to x."""
    return float(np.exp2(np.clip(np.floor(np.log2(x)), -1000, 1000)))
