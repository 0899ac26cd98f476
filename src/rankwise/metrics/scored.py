"""Labels and scores of a block of whole queries, with results that several measures share.

The rows are cut into blocks of whole queries. Each block runs through all measures on one thread,
so rows are ranked once and stay in the cache. The value of a query depends only on that query, so
it is bit-identical for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rankwise.groups import QueryGroups
from rankwise.kernels.ranking_agreement import (
    compare_pairs,
    expect_relevance_sums,
    expect_stops,
    mean_tied_values,
)
from rankwise.kernels.topk import (
    add_discounted,
    best_grades,
    rank_long_rows,
    rank_rows,
    relevance_sums,
)
from rankwise.runtime.jit import are_few, is_ready, run_few
from rankwise.runtime.threads import available_threads, query_chunks, thread_map
from rankwise.typing import Float64Array, Int64Array

# Sums of 2**y overflow float64 for larger grades, so such integers are treated as real targets.
LARGEST_GRADE = 1000
# Less work than this stays on one thread.
SMALL_NANOSECONDS = 2e6
BLOCKS_PER_THREAD = 2
ROWS_PER_BLOCK = 65_536  # of a search for ties
# Rows up to which NumPy sorts in less time than compiled code takes to load, and rows that it sorts
# in the time of a step of plain Python.
FEW_ROWS, ROWS_PER_STEP = 4096, 8
# Cached properties that depend only on labels and sizes.
_BY_LABELS = {"sizes", "largest", "lowest_grade", "highest_grade", "integral"}


class GroupMeasure(Protocol):
    """Interface that :func:`compute` requires of a measure."""

    @property
    def nanoseconds_per_row(self) -> float: ...

    def prepare(self, scored: ScoredGroups) -> None: ...

    def from_groups(self, scored: ScoredGroups) -> Float64Array: ...


class Ranked(NamedTuple):
    """The first rows of each query in some order: query q has ``values[top[q]:top[q + 1]]``."""

    values: Float64Array
    top: Int64Array


class ScoredGroups:
    """Rows of whole queries in group order.

    Attributes
    ----------
    y, scores : ndarray of shape (n_rows,), float64, C-contiguous, finite
    indptr : ndarray of shape (n_queries + 1,), int64
        Query q holds rows ``indptr[q]:indptr[q + 1]``; ``indptr[0] == 0``.
    missing : ndarray of shape (n_rows,), bool, or None
        True for rows that a run did not retrieve, whose score is minus infinity.
    judged : ndarray of shape (n_rows,), bool, or None
        True for rows with a judgement; None if that is unknown.
    pooled : ndarray of shape (n_rows,), bool, or None
        True for rows that were to be judged, with or without a judgement; None: the judged ones.
    """

    def __init__(self, y: Float64Array, scores: Float64Array, indptr: Int64Array) -> None:
        self.y = y
        self.scores = scores
        self.indptr = indptr
        self.missing: NDArray[np.bool_] | None = None
        self.judged: NDArray[np.bool_] | None = None
        self.pooled: NDArray[np.bool_] | None = None
        self._depth: dict[str, int] = {}
        self._ranked: dict[str, Ranked] = {}
        self._tops: dict[int, Int64Array] = {}
        self._relevance: dict[tuple[str, float, int], Float64Array] = {}

    @property
    def n_queries(self) -> int:
        """Number of queries in the block."""
        return len(self.indptr) - 1

    @cached_property
    def sizes(self) -> Int64Array:
        """Number of rows per query, shape (n_queries,)."""
        return np.diff(self.indptr)

    @cached_property
    def largest(self) -> int:
        """Number of rows of the largest query."""
        return int(self.sizes.max(initial=0))

    @cached_property
    def lowest_grade(self) -> float:
        """Smallest label; 0 if there are no rows."""
        return float(self.y.min()) if self.y.size else 0.0

    @cached_property
    def highest_grade(self) -> float:
        """Largest label; 0 if there are no rows."""
        return float(self.y.max()) if self.y.size else 0.0

    @cached_property
    def integral(self) -> bool:
        """Whether all labels are integers from 0 to 1000."""
        return (
            self.lowest_grade >= 0
            and self.highest_grade <= LARGEST_GRADE
            and bool(np.array_equal(np.rint(self.y), self.y))
        )

    def with_scores(self, scores: Float64Array) -> ScoredGroups:
        """The same rows with other scores; cached results that depend only on labels are kept."""
        other = ScoredGroups(self.y, scores, self.indptr)
        other._depth, other._tops, other.judged = self._depth, self._tops, self.judged
        other.pooled = self.pooled
        other._ranked = {what: self._ranked[what] for what in self._ranked if what == "ideal"}
        for name in _BY_LABELS & self.__dict__.keys():
            other.__dict__[name] = self.__dict__[name]
        return other

    @cached_property
    def condensed(self) -> ScoredGroups:
        """The judged rows."""
        assert self.judged is not None  # checked by the measure that reads them
        kept, down_to = self.judged, np.append(0, np.cumsum(self.judged))
        other = ScoredGroups(self.y[kept], self.scores[kept], down_to[self.indptr])
        other.judged = other.pooled = np.ones(len(other.y), dtype=bool)
        other.missing = None if self.missing is None else self.missing[kept]
        return other

    def need(self, what: str, depth: int | None) -> None:
        """Announce the depth (None: all) at which a tie rule, or "ideal", will be read."""
        wanted, known = depth or 0, self._depth.get(what)
        self._depth[what] = 0 if 0 in (wanted, known) else max(wanted, known or 0)

    def ranked(self, ties: str) -> Ranked:
        """Labels by descending score, query by query, down to the announced depth.

        Parameters
        ----------
        ties : str, one of "stable", "docid", "worst" and "best"
            Order of rows with equal scores: input order, reverse input order, ascending label, or
            descending label. The mean over all orders is no ranking: see :meth:`tie_means`.
        """
        if ties not in self._ranked:
            self._ranked[ties] = self.rank(self.y, ties, self._depth.get(ties, 0))
        return self._ranked[ties]

    def rank(
        self, values: Float64Array, ties: str = "stable", depth: int = 0, missing: float = 0.0
    ) -> Ranked:
        """``values`` of the rows by descending score; ``missing`` for rows not retrieved.

        Only the first ``depth`` rows of each query are returned (0: all rows). With "mean", each
        value is the mean over its tied rows, and the depth is the announced one.
        """
        if ties == "mean":
            return self.tie_means(values, np.empty(0))
        if self.missing is not None:
            values = np.where(self.missing, missing, values)
        if ties == "stable":
            return self._rank(self.scores, values, depth)
        # Stable ranking of rows that are already in the wanted order of ties.
        if ties == "docid":
            scores, rows = self._last_first
            return self._rank(scores, values[rows], depth)
        before = {"worst": -self.y, "best": self.y}[ties]
        scores = self._rank(before, self.scores).values
        return self._rank(scores, self._rank(before, values).values, depth)

    def sum_ranked(
        self, values: Float64Array, ties: str, weights: Float64Array, depth: int
    ) -> Float64Array:
        """Sum per query of ranked values times the weights of their ranks, down to ``depth``."""
        out = np.empty(self.n_queries)
        ranked = self.rank(values, ties, depth)
        self.run(add_discounted, *ranked, np.empty(0), weights, False, depth, out)
        return out

    def ideal(self) -> Ranked:
        """Labels in descending order, query by query, down to the depth announced for "ideal"."""
        if "ideal" not in self._ranked:
            depth = self._depth.get("ideal", 0)
            if self.integral and not self._has_few:
                top = self._top(depth)
                best = np.empty(top[-1])
                best_grades(self.y, self.indptr, int(self.highest_grade) + 1, top, best)
                self._ranked["ideal"] = Ranked(best, top)
            else:
                # + 0.0, because a grade of -0.0 is a 0
                self._ranked["ideal"] = self._rank(self.y, self.y + 0.0, depth)
        return self._ranked["ideal"]

    def rank_by_label(self, values: Float64Array, depth: int = 0) -> Ranked:
        """``values`` of the rows by descending label."""
        return self._rank(self.y, values, depth)

    def relevance(self, ties: str, rel: float, depth: int) -> Float64Array:
        """Five numbers per query about the rows of grade >= ``rel``, shape (n_queries, 5).

        Their number; their number within the first ``depth`` ranks (0: all); the sum of the
        precisions at those ranks; the reciprocal of the first of those ranks (0: none); whether
        there is one. With ``ties="mean"``, the expectations of the last four.
        """
        key = (ties, rel, depth)
        if key not in self._relevance:
            sums = np.empty((self.n_queries, 5))
            weights = discounts("reciprocal", self.largest)
            last = (float(rel), depth, weights, sums)
            if ties == "mean":
                order = self._row_order
                self.run(expect_relevance_sums, *order, self.scores, self.y, self.indptr, *last)
            elif self.missing is not None and rel <= 0:  # 0 would count as relevant
                grades = np.where(self.missing, -np.inf, self.y)
                ranked = self.rank(grades, ties, self._depth.get(ties, 0), missing=-np.inf)
                self.run(relevance_sums, *ranked, self.y, self.indptr, *last)
            else:
                self.run(relevance_sums, *self.ranked(ties), self.y, self.indptr, *last)
            self._relevance[key] = sums
        return self._relevance[key]

    def tie_means(self, values: Float64Array, table: Float64Array) -> Ranked:
        """Ranked values, each the mean over its tied rows, down to the depth of ties "mean".

        Parameters
        ----------
        values : ndarray of shape (n_rows,)
            Values of the rows; rows that were not retrieved get 0.
        table : ndarray
            The value of a row is ``table[values[row]]``; empty: ``values[row]``.
        """
        order, top = self._row_order
        out = np.empty(top[-1])
        self.run(mean_tied_values, order, top, self.scores, values, table, self.indptr, out)
        return Ranked(out, top)

    def expected_stops(self, values: Float64Array, table: Float64Array, depth: int) -> Float64Array:
        """Expected sum of P(stop at rank r) / r per query; ``values`` as in :meth:`tie_means`."""
        out = np.empty(self.n_queries)
        weights = discounts("reciprocal", self.largest)
        data = self.scores, values, table, self.indptr
        steps = self.squares
        if self._has_few:  # only tied rows take up to the square of their number
            steps = len(self.y) + int((np.diff(self.tie_starts) ** 2).sum())
        self.run(expect_stops, *self._row_order, *data, depth, weights, out, cost=steps)
        return out

    def run(self, kernel: Callable[..., Any], *arguments: Any, cost: int | None = None) -> None:
        """Call a kernel, compiled or for few rows not; by default it takes one step per row."""
        run_few(kernel, len(self.y) if cost is None else cost, *arguments)

    @cached_property
    def squares(self) -> int:
        """Sum over the queries of their squared numbers of rows."""
        return int(self.sizes @ self.sizes)

    def count(self, rel: float) -> Int64Array:
        """Number of rows of grade >= ``rel`` per query."""
        return self.sum(self.y >= rel)

    def sum(self, rows: NDArray[np.bool_]) -> Int64Array:
        """Number of rows per query for which a mask is True."""
        down_to = np.concatenate([[0], np.cumsum(rows)])
        return np.diff(down_to[self.indptr])

    @cached_property
    def pairs(self) -> PairCounts:
        """Counts of pairs by agreement of label and score."""
        return count_pairs(self.y, self.scores, self.indptr)

    @property
    def _has_few(self) -> bool:
        """Whether NumPy may rank the rows."""
        return len(self.y) <= FEW_ROWS and not is_ready(rank_rows)

    @cached_property
    def tie_starts(self) -> Int64Array:
        """Starts, in ranked order, of the blocks of tied rows within a query; n_rows at the end."""
        ranked = self._rank(self.scores, self.scores).values
        new = np.ones(len(ranked) + 1, dtype=bool)
        np.not_equal(ranked[1:], ranked[:-1], out=new[1:-1])
        new[self.indptr] = True
        return np.flatnonzero(new)

    @property
    def retrieved_sizes(self) -> Int64Array:
        """Number of retrieved rows per query."""
        if self.missing is None:
            return self.sizes
        return self.sizes - np.diff(np.append(0, np.cumsum(self.missing))[self.indptr])

    @cached_property
    def _row_order(self) -> Ranked:
        """Row numbers by descending score, down to one rank below the depth of ties "mean".

        The further row tells whether the last ties go on. Without it, every query would be scanned
        for the rest of them.
        """
        rows, depth = np.arange(len(self.y), dtype=np.float64), self._depth.get("mean", 0)
        return self._rank(self.scores, rows, depth + 1 if depth else 0)

    @cached_property
    def _last_first(self) -> tuple[Float64Array, Int64Array]:
        """Scores with each query in reverse order, and the reversed rows."""
        ends = np.repeat(self.indptr[:-1] + self.indptr[1:] - 1, self.sizes)
        rows = ends - np.arange(len(ends))
        return self.scores[rows], rows

    def _top(self, depth: int) -> Int64Array:
        """Query boundaries when only the first ``depth`` rows (0: all) of each query are kept."""
        if depth == 0 or depth >= self.largest:
            return self.indptr
        if depth not in self._tops:
            self._tops[depth] = np.append(0, np.cumsum(np.minimum(self.sizes, depth)))
        return self._tops[depth]

    def _rank(self, scores: Float64Array, values: Float64Array, depth: int = 0) -> Ranked:
        depth = min(depth, self.largest)  # the kernel takes memory for as many rows
        top = self._top(depth)
        if self._has_few and are_few(rank_rows, len(scores) // ROWS_PER_STEP):
            query = np.repeat(np.arange(self.n_queries), self.sizes)
            rows = np.lexsort((-scores, query))
            if top is not self.indptr:
                rows = rows[np.arange(len(rows)) - self.indptr[query] < depth]
            return Ranked(values[rows].astype(np.float64, copy=False), top)
        out = np.empty(top[-1])
        left = np.empty(self.n_queries, dtype=np.int64)
        n_left = rank_rows(scores, values, self.indptr, depth, top, out, left)
        if n_left:
            rank_long_rows(scores, values, self.indptr, left[:n_left], top, out)
        return Ranked(out, top)


def compute(
    measures: Sequence[GroupMeasure],
    y: NDArray[Any],
    scores: NDArray[Any],
    groups: QueryGroups,
    n_threads: int | None = None,
    *,
    may_miss: bool = False,
    judged: NDArray[np.bool_] | None = None,
    pooled: NDArray[np.bool_] | None = None,
) -> list[Float64Array]:
    """Values per query of every measure, from finite rows in input order.

    ``n_threads=None`` uses one thread for little work and all threads for more. With ``may_miss``,
    a score may be minus infinity (not retrieved). ``judged`` is False for rows without a judgement,
    and None if that is unknown. ``pooled`` is True for rows that were to be judged, and None if
    these are the judged ones.
    """
    for name, array in (("y", y), ("scores", scores)):
        if array.shape != (groups.n_samples,):
            raise ValueError(
                f"{name} must have shape ({groups.n_samples},) as the groups do, "
                f"got {array.shape}. Pass one value per row."
            )
    if groups.n_queries == 0:
        return [np.empty(0) for _ in measures]
    indptr, order = groups.indptr, groups.order

    def block(bounds: tuple[int, int]) -> list[Float64Array] | None:
        first, last = bounds
        start, stop = indptr[first], indptr[last]
        rows = slice(start, stop) if order is None else order[start:stop]
        scored = ScoredGroups(
            # Read-only rows (a memory map) are copied, since a kernel would have to be compiled
            # for them as another type.
            np.require(y[rows], np.float64, ["C", "W"]),
            np.require(scores[rows], np.float64, ["C", "W"]),
            indptr[first : last + 1] - start,
        )
        if may_miss:
            scored.missing = scored.scores == -np.inf
        if judged is not None:
            scored.judged = judged[rows]
            scored.pooled = scored.judged if pooled is None else pooled[rows]
        if not _finite(scored):
            return None
        for measure in measures:  # all of them first: they rank the rows once, to the deepest rank
            measure.prepare(scored)
            if _reads_judged_only(measure):
                measure.prepare(scored.condensed)
        return [
            measure.from_groups(scored.condensed if _reads_judged_only(measure) else scored)
            for measure in measures
        ]

    if n_threads is None:
        slowest = max((measure.nanoseconds_per_row for measure in measures), default=0.0)
        small = groups.n_samples * slowest < SMALL_NANOSECONDS
        n_threads = 1 if small else available_threads()
    if n_threads == 1:
        parts = [block((0, groups.n_queries))]
    else:
        rows_per_block = -(-groups.n_samples // (n_threads * BLOCKS_PER_THREAD))
        parts = thread_map(block, query_chunks(indptr, rows_per_block), n_threads)
    done = [part for part in parts if part is not None]
    if len(done) < len(parts):
        _raise_not_finite(y, scores)
    return [np.concatenate(columns) for columns in zip(*done, strict=True)]


def have_ties(scores: Float64Array, groups: QueryGroups) -> bool:
    """Whether two rows of a query have equal scores."""

    def block(bounds: tuple[int, int]) -> bool:
        first, last = bounds
        start, stop = groups.indptr[first], groups.indptr[last]
        rows = slice(start, stop) if groups.order is None else groups.order[start:stop]
        part = np.require(scores[rows], np.float64, ["C", "W"])
        scored = ScoredGroups(part, part, groups.indptr[first : last + 1] - start)
        return len(scored.tie_starts) <= len(part)

    return any(thread_map(block, query_chunks(groups.indptr, ROWS_PER_BLOCK)))


def _reads_judged_only(measure: GroupMeasure) -> bool:
    return bool(getattr(measure, "judged_only", False))


def _finite(scored: ScoredGroups) -> bool:
    if not scored.y.size:
        return True
    # NaN spreads through minimum and maximum.
    ends = [scored.lowest_grade, scored.highest_grade, scored.scores.max()]
    if scored.missing is None:
        ends.append(scored.scores.min())
    elif ends[-1] == -np.inf:  # nothing was retrieved
        ends.pop()
    return bool(np.isfinite(ends).all())


def _raise_not_finite(y: NDArray[Any], scores: NDArray[Any]) -> None:
    for name, array, fix in (
        ("y", y, "Drop unjudged rows, or pass which rows are judged."),
        ("scores", scores, "Check the model's predictions."),
    ):
        finite = np.isfinite(array)
        if not finite.all():
            row = int(np.argmin(finite))
            raise ValueError(f"{name} must be finite, got {array[row]} at row {row}. {fix}")
    raise AssertionError("unreachable: no row is bad")


class PairCounts(NamedTuple):
    """Unordered pairs of each query, every array of shape (n_queries,)."""

    total: Int64Array  # all pairs
    tied_y: Int64Array  # with equal labels
    tied_f: Int64Array  # with equal scores
    tied_both: Int64Array  # with both equal
    misordered: Int64Array  # labels and scores differ in opposite directions
    misordered_gap: Float64Array  # sum of |y_i - y_j| over the misordered pairs
    tied_f_gap: Float64Array  # sum of |y_i - y_j| over the pairs with equal scores

    @property
    def ordered(self) -> Int64Array:
        """Number of pairs with different labels."""
        return self.total - self.tied_y

    @property
    def undecided(self) -> Int64Array:
        """Number of pairs with different labels and equal scores."""
        return self.tied_f - self.tied_both


def count_pairs(y: Float64Array, scores: Float64Array, indptr: Int64Array) -> PairCounts:
    """Count the pairs of every query; O(m log m) for a query of m rows.

    Labels and scores are (n_rows,), in group order, without NaN; indptr is (n_queries + 1,).
    """
    sizes = np.diff(indptr)
    counts = np.empty((len(sizes), 4), dtype=np.int64)
    gaps = np.empty((len(sizes), 2))
    run_few(compare_pairs, count_sort_steps(sizes), y, scores, indptr, counts, gaps)
    return PairCounts(sizes * (sizes - 1) // 2, *counts.T, *gaps.T)


def count_sort_steps(sizes: Int64Array) -> int:
    """Steps that a kernel takes to sort queries of these sizes, for :func:`run_few`."""
    # Large queries are sorted by eight bytes, each with its histogram of 256 counts.
    return int(np.where(sizes > 24, 4096 + 32 * sizes, sizes**2).sum())


def discounts(discount: str, n_ranks: int) -> Float64Array:
    """Weights of the ranks 1 … n_ranks, possibly of further ranks.

    ``"log2"``: 1 / log2(1 + r). ``"letor"``: 1 at rank 1 and 1 / log2(r) below it, so the second
    rank is not discounted. ``"reciprocal"``: 1 / r.
    """
    return _discounts(discount, 1 << max(4, int(n_ranks - 1).bit_length()))


@lru_cache(maxsize=16)
def _discounts(discount: str, n_ranks: int) -> Float64Array:
    ranks = np.arange(1, n_ranks + 1, dtype=np.float64)
    if discount == "log2":
        weights = 1.0 / np.log2(ranks + 1.0)
    elif discount == "letor":
        weights = 1.0 / np.log2(np.maximum(ranks, 2.0))
    else:
        weights = 1.0 / ranks
    weights.flags.writeable = False
    return weights
