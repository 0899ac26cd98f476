"""Labels and scores of a block of whole queries, and what several measures share of them.

The rows are cut into blocks of whole queries; each block runs through all measures on one thread,
so that rows are ranked once for all of them and stay in the cache. A query's value depends on
that query alone: the same bits for any number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rankwise._threads import available_threads, query_chunks, thread_map
from rankwise.groups import QueryGroups
from rankwise.typing import Float64Array, Int64Array

# Below this many rows a second thread costs more than it saves.
SMALL = 30_000
BLOCKS_PER_THREAD = 2


class GroupMeasure(Protocol):
    """What :func:`compute` needs of a measure."""

    def prepare(self, scored: ScoredGroups) -> None: ...

    def from_groups(self, scored: ScoredGroups) -> Float64Array: ...


class ScoredGroups:
    """Rows of whole queries in group order.

    Attributes
    ----------
    y, scores : ndarray of shape (n_rows,), float64, C-contiguous
    indptr : ndarray of shape (n_queries + 1,), int64
        Query q holds rows ``indptr[q]:indptr[q + 1]``; ``indptr[0] == 0``.
    """

    def __init__(self, y: Float64Array, scores: Float64Array, indptr: Int64Array) -> None:
        self.y = y
        self.scores = scores
        self.indptr = indptr

    @property
    def n_queries(self) -> int:
        """Number of queries in the block."""
        return len(self.indptr) - 1

    @cached_property
    def sizes(self) -> Int64Array:
        """Rows per query, shape (n_queries,)."""
        return np.diff(self.indptr)


def compute(
    measures: Sequence[GroupMeasure],
    y: NDArray[Any],
    scores: NDArray[Any],
    groups: QueryGroups,
    n_threads: int | None = None,
) -> list[Float64Array]:
    """Values per query of every measure; rows in input order.

    Raises
    ------
    ValueError
        When y or scores have another length than the groups, or hold NaN or infinity.
    """
    for name, array in (("y", y), ("scores", scores)):
        if array.shape != (groups.n_samples,):
            raise ValueError(
                f"{name} must have shape ({groups.n_samples},) as the groups do, "
                f"got {array.shape}. Pass one value per row."
            )
    indptr, order = groups.indptr, groups.order
    if groups.n_queries == 0:
        return [np.empty(0) for _ in measures]

    def block(bounds: tuple[int, int]) -> list[Float64Array] | None:
        first, last = bounds
        start, stop = indptr[first], indptr[last]
        rows = slice(start, stop) if order is None else order[start:stop]
        scored = ScoredGroups(
            np.ascontiguousarray(y[rows], dtype=np.float64),
            np.ascontiguousarray(scores[rows], dtype=np.float64),
            indptr[first : last + 1] - start,
        )
        if not (np.isfinite(scored.y).all() and np.isfinite(scored.scores).all()):
            return None
        for measure in measures:
            measure.prepare(scored)
        return [measure.from_groups(scored) for measure in measures]

    n_threads = available_threads() if n_threads is None else n_threads
    if groups.n_samples < SMALL or n_threads == 1:
        blocks = [(0, groups.n_queries)]
    else:
        rows_per_block = -(-groups.n_samples // (n_threads * BLOCKS_PER_THREAD))
        blocks = query_chunks(indptr, rows_per_block)
    parts = thread_map(block, blocks, n_threads)
    if any(part is None for part in parts):
        _raise_not_finite(y, scores)
    return [np.concatenate(columns) for columns in zip(*(p for p in parts if p), strict=True)]


def _raise_not_finite(y: NDArray[Any], scores: NDArray[Any]) -> None:
    for name, array, fix in (
        ("y", y, "Drop unjudged rows."),
        ("scores", scores, "Check the model's predictions."),
    ):
        finite = np.isfinite(array)
        if not finite.all():
            row = int(np.argmin(finite))
            raise ValueError(f"{name} must be finite, got {array[row]} at row {row}. {fix}")
    raise AssertionError("unreachable: no row is bad")
