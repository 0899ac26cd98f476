"""Gram statistics of rows that arrive in batches, in memory that does not grow with them.

Queries add, so a batch's finished queries go straight into the total. The query of a batch's last
row stays open, because its rows may go on in the next batch: of it the sums of
:class:`rankwise.solvers.least_squares.statistics.OpenQuery` are kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from rankwise.solvers.least_squares.gram import (
    CHUNK_ROWS,
    BlockMap,
    Problem,
    add_piece,
    fold_grams,
    total,
)
from rankwise.solvers.least_squares.statistics import Gram, OpenQuery
from rankwise.structure.rules import Optional, Part, Plain, Rule, require
from rankwise.typing import Int64Array


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

    _structure: ClassVar[dict[str, Rule]] = {
        "closed": Part((Gram,)),
        "open_query": Optional(Part((OpenQuery,))),
        "open_id": Plain(),
        "seen": Plain(),
    }

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

    def _check_structure(self) -> None:
        n = len(self.closed.rhs)
        shift = self.closed.rhs if self.open_query is None else self.open_query.shift
        require(len(shift) == n, "open_query.shift", f"have {n} entries", len(shift))
        require(type(self.seen) is set, "seen", "be a set", self.seen)

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
        product = None
        for lo in range(0, len(rows), CHUNK_ROWS):
            piece = problem.piece(rows[lo : lo + CHUNK_ROWS], None)
            if self.open_query is None:
                self.open_query = OpenQuery.about(phi(piece.X), piece.y)
            product = add_piece(self.open_query, piece, phi, precise=True, product=product)

    def _close(self, problem: Problem) -> None:
        assert self.open_query is not None
        self.closed = self.closed + self.open_query.gram(problem.graph, problem.query_weight)
        self.seen.add(self.open_id)
        self.open_query, self.open_id = None, None


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
