"""Values of measures under completions of the judgements: grades for documents without one.

A completion gives every unjudged document either grade 0 or the highest grade, at least ``rel``.
All completions of a call are evaluated at once, as copies of the queries.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rankwise.groups import QueryGroups
from rankwise.metrics import Measure
from rankwise.metrics.tie_order import ScoredRows, tie_rule
from rankwise.selection.judging.judged_pool import JudgedPool
from rankwise.typing import Float64Array, Int64Array

# Ranks below the first _DEEPEST of a run weigh as much as that rank.
_DEEPEST = 1000
# Rows of all completions that are evaluated at once, at least two completions.
_ROWS_AT_ONCE = 500_000


@dataclass(frozen=True, eq=False)
class Completions:
    """A measure of two systems, under completions that favour either of them.

    Attributes
    ----------
    pool : JudgedPool
    measure : Measure
        Measure of the top that takes unjudged documents as not relevant.
    first, second : str
        Systems.
    """

    pool: JudgedPool
    measure: Measure
    first: str
    second: str

    @cached_property
    def advantage(self) -> Float64Array:
        """Weight of each document's rank in the first system less that in the second.

        The weight of a rank is the value of a list whose only relevant document has this rank.
        """
        return self._weights(self.first) - self._weights(self.second)

    @cached_property
    def is_read(self) -> NDArray[np.bool_]:
        """Documents to which one of the systems gives weight."""
        return (self._weights(self.first) > 0) | (self._weights(self.second) > 0)

    @cached_property
    def is_open(self) -> NDArray[np.bool_]:
        """Unjudged documents to which one of the systems gives weight."""
        return ~self.pool.judged & self.is_read

    @cached_property
    def n_counted(self) -> int:
        """Number of queries that count now, or could count with further judgements; at least 1."""
        counts = ~np.isnan(self.differences())
        counts[self.pool.query[self.is_open]] = True
        return max(int(counts.sum()), 1)

    def differences(self) -> Float64Array:
        """Difference of the systems per query, with unjudged documents not relevant.

        NaN if the query does not count for the measure.
        """
        none = np.full(len(self.pool.query), -1)
        return self._differences(none, np.zeros((1, self.pool.n_queries), dtype=np.int64))[0]

    def extremes(self) -> tuple[Float64Array, Float64Array]:
        """Lowest and highest difference per query over the completions.

        For every number of relevant documents, those of the highest advantage for either system are
        relevant; some numbers are left out if there are many. A query that does not count has the
        difference 0.
        """
        ends = [np.nan_to_num(self._differences(*self._favour(sign))) for sign in (-1.0, 1.0)]
        tried = np.concatenate(ends)
        return tried.min(axis=0), tried.max(axis=0)

    def _favour(self, sign: float) -> tuple[Int64Array, Int64Array]:
        """Order of the open documents that favours a system, and numbers of relevant ones to try.

        Returns
        -------
        place : ndarray of shape (n_documents,), int64
            Place of an open document among those of its query; -1 for others.
        counts : ndarray of shape (n_completions, n_queries), int64
        """
        gain, n_queries = sign * self.advantage, self.pool.n_queries
        chosen = np.flatnonzero(self.is_open)
        chosen = chosen[np.lexsort((-gain[chosen], self.pool.query[chosen]))]
        query = self.pool.query[chosen]
        n_open = np.bincount(query, minlength=n_queries)
        place = np.full(len(self.pool.query), -1)
        place[chosen] = np.arange(len(chosen)) - (np.cumsum(n_open) - n_open)[query]
        most = int(n_open.max(initial=0))
        rows = len(self._rows[self.first][0]) + len(self._rows[self.second][0])
        n_levels = min(max(_ROWS_AT_ONCE // max(rows, 1), 2), most + 1)
        # Not shares of n_open if there is a level for each number: every number occurs.
        levels = np.rint(np.linspace(0, most, n_levels)).astype(np.int64)[:, None]
        counts = np.minimum(levels, n_open)
        # The extreme of a measure that adds up the gains of documents.
        n_gains = np.bincount(query[gain[chosen] > 0], minlength=n_queries)
        return place, np.concatenate([counts, n_gains[None]])

    def _differences(self, place: Int64Array, counts: Int64Array) -> Float64Array:
        """Differences of shape (n_completions, n_queries)."""
        values = [self._values(name, place, counts) for name in (self.first, self.second)]
        return values[0] - values[1]

    def _values(self, system: str, place: Int64Array, counts: Int64Array) -> Float64Array:
        documents, scores = self._rows[system]
        query, place = self.pool.query[documents], place[documents]
        grades = np.tile(self.pool.grades[documents], (len(counts), 1))
        grades[(place >= 0) & (place < counts[:, query])] = self._top_grade
        sizes = np.tile(np.bincount(query, minlength=self.pool.n_queries), len(counts))
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        groups = QueryGroups(indptr, None, np.arange(len(sizes)))
        scores = np.tile(scores, len(counts))
        rows = ScoredRows(grades.ravel(), scores, groups, may_miss=True)
        # Rows are in trec_eval's order already.
        ordered = tie_rule(self.measure) == "docid"
        measure = replace(self.measure, **{"ties": "stable"}) if ordered else self.measure
        return rows.values([measure])[0].reshape(len(counts), -1)

    @cached_property
    def _rows(self) -> dict[str, tuple[Int64Array, Float64Array]]:
        """By system, documents and scores that its values depend on, query by query."""
        return {name: self._find_rows(name) for name in (self.first, self.second)}

    def _find_rows(self, system: str) -> tuple[Int64Array, Float64Array]:
        pool = self.pool
        rows, scores = pool.rows[system], pool.scores[system]
        retrieved = np.zeros(len(pool.query), dtype=bool)
        retrieved[rows] = True
        missed = np.flatnonzero(~retrieved & ((pool.grades > 0) | self.is_open))
        cutoff = getattr(self.measure, "cutoff", None)
        if cutoff is not None:  # rows below the cut-off count only if they tie with one above
            last = np.full(pool.n_queries, -np.inf)
            at_cutoff = pool.ranks(system)[rows] == cutoff
            last[pool.query[rows[at_cutoff]]] = scores[at_cutoff]
            read = scores >= last[pool.query[rows]]
            dropped = rows[~read]
            kept = (pool.grades[dropped] > 0) | self.is_open[dropped]
            missed = np.concatenate([missed, dropped[kept]])
            rows, scores = rows[read], scores[read]
        documents = np.concatenate([rows, missed])
        scores = np.concatenate([scores, np.full(len(missed), -np.inf)])
        order = np.argsort(pool.query[documents], kind="stable")
        return documents[order], scores[order]

    @property
    def _top_grade(self) -> float:
        """Grade of documents that become relevant."""
        return max(self.pool.highest_grade, float(getattr(self.measure, "rel", 0)))

    def _weights(self, system: str) -> Float64Array:
        """Weight of the rank of every document; 0 if the measure does not read it."""
        ranks, cutoff = self.pool.ranks(system), getattr(self.measure, "cutoff", None)
        weights = self._rank_weights[np.clip(ranks, 1, len(self._rank_weights)) - 1]
        is_read = (ranks > 0) & (cutoff is None or ranks <= cutoff)
        return np.where(is_read, weights, 0.0)

    @cached_property
    def _rank_weights(self) -> Float64Array:
        """Value of a list whose only relevant document has rank 1, 2, …"""
        deepest = max(int(self.pool.ranks(name).max()) for name in (self.first, self.second))
        n = min(getattr(self.measure, "cutoff", None) or deepest, deepest, _DEEPEST)
        grades = np.eye(n) * self._top_grade
        groups = QueryGroups(np.arange(n + 1) * n, None, np.arange(n))
        scores = np.tile(np.arange(n, 0, -1.0), n)
        measure = self.measure
        if tie_rule(measure) == "docid":
            measure = replace(measure, **{"ties": "stable"})
        values = ScoredRows(grades.ravel(), scores, groups).values([measure])[0]
        return np.nan_to_num(values)
