"""Calls on a cluster, or in this process without one; none waits for workers that never return."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from dask.delayed import delayed

from rankwise.selection.workers import watch_workers

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
