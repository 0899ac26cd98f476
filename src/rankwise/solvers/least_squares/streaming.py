"""Gram statistics of rows that arrive in batches, in memory that does not grow with them.

Statistics are additive over queries, so the finished queries of a batch go straight into the total.
The query of the last row stays open, because it may continue in the next batch. For this query, the
sums of :class:`rankwise.solvers.least_squares.statistics.OpenQuery` are kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from rankwise.losses.squared_loss import Problem
from rankwise.solvers.least_squares import gram
from rankwise.solvers.least_squares.gram import BlockMap, accumulate
from rankwise.solvers.least_squares.statistics import Gram, OpenQuery
from rankwise.streams.checked_stream import group_rows
from rankwise.streams.cutter import Cutter, plain_id
from rankwise.structure.rules import Instance, Optional, Plain, Rule, require


@dataclass(eq=False)
class RunningGram:
    """Statistics of all batches so far for one block map."""

    _structure: ClassVar[dict[str, Rule]] = {
        "closed": Instance((Gram,)),
        "open_query": Optional(Instance((OpenQuery,))),
        "open_id": Plain(),
        "seen": Plain(),
    }

    closed: Gram  # queries that are complete
    open_query: OpenQuery | None = None
    open_id: Any = None  # id of the open query; None if batches have no qid
    seen: set[Any] = field(default_factory=set)  # ids of complete queries

    def update(self, problem: Problem, phi: BlockMap, *, has_qid: bool) -> Gram:
        """Add a batch and return the statistics of everything so far."""
        ids = [plain_id(value) for value in problem.groups.ids] if has_qid else [None]
        goes_on = self.open_query is not None and self.open_id in ids
        if problem.graph != "pointwise":
            self._check_ids(ids)
            problem = group_rows(problem, self.open_id)
        cutter = Cutter(
            problem,
            chunk_rows=gram.CHUNK_ROWS,
            giant_rows=gram.GIANT_ROWS,
            # The first query may have begun earlier, the last may go on; rows of a pointwise loss
            # are independent.
            edges=(goes_on, problem.graph != "pointwise"),
        )
        n_threads = None if len(problem.y) * phi.n_features_out > 1e6 else 1
        maps = [(phi, problem.query_weight)]
        sums = accumulate(cutter.cut([problem]), maps, n_rows=0, n_threads=n_threads)[0]
        for query, _, opened in sums.edges:
            query_id = query if has_qid else None
            if self.open_query is not None and query_id == self.open_id:
                self.open_query.merge_inplace(opened)
                continue
            if self.open_query is not None:
                # Another query has begun, so the open one is complete.
                self.closed = self._sum_all(problem)
                self.seen.add(self.open_id)
            self.open_query, self.open_id = opened, query_id
        self.seen.update(ids if problem.graph != "pointwise" else [])
        # The open query may still come; it counts as seen only when it is complete.
        self.seen.discard(self.open_id)
        self.closed = self.closed + sums.folds[0]
        return self._sum_all(problem)

    def _sum_all(self, problem: Problem) -> Gram:
        if self.open_query is None:
            return self.closed
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
