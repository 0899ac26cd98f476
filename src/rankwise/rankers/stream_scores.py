"""Scores of streams: predicted chunk by chunk and evaluated query by query."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rankwise.checks.rows import check_names, check_target, check_weight
from rankwise.groups import QueryGroups
from rankwise.losses.squared_loss import Problem
from rankwise.metrics import EvaluationResult, Measure, UndefinedMeasureWarning, evaluate, parse
from rankwise.metrics.default import aggregate_score, score_per_query
from rankwise.metrics.spec import list_specs
from rankwise.metrics.undefined_means import warn_of_constant, warn_of_undefined
from rankwise.rows.fit_data import FitData
from rankwise.solvers.least_squares import path_selection
from rankwise.streams.checked_stream import group_rows
from rankwise.streams.cutter import Cutter, plain_id
from rankwise.streams.row_stream import RowStream
from rankwise.streams.stream_sources import Chunk
from rankwise.typing import Float64Array


def predict_chunks(estimator: Any, rows: RowStream) -> Iterator[Float64Array]:
    """Scores of each chunk, after a check of its column names."""
    for chunk in rows:
        yield predict_chunk(estimator, chunk)


def score_stream(estimator: Any, rows: RowStream) -> float:
    """Value of ``score`` for all rows in memory, up to rounding; takes one pass."""
    name, largest = "", -np.inf
    found: list[tuple[Float64Array, Float64Array]] = []
    for part in _cutter().cut(_score_chunks(estimator, rows, weighted=True)):
        queries = part.take()
        name = estimator._measure_of_score(queries.y)
        largest = max(largest, float(queries.y.max(initial=largest)))
        values, weight = score_per_query(
            name, queries.y, queries.X[:, 0], queries.groups, queries.sample_weight
        )
        found.append((values, np.ones(len(values)) if weight is None else weight))
    values, weight = map(np.concatenate, zip(*found, strict=True))
    return aggregate_score(name, np.array([largest]), values, weight)


def evaluate_stream(
    ranker: Any,
    rows: RowStream,
    measures: str | Measure | Sequence[str | Measure] = ("nDCG@10",),
    *,
    preset: str | None = None,
) -> EvaluationResult:
    """Evaluate a ranker on a stream, query by query.

    Parameters
    ----------
    ranker : fitted estimator
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
    >>> from rankwise import RidgeRanker, evaluate_stream, stream
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
    for part in cutter.cut(_score_chunks(ranker, rows, weighted=False)):
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
