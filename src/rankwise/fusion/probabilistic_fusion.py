"""ProbabilisticFusion: scores from the precision of each system at each position.

A rule estimates numbers from the judged lists of a system, and turns ranks (from 1) into scores
with them.

References
----------
.. [1] Aslam & Montague, "Models for metasearch", SIGIR 2001 (bayes).
.. [2] Lillis, Toolan, Collier & Dunnion, "ProbFuse: a probabilistic approach to data fusion",
   SIGIR 2006 (prob).
.. [3] Shokouhi, "Segmentation of search engine results for effective data-fusion", ECIR 2007 (seg).
.. [4] Lillis, Toolan, Collier & Dunnion, "Extending probabilistic data fusion using sliding
   windows", ECIR 2008 (slide).
.. [5] Lillis, Zhang, Toolan, Collier, Leonard & Dunnion, "Estimating probabilities for effective
   data fusion", SIGIR 2010 (map, pos).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.parameter_constraints import Hidden, StrOptions, minimum
from rankwise.datasets.readers.trec import Qrels
from rankwise.fusion.judged_fusion import JudgedFusion
from rankwise.fusion.run_pool import (
    NORMALIZATIONS,
    RunPool,
    ScoreScaling,
    check_judged,
    convert_to_pool,
    find_stretches,
    normalize,
    sum_systems,
)
from rankwise.runtime.finite import names_its_class, restore_on_error
from rankwise.runtime.renames import SPELLINGS
from rankwise.structure.state_rules import Names, Rule, floats
from rankwise.typing import Float64Array, Int64Array

# Segments of 10 * 2^(k - 1) - 5 documents, k = 1, 2, ….
EXPONENTIAL_CUTS = tuple(10 * (2**k - 1) - 5 * k for k in range(1, 11))
# Stand-in for a probability of 0, and for the complement of a probability of 1.
_LEAST = 1e-3
LEAST_LOG_ODDS = float(np.log(_LEAST / (1 - _LEAST)))


@dataclass(frozen=True)
class PositionRule:
    """Estimates for a system, and the score of a returned document.

    ``estimate`` maps the judged lists of a system and settings to an array of numbers. ``score``
    maps these numbers, lists and settings to a score per document.
    """

    estimate: Callable[[SystemLists, SegmentSettings], Float64Array]
    score: Callable[[Float64Array, SystemLists, SegmentSettings], Float64Array]
    missing: float = 0.0  # score of a document that the system did not return
    # Default last ranks of the segments; empty: the rule has none.
    cuts: tuple[int, ...] = field(default=())


# Precision at these ranks is what trec_eval reports.
TREC_CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)


def _average_precision(lists: SystemLists, settings: SegmentSettings) -> Float64Array:
    order = np.lexsort((lists.rank, lists.query))
    query, relevant = lists.query[order], lists.relevant[order]
    seen = np.cumsum(relevant)
    first = np.searchsorted(query, query)  # row of the same query
    precision = (seen - (seen - relevant)[first]) / lists.rank[order]
    sums = np.bincount(query, weights=relevant * precision, minlength=lists.n_queries)
    return np.array([(sums / np.maximum(lists.n_relevant, 1.0)).mean()])


def _log_odds(lists: SystemLists, settings: SegmentSettings) -> Float64Array:
    probability = _precision_between_cuts(lists, settings)
    probability = np.where(probability == 0.0, _LEAST, probability)
    # Shares of ties add up to 1 with a rounding error.
    is_sure = probability > 1.0 - 1e-12
    return np.log(probability / np.where(is_sure, _LEAST, 1.0 - probability))


def _precision_at_positions(lists: SystemLists, settings: SegmentSettings) -> Float64Array:
    seen = np.bincount(lists.rank - 1)
    hits = np.bincount(lists.rank - 1, weights=lists.relevant, minlength=len(seen))
    return hits / np.maximum(seen, 1)


def _precision_between_cuts(lists: SystemLists, settings: SegmentSettings) -> Float64Array:
    segment = _segment(lists.rank, settings.cuts)
    hits = np.bincount(segment, weights=lists.relevant, minlength=len(settings.cuts) + 1)[:-1]
    return hits / (np.diff(settings.cuts, prepend=0) * lists.n_queries)


def _precision_in_equal_segments(lists: SystemLists, settings: SegmentSettings) -> Float64Array:
    size = -(-lists.length // settings.n_segments)
    segment = (lists.rank - 1) // size
    share = lists.relevant / np.minimum(size, lists.length - segment * size)
    sums = np.bincount(segment, weights=share, minlength=settings.n_segments)
    return sums / lists.n_queries


def _share_over_segment(
    estimates: Float64Array, lists: SystemLists, settings: SegmentSettings
) -> Float64Array:
    segment = (lists.rank - 1) // -(-lists.length // settings.n_segments)
    return estimates[segment] / (segment + 1)


def _window_mean(
    estimates: Float64Array, lists: SystemLists, settings: SegmentSettings
) -> Float64Array:
    start = np.maximum(lists.rank - 1 - settings.window, 0)
    stop = np.minimum(lists.rank + settings.window, lists.length)
    sums = np.concatenate([[0.0], np.cumsum(estimates)])
    last = len(estimates)
    return (sums[np.minimum(stop, last)] - sums[np.minimum(start, last)]) / (stop - start)


POSITION_RULES: dict[str, PositionRule] = {
    "bayes": PositionRule(
        _log_odds,
        lambda odds, lists, settings: _look_up(
            odds, _segment(lists.rank, settings.cuts), LEAST_LOG_ODDS
        ),
        LEAST_LOG_ODDS,
        TREC_CUTS,
    ),
    "map": PositionRule(
        _average_precision, lambda precision, lists, settings: precision[0] / lists.rank
    ),
    "pos": PositionRule(
        _precision_at_positions,
        lambda share, lists, settings: _look_up(share, lists.rank - 1, 0.0),
    ),
    "prob": PositionRule(_precision_in_equal_segments, _share_over_segment),
    "seg": PositionRule(
        _precision_between_cuts,
        lambda share, lists, settings: (
            _look_up(share, _segment(lists.rank, settings.cuts), 0.0) * (lists.score + 1.0)
        ),
        cuts=EXPONENTIAL_CUTS,
    ),
    "slide": PositionRule(_precision_at_positions, _window_mean),
}


class ProbabilisticFusion(JudgedFusion):
    """Fusion by the share of relevant documents at each position, learnt from judged queries.

    The fused score of a document is a sum over systems. Each rule below gives the term of a system
    that returned the document at rank r of a list of n documents. All judged queries count for
    every system:

    - "map" ``MAP / r``, the system's mean AP over its rank;
    - "pos" ``P(r)``, the share of relevant documents at rank r, over the lists that long;
    - "slide" the mean of ``P`` over the ranks r - window, …, r + window of the list;
    - "prob" ``P_k / k`` for the segment k of r when every list is cut into ``n_segments`` segments
      of ``ceil(n / n_segments)`` documents; ``P_k`` is the mean over the queries of the share of
      relevant documents in the segment;
    - "seg" ``P_k (x + 1)`` for the normalised score x and segments that end at ``cuts``;
    - "bayes" ``log(P_k / (1 - P_k))`` for segments that end at ``cuts``, with 0.001 for 0.

    ``P_k`` of "seg" and "bayes" is the number of relevant documents in the segment over its size,
    averaged over the queries.

    Documents with equal scores in a system share their ranks: each counts as the share of relevant
    documents among them when the numbers are estimated, and gets the mean of their terms when lists
    are fused.

    Parameters
    ----------
    rule : {"bayes", "map", "pos", "prob", "seg", "slide"}, default="slide"
    n_segments : int >= 1, default=25
        Segments of "prob".
    window : int >= 0, default=5
        Ranks on either side of "slide".
    cuts : ascending sequence of int >= 1, optional
        Last ranks of the segments of "seg" and "bayes". None: 5, 20, 55, 130, … of segments of
        ``10 * 2^(k - 1) - 5`` documents for "seg", trec_eval's 5, 10, 15, 20, 30, 100, 200, 500
        and 1000 for "bayes".
    scaling : str, default="min_max"
        Normalisation of the scores for "seg", see :func:`rankwise.fusion.normalize`.

    Attributes
    ----------
    systems_ : ndarray of shape (n_systems,) of str
        The systems, in the order of the estimates.
    estimates_ : ndarray of shape (n_systems, n_estimates)
        ``P(r)`` by rank, ``P_k`` or its log odds by segment, or MAP.

    Notes
    -----
    O(n log n) time and O(n) memory for n documents of the pool. A document that a system did not
    return adds 0, for "bayes" the log odds of 0.001. So does a rank beyond the last segment, or
    beyond the longest list of the judged queries. Documents without a judgement are not relevant.

    Scores equal those of ranx 0.3.21 with these differences: ranx ranks equal scores in the order
    in which it meets them, ends the segments of "seg" at 5,
    15, 35, 75, …, which Shokouhi gives as their sizes (pass ``cuts`` for the same), and does not
    define "bayes" beyond rank 1000.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.datasets import Qrels
    >>> from rankwise.fusion import ProbabilisticFusion
    >>> bm25 = {"q1": {"d1": 9.5, "d2": 7.0}, "q2": {"d3": 4.0, "d1": 3.5}}
    >>> encoder = {"q1": {"d2": 0.8, "d3": 0.3}, "q2": {"d1": 0.9, "d2": 0.4}}
    >>> qrels = Qrels(np.array(["q1", "q2"]), np.array(["d2", "d1"]), np.array([1, 1]))
    >>> fusion = ProbabilisticFusion("pos").fit({"bm25": bm25, "encoder": encoder}, qrels)
    >>> fusion.estimates_
    array([[0., 1.],
           [1., 0.]])
    """

    estimates_: Float64Array
    systems_: NDArray[np.str_]

    _tag = "probabilistic"
    _structure: ClassVar[dict[str, Rule]] = {
        "systems_": Names("n_systems"),
        "estimates_": floats("n_systems", "n_estimates"),
    }
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "rule": [StrOptions(set(POSITION_RULES))],
        "n_segments": [minimum(1)],
        "window": [minimum(0)],
        "cuts": ["array-like", None],
        "scaling": [StrOptions(set(NORMALIZATIONS)), Hidden(StrOptions({*SPELLINGS}))],
    }

    @names_its_class
    def __init__(
        self,
        rule: Literal["bayes", "map", "pos", "prob", "seg", "slide"] = "slide",
        *,
        n_segments: int = 25,
        window: int = 5,
        cuts: Sequence[int] | None = None,
        scaling: ScoreScaling = "min_max",
    ) -> None:
        self.rule = rule
        self.n_segments = n_segments
        self.window = window
        self.cuts = cuts
        self.scaling: ScoreScaling = scaling

    def _select_judged(
        self, runs: Any, qrels: Qrels, systems: Sequence[str] | None
    ) -> tuple[RunPool, RunPool]:
        self._validate_params()
        pool = convert_to_pool(runs, systems)
        check_judged(pool, qrels)
        return pool, pool.take(np.flatnonzero(np.isin(pool.qid, np.unique(qrels.qid))))

    def _learn(self, systems: Sequence[str], rows: RunPool, qrels: Qrels) -> Self:
        grades, _ = rows.grades(qrels)
        counts = Counter(qrels.qid[qrels.relevance > 0].tolist())
        n_relevant = np.array([counts[query] for query in rows.groups.ids.tolist()], dtype=float)
        rule, settings = self._rule()
        lists = _lists(rows, rows.scores, (grades > 0).astype(np.float64), n_relevant)
        found = [rule.estimate(ranking, settings) for ranking in lists]
        estimates = np.zeros((len(found), max(map(len, found))))
        for row, values in zip(estimates, found, strict=True):
            row[: len(values)] = values
        with restore_on_error(self):
            self.estimates_, self.systems_ = estimates, np.array(systems)
        return self

    def _scores(self, pool: RunPool) -> Float64Array:
        rule, settings = self._rule()
        values = normalize(pool, self.scaling) if self.rule == "seg" else pool.scores
        lists = _lists(pool, values, np.zeros(len(pool)), np.zeros(pool.groups.n_queries))
        parts = np.full(pool.ranks.shape, rule.missing)
        with np.errstate(over="ignore", invalid="ignore"):  # pool.run refuses what overflowed
            for column, (ranking, estimates) in enumerate(zip(lists, self.estimates_, strict=True)):
                found = _mean_of_ties(ranking.tie, rule.score(estimates, ranking, settings))
                parts[pool.ranks[:, column] > 0, column] = found
            return sum_systems(parts)

    def _rule(self) -> tuple[PositionRule, SegmentSettings]:
        rule = POSITION_RULES[self.rule]
        cuts = np.asarray(rule.cuts if self.cuts is None else self.cuts)
        if rule.cuts and (
            cuts.ndim != 1 or cuts.dtype.kind not in "iu" or (np.diff(cuts, prepend=0) < 1).any()
        ):
            raise ValueError(f"cuts must be ascending whole numbers >= 1, got {self.cuts!r}.")
        return rule, SegmentSettings(self.n_segments, self.window, tuple(cuts.tolist()))


def _lists(
    pool: RunPool, values: Float64Array, relevant: Float64Array, n_relevant: Float64Array
) -> list[SystemLists]:
    """Lists of each system: the rows of the pool that it returned."""
    codes, found = pool.groups.codes(), []
    lengths = np.repeat(pool.n_returned, pool.groups.sizes, axis=0)
    for column in range(len(pool.systems)):
        rows = pool.ranks[:, column] > 0
        query, shared = codes[rows], pool.ranks[rows, column]
        order = np.lexsort((shared, query))
        rank, tie = np.empty(len(order), dtype=np.int64), np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order)) - np.searchsorted(query[order], query[order]) + 1
        _, sizes = find_stretches(query[order], shared[order])
        tie[order] = np.repeat(np.arange(len(sizes)), sizes)
        length, score = lengths[rows, column], values[rows, column]
        share = _mean_of_ties(tie, relevant[rows])
        found.append(SystemLists(query, rank, length, tie, score, share, n_relevant))
    return found


def _mean_of_ties(tie: Int64Array, values: Float64Array) -> Float64Array:
    """Mean over the documents of each tie, for each of them."""
    sizes = np.bincount(tie)
    return (np.bincount(tie, values, len(sizes)) / np.maximum(sizes, 1))[tie]


@dataclass(frozen=True, eq=False)
class SystemLists:
    """The documents that one system returned; arrays without a shape are (n_documents,)."""

    query: Int64Array  # number of the query
    rank: Int64Array  # from 1; documents with equal scores have different ranks
    length: Int64Array  # number of documents in the list of the document
    tie: Int64Array  # number of the stretch of equal scores in one list
    score: Float64Array  # normalised
    # Share of relevant documents among those with the same score; 0 where nothing is judged.
    relevant: Float64Array
    n_relevant: Float64Array  # (n_queries,), judged relevant documents, returned or not

    @property
    def n_queries(self) -> int:
        """Number of queries, also those for which the system returned nothing."""
        return len(self.n_relevant)


@dataclass(frozen=True)
class SegmentSettings:
    """Numbers of segments, halves of windows, last ranks of segments."""

    n_segments: int
    window: int
    cuts: tuple[int, ...]


def _segment(rank: Int64Array, cuts: Sequence[int]) -> Int64Array:
    """Segment number of each rank; the number of cuts if the rank is beyond all of them."""
    return np.searchsorted(np.asarray(cuts), rank)


def _look_up(estimates: Float64Array, place: Int64Array, beyond: float) -> Float64Array:
    return np.append(estimates, beyond)[np.minimum(place, len(estimates))]
