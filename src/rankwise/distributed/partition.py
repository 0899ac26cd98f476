"""Task of a worker: the statistics of one partition of the rows."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from rankwise.distributed.planning import LANDMARKS, MEASURES, QUERIES, Plan, convert_to_stream
from rankwise.distributed.rows_of_partition import naming_partition
from rankwise.distributed.sums import GramEdge, Range, ScoreEdge, Statistics
from rankwise.groups import QueryGroups
from rankwise.losses.squared_loss import RowPart
from rankwise.rows.fit_data import FitData
from rankwise.runtime.threads import single_threaded_blas, thread_imap
from rankwise.solvers.least_squares import gram, path_selection
from rankwise.solvers.least_squares.path_selection import part_scores
from rankwise.streams.checked_stream import CheckedStream
from rankwise.streams.cutter import Cutter, join_ids
from rankwise.streams.row_stream import RowStream
from rankwise.tuning.held_out import RunningMean, measure_per_query
from rankwise.typing import Float64Array


def partition_statistics(
    job: Plan, number: int, rows: Any, *, n_threads: int | None = 1
) -> Statistics:
    """Sums over the rows of one partition, p^2 numbers per fold.

    Parameters
    ----------
    job : Plan
    number : int
        Index of the partition (0, 1, …) in row order. A query may continue from the end of one
        partition to the start of the next.
    rows : chunk, iterable of chunks or RowStream
        See :func:`rankwise.stream` for what a chunk may be. May be empty.
    n_threads : int or None
        Number of threads; None: one per CPU.

    Returns
    -------
    Statistics

    Raises
    ------
    ValueError, TypeError
        The errors that ``fit`` raises for rows in memory.

    Notes
    -----
    O(n p^2) for n rows and p columns. Blocks of float32 rows are multiplied in float64 here, so
    that the result does not depend on how the rows are partitioned. The result holds the sums of
    each fold, the sums of the first and last query, and one id per query. If only pairs of
    different grades count, the sums of these two queries are kept per grade. The measuring round of
    a search returns sums of the measure and the scores of these two queries.

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
    >>> bool(np.allclose(ranker.predict(X), whole.predict(X)))
    True
    """
    with naming_partition(number):
        return _statistics(job, number, convert_to_stream(rows), n_threads)


def _statistics(job: Plan, number: int, rows: RowStream, n_threads: int | None) -> Statistics:
    ranker = copy.deepcopy(job.ranker)
    stream = CheckedStream(ranker, rows, like=job.problem.X, columns=job.columns)
    known = Statistics(job.stage, job.problem, job.measure, [], (Range(number, number),))
    if job.stage == QUERIES:
        ids, n_samples = stream.queries()
        return replace(known, ids={number: ids}, n_samples=n_samples, has_qid=stream.has_qid)
    if job.stage == LANDMARKS:
        draws = copy.deepcopy(job.draws)
        for data in stream.chunks():
            for draw in draws:
                draw.add(data.X)
        return replace(known, draws=draws, n_samples=stream.n_samples, has_qid=stream.has_qid)
    seen: list[np.ndarray[Any, Any]] = []
    with single_threaded_blas():
        step = _measures if job.stage == MEASURES else _sums
        totals, edges = step(job, _noting_ids(stream.chunks(), seen), n_threads)
    ids = join_ids(seen)
    return replace(
        known,
        totals=totals,
        ranges=(Range(number, number, edges),),
        ids={number: QueryGroups.from_qid(ids, len(ids)).ids},  # each once
        fingerprints={number: stream.fingerprint},
        n_samples=stream.n_samples,
        graded=stream.graded,
        has_qid=stream.has_qid,
    )


def _noting_ids(chunks: Iterator[FitData], ids: list[np.ndarray[Any, Any]]) -> Iterator[FitData]:
    for data in chunks:
        ids.append(data.groups.ids)
        yield data


def _sums(
    job: Plan, chunks: Iterator[FitData], n_threads: int | None
) -> tuple[list[list[Any]], tuple[Any, ...]]:
    cutter = Cutter(
        job.problem,
        job.folds,
        chunk_rows=gram.CHUNK_ROWS,
        giant_rows=gram.GIANT_ROWS,
        edges=(True, True),
    )
    maps = [(phi, job.problem.query_weight) for phi in job.design.maps]
    of_maps = gram.accumulate(cutter.cut(chunks), maps, job.n_folds, n_rows=0, n_threads=n_threads)
    edges = [
        GramEdge(query, fold, [sums.edges[place][2] for sums in of_maps])
        for place, (query, fold, _) in enumerate(of_maps[0].edges)
    ]
    return [sums.folds for sums in of_maps], tuple(edges)


def _measures(
    job: Plan, chunks: Iterator[FitData], n_threads: int | None
) -> tuple[list[list[Any]], tuple[Any, ...]]:
    """Measures of complete queries, and the scores of the first and the last query."""
    cutter = Cutter(
        replace(job.problem, graph="all"),
        job.folds,
        chunk_rows=path_selection.MEASURED_ROWS,
        edges=(True, True),
    )

    def work(part: RowPart) -> tuple[RowPart, Float64Array, Float64Array]:
        rows = part.take()
        scores = part_scores(job.design, job.read_outs[part.fold], rows.X)
        if part.query is None:
            scores = measure_per_query(job.measure, rows.y, scores, rows.groups)
        return part, rows.y, scores

    means = [RunningMean() for _ in job.read_outs]
    pieces: dict[tuple[Any, int], list[Any]] = defaultdict(list)
    for part, y, values in thread_imap(work, cutter.cut(chunks), n_threads):
        if part.query is None:
            means[part.fold].add(values)
        else:
            pieces[part.query, part.fold].append((y, values))
    edges = [
        ScoreEdge(query, fold, *map(np.concatenate, zip(*parts, strict=True)))
        for (query, fold), parts in pieces.items()
    ]
    return [means], tuple(edges)
