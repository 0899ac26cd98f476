"""Relevance by position in the lists of one system, and the scores that follow from it.

A rule estimates numbers from judged lists and turns ranks into scores with them. Ranks count from
1. Equality with ranx 0.3.21 is tested for each rule; :class:`rankwise.fusion.ProbabilisticFusion`
names the differences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from rankwise.typing import Float64Array, Int64Array

# Precision at these ranks is what trec_eval reports.
TREC_CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
# Segments of 10 * 2^(k - 1) - 5 documents, k = 1, 2, ….
EXPONENTIAL_CUTS = tuple(10 * (2**k - 1) - 5 * k for k in range(1, 11))
# Stand-in for a probability of 0, and for the complement of a probability of 1.
_LEAST = 1e-3
LEAST_LOG_ODDS = float(np.log(_LEAST / (1 - _LEAST)))


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


def _average_precision(lists: SystemLists, settings: SegmentSettings) -> Float64Array:
    order = np.lexsort((lists.rank, lists.query))
    query, relevant = lists.query[order], lists.relevant[order]
    seen = np.cumsum(relevant)
    first = np.searchsorted(query, query)  # row of the same query
    precision = (seen - (seen - relevant)[first]) / lists.rank[order]
    sums = np.bincount(query, weights=relevant * precision, minlength=lists.n_queries)
    return np.array([(sums / np.maximum(lists.n_relevant, 1.0)).mean()])


def _by_reciprocal_rank(
    estimates: Float64Array, lists: SystemLists, settings: SegmentSettings
) -> Float64Array:
    return estimates[0] / lists.rank


def _precision_at_positions(lists: SystemLists, settings: SegmentSettings) -> Float64Array:
    seen = np.bincount(lists.rank - 1)
    hits = np.bincount(lists.rank - 1, weights=lists.relevant, minlength=len(seen))
    return hits / np.maximum(seen, 1)


def _at_position(
    estimates: Float64Array, lists: SystemLists, settings: SegmentSettings
) -> Float64Array:
    return _look_up(estimates, lists.rank - 1, 0.0)


def _window_mean(
    estimates: Float64Array, lists: SystemLists, settings: SegmentSettings
) -> Float64Array:
    start = np.maximum(lists.rank - 1 - settings.window, 0)
    stop = np.minimum(lists.rank + settings.window, lists.length)
    sums = np.concatenate([[0.0], np.cumsum(estimates)])
    last = len(estimates)
    return (sums[np.minimum(stop, last)] - sums[np.minimum(start, last)]) / (stop - start)


def _precision_in_equal_segments(lists: SystemLists, settings: SegmentSettings) -> Float64Array:
    size = -(-lists.length // settings.n_segments)
    segment = (lists.rank - 1) // size
    share = lists.relevant / np.minimum(size, lists.length - segment * size)
    sums = np.bincount(segment, weights=share, minlength=settings.n_segments)
    return sums / lists.n_queries


def _by_segment_number(
    estimates: Float64Array, lists: SystemLists, settings: SegmentSettings
) -> Float64Array:
    segment = (lists.rank - 1) // -(-lists.length // settings.n_segments)
    return estimates[segment] / (segment + 1)


def _precision_between_cuts(lists: SystemLists, settings: SegmentSettings) -> Float64Array:
    segment = _segment(lists.rank, settings.cuts)
    hits = np.bincount(segment, weights=lists.relevant, minlength=len(settings.cuts) + 1)[:-1]
    return hits / (np.diff(settings.cuts, prepend=0) * lists.n_queries)


def _times_score(
    estimates: Float64Array, lists: SystemLists, settings: SegmentSettings
) -> Float64Array:
    found = _look_up(estimates, _segment(lists.rank, settings.cuts), 0.0)
    return found * (lists.score + 1.0)


def _log_odds(lists: SystemLists, settings: SegmentSettings) -> Float64Array:
    probability = _precision_between_cuts(lists, settings)
    probability = np.where(probability == 0.0, _LEAST, probability)
    # Shares of ties add up to 1 with a rounding error.
    is_sure = probability > 1.0 - 1e-12
    return np.log(probability / np.where(is_sure, _LEAST, 1.0 - probability))


def _odds_of_segment(
    estimates: Float64Array, lists: SystemLists, settings: SegmentSettings
) -> Float64Array:
    return _look_up(estimates, _segment(lists.rank, settings.cuts), LEAST_LOG_ODDS)


def _segment(rank: Int64Array, cuts: Sequence[int]) -> Int64Array:
    """Segment number of each rank; the number of cuts if the rank is beyond all of them."""
    return np.searchsorted(np.asarray(cuts), rank)


def _look_up(estimates: Float64Array, place: Int64Array, beyond: float) -> Float64Array:
    return np.append(estimates, beyond)[np.minimum(place, len(estimates))]


POSITION_RULES: dict[str, PositionRule] = {
    "bayes": PositionRule(_log_odds, _odds_of_segment, LEAST_LOG_ODDS, TREC_CUTS),
    "map": PositionRule(_average_precision, _by_reciprocal_rank),
    "pos": PositionRule(_precision_at_positions, _at_position),
    "prob": PositionRule(_precision_in_equal_segments, _by_segment_number),
    "seg": PositionRule(_precision_between_cuts, _times_score, cuts=EXPONENTIAL_CUTS),
    "slide": PositionRule(_precision_at_positions, _window_mean),
}
