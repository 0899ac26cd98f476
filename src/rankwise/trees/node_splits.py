"""Nodes that are candidates for splitting: impurities, best splits, and nominal columns.

The impurity of a node says how far its rows are from all having the same class. With class weights
``N_k`` (k = 0 ... K-1), their sum N and ``C_k`` the weight of classes up to k:

- "rank" [1]_: the sum of rank distances over all pairs of rows,
  ``I = sum_{i<j} (j - i) N_i N_j = sum_{k<K-1} C_k (N - C_k)``;
- a matrix D of rank distances: ``I = sum_{i<j} D_ij N_i N_j``;
- "gini": ``N - sum_k N_k^2 / N``;
- "entropy", in bits: ``sum_k N_k log2(N / N_k)``;
- "absolute_error": ``sum_k min(C_k, N - C_k)``, the sum of rank distances between rows and their
  median.

The gain of a split is the impurity of the node minus that of its children, not divided by N. For
distances, the gain is ``sum_ij L_i D_ij R_j``, the total distance of all pairs that the split
separates. It is positive unless all these distances are 0 (Theorem 1 of [1]_).

References
----------
.. [1] Liu, Pan & Wang, "New rank learning algorithm" (2007).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rankwise.kernels.tree_splits import (
    ABSOLUTE,
    DISTANCES,
    ENTROPY,
    GINI,
    RANKS,
    UNSEEN,
    mark_coded,
    search_subsets,
)
from rankwise.runtime.threads import thread_map
from rankwise.typing import ArrayLike, Float64Array, FloatArray, Int64Array

CRITERIA = {"rank": RANKS, "gini": GINI, "entropy": ENTROPY, "absolute_error": ABSOLUTE}


@dataclass(frozen=True, eq=False)
class Criterion:
    """Impurity that a split reduces."""

    kind: int  # number of the impurity in ``rankwise.kernels.tree_splits``
    distances: Float64Array  # (n_classes, n_classes); ``|i - j|`` if none are given

    def impurity(self, counts: Float64Array) -> Float64Array:
        """Impurity (n_nodes,) of nodes from their class weights (n_nodes, n_classes).

        Exactly 0 for nodes with a single class.
        """
        n = counts.sum(axis=1)
        below = counts.cumsum(axis=1)[:, :-1]
        if self.kind == RANKS:
            return (below * (n[:, None] - below)).sum(axis=1)
        if self.kind == DISTANCES:
            # Half, because the product counts every pair of classes twice.
            return 0.5 * ((counts @ self.distances) * counts).sum(axis=1)
        # The root's missing sibling has no rows; it gets 0 instead of NaN.
        share = counts / np.where(n > 0, n, 1)[:, None]
        if self.kind == GINI:
            # Exactly 0 for one class, which N - sum N_k^2 / N need not be.
            return (counts * (1 - share)).sum(axis=1)
        if self.kind == ENTROPY:
            # log2(1) = 0 stands in for 0 log 0.
            return -(counts * np.log2(np.where(share > 0, share, 1))).sum(axis=1)
        return np.minimum(below, n[:, None] - below).sum(axis=1)


def make_criterion(criterion: str | ArrayLike, n_classes: int) -> Criterion:
    """Create a criterion from its name or from a matrix of rank distances.

    Names are "rank", "gini", "entropy" and "absolute_error". A matrix holds the distance between
    each two of the ``n_classes`` classes: symmetric, zero on the diagonal, and not decreasing away
    from it along rows and columns.
    """
    if isinstance(criterion, str):
        if criterion not in CRITERIA:
            raise ValueError(
                f"criterion must be one of {', '.join(map(repr, CRITERIA))} or a matrix of rank "
                f"distances, got {criterion!r}."
            )
        ranks = np.arange(n_classes, dtype=np.float64)
        return Criterion(CRITERIA[criterion], np.abs(np.subtract.outer(ranks, ranks)))
    return Criterion(DISTANCES, check_distances(criterion, n_classes, "criterion as a matrix"))


def check_distances(values: Any, n_classes: int, name: str) -> Float64Array:
    """Matrix of rank distances; ValueError, which calls it ``name``, if it breaks their rules."""
    distances = np.array(values, dtype=np.float64, order="C")
    if distances.shape != (n_classes, n_classes):
        raise ValueError(
            f"{name} must have shape (n_classes, n_classes) = {(n_classes, n_classes)}, got "
            f"{distances.shape}. Pass one row and column per class, declared ones among them."
        )
    steps = np.diff(np.where(np.isfinite(distances), distances, 0.0), axis=1)
    if (
        not np.isfinite(distances).all()
        or (distances != distances.T).any()
        or np.diagonal(distances).any()
        or (np.triu(steps) < 0).any()  # away from the diagonal to the right,
        or (np.tril(steps, -1) > 0).any()  # and to the left
    ):
        raise ValueError(
            f"{name} must be finite, symmetric, 0 for equal ranks, and must not fall as ranks move "
            f"apart, got {distances.tolist()}. Take abs(i - j) of the ranks, or a power of it."
        )
    return distances


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
    """Results of ``find``, which takes at most ``most`` pairs and their positions at a time."""
    if len(frontier.bounds) <= most:
        return find(frontier, slice(0, frontier.n_open))
    parts, start = [], 0
    for first in range(0, len(frontier.bounds), most):
        block = frontier.take(slice(first, first + most))
        parts.append(find(block, slice(start, start + block.n_open)))
        start += block.n_open
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


@dataclass(frozen=True, eq=False)
class NominalColumns:
    """Columns whose values have no order."""

    features: Int64Array  # (n_nominal,): column numbers
    n_categories: Int64Array  # (n_nominal,)
    codes: NDArray[Any]  # (n_nominal, n_samples), uint8 or int32; ``n_categories`` if missing

    @property
    def width(self) -> int:
        """Largest number of categories plus 1 for missing values; 0 if there are no columns."""
        return int(self.n_categories.max(initial=-1)) + 1

    def search(
        self,
        rows: NDArray[np.uint64],
        y: NDArray[Any],
        weight: Float64Array,
        segments: Int64Array,
        ties: Float64Array,
        criterion: tuple[Any, ...],
        allowed: NDArray[np.bool_] | None,
    ) -> tuple[Float64Array, NDArray[np.uint8]]:
        """Best subset split of each node by each column: gains (0: no split) and marks.

        Gains are (n_nominal, n_nodes), marks (n_nominal, n_nodes, width) as in
        :class:`Splits`.
        """
        gains = np.zeros((len(self.features), len(segments)))
        marks = np.zeros((len(self.features), len(segments), self.width), dtype=np.uint8)

        def search(line: int) -> None:
            # Nodes that did not draw this column keep a gain of 0.
            nodes = slice(None) if allowed is None else allowed[:, self.features[line]]
            subsets = np.empty((len(segments[nodes]), self.n_categories[line] + 1), dtype=np.uint8)
            best = np.empty(len(subsets))
            search_subsets(
                rows, self.codes[line], y, weight, segments[nodes], ties[nodes], criterion,
                subsets, best,
            )  # fmt: skip
            gains[line, nodes] = best
            marks[line, nodes, : subsets.shape[1]] = subsets

        thread_map(search, range(len(self.features)))
        return gains, marks

    def winners(
        self, feature: Int64Array, marks: NDArray[np.uint8]
    ) -> tuple[NDArray[np.bool_], NDArray[np.uint8], Int64Array]:
        """Select the results of :meth:`search` for the column that splits each node.

        Returns whether the column is nominal (n_nodes,), its marks (n_nodes, width) and the side of
        missing values (n_nodes,): 1 left, 0 right, -1 if the node has none. Marks and sides of
        columns that are not nominal are undefined.
        """
        if len(self.features) == 0:
            n = len(feature)
            return np.zeros(n, bool), np.zeros((n, 0), np.uint8), np.full(n, -1)
        line, nodes = self.lines(feature), np.arange(len(feature))
        # The code after the last category is that of missing values.
        side = marks[line, nodes, self.n_categories[line]].astype(np.int64)
        is_nominal = self.features[line] == feature
        return is_nominal, marks[line, nodes], np.where(side == UNSEEN, -1, side)

    def lines(self, feature: Int64Array) -> Int64Array:
        """Row number in ``codes`` of each column; arbitrary for columns that are not nominal."""
        return np.searchsorted(self.features, feature).clip(0, len(self.features) - 1)


def nominal_columns(X: FloatArray, n_categories: Int64Array) -> NominalColumns:
    """Encode the columns of ``X`` that have categories; NaN is missing."""
    features = np.flatnonzero(n_categories)
    sizes = n_categories[features]
    # 255 categories and the code of missing values fit into a byte.
    dtype = np.uint8 if sizes.max(initial=0) < 256 else np.int32
    columns = X[:, features].T
    assert np.all((columns >= 0) & (columns < sizes[:, None]) | np.isnan(columns))
    codes = np.where(np.isnan(columns), sizes[:, None], columns).astype(dtype)
    return NominalColumns(features, sizes, codes)
