"""Squared loss of grades or of their differences over pairs, and its graph Laplacian [1]_.

The loss is ``(y - f)' L (y - f)`` with one block ``L_q`` per query. With row weights ``w``,
``W = sum(w)`` and ``W_k`` the weight of grade ``k``, and ``c_q`` the query weight,

- all pairs:       ``L_q = c_q (W diag(w) - w w')``
- distinct grades: ``L_q = c_q (diag(w_i (W - W_{y_i})) - w w' + sum_k (w 1_k)(w 1_k)')``.

Since ``L 1 = 0``, rows may first be centred by their weighted mean. Then ``w'f = 0``, and ``L_q``
is the Gram matrix of scaled rows stacked on scaled sums over each grade: ``L = R'R``. ``R`` is
never formed; ``Phi' L Phi = B'B`` with ``B = R Phi`` takes O(n) per column. The pointwise squared
loss has ``L = diag(w)`` and no centring.

``c_q`` is 1 ("pair": every pair counts the same), ``1 / W`` ("document") or ``1 / W^2`` ("query").

References
----------
.. [1] Pahikkala et al., "An efficient algorithm for learning to rank from preference graphs",
   Machine Learning 75 (2009): the Laplacian form.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

from rankwise.groups import FitData, QueryGroups
from rankwise.losses.score_loss import QUERY_POWERS
from rankwise.runtime.threads import query_chunks
from rankwise.typing import Float64Array, FloatArray, Int64Array, Matrix

Graph = Literal["all", "distinct", "pointwise"]
GRAPHS = ("all", "distinct")


@dataclass(frozen=True, eq=False)
class LaplacianFactor:
    """The factor ``R`` of ``L = R'R`` for rows in group order."""

    indptr: Int64Array  # (n_queries + 1,)
    weight: Float64Array  # (n_samples,): row weights w
    # (n_samples,): square root of the diagonal of L before the rank-one terms
    row_scale: Float64Array
    centred: bool  # whether rows are centred by query (pairwise) or not (pointwise)
    # Rows that share a grade with another row of their query, grade by grade; "distinct" only.
    # ``tied_rows[tied_indptr[s]:tied_indptr[s + 1]]`` is segment ``s``, the rows of one grade.
    tied_rows: Int64Array
    tied_indptr: Int64Array
    tied_scale: Float64Array  # ``sqrt(c_q)`` of each segment

    @cached_property
    def tied_first_row(self) -> Int64Array:
        """First row of each segment, ascending by query."""
        return self.tied_rows[self.tied_indptr[:-1]]

    def segments(self, first_row: int, last_row: int) -> tuple[int, int]:
        """Segments of the whole queries in rows ``first_row:last_row``."""
        queries = np.searchsorted(self.indptr, (first_row, last_row))
        return int(self.tied_query_ptr[queries[0]]), int(self.tied_query_ptr[queries[1]])

    @cached_property
    def tied_query_ptr(self) -> Int64Array:
        """Segments of query q are ``tied_query_ptr[q]:tied_query_ptr[q + 1]``."""
        query = np.searchsorted(self.indptr, self.tied_first_row, side="right") - 1
        return np.searchsorted(query, np.arange(len(self.indptr)))

    def apply(self, block: FloatArray, first_query: int, last_query: int) -> FloatArray:
        """Compute ``R block`` for whole queries; overwrites ``block``, may return a larger array.

        ``block`` (n_rows, p) holds the rows of queries ``first_query:last_query`` in group order.
        """
        start = int(self.indptr[first_query])
        stop = int(self.indptr[last_query])
        if self.centred:
            self._center_inplace(block, first_query, last_query)
        first, last = 0, 0
        if len(self.tied_rows):
            first, last = self.segments(start, stop)
        if first == last:
            block *= self.row_scale[start:stop, None].astype(block.dtype)
            return block
        lo, hi = self.tied_indptr[first], self.tied_indptr[last]
        rows = self.tied_rows[lo:hi]
        weighted = block[rows - start] * self.weight[rows, None].astype(block.dtype)
        sums = np.add.reduceat(weighted, self.tied_indptr[first:last] - lo, axis=0)
        sums *= self.tied_scale[first:last, None].astype(block.dtype)
        block *= self.row_scale[start:stop, None].astype(block.dtype)
        return np.concatenate([block, sums])

    def apply_transposed(self, a: Float64Array) -> Float64Array:
        """Compute ``R' a`` for ``a`` of shape (n_samples + n_segments, k); shape (n_samples, k)."""
        n = len(self.weight)
        u = self.row_scale[:, None] * a[:n]
        if len(self.tied_rows):
            per_row = np.repeat(self.tied_scale[:, None] * a[n:], np.diff(self.tied_indptr), axis=0)
            u[self.tied_rows] += self.weight[self.tied_rows, None] * per_row
        if self.centred:
            for lo, hi in zip(self.indptr[:-1], self.indptr[1:], strict=True):
                w = self.weight[lo:hi]
                if hi > lo:
                    u[lo:hi] -= np.outer(w / w.sum(), u[lo:hi].sum(axis=0))
        return u

    def dense(self, first_query: int, last_query: int) -> Float64Array:
        """``L`` of the given queries as a dense matrix (for one query, or in tests)."""
        size = int(self.indptr[last_query] - self.indptr[first_query])
        factor = self.apply(np.eye(size), first_query, last_query)
        return factor.T @ factor

    def _center_inplace(self, block: FloatArray, first_query: int, last_query: int) -> None:
        start = self.indptr[first_query]
        bounds = (self.indptr[first_query : last_query + 1] - start).tolist()
        weight = self.weight[start : self.indptr[last_query]]
        for lo, hi in itertools.pairwise(bounds):
            if hi > lo:
                w = weight[lo:hi]
                rows = block[lo:hi]
                # Equal rows must give exactly 0, not the rounding of their mean; two entries rule
                # most queries out.
                if rows[0, 0] == rows[-1, 0] and (rows == rows[0]).all():
                    rows[:] = 0.0
                    continue
                rows -= (w / w.sum()).astype(block.dtype) @ rows


def laplacian_factor(
    groups: QueryGroups,
    y: Float64Array,
    sample_weight: Float64Array | None = None,
    *,
    graph: str = "all",
    query_weight: str = "pair",
) -> LaplacianFactor:
    """Factor the block Laplacian of ``groups``; ``y`` and weights are in group order. O(n log n).

    ``graph`` names the pairs of a query to include: "all", "distinct" (of different grades), or
    "pointwise", which gives ``L = diag(w)``.
    """
    n = groups.n_samples
    weight = np.ones(n) if sample_weight is None else sample_weight
    none = np.zeros(0, dtype=np.int64)
    if graph == "pointwise":
        return LaplacianFactor(
            groups.indptr, weight, np.sqrt(weight), False, none, np.zeros(1, np.int64), none * 1.0
        )
    query = np.repeat(np.arange(groups.n_queries), groups.sizes)
    total = np.bincount(query, weights=weight, minlength=groups.n_queries)
    c = 1.0 / np.where(total > 0, total, 1.0) ** QUERY_POWERS[query_weight]
    if graph == "all":
        scale = np.sqrt(c[query] * weight * total[query])
        return LaplacianFactor(
            groups.indptr, weight, scale, True, none, np.zeros(1, np.int64), none * 1.0
        )
    by_grade = np.lexsort((y, query))
    new = np.ones(n, dtype=bool)
    new[1:] = (np.diff(y[by_grade]) != 0) | (np.diff(query[by_grade]) != 0)
    segment = np.cumsum(new) - 1
    segment_weight = np.bincount(segment, weights=weight[by_grade])
    segment_size = np.bincount(segment)
    diagonal = np.empty(n)
    diagonal[by_grade] = weight[by_grade] * (total[query[by_grade]] - segment_weight[segment])
    # A grade with one row adds (w phi)(w phi)': a diagonal term, so only shared grades need sums.
    alone = segment_size[segment] == 1
    diagonal[by_grade[alone]] += weight[by_grade[alone]] ** 2
    shared = segment_size > 1
    tied_indptr = np.concatenate([[0], np.cumsum(segment_size[shared])]).astype(np.int64)
    first_of_segment = by_grade[np.flatnonzero(new)]
    return LaplacianFactor(
        groups.indptr,
        weight,
        np.sqrt(c[query] * diagonal),
        True,
        by_grade[~alone].astype(np.int64),
        tied_indptr,
        np.sqrt(c[query[first_of_segment[shared]]]),
    )


@dataclass(frozen=True)
class SquaredLoss:
    """``sum_i w_i (y_i - f_i)^2``, or the sum over pairs ``((y_i - y_j) - (f_i - f_j))^2``."""

    # "all" pairs of a query, "distinct": those of different grades, or "pointwise": the grades
    # themselves
    graph: str
    # Unit of equal total weight: every "pair", every "document" or every "query".
    query_weight: str = "pair"
    intercept: bool = False  # whether a pointwise loss has an unpenalised intercept

    @property
    def takes_shift(self) -> bool:
        """Whether adding a constant to the scores of a query (or to all) keeps the loss."""
        return self.graph != "pointwise" or self.intercept

    def on(self, rows: FitData) -> Problem:
        """Build the loss for checked rows."""
        return Problem(
            rows.X,
            rows.y,
            rows.groups,
            rows.sample_weight,
            self.graph,
            self.query_weight,
            self.intercept,
        )


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, queries and pair graph of a squared ranking loss; y and weights in input order.

    For ``graph``, ``query_weight`` and ``intercept``, see :class:`SquaredLoss`.
    """

    X: Matrix
    y: Float64Array
    groups: QueryGroups
    sample_weight: Float64Array | None
    graph: str
    query_weight: str = "pair"
    intercept: bool = False

    def factor(self, rows: Int64Array | slice, groups: QueryGroups) -> LaplacianFactor:
        """Laplacian factor of the given rows, which are sorted by ``groups``."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        return laplacian_factor(
            groups, self.y[rows], weight, graph=self.graph, query_weight=self.query_weight
        )

    def pairs(self) -> float:
        """Weight of all ordered pairs, ``sum_q c_q W_q^2``."""
        weight = np.ones(self.X.shape[0]) if self.sample_weight is None else self.sample_weight
        totals = np.bincount(self.groups.codes(), weights=weight, minlength=self.groups.n_queries)
        return count_ordered_pairs(totals, self.query_weight)

    def piece(self, rows: Int64Array, groups: QueryGroups | None = None) -> Problem:
        """Problem on rows with known groups (None: one query); a view if they are consecutive."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        groups = QueryGroups.single(len(rows)) if groups is None else groups
        place: Any = rows
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
            place = slice(int(rows[0]), int(rows[-1]) + 1)
        return replace(self, X=self.X[place], y=self.y[rows], groups=groups, sample_weight=weight)

    def subset(self, rows: Int64Array) -> Problem:
        """The problem on some of the rows."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        return replace(
            self,
            X=self.X[rows],
            y=self.y[rows],
            groups=self.groups.take(rows),
            sample_weight=weight,
        )

    def parts(
        self, fold_queries: Sequence[Int64Array], chunk_rows: int, giant_rows: float = np.inf
    ) -> Iterator[RowPart]:
        """Yield chunks of whole queries by fold; queries above ``giant_rows`` come in pieces."""
        for fold, queries in enumerate(fold_queries):
            if self.graph == "pointwise":  # queries do not matter, so chunks may split them
                yield from self._pieces(fold, np.sort(self.groups.rows(queries)), chunk_rows, None)
                continue
            giant = self.groups.sizes[queries] > giant_rows
            for query in queries[giant].tolist():
                yield from self._pieces(fold, self.groups.rows(query), chunk_rows, query)
            rows, groups = self.groups.subset(queries[~giant])
            for first, last in query_chunks(groups.indptr, chunk_rows):
                lo, hi = groups.indptr[first], groups.indptr[last]
                inner = QueryGroups(
                    groups.indptr[first : last + 1] - lo, None, ids=groups.ids[first:last]
                )
                yield RowPart(fold, int(hi - lo), partial(self.piece, rows[lo:hi], inner))

    def _pieces(self, fold: int, rows: Int64Array, size: int, query: Any) -> Iterator[RowPart]:
        for lo in range(0, len(rows), size):
            some = rows[lo : lo + size]
            yield RowPart(fold, len(some), partial(self.piece, some), query)


@dataclass(frozen=True, eq=False)
class RowPart:
    """Rows that are processed together."""

    fold: int
    n_rows: int
    take: Callable[[], Problem]  # returns the rows in group order
    query: Any = None  # identifier of the query if the rows are a piece of one; None: whole queries
    is_edge: bool = False  # whether other parts may hold more rows of the query


def query_factor(weight: float, query_weight: str) -> float:
    """``c_q`` of a query of the given total weight."""
    return float(weight) ** -QUERY_POWERS[query_weight]


def count_ordered_pairs(totals: Float64Array, query_weight: str) -> float:
    """``sum_q c_q W_q^2`` of queries of the given total weights."""
    totals = totals[totals > 0]
    return float((totals ** (2 - QUERY_POWERS[query_weight])).sum())
