"""Rows that arrive in any pieces, cut as rows in memory are.

:func:`rankwise.solvers.least_squares.gram.fold_grams` cuts each fold into chunks of whole queries,
and a query of more than ``GIANT_ROWS`` rows into pieces. The cutters here find the same cuts in
rows that come one piece after another, holding no more than a chunk a fold and one query. Rows are
copied: the caller may use its memory again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from rankwise.groups import QueryGroups
from rankwise.solvers.least_squares import gram as sizes
from rankwise.solvers.least_squares.gram import Problem
from rankwise.typing import Float64Array, Int64Array, Matrix

# Fold of each of the given queries; the first of them is that many-th of all.
Folds = Callable[[np.ndarray[Any, Any], int], Int64Array]


class Sink(Protocol):
    """Takes what a cutter has cut."""

    def chunk(self, fold: int, rows: Problem) -> None:
        """Whole queries."""
        ...

    def piece(self, fold: int, rows: Problem) -> None:
        """More rows of one large query."""
        ...

    def close(self, fold: int, edge: Any) -> None:
        """The large query is over; ``edge``: its id where more rows may be elsewhere."""
        ...


class QueryNumbers:
    """Numbers queries in order of appearance; each must come in one run of rows.

    Attributes
    ----------
    n_queries : int
    last : object
        Id of the last one, which may go on.
    """

    def __init__(self) -> None:
        self.n_queries = 0
        self.last: Any = None
        self._parts: list[np.ndarray[Any, Any]] = []
        self._known: set[Any] | None = None  # only once ids do not ascend

    def add(self, ids: np.ndarray[Any, Any]) -> int:
        """Number of ``ids[0]``; the first may go on from before, the others follow in order.

        Raises
        ------
        ValueError
            When one came before others.
        """
        goes_on = self.n_queries > 0 and plain_id(ids[0]) == self.last
        first = self.n_queries - goes_on
        new = ids[int(goes_on) :]
        if len(new):
            self._note(new)
            self._parts.append(new)
            self.last = plain_id(new[-1])
            self.n_queries += len(new)
        return first

    def ids(self) -> np.ndarray[Any, Any]:
        """All ids, in order of appearance."""
        return join_ids(self._parts) if self._parts else np.zeros(0, dtype=np.int64)

    def _note(self, new: np.ndarray[Any, Any]) -> None:
        if self._known is None:
            if self._ascends(new):
                return
            self._known = {plain_id(value) for part in self._parts for value in part.tolist()}
        for value in new.tolist():
            if value in self._known:
                raise ValueError(
                    f"qid {value!r} came back after other queries. The rows of a query must be in "
                    "one chunk, or at the end of one and the start of the next: sort the rows by "
                    "query."
                )
            self._known.add(value)

    def _ascends(self, new: np.ndarray[Any, Any]) -> bool:
        if new.dtype.kind not in "iufU":
            return False
        if self._parts and self._parts[-1].dtype.kind != new.dtype.kind:
            return False
        before = self._parts[-1][-1:] if self._parts else new[:0]
        both = np.concatenate([before, new])
        return bool((both[1:] > both[:-1]).all())


def join_ids(parts: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """One array; as objects where they are of different kinds, so that 1 is not "1"."""
    if len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts)


class RowBuffer:
    """Rows in order, added at the end and taken from the start."""

    def __init__(self) -> None:
        self._parts: deque[tuple[Matrix, Float64Array, Float64Array | None]] = deque()
        self.n_rows = 0

    def push(self, X: Matrix, y: Float64Array, w: Float64Array | None) -> None:
        """Add a copy of the rows."""
        if len(y):
            self._parts.append((X.copy(), y.copy(), None if w is None else w.copy()))
            self.n_rows += len(y)

    def take(self, n: int) -> tuple[Matrix, Float64Array, Float64Array | None]:
        """The first n rows, which are then gone."""
        taken: list[tuple[Matrix, Float64Array, Float64Array | None]] = []
        left = n
        while left:
            X, y, w = self._parts.popleft()
            if len(y) > left:
                rest = (X[left:], y[left:], None if w is None else w[left:])
                self._parts.appendleft(rest)
                X, y, w = X[:left], y[:left], None if w is None else w[:left]
            left -= len(y)
            taken.append((X, y, w))
        self.n_rows -= n
        Xs, ys, ws = zip(*taken, strict=True)
        if all(w is None for w in ws):
            weight = None
        else:
            weight = join_rows(
                [np.ones(len(y)) if w is None else w for y, w in zip(ys, ws, strict=True)]
            )
        return join_rows(Xs), join_rows(ys), weight


def join_rows(parts: Sequence[Any]) -> Any:
    """One matrix or array of the rows of several."""
    if len(parts) == 1:
        return parts[0]
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)


class RowCutter:
    """Cuts rows of a pointwise problem: each fold's rows in order, ``CHUNK_ROWS`` at a time."""

    def __init__(self, template: Problem, folds: Folds | None, sink: Sink) -> None:
        self.numbers = QueryNumbers()
        self._template, self._folds, self._sink = template, folds, sink
        self._buffers: dict[int, RowBuffer] = {}

    def add(self, X: Matrix, y: Float64Array, w: Float64Array | None, groups: QueryGroups) -> None:
        """Take rows; their queries count where there are folds only."""
        if self._folds is None:
            self._push(0, X, y, w)
            return
        first = self.numbers.add(groups.ids)
        fold_of_row = np.repeat(self._folds(groups.ids, first), groups.sizes)
        for fold in np.unique(fold_of_row).tolist():
            rows = fold_of_row == fold
            self._push(fold, X[rows], y[rows], None if w is None else w[rows])

    def finish(self) -> None:
        """Hand out what is left."""
        for fold, buffer in self._buffers.items():
            self._cut(fold, buffer, 1)

    def _push(self, fold: int, X: Matrix, y: Float64Array, w: Float64Array | None) -> None:
        buffer = self._buffers.setdefault(fold, RowBuffer())
        buffer.push(X, y, w)
        self._cut(fold, buffer, sizes.CHUNK_ROWS)

    def _cut(self, fold: int, buffer: RowBuffer, least: int) -> None:
        while buffer.n_rows >= least:
            n = min(buffer.n_rows, sizes.CHUNK_ROWS)
            self._sink.chunk(fold, _rows(self._template, *buffer.take(n), QueryGroups.single(n)))


class QueryCutter:
    """Cuts rows into chunks of whole queries, and large queries into pieces.

    Parameters
    ----------
    template : Problem
        Its pair graph and query weights are those of what is cut.
    folds : callable
        Fold of each query.
    sink : Sink
    chunk_rows : int
        A chunk has that many rows or fewer, or is one query.
    giant_rows : int or None
        Queries of more rows come in pieces of ``chunk_rows``; None: never.
    edges : bool
        Whether the first and the last query may go on elsewhere: they come in pieces.
    """

    def __init__(
        self,
        template: Problem,
        folds: Folds,
        sink: Sink,
        *,
        chunk_rows: int,
        giant_rows: int | None,
        edges: bool = False,
    ) -> None:
        self.numbers = QueryNumbers()
        self._template, self._folds, self._sink = template, folds, sink
        self._chunk_rows, self._edges = chunk_rows, edges
        self._giant_rows = np.inf if giant_rows is None else giant_rows
        self._pending: dict[int, tuple[RowBuffer, list[int]]] = {}
        self._open = _Open(0, None, RowBuffer(), False, False)

    def add(self, X: Matrix, y: Float64Array, w: Float64Array | None, groups: QueryGroups) -> None:
        """Take rows grouped by query, at most ``giant_rows``; the last query stays open."""
        before = self.numbers.n_queries
        first = self.numbers.add(groups.ids)
        folds, bounds, last = self._folds(groups.ids, first), groups.indptr, groups.n_queries - 1

        def part(lo: int, hi: int) -> Any:
            rows = slice(int(bounds[lo]), int(bounds[hi]))
            return X[rows], y[rows], None if w is None else w[rows]

        start = 0
        if first < before or before == 0:  # rows of a query that began before, or of the first
            if before == 0:
                self._begin(folds[0], groups.ids[0], is_first=True)
            self._extend(*part(0, 1))
            start = 1
        if start > last:
            return
        self._close(edge=self._edges and self._open.is_first)
        for fold in np.unique(folds[start:last]).tolist():
            buffer, pending = self._pending.setdefault(fold, (RowBuffer(), []))
            chosen = folds[start:last] == fold
            rows: Any = part(start, last)
            if not chosen.all():
                of_fold = np.repeat(chosen, groups.sizes[start:last])
                rows = [None if a is None else a[of_fold] for a in rows]
            buffer.push(*rows)
            pending += groups.sizes[start:last][chosen].tolist()
            self._cut(fold, final=False)
        self._begin(folds[last], groups.ids[last], is_first=False)
        self._extend(*part(last, last + 1))

    def finish(self) -> None:
        """Hand out what is left."""
        if self.numbers.n_queries:
            self._close(edge=self._edges)
        for fold in self._pending:
            self._cut(fold, final=True)

    def _begin(self, fold: int, query: Any, *, is_first: bool) -> None:
        self._open = _Open(int(fold), query, RowBuffer(), is_first, self._edges and is_first)

    def _extend(self, X: Matrix, y: Float64Array, w: Float64Array | None) -> None:
        opened = self._open
        opened.rows.push(X, y, w)
        opened.in_pieces |= opened.rows.n_rows > self._giant_rows
        while opened.in_pieces and opened.rows.n_rows >= self._chunk_rows:
            self._piece(self._chunk_rows)

    def _piece(self, n: int) -> None:
        rows = _rows(self._template, *self._open.rows.take(n), QueryGroups.single(n))
        self._sink.piece(self._open.fold, rows)

    def _close(self, *, edge: bool) -> None:
        opened = self._open
        n = opened.rows.n_rows
        if opened.in_pieces or edge:
            if n:
                self._piece(n)
            self._sink.close(opened.fold, opened.query if edge else None)
            return
        buffer, pending = self._pending.setdefault(opened.fold, (RowBuffer(), []))
        buffer.push(*opened.rows.take(n))
        pending.append(n)
        self._cut(opened.fold, final=False)

    def _cut(self, fold: int, *, final: bool) -> None:
        """Hand out chunks that no further query would fit into; all where ``final``."""
        buffer, pending = self._pending[fold]
        while pending:
            ends = np.cumsum(pending)
            n_queries = max(1, int(np.searchsorted(ends, self._chunk_rows, side="right")))
            n_rows = int(ends[n_queries - 1])
            if n_queries == len(pending) and n_rows < self._chunk_rows and not final:
                return
            groups = QueryGroups.from_sizes(pending[:n_queries])
            self._sink.chunk(fold, _rows(self._template, *buffer.take(n_rows), groups))
            del pending[:n_queries]


@dataclass
class _Open:
    """The query that may go on."""

    fold: int
    query: Any
    rows: RowBuffer
    is_first: bool
    in_pieces: bool


def _rows(
    template: Problem,
    X: Matrix,
    y: Float64Array,
    w: Float64Array | None,
    groups: QueryGroups,
) -> Problem:
    return replace(template, X=X, y=y, groups=groups, sample_weight=w)


def plain_id(value: Any) -> Any:
    """A query id as a Python value."""
    return value.item() if isinstance(value, np.generic) else value
