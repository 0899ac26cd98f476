"""Fit on a Dask cluster: partitions are summed where they lie, and only the sums move."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from rankwise.datasets.readers.columns import QUERY_NAMES
from rankwise.distributed.partition import partition_statistics
from rankwise.distributed.planning import Plan, as_stream, plan, solve
from rankwise.distributed.sums import Statistics, merge
from rankwise.streams.row_stream import RowStream

try:
    from dask.base import compute
    from dask.delayed import Delayed, delayed
except ImportError as error:
    raise ImportError(
        "rankwise.distributed.fit needs Dask: pip install 'rankwise[dask]'. On other systems use "
        "its steps plan, partition_statistics, merge and solve."
    ) from error

# Results that one task merges.
_MERGED = 4


def fit(
    ranker: Any,
    X: Any,
    y: Any = None,
    *,
    qid: Any = None,
    sample_weight: Any = None,
    client: Any = None,
) -> Any:
    """Fit a closed-form ranker on partitions that lie on a cluster.

    Parameters
    ----------
    ranker : closed-form ranker
        LinearRegressionRanker, RidgeRanker, PointwiseELM and PairwiseELM with random nodes, and
        RankRLS, LSRRank, MPRank and LSSVRanker with a linear kernel or
        ``approximation="nystroem"``; with a number, a list or "cv" for the penalty. Left as it is.
    X : dask DataFrame, dask array, or list
        - A DataFrame with a Series (or a column's name) each for ``y``, ``qid`` and
          ``sample_weight``; what is not named so is a feature.
        - An array of shape (n_samples, n_features), with arrays of shape (n_samples,).
        - A list of partitions: ``dask.delayed`` objects, futures or
          ``RowStream`` that can be read again. Each gives one chunk or
          an iterable of chunks, as :func:`rankwise.stream` takes them, with labels and queries.
    y, qid, sample_weight : as for ``X``, optional
        None: no queries, no weights; the chunks of a list hold them.
    client : distributed.Client, optional
        None: the current client, or without one Dask's default scheduler in this process.

    Returns
    -------
    ranker
        A fitted copy: the model that ``fit`` gives for all rows in memory, to rounding.

    Raises
    ------
    ImportError
        When Dask is not installed.
    ValueError, TypeError
        As ``fit`` raises, and where the rows of a query are neither in one partition nor at the
        ends of consecutive ones.

    Notes
    -----
    A number takes one round over the partitions, a search three, landmarks one more: persist
    partitions that are expensive to make. For each partition the sums of each fold, of its first
    and of its last query move, p^2 numbers each for p columns, and one id a query; of the rows
    only landmarks. They are added in a tree on the workers and solved here. A worker that dies is
    replaced by Dask, which computes its partitions again: the result does not change. Every task
    runs on one thread.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from rankwise import RidgeRanker
    >>> from rankwise.distributed import fit
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((100, 3))
    >>> y, qid = np.floor(3 * X[:, 0]), np.arange(100) // 10
    >>> rows = (da.from_array(a, chunks=35) for a in (y, qid))
    >>> y_parts, qid_parts = rows
    >>> ranker = fit(RidgeRanker(), da.from_array(X, chunks=(35, 3)), y_parts, qid=qid_parts)
    >>> bool(np.allclose(ranker.coef_, RidgeRanker().fit(X, y, qid=qid).coef_, rtol=1e-10))
    True
    """
    partitions = _partitions(X, {"y": y, "qid": qid, "sample_weight": sample_weight})
    job = _first_plan(ranker, partitions, client)
    while not job.finished:
        job = solve(job, _round(job, partitions, client))
    return job.ranker


def _first_plan(ranker: Any, partitions: Sequence[Any], client: Any) -> Plan:
    """The plan, made on a worker from the first partition that has rows."""
    for partition in partitions:
        made = delayed(_plan_of, pure=False)(ranker, partition)
        job = _compute(made, client)
        if job is not None:
            return job
    raise ValueError("X must have rows, got empty partitions only.")


def _plan_of(ranker: Any, rows: Any) -> Plan | None:
    chunks = as_stream(rows)
    has_rows = any(
        chunk.n_rows and (chunk.sample_weight is None or np.any(chunk.sample_weight))
        for chunk in chunks.keys()  # noqa: SIM118
    )
    return plan(ranker, chunks).for_workers() if has_rows else None


def _round(job: Plan, partitions: Sequence[Any], client: Any) -> Statistics:
    """Statistics of all partitions, added neighbour to neighbour."""
    sent = delayed(job.for_workers(), pure=False, traverse=False)
    results = [
        delayed(partition_statistics, pure=False)(sent, number, partition)
        for number, partition in enumerate(partitions)
    ]
    while len(results) > 1:
        results = [
            delayed(_merge_all, pure=False)(results[lo : lo + _MERGED])
            for lo in range(0, len(results), _MERGED)
        ]
    return _compute(results[0], client)


def _merge_all(parts: list[Statistics]) -> Statistics:
    return reduce(merge, parts)


def _compute(task: Any, client: Any) -> Any:
    return compute(task)[0] if client is None else client.compute(task).result()


def _partitions(X: Any, columns: dict[str, Any]) -> list[Any]:
    """One delayed chunk for each partition."""
    if isinstance(X, list | tuple):
        return _listed(X, columns)
    if hasattr(X, "to_delayed") and hasattr(X, "columns"):
        return _of_frame(X, columns)
    if hasattr(X, "to_delayed") and hasattr(X, "chunks"):
        return _of_array(X, columns)
    raise TypeError(
        "X must be a dask DataFrame, a dask array or a list of delayed partitions, got "
        f"{type(X).__name__}. Rows in memory go into ranker.fit."
    )


def _listed(X: Sequence[Any], columns: dict[str, Any]) -> list[Any]:
    for name, value in columns.items():
        if value is not None:
            raise TypeError(
                f"{name} belongs in the partitions where X is a list of them. Let each give "
                "chunks (X, y, qid, sample_weight)."
            )
    if not X:
        raise ValueError("X must list at least one partition, got an empty list.")
    for part in X:
        if isinstance(part, RowStream) and not part.reiterable:
            raise ValueError(
                "X must list streams that can be read again, got an iterator's. Pass a callable "
                "that returns a new iterator each time: stream(make_chunks)."
            )
        known = isinstance(part, RowStream | Delayed) or hasattr(part, "key")
        if not known:
            raise TypeError(
                "X must list delayed partitions or streams, got "
                f"{type(part).__name__}. Rows in memory go into ranker.fit."
            )
    return list(X)


def _of_frame(X: Any, columns: dict[str, Any]) -> list[Any]:
    names = {name: value for name, value in columns.items() if isinstance(value, str)}
    if "y" not in names and columns["y"] is None:
        raise TypeError("y must be a Series or the name of a column, got None.")
    unknown = [value for value in names.values() if value not in X.columns]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no column of X; there are {list(X.columns)}.")
    queries = [column for column in X.columns if str(column).lower() in QUERY_NAMES]
    if columns["qid"] is None and queries:
        raise ValueError(
            f"qid is None and X has a column {queries[0]!r}, which would become a feature. Pass "
            f"qid={queries[0]!r}, or drop the column from X."
        )
    frames = X.to_delayed()
    others = {
        name: _blocks(name, value.to_delayed(), len(frames))
        for name, value in columns.items()
        if value is not None and name not in names
    }
    return [
        delayed(_frame_chunk, pure=True)(
            frame, names, {name: blocks[number] for name, blocks in others.items()}
        )
        for number, frame in enumerate(frames)
    ]


def _frame_chunk(frame: Any, names: dict[str, str], others: dict[str, Any]) -> Any:
    """(X, y, qid, sample_weight) of a partition of a DataFrame."""
    values = {**others, **{name: frame[column] for name, column in names.items()}}
    X = frame.drop(columns=list(names.values()))
    return (X, *(_column(values.get(name)) for name in ("y", "qid", "sample_weight")))


def _column(values: Any) -> Any:
    return None if values is None else np.asarray(values)


def _of_array(X: Any, columns: dict[str, Any]) -> list[Any]:
    if columns["y"] is None:
        raise TypeError("y must be a dask array of shape (n_samples,), got None.")
    blocks = X.rechunk({1: -1}).to_delayed()[:, 0]
    others = []
    for name, value in columns.items():
        if value is not None and not np.isnan(X.chunks[0]).any():
            value = value.rechunk((X.chunks[0],))
        others.append(
            [None] * len(blocks)
            if value is None
            else _blocks(name, value.to_delayed().ravel(), len(blocks))
        )
    return [delayed(_array_chunk, pure=True)(*parts) for parts in zip(blocks, *others, strict=True)]


def _array_chunk(*parts: Any) -> Any:
    return parts


def _blocks(name: str, blocks: Sequence[Any], n: int) -> Sequence[Any]:
    if len(blocks) != n:
        raise ValueError(
            f"{name} must have the partitions of X, got {len(blocks)} for {n}. Pass the name of a "
            f"column of X ({name}='...'), or repartition."
        )
    return blocks
