"""Run tasks in worker processes; one that is killed does not take the others with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from joblib import Parallel, delayed
from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.process_executor import TerminatedWorkerError
from joblib.parallel import get_active_backend

T = TypeVar("T")
R = TypeVar("R")
# What Dask, which is not imported here, calls the death of workers, and the loss of their data.
_DEATHS = ("KilledWorker", "CancelledError", "FutureCancelledError")
KILLED = "its process was killed, perhaps for want of memory. Try n_jobs=1."


def run_all(
    run: Callable[[T], R],
    due: Callable[[], Iterator[T]],
    n_jobs: int,
    lost: Callable[[T, str], R],
) -> Iterator[R]:
    """Results of the tasks as they finish, ``n_jobs`` at a time.

    Within ``joblib.parallel_config("dask")`` they run on the cluster, else in processes here.

    Parameters
    ----------
    run : callable
        From a task to its result; importable, and it never raises.
    due : callable
        Gives the tasks whose results have not been yielded yet.
    n_jobs : int >= 1
        1: in this process.
    lost : callable
        The result of a task whose process was killed, from the task and a message.

    Notes
    -----
    Where a worker process is killed (out of memory, say), the tasks still due run one by one in
    a process beside this one: then it is known whose fault it was, and the rest finishes.
    """
    if n_jobs == 1:
        yield from map(run, due())
        return
    client = getattr(get_active_backend()[0], "client", None)
    if client is not None:
        yield from _on_cluster(run, due(), n_jobs, lost, client)
        return
    settings: Any = {"batch_size": 1, "return_as": "generator_unordered"}
    parallel: Any = Parallel(n_jobs=n_jobs, **settings)
    try:
        yield from parallel(delayed(run)(task) for task in due())
    except TerminatedWorkerError:
        yield from _one_by_one(run, due(), lost)


def _on_cluster(
    run: Callable[[T], R], tasks: Iterator[T], n_jobs: int, lost: Callable[[T, str], R], client: Any
) -> Iterator[R]:
    """Results from the workers of a Dask client, as they finish.

    joblib's own Dask backend waits for ever for a task whose worker died. Here the tasks that a
    dying worker held run again at the end, one by one: those whose worker dies once more are lost.
    """
    executor = client.get_executor(pure=False)
    waiting: dict[Future[R], T] = {}
    again: list[T] = []

    def put(task: T) -> None:
        waiting[executor.submit(run, client.scatter(task, hash=False))] = task

    try:
        for task in tasks:
            put(task)
            if len(waiting) >= 2 * n_jobs:
                yield from _finished(waiting, again)
        while waiting:
            yield from _finished(waiting, again)
        for task in again:
            put(task)
            dead: list[T] = []
            yield from _finished(waiting, dead)
            yield from (lost(task, KILLED) for task in dead)
    finally:
        for future in waiting:
            future.cancel()


def _finished(waiting: dict[Future[R], T], dead: list[T]) -> Iterator[R]:
    """Results of the tasks that finish next; those whose worker died go to ``dead``."""
    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
    for future in done:
        task = waiting.pop(future)
        error = CancelledError() if future.cancelled() else future.exception()
        if error is None:
            yield future.result()
        elif type(error).__name__ in _DEATHS:
            dead.append(task)
        else:
            raise error


def _one_by_one(
    run: Callable[[T], R], tasks: Iterator[T], lost: Callable[[T, str], R]
) -> Iterator[R]:
    """Results of the tasks in a worker process that is replaced whenever it dies."""
    executor = ProcessPoolExecutor(max_workers=1)
    try:
        for task in tasks:
            try:
                yield executor.submit(run, task).result()
            except BrokenProcessPool:
                executor.shutdown()
                executor = ProcessPoolExecutor(max_workers=1)
                yield lost(task, KILLED)
    finally:
        executor.shutdown()
