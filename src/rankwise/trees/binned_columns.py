"""Splits between bins, from the class weights of every bin of every column in each node.

For each column, counting a node of m rows takes O(m), and searching it O(bins). If a node is
counted together with its sibling, only the smaller of the two is counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.features.binning import Binning, find_bins, midpoints
from rankwise.kernels.tree_rows import part_rows
from rankwise.kernels.tree_splits import scan_bins
from rankwise.runtime.threads import thread_map
from rankwise.trees.criterion import Criterion
from rankwise.trees.frontier import (
    Frontier,
    Splits,
    find_in_blocks,
    first_best,
    mark_by_codes,
    pack_rows_and_classes,
    run_over_nodes,
)
from rankwise.trees.nominal import NominalColumns
from rankwise.typing import Float64Array, FloatArray, Int64Array

CHUNK_COLUMNS = 8
CELLS = 1_000_000  # nodes times columns searched at a time
KEEP_ROWS = 4  # times the cells of a column: nodes of so many rows keep their histograms ...
KEEP_BYTES = 256_000_000  # ... unless all histograms together exceed this size


@dataclass(frozen=True, eq=False)
class BinnedColumns:
    """Bins of all columns and codes of the rows."""

    binning: Binning
    codes: NDArray[np.uint8]  # (n_features, n_samples)
    n_categories: Int64Array  # (n_features,); 0 for ordered columns

    def rows(
        self,
        y: NDArray[Any],
        weight: Float64Array | None,
        criterion: Criterion,
        least: float,
        max_depth: float,
    ) -> HistogramRows:
        """Training data for growing a tree on these rows."""
        return HistogramRows(self, y, weight, criterion, least, max_depth)


def bin_columns(
    X: FloatArray, n_categories: Int64Array, max_bins: int, weight: Float64Array | None
) -> BinnedColumns:
    """Bin every column; see :func:`rankwise.features.binning.find_bins`."""
    binning = find_bins(X, max_bins, weight, n_categories)
    return BinnedColumns(binning, binning.codes(X), n_categories)


class HistogramRows:
    """Rows of a tree and their histograms; see :class:`rankwise.trees.frontier.NodeRows`."""

    def __init__(
        self,
        columns: BinnedColumns,
        y: NDArray[Any],
        weight: Float64Array | None,
        criterion: Criterion,
        least: float,
        max_depth: float,
    ) -> None:
        self._codes, self._binning = columns.codes, columns.binning
        self._y = y
        self._weight = np.empty(0) if weight is None else weight
        self._criterion = (criterion.kind, criterion.distances, float(least))
        self._rows = pack_rows_and_classes(
            np.arange(len(y)) if weight is None else np.flatnonzero(weight), y
        )
        self._go_left = np.zeros(len(y), dtype=np.uint8)
        self.n_rows = len(self._rows)
        ordered = np.flatnonzero(columns.n_categories == 0)
        nominal = np.flatnonzero(columns.n_categories)
        self._nominal = NominalColumns(
            nominal, columns.n_categories[nominal], columns.codes[nominal]
        )
        n_cuts = columns.binning.n_cuts[ordered]
        # One bin more than cuts, and one for missing values.
        cells = (n_cuts + 2) * len(criterion.distances)
        self._n_cells = int(cells.sum())
        # Row of codes, first cell in a row of histograms, number of cuts.
        self._ordered = np.column_stack([ordered, np.cumsum(cells) - cells, n_cuts])
        self._dtype = np.int32 if weight is None else np.float64
        # Only differences of whole numbers are exact; other weights leave remainders in empty bins.
        self._subtracts = weight is None or bool((weight == np.floor(weight)).all())
        whole = len(self._rows) * self._n_cells * np.dtype(self._dtype).itemsize
        per_column = self._n_cells / max(1, len(ordered))
        self._keep_rows = max(KEEP_ROWS * per_column, whole / KEEP_BYTES)
        self._max_depth = max_depth

    def find(self, frontier: Frontier, ties: Float64Array, allowed: Any) -> Splits:
        """Best split of each open node."""
        lines = np.full(frontier.n_open, -1)
        # Columns that a node did not draw have no histogram to subtract from.
        if self._subtracts and allowed is None:
            segments = frontier.segments
            depth = np.repeat(frontier.depth[:, None], 2, axis=1)[frontier.is_open]
            large = segments[:, 1] - segments[:, 0] >= self._keep_rows
            # Children at the largest depth are not searched, so their parents need not be kept.
            keep = np.flatnonzero(large & (depth + 1 < self._max_depth))
            lines[keep] = np.arange(len(keep))
        kept = np.empty((int(lines.max(initial=-1)) + 1, self._n_cells), dtype=self._dtype)

        def find(block: Frontier, nodes: slice) -> Splits:
            drawn = None if allowed is None else allowed[nodes]
            return self._find(block, ties[nodes], drawn, lines[nodes], kept)

        return find_in_blocks(find, frontier, max(1, CELLS // self._codes.shape[0]))

    def _find(
        self,
        frontier: Frontier,
        ties: Float64Array,
        allowed: Any,
        lines: Int64Array,
        kept: NDArray[Any],
    ) -> Splits:
        segments, nodes = frontier.segments, np.arange(frontier.n_open)
        gains = np.zeros((self._codes.shape[0], len(nodes)))
        found = self._scan(frontier, ties, allowed, lines, kept)
        gains[self._ordered[:, 0]] = found[:, :, 0].T
        gains[self._nominal.features], marks = self._nominal.search(
            self._rows, self._y, self._weight, segments, ties, self._criterion, allowed
        )
        feature = first_best(gains, ties)
        is_nominal, marks, side = self._nominal.winners(feature, marks)
        place, threshold = np.zeros_like(feature), np.full(len(feature), np.nan)
        if len(self._ordered):
            line = np.searchsorted(self._ordered[:, 0], feature).clip(0, len(self._ordered) - 1)
            place, following, sorted_side = found[nodes, line, 1:].astype(np.int64).T
            side = np.where(is_nominal, side, sorted_side)
            threshold = np.where(is_nominal, np.nan, self._thresholds(feature, place, following))
        return Splits(gains[feature, nodes], feature, threshold, place, side, marks, lines, kept)

    def _scan(
        self,
        frontier: Frontier,
        ties: Float64Array,
        allowed: Any,
        lines: Int64Array,
        kept: NDArray[Any],
    ) -> Float64Array:
        """Results of the kernel for ordered columns, shape (n_open, n_ordered, 4)."""
        n_open, numbers = frontier.n_open, frontier.open_numbers
        kept_lines = np.where(numbers >= 0, np.append(lines, -1)[numbers], -1)
        pairs = np.column_stack([frontier.bounds, numbers, frontier.lines, kept_lines])
        histograms = (kept[:0] if frontier.histograms is None else frontier.histograms, kept)
        totals = frontier.counts[frontier.is_open]

        def scan(start: int) -> Float64Array:
            columns = self._ordered[start : start + CHUNK_COLUMNS]
            found = np.zeros((n_open, len(columns), 4))
            if allowed is not None:
                # The kernel leaves out pairs of nodes and columns that have a gain of -1.
                found[:, :, 0] = np.where(allowed[:, columns[:, 0]], 0, -1)
            scan_bins(
                self._codes, self._rows, self._weight, pairs, totals, ties, self._criterion,
                columns, histograms, found,
            )  # fmt: skip
            return found

        parts = thread_map(scan, range(0, len(self._ordered), CHUNK_COLUMNS))
        return np.concatenate([np.empty((n_open, 0, 4)), *parts], axis=1)

    def _thresholds(
        self, feature: Int64Array, place: Int64Array, following: Int64Array
    ) -> Float64Array:
        """Thresholds between a bin and the node's next non-empty bin; infinite if there is none."""
        first, n_cuts = self._binning.indptr[feature], len(self._binning.cuts)
        below = np.append(self._binning.below, np.inf)[np.minimum(first + place, n_cuts)]
        cut = np.where(following > 0, np.minimum(first + following - 1, n_cuts), n_cuts)
        return midpoints(below, np.append(self._binning.above, np.inf)[cut])

    def mark(self, segments: Int64Array, splits: Splits) -> tuple[Int64Array, Float64Array]:
        """Mark which rows of the nodes go left."""
        missing = self._binning.missing_code[splits.feature]
        # A side for each of the 256 codes, so that the kernel reads no thresholds.
        lefts = (np.arange(256) <= splits.place[:, None]).astype(np.uint8)
        lefts[np.arange(len(lefts)), missing] = splits.side == 1
        is_nominal = np.isnan(splits.threshold)
        lefts[is_nominal, : splits.marks.shape[1]] = splits.marks[is_nominal]
        return mark_by_codes(
            self._rows, self._codes, self._y, self._weight, segments, splits.feature, lefts,
            self._go_left, len(self._criterion[1]),
        )  # fmt: skip

    def part(self, segments: Int64Array) -> None:
        """Partition each segment: move the rows that go left before the others."""
        run_over_nodes(
            lambda nodes: part_rows(self._rows, self._go_left, segments[nodes]), segments
        )
