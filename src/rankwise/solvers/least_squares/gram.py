"""Gram statistics ``Phi' L Phi``, ``Phi' L y``, ``y' L y`` in one pass over the rows.

They add over queries: over chunks, over folds (cross-validation needs only the difference of the
total and a fold), over ``partial_fit`` calls and over workers. No N x N matrix and no list of
pairs is formed; memory does not depend on the number of rows.

Complexity: O(N p^2) for N rows and p columns, p^2 numbers per fold and thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from rankwise.groups import QueryGroups
from rankwise.losses.laplacian import LaplacianFactor, laplacian_factor
from rankwise.runtime.threads import query_chunks, thread_imap
from rankwise.solvers.least_squares.statistics import (
    Gram,
    GramSum,
    OpenQuery,
    ordered_pairs,
    query_factor,
)
from rankwise.typing import Float64Array, FloatArray, Int64Array, Matrix

# Rows per BLAS call: two to four thousand is the fast range (benchmarks/bench_closed_form.py).
CHUNK_ROWS = 3000
# A query of more rows than this is streamed through in pieces.
GIANT_ROWS = 4 * CHUNK_ROWS
# Products of float32 blocks are formed in float64 while that costs less than about a second.
PRECISE_FLOPS = 5e10
# Chunks are dealt to this many sums whatever the number of threads: same bits for any of them, and
# for rows that arrive in any pieces.
N_LANES = 10


class BlockMap(Protocol):
    """Maps a chunk of rows to columns of the least-squares problem."""

    @property
    def n_features_out(self) -> int: ...

    def __call__(self, X: Matrix) -> FloatArray: ...

    def rows(self, X: Matrix) -> Any: ...


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, queries and pair graph of a squared ranking loss; y and weights in input order.

    Attributes
    ----------
    graph : {"all", "distinct", "pointwise"}
    query_weight : {"pair", "document", "query"}
    intercept : bool
        Whether a pointwise loss has an unpenalised intercept.
    """

    X: Matrix
    y: Float64Array
    groups: QueryGroups
    sample_weight: Float64Array | None
    graph: str
    query_weight: str = "pair"
    intercept: bool = False

    def factor(self, rows: Int64Array, groups: QueryGroups) -> LaplacianFactor:
        """Laplacian factor of the given rows, which are sorted by ``groups``."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        return laplacian_factor(
            groups, self.y[rows], weight, graph=self.graph, query_weight=self.query_weight
        )

    def pairs(self) -> float:
        """Weight of all ordered pairs, ``sum_q c_q W_q^2``."""
        weight = np.ones(self.X.shape[0]) if self.sample_weight is None else self.sample_weight
        totals = np.bincount(self.groups.codes(), weights=weight, minlength=self.groups.n_queries)
        return ordered_pairs(totals, self.query_weight)

    def piece(self, rows: Int64Array, groups: QueryGroups | None) -> Problem:
        """Some rows of known groups (None: of one query), a view where they are consecutive."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        groups = QueryGroups.single(len(rows)) if groups is None else groups
        return replace(
            self, X=_rows(self.X, rows), y=self.y[rows], groups=groups, sample_weight=weight
        )

    def subset(self, rows: Int64Array) -> Problem:
        """The problem on some of the rows."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        return Problem(
            self.X[rows],
            self.y[rows],
            self.groups.take(rows),
            weight,
            self.graph,
            self.query_weight,
            self.intercept,
        )


def fold_grams(
    problem: Problem, phi: BlockMap, query_folds: Sequence[Int64Array] | None = None
) -> list[Gram]:
    """Statistics of each fold of queries (of all queries where ``query_folds`` is None).

    Parameters
    ----------
    problem : Problem
    phi : callable
        Feature map on chunks of rows.
    query_folds : sequence of int arrays
        Query numbers of each fold.

    Notes
    -----
    Float32 blocks are multiplied in float32 and accumulated in float64 once the work exceeds
    ``PRECISE_FLOPS``; below, they are centred and multiplied in float64. Which rows share a block,
    and the order of all sums, depend on the rows' places alone: rows that arrive in pieces give
    the same bits (:mod:`rankwise.solvers.least_squares.stream_grams`).
    """
    p = phi.n_features_out
    if query_folds is None:
        query_folds = [np.arange(problem.groups.n_queries)]
    lanes, precise = n_lanes(len(query_folds)), is_precise(problem.X.shape[0], p)
    grams = [Gram.zeros(p) for _ in query_folds]
    units: list[tuple[int, Callable[[], Gram]]] = []
    for fold, queries in enumerate(query_folds):
        if problem.graph == "pointwise":  # queries do not matter: cut anywhere
            rows = np.sort(problem.groups.rows(queries))
            groups = QueryGroups.from_sizes(_equal_sizes(len(rows), CHUNK_ROWS))
        else:
            giant = problem.groups.sizes[queries] > GIANT_ROWS
            for query in queries[giant].tolist():
                grams[fold] = grams[fold] + _giant_gram(problem, phi, query, lanes, precise)
            rows, groups = problem.groups.subset(queries[~giant])
        chunks = query_chunks(groups.indptr, CHUNK_ROWS)
        for lane in range(min(lanes, len(chunks))):
            part = chunks[lane::lanes]
            units.append((fold, _unit(problem, phi, rows, groups, part, precise)))
    n_threads = None if problem.X.shape[0] * p > 1e6 else 1
    folds = iter([fold for fold, _ in units])
    for gram in thread_imap(lambda unit: unit[1](), units, n_threads):
        fold = next(folds)
        grams[fold] = grams[fold] + gram
    return grams


def n_lanes(n_folds: int) -> int:
    """Sums that the chunks of each fold are dealt to in turn."""
    return max(1, N_LANES // n_folds)


def is_precise(n_rows: int, p: int) -> bool:
    """Whether float32 blocks of so many rows are turned to float64 before they are multiplied."""
    return n_rows * p * p <= PRECISE_FLOPS


def total(grams: Sequence[Gram]) -> Gram:
    """Sum in order."""
    return reduce(Gram.__add__, grams)


def add_chunk(
    sum_: GramSum, chunk: Problem, phi: BlockMap, *, precise: bool, product: FloatArray | None
) -> FloatArray:
    """Add whole queries, given in group order; returns scratch space for the next call."""
    p = phi.n_features_out
    block = phi(chunk.X)
    if precise:
        block = block.astype(np.float64, copy=False)
    factor = laplacian_factor(
        chunk.groups,
        chunk.y,
        chunk.sample_weight,
        graph=chunk.graph,
        query_weight=chunk.query_weight,
    )
    totals = np.diff(np.concatenate([[0.0], np.cumsum(factor.weight)])[chunk.groups.indptr])
    sum_.pairs += ordered_pairs(totals, chunk.query_weight)
    if chunk.graph == "pointwise":
        sum_.add_sums(block, chunk.y, factor.weight)
    block = factor.apply(block, 0, chunk.groups.n_queries)
    target = factor.apply(chunk.y[:, None].copy(), 0, chunk.groups.n_queries)[:, 0]
    if product is None or product.dtype != block.dtype or len(product) != p:
        product = np.empty((p, p), dtype=block.dtype)
    sum_.add_block(block, target, product)
    return product


def _unit(
    problem: Problem,
    phi: BlockMap,
    rows: Int64Array,
    groups: QueryGroups,
    chunks: Sequence[tuple[int, int]],
    precise: bool,
) -> Callable[[], Gram]:
    """The work of one lane: statistics of some chunks of the rows of one fold."""

    def work() -> Gram:
        p = phi.n_features_out
        sum_, product = GramSum(p), None
        for first, last in chunks:
            lo, hi = groups.indptr[first], groups.indptr[last]
            chunk = problem.piece(
                rows[lo:hi],
                QueryGroups(groups.indptr[first : last + 1] - lo, None, groups.ids[first:last]),
            )
            product = add_chunk(sum_, chunk, phi, precise=precise, product=product)
        return sum_.gram()

    return work


def _giant_gram(problem: Problem, phi: BlockMap, query: int, lanes: int, precise: bool) -> Gram:
    """Statistics of one large query, in pieces."""
    if problem.graph == "distinct":
        return _giant_distinct_gram(problem, phi, query)
    rows = problem.groups.rows(query)
    starts = range(0, len(rows), CHUNK_ROWS)
    piece = problem.piece(rows[:CHUNK_ROWS], None)
    opened = OpenQuery.about(phi(piece.X), piece.y)

    def work(lane: int) -> OpenQuery:
        part, product = OpenQuery(opened.shift, opened.target_shift), None
        for lo in starts[lane::lanes]:
            piece = problem.piece(rows[lo : lo + CHUNK_ROWS], None)
            product = add_piece(part, piece, phi, precise=precise, product=product)
        return part

    for part in thread_imap(work, range(min(lanes, len(starts)))):
        opened.merge(part)
    return opened.gram(problem.graph, problem.query_weight)


def add_piece(
    opened: OpenQuery, piece: Problem, phi: BlockMap, *, precise: bool, product: FloatArray | None
) -> FloatArray:
    """Add rows of one query; returns scratch space for the next call."""
    p = phi.n_features_out
    block = phi(piece.X)
    if precise:
        block = block.astype(np.float64, copy=False)
    if product is None or product.dtype != block.dtype or len(product) != p:
        product = np.empty((p, p), dtype=block.dtype)
    opened.add(block, piece.y, piece.sample_weight, graph=piece.graph, product=product)
    return product


def _giant_distinct_gram(problem: Problem, phi: BlockMap, query: int) -> Gram:
    """Statistics of one large query over pairs of different grades; products in float64.

    ``L 1 = 0``, so any shift of the columns is allowed; the mean of the first piece keeps the
    subtraction of the rank-one terms at the end from cancelling.
    """
    p = phi.n_features_out
    rows = problem.groups.rows(query)
    factor = problem.factor(rows, QueryGroups.single(len(rows)))
    weight = float(factor.weight.sum())
    c = query_factor(weight, problem.query_weight)
    starts = range(0, len(rows), CHUNK_ROWS)
    shift = phi(_rows(problem.X, rows[:CHUNK_ROWS])).mean(axis=0, dtype=np.float64)
    y_shift = problem.y[rows].mean()
    segment_of = np.full(len(rows), -1)
    segment_of[factor.tied_rows] = np.repeat(
        np.arange(len(factor.tied_scale)), np.diff(factor.tied_indptr)
    )
    n_segments, lanes = len(factor.tied_scale), min(N_LANES, len(starts))

    def work(lane: int) -> tuple[GramSum, Float64Array, Float64Array]:
        grade_sums, grade_targets = np.zeros((n_segments, p)), np.zeros(n_segments)
        sum_, product = GramSum(p), np.empty((p, p))
        for lo in starts[lane::lanes]:
            hi = min(lo + CHUNK_ROWS, len(rows))
            block = phi(_rows(problem.X, rows[lo:hi])).astype(np.float64, copy=False)
            block -= shift
            y, w = problem.y[rows[lo:hi]] - y_shift, factor.weight[lo:hi]
            sum_.add_sums(block, y, w)
            tied = np.flatnonzero(segment_of[lo:hi] >= 0)
            if len(tied):
                segment = segment_of[lo:hi][tied]
                pick = sparse.csr_array((w[tied], (segment, tied)), shape=(n_segments, hi - lo))
                grade_sums += pick @ block
                grade_targets += pick @ y
            block *= factor.row_scale[lo:hi, None]
            sum_.add_block(block, y * factor.row_scale[lo:hi], product)
        return sum_, grade_sums, grade_targets

    parts = thread_imap(work, range(lanes))
    sum_, grade_sums, grade_targets = next(parts)
    for more, more_sums, more_targets in parts:
        sum_.add(more.gram())
        grade_sums += more_sums
        grade_targets += more_targets
    gram = sum_.gram()
    return Gram(
        gram.matrix + c * (grade_sums.T @ grade_sums - np.outer(gram.sums, gram.sums)),
        gram.rhs + c * (grade_sums.T @ grade_targets - gram.sums * gram.target_sum),
        float(gram.target_norm + c * (grade_targets @ grade_targets - gram.target_sum**2)),
        np.zeros(p),
        0.0,
        0.0,
        c * weight**2,
    )


def _rows(X: Matrix, rows: Int64Array) -> Any:
    """Rows of X; a view where they are consecutive."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
        return X[int(rows[0]) : int(rows[-1]) + 1]
    return X[rows]


def _equal_sizes(n: int, size: int) -> Int64Array:
    sizes = np.full(n // size + (n % size > 0), size, dtype=np.int64)
    if n % size:
        sizes[-1] = n % size
    return sizes
