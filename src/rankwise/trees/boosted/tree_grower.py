"""Gradient trees, grown one after another on the same rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.kernels.boosted_trees import absolute_sums, pack
from rankwise.runtime.threads import thread_map
from rankwise.trees.boosted.coded_rows import CodedRows, Shares
from rankwise.trees.boosted.growing_tree import GradientTree, GrowingTree, TreeColumns, TreeMemory
from rankwise.trees.boosted.growth_rules import ColumnChoice, GrowthRules
from rankwise.typing import Float64Array

# A fixed number, whatever the number of threads: the sums of chunks are added in their order.
CHUNK_ROWS = 65_536
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
        n_features, n, codes = binned.n_features, binned.n_rows, binned.all_codes()
        n_in_all = n if shares is None else int(shares.sum(np.array([n]))[0])
        shape = (_most_leaves(rules, n_in_all), int(codes.starts[-1]))
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
        rules, chosen = (
            self._rules,
            self._columns if columns is None else self._select(columns),
        )
        choice = ColumnChoice(chosen.features, rules.by_level, rules.by_node, rules.groups, rng)
        # Before the row numbers are written, which take the place of the second derivatives.
        unit, total = self._pack(gradients, hessians, rows)
        if rows is None:
            rows = self._memory.rows
            for start in range(0, len(rows), CHUNK_ROWS):
                end = min(start + CHUNK_ROWS, len(rows))
                rows[start:end] = np.arange(start, end)
        tree = GrowingTree(
            self._binned,
            rules,
            self._memory,
            chosen,
            choice,
            rows,
            unit,
            total,
            self._n_threads,
            self._weight,
            self._shares,
        )
        return tree.grow(shrinkage, rng if rules.random_thresholds else None)

    def add_to_others(
        self, grown: GradientTree, scores: Float64Array, others: NDArray[np.int32]
    ) -> None:
        """Add the leaf values to the scores of rows that the tree was not grown on."""

        def add(start: int) -> None:
            rows = others[start : start + CHUNK_ROWS]
            self._binned.add_leaf_values(grown.tree, grown.goes_left, scores, rows)

        thread_map(add, range(0, len(others), CHUNK_ROWS), self._n_threads)

    def _select(self, columns: NDArray[np.bool_]) -> TreeColumns:
        """Select columns and pack their codes, so that histograms are built only for these."""
        features = np.flatnonzero(columns)
        self._drawn = self._binned.take_codes(features, self._n_threads, self._drawn)
        return self._columns.take(features, self._drawn)

    def _pack(
        self, gradients: Float64Array, hessians: Float64Array, rows: NDArray[np.int32] | None
    ) -> tuple[Float64Array, int]:
        """Write the packed derivatives; return the value of one unit of each, and their sum."""
        n = len(gradients) if rows is None else len(rows)
        chunks = range(0, n, CHUNK_ROWS)
        sums = np.zeros((len(chunks), 2))

        def chunk(start: int) -> NDArray[np.int32]:
            end = min(start + CHUNK_ROWS, n)
            return np.arange(start, end, dtype=np.int32) if rows is None else rows[start:end]

        def add(number: int) -> None:
            absolute_sums(gradients, hessians, chunk(chunks[number]), sums[number])

        thread_map(add, range(len(chunks)), self._n_threads)
        totals = np.array([*sums.sum(axis=0), n])
        if self._shares is not None:
            totals = self._shares.sum(totals)
        # Rounding moves each row by half a unit at most, so that many units per row are kept free.
        room = LARGEST_SUM - totals[2] - 1
        # Multiplying by a power of two is exact: only the rounding to whole numbers loses digits.
        g_scale, h_scale = (
            _power_of_two(room / total) if total > 0 else 1.0 for total in totals[:2].tolist()
        )

        def write(start: int) -> int:
            return int(pack(gradients, hessians, g_scale, h_scale, chunk(start), packed))

        packed = self._memory.packed
        total = sum(thread_map(write, chunks, self._n_threads))
        if self._shares is not None:
            total = int(self._shares.sum(np.array([total]))[0])
        return 1.0 / np.array([g_scale, h_scale]), total


def _most_leaves(rules: GrowthRules, n_rows: int) -> int:
    """Maximum number of leaves of a tree grown on ``n_rows`` rows."""
    # A leaf has at least one row; two leaves are the least that histograms are made for.
    most = min(rules.max_leaf_nodes, max(2, n_rows))
    return most if rules.max_depth is None else min(most, 2 ** min(rules.max_depth, 60))


def _power_of_two(x: float) -> float:
    """Largest power of two up to x."""
    # Within the exponents of float64, for sums that are almost 0 or infinite.
    return float(np.exp2(np.clip(np.floor(np.log2(x)), -1000, 1000)))
