"""Statistics of partitions of the rows, and the addition of two such statistics.

The pairs of a query couple its rows across partitions. The first and the last query of a range of
partitions may continue beyond it, so their sums (the edges) are kept apart from the total. When the
neighbouring partitions are added, inner edges are closed. A query may span any number of
partitions, and results may be merged in any order: ranges are stored until their neighbours arrive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rankwise.groups import QueryGroups
from rankwise.losses.squared_loss import Problem
from rankwise.metrics.measure import Measure
from rankwise.rows.row_hash import LeastRows
from rankwise.solvers.least_squares.statistics import Gram, OpenQuery
from rankwise.streams.cutter import QueryNumbers
from rankwise.streams.matched_columns import kind_of_ids, same_kind_of_ids
from rankwise.tuning.held_out import RunningMean, measure_per_query
from rankwise.typing import Float64Array


@dataclass(frozen=True, eq=False)
class Edge:
    """The first or the last query of a range of partitions."""

    query: Any
    fold: int


@dataclass(frozen=True, eq=False)
class GramEdge(Edge):
    """Sums of the rows of one query, for each block map."""

    opened: list[OpenQuery]

    def joined(self, other: GramEdge) -> GramEdge:
        """The sums of these rows and of those that follow."""
        both = [OpenQuery(query.shift, query.target_shift) for query in self.opened]
        for query, first, second in zip(both, self.opened, other.opened, strict=True):
            query.merge_inplace(first)
            query.merge_inplace(second)
        return replace(self, opened=both)

    def closed(self, problem: Problem, measure: Measure | None) -> Sequence[Gram]:
        """Contribution of the whole query to its fold, for each block map."""
        return [query.gram(problem.graph, problem.query_weight) for query in self.opened]


@dataclass(frozen=True, eq=False)
class ScoreEdge(Edge):
    """Labels (m,) and scores (m, n_penalties) of the rows of one query."""

    y: Float64Array
    scores: Float64Array

    def joined(self, other: ScoreEdge) -> ScoreEdge:
        """These rows and those that follow."""
        y, scores = ((self.y, other.y), (self.scores, other.scores))
        return replace(self, y=np.concatenate(y), scores=np.concatenate(scores))

    def closed(self, problem: Problem, measure: Measure | None) -> Sequence[RunningMean]:
        """Contribution of the whole query to its fold."""
        assert measure is not None
        mean = RunningMean()
        mean.add(measure_per_query(measure, self.y, self.scores, QueryGroups.single(len(self.y))))
        return [mean]


@dataclass(frozen=True, eq=False)
class Range:
    """Consecutive partitions, from number ``first`` to ``last`` inclusive.

    ``edges`` (of GramEdge or of ScoreEdge) is empty without rows, one edge if all rows are of one
    query, otherwise the first and the last query.
    """

    first: int
    last: int
    edges: tuple[Any, ...] = ()


@dataclass(frozen=True, eq=False)
class Statistics:
    """Statistics of some partitions; add them with :func:`merge`.

    Attributes
    ----------
    stage : str
        Stage in which the sums were computed, see :class:`rankwise.distributed.Plan`.
    problem : Problem
        Problem without rows: the pair graph and its weights.
    measure : Measure or None
    totals : list of list
        For each block map and fold, sums over complete queries.
    ranges : tuple of Range
        Disjoint, ascending and non-adjacent ranges.
    ids : dict of int to ndarray
        Query ids of each partition, in order of appearance (in any order for a pointwise problem).
    fingerprints : dict of int to str
        Fingerprint of the rows of each partition.
    n_samples : int
    graded : bool
        Whether all labels are relevance grades.
    has_qid : bool or None
        Whether query ids were passed; None without rows.
    draws : tuple of LeastRows
        Rows from which landmarks are taken.
    """

    stage: str
    problem: Problem
    measure: Measure | None
    totals: list[list[Any]]
    ranges: tuple[Range, ...]
    ids: dict[int, np.ndarray[Any, Any]] = field(default_factory=dict)
    fingerprints: dict[int, str] = field(default_factory=dict)
    n_samples: int = 0
    graded: bool = True
    has_qid: bool | None = None
    draws: tuple[LeastRows, ...] = ()

    def closed(self) -> list[list[Any]]:
        """Totals of all queries, once all partitions are there.

        Raises
        ------
        ValueError
            If a partition is missing, or the rows of a query are apart.
        """
        whole = self.ranges[0] if len(self.ranges) == 1 else None
        if whole is None or whole.first != 0:
            have = ", ".join(f"{part.first} to {part.last}" for part in self.ranges)
            raise ValueError(
                f"statistics of some partitions are missing, got those of {have}. Number the "
                "partitions 0, 1, … and merge the results of all."
            )
        if self.problem.graph != "pointwise":
            self.query_ids()
        return _add_closed(self, whole.edges)

    def query_ids(self) -> np.ndarray[Any, Any]:
        """All query ids in order of appearance.

        Raises
        ------
        ValueError
            If the rows of a query are apart.
        """
        numbers = QueryNumbers()
        filled = [number for number in sorted(self.ids) if len(self.ids[number])]
        if self.has_qid:
            kinds = [(f"partition {n}", kind_of_ids(self.ids[n])) for n in filled]
            same_kind_of_ids(kinds)
        for number in filled:
            numbers.add(self.ids[number])
        return numbers.ids()


def merge(a: Statistics, b: Statistics) -> Statistics:
    """Add the statistics of two sets of partitions, in any order.

    Parameters
    ----------
    a, b : Statistics
        Statistics of different partitions under the same plan; not modified.

    Returns
    -------
    Statistics

    Raises
    ------
    ValueError
        If a partition is in both, their plans differ, or only one has query ids.

    Notes
    -----
    O(p^2) for p columns, for each fold and edge. Memory stays small if neighbours are merged first;
    otherwise the edges of every range are kept.
    """
    if a.stage != b.stage:
        raise ValueError(
            f"merge takes statistics of one plan, got {a.stage!r} and {b.stage!r}. Compute all of "
            "a round with the same plan."
        )
    if None not in (a.has_qid, b.has_qid) and a.has_qid != b.has_qid:
        raise ValueError(
            "qid must be given in every partition or in none. Without it all rows are one query."
        )
    both = replace(
        a,
        totals=[
            [left + right for left, right in zip(*folds, strict=True)]
            for folds in zip(a.totals, b.totals, strict=True)
        ],
        ids={**a.ids, **b.ids},
        fingerprints={**a.fingerprints, **b.fingerprints},
        n_samples=a.n_samples + b.n_samples,
        graded=a.graded and b.graded,
        has_qid=b.has_qid if a.has_qid is None else a.has_qid,
        draws=tuple(left.joined(right) for left, right in zip(a.draws, b.draws, strict=True)),
    )
    ranges: list[Range] = []
    for part in sorted((*a.ranges, *b.ranges), key=lambda part: part.first):
        if ranges and part.first <= ranges[-1].last:
            raise ValueError(f"partition {part.first} is there twice. Number each one differently.")
        if ranges and part.first == ranges[-1].last + 1:
            met, inner = _meet(ranges.pop(), part)
            both = replace(both, totals=_add_closed(both, inner))
            part = met
        ranges.append(part)
    return replace(both, ranges=tuple(ranges))


def _meet(left: Range, right: Range) -> tuple[Range, tuple[Any, ...]]:
    """Merge two ranges of rows, and return the queries that are completed by it."""
    edges = [*left.edges, *right.edges]
    if left.edges and right.edges and left.edges[-1].query == right.edges[0].query:
        joined = left.edges[-1].joined(right.edges[0])
        edges = [*left.edges[:-1], joined, *right.edges[1:]]
    outer = (edges[0], edges[-1]) if len(edges) > 1 else tuple(edges)
    return Range(left.first, right.last, outer), tuple(edges[1:-1])


def _add_closed(statistics: Statistics, edges: Sequence[Any]) -> list[list[Any]]:
    """The totals with the given queries added."""
    totals = [list(folds) for folds in statistics.totals]
    for edge in edges:
        parts = edge.closed(statistics.problem, statistics.measure)
        for folds, part in zip(totals, parts, strict=True):
            folds[edge.fold] = folds[edge.fold] + part
    return totals
