"""Exact splits: every column is sorted once, and stays sorted within the nodes.

A level of the tree costs O(n_samples n_features): one scan and one stable partition of each sorted
column. Four bytes a row and column are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.features.binning import midpoints
from rankwise.kernels.tree_rows import mark_sorted, part_rows, part_sorted
from rankwise.kernels.tree_splits import MISSING, NEW, ROW, scan_sorted
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
from rankwise.trees.nominal import NominalColumns, nominal_columns
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

    def rows(
        self,
        y: NDArray[Any],
        weight: Float64Array | None,
        criterion: Criterion,
        least: float,
        max_depth: float,
    ) -> SortedRows:
        """Data that a tree over these rows is grown from."""
        return SortedRows(self, y, weight, criterion, least)


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
    """Rows of a tree in the order of each column; see :class:`rankwise.trees.frontier.NodeRows`."""

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
            self.n_rows = int(np.count_nonzero(weight))
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
