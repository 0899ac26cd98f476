"""Predictions and measures of partitions; only scores and means are returned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankwise.checks.rows import check_target
from rankwise.distributed.steps import convert_to_stream, naming_partition, reorder_columns
from rankwise.distributed.whole_queries import QueryPart, join_parts, whole_parts
from rankwise.groups import Chunk, QueryGroups, join_ids
from rankwise.metrics.evaluation import EvaluationResult
from rankwise.metrics.evaluation import evaluate as evaluate_rows
from rankwise.metrics.measure import Measure, MeasureLike
from rankwise.metrics.spec import list_specs, parse
from rankwise.rankers.streamed import predict_chunk
from rankwise.runtime.finite import names_its_class
from rankwise.streams.checked_stream import match_chunk

try:
    from dask.delayed import delayed

    from rankwise.distributed.dask_partitions import Tasks, current_client, partitions_of
except ImportError as error:
    raise ImportError(
        "rankwise.distributed.predict and evaluate need Dask: pip install 'rankwise[dask]'. On one "
        "machine use the ranker's predict and rankwise.evaluate."
    ) from error


@names_its_class
def predict(estimator: Any, X: Any) -> Any:
    """Scores of a Dask collection, computed lazily.

    Parameters
    ----------
    estimator : fitted estimator
        With ``predict``.
    X : dask DataFrame, dask array, or list
        Rows with the columns of ``fit``. A list holds partitions as for
        :func:`rankwise.distributed.fit`, with or without labels.

    Returns
    -------
    dask Series, dask array of shape (n_samples,), or list of Delayed
        Scores in the type that matches X (DataFrame, array or list), with the partitions of X.

    Notes
    -----
    The model is sent to the workers once. No other data are transferred.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from rankwise import RidgeRanker
    >>> from rankwise.distributed import predict
    >>> X, y = np.arange(12.0).reshape(6, 2), [0, 0, 1, 1, 2, 2]
    >>> ranker = RidgeRanker().fit(X, y, qid=0)
    >>> scores = predict(ranker, da.from_array(X, chunks=(4, 2)))
    >>> scores.chunks
    ((4, 2),)
    >>> bool((scores.compute() == ranker.predict(X)).all())
    True
    """
    if isinstance(X, list | tuple):
        model = delayed(estimator, pure=False, traverse=False)
        return [
            delayed(_scores, pure=False)(part, model, number)
            for number, part in enumerate(partitions_of(X, {}))
        ]
    if hasattr(X, "to_delayed") and hasattr(X, "columns"):
        # Dask itself refuses a partition in another order, if only by an error without a place.
        options = {"meta": (None, "f8"), "enforce_metadata": False}
        return X.map_partitions(_frame_scores, estimator, list(X.columns), **options)
    if hasattr(X, "to_delayed") and hasattr(X, "chunks"):
        X = X.rechunk({1: -1})
        return X.map_blocks(_array_scores, estimator, dtype=np.float64, drop_axis=1)
    raise TypeError(
        "X must be a dask DataFrame, a dask array or a list of delayed partitions, got "
        f"{type(X).__name__}. Rows in memory go into ranker.predict."
    )


@names_its_class
def evaluate(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    qid: Any = None,
    measures: MeasureLike | Sequence[MeasureLike] = ("nDCG@10", "AP"),
    preset: str | None = None,
    client: Any = None,
) -> EvaluationResult:
    """Evaluate a ranker on partitions, without moving the rows to one machine.

    Parameters
    ----------
    estimator : fitted estimator
        With ``predict``.
    X, y, qid : as for :func:`rankwise.distributed.fit`
    measures, preset
        As for :func:`rankwise.evaluate`.
    client : distributed.Client, optional
        Client to run on. None: the current client or, without one, this process.

    Returns
    -------
    EvaluationResult
        The same result as :func:`rankwise.evaluate` for these scores in memory. Scores of a
        partition may differ in the last bits from scores of all rows at once, which can break ties.

    Raises
    ------
    ValueError, TypeError
        See :func:`rankwise.evaluate`.

    Notes
    -----
    Rows of a query may lie in any partitions; their scores and labels move to the first one that
    holds rows of the query. One number per query and measure is returned, with the query id.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from rankwise import RidgeRanker
    >>> from rankwise.distributed import evaluate
    >>> X, y, qid = np.arange(8.0)[:, None], np.arange(8) % 3, np.arange(8) // 4
    >>> ranker = RidgeRanker().fit(X, y, qid=qid)
    >>> parts = [da.from_array(a, chunks=3) for a in (y, qid)]
    >>> result = evaluate(ranker, da.from_array(X, chunks=3), parts[0], qid=parts[1])
    >>> result.qids
    array([0, 1])
    """
    given = list_specs(measures)
    parsed = {spec if isinstance(spec, str) else str(spec): parse(spec, preset) for spec in given}
    partitions = partitions_of(X, {"y": y, "qid": qid})
    tasks = Tasks(current_client(client))
    model = tasks.shared(estimator)
    parts = [
        tasks.on_partition(_score_partition, partition, model, number)
        for number, partition in enumerate(partitions)
    ]
    wholes = whole_parts(parts, tasks)
    found = tasks.results(
        [tasks.call(_measure_part, part, list(parsed.values())) for part in wholes]
    )
    filled = [(ids, values) for ids, values in found if len(ids)]
    if not filled:
        raise ValueError("X must have rows, got empty partitions only.")
    per_query = {
        spec: np.concatenate([values[place] for _, values in filled])
        for place, spec in enumerate(parsed)
    }
    means = {spec: measure.aggregate(per_query[spec]) for spec, measure in parsed.items()}
    return EvaluationResult(means, per_query, join_ids([ids for ids, _ in filled]), parsed)


def _scores(rows: Any, ranker: Any, number: int) -> Any:
    with naming_partition(number):
        parts = [np.asarray(_predict_chunk(ranker, chunk)) for chunk in convert_to_stream(rows)]
    return np.concatenate([np.zeros(0), *parts])


def _predict_chunk(ranker: Any, chunk: Chunk) -> Any:
    """Scores of a chunk; its columns are matched with those of the fit by name."""
    names = getattr(ranker, "feature_names_in_", None)
    if names is not None and chunk.n_rows:
        chunk = match_chunk(chunk, names.tolist(), "fit")
    return predict_chunk(ranker, chunk)


def _frame_scores(frame: Any, ranker: Any, columns: list[Any]) -> Any:
    """Scores with the index of the frame."""
    import pandas as pd

    frame = reorder_columns(frame, columns)
    scores = ranker.predict(frame) if len(frame) else np.zeros(0)
    return pd.Series(scores, index=frame.index, dtype=np.float64)


def _array_scores(X: Any, ranker: Any) -> Any:
    return ranker.predict(X) if len(X) else np.zeros(0)


def _score_partition(rows: Any, ranker: Any, number: int) -> QueryPart:
    """Scores as a single column, with labels and queries."""
    with naming_partition(number):
        return _score_rows(rows, ranker)


def _score_rows(rows: Any, ranker: Any) -> QueryPart:
    parts = []
    for chunk in convert_to_stream(rows):
        if not chunk.n_rows:
            continue
        if chunk.y is None:
            raise ValueError("y must be given to measure, got y=None in a partition.")
        scores = np.asarray(_predict_chunk(ranker, chunk), dtype=np.float64)
        groups = QueryGroups.from_qid(chunk.qid, chunk.n_rows)
        y = check_target(chunk.y, chunk.n_rows)
        parts.append(QueryPart(scores[:, None], y, groups.row_ids(), has_qid=chunk.qid is not None))
    return join_parts(*parts)


def _measure_part(part: QueryPart, measures: list[Measure]) -> tuple[Any, list[Any]]:
    """Query ids, and the values of each measure."""
    if part.X is None or not len(part.y):
        return np.zeros(0, dtype=np.int64), []
    result = evaluate_rows(part.y, np.asarray(part.X)[:, 0], part.qid, measures)
    return result.qids, [result.per_query[str(measure)] for measure in measures]
