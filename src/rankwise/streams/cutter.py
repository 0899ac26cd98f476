"""Cut rows that arrive in arbitrary pieces in the same way as rows in memory.

:meth:`rankwise.losses.squared_loss.Problem.parts` cuts each fold into chunks of whole queries, and
large queries into pieces. The cutter finds the same cuts in rows that come one piece after another,
holding no more than two chunks a fold and one query. Rows are copied: the caller may use its memory
again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rankwise.groups import FitData, QueryGroups, QueryNumbers, plain_id
from rankwise.losses.squared_loss import Problem, RowPart
from rankwise.runtime.threads import query_chunks
from rankwise.typing import Int64Array, join_rows

# Fold of each of the given queries; ``first`` is the global index of the first query.
Folds = Callable[[np.ndarray[Any, Any], int], Int64Array]
Columns = tuple[Any, ...]  # X, y and sample_weight


class Cutter:
    """Cuts rows into chunks of whole queries, and large queries into pieces.

    ``template`` supplies the pair graph and query weights of the parts; rows of a pointwise problem
    may be cut anywhere. ``folds`` gives the fold of each query; None: a single fold. A chunk has at
    most ``chunk_rows`` rows, unless it is a single query. Queries of more than ``giant_rows`` rows
    are split into pieces of ``chunk_rows``. ``edges`` says whether the first and the last query may
    continue elsewhere, and are therefore cut into pieces.
    """

    def __init__(
        self,
        template: Problem,
        folds: Folds | None = None,
        *,
        chunk_rows: int,
        giant_rows: float = np.inf,
        edges: tuple[bool, bool] = (False, False),
    ) -> None:
        self.numbers: QueryNumbers = QueryNumbers()
        self._template, self._folds, self._edges = template, folds, edges
        self._chunk_rows, self._giant_rows = chunk_rows, giant_rows
        self._waiting: dict[int, _RowQueue] = {}
        self._open: _RowQueue | None = None

    def cut(self, chunks: Iterable[FitData | Problem]) -> Iterator[RowPart]:
        """Yield the parts of all rows; the rows of a query must be adjacent."""
        pointwise = self._template.graph == "pointwise"
        for data in chunks:
            for columns, groups in _slices(data, self._chunk_rows):
                yield from (self._add_rows if pointwise else self._add)(columns, groups)
        yield from self._close(is_edge=self._edges[1])
        for fold in self._waiting:
            yield from self._chunks(fold, final=True)

    def _add_rows(self, columns: Columns, groups: QueryGroups) -> Iterator[RowPart]:
        """Add rows of a pointwise problem; their queries matter only if there are folds."""
        fold_of_row = np.zeros(groups.n_samples, dtype=np.int64)
        if self._folds is not None:
            first = self.numbers.add(groups.ids)
            fold_of_row = np.repeat(self._folds_of(groups.ids, first), groups.sizes)
        for fold in np.unique(fold_of_row).tolist():
            chosen = fold_of_row == fold
            rows = self._waiting.setdefault(fold, _RowQueue(fold))
            rows.push(columns if chosen.all() else [column[chosen] for column in columns])
            while rows.n_rows >= self._chunk_rows:
                yield self._part(rows, QueryGroups.single(self._chunk_rows))

    def _add(self, columns: Columns, groups: QueryGroups) -> Iterator[RowPart]:
        """Add rows grouped by query; the last query stays open."""
        goes_on = self._open is not None and plain_id(groups.ids[0]) == self.numbers.last
        first, last = self.numbers.add(groups.ids), groups.n_queries - 1
        folds, bounds = self._folds_of(groups.ids, first), groups.indptr

        def part(lo: int, hi: int) -> list[Any]:
            return [column[bounds[lo] : bounds[hi]] for column in columns]

        start = 0
        if self._open is None:
            self._open = _RowQueue(folds[0], plain_id(groups.ids[0]), is_edge=self._edges[0])
            goes_on = True
        if goes_on:
            yield from self._extend(part(0, 1))
            start = 1
        if start > last:
            return
        yield from self._close()
        for fold in np.unique(folds[start:last]).tolist():
            chosen, rows = folds[start:last] == fold, part(start, last)
            if not chosen.all():
                of_fold = np.repeat(chosen, groups.sizes[start:last])
                rows = [column[of_fold] for column in rows]
            yield from self._wait(fold, rows, groups.sizes[start:last][chosen])
        self._open = _RowQueue(folds[last], plain_id(groups.ids[last]))
        yield from self._extend(part(last, last + 1))

    def _folds_of(self, ids: np.ndarray[Any, Any], first: int) -> Int64Array:
        return np.zeros(len(ids), np.int64) if self._folds is None else self._folds(ids, first)

    def _extend(self, columns: Sequence[Any]) -> Iterator[RowPart]:
        """Add rows to the open query; if it is cut into pieces, some rows stay for the last one."""
        rows = self._open
        assert rows is not None
        rows.push(columns)
        rows.in_pieces |= rows.n_rows > self._giant_rows or rows.is_edge
        while rows.in_pieces and rows.n_rows > self._chunk_rows:
            yield self._part(rows, QueryGroups.single(self._chunk_rows))

    def _close(self, *, is_edge: bool = False) -> Iterator[RowPart]:
        """Close the open query; with ``is_edge``, it may continue elsewhere."""
        rows, self._open = self._open, None
        if rows is None:
            return
        rows.is_edge |= is_edge
        if rows.in_pieces or rows.is_edge:
            rows.in_pieces = True
            while rows.n_rows:
                yield self._part(rows, QueryGroups.single(min(rows.n_rows, self._chunk_rows)))
        else:
            n_rows = rows.n_rows
            yield from self._wait(rows.fold, rows.take(n_rows), [n_rows])

    def _wait(self, fold: int, columns: Sequence[Any], sizes: Any) -> Iterator[RowPart]:
        rows = self._waiting.setdefault(fold, _RowQueue(fold))
        rows.push(columns)
        rows.sizes = np.concatenate([rows.sizes, sizes])
        yield from self._chunks(fold)

    def _chunks(self, fold: int, *, final: bool = False) -> Iterator[RowPart]:
        """Yield chunks of whole queries; the last one, which may be larger, only if ``final``."""
        rows = self._waiting[fold]
        if self._template.graph == "pointwise":
            rows.sizes = np.array([rows.n_rows]) if rows.n_rows else rows.sizes
        sizes = rows.sizes
        chunks = query_chunks(np.concatenate([[0], np.cumsum(sizes)]), self._chunk_rows)
        for first, last in chunks if final else chunks[:-1]:
            rows.sizes = sizes[last:]
            yield self._part(rows, QueryGroups.from_sizes(sizes[first:last]))

    def _part(self, rows: _RowQueue, groups: QueryGroups) -> RowPart:
        X, y, w = rows.take(groups.n_samples)
        cut = replace(self._template, X=X, y=y, groups=groups, sample_weight=w)
        query = rows.query if rows.in_pieces else None
        return RowPart(int(rows.fold), len(y), lambda: cut, query, rows.is_edge)


@dataclass
class _RowQueue:
    """Queue of rows, added at the end and taken from the start: whole queries, or one query."""

    fold: int
    query: Any = None
    is_edge: bool = False
    in_pieces: bool = False
    n_rows: int = 0
    sizes: Int64Array = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    columns: deque[Columns] = field(default_factory=deque)

    def push(self, columns: Sequence[Any]) -> None:
        """Add a copy of the rows."""
        self.columns.append(tuple(column.copy() for column in columns))
        self.n_rows += len(columns[1])

    def take(self, n: int) -> Columns:
        """Remove and return the first n rows."""
        taken: list[Columns] = []
        self.n_rows -= n
        while n > 0:
            columns = self.columns.popleft()
            if len(columns[1]) > n:
                self.columns.appendleft(tuple(column[n:] for column in columns))
                columns = tuple(column[:n] for column in columns)
            n -= len(columns[1])
            taken.append(columns)
        return tuple(join_rows(parts) for parts in zip(*taken, strict=True))


def _slices(data: FitData | Problem, size: int) -> Iterator[tuple[Columns, QueryGroups]]:
    """Yield a few rows at a time, whatever the size of the chunk."""
    groups, n = data.groups, len(data.y)
    w = np.ones(n) if data.sample_weight is None else data.sample_weight
    codes = np.repeat(np.arange(groups.n_queries), groups.sizes)
    for lo in range(0, n, size):
        rows = slice(lo, lo + size)
        first, last = int(codes[lo]), int(codes[rows][-1])
        sizes = np.bincount(codes[rows] - first)
        part = QueryGroups(np.append(0, np.cumsum(sizes)), None, ids=groups.ids[first : last + 1])
        yield (data.X[rows], data.y[rows], w[rows]), part
