"""Closed forms of rows that need not fit in memory.

The statistics of :mod:`rankwise.solvers.least_squares.stream_grams` take one pass; choosing by
folds of queries takes one before it, which reads the query ids (folds depend on all of them), and
one after it, which measures held-out queries under every penalty. Cuts, precision and order of all
sums are those of rows in memory, and so are the bits of the result (to rounding where a query of
more than ``GIANT_ROWS`` rows counts pairs of different grades only).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from rankwise.checks.rows import FitData
from rankwise.groups import QueryGroups
from rankwise.metrics.measure import Measure
from rankwise.runtime.threads import Lanes
from rankwise.solvers.least_squares import gram, path_selection
from rankwise.solvers.least_squares.design import Design
from rankwise.solvers.least_squares.gram import BlockMap, Gram, Problem, is_precise, total
from rankwise.solvers.least_squares.path_selection import (
    PathFit,
    gram_coef,
    held_out,
    measure_blocks,
    solve_folds,
)
from rankwise.solvers.least_squares.stream_grams import StreamGrams
from rankwise.streams.checked_stream import CheckedStream, StreamData
from rankwise.streams.query_cutting import QueryCutter, RowCutter
from rankwise.streams.row_stream import RowStream
from rankwise.tuning.folds import query_folds
from rankwise.tuning.held_out import RunningMean, sums_defined
from rankwise.tuning.penalty import Penalties
from rankwise.typing import Float64Array, Int64Array, Matrix


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
    draws = _draw_grams(data.checked.chunks(), design, problem, 1, None, data.checked.n_known)
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
    folds, n_samples = stream_folds(stream, n_folds)
    draws = _draw_grams(stream.chunks(), design, problem, n_folds, folds, n_samples)
    final, held, grams = solve_folds(draws, n_folds, problem, penalties, design.n_columns)
    dtype = np.float64 if is_precise(n_samples, design.n_columns) else data.X.dtype
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


Folds = Callable[[np.ndarray[Any, Any], int], Int64Array]


def feed(
    cutters: RowCutter | QueryCutter | Sequence[RowCutter | QueryCutter],
    chunks: Iterable[FitData],
) -> None:
    """Give all rows to the cutters, a few at a time whatever the size of the chunks."""
    all_cutters = cutters if isinstance(cutters, Sequence) else [cutters]
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
            for cutter in all_cutters:
                cutter.add(X[rows], y[rows], None if w is None else w[rows], part)
    for cutter in all_cutters:
        cutter.finish()


def stream_grams(
    chunks: Iterable[FitData],
    problems: Sequence[Problem],
    maps: Sequence[BlockMap],
    n_folds: int = 1,
    folds: Folds | None = None,
    n_rows: int | None = None,
) -> list[list[list[Gram]]]:
    """Statistics of all rows, by problem, block map and fold; one pass.

    Parameters
    ----------
    problems : sequence of Problem
        Of the first rows: their pair graphs and weights count.
    n_rows : int or None
        Number of all rows, where it is known.
    """
    with Lanes() as lanes:
        cutters: list[RowCutter | QueryCutter] = []
        sums = []
        for problem in problems:
            sums.append(StreamGrams(maps, n_folds, lanes, n_rows))
            if problem.graph == "pointwise":
                cutters.append(RowCutter(problem, folds, sums[-1]))
                continue
            cutters.append(
                QueryCutter(
                    problem,
                    folds or one_fold,
                    sums[-1],
                    chunk_rows=gram.CHUNK_ROWS,
                    giant_rows=gram.GIANT_ROWS,
                )
            )
        feed(cutters, chunks)
        return [part.grams() for part in sums]


def one_fold(ids: np.ndarray[Any, Any], first: int) -> Int64Array:
    """Every query in fold 0."""
    return np.zeros(len(ids), dtype=np.int64)


def _draw_grams(
    chunks: Iterable[FitData],
    design: Design,
    problem: Problem,
    n_folds: int,
    folds: Folds | None,
    n_rows: int | None,
) -> Iterator[list[Gram]]:
    """For each draw, the statistics of each fold; one pass."""
    of_maps = stream_grams(chunks, [problem], design.maps, n_folds, folds, n_rows)[0]
    while of_maps:
        yield from (list(draw) for draw in zip(*map(design.draws, of_maps.pop(0)), strict=True))


def stream_folds(stream: CheckedStream, n_folds: int, seed: int | None = None) -> tuple[Folds, int]:
    """Fold of each query by its number, and the number of rows; a pass of its own.

    Raises
    ------
    ValueError
        When there are fewer queries than folds.
    """
    ids, n_samples = stream.queries()
    if len(ids) < n_folds:
        raise ValueError(
            f"cv={n_folds} needs at least as many queries in a stream, got n_queries={len(ids)}. "
            "Give the stream a qid, lower cv, or choose the penalty on a sample in memory."
        )
    groups = QueryGroups(np.arange(len(ids) + 1), None, ids)
    fold_of = np.empty(len(ids), dtype=np.int64)
    dealt = query_folds(groups, n_folds) if seed is None else query_folds(groups, n_folds, seed)
    for fold, queries in enumerate(dealt):
        fold_of[queries] = fold
    return _by_number(ids, fold_of), n_samples


def check_rereadable(rows: RowStream, name: str, value: Any) -> None:
    """Raise where a search cannot read the stream again."""
    if not rows.reiterable:
        raise ValueError(
            f"{name}={value!r} reads the stream three times, and an iterator can be read once. "
            "Pass a callable that returns a new iterator each time (stream(make_chunks)), or "
            "give a number."
        )


def _by_number(ids: np.ndarray[Any, Any], fold_of: Int64Array) -> Folds:
    """Folds by the queries' numbers; checks that the next pass has the same queries."""

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
