"""Search for the best splits of nodes, in sorted columns or between bins.

- Exact splits: every column is sorted once, and stays sorted within the nodes. A level of the tree
  costs O(n_samples n_features): one scan and one stable partition of each sorted column. Four bytes
  a row and column are kept.
- Splits between bins, from the class weights of every bin of every column in each node. For each
  column, counting a node of m rows takes O(m), and searching it O(bins). If a node is counted
  together with its sibling, only the smaller of the two is counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.features.binning import Binning, midpoints
from rankwise.kernels.tree_splits import (
    MISSING,
    NEW,
    ROW,
    mark_sorted,
    part_rows,
    part_sorted,
    scan_bins,
    scan_sorted,
)
from rankwise.runtime.threads import thread_map
from rankwise.trees.node_splits import (
    Criterion,
    Frontier,
    NominalColumns,
    Splits,
    find_in_blocks,
    first_best,
    mark_by_codes,
    nominal_columns,
    pack_rows_and_classes,
    run_over_nodes,
)
from rankwise.typing import Float64Array, FloatArray, Int64Array

CELLS = 1_000_000  # nodes times columns whose splits are held at a time
SMALL = 4096  # rows times columns that are worth a second thread


@dataclass(frozen=True, eq=False)
class SortedColumns:
    """Row numbers in the order of every ordered column; the codes of nominal ones."""

    X: FloatArray  # (n_samples, n_features)
    features: Int64Array  # (n_ordered,): numbers of the ordered columns
    # (n_ordered, n_samples): row numbers by ascending value, missing values last; the uppermost
    # bits mark a value that differs from the one before, and missing values.
    order: NDArray[np.uint32]
    nominal: NominalColumns
    n_categories: Int64Array  # (n_features,); 0 for ordered columns


def sort_columns(X: FloatArray, n_categories: Int64Array) -> SortedColumns:
    """Sort every ordered column, on threads; O(n_samples log n_samples) each."""
    n = X.shape[0]
    # Two of the 32 bits are marks.
    if n > ROW:
        raise ValueError(
            f"Exact splits take at most {int(ROW)} rows, got {n}. Grow with histograms."
        )
    features = np.flatnonzero(n_categories == 0)
    order = np.empty((len(features), n), dtype=np.uint32)

    def sort(line: int) -> None:
        column = np.ascontiguousarray(X[:, features[line]])
        # Not stable: no cut lies between equal values, so their order does not matter. NaN is last.
        rows = np.argsort(column)
        values = column[rows]
        order[line] = rows
        order[line, 1:] |= np.where(values[1:] != values[:-1], NEW, np.uint32(0))
        order[line] |= np.where(np.isnan(values), MISSING, np.uint32(0))

    thread_map(sort, range(len(features)), None if n > SMALL else 1)
    return SortedColumns(X, features, order, nominal_columns(X, n_categories), n_categories)


class SortedRows:
    """Rows of a tree, sorted by each column; see :class:`rankwise.trees.node_splits.NodeRows`."""

    def __init__(
        self,
        columns: SortedColumns,
        y: NDArray[Any],
        weight: Float64Array | None,
        criterion: Criterion,
        least: float,
    ) -> None:
        self._columns = columns
        self._y = y
        self._weight = np.empty(0) if weight is None else weight
        self._criterion = (criterion.kind, criterion.distances, float(least))
        self._order = columns.order.copy()
        self._rows = pack_rows_and_classes(np.arange(len(y)), y)
        self._go_left = np.ones(len(y), dtype=np.uint8)
        self.n_rows = len(y)
        if weight is not None and not weight.all():  # rows without weight lie behind the others
            np.greater(weight, 0, out=self._go_left, casting="unsafe")
            self.n_rows: int = int(np.count_nonzero(weight))
            self.part(np.array([[0, len(y)]]))

    def find(self, frontier: Frontier, ties: Float64Array, allowed: Any) -> Splits:
        """Best split of each open node."""

        def find(block: Frontier, nodes: slice) -> Splits:
            return self._find(block, ties[nodes], None if allowed is None else allowed[nodes])

        return find_in_blocks(find, frontier, max(1, CELLS // self._columns.X.shape[1]))

    def _find(self, frontier: Frontier, ties: Float64Array, allowed: Any) -> Splits:
        columns, nominal, segments = self._columns, self._columns.nominal, frontier.segments
        totals = frontier.counts[frontier.is_open]
        found = np.zeros((len(columns.features), len(segments), 3))

        def scan(line: int) -> None:
            nodes = slice(None) if allowed is None else allowed[:, columns.features[line]]
            splits = np.empty((len(segments[nodes]), 3))
            scan_sorted(
                self._order[line], self._y, self._weight, segments[nodes], totals[nodes],
                ties[nodes], self._criterion, splits,
            )  # fmt: skip
            found[line, nodes] = splits

        thread_map(scan, range(len(columns.features)), self._n_threads(segments))
        gains = np.zeros((columns.X.shape[1], len(segments)))
        gains[columns.features] = found[:, :, 0]
        gains[nominal.features], marks = nominal.search(
            self._rows, self._y, self._weight, segments, ties, self._criterion, allowed
        )
        feature, nodes = first_best(gains, ties), np.arange(len(segments))
        is_nominal, marks, nominal_side = nominal.winners(feature, marks)
        place, side, threshold = np.zeros_like(feature), nominal_side, np.full(len(feature), np.nan)
        if len(columns.features):
            line = np.searchsorted(columns.features, feature).clip(0, len(columns.features) - 1)
            place, sorted_side = found[line, nodes, 1:].astype(np.int64).T
            side = np.where(is_nominal, nominal_side, sorted_side)
            threshold = np.where(is_nominal, np.nan, self._thresholds(line, place, gains.max(0)))
        lines = np.full(len(feature), -1)
        return Splits(gains[feature, nodes], feature, threshold, place, side, marks, lines, None)

    def _thresholds(self, line: Int64Array, place: Int64Array, gain: Float64Array) -> Float64Array:
        """Between the values at a place and the next; infinite where the next is missing."""
        at = np.where(gain > 0, place, 0)
        # Behind the last place nothing follows; such a place is never the best.
        following = np.minimum(at + 1, self._order.shape[1] - 1)
        feature = self._columns.features[line]
        low = self._columns.X[self._order[line, at] & ROW, feature].astype(np.float64)
        high = self._columns.X[self._order[line, following] & ROW, feature].astype(np.float64)
        return midpoints(low, np.where(np.isnan(high), np.inf, high))

    def mark(self, segments: Int64Array, splits: Splits) -> tuple[Int64Array, Float64Array]:
        """Decide where the rows of nodes go."""
        is_nominal = np.isnan(splits.threshold)
        n_left = np.empty(len(segments), dtype=np.int64)
        counts = np.empty((len(segments), 2, len(self._criterion[1])))
        for nodes, mark in ((~is_nominal, self._mark_sorted), (is_nominal, self._mark_nominal)):
            if nodes.any():
                n_left[nodes], counts[nodes] = mark(segments[nodes], splits.take(nodes))
        return n_left, counts

    def _mark_sorted(self, segments: Int64Array, splits: Splits) -> tuple[Int64Array, Float64Array]:
        line = np.searchsorted(self._columns.features, splits.feature)
        places = np.column_stack([segments, line, splits.place, splits.side])
        n_left = np.empty(len(segments), dtype=np.int64)
        counts = np.empty((len(segments), 2, len(self._criterion[1])))

        def mark(nodes: slice) -> None:
            mark_sorted(
                self._order, self._y, self._weight, places[nodes], self._go_left, n_left[nodes],
                counts[nodes],
            )  # fmt: skip

        run_over_nodes(mark, segments)
        return n_left, counts

    def _mark_nominal(
        self, segments: Int64Array, splits: Splits
    ) -> tuple[Int64Array, Float64Array]:
        nominal = self._columns.nominal
        return mark_by_codes(
            self._rows, nominal.codes, self._y, self._weight, segments,
            nominal.lines(splits.feature), splits.marks, self._go_left, len(self._criterion[1]),
        )  # fmt: skip

    def part(self, segments: Int64Array) -> None:
        """Move the rows that go left before the others, in each of the segments."""

        def part(line: int) -> None:
            if line < len(self._order):
                part_sorted(self._order[line], self._go_left, segments)
            else:
                part_rows(self._rows, self._go_left, segments)

        has_nominal = len(self._columns.nominal.features) > 0
        n_lines = len(self._order) + int(has_nominal)
        thread_map(part, range(n_lines), self._n_threads(segments))

    def _n_threads(self, segments: Int64Array) -> int | None:
        """None where the work is worth more than one."""
        n_rows = int((segments[:, 1] - segments[:, 0]).sum())
        return None if n_rows * len(self._order) > SMALL else 1


CHUNK_COLUMNS = 8
KEEP_ROWS = 4  # times the cells of a column: nodes of so many rows keep their histograms ...
KEEP_BYTES = 256_000_000  # ... unless all histograms together exceed this size


@dataclass(frozen=True, eq=False)
class BinnedColumns:
    """Bins of all columns and codes of the rows."""

    binning: Binning
    codes: NDArray[np.uint8]  # (n_features, n_samples)
    n_categories: Int64Array  # (n_features,); 0 for ordered columns


class HistogramRows:
    """Rows of a tree and their histograms; see :class:`rankwise.trees.node_splits.NodeRows`."""

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
        self.n_rows: int = len(self._rows)
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
