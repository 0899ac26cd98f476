"""Gram statistics of rows that arrive in batches, in memory that does not grow with them.

Queries add, so a batch's finished queries go straight into the total. The query of a batch's last
row stays open, because its rows may go on in the next batch: of it are kept, for each grade k,
``A_k = sum w z z'``, ``s_k = sum w z`` and ``W_k = sum w`` with ``z = (phi, y)`` about a fixed
shift, from which its block is

``c (sum_k (W - [distinct] W_k) A_k - s s' + [distinct] sum_k s_k s_k')``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankwise.solvers.gram import (
    CHUNK_ROWS,
    BlockMap,
    Gram,
    Problem,
    fold_grams,
    query_factor,
    total,
)
from rankwise.typing import Float64Array, Int64Array

# One p x p matrix is kept for each grade of the open query.
MOST_OPEN_GRADES = 64


@dataclass(eq=False)
class OpenQuery:
    """Sums of a query that may go on, one slot a grade (one for all where all pairs count)."""

    shift: Float64Array
    products: dict[float, Float64Array] = field(default_factory=dict)
    sums: dict[float, Float64Array] = field(default_factory=dict)
    weights: dict[float, float] = field(default_factory=dict)

    def add(self, z: Float64Array, w: Float64Array, grades: Float64Array) -> None:
        """Add rows ``z`` of shape (n_rows, p + 1)."""
        z = z - self.shift
        for grade in np.unique(grades).tolist():
            rows = grades == grade
            weighted = z[rows] * w[rows, None]
            product = z[rows].T @ weighted
            if grade in self.products:
                self.products[grade] += product
                self.sums[grade] += weighted.sum(axis=0)
                self.weights[grade] += float(w[rows].sum())
            else:
                self.products[grade] = product
                self.sums[grade] = weighted.sum(axis=0)
                self.weights[grade] = float(w[rows].sum())
        if len(self.products) > MOST_OPEN_GRADES:
            raise ValueError(
                f'graph="distinct" streams at most {MOST_OPEN_GRADES} grades of a query that '
                f'continues over batches, got {len(self.products)}. Use graph="all", or pass whole '
                "queries with their qid."
            )

    def gram(self, graph: str, query_weight: str) -> Gram:
        """Statistics of the rows so far."""
        weight = sum(self.weights.values())
        s = np.sum(list(self.sums.values()), axis=0)
        block = -np.outer(s, s)
        for grade, product in self.products.items():
            if graph == "distinct":
                block += (weight - self.weights[grade]) * product
                block += np.outer(self.sums[grade], self.sums[grade])
            else:
                block += weight * product
        block *= query_factor(weight, query_weight)
        p = len(s) - 1
        pairs = query_factor(weight, query_weight) * weight**2
        return Gram(block[:p, :p], block[:p, p], float(block[p, p]), np.zeros(p), 0.0, 0.0, pairs)


@dataclass(eq=False)
class RunningGram:
    """Statistics of all batches so far for one block map.

    Attributes
    ----------
    closed : Gram
        Queries that are complete.
    open_query : OpenQuery or None
    open_id : object
        Id of the open query; None where batches come without qid.
    seen : set
        Ids of complete queries.
    """

    closed: Gram
    open_query: OpenQuery | None = None
    open_id: Any = None
    seen: set[Any] = field(default_factory=set)

    def update(self, problem: Problem, phi: BlockMap, *, has_qid: bool) -> Gram:
        """Add a batch and return the statistics of everything so far."""
        if problem.graph == "pointwise":
            self.closed = self.closed + total(fold_grams(problem, phi))
            return self.closed
        groups = problem.groups
        ids = [_plain(value) for value in groups.ids] if has_qid else [None]
        self._check_ids(ids)
        last = int(groups.codes()[-1])
        for query in range(groups.n_queries):
            if ids[query] == self.open_id and self.open_query is not None:
                self._extend(problem, phi, groups.rows(query))
                if query != last:
                    self._close(problem)
        if self.open_query is not None and ids[last] != self.open_id:
            self._close(problem)
        finished = np.array(
            [q for q in range(groups.n_queries) if q != last and ids[q] not in self.seen],
            dtype=np.int64,
        )
        if len(finished):
            self.closed = self.closed + fold_grams(problem, phi, [finished])[0]
            self.seen.update(ids[query] for query in finished)
        if self.open_query is None:
            self._extend(problem, phi, groups.rows(last))
            self.open_id = ids[last]
        assert self.open_query is not None
        return self.closed + self.open_query.gram(problem.graph, problem.query_weight)

    def _check_ids(self, ids: list[Any]) -> None:
        streaming_without = self.open_query is not None and self.open_id is None
        if self.open_query is not None and streaming_without != (ids == [None]):
            raise ValueError(
                "qid must be given in every batch or in none. Without it all rows are one query."
            )
        for value in ids:
            if value in self.seen:
                raise ValueError(
                    f"qid {value!r} came back after other queries. Pass the rows of a query in "
                    "one batch, or in consecutive batches at the end of one and the start of the "
                    "next."
                )

    def _extend(self, problem: Problem, phi: BlockMap, rows: Int64Array) -> None:
        w = problem.sample_weight
        for lo in range(0, len(rows), CHUNK_ROWS):
            part = rows[lo : lo + CHUNK_ROWS]
            y = problem.y[part]
            z = np.column_stack([phi.rows(problem.X[part]), y])
            if self.open_query is None:
                self.open_query = OpenQuery(z.mean(axis=0))
            grades = y if problem.graph == "distinct" else np.zeros(len(y))
            self.open_query.add(z, np.ones(len(y)) if w is None else w[part], grades)

    def _close(self, problem: Problem) -> None:
        assert self.open_query is not None
        self.closed = self.closed + self.open_query.gram(problem.graph, problem.query_weight)
        self.seen.add(self.open_id)
        self.open_query, self.open_id = None, None


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
