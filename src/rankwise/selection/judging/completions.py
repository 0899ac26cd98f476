"""Values of measures under completions of the judgements: grades for documents without one.

A completion gives every unjudged document either grade 0 or the highest grade, at least ``rel``.
All completions of a call are evaluated at once, as copies of the queries.

The certainty of the sign of a difference takes unjudged documents to be as relevant as judged ones.
The width of a query's bounds is shared among its unjudged documents in proportion to their
advantage. The difference is then the lowest one and the shares of the documents that favour the
first system and are relevant, or favour the second and are not. Relevance is beta-binomial within a
query: its chance is (r + a p) / (n + a) for r relevant ones among n judged documents that the pair
ranks, where p is the share over all queries and a = 5 judgements of weight. The sum over queries is
taken as normal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.judged_run import JudgedRun
from rankwise.datasets.readers.trec import Qrels, string_codes
from rankwise.groups import QueryGroups
from rankwise.metrics import Measure
from rankwise.metrics.evaluation import ScoredRows, tie_rule
from rankwise.typing import Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class JudgedPool:
    """Documents by query, then by id, whatever the order of the judgements."""

    qids: NDArray[np.str_]  # judged queries, in the order of the judgements
    # (n_documents,) each:
    query: Int64Array  # number of the query, ascending
    doc_ids: NDArray[np.str_]
    grades: Float64Array  # 0 if the document is unjudged or has a negative grade
    judged: NDArray[np.bool_]  # whether the document has a grade of at least 0
    # By system, its documents, query by query, in trec_eval's order, and their scores.
    rows: dict[str, Int64Array]
    scores: dict[str, Float64Array]
    highest_grade: float  # of any judged document, at least 1

    @property
    def n_queries(self) -> int:
        """Number of judged queries."""
        return len(self.qids)

    def ranks(self, system: str) -> Int64Array:
        """Rank of every document from 1, in trec_eval's order; 0 if it was not retrieved."""
        rows = self.rows[system]
        query = self.query[rows]
        first = np.searchsorted(query, np.arange(self.n_queries))
        ranks = np.zeros(len(self.query), dtype=np.int64)
        ranks[rows] = np.arange(len(rows)) - first[query] + 1
        return ranks


def pool_runs(runs: Mapping[str, JudgedRun], qrels: Qrels) -> JudgedPool:
    """Join the documents of judged runs with judgements, O(n log n) for n documents of both.

    ``runs`` are results of :func:`rankwise.datasets.judge` with ``qrels`` and ``all_queries=True``.
    """
    found = {name: run.retrieved for name, run in runs.items()}
    queries, n_queries = string_codes(qrels.qid, *_keep_found(runs, found, "qid"))
    documents, n_documents = string_codes(qrels.doc_ids, *_keep_found(runs, found, "doc_ids"))
    names = np.concatenate([qrels.doc_ids, *_keep_found(runs, found, "doc_ids")])
    place_of = _places_by_name(np.concatenate(documents), names, n_documents)
    documents = [place_of[codes] for codes in documents]
    keys = [q * n_documents + d for q, d in zip(queries, documents, strict=True)]
    pooled, first, place = np.unique(np.concatenate(keys), return_index=True, return_inverse=True)
    places = np.split(place, np.cumsum([len(part) for part in keys])[:-1])
    grades, judged = np.zeros(len(pooled)), np.zeros(len(pooled), dtype=bool)
    grades[places[0]] = np.maximum(qrels.relevance, 0)
    judged[places[0]] = qrels.relevance >= 0
    qids = np.empty(n_queries, dtype=qrels.qid.dtype)
    qids[queries[0]] = qrels.qid
    return JudgedPool(
        qids=qids,
        query=pooled // n_documents,
        doc_ids=names[first],
        grades=grades,
        judged=judged,
        rows=dict(zip(runs, places[1:], strict=True)),
        scores={name: run.scores[found[name]] for name, run in runs.items()},
        highest_grade=max(float(grades.max(initial=0.0)), 1.0),
    )


def pool_rows(
    data: RankingData, scores: Mapping[str, Float64Array], highest_grade: float
) -> JudgedPool:
    """Documents of judged rows and of ``data.missed``, ranked by several systems.

    ``scores`` (n_samples,) by system are minus infinity for a row that was not retrieved. Equal
    scores rank by descending document id, or in the order of the rows if there are none.
    ``highest_grade`` is that of the data of which these may be a part, at least 1. O(m n log n) for
    n rows and m systems.
    """
    n, missed = len(data), data.missed
    parts = [data] if missed is None else [data, missed]
    qid = np.concatenate([part.qid for part in parts])
    groups = QueryGroups.from_qid(qid, len(qid))
    codes = groups.codes()
    names = np.array([name for part in parts for name in _ids(part)], dtype=object)
    by_name = np.arange(len(qid))
    if data.doc_ids is not None:
        by_name = np.unique(names, return_inverse=True)[1]
    order = np.lexsort((by_name, codes))
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    ties = by_name[:n] * (1 if data.doc_ids is None else -1)
    rows = {}
    for name, of_rows in scores.items():
        ranked = np.lexsort((ties, -of_rows, codes[:n]))
        rows[name] = ranked[of_rows[ranked] > -np.inf]
    known = [np.ones(len(p), dtype=bool) if p.judged is None else p.judged for p in parts]
    return JudgedPool(
        qids=np.array(list(map(str, groups.ids.tolist())), dtype=object),
        query=codes[order],
        doc_ids=names[order],
        grades=np.maximum(np.concatenate([part.grades for part in parts]), 0.0)[order],
        judged=np.concatenate(known)[order],
        rows={name: number[ranked] for name, ranked in rows.items()},
        scores={name: scores[name][ranked] for name, ranked in rows.items()},
        highest_grade=highest_grade,
    )


def _ids(data: RankingData) -> list[str]:
    """Document ids, or the numbers of the rows without any."""
    return [str(row) for row in range(len(data))] if data.doc_ids is None else data.doc_ids.tolist()


def _places_by_name(codes: Int64Array, names: NDArray[np.str_], n_documents: int) -> Int64Array:
    """Place of every document in the order of the ids."""
    name_of = np.empty(n_documents, dtype=object)
    name_of[codes] = names
    places = np.empty(n_documents, dtype=np.int64)
    places[np.argsort(name_of)] = np.arange(n_documents)
    return places


def _keep_found(
    runs: Mapping[str, JudgedRun], found: Mapping[str, NDArray[np.bool_]], column: str
) -> Sequence[NDArray[np.str_]]:
    return [getattr(run, column)[found[name]] for name, run in runs.items()]


# Ranks below the first _DEEPEST of a run weigh as much as that rank.
_DEEPEST = 1000
# Rows of all completions that are evaluated at once, and in total.
_ROWS_AT_ONCE, _MOST_ROWS = 500_000, 20_000_000
# Unjudged documents of a query up to which every set of relevant ones is tried.
_MOST_ENUMERATED = 10
# Measures that add up gains of ranks, and those that divide such a sum by an ideal that only
# depends on the number of relevant documents.
_SUMS, _SHARES = ("DCG", "P", "RBP"), ("nDCG", "R")


@dataclass(frozen=True, eq=False)
class Completions:
    """A measure of two systems, under completions that favour either of them."""

    pool: JudgedPool
    measure: Measure  # of the top; takes unjudged documents as not relevant
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
        """Documents that one of the systems ranks within the cut-off."""
        return self._reads(self.first) | self._reads(self.second)

    @cached_property
    def is_open(self) -> NDArray[np.bool_]:
        """Unjudged documents that one of the systems ranks within the cut-off."""
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
        place = np.full(len(self.pool.query), -1)
        none = np.zeros((1, self.pool.n_queries), dtype=np.int64)
        first, second = (self._values(name, place, none) for name in (self.first, self.second))
        return (first - second)[0]

    def extremes(self) -> tuple[Float64Array, Float64Array]:
        """Bounds of the difference per query over the completions; 0 if a query does not count.

        They are attained if a query has few open documents, or if the measure adds up gains of
        ranks. Otherwise each system gets the completion that is best or worst for itself, with the
        same number of relevant documents; beyond a limit of rows, the bounds of the measure count.
        """
        n_open = np.bincount(self.pool.query[self.is_open], minlength=self.pool.n_queries)
        most = int(n_open.max(initial=0))
        n_rows = sum(len(rows) for rows, _ in self._rows.values())
        if most <= _MOST_ENUMERATED and n_rows << most <= _MOST_ROWS:
            place, sets = self._places(np.zeros(len(self.pool.query))), np.arange(1 << most)
            codes = np.minimum(sets[:, None], (1 << n_open) - 1)
            found = self._extremes(place, place, codes, are_sets=True)
            return found[1], found[0]
        if self.measure.name in _SUMS:
            ends = [self._sum_extreme(sign) for sign in (-1.0, 1.0)]
            return ends[0], ends[1]
        if n_rows * (most + 1) > _MOST_ROWS:
            low, high = self.measure.bounds
            end = np.where((n_open > 0), high - low, 0.0)
            now = np.where(n_open > 0, 0.0, np.nan_to_num(self.differences()))
            return now - end, now + end
        counts = np.minimum(np.arange(most + 1)[:, None], n_open)
        if self.measure.name in _SHARES:
            orders = [(self._places(sign * self.advantage),) * 2 for sign in (1.0, -1.0)]
        else:
            ranks = [self.pool.ranks(name).astype(np.float64) for name in (self.first, self.second)]
            depths = [np.where(rank > 0, rank, np.inf) for rank in ranks]
            best, worst = ([self._places(sign * d) for d in depths] for sign in (-1.0, 1.0))
            orders = [(best[0], worst[1]), (worst[0], best[1])]
            if not self.measure.greater_is_better:
                orders.reverse()
        (first, second), (other, opposite) = orders
        highest = self._extremes(first, second, counts)[0]
        return self._extremes(other, opposite, counts)[1], highest

    def _places(self, gain: Float64Array) -> Int64Array:
        """Position of each open document among those of its query by descending gain; else -1."""
        chosen = np.flatnonzero(self.is_open)
        chosen = chosen[np.lexsort((-gain[chosen], self.pool.query[chosen]))]
        query = self.pool.query[chosen]
        n_open = np.bincount(query, minlength=self.pool.n_queries)
        place = np.full(len(self.pool.query), -1)
        place[chosen] = np.arange(len(chosen)) - (np.cumsum(n_open) - n_open)[query]
        return place

    def _sum_extreme(self, sign: float) -> Float64Array:
        """Extreme of a measure that adds up gains: the documents that gain are relevant."""
        gain = sign * self.advantage
        place = self._places(gain)
        counts = np.bincount(self.pool.query, self.is_open & (gain > 0), self.pool.n_queries)
        return self._extremes(place, place, counts.astype(np.int64)[None])[0]

    def _extremes(
        self, first: Int64Array, second: Int64Array, codes: Int64Array, are_sets: bool = False
    ) -> tuple[Float64Array, Float64Array]:
        """Highest and lowest difference per query over completions, with a place order each.

        ``codes`` of shape (n_completions, n_queries) are numbers of relevant open documents, or
        sets of them as bits.
        """
        n_rows = max(map(len, (self._rows[name][0] for name in (self.first, self.second))))
        step = max(_ROWS_AT_ONCE // max(n_rows, 1), 1)
        high, low = np.full(self.pool.n_queries, -np.inf), np.full(self.pool.n_queries, np.inf)
        for start in range(0, len(codes), step):
            part = codes[start : start + step]
            found = self._values(self.first, first, part, are_sets)
            found = np.nan_to_num(found - self._values(self.second, second, part, are_sets))
            high, low = np.maximum(high, found.max(axis=0)), np.minimum(low, found.min(axis=0))
        return high, low

    def _values(
        self, system: str, place: Int64Array, codes: Int64Array, are_sets: bool = False
    ) -> Float64Array:
        documents, scores = self._rows[system]
        query, place = self.pool.query[documents], place[documents]
        grades = np.tile(self.pool.grades[documents], (len(codes), 1))
        codes = codes[:, query]
        is_relevant = (codes >> np.maximum(place, 0)) & 1 > 0 if are_sets else place < codes
        grades[is_relevant & (place >= 0)] = self._top_grade
        sizes = np.tile(np.bincount(query, minlength=self.pool.n_queries), len(codes))
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        groups = QueryGroups(indptr, None, ids=np.arange(len(sizes)))
        scores = np.tile(scores, len(codes))
        rows = ScoredRows(grades.ravel(), scores, groups, may_miss=True)
        # Rows are in trec_eval's order already.
        ordered = tie_rule(self.measure) == "docid"
        measure = replace(self.measure, **{"ties": "stable"}) if ordered else self.measure
        return rows.values([measure])[0].reshape(len(codes), -1)

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
        ranks = self.pool.ranks(system)
        weights = self._rank_weights[np.clip(ranks, 1, len(self._rank_weights)) - 1]
        weights = np.where(self._reads(system), weights, 0.0)
        if tie_rule(self.measure) != "mean":
            return weights
        rows, scores = self.pool.rows[system], self.pool.scores[system]
        is_first = (scores[1:] != scores[:-1]) | (np.diff(self.pool.query[rows]) > 0)
        tied = np.cumsum(np.append(0, is_first))[: len(rows)]
        weights[rows] = (np.bincount(tied, weights[rows]) / np.bincount(tied))[tied]
        return weights

    def _reads(self, system: str) -> NDArray[np.bool_]:
        ranks, cutoff = self.pool.ranks(system), getattr(self.measure, "cutoff", None)
        return (ranks > 0) & (cutoff is None or ranks <= cutoff)

    @cached_property
    def _rank_weights(self) -> Float64Array:
        """Value of a list whose only relevant document has rank 1, 2, …"""
        deepest = max(int(self.pool.ranks(name).max()) for name in (self.first, self.second))
        n = min(getattr(self.measure, "cutoff", None) or deepest, deepest, _DEEPEST)
        grades = np.eye(n) * self._top_grade
        groups = QueryGroups(np.arange(n + 1) * n, None, ids=np.arange(n))
        scores = np.tile(np.arange(n, 0, -1.0), n)
        measure = self.measure
        if tie_rule(measure) == "docid":
            measure = replace(measure, **{"ties": "stable"})
        values = ScoredRows(grades.ravel(), scores, groups).values([measure])[0]
        return np.nan_to_num(values)


# Judgements that the share over all queries weighs as much as.
PRIOR_JUDGEMENTS = 5.0


def share_widths(completions: Completions, low: Float64Array, high: Float64Array) -> Float64Array:
    """Share (n_documents,) of each in the width of the bounds of the mean, with its favour as sign.

    Above 0 if the document favours the first system, below 0 for the second; 0 if it is judged.
    ``low`` and ``high`` are the bounds (n_queries,).
    """
    query = completions.pool.query
    advantage = np.where(completions.is_open, completions.advantage, 0.0)
    total = np.bincount(query, np.abs(advantage), minlength=completions.pool.n_queries)
    width = (high - low) / completions.n_counted
    share = np.divide(width, total, out=np.zeros_like(width), where=total > 0)
    return advantage * share[query]


def expect_difference(
    completions: Completions, low: Float64Array, high: Float64Array
) -> tuple[float, float]:
    """Expected difference, and the chance that complete judgements give it this sign."""
    pool, n_queries = completions.pool, completions.pool.n_queries
    query = pool.query
    signed = share_widths(completions, low, high)
    known = completions.is_read & pool.judged
    n_judged = np.bincount(query, known, minlength=n_queries)
    n_relevant = np.bincount(query, known & (pool.grades > 0), minlength=n_queries)
    overall = (n_relevant.sum() + 1.0) / (n_judged.sum() + 2.0)
    weight = n_judged + PRIOR_JUDGEMENTS
    chance = (n_relevant + PRIOR_JUDGEMENTS * overall) / weight
    lowest = low.sum() / completions.n_counted + np.maximum(-signed, 0.0).sum()
    mean = lowest + (signed * chance[query]).sum()
    # Var = Σ s² v w / (w + 1) + (Σ s)² v / (w + 1) for v = chance (1 - chance): a common chance
    # makes the relevance of a query's documents correlated.
    spread = chance * (1.0 - chance) / (weight + 1.0)
    squares = np.bincount(query, signed**2, minlength=n_queries)
    sums = np.bincount(query, signed, minlength=n_queries)
    deviation = np.sqrt((spread * (weight * squares + sums**2)).sum())
    if deviation == 0:
        return float(mean), 0.5 if mean == 0 else 1.0
    return float(mean), float(norm.cdf(abs(mean) / deviation))
