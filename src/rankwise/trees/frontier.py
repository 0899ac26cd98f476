"""Nodes that are candidates for splitting, and the splits found for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rankwise.kernels.tree_rows import mark_coded
from rankwise.runtime.threads import thread_map
from rankwise.typing import Float64Array, Int64Array

CHUNK_ROWS = 32_768  # number of rows, over whole nodes, that a thread processes at a time


@dataclass(frozen=True, eq=False)
class Frontier:
    """Pairs of siblings, some of which may be split; the root is the first of its own pair.

    Arrays "of open nodes" have an entry for each node that ``is_open`` marks, in C order.
    """

    # (n_pairs, 3): start, border and end of the siblings' rows in the arrays of rows
    bounds: Int64Array
    numbers: Int64Array  # (n_pairs, 2): numbers of the nodes in the tree
    is_open: NDArray[np.bool_]  # (n_pairs, 2): whether a node may be split
    counts: Float64Array  # (n_pairs, 2, n_classes)
    impurity: Float64Array  # (n_pairs, 2)
    depth: NDArray[np.int32]  # (n_pairs,)
    # (n_pairs, 2): random keys for the feature draws; a node's key depends only on its path from
    # the root.
    keys: NDArray[np.uint64]
    lines: Int64Array  # (n_pairs,): line of their parent in ``histograms``, or -1
    histograms: NDArray[Any] | None  # of the parents that are stored, if the grower uses any

    @property
    def n_open(self) -> int:
        """Number of open nodes."""
        return int(np.count_nonzero(self.is_open))

    @property
    def segments(self) -> Int64Array:
        """First row and end of each open node, shape (n_open, 2)."""
        return np.stack([self.bounds[:, :2], self.bounds[:, 1:]], axis=1)[self.is_open]

    @property
    def open_numbers(self) -> Int64Array:
        """Position of each sibling among the open nodes, shape (n_pairs, 2); -1 if not open."""
        places = np.full(self.is_open.shape, -1, dtype=np.int64)
        places[self.is_open] = np.arange(self.n_open)
        return places

    def blocks(self, most: int) -> list[Frontier]:
        """Yield consecutive parts of at most ``most`` pairs."""
        if len(self.bounds) <= most:
            return [self]
        starts = range(0, len(self.bounds), most)
        return [self.take(slice(start, start + most)) for start in starts]

    def take(self, pairs: Any) -> Frontier:
        """Select pairs."""
        return replace(self, **_part(self, pairs))


@dataclass(frozen=True, eq=False)
class Splits:
    """Best split of each node.

    Where the gain is 0, no split gains anything and the other fields are undefined. The arrays are
    (n_nodes,), but ``marks`` is (n_nodes, width).
    """

    gain: Float64Array
    feature: Int64Array
    threshold: Float64Array  # NaN for nominal columns
    place: Int64Array  # split position in an ordered column, in the grower's own units
    side: Int64Array  # side of missing values: 1 left, 0 right, -1 if the node has none
    # For nominal columns, by category: 1 left, 0 right, 2 the node has no such row.
    marks: NDArray[np.uint8]
    lines: Int64Array  # line of the node in ``histograms``, or -1
    histograms: NDArray[Any] | None  # data that the grower keeps for the children

    def take(self, nodes: Any) -> Splits:
        """Select the splits of some nodes."""
        return replace(self, **_part(self, nodes))

    def where(self, nodes: NDArray[np.bool_], others: Splits) -> Splits:
        """Take these splits for ``nodes``, and ``others`` for the remaining nodes."""
        part = _part(self, nodes)
        fields = {name: values.copy() for name, values in _part(others, slice(None)).items()}
        for name, values in fields.items():
            values[nodes] = part[name]
        return replace(others, **fields)


class NodeRows(Protocol):
    """Training rows, ordered so that a grower can find splits and partition nodes."""

    n_rows: int

    def find(self, frontier: Frontier, ties: Float64Array, allowed: Any) -> Splits:
        """Best split of each open node, by the features that ``allowed`` (n_open, d) names."""
        ...

    def mark(self, segments: Int64Array, splits: Splits) -> tuple[Int64Array, Float64Array]:
        """Mark which rows of the nodes go left.

        Returns the number of rows on the left (n_nodes,) and the class weights of the children
        (n_nodes, 2, n_classes).
        """
        ...

    def part(self, segments: Int64Array) -> None:
        """Partition each segment: move the rows that go left before the others."""
        ...


def _part(values: Frontier | Splits, index: Any) -> dict[str, NDArray[Any]]:
    """Select entries of the fields that have one for each node or pair."""
    names = (name for name in values.__dataclass_fields__ if name != "histograms")
    return {name: getattr(values, name)[index] for name in names}


def first_best(gains: Float64Array, ties: Float64Array) -> Int64Array:
    """For each node, the first column whose gain is the largest up to the tie.

    ``gains`` is (n_features, n_nodes), ``ties`` and the result (n_nodes,).
    """
    return np.argmax(gains >= gains.max(axis=0) - ties, axis=0)


def run_over_nodes(work: Callable[[slice], Any], segments: Int64Array) -> None:
    """Call ``work`` in threads on ranges of nodes with about ten thousand rows each."""
    if len(segments) == 0:
        return
    # Whole nodes: a chunk begins with the node that passes the next multiple of CHUNK_ROWS.
    chunk = np.cumsum(segments[:, 1] - segments[:, 0]) // CHUNK_ROWS
    starts = [0, *(np.flatnonzero(np.diff(chunk)) + 1), len(segments)]
    thread_map(work, [slice(a, b) for a, b in pairwise(starts)])


def find_in_blocks(
    find: Callable[[Frontier, slice], Splits], frontier: Frontier, most: int
) -> Splits:
    """Yield results of ``find`` for at most ``most`` pairs at a time, with node positions."""
    parts, start = [], 0
    for block in frontier.blocks(most):
        parts.append(find(block, slice(start, start + block.n_open)))
        start += block.n_open
    if len(parts) == 1:
        return parts[0]
    every = [_part(part, slice(None)) for part in parts]
    fields = {name: np.concatenate([part[name] for part in every]) for name in every[0]}
    return replace(parts[0], **fields)


def mark_by_codes(
    rows: NDArray[np.uint64],
    codes: NDArray[Any],
    y: NDArray[Any],
    weight: Float64Array,
    segments: Int64Array,
    lines: Int64Array,
    lefts: NDArray[np.uint8],
    go_left: NDArray[np.uint8],
    n_classes: int,
) -> tuple[Int64Array, Float64Array]:
    """Mark the rows of nodes that are split by codes; see :meth:`NodeRows.mark`."""
    n_left = np.empty(len(segments), dtype=np.int64)
    counts = np.empty((len(segments), 2, n_classes))

    def mark(nodes: slice) -> None:
        mark_coded(
            rows, codes, y, weight, segments[nodes], lines[nodes], lefts[nodes], go_left,
            n_left[nodes], counts[nodes],
        )  # fmt: skip

    run_over_nodes(mark, segments)
    return n_left, counts


def pack_rows_and_classes(rows: Int64Array, y: NDArray[Any]) -> NDArray[np.uint64]:
    """Pack the row number into the lower and the class into the upper 32 bits."""
    # Counting reads the class beside the row number, without a look-up in y.
    return rows.astype(np.uint64) | (y[rows].astype(np.uint64) << np.uint64(32))
