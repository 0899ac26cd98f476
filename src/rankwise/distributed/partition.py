"""What a worker does: the statistics of one partition of the rows."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from rankwise.checks.rows import FitData
from rankwise.distributed.planning import MEASURES, QUERIES, Plan, as_stream
from rankwise.distributed.sums import Edge, GramEdge, Measured, Range, ScoreEdge, Statistics
from rankwise.groups import QueryGroups
from rankwise.rankers.streamed import HeldOut, feed
from rankwise.runtime.threads import Lanes
from rankwise.solvers.least_squares import gram, path_selection
from rankwise.solvers.least_squares.gram import Problem
from rankwise.solvers.least_squares.stream_grams import StreamGrams
from rankwise.streams.checked_stream import CheckedStream
from rankwise.streams.query_cutting import QueryCutter, RowCutter, join_ids
from rankwise.typing import Float64Array


def partition_statistics(
    job: Plan, number: int, rows: Any, *, n_threads: int | None = 1
) -> Statistics:
    """Sums over the rows of one partition; rows go in, p^2 numbers a fold come out.

    Parameters
    ----------
    job : Plan
    number : int
        Place of the partition among all: 0, 1, … in the order of the rows. A query may go on from
        the end of one partition to the start of the next.
    rows : chunk, iterable of chunks or RowStream
        See :func:`rankwise.stream` for what a chunk may be. May be empty.
    n_threads : int or None
        Of this call; None: one for each CPU.

    Returns
    -------
    Statistics

    Raises
    ------
    ValueError, TypeError
        As ``fit`` raises for rows in memory.

    Notes
    -----
    O(n p^2) for n rows and p columns. Blocks of float32 rows are multiplied in float64 here, so
    that the cut into partitions does not show in the result. Comes back: the sums of each fold,
    those of the first and the last query (for each grade of it, where pairs of different grades
    count), and one id per query; from the round of a search that measures, sums of the measure and
    the scores of these two queries.

    Examples
    --------
    >>> from functools import reduce
    >>> import numpy as np
    >>> from rankwise import PairwiseELM
    >>> from rankwise.distributed import merge, partition_statistics, plan, solve
    >>> X = np.random.default_rng(0).random((60, 3))
    >>> y, qid = np.floor(3 * X[:, 0]), np.arange(60) // 12
    >>> parts = [(X[lo : lo + 20], y[lo : lo + 20], qid[lo : lo + 20]) for lo in (0, 20, 40)]
    >>> job = plan(PairwiseELM(10, C=1.0, random_state=0), parts[0])
    >>> sums = [partition_statistics(job, number, rows) for number, rows in enumerate(parts)]
    >>> ranker = solve(job, reduce(merge, sums)).ranker
    >>> whole = PairwiseELM(10, C=1.0, random_state=0).fit(X, y, qid=qid)
    >>> bool(np.allclose(ranker.predict(X), whole.predict(X), rtol=1e-10))
    True
    """
    stream = CheckedStream(copy.deepcopy(job.ranker), as_stream(rows), like=job.problem.X)
    steps = {QUERIES: _queries, MEASURES: _measures}
    with Lanes(n_threads) as lanes:
        return steps.get(job.stage, _sums)(job, number, stream, lanes)


def _queries(job: Plan, number: int, stream: CheckedStream, lanes: Lanes) -> Statistics:
    ids, n_samples = stream.queries()
    return Statistics(
        job.stage,
        job.problem,
        None,
        [],
        (Range(number, number),),
        {number: ids},
        n_samples=n_samples,
        has_qid=stream.has_qid,
    )


def _sums(job: Plan, number: int, stream: CheckedStream, lanes: Lanes) -> Statistics:
    sums = StreamGrams(job.design.maps, job.n_folds, lanes, n_rows=0)
    cutter: RowCutter | QueryCutter
    if job.problem.graph == "pointwise":
        cutter = RowCutter(job.problem, None if job.ids is None else job.folds, sums)
    else:
        cutter = QueryCutter(
            job.problem,
            job.folds,
            sums,
            chunk_rows=gram.CHUNK_ROWS,
            giant_rows=gram.GIANT_ROWS,
            edges=True,
        )
    ids: list[np.ndarray[Any, Any]] = []
    feed(cutter, _noting_ids(stream.chunks(), ids))
    totals: list[list[Any]] = list(sums.grams())
    edges = tuple(Edge(query, fold, GramEdge(opened)) for query, fold, opened in sums.edges)
    if job.problem.graph != "pointwise":
        ids = [cutter.numbers.ids()]
    return _statistics(job, number, stream, _distinct(ids), totals, edges)


def _noting_ids(chunks: Iterator[FitData], ids: list[np.ndarray[Any, Any]]) -> Iterator[FitData]:
    for data in chunks:
        ids.append(data.groups.ids)
        yield data


def _distinct(parts: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """Ids in order of appearance, each once."""
    ids = join_ids(parts) if parts else np.zeros(0, dtype=np.int64)
    return QueryGroups.from_qid(ids, len(ids)).ids


def _measures(job: Plan, number: int, stream: CheckedStream, lanes: Lanes) -> Statistics:
    sink = _HeldOutParts(job, lanes)
    cutter = QueryCutter(
        job.problem,
        job.folds,
        sink,
        chunk_rows=path_selection.MEASURED_ROWS,
        giant_rows=None,
        edges=True,
    )
    feed(cutter, stream.chunks())
    nothing = np.zeros(len(job.penalties))
    totals = [[Measured(nothing + mean.sums, nothing + mean.counts) for mean in sink.means()]]
    ids = cutter.numbers.ids()
    return _statistics(job, number, stream, ids, totals, tuple(sink.edges))


def _statistics(
    job: Plan,
    number: int,
    stream: CheckedStream,
    ids: np.ndarray[Any, Any],
    totals: list[list[Any]],
    edges: tuple[Edge, ...],
) -> Statistics:
    return Statistics(
        job.stage,
        job.problem,
        job.measure,
        totals,
        (Range(number, number, edges),),
        {number: ids},
        {number: stream.fingerprint},
        stream.n_samples,
        stream.graded,
        stream.has_qid,
    )


class _HeldOutParts(HeldOut):
    """Measures whole queries; keeps the scores of the first and the last one."""

    def __init__(self, job: Plan, lanes: Lanes) -> None:
        super().__init__(job.design, job.read_outs, job.measure, lanes)
        self.edges: list[Edge] = []
        self._parts: list[tuple[Float64Array, Float64Array]] = []

    def piece(self, fold: int, rows: Problem) -> None:
        self._parts.append((rows.y, self.scores(rows.X, fold)))

    def close(self, fold: int, edge: Any) -> None:
        y, scores = (np.concatenate(parts) for parts in zip(*self._parts, strict=True))
        self.edges.append(Edge(edge, fold, ScoreEdge(y, scores)))
        self._parts = []
