"""Growth of one tree: leaf by leaf, level by level, or symmetric.

For the two children of a split, the smaller child's histogram is summed from its rows. The other
is the parent's histogram minus the smaller child's.

Nodes of a growing gradient tree, and the finished tree.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.kernels.boosted_splits import (
    FEATURE,
    GAIN,
    HIGH,
    LOW,
    MISSING_LEFT,
    N_FIELDS,
    PLACE,
    find_common_split,
    find_splits,
    leaf_value,
    order_categories,
    part_codes,
    split_gain,
)
from rankwise.kernels.boosted_trees import BINS, LOWER, WORD, add_values
from rankwise.runtime.threads import thread_map
from rankwise.trees.boosted.coded_rows import CodedRows, EntryCodes, Shares, WordCodes
from rankwise.trees.boosted.growth_rules import ColumnChoice, GrowthRules
from rankwise.trees.tree_ensemble import ScoreTree
from rankwise.typing import Float64Array, Int64Array

# Work (leaves x words x bins of a search, rows x words of a sum) below which handing it to another
# thread costs more than it saves.
SMALL = 25000
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
    starts: Int64Array  # (at least n_columns + 1,): cells of each column in a histogram
    n_bins: Int64Array  # (n_columns,)
    nominal: NDArray[np.bool_]  # (n_columns,): whether bins are categories, which have no order
    signs: Int64Array  # (n_columns,): leaf values increase (1) or decrease (-1) with it, or 0

    def take(self, features: Int64Array, codes: WordCodes | EntryCodes) -> TreeColumns:
        """Select columns with the given codes."""
        return TreeColumns(
            features,
            codes,
            codes.starts,
            self.n_bins[features],
            self.nominal[features],
            self.signs[features],
        )


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
# First row, end of the rows, slot, slot of the parent or -1.
_HistogramTask = tuple[int, int, int, int]


class GrowingTree:
    """Tree being grown on some rows, by splitting one node after another.

    ``rows`` (int32) are row numbers, reordered in place by leaf. ``unit`` is (2,): the value of one
    unit of the packed gradients and of the packed second derivatives; ``total`` is the packed sum
    over the rows of all shares. ``weight`` (n_samples,) is the number of rows that each row counts
    as; None: one each. ``shares`` connects machines that each hold a share of the rows.
    """

    def __init__(
        self,
        binned: CodedRows,
        rules: GrowthRules,
        memory: TreeMemory,
        columns: TreeColumns,
        choice: ColumnChoice,
        rows: NDArray[np.int32],
        unit: Float64Array,
        total: int,
        n_threads: int,
        weight: Float64Array | None,
        shares: Shares | None = None,
    ) -> None:
        self._binned, self._rules, self._memory, self._columns = binned, rules, memory, columns
        self._choice, self._rows, self._unit, self._n_threads = choice, rows, unit, n_threads
        self._total = total
        self._nodes, self._n_slots, self._weight, self._shares = Nodes(), 1, weight, shares
        self._threshold_rng: np.random.Generator | None = None
        self._reg_lambda = rules.reg_lambda
        # None if unused: the kernels that find splits are then compiled without it. With L1, signs
        # that are all 0 are passed too: the formula of penalised values is compiled only with them.
        self._nominal = columns.nominal if columns.nominal.any() else None
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
        limits = np.array([rules.reg_alpha, self._reg_lambda, -np.inf, np.inf])
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
        leaves = [root]
        self._search([(root,)])
        while len(leaves) < self._rules.max_leaf_nodes:
            best = max(
                (leaf for leaf in leaves if leaf.gain > 0),
                # Of equal gains, the node that was made first: the order of the list is not used.
                key=lambda leaf: (-leaf.depth if by_depth else 0, leaf.gain, -leaf.node),
                default=None,
            )
            if best is None:
                break
            families = self._split([best])
            leaves.remove(best)
            leaves += families[0]
            # The last two leaves are never split, so their histograms are not needed.
            if len(leaves) < self._rules.max_leaf_nodes:
                self._search(families)
        return leaves

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
        tasks = [_plan_histogram(*family) for family in families]
        leaves = [leaf for family in families for leaf in family if leaf.least >= 0]
        nodes = _describe_nodes(leaves)
        limits = np.array([leaf.limits for leaf in leaves])
        common = self._rules.growth == "symmetric"
        # A common split reads one draw of columns, and one threshold each, for the whole level.
        drawing = leaves[:1] if common else leaves
        allowed = np.array([self._choice.of_node(leaf.depth, leaf.path) for leaf in drawing])
        seeds = None
        if self._threshold_rng is not None:
            seeds = self._threshold_rng.integers(1, 2**63, len(drawing), dtype=np.uint64)
        self._fill_histograms(tasks)
        n_words, n_cells = -(-len(self._columns.features) // WORD), int(self._columns.starts[-1])
        n_parts = self._n_threads if len(leaves) * n_cells > WORD * SMALL else 1
        # Threads search separate words of eight columns, in the order of the columns.
        edges = np.linspace(0, n_words, min(n_parts, n_words) + 1).astype(np.int64)
        found = np.zeros((len(edges) - 1, len(drawing), N_FIELDS))
        # The results are compared in the order of the columns below, so the winner does not depend
        # on the number of threads.
        kernel = find_common_split if common else find_splits

        def find(number: int) -> None:
            kernel(
                self._columns.n_bins, self._nominal, self._signs, allowed, seeds, edges[number],
                edges[number + 1], self._memory.histograms, self._columns.starts, nodes, limits,
                self._unit, self._rules.min_split_gain, found[number],
            )  # fmt: skip

        thread_map(find, range(len(edges) - 1), n_parts)
        winners = found[:, :, GAIN].argmax(axis=0)  # the first of equal ones
        for i, leaf in enumerate(leaves):
            line = 0 if common else i
            leaf.split = found[winners[line], line]

    def _fill_histograms(self, tasks: list[_HistogramTask]) -> None:
        """Sum the histograms of the smaller siblings, and subtract them from the parents'."""
        histograms = self._memory.histograms[:, : self._columns.starts[-1]]
        for start, end, small, _ in tasks:
            self._sum_rows(start, end, histograms[small])
        if self._shares is not None:
            small = [task[2] for task in tasks]
            # Only the smaller siblings are exchanged; every machine holds the sums of their
            # parents.
            histograms[small] = self._shares.sum(histograms[small])
        for _, _, small, parent in tasks:
            if parent >= 0:
                # Exact, because the cells are whole numbers. The slot of the parent now holds the
                # larger sibling.
                histograms[parent] -= histograms[small]

    def _sum_rows(self, start: int, end: int, out: Int64Array) -> None:
        """Write the histogram of the rows ``start:end``.

        Each thread sums a histogram of its own, over one piece of the rows after another.
        """
        # Rows of about SMALL words or entries: enough for a thread, few enough to balance threads
        # that wait.
        codes = self._columns.codes
        n_rows, piece = end - start, max(1, SMALL // codes.work)
        n_parts = max(1, min(self._n_threads, n_rows // piece))
        parts = [out, *self._memory.parts[: n_parts - 1, : len(out)]]
        step = piece if n_parts > 1 else max(1, n_rows)
        pieces = deque(range(start, end, step))

        def add(sums: Int64Array) -> None:
            sums[:] = 0
            while pieces:
                try:
                    first = pieces.popleft()  # atomic
                except IndexError:  # another thread took the last one
                    return
                rows = self._rows[first : min(first + step, end)]
                codes.add(rows, self._memory.packed, sums)

        thread_map(add, parts, n_parts)
        for sums in parts[1:]:
            out += sums

    def _sizes(self, bounds: Sequence[int]) -> tuple[list[float], list[float]]:
        """Number and weight of the rows between the bounds, in all shares."""
        sizes = np.diff(np.asarray(bounds, dtype=np.float64))
        counts = sizes
        if self._weight is not None:
            parts = [self._weight[self._rows[a:b]].sum() for a, b in itertools.pairwise(bounds)]
            counts = np.array(parts)
        both = np.stack([sizes, counts])
        sizes, counts = both if self._shares is None else self._shares.sum(both)
        return sizes.tolist(), counts.tolist()

    def _least(self, leaf: _Leaf) -> int:
        """Smallest sum of second derivatives in a child, in units; -1: the leaf stays one."""
        # Half a row less: the rows of a child are estimated from its share of the second
        # derivatives, and the estimate counts as rounded to the nearest whole number.
        rules, n, whole = self._rules, leaf.count, leaf.total & LOWER
        if rules.max_depth is not None and leaf.depth >= rules.max_depth:
            return -1
        by_rows = (rules.min_samples_leaf - 0.5) * whole / n
        # At least one unit, so that no child is empty and none is divided by 0.
        least = max(1, int(np.ceil(max(by_rows, rules.min_hessian_leaf / self._unit[1]))))
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
            n_left = self._binned.part(node_rows, feature, goes_left, self._memory.spare)
            gain = leaf.gain
            if len(leaves) > 1:
                # The gain of a shared split is a sum over the leaves; a node stores its own part.
                gain = split_gain(leaf.total, left_sum, self._unit, leaf.limits, sign)
            node, middle = leaf.node, leaf.start + n_left
            self._nodes.split(node, feature, threshold, missing_left, gain, goes_left)
            if members is not None:
                self._nodes.members[node] = members
            self._nodes.cover[node] = leaf.count
            sizes, counts = self._sizes([leaf.start, middle, leaf.end])
            slots = [leaf.slot, self._n_slots]  # the larger child's histogram replaces its parent's
            self._n_slots += 1
            # The smaller child gets the new slot; of equal ones the left, as in _plan_histogram.
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
            n_ordered = order_categories(
                histograms, columns.starts, nodes, column, n, self._unit, self._reg_lambda, order
            )
        goes_left, lefts = np.empty(BINS, dtype=bool), np.empty(len(leaves), dtype=np.int64)
        part_codes(
            histograms, columns.starts, nodes, column, n, place, bool(split[MISSING_LEFT]), order,
            n_ordered, goes_left, lefts,
        )  # fmt: skip
        if n_ordered >= 0:
            left, right = (np.flatnonzero(goes_left[:n] == side) for side in (True, False))
            return goes_left, lefts, np.nan, (left.astype(np.float64), right.astype(np.float64))
        cuts = self._binned.binning.of_column(int(columns.features[column]))
        # No cut follows the last bin: the split parts missing values from all others.
        return goes_left, lefts, float(cuts[place]) if place < len(cuts) else np.inf, None

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


def _plan_histogram(leaf: _Leaf, sibling: _Leaf | None = None) -> _HistogramTask:
    """Describe the histogram of the smaller sibling: its rows, its slot and the parent's slot."""
    if sibling is None:
        return leaf.start, leaf.end, leaf.slot, -1
    small, large = (leaf, sibling) if leaf.size <= sibling.size else (sibling, leaf)
    return small.start, small.end, small.slot, large.slot


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
