"""Partitions of Dask collections as delayed chunks, and calls on a cluster or in this process.

None of the calls waits for workers that never return.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from dask.delayed import Delayed, delayed

from rankwise.datasets.table_columns import ALL_QUERY_NAMES
from rankwise.distributed.steps import reorder_columns
from rankwise.groups import RowStream
from rankwise.runtime.messages import setting
from rankwise.selection.cells.workers import watch_workers


def partitions_of(X: Any, columns: dict[str, Any]) -> list[Any]:
    """One delayed chunk for each partition."""
    if isinstance(X, list | tuple):
        return _list_columns(X, columns)
    if hasattr(X, "to_delayed") and hasattr(X, "columns"):
        return _split_frame(X, columns)
    if hasattr(X, "to_delayed") and hasattr(X, "chunks"):
        return _split_array(X, columns)
    raise TypeError(
        "X must be a dask DataFrame, a dask array or a list of delayed partitions, got "
        f"{type(X).__name__}. Rows in memory go into ranker.fit."
    )


def _list_columns(X: Sequence[Any], columns: dict[str, Any]) -> list[Any]:
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


def _split_frame(X: Any, columns: dict[str, Any]) -> list[Any]:
    names = {name: value for name, value in columns.items() if isinstance(value, str)}
    if "y" not in names and columns["y"] is None:
        raise TypeError("y must be a Series or the name of a column, got None.")
    unknown = [value for value in names.values() if value not in X.columns]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no column of X; there are {list(X.columns)}.")
    queries = [column for column in X.columns if str(column).lower() in ALL_QUERY_NAMES]
    if columns["qid"] is None and queries:
        raise ValueError(
            f"qid is None and X has a column {queries[0]!r}, which would become a feature. Pass "
            f"{setting('qid', queries[0])}, or drop the column from X."
        )
    frames = X.to_delayed()
    others = {
        name: _blocks(name, value.to_delayed(), len(frames))
        for name, value in columns.items()
        if value is not None and name not in names
    }
    labels = list(X.columns)
    return [
        delayed(_frame_chunk, pure=True)(
            frame, labels, number, names, {name: blocks[number] for name, blocks in others.items()}
        )
        for number, frame in enumerate(frames)
    ]


def _frame_chunk(
    frame: Any, columns: list[Any], number: int, names: dict[str, str], others: dict[str, Any]
) -> Any:
    """(X, y, qid, sample_weight) of a partition of a DataFrame."""
    frame = reorder_columns(frame, columns, number)
    values = {**others, **{name: frame[column] for name, column in names.items()}}
    X = frame.drop(columns=list(names.values()))
    return (X, *(_column(values.get(name)) for name in ("y", "qid", "sample_weight")))


def _column(values: Any) -> Any:
    return None if values is None else np.asarray(values)


def _split_array(X: Any, columns: dict[str, Any]) -> list[Any]:
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


SECONDS_BETWEEN_CHECKS = 1.0


class Tasks:
    """Calls functions on a client's workers; without a client, immediately in this process."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def on_partition(self, function: Callable[..., Any], partition: Any, *args: Any) -> Any:
        """Handle of ``function(partition, *args)`` for a partition of a collection."""
        task: Any = delayed(function, pure=False)(partition, *args)
        return task.compute() if self.client is None else self.client.compute(task)

    def call(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Handle of a call whose arguments may be handles."""
        if self.client is None:
            return function(*args)
        return self.client.submit(function, *args, pure=False, **options)

    def results(self, handles: Sequence[Any]) -> list[Any]:
        """The values of some handles; raises as :func:`gather`."""
        return list(handles) if self.client is None else gather(self.client, list(handles))

    def shared(self, value: Any) -> Any:
        """Handle of a value shared by many calls."""
        return value if self.client is None else self.client.submit(_same, value, pure=False)


def gather(client: Any, futures: Any, check: Callable[[], None] | None = None) -> Any:
    """Values of futures, as ``client.gather``, which would wait for ever if all workers are dead.

    ``check`` is called every second and raises if waiting is in vain (default: a
    :func:`watch_workers`).
    """
    check = check or watch_workers(client)
    fetched = asyncio.run_coroutine_threadsafe(
        client.gather(futures, asynchronous=True), client.loop.asyncio_loop
    )
    try:
        while True:
            try:
                return fetched.result(SECONDS_BETWEEN_CHECKS)
            except TimeoutError:
                if fetched.done():  # a task raised it
                    raise
            check()
    finally:
        fetched.cancel()


def current_client(client: Any) -> Any:
    """The client, or the current one; None if there is none."""
    if client is not None:
        return client
    try:
        from distributed import get_client

        return get_client()
    except (ImportError, ValueError):
        return None


def _same(value: Any) -> Any:
    return value
