"""Gram statistics ``Phi' L Phi``, ``Phi' L y``, ``y' L y`` in one pass over the rows.

The statistics are additive over queries, and so over chunks, folds, ``partial_fit`` calls and
workers. Cross-validation needs only the total minus a fold. No N x N matrix and no list of pairs is
formed, so memory does not depend on the number of rows.

Rows in memory, of streams, of batches and of workers come as parts
(:meth:`rankwise.losses.squared_loss.Problem.parts`, :class:`rankwise.streams.cutter.Cutter`) to
:func:`accumulate`. Parts are multiplied on all cores and added in order. Rows that arrive in pieces
therefore give a result bit-identical to rows in memory, on any number of threads.

Complexity: O(N p^2) for N rows and p columns; memory for p^2 numbers per fold, and twice that per
thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import reduce
from typing import Any, Protocol

import numpy as np

from rankwise.losses.squared_loss import Problem, RowPart, query_factor
from rankwise.runtime.threads import thread_imap
from rankwise.solvers.least_squares.statistics import Gram, OpenQuery
from rankwise.typing import Float64Array, FloatArray, Int64Array, Matrix

# Rows per BLAS call: two to four thousand is the fast range (benchmarks/bench_closed_form.py).
CHUNK_ROWS = 3000
# A query with more rows than this is processed in pieces.
GIANT_ROWS = 4 * CHUNK_ROWS
# Products of float32 blocks are formed in float64 while that costs less than about a second.
PRECISE_FLOPS = 5e10


class BlockMap(Protocol):
    """Maps a chunk of rows to columns of the least-squares problem."""

    @property
    def n_features_out(self) -> int: ...

    def __call__(self, X: Matrix) -> FloatArray: ...

    def rows(self, X: Matrix) -> Any: ...


class GramSums:
    """Sums of one block map under one weighting of the queries.

    ``folds`` are the statistics of each fold without the edges: queries that may have more rows
    elsewhere. ``edges`` holds those as (query, fold, OpenQuery).
    """

    def __init__(self, phi: BlockMap, query_weight: str, n_folds: int, precise: bool) -> None:
        self.phi, self.p, self.precise = phi, phi.n_features_out, precise
        self.folds = [Gram.zeros(self.p) for _ in range(n_folds)]
        self.edges: list[tuple[Any, int, OpenQuery]] = []
        self._query_weight = query_weight
        self._large: dict[int, Gram] = {}
        self._opened: dict[Any, OpenQuery] = {}
        self._last: tuple[RowPart, str] | None = None

    def tasks(self, part: RowPart) -> Iterator[Callable[[], Callable[[], None]]]:
        """Tasks for any thread; each returns a function to call in order, which adds its result."""
        if part.query is None:
            yield lambda: self._whole(part)
            return
        rows = part.take()
        # Its first rows give the shift, so pieces of a query must come in order, as they do.
        if part.query not in self._opened:
            self._opened[part.query] = OpenQuery.about(self.phi(rows.X), rows.y)
        if rows.graph == "all":
            yield lambda: self._piece(part, rows, 0.0)
            return
        # "distinct": a row pairs with all but its own grade, which each grade's sums tell apart.
        for grade in np.unique(rows.y).tolist():
            of_grade = rows.piece(np.flatnonzero(rows.y == grade))
            yield lambda grade=grade, of_grade=of_grade: self._piece(part, of_grade, grade)

    def close(self) -> GramSums:
        """Finish the current large query: add it to its fold or, for an edge, to :attr:`edges`."""
        if self._last is not None:
            part, graph = self._last
            opened, self._last = self._opened.pop(part.query), None
            if part.is_edge:
                self.edges.append((part.query, part.fold, opened))
            else:
                gram = opened.gram(graph, self._query_weight)
                self._large.setdefault(part.fold, Gram.zeros(self.p)).add_inplace(gram)
        return self

    def finish(self) -> GramSums:
        """Finish all queries."""
        self.close()
        for fold, large in self._large.items():
            large.add_inplace(self.folds[fold])
            self.folds[fold] = large
        return self

    def _whole(self, part: RowPart) -> Callable[[], None]:
        rows = replace(part.take(), query_weight=self._query_weight)
        gram = Gram.of_queries(self._block(rows.X, self.precise), rows)
        return lambda: self.folds[part.fold].add_inplace(gram)

    def _piece(self, part: RowPart, rows: Problem, grade: float) -> Callable[[], None]:
        opened = self._opened[part.query]
        block = self._block(rows.X, self.precise or rows.graph == "distinct")
        gram = opened.rows_gram(block, rows.y, rows.sample_weight)

        def add() -> None:
            if self._last is not None and self._last[0].query != part.query:
                self.close()
            self._last = part, rows.graph
            opened.add_inplace(grade, gram)

        return add

    def _block(self, X: Matrix, precise: bool) -> FloatArray:
        block = self.phi(X)
        return block.astype(np.float64, copy=False) if precise else block


def accumulate(
    parts: Iterable[RowPart],
    maps: Sequence[tuple[BlockMap, str]],
    n_folds: int = 1,
    *,
    n_rows: int | None,
    n_threads: int | None = None,
) -> list[GramSums]:
    """Statistics of all rows for each block map and weighting of the queries; one pass.

    The total number of rows, ``n_rows``, decides the precision of float32 blocks. If it is unknown,
    the first blocks are multiplied in both precisions until the right one is known. This costs
    ``PRECISE_FLOPS`` extra multiplications once.
    """
    found = [
        [GramSums(phi, weight, n_folds, precise) for precise in _precisions(n_rows, phi)]
        for phi, weight in maps
    ]

    def tasks() -> Iterator[Callable[[], Callable[[], None]]]:
        n_seen = 0
        for part in parts:
            for both in found:
                phi = both[0].phi
                # Float64 blocks have one precision; the second sum would be the same.
                if len(both) > 1 and not n_seen and phi(part.take().X[:1]).dtype == np.float64:
                    del both[1]
                # So many rows that float32 is the choice, as it would be if their number were
                # known.
                if len(both) > 1 and not is_precise(n_seen + part.n_rows, both[0].p):
                    del both[0]
                for sums in both:
                    yield from sums.tasks(part)
            n_seen += part.n_rows

    with closing(thread_imap(lambda task: task(), tasks(), n_threads)) as results:
        # Threads multiply in any order; sums are added in the order of the parts, on this one.
        for add in results:
            add()
    return [both[0].finish() for both in found]


def fold_grams(
    problem: Problem, phi: BlockMap, fold_queries: Sequence[Int64Array] | None = None
) -> list[Gram]:
    """Statistics of each fold of queries (of all queries if ``fold_queries`` is None).

    Float32 blocks are multiplied in float32 and accumulated in float64 once the work exceeds
    ``PRECISE_FLOPS``; below, they are centred and multiplied in float64.
    """
    n_rows, groups = problem.X.shape[0], problem.groups
    folds = [np.arange(groups.n_queries)] if fold_queries is None else list(fold_queries)
    giants: list[tuple[int, int]] = []
    if problem.graph == "distinct":
        giant = groups.sizes > GIANT_ROWS
        giants = [(fold, q) for fold, some in enumerate(folds) for q in some[giant[some]].tolist()]
        folds = [queries[~giant[queries]] for queries in folds]
    sums = accumulate(
        problem.parts(folds, CHUNK_ROWS, GIANT_ROWS),
        [(phi, problem.query_weight)],
        len(folds),
        n_rows=n_rows,
        n_threads=None if n_rows * phi.n_features_out > 1e6 else 1,
    )[0]
    for fold, query in giants:
        sums.folds[fold].add_inplace(_giant_distinct_gram(problem, phi, query))
    return sums.folds


def is_precise(n_rows: int, p: int) -> bool:
    """Whether float32 blocks are converted to float64 before multiplication, for this many rows."""
    return n_rows * p * p <= PRECISE_FLOPS


def total(grams: Sequence[Gram]) -> Gram:
    """Sum in order."""
    return reduce(Gram.__add__, grams)


def _precisions(n_rows: int | None, phi: BlockMap) -> list[bool]:
    return [True, False] if n_rows is None else [is_precise(n_rows, phi.n_features_out)]


def _giant_distinct_gram(problem: Problem, phi: BlockMap, query: int) -> Gram:
    """Statistics of one large query over pairs of different grades, with all rows given; in
    float64.

    The weights of the grades are known, so one matrix for all grades and p numbers per grade
    suffice.
    """
    rows = problem.groups.rows(query)
    rows = rows[np.argsort(problem.y[rows], kind="stable")]
    y, p = problem.y[rows], phi.n_features_out
    w = np.ones(len(y)) if problem.sample_weight is None else problem.sample_weight[rows]
    grade = np.unique(y, return_inverse=True)[1]
    of_grade, weight = np.bincount(grade, w), float(w.sum())
    scale = np.sqrt(w * (weight - of_grade[grade]))

    def columns(lo: int) -> Float64Array:
        part = slice(lo, lo + CHUNK_ROWS)
        return np.column_stack([phi(problem.piece(rows[part]).X), y[part]])

    shift = columns(0).mean(axis=0)

    def work(lo: int) -> tuple[Int64Array, Float64Array, Float64Array]:
        part, z = slice(lo, lo + CHUNK_ROWS), columns(lo)
        z -= shift
        # Rows are sorted by grade: a chunk holds runs, summed by reduceat.
        first = np.flatnonzero(np.diff(grade[part], prepend=-1))
        sums = np.add.reduceat(z * w[part, None], first, axis=0)
        z *= scale[part, None]
        return grade[part][first], sums, z.T @ z

    matrix, sums = np.zeros((p + 1, p + 1)), np.zeros((len(of_grade), p + 1))
    for grades, part_sums, product in thread_imap(work, range(0, len(y), CHUNK_ROWS)):
        sums[grades] += part_sums
        matrix += product
    s = sums.sum(axis=0)
    # L = diag(w (W - W_grade)) - w w' + the same within grades, see statistics.OpenQuery.
    matrix += sums.T @ sums - np.outer(s, s)
    c = query_factor(weight, problem.query_weight)
    return replace(
        Gram.zeros(p),
        matrix=c * matrix[:p, :p],
        rhs=c * matrix[:p, p],
        target_norm=float(c * matrix[p, p]),
        pairs=c * weight**2,
    )
