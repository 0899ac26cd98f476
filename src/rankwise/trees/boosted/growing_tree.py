"""Gradient trees, grown one after another on the same rows of codes.

A tree grows leaf by leaf, level by level, or symmetrically. For the two children of a split, the
smaller child's histogram is summed from its rows. The other is the parent's histogram minus the
smaller child's.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.kernels.boosted_splits import (
    CATEGORY_L2,
    FEATURE,
    FEW_CATEGORIES,
    GAIN,
    HIGH,
    L2,
    LEAST,
    LOW,
    MISSING_LEFT,
    N_FIELDS,
    PLACE,
    SLOT,
    TOTAL,
    find_common_split,
    find_splits,
    leaf_value,
    order_categories,
    part_codes,
    split_gain,
)
from rankwise.kernels.boosted_trees import BINS, LOWER, WORD, absolute_sums, add_values, pack
from rankwise.runtime.jit import are_few
from rankwise.runtime.threads import thread_map
from rankwise.trees.boosted.coded_rows import (
    CELLS_PER_STEP,
    LIKELY_NODES,
    CodedRows,
    EntryCodes,
    Shares,
    WordCodes,
)
from rankwise.trees.boosted.entry_bounds import EntryBounds
from rankwise.trees.boosted.growth_rules import ColumnChoice, GrowthRules
from rankwise.trees.tree_ensemble import ScoreTree
from rankwise.typing import Float64Array, Int64Array

# A fixed number, whatever the number of threads: the sums of chunks are added in their order.
CHUNK_ROWS = 65_536
# That NumPy handles in the time of a step; few, as its temporary arrays take up to 32 bytes a row.
ROWS_PER_STEP = 16
LIKELY_TREES = 100  # of a fit
# Sums of derivatives fit into half a word with their sign; two of them are packed into one.
LARGEST_SUM = 2.0**31
# 8 bytes each: 16 GiB.
MOST_CELLS = 2**31


class TreeGrower:
    """Grows trees on the same rows; reuses the memory of the histograms.

    The trees do not depend on ``n_threads``. ``weight`` (n_samples,) is the number of rows that
    each row counts as; None: one each. ``shares`` connects machines that each hold a share of the
    rows; None: all rows are local.
    """

    def __init__(
        self,
        binned: CodedRows,
        rules: GrowthRules,
        n_threads: int,
        weight: Float64Array | None = None,
        shares: Shares | None = None,
    ) -> None:
        self._binned, self._rules, self._n_threads = binned, rules, n_threads
        self._weight, self._shares = weight, shares
        n_features, n, codes = binned.n_features, binned.n_rows, binned.codes
        n_in_all = n if shares is None else int(shares.sum(np.array([n]))[0])
        # A leaf has at least one row; two leaves are the least that histograms are made for.
        most = min(rules.max_leaf_nodes, max(2, n_in_all))
        if rules.max_depth is not None:
            most = min(most, 2 ** min(rules.max_depth, 60))
        shape = (most, codes.n_cells)
        if math.prod(shape) > MOST_CELLS:
            raise ValueError(
                f"max_leaf_nodes must be such that histograms have at most {MOST_CELLS:,} cells "
                f"(16 GiB), got {shape[0]:,} leaves of {shape[1]:,} cells ({n_features:,} "
                "columns). Lower it, or set max_depth."
            )
        # Line 0 of the first buffer holds the gradients, and then, in their place, the packed
        # derivatives. Line 1 holds the second derivatives, and then the row numbers and a scratch
        # copy of them.
        self._memory = TreeMemory(
            np.empty((2, n), dtype=np.int64),
            np.empty(shape, dtype=np.int64),
            # The calling thread sums into the histogram itself.
            np.empty((n_threads - 1, shape[1]), dtype=np.int64),
        )
        n_bins = binned.binning.n_cuts + 1
        signs = np.array(rules.signs or [0] * n_features, dtype=np.int64)
        self._columns = TreeColumns(
            np.arange(n_features), codes, codes.starts, n_bins, binned.nominal, signs
        )
        self._drawn: Any = None  # codes of the columns of the last tree that drew some

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self._binned.n_features

    def derivatives(self) -> tuple[Float64Array, Float64Array]:
        """Buffers for gradients and second derivatives, which :meth:`grow` overwrites.

        Each has shape (n_samples,). A tree needs no further memory.
        """
        gradients, hessians = self._memory.numbers.view(np.float64)
        return gradients, hessians

    @property
    def draws(self) -> bool:
        """Whether trees grown from the same gradients, rows and columns vary randomly."""
        return self._rules.draws

    def grow(
        self,
        gradients: Float64Array,
        hessians: Float64Array,
        shrinkage: float,
        rows: NDArray[np.int32] | None = None,
        columns: NDArray[np.bool_] | None = None,
        rng: np.random.Generator | None = None,
    ) -> GradientTree:
        """Grow a tree on the first and second derivatives of the loss.

        Both are (n_samples,), the second >= 0. ``shrinkage`` multiplies the leaf values. ``rows``
        are reordered in place by leaf; None: all rows, and the rows of the leaves are then valid
        only until the next tree is grown. ``columns`` (n_features,) marks those that the tree may
        split on. ``rng`` draws columns and thresholds if the rules require it.

        Derivatives are rounded to multiples of powers of two, so that all sums are whole numbers of
        at most 31 bits. Trees are therefore bit-identical for any number of threads and any row
        order.
        """
        rng = np.random.default_rng(0) if rng is None else rng
        rules, chosen = self._rules, self._columns
        if columns is not None:
            # Packed codes of some columns, so that histograms are built only for these.
            features = np.flatnonzero(columns)
            self._drawn = self._binned.take_codes(features, self._n_threads, self._drawn)
            chosen = TreeColumns(
                features, self._drawn, self._drawn.starts, chosen.n_bins[features],
                chosen.nominal[features], chosen.signs[features],
            )  # fmt: skip
        choice = ColumnChoice(chosen.features, rules.by_level, rules.by_node, rules.groups, rng)
        # Before the row numbers are written, which take the place of the second derivatives.
        unit, total = self._pack(gradients, hessians, rows)
        if rows is None:
            rows = self._memory.rows
            for start in range(0, len(rows), CHUNK_ROWS):
                end = min(start + CHUNK_ROWS, len(rows))
                rows[start:end] = np.arange(start, end)
        tree = GrowingTree(self, chosen, choice, rows, unit, total)
        return tree.grow(shrinkage, rng if rules.random_thresholds else None)

    def add_to_others(
        self, grown: GradientTree, scores: Float64Array, others: NDArray[np.int32]
    ) -> None:
        """Add the leaf values to the scores of rows that the tree was not grown on."""

        def add(start: int) -> None:
            rows = others[start : start + CHUNK_ROWS]
            self._binned.add_leaf_values(grown.tree, grown.goes_left, scores, rows)

        thread_map(add, range(0, len(others), CHUNK_ROWS), self._n_threads)

    def _pack(
        self, gradients: Float64Array, hessians: Float64Array, rows: NDArray[np.int32] | None
    ) -> tuple[Float64Array, int]:
        """Write the packed derivatives; return the value of one unit of each, and their sum."""
        n = len(gradients) if rows is None else len(rows)
        chunks = range(0, n, CHUNK_ROWS)
        sums = np.zeros((len(chunks), 2))

        is_few = are_few(pack, 10 + n // ROWS_PER_STEP, LIKELY_TREES)

        def chunk(start: int) -> NDArray[np.int32]:
            end = min(start + CHUNK_ROWS, n)
            return np.arange(start, end, dtype=np.int32) if rows is None else rows[start:end]

        def add(number: int) -> None:
            if is_few:  # cumulative sums add row by row, as the kernel does
                part = chunk(chunks[number])
                pairs = np.stack([np.abs(gradients[part]), hessians[part]])
                sums[number] = pairs.cumsum(axis=1)[:, -1]
                return
            absolute_sums(gradients, hessians, chunk(chunks[number]), sums[number])

        thread_map(add, range(len(chunks)), self._n_threads)
        totals = np.array([*sums.sum(axis=0), n])
        if self._shares is not None:
            totals = self._shares.sum(totals)
        # Rounding moves each row by half a unit at most, so that many units per row are kept free.
        room = LARGEST_SUM - totals[2] - 1
        # Multiplying by a power of two is exact: only the rounding to whole numbers loses digits.
        # The exponents stay within those of float64, for sums that are almost 0 or infinite.
        g_scale, h_scale = (
            float(np.exp2(np.clip(np.floor(np.log2(room / total)), -1000, 1000)))
            if total > 0
            else 1.0
            for total in totals[:2].tolist()
        )

        def write(start: int) -> int:
            if not is_few:
                return int(pack(gradients, hessians, g_scale, h_scale, chunk(start), packed))
            part = chunk(start)
            g, h = (
                np.rint(values[part] * scale).astype(np.int64)
                for values, scale in ((gradients, g_scale), (hessians, h_scale))
            )
            packed[part] = (g << 32) + h
            return int(packed[part].sum())

        packed = self._memory.packed
        total = sum(thread_map(write, chunks, self._n_threads))
        if self._shares is not None:
            total = int(self._shares.sum(np.array([total]))[0])
        return 1.0 / np.array([g_scale, h_scale]), total


# Work (leaves x words x bins of a search, rows x words of a sum) below which handing it to another
# thread costs more than it saves.
SMALL = 25000
# Columns whose cells are cleared one by one, and which are not compared by bounds before a search.
FEW_COLUMNS = 32
# As plain Python, because few leaves are not worth a compilation.
_LEAF_VALUE: Any = vars(leaf_value)["py_func"]


@dataclass(frozen=True, eq=False)
class TreeMemory:
    """Buffers shared by all trees."""

    numbers: Int64Array  # (2, n_samples)
    histograms: Int64Array  # (max_leaf_nodes, n_cells)
    parts: Int64Array  # (n_threads - 1, n_cells): histograms of the rows of other threads

    @property
    def packed(self) -> Int64Array:
        """Derivatives of the rows of the tree, shape (n_samples,)."""
        return self.numbers[0]

    @property
    def rows(self) -> NDArray[np.int32]:
        """Row numbers in the order of the leaves, shape (n_samples,), int32."""
        return self.numbers[1].view(np.int32)[: self.numbers.shape[1]]

    @property
    def spare(self) -> NDArray[np.int32]:
        """Scratch space for as many row numbers."""
        return self.numbers[1].view(np.int32)[self.numbers.shape[1] :]


@dataclass(frozen=True, eq=False)
class TreeColumns:
    """Columns of one tree."""

    features: Int64Array  # (n_columns,): numbers among all columns
    codes: WordCodes | EntryCodes  # codes of the columns, for histograms
    starts: Int64Array  # (at least n_columns,): first cell of each column in a histogram
    n_bins: Int64Array  # (n_columns,)
    nominal: NDArray[np.bool_]  # (n_columns,): whether bins are categories, which have no order
    signs: Int64Array  # (n_columns,): leaf values increase (1) or decrease (-1) with it, or 0


@dataclass(eq=False)
class _Leaf:
    node: int
    start: int
    end: int
    total: int
    slot: int
    limits: Float64Array
    depth: int = 0
    path: frozenset[int] = frozenset()
    size: float = 0.0  # rows of all shares
    count: float = 0.0  # their weight
    least: int = -1
    split: Float64Array | None = None

    @property
    def gain(self) -> float:
        return 0.0 if self.split is None else float(self.split[GAIN])


_Family = tuple[_Leaf, ...]  # two siblings, or only the root


class GrowingTree:
    """Tree of a grower, grown on some rows by splitting one node after another.

    ``rows`` (int32) are row numbers, reordered in place by leaf. ``unit`` is (2,): the value of one
    unit of the packed gradients and of the packed second derivatives; ``total`` is the packed sum
    over the rows of all shares.
    """

    def __init__(
        self,
        grower: TreeGrower,
        columns: TreeColumns,
        choice: ColumnChoice,
        rows: NDArray[np.int32],
        unit: Float64Array,
        total: int,
    ) -> None:
        self._binned, self._memory, self._rules = grower._binned, grower._memory, grower._rules
        self._weight, self._shares = grower._weight, grower._shares
        self._n_threads = grower._n_threads
        self._columns, self._choice, self._rows = columns, choice, rows
        self._unit, self._total, self._nodes, self._n_slots = unit, total, Nodes(), 1
        rules = self._rules
        self._threshold_rng: np.random.Generator | None = None
        self._reg_lambda = rules.reg_lambda
        # None if unused: the kernels that find splits are then compiled without it. With L1, signs
        # that are all 0 are passed too: the formula of penalised values is compiled only with them.
        self._nominal = None
        if columns.nominal.any():
            self._nominal = np.where(columns.nominal, min(rules.max_cat_threshold, BINS), 0)
        self._signs = columns.signs if columns.signs.any() or rules.reg_alpha > 0 else None

    def grow(self, shrinkage: float, threshold_rng: np.random.Generator | None) -> GradientTree:
        """Grow the tree; ``shrinkage`` multiplies the leaf values.

        ``threshold_rng`` draws one threshold for every column; None: all thresholds are tried.
        """
        self._threshold_rng = threshold_rng
        rules, rows, nodes = self._rules, self._rows, self._nodes
        # Whole numbers of all shares: every machine computes the same total, so it has the same
        # penalty and makes the same splits.
        total = self._total
        self._reg_lambda += rules.relative_lambda * (total & LOWER) * float(self._unit[1])
        cat_l2 = rules.cat_l2 + rules.relative_cat_l2 * (total & LOWER) * float(self._unit[1])
        limits = np.array(
            [rules.reg_alpha, self._reg_lambda, -np.inf, np.inf, self._reg_lambda + cat_l2]
        )
        codes = self._columns.codes
        if isinstance(codes, EntryCodes):
            # By slot: sums of the rows with an entry of each column, and the columns whose cells
            # are filled.
            by_slot = len(self._memory.histograms), len(self._columns.features)
            self._entry_sums = np.empty(by_slot, dtype=np.int64)
            self._filled = np.empty(by_slot, dtype=bool)
            n_bins, penalty = self._columns.n_bins, self._reg_lambda
            self._bounds = EntryBounds(codes, n_bins, by_slot[0], self._unit, penalty)
        root = _Leaf(nodes.add(), 0, len(rows), total, 0, limits)
        (root.size,), (root.count,) = self._sizes([0, len(rows)])
        split = self._split_symmetric if rules.growth == "symmetric" else self._split_best_first
        leaves = split(root)
        # In the order of their rows, so that the end of a leaf is the start of the next. A leaf
        # without rows on this machine starts where the next one does.
        leaves.sort(key=lambda leaf: (leaf.start, leaf.end))
        values = shrinkage * np.array([self._value(leaf.total, leaf.limits) for leaf in leaves])
        starts = np.array([leaf.start for leaf in leaves] + [len(rows)], dtype=np.int64)
        for leaf, value in zip(leaves, values.tolist(), strict=True):
            nodes.values[leaf.node], nodes.cover[leaf.node] = value, leaf.count
        goes_left = np.stack(nodes.goes_left)
        return GradientTree(nodes.tree(), goes_left, rows, starts, values)

    def _split_best_first(self, root: _Leaf) -> list[_Leaf]:
        """Split the leaf with the largest gain, among all leaves or those of the lowest depth."""
        by_depth = self._rules.growth == "depth"
        leaves: list[_Leaf] = []
        heap: list[tuple[int, float, int, _Leaf]] = []
        family: _Family = (root,)
        while True:
            leaves += family
            # The last two leaves are never split, so their histograms are not needed.
            if len(leaves) == self._rules.max_leaf_nodes:
                return leaves
            self._search([family])
            for leaf in family:
                if leaf.gain > 0:
                    # Of equal gains, the node that was made first.
                    heapq.heappush(
                        heap, (leaf.depth if by_depth else 0, -leaf.gain, leaf.node, leaf)
                    )
            if not heap:
                return leaves
            best = heapq.heappop(heap)[-1]
            leaves.remove(best)
            (family,) = self._split([best])

    def _split_symmetric(self, root: _Leaf) -> list[_Leaf]:
        """Split all leaves of a level in the same way, except those with too small children."""
        ends: list[_Leaf] = []
        level, families = [root], [(root,)]
        # A level is split as a whole or not at all, as if every leaf of it were split.
        while level and len(ends) + 2 * len(level) <= self._rules.max_leaf_nodes:
            self._search(families)
            worthwhile = [leaf for leaf in level if leaf.gain > 0]
            if not worthwhile:
                break
            families = self._split(worthwhile)
            # Leaves that the common split would have left too little on a side; they are not tried
            # again.
            ends += [leaf for leaf in level if self._nodes.feature[leaf.node] < 0]
            level = [leaf for family in families for leaf in family]
        return ends + level

    def _search(self, families: list[_Family]) -> None:
        """Find the best splits of siblings, or of the root."""
        for leaf in (leaf for family in families for leaf in family):
            leaf.least = self._least(leaf)
        # A leaf that may be split needs its histogram, and one of two siblings is only found as a
        # difference: the pair is kept if either may be split.
        families = [family for family in families if max(leaf.least for leaf in family) >= 0]
        if not families:
            return
        # Of equal ones the left is the small one.
        pairs = [sorted(family, key=lambda leaf: leaf.size) for family in families]
        leaves = [leaf for family in families for leaf in family if leaf.least >= 0]
        common = self._rules.growth == "symmetric"
        # A common split reads one draw of columns, and one threshold each, for the whole level.
        drawing = leaves[:1] if common else leaves
        allowed = np.array([self._choice.of_node(leaf.depth, leaf.path) for leaf in drawing])
        seeds = None
        if self._threshold_rng is not None:
            seeds = self._threshold_rng.integers(1, 2**63, len(drawing), dtype=np.uint64)
        if isinstance(self._columns.codes, EntryCodes):
            for small, *large in pairs:
                self._fill_entries(self._columns.codes, small, *large)
            # Sides of a common split are read from the histograms of all nodes.
            if not common:
                allowed &= self._filled[[leaf.slot for leaf in leaves]]
                if self._signs is self._nominal is seeds is None:
                    self._narrow(leaves, allowed)
        else:
            self._fill_histograms(pairs)
        found = self._find(leaves, allowed, seeds)
        for i, leaf in enumerate(leaves):
            leaf.split = found[0 if common else i]

    def _narrow(self, leaves: list[_Leaf], allowed: NDArray[np.bool_]) -> None:
        """Leave out columns that cannot have the best split of a leaf, where they are many."""
        for leaf, mask in zip(leaves, allowed, strict=True):
            if np.count_nonzero(mask) > FEW_COLUMNS:
                self._bounds.narrow(
                    leaf, self._memory.histograms[leaf.slot], self._entry_sums[leaf.slot], mask,
                    lambda columns, leaf=leaf: self._find([leaf], columns[None], None)[0, GAIN],
                )  # fmt: skip

    def _find(
        self, leaves: list[_Leaf], allowed: NDArray[np.bool_], seeds: NDArray[np.uint64] | None
    ) -> Float64Array:
        """Best splits of some leaves, one each, or a common one."""
        nodes, limits = _describe_nodes(leaves), np.array([leaf.limits for leaf in leaves])
        n_words, n_cells = -(-len(self._columns.features) // WORD), self._columns.codes.n_cells
        # Threads search separate words of eight columns, in the order of the columns.
        edges = np.array([0, n_words])
        if len(leaves) * n_cells > WORD * SMALL:
            edges = np.linspace(0, n_words, min(self._n_threads, n_words) + 1).astype(np.int64)
        found = np.zeros((len(edges) - 1, len(allowed), N_FIELDS))
        # The results are compared in the order of the columns below, so the winner does not depend
        # on the number of threads.
        kernel = find_common_split if self._rules.growth == "symmetric" else find_splits
        is_plain = kernel is find_splits and self._nominal is self._signs is seeds is None
        if is_plain and isinstance(self._columns.codes, WordCodes):
            n_cells = 2 * len(leaves) * len(self._columns.n_bins) * int(self._columns.n_bins.max())
            if are_few(kernel, 150 + n_cells // CELLS_PER_STEP, LIKELY_NODES):
                return self._find_plainly(nodes, limits, allowed)

        def find(number: int) -> None:
            kernel(
                self._columns.n_bins, self._nominal, self._signs, allowed, seeds, edges[number],
                edges[number + 1], self._memory.histograms, self._columns.starts, nodes, limits,
                self._unit, self._rules.min_split_gain, found[number],
            )  # fmt: skip

        thread_map(find, range(len(found)), len(found))
        winners = found[:, :, GAIN].argmax(axis=0)  # the first of equal ones
        return found[winners, np.arange(len(allowed))]

    def _find_plainly(
        self, nodes: Int64Array, limits: Float64Array, allowed: NDArray[np.bool_]
    ) -> Float64Array:
        """:func:`find_splits` of few columns of numbers in NumPy, with all places at a time."""
        lines, (g_unit, h_unit) = self._memory.histograms[nodes[:, SLOT]], self._unit
        starts, n_bins = self._columns.starts, self._columns.n_bins
        bins = np.arange(n_bins.max())
        missing = lines[:, starts + n_bins, None, None]
        # (n_nodes, n_columns, side of missing values, bin); one side if there are none
        sums = lines[:, starts[:, None] + bins].cumsum(axis=2)[:, :, None]
        ends = n_bins[:, None, None] - 1
        if missing.any():
            sums = sums + missing * [[0], [1]]
            ends = ends + np.where(missing == 0, [[0], [1 - BINS]], [[1], [0]])
        weight, total, least = sums & LOWER, *nodes.T[[TOTAL, LEAST], :, None, None, None]
        is_place = (bins < ends) & (weight >= least) & (weight <= (total & LOWER) - least)
        g, h, penalty = (sums >> 32) * g_unit, weight * h_unit, limits[:, L2, None, None, None]
        g_all, h_all = (total >> 32) * g_unit, (total & LOWER) * h_unit
        rest, left, right = g_all - g, h + penalty, (h_all - h) + penalty
        with np.errstate(divide="ignore", invalid="ignore"):
            gains = (g * g * right + rest * rest * left) / (left * right)
        gains[~(is_place & allowed[:, :, None, None])] = -np.inf
        alone = (g_all * g_all / (h_all + penalty)).ravel()
        best = gains.reshape(len(nodes), -1).argmax(axis=1)  # the first of equal ones
        column, side, place = np.unravel_index(best, gains.shape[1:])
        worth = gains.reshape(len(nodes), -1)[np.arange(len(nodes)), best]
        least_worth = np.maximum(
            np.where(alone > 0, alone * (1 + 1e-12), alone * (1 - 1e-12)) + 1e-300,
            alone + self._rules.min_split_gain,
        )
        found = np.stack([worth - alone, column, place, side], axis=1)
        found[worth <= least_worth] = 0.0
        return found

    def _fill_histograms(self, pairs: list[list[_Leaf]]) -> None:
        """Sum the histograms of the smaller siblings, and subtract them from the parents'.

        The slot of a parent then holds its larger child.
        """
        histograms = self._memory.histograms[:, : self._columns.codes.n_cells]
        slots = [small.slot for small, *_ in pairs]
        for small, *_ in pairs:
            self._sum_rows(small, histograms[small.slot])
        if self._shares is not None:
            # Only the smaller siblings are exchanged; every machine holds the sums of their
            # parents.
            histograms[slots] = self._shares.sum(histograms[slots])
        for small, *large in pairs:
            for leaf in large:
                # Exact, because the cells are whole numbers.
                histograms[leaf.slot] -= histograms[small.slot]

    def _fill_entries(self, codes: EntryCodes, small: _Leaf, large: _Leaf | None = None) -> None:
        """The same for rows of few entries, whose histograms are mostly left alone.

        A leaf gets the cells of those columns alone that may split it. Rows without an entry of a
        column stay together, and a side without them has at most the column's sum of entries.
        """
        rows, slot = self._rows[small.start : small.end], small.slot
        sums, sizes = codes.sums(rows, self._memory.packed)
        if self._shares is not None:
            sums, sizes = self._shares.sum(np.stack([sums, sizes]))
        self._bounds.start(slot, small.total)
        self._entry_sums[slot] = sums
        lines = self._memory.histograms[:, : codes.n_cells]
        # Histograms that are exchanged are subtracted as a whole, and so are those of many entries.
        as_whole = self._shares is not None or len(rows) * codes.work > lines.shape[1]
        kept = self._may_split(small)
        if large is None:
            self._sum_entries(codes, small, kept)
            return
        self._entry_sums[large.slot] -= sums
        if large.least >= 0:
            self._bounds.follow(large, sizes, sums, self._entry_sums[large.slot])
        had, wanted = self._filled[large.slot].copy(), self._may_split(large)
        # The parent may have been left without a column: what is enough differs between leaves.
        is_difference = not (wanted & ~had).any()
        if is_difference and as_whole:
            kept |= wanted
        self._sum_entries(codes, small, kept)
        if not is_difference:
            self._sum_entries(codes, large, wanted)
        elif as_whole:
            lines[large.slot] -= lines[slot]
        else:
            first = codes.first(np.flatnonzero(wanted))
            codes.add(rows, self._memory.packed, lines[large.slot], first, sign=-1)
        self._close_entries(codes, large, wanted)

    def _may_split(self, leaf: _Leaf) -> NDArray[np.bool_]:
        """Columns that may split a leaf, as far as their sums of entries tell."""
        # Sides of a common split are read from the histograms of all leaves of a level.
        if leaf.least < 0 or self._rules.growth == "symmetric":
            return np.full(len(self._columns.features), leaf.least >= 0)
        return self._entry_sums[leaf.slot] & LOWER >= leaf.least

    def _sum_entries(self, codes: EntryCodes, leaf: _Leaf, kept: NDArray[np.bool_]) -> None:
        """Write the histogram of a leaf, of some columns."""
        columns, line = np.flatnonzero(kept), self._memory.histograms[leaf.slot, : codes.n_cells]
        first, packed = codes.first(columns), self._memory.packed
        if len(columns) == 0:
            self._filled[leaf.slot] = False
            return
        if leaf.end - leaf.start == self._binned.n_rows:
            line[:] = 0
            step = max(1, -(-len(columns) // self._n_threads))
            pieces = [columns[start : start + step] for start in range(0, len(columns), step)]
            thread_map(lambda some: codes.add_all(some, packed, line, first), pieces, len(pieces))
        elif len(columns) > FEW_COLUMNS:
            self._sum_rows(leaf, line, first)
        else:
            for column in columns.tolist():
                line[codes.starts[column] : codes.starts[column + 1]] = 0
            codes.add(self._rows[leaf.start : leaf.end], packed, line, first)
        if self._shares is not None:
            line[:] = self._shares.sum(line)
        self._close_entries(codes, leaf, kept)

    def _close_entries(self, codes: EntryCodes, leaf: _Leaf, kept: NDArray[np.bool_]) -> None:
        """Write the cells of the codes of 0, which complete some columns of a histogram."""
        rest = leaf.total - self._entry_sums[leaf.slot][kept]
        self._memory.histograms[leaf.slot, codes.zero_cells[kept]] = rest
        self._filled[leaf.slot] = kept

    def _sum_rows(self, leaf: _Leaf, out: Int64Array, first: Int64Array | None = None) -> None:
        """Write the histogram of a leaf; ``first`` is for codes of entries.

        Each thread sums a histogram of its own, over one piece of the rows after another.
        """
        # Rows of about SMALL words or entries: enough for a thread, few enough to balance threads
        # that wait. A histogram of a thread's own takes the time of some entries, too.
        codes, start, end = self._columns.codes, leaf.start, leaf.end
        n_rows, piece = end - start, max(1, SMALL // codes.work, len(out) // (4 * codes.work))
        n_parts = max(1, min(self._n_threads, n_rows // piece))
        parts = [out, *self._memory.parts[: n_parts - 1, : len(out)]]
        step = piece if n_parts > 1 else max(1, n_rows)
        pieces = deque(range(start, end, step))

        def add(sums: Int64Array) -> None:
            sums[:] = 0
            while pieces:
                try:
                    begin = pieces.popleft()  # atomic
                except IndexError:  # another thread took the last one
                    return
                rows = self._rows[begin : min(begin + step, end)]
                if isinstance(codes, EntryCodes):
                    assert first is not None
                    codes.add(rows, self._memory.packed, sums, first)
                else:
                    codes.add(rows, self._memory.packed, sums)

        thread_map(add, parts, n_parts)
        for sums in parts[1:]:
            out += sums

    def _sizes(self, bounds: Sequence[int]) -> tuple[list[float], list[float]]:
        """Number and weight of the rows between the bounds, in all shares."""
        sizes = counts = [float(b - a) for a, b in itertools.pairwise(bounds)]
        if self._weight is not None:
            counts = [
                float(self._weight[self._rows[a:b]].sum()) for a, b in itertools.pairwise(bounds)
            ]
        if self._shares is None:
            return sizes, counts
        sizes, counts = self._shares.sum(np.array([sizes, counts])).tolist()
        return sizes, counts

    def _least(self, leaf: _Leaf) -> int:
        """Smallest sum of second derivatives in a child, in units; -1: the leaf stays one."""
        # Half a row less: the rows of a child are estimated from its share of the second
        # derivatives, and the estimate counts as rounded to the nearest whole number.
        rules, n, whole = self._rules, leaf.count, leaf.total & LOWER
        if rules.max_depth is not None and leaf.depth >= rules.max_depth:
            return -1
        by_rows = (rules.min_samples_leaf - 0.5) * whole / n
        # At least one unit, so that no child is empty and none is divided by 0.
        least = max(1, math.ceil(max(by_rows, rules.min_hessian_leaf / float(self._unit[1]))))
        # If even halves are too small, no histogram has to be built to know it.
        return least if 2 * least <= whole else -1

    def _split(self, leaves: list[_Leaf]) -> list[_Family]:
        """Partition the rows of the leaves to be split, and return the children.

        A leaf is not split if a child would be too small; it then has no children.
        """
        split = leaves[0].split
        assert split is not None
        column = int(split[FEATURE])
        feature, sign = int(self._columns.features[column]), int(self._columns.signs[column])
        goes_left, lefts, threshold, members = self._sides(leaves, split)
        missing_left = bool(goes_left[self._columns.n_bins[column]])
        families: list[_Family] = []
        for leaf, left_sum in zip(leaves, lefts.tolist(), strict=True):
            right_sum = leaf.total - left_sum
            # Possible only if the split is shared: the search has checked a leaf that is split
            # alone.
            if min(left_sum & LOWER, right_sum & LOWER) < leaf.least:
                continue
            node_rows = self._rows[leaf.start : leaf.end]
            n_left = self._binned.part(
                node_rows, feature, goes_left, self._memory.spare, self._n_threads
            )
            gain = leaf.gain
            if len(leaves) > 1:
                # The gain of a shared split is a sum over the leaves; a node stores its own part.
                bounds = leaf.limits.copy()
                bounds[L2] = leaf.limits[self._penalty_of(column)]
                gain = split_gain(leaf.total, left_sum, self._unit, leaf.limits, bounds, sign)
            node, middle = leaf.node, leaf.start + n_left
            self._nodes.split(node, feature, threshold, missing_left, gain, goes_left)
            if members is not None:
                self._nodes.members[node] = members
            self._nodes.cover[node] = leaf.count
            sizes, counts = self._sizes([leaf.start, middle, leaf.end])
            slots = [leaf.slot, self._n_slots]  # the larger child's histogram replaces its parent's
            self._n_slots += 1
            # The smaller child gets the new slot; of equal ones the left, as in _search.
            # Sizes count the rows of all shares, so all machines choose the same child.
            if 2 * sizes[0] <= leaf.size:
                slots.reverse()
            limits = self._limits(leaf, left_sum, sign)
            depth, path = leaf.depth + 1, leaf.path | {feature}
            left = _Leaf(
                self._nodes.left[node], leaf.start, middle, left_sum, slots[0], limits[0],
                depth, path, size=sizes[0], count=counts[0],
            )  # fmt: skip
            right = _Leaf(
                self._nodes.right[node], middle, leaf.end, right_sum, slots[1], limits[1],
                depth, path, size=sizes[1], count=counts[1],
            )  # fmt: skip
            families.append((left, right))
        return families

    def _sides(
        self, leaves: list[_Leaf], split: Float64Array
    ) -> tuple[NDArray[np.bool_], Int64Array, float, tuple[Float64Array, Float64Array] | None]:
        """Codes that go left, the packed sums on the left, and the threshold or categories."""
        columns, histograms, nodes = self._columns, self._memory.histograms, _describe_nodes(leaves)
        column, place = int(split[FEATURE]), int(split[PLACE])
        n = int(columns.n_bins[column])
        # The search keeps no order of categories; it is computed again for the winning column.
        order, n_ordered = np.empty(BINS, dtype=np.int64), -1
        if columns.nominal[column]:
            penalty = float(leaves[0].limits[self._penalty_of(column)])
            n_ordered = order_categories(
                histograms, columns.starts, nodes, column, n, self._unit, penalty, order
            )
        goes_left, lefts = np.empty(BINS, dtype=bool), np.empty(len(leaves), dtype=np.int64)
        if n_ordered < 0 and are_few(part_codes, 30, LIKELY_NODES):
            cells = histograms[nodes[:, SLOT], columns.starts[column] :][:, : n + 1]
            goes_left[:] = np.arange(BINS) <= place
            goes_left[n] = split[MISSING_LEFT]
            lefts[:] = cells.sum(axis=1, where=goes_left[: n + 1])
            if not cells[:, n].any():
                goes_left[n] = 2 * (lefts & LOWER).sum() >= (cells & LOWER).sum()
        else:
            part_codes(
                histograms, columns.starts, nodes, column, n, place, bool(split[MISSING_LEFT]),
                order, n_ordered, goes_left, lefts,
            )  # fmt: skip
        if n_ordered >= 0:
            left, right = (np.flatnonzero(goes_left[:n] == side) for side in (True, False))
            return goes_left, lefts, np.nan, (left.astype(np.float64), right.astype(np.float64))
        cuts = self._binned.binning.of_column(int(columns.features[column]))
        # No cut follows the last bin: the split parts missing values from all others.
        return goes_left, lefts, float(cuts[place]) if place < len(cuts) else np.inf, None

    def _penalty_of(self, column: int) -> int:
        """Field of the L2 penalty of children that a column would make."""
        is_few = self._columns.n_bins[column] <= FEW_CATEGORIES
        return L2 if is_few or not self._columns.nominal[column] else CATEGORY_L2

    def _limits(self, leaf: _Leaf, left_sum: int, sign: int) -> tuple[Float64Array, Float64Array]:
        """Limits of two children; on a monotone column, the mean of their values separates them."""
        if sign == 0:
            return leaf.limits, leaf.limits
        low = self._value(left_sum, leaf.limits)
        high = self._value(leaf.total - left_sum, leaf.limits)
        middle = (low + high) / 2
        if sign * (high - low) < 0:
            # A shared split may order the values of this leaf wrongly: both children then get its
            # own value as their common bound.
            middle = self._value(leaf.total, leaf.limits)
        left, right = leaf.limits.copy(), leaf.limits.copy()
        left[HIGH if sign > 0 else LOW] = right[LOW if sign > 0 else HIGH] = middle
        return left, right

    def _value(self, total: int, limits: Float64Array) -> float:
        """Value of a leaf: its Newton step."""
        # The upper half is the sum of gradients, with its sign; the lower half, which never borrows
        # from it, that of second derivatives.
        g, h = (total >> 32) * float(self._unit[0]), (total & LOWER) * float(self._unit[1])
        return _LEAF_VALUE(g, h, limits.tolist())


def _describe_nodes(leaves: list[_Leaf]) -> Int64Array:
    """Nodes as the kernels read them, see :mod:`rankwise.kernels.boosted_splits`."""
    return np.array([(leaf.slot, leaf.total, leaf.least) for leaf in leaves])


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
        if are_few(add_values, 5 + len(self.rows) // ROWS_PER_STEP, LIKELY_TREES):
            scores[self.rows] += np.repeat(self.leaf_values, np.diff(self.starts))
        else:
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
