"""Squared loss of the grades, or of their differences over the pairs of each query, on rows.

The rows come whole or cut into parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from rankwise.groups import QueryGroups
from rankwise.losses.laplacian import LaplacianFactor, laplacian_factor
from rankwise.rows.fit_data import FitData
from rankwise.runtime.threads import query_chunks
from rankwise.typing import Float64Array, Int64Array, Matrix


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
                    groups.indptr[first : last + 1] - lo, None, groups.ids[first:last]
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
    return float(weight) ** -{"pair": 0, "document": 1, "query": 2}[query_weight]


def count_ordered_pairs(totals: Float64Array, query_weight: str) -> float:
    """``sum_q c_q W_q^2`` of queries of the given total weights."""
    totals = totals[totals > 0]
    return float((totals ** {"pair": 2, "document": 1, "query": 0}[query_weight]).sum())
