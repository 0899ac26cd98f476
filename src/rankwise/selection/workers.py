"""Run tasks in worker processes; one that is killed does not take the others with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from joblib import Parallel, delayed
from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.process_executor import TerminatedWorkerError

T = TypeVar("T")
R = TypeVar("R")
KILLED = "its process was killed, perhaps for want of memory. Try n_jobs=1."


def run_all(
    run: Callable[[T], R],
    due: Callable[[], Iterator[T]],
    n_jobs: int,
    lost: Callable[[T, str], R],
) -> Iterator[R]:
    """Results of the tasks as they finish, ``n_jobs`` processes at a time.

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
    settings: Any = {"batch_size": 1, "return_as": "generator_unordered"}
    parallel: Any = Parallel(n_jobs=n_jobs, **settings)
    try:
        yield from parallel(delayed(run)(task) for task in due())
    except TerminatedWorkerError:
        yield from _one_by_one(run, due(), lost)


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
