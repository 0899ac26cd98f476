"""Gram statistics ``Phi' L Phi``, ``Phi' L y``, ``y' L y`` in one pass over the rows.

They add over queries: over chunks, over folds (cross-validation needs only the difference of the
total and a fold), over ``partial_fit`` calls and over workers. No N x N matrix and no list of
pairs is formed; memory does not depend on the number of rows.

Complexity: O(N p^2) for N rows and p columns, p^2 numbers per fold and thread.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from rankwise._threads import query_chunks, thread_imap
from rankwise.groups import QueryGroups
from rankwise.losses.laplacian import LaplacianFactor, laplacian_factor
from rankwise.typing import Float64Array, FloatArray, Int64Array, Matrix

# Rows per BLAS call: two to four thousand is the fast range (benchmarks/bench_closed_form.py).
CHUNK_ROWS = 3000
# A query of more rows than this is streamed through in pieces.
GIANT_ROWS = 4 * CHUNK_ROWS
# Products of float32 blocks are formed in float64 while that costs less than about a second.
PRECISE_FLOPS = 5e10
# Work is cut into this many units whatever the number of threads: same bits for any of them.
N_UNITS = 10


class BlockMap(Protocol):
    """Maps a chunk of rows to columns of the least-squares problem."""

    @property
    def n_features_out(self) -> int: ...

    def __call__(self, X: Matrix) -> FloatArray: ...

    def rows(self, X: Matrix) -> Any: ...


@dataclass(frozen=True, eq=False)
class Gram:
    """Additive statistics of a least-squares problem with p columns; all float64.

    Attributes
    ----------
    matrix : ndarray of shape (p, p)
        ``Phi' L Phi``.
    rhs : ndarray of shape (p,)
        ``Phi' L y``.
    target_norm : float
        ``y' L y``.
    sums : ndarray of shape (p,)
        ``Phi' w``; used for an unpenalised intercept of a pointwise problem.
    target_sum, weight : float
        ``w'y`` and ``sum(w)``.
    pairs : float
        ``sum_q c_q W_q^2``, the weight of all ordered pairs.
    """

    matrix: Float64Array
    rhs: Float64Array
    target_norm: float
    sums: Float64Array
    target_sum: float
    weight: float
    pairs: float = 0.0

    @classmethod
    def zeros(cls, p: int) -> Gram:
        """Statistics of no rows."""
        return cls(np.zeros((p, p)), np.zeros(p), 0.0, np.zeros(p), 0.0, 0.0)

    def __add__(self, other: Gram) -> Gram:
        return Gram(
            self.matrix + other.matrix,
            self.rhs + other.rhs,
            self.target_norm + other.target_norm,
            self.sums + other.sums,
            self.target_sum + other.target_sum,
            self.weight + other.weight,
            self.pairs + other.pairs,
        )

    def __sub__(self, other: Gram) -> Gram:
        return Gram(
            self.matrix - other.matrix,
            self.rhs - other.rhs,
            self.target_norm - other.target_norm,
            self.sums - other.sums,
            self.target_sum - other.target_sum,
            self.weight - other.weight,
            self.pairs - other.pairs,
        )

    def centred(self) -> Gram:
        """Pointwise statistics with the unpenalised intercept eliminated."""
        mean = self.sums / self.weight
        return Gram(
            self.matrix - np.outer(self.sums, mean),
            self.rhs - mean * self.target_sum,
            self.target_norm - self.target_sum**2 / self.weight,
            self.sums,
            self.target_sum,
            self.weight,
            self.pairs,
        )

    def transformed(self, basis: Float64Array) -> Gram:
        """Statistics of ``Phi @ basis``; basis of shape (p, r)."""
        return Gram(
            basis.T @ self.matrix @ basis,
            basis.T @ self.rhs,
            self.target_norm,
            basis.T @ self.sums,
            self.target_sum,
            self.weight,
            self.pairs,
        )


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
    ``PRECISE_FLOPS``; below, they are centred and multiplied in float64.
    """
    p = phi.n_features_out
    precise = is_precise(problem, p)
    if query_folds is None:
        query_folds = [np.arange(problem.groups.n_queries)]
    lanes = max(1, N_UNITS // len(query_folds))
    units: list[tuple[int, Callable[[], Gram]]] = []
    for fold, queries in enumerate(query_folds):
        units += [(fold, unit) for unit in _units(problem, phi, queries, lanes, precise)]
    grams = [Gram.zeros(p) for _ in query_folds]
    n_threads = None if problem.X.shape[0] * p > 1e6 else 1
    folds = iter([fold for fold, _ in units])
    for gram in thread_imap(lambda unit: unit[1](), units, n_threads):
        fold = next(folds)
        grams[fold] = grams[fold] + gram
    return grams


def is_precise(problem: Problem, p: int) -> bool:
    """Whether float32 blocks are turned to float64 before they are multiplied."""
    return problem.X.shape[0] * p * p <= PRECISE_FLOPS


def total(grams: Sequence[Gram]) -> Gram:
    """Sum in order."""
    return reduce(Gram.__add__, grams)


def _units(
    problem: Problem, phi: BlockMap, queries: Int64Array, lanes: int, precise: bool
) -> list[Callable[[], Gram]]:
    """Independent pieces of work that sum to the statistics of ``queries``."""
    units: list[Callable[[], Gram]] = []
    if problem.graph == "pointwise":  # queries do not matter: cut anywhere
        rows = problem.groups.rows(queries)
        groups = QueryGroups.from_sizes(_equal_sizes(len(rows), CHUNK_ROWS))
    else:
        giant = problem.groups.sizes[queries] > GIANT_ROWS
        for query in queries[giant]:
            units.append(lambda query=query: _giant_gram(problem, phi, int(query), precise))
        rows, groups = problem.groups.subset(queries[~giant])
    chunks = query_chunks(groups.indptr, CHUNK_ROWS)
    bounds = np.linspace(0, len(chunks), min(lanes, max(len(chunks), 1)) + 1).astype(int)
    for lo, hi in itertools.pairwise(bounds):
        units.append(
            lambda part=chunks[lo:hi]: _chunk_grams(problem, phi, rows, groups, part, precise)
        )
    return units


def _chunk_grams(
    problem: Problem,
    phi: BlockMap,
    rows: Int64Array,
    groups: QueryGroups,
    chunks: Sequence[tuple[int, int]],
    precise: bool,
) -> Gram:
    """Statistics of consecutive chunks of whole queries."""
    p = phi.n_features_out
    sum_, product = _Accumulator(p), None
    for first, last in chunks:
        lo, hi = groups.indptr[first], groups.indptr[last]
        part = rows[lo:hi]
        inner = QueryGroups(groups.indptr[first : last + 1] - lo, None, groups.ids[first:last])
        block = phi(_rows(problem.X, part))
        if precise:
            block = block.astype(np.float64, copy=False)
        y = problem.y[part]
        factor = problem.factor(part, inner)
        totals = np.diff(np.concatenate([[0.0], np.cumsum(factor.weight)])[inner.indptr])
        sum_.pairs += ordered_pairs(totals, problem.query_weight)
        if problem.graph == "pointwise":
            sum_.add_sums(block, y, factor.weight)
        block = factor.apply(block, 0, inner.n_queries)
        target = factor.apply(y[:, None].copy(), 0, inner.n_queries)[:, 0]
        if product is None or product.dtype != block.dtype:
            product = np.empty((p, p), dtype=block.dtype)
        sum_.add_block(block, target, product)
    return sum_.gram()


def _giant_gram(problem: Problem, phi: BlockMap, query: int, precise: bool) -> Gram:
    """Statistics of one large query, streamed in pieces about a fixed shift.

    ``L 1 = 0``, so any shift of the columns is allowed; the mean of the first piece keeps the
    subtraction of the rank-one terms at the end from cancelling.
    """
    p = phi.n_features_out
    rows = problem.groups.rows(query)
    factor = problem.factor(rows, QueryGroups.single(len(rows)))
    weight = float(factor.weight.sum())
    c = query_factor(weight, problem.query_weight)
    pieces = [(lo, min(lo + CHUNK_ROWS, len(rows))) for lo in range(0, len(rows), CHUNK_ROWS)]
    shift = phi(_rows(problem.X, rows[: pieces[0][1]])).mean(axis=0, dtype=np.float64)
    y_shift = problem.y[rows].mean()
    segment_of = np.full(len(rows), -1)
    segment_of[factor.tied_rows] = np.repeat(
        np.arange(len(factor.tied_scale)), np.diff(factor.tied_indptr)
    )
    grade_sums = np.zeros((len(factor.tied_scale), p))
    grade_targets = np.zeros(len(factor.tied_scale))
    weighted_sum, weighted_target = np.zeros(p), 0.0
    sum_, product = _Accumulator(p), None
    for lo, hi in pieces:
        block = phi(_rows(problem.X, rows[lo:hi]))
        if precise:
            block = block.astype(np.float64, copy=False)
        block -= shift.astype(block.dtype)
        y, w = problem.y[rows[lo:hi]] - y_shift, factor.weight[lo:hi]
        weighted_sum += w @ block
        weighted_target += float(w @ y)
        tied = np.flatnonzero(segment_of[lo:hi] >= 0)
        if len(tied):
            segment = segment_of[lo:hi][tied]
            pick = sparse.csr_array((w[tied], (segment, tied)), shape=(len(grade_sums), hi - lo))
            grade_sums += pick @ block
            grade_targets += pick @ y
        block *= factor.row_scale[lo:hi, None].astype(block.dtype)
        if product is None:
            product = np.empty((p, p), dtype=block.dtype)
        sum_.add_block(block, y * factor.row_scale[lo:hi], product)
    gram = sum_.gram()
    return Gram(
        gram.matrix + c * (grade_sums.T @ grade_sums - np.outer(weighted_sum, weighted_sum)),
        gram.rhs + c * (grade_sums.T @ grade_targets - weighted_sum * weighted_target),
        float(gram.target_norm + c * (grade_targets @ grade_targets - weighted_target**2)),
        gram.sums,
        gram.target_sum,
        gram.weight,
        c * weight**2,
    )


class _Accumulator:
    """Running sums of one unit of work."""

    def __init__(self, p: int) -> None:
        self.matrix, self.rhs, self.target_norm = np.zeros((p, p)), np.zeros(p), 0.0
        self.sums, self.target_sum, self.weight = np.zeros(p), 0.0, 0.0
        self.pairs = 0.0

    def add_sums(self, block: FloatArray, y: Float64Array, w: Float64Array) -> None:
        self.sums += w.astype(block.dtype) @ block
        self.target_sum += float(w @ y)
        self.weight += float(w.sum())

    def add_block(self, block: FloatArray, target: Float64Array, product: FloatArray) -> None:
        self.matrix += np.matmul(block.T, block, out=product)
        self.rhs += block.T @ target.astype(block.dtype)
        self.target_norm += float(target @ target)

    def gram(self) -> Gram:
        return Gram(
            self.matrix,
            self.rhs,
            self.target_norm,
            self.sums,
            self.target_sum,
            self.weight,
            self.pairs,
        )


def query_factor(weight: float, query_weight: str) -> float:
    """``c_q`` of a query of the given total weight."""
    return float(weight) ** -{"pair": 0, "document": 1, "query": 2}[query_weight]


def ordered_pairs(totals: Float64Array, query_weight: str) -> float:
    """``sum_q c_q W_q^2`` of queries of the given total weights."""
    totals = totals[totals > 0]
    return float((totals ** {"pair": 2, "document": 1, "query": 0}[query_weight]).sum())


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
