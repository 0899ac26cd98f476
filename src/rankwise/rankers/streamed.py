"""Closed forms of rows that need not fit in memory.

The statistics of :mod:`rankwise.solvers.stream_grams` take one pass; choosing by folds of queries
takes one before it, which reads the query ids (folds depend on all of them), and one after it,
which measures held-out queries under every penalty. Cuts, precision and order of all sums are
those of rows in memory, and so are the bits of the result (to rounding where a query of more than
``GIANT_ROWS`` rows counts pairs of different grades only).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from rankwise._threads import Lanes
from rankwise.datasets.row_stream import RowStream
from rankwise.groups import QueryGroups
from rankwise.metrics.measure import Measure
from rankwise.rankers.checked_stream import CheckedStream, StreamData
from rankwise.solvers import gram, path_selection
from rankwise.solvers.cutting import QueryCutter, RowCutter
from rankwise.solvers.design import Design
from rankwise.solvers.folds import query_folds
from rankwise.solvers.gram import Gram, Problem, precise_from, total
from rankwise.solvers.held_out import RunningMean, sums_defined
from rankwise.solvers.path_selection import (
    PathFit,
    gram_coef,
    held_out,
    measure_blocks,
    solve_folds,
)
from rankwise.solvers.penalty import Penalties
from rankwise.solvers.stream_grams import StreamGrams
from rankwise.typing import Float64Array, Int64Array, Matrix
from rankwise.validation import FitData


def read_head(estimator: Any, rows: RowStream, y: Any, qid: Any, sample_weight: Any) -> FitData:
    """The first rows of a stream (all of a short one), for ``fit`` of ``estimator``.

    Raises
    ------
    TypeError
        When labels, queries or weights are given beside the stream.
    """
    given = {"y": y, "qid": qid, "sample_weight": sample_weight}
    for name, value in given.items():
        if value is not None:
            raise TypeError(
                f"{name} belongs into the stream, got {name} beside it. Give chunks (X, y, qid, "
                "sample_weight), and only the stream to fit."
            )
    stream = CheckedStream(estimator, rows)
    data = stream.head(gram.CHUNK_ROWS)
    n_columns = data.X.shape[1] + 1
    if isinstance(data, StreamData) and len(data.y) < n_columns:
        data = stream.head(n_columns)
    return data


def fit_stream(
    way: str,
    design: Design,
    problem: Problem,
    penalties: Penalties,
    data: StreamData,
    vali: FitData | None,
    measure: Measure,
    n_folds: int,
) -> PathFit:
    """Solutions for every penalty on all rows of the stream, measured as ``way`` says.

    Parameters
    ----------
    way : {"fixed", "val", "cv"}
        One pass; three for "cv".
    problem : Problem
        Of the first rows.
    """
    if way == "cv":
        return _fit_cv(design, problem, penalties, data, measure, n_folds)
    draws = _draw_grams(data.checked.chunks(), design, problem, 1, None)
    grams = [total(folds) for folds in draws]
    coefs, values = [gram_coef(part, problem, penalties) for part in grams], None
    if way == "val":
        assert vali is not None
        read_out, queries = design.read_out(coefs), np.arange(vali.groups.n_queries)
        values = held_out(design, [read_out], vali.X, vali.y, vali.groups, [queries], measure)
    return PathFit(coefs, values, grams)


def _fit_cv(
    design: Design,
    problem: Problem,
    penalties: Penalties,
    data: StreamData,
    measure: Measure,
    n_folds: int,
) -> PathFit:
    stream = data.checked
    ids, n_samples = stream.queries()
    if len(ids) < n_folds:
        raise ValueError(
            f"cv={n_folds} needs at least as many queries in a stream, got n_queries={len(ids)}. "
            "Give the stream a qid, lower cv, or choose the penalty on a sample in memory."
        )
    folds = _folds_of(ids, n_folds)
    draws = _draw_grams(stream.chunks(), design, problem, n_folds, folds)
    final, held, grams = solve_folds(draws, n_folds, problem, penalties, design.n_columns)
    dtype = np.float64 if precise_from(n_samples, design.n_columns) else data.X.dtype
    read_outs = [design.read_out(coefs, dtype) for coefs in held]
    with Lanes() as lanes:
        sink = HeldOut(design, read_outs, measure, lanes)
        size = path_selection.MEASURED_ROWS
        cutter = QueryCutter(problem, folds, sink, chunk_rows=size, giant_rows=None)
        feed(cutter, stream.chunks())
        values = np.array([mean.value() for mean in sink.means()])
    return PathFit(final, values, grams)


class HeldOut:
    """Measures held-out queries under the solutions of their fold; a sink for the cutters."""

    def __init__(
        self, design: Design, read_outs: Sequence[Any], measure: Measure, lanes: Lanes
    ) -> None:
        self._design, self._read_outs, self._measure = design, read_outs, measure
        self._lanes = lanes
        self._sums: list[list[tuple[Float64Array, Float64Array]]] = [[] for _ in read_outs]
        self._n_chunks = 0

    def chunk(self, fold: int, rows: Problem) -> None:
        """Measure whole queries."""
        place = len(self._sums[fold])
        nothing = np.zeros(0)
        self._sums[fold].append((nothing, nothing))

        def work() -> None:
            size = path_selection.CHUNK_ROWS
            blocks = (rows.X[lo : lo + size] for lo in range(0, len(rows.y), size))
            values = measure_blocks(
                self._design, self._read_outs[fold], blocks, rows.y, rows.groups, self._measure
            )
            self._sums[fold][place] = sums_defined(values)

        self._lanes.put(self._n_chunks, work)
        self._n_chunks += 1

    def piece(self, fold: int, rows: Problem) -> None:
        raise AssertionError("measures need whole queries")

    def close(self, fold: int, edge: Any) -> None:
        raise AssertionError("measures need whole queries")

    def scores(self, X: Matrix, fold: int) -> Float64Array:
        """Scores of rows for every penalty, shape (n_rows, n_C)."""
        return self._design.scores(X, self._read_outs[fold])

    def means(self) -> list[RunningMean]:
        """Means of each fold for every penalty."""
        self._lanes.wait()
        means = []
        for sums in self._sums:
            means.append(RunningMean())
            for part in sums:
                means[-1].add_sums(*part)
        return means


def feed(cutter: RowCutter | QueryCutter, chunks: Iterable[FitData]) -> None:
    """Give all rows to the cutter, a few at a time whatever the size of the chunks."""
    for data in chunks:
        X, y, w, groups = data.X, data.y, data.sample_weight, data.groups
        codes = np.repeat(np.arange(groups.n_queries), groups.sizes)
        for lo in range(0, len(y), gram.CHUNK_ROWS):
            rows = slice(lo, lo + gram.CHUNK_ROWS)
            part = groups
            if len(y) > gram.CHUNK_ROWS:
                first, last = int(codes[rows][0]), int(codes[rows][-1])
                sizes = np.bincount(codes[rows] - first)
                part = QueryGroups(
                    np.concatenate([[0], np.cumsum(sizes)]), None, groups.ids[first : last + 1]
                )
            cutter.add(X[rows], y[rows], None if w is None else w[rows], part)
    cutter.finish()


def _draw_grams(
    chunks: Iterable[FitData],
    design: Design,
    problem: Problem,
    n_folds: int,
    folds: Callable[[np.ndarray[Any, Any], int], Int64Array] | None,
) -> Iterator[list[Gram]]:
    """For each draw, the statistics of each fold; one pass."""
    with Lanes() as lanes:
        sums = StreamGrams(design.maps, n_folds, lanes)
        cutter: RowCutter | QueryCutter
        if problem.graph == "pointwise":
            cutter = RowCutter(problem, folds, sums)
        else:
            cutter = QueryCutter(
                problem,
                folds or (lambda ids, first: np.zeros(len(ids), dtype=np.int64)),
                sums,
                chunk_rows=gram.CHUNK_ROWS,
                giant_rows=gram.GIANT_ROWS,
            )
        feed(cutter, chunks)
        of_maps = sums.grams()
    while of_maps:
        yield from (list(draw) for draw in zip(*map(design.draws, of_maps.pop(0)), strict=True))


def _folds_of(
    ids: np.ndarray[Any, Any], n_folds: int
) -> Callable[[np.ndarray[Any, Any], int], Int64Array]:
    """Fold of each query by its number; checks that the next pass has the same queries."""
    groups = QueryGroups(np.arange(len(ids) + 1), None, ids)
    fold_of = np.empty(len(ids), dtype=np.int64)
    for fold, queries in enumerate(query_folds(groups, n_folds)):
        fold_of[queries] = fold

    def folds(some: np.ndarray[Any, Any], first: int) -> Int64Array:
        expected = ids[first : first + len(some)]
        if len(expected) < len(some) or (expected != some).any():
            raise ValueError(
                "the stream must give the same rows each time it is read, got other queries in "
                f"the next pass (query number {first} was {expected[:1].tolist()}, is "
                f"{some[:1].tolist()})."
            )
        return fold_of[first : first + len(some)]

    return folds
