"""Rows that need not fit in memory: closed-form fits, scores and evaluation, chunk by chunk.

The statistics of :func:`rankwise.solvers.least_squares.gram.accumulate` take one pass. A search
with folds of queries takes two more: one before it to read the query ids, because folds depend on
all of them, and one after it to evaluate held-out queries for every penalty. All sums have the same
blocks, precision and order as for rows in memory, so results are bit-identical. The exception is a
query with more than ``GIANT_ROWS`` rows if only pairs of different grades count: results then agree
up to rounding.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from rankwise.checks.column_sizes import ColumnLimit
from rankwise.checks.rows import check_names, check_target, check_weight
from rankwise.equation import Equation
from rankwise.groups import Chunk, FitData, QueryGroups, RowStream, plain_id
from rankwise.losses.squared_loss import Problem
from rankwise.metrics import EvaluationResult, UndefinedMeasureWarning, evaluate, parse
from rankwise.metrics.default import (
    aggregate_score,
    score_per_query,
    warn_of_constant,
    warn_of_undefined,
)
from rankwise.metrics.measure import Measure, MeasureLike
from rankwise.metrics.spec import list_specs
from rankwise.row_order import LeastRows
from rankwise.runtime.finite import names_its_class
from rankwise.solvers.least_squares import gram, path_selection
from rankwise.solvers.least_squares.design import Design
from rankwise.solvers.least_squares.gram import BlockMap, Gram, accumulate_chunks, is_precise, total
from rankwise.solvers.least_squares.path_selection import (
    ColumnsPath,
    PathFit,
    fit_from_grams,
    mean_measures,
    solve_folds,
)
from rankwise.streams.checked_stream import CheckedStream, group_rows
from rankwise.streams.cutter import Cutter, Folds
from rankwise.tuning import DEFAULT_FOLDS, PenaltySearch, deal_queries
from rankwise.typing import Float64Array, Int64Array


class StreamedFeatures:
    """Base of the feature maps whose rows may come as a stream or in batches."""

    @property
    def searched(self) -> Sequence[Any]:
        """Parameters other than the penalty whose lists and names are searched."""
        return ()

    @property
    def adds_batches(self) -> bool:
        """Whether the model neither grows with the rows nor needs any row twice."""
        return True

    def check_stream(self, name: str, rows: RowStream) -> None:
        """Raise if the ranker of this name cannot be fitted on the stream."""

    def sample(self, rows: FitData) -> FitData:
        """First rows of a stream, with X in the form that the designs need."""
        return rows

    def sample_draws(self) -> tuple[LeastRows, ...]:
        """Draws from all rows that the designs need; empty if the first rows are enough."""
        return ()


def check_stream(ranker: Any, equation: Equation, search: PenaltySearch, rows: RowStream) -> None:
    """Raise ValueError if the fit needs all rows in memory."""
    name, penalty = type(ranker).__name__, search.penalty.name
    if equation.needs_rows:
        raise ValueError(
            f"{name} needs all rows in memory, got a stream: {equation.needs_rows}. Pass arrays, "
            "or use RankRLS."
        )
    features: Any = equation.features
    features.check_stream(name, rows)
    if search.way in ("loqo", "lpo"):
        raise ValueError(
            f'{penalty}="{search.way}" needs all rows in memory, got a stream. Use {penalty}="cv".'
        )
    if search.way == "cv":
        check_folds(search.cv)
        check_rereadable(rows, penalty, getattr(ranker, penalty))


def check_folds(cv: Any) -> None:
    """Raise ValueError unless the folds of a stream are given by their number."""
    if not (cv is None or isinstance(cv, Integral)):
        raise ValueError(
            f"cv must be a number of folds for a stream, got {cv!r}. Pass an int, or fit rows in "
            "memory."
        )


def read_head(
    estimator: Any,
    rows: RowStream,
    y: Any,
    qid: Any,
    sample_weight: Any,
    column_limit: ColumnLimit | None,
) -> FitData:
    """First rows of a stream (all rows of a short one) for ``fit`` of ``estimator``.

    Labels, queries and weights must be part of the stream, not arguments of ``fit``.
    """
    given = {"y": y, "qid": qid, "sample_weight": sample_weight}
    for name, value in given.items():
        if value is not None:
            raise TypeError(
                f"{name} must be part of the stream, got a separate {name}. Make chunks (X, y, "
                "qid, sample_weight), and pass only the stream to fit."
            )
    stream = CheckedStream(estimator, rows, column_limit=column_limit)
    data = stream.head(gram.CHUNK_ROWS)
    n_columns = data.X.shape[1] + 1
    if data.stream is not None and len(data.y) < n_columns:
        data = stream.head(n_columns)
    return data


@dataclass(frozen=True, eq=False)
class StreamPath(ColumnsPath):
    """Path of a squared loss on the rows of a stream, computed from sums over its chunks.

    ``rows`` are the first ones of the stream.
    """

    def solve(self) -> PathFit:
        """Solutions for every penalty, in one pass."""
        stream, problem = self.rows.stream, self.loss.on(self.rows)
        draws = _draw_grams(stream.chunks(), self.design, problem, 1, None, stream.n_known)
        grams = [total(folds) for folds in draws]
        return fit_from_grams(grams, self.design, self.penalties, problem.intercept)

    def cross_validate(self, measure: Measure, cv: int | None) -> tuple[PathFit, Float64Array]:
        """Solutions on all rows, evaluated by cross-validation over queries, in three passes."""
        n_folds = int(cv or DEFAULT_FOLDS)
        stream, design, problem = self.rows.stream, self.design, self.loss.on(self.rows)
        folds, n_samples = stream_folds(stream, n_folds)
        draws = _draw_grams(stream.chunks(), design, problem, n_folds, folds, n_samples)
        fit, held = solve_folds(draws, n_folds, design, self.penalties, problem.intercept)
        dtype = np.float64 if is_precise(n_samples, design.n_columns) else self.rows.X.dtype
        read_outs = [design.read_out(coefs, dtype) for coefs in held]
        whole = replace(problem, graph="all")  # a measure needs whole queries
        cutter = Cutter(whole, folds, chunk_rows=path_selection.MEASURED_ROWS)
        return fit, mean_measures(design, read_outs, cutter.cut(stream.chunks()), measure)


def stream_grams(
    chunks: Iterable[FitData],
    problems: Sequence[Problem],
    maps: Sequence[BlockMap],
    n_folds: int = 1,
    folds: Folds | None = None,
    n_rows: int | None = None,
) -> list[list[list[Gram]]]:
    """Statistics of all rows by problem, block map and fold, in one pass.

    ``problems`` are those on the first rows. All have the same pair graph; only the graph and the
    query weights are used. ``n_rows`` is the number of all rows, if it is known.
    """
    columns = [(phi, problem.query_weight) for problem in problems for phi in maps]
    sums = accumulate_chunks(chunks, problems[0], columns, n_folds, folds, n_rows=n_rows)
    grams = [of_map.folds for of_map in sums]
    return [grams[lo : lo + len(maps)] for lo in range(0, len(grams), len(maps))]


def _draw_grams(
    chunks: Iterable[FitData],
    design: Design,
    problem: Problem,
    n_folds: int,
    folds: Folds | None,
    n_rows: int | None,
) -> Iterator[list[Gram]]:
    """Statistics of each fold for each draw, in one pass."""
    of_maps = stream_grams(chunks, [problem], design.maps, n_folds, folds, n_rows)[0]
    while of_maps:
        yield from (list(draw) for draw in zip(*map(design.draws, of_maps.pop(0)), strict=True))


def stream_folds(stream: CheckedStream, n_folds: int, seed: int | None = None) -> tuple[Folds, int]:
    """Fold of each query by its number, and the number of rows; takes a separate pass."""
    ids, n_samples = stream.queries()
    fold_of = deal_folds(ids, n_folds, seed)

    def folds(some: np.ndarray[Any, Any], first: int) -> Int64Array:
        expected = ids[first : first + len(some)]
        if len(expected) < len(some) or (expected != some).any():
            raise ValueError(
                "the stream must give the same rows each time it is read, got other queries in "
                f"the next pass (query number {first} was {expected[:1].tolist()}, and is now "
                f"{some[:1].tolist()})."
            )
        return fold_of[first : first + len(some)]

    return folds, n_samples


def deal_folds(ids: np.ndarray[Any, Any], n_folds: int, seed: int | None = None) -> Int64Array:
    """Fold of each query; there must be at least as many queries as folds."""
    if len(ids) < n_folds:
        raise ValueError(
            f"cv={n_folds} needs at least as many queries in a stream or in partitions, got "
            f"n_queries={len(ids)}. Add a qid to the rows, lower cv, or choose the penalty on a "
            "sample in memory."
        )
    groups = QueryGroups(np.arange(len(ids) + 1), None, ids=ids)
    fold_of = np.empty(len(ids), dtype=np.int64)
    dealt = deal_queries(groups, n_folds) if seed is None else deal_queries(groups, n_folds, seed)
    for fold, queries in enumerate(dealt):
        fold_of[queries] = fold
    return fold_of


def check_rereadable(rows: RowStream, name: str, value: Any) -> None:
    """Raise ValueError if a search cannot read the stream again."""
    if not rows.reiterable:
        raise ValueError(
            f"{name}={value!r} reads the stream three times, but an iterator can be read only "
            "once. Pass a callable that returns a new iterator each time (stream(make_chunks)), "
            "or pass a number."
        )


def score_stream(estimator: Any, rows: RowStream) -> float:
    """Value of ``score`` for all rows in memory, up to rounding; takes one pass."""
    measure, largest = "", -np.inf
    found: list[tuple[Float64Array, Float64Array]] = []
    for part in _cutter().cut(_score_chunks(estimator, rows, weighted=True)):
        queries = part.take()
        measure = estimator._measure_of_score(queries.y)
        largest = max(largest, float(queries.y.max(initial=largest)))
        values, weight = score_per_query(
            measure, queries.y, queries.X[:, 0], queries.groups, queries.sample_weight
        )
        found.append((values, np.ones(len(values)) if weight is None else weight))
    values, weight = map(np.concatenate, zip(*found, strict=True))
    return aggregate_score(measure, np.array([largest]), values, weight)


@names_its_class
def evaluate_stream(
    estimator: Any,
    rows: RowStream,
    measures: MeasureLike | Sequence[MeasureLike] = ("nDCG@10", "AP"),
    *,
    preset: str | None = None,
) -> EvaluationResult:
    """Evaluate a ranker on a stream, query by query.

    Parameters
    ----------
    estimator : fitted estimator
        Model with ``predict``.
    rows : RowStream
        Stream with labels, read once. Each query must lie in one chunk or in consecutive chunks.
    measures, preset
        Measures and preset as in :func:`rankwise.evaluate`.

    Returns
    -------
    EvaluationResult
        Same result as :func:`rankwise.evaluate` for all rows in memory.

    Raises
    ------
    ValueError
        In the cases of :func:`rankwise.evaluate`, and if the rows of a query are not consecutive.

    Notes
    -----
    Needs memory for the scores of a few thousand rows (or of the largest query), and for one number
    for each query and measure.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RidgeRanker
    >>> from rankwise.rankers import evaluate_stream
    >>> from rankwise.streams import stream
    >>> X, y, qid = np.arange(8.0)[:, None], np.arange(8) % 3, np.arange(8) // 4
    >>> rows = stream([(X[:5], y[:5], qid[:5]), (X[5:], y[5:], qid[5:])])
    >>> result = evaluate_stream(RidgeRanker().fit(rows), rows, ["nDCG@10", "AP"])
    >>> result.qids
    array([0, 1])
    """
    given = list_specs(measures)
    parsed = {spec if isinstance(spec, str) else str(spec): parse(spec, preset) for spec in given}
    cutter, values = _cutter(), {spec: [] for spec in parsed}
    labels = np.empty(0)
    for part in cutter.cut(_score_chunks(estimator, rows, weighted=False)):
        queries = part.take()
        with warnings.catch_warnings():  # of the rows of one part
            warnings.simplefilter("ignore", UndefinedMeasureWarning)
            result = evaluate(queries.y, queries.X[:, 0], queries.groups, list(parsed.values()))
        labels = np.unique(np.append(labels, queries.y))
        for spec, measure in parsed.items():
            values[spec].append(result.per_query[str(measure)])
    per_query = {spec: np.concatenate(parts) for spec, parts in values.items()}
    warn_of_undefined(parsed, per_query, labels)
    warn_of_constant(parsed, labels)
    means = {spec: measure.aggregate(per_query[spec]) for spec, measure in parsed.items()}
    return EvaluationResult(means, per_query, cutter.numbers.ids(), parsed)


def _cutter() -> Cutter:
    """Splitter of rows, whose single column is their score, into whole queries."""
    nothing = Problem(np.zeros((0, 1)), np.zeros(0), QueryGroups.single(0), None, "all")
    return Cutter(nothing, chunk_rows=path_selection.MEASURED_ROWS)


def _score_chunks(estimator: Any, rows: RowStream, *, weighted: bool) -> Iterator[FitData]:
    """Scores, labels and queries of each chunk."""
    last = nothing = object()
    for chunk in rows:
        if not chunk.n_rows:
            continue
        if chunk.y is None:
            raise ValueError(
                "the stream needs labels for evaluation, got y=None in a chunk. Pass chunks with y."
            )
        y = check_target(chunk.y, chunk.n_rows)
        groups = QueryGroups.from_qid(chunk.qid, chunk.n_rows)
        scores, weight = np.asarray(predict_chunk(estimator, chunk), dtype=np.float64), None
        if weighted and chunk.sample_weight is not None:
            weight = check_weight(chunk.sample_weight, chunk.n_rows, part=True)
            kept = weight > 0
            y, scores, weight, groups = y[kept], scores[kept], weight[kept], groups.take(kept)
            if not len(y):
                continue
        data = group_rows(FitData(scores[:, None], y, groups, weight), last)
        last = plain_id(data.groups.ids[-1])
        yield data
    if last is nothing:
        raise ValueError("the stream must contain rows of positive weight, got none.")


def predict_chunk(estimator: Any, chunk: Chunk) -> Any:
    """Scores of ``predict`` for the rows of a chunk, with column names if they are known."""
    if not chunk.n_rows:
        return np.zeros(0)
    if chunk.feature_names is None:
        return estimator.predict(chunk.X)
    if hasattr(estimator, "n_features_in_"):
        check_names(estimator, chunk.feature_names, reset=False)
    with warnings.catch_warnings():  # the names of these arrays are known, and checked here
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return estimator.predict(chunk.X)
