"""Run tasks in worker processes; a task that crashes or runs too long does not affect others."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.connection import wait as ended
from pickle import PicklingError
from typing import Any, Generic, TypeVar

from joblib.externals.loky import ProcessPoolExecutor, process_executor
from joblib.externals.loky.backend.reduction import dumps
from joblib.externals.loky.backend.utils import kill_process_tree
from joblib.parallel import get_active_backend

T = TypeVar("T")
R = TypeVar("R")
# Dask's names for the death of workers and the loss of their data; Dask is not imported here.
_DEATHS = ("KilledWorker", "CancelledError", "FutureCancelledError")
_NOT_SENT = (
    "it cannot be sent to a worker process: {}. Make the estimator picklable, or use isolate=False."
)
_IDLE_SECONDS = 60
# Ctrl-C that arrives just before a wait is noticed only after the wait.
_LONGEST_WAIT = 1.0
# Seconds for the executor to read the last output of a process.
_GRACE_SECONDS = 5.0


def run_all(
    run: Callable[[T], R],
    due: Callable[[], Iterator[T]],
    n_jobs: int,
    lost: Callable[[T, str], R],
    *,
    isolate: bool = False,
    time_limit: float | None = None,
    sources: Mapping[str, str] | None = None,
) -> Generator[R, None, None]:
    """Run tasks, ``n_jobs`` at a time, and yield their results as they finish.

    Within ``joblib.parallel_config("dask")``, tasks run on the cluster, else in local processes.

    Parameters
    ----------
    run : callable
        Importable function from a task to its result. An exception that it raises ends the run.
    due : callable
        Function that yields the tasks.
    n_jobs : int >= 1
        Number of tasks that run at the same time.
    lost : callable
        Function from a task whose process ended or was stopped, and a message, to its result.
    isolate : bool
        Use a worker process even with ``n_jobs=1``; otherwise tasks run in this process.
    time_limit : float, optional
        Seconds after which a task's process is stopped; needs worker processes on this machine.
    sources : mapping of str to str, optional
        Hash of the source, by name, of classes that workers import. A worker that imported another
        source of the same name is not reused.

    Raises
    ------
    ValueError
        If ``time_limit`` is given on a Dask cluster or in a process that cannot have children.

    Notes
    -----
    Starting a worker takes as long as importing the library, so workers wait a minute for the next
    call. With every task they receive this process's environment variables and working folder. They
    ignore Ctrl-C, which ends this process and thereby its workers.
    """
    client = _client() if n_jobs > 1 else None
    is_daemon = bool(multiprocessing.current_process().daemon)
    if time_limit is not None and (client is not None or is_daemon):
        where = "on a Dask cluster" if client is not None else "in a daemonic process"
        raise ValueError(
            f"time_limit cannot be kept {where}, got time_limit={time_limit:g}. Leave it out, or "
            "run compare in an ordinary process."
        )
    if client is not None:
        yield from _on_cluster(run, due(), n_jobs, lost, client)
    elif n_jobs == 1 and (not isolate or is_daemon):
        yield from map(run, due())
    else:
        yield from _in_workers(run, due(), n_jobs, lost, time_limit, dict(sources or {}))


def on_cluster() -> bool:
    """Whether work goes to a Dask cluster."""
    return _client() is not None


def _client() -> Any:
    return getattr(get_active_backend()[0], "client", None)


class _Worker(Generic[T, R]):
    """Process that runs one task at a time."""

    def __init__(self) -> None:
        self._executor = ProcessPoolExecutor(max_workers=1, initializer=_prepare)
        self._ready = self._executor.submit(_import_library)
        self.sources: dict[str, str] = {}
        self.timer: threading.Timer | None = None
        self.future: Future[R] | None = None
        self.deadline = float("inf")
        self.ended_at = float("inf")

    def start(self, task: T, work: bytes, time_limit: float | None) -> None:
        """Begin a pickled task; the time limit excludes the start of the process.

        Raises
        ------
        BrokenProcessPool
            If the process has ended.
        """
        if self._has_ended():
            raise BrokenProcessPool("its process ended while waiting for a task.")
        self.task = task
        if time_limit is not None:
            self._ready.result()
            self.deadline = time.monotonic() + time_limit
        self.future = self._executor.submit(_call, _Place.here(), work)

    def _has_ended(self) -> bool:
        # Not is_alive(), which is still true for a process that another thread is about to reap.
        processes = list(self._executor._processes.values())
        return bool(ended([process.sentinel for process in processes], timeout=0))

    def is_lost(self) -> bool:
        """Whether the executor's thread has ended, or the process did so unnoticed seconds ago.

        An executor waits forever for the rest of a result that the process was sending.
        """
        if not self._is_managed():
            return True
        if not self._has_ended():
            self.ended_at = float("inf")
            return False
        self.ended_at = min(self.ended_at, time.monotonic())
        return time.monotonic() - self.ended_at > _GRACE_SECONDS

    def finish(self) -> Future[R]:
        """Future of the finished task; the worker is free again."""
        assert self.future is not None
        future, self.future, self.deadline = self.future, None, float("inf")
        return future

    def stop(self) -> None:
        """End the process; if it runs a task, immediately and with its children.

        ``shutdown(kill_workers=True)`` can raise in the executor's thread when a task has just
        been submitted; the executor is prepared for a process that dies.
        """
        if self.future is not None:
            self._kill()
            while wait([self.future], _LONGEST_WAIT).not_done and self._is_managed():
                # The executor is waiting for the rest of a result, or has replaced the process.
                self._end_results()
                self._kill()
        self._executor.shutdown(wait=True)

    def _kill(self) -> None:
        for process in list(self._executor._processes.values()):
            kill_process_tree(process)

    def _end_results(self) -> None:
        """Let the executor read the end of the pipe instead of the rest of a result."""
        queue: Any = self._executor._result_queue
        # The executor closes both ends too; two threads must not close the same one.
        writer, queue._writer = queue._writer, queue._reader
        if writer is not queue._reader:
            writer.close()

    def _is_managed(self) -> bool:
        manager = self._executor._executor_manager_thread
        return manager is not None and manager.is_alive()


_waiting: list[_Worker[Any, Any]] = []
_of_parent: list[_Worker[Any, Any]] = []
_lock = threading.Lock()


def _leave_to_parent() -> None:
    """After a fork: the threads that serve waiting workers exist only in the parent."""
    global _lock
    _lock = threading.Lock()  # the old one may have been held
    _of_parent.extend(_waiting)  # kept, since garbage-collecting an executor shuts it down
    _waiting.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


def _keep(worker: _Worker[Any, Any]) -> None:
    """Keep a worker for the next call, for a while."""

    def retire() -> None:
        with _lock:
            if worker not in _waiting:
                return
            _waiting.remove(worker)
        worker.stop()

    worker.timer = threading.Timer(_IDLE_SECONDS, retire)
    worker.timer.daemon = True
    with _lock:
        _waiting.append(worker)
    worker.timer.start()


def _take(sources: dict[str, str]) -> _Worker[Any, Any]:
    """A waiting worker that imported no other version of these sources, or a new worker."""
    worker = None
    while worker is None:
        with _lock:
            worker = _waiting.pop() if _waiting else _Worker()
        if worker.timer is not None:
            worker.timer.cancel()
        if any(worker.sources.get(name, of) != of for name, of in sources.items()):
            worker.stop()
            worker = None
    worker.sources |= sources
    return worker


def _begin(
    worker: _Worker[T, R],
    task: T,
    work: bytes,
    time_limit: float | None,
    sources: dict[str, str],
) -> _Worker[T, R]:
    """Start a task on the worker, or on a new one if the worker's process has ended.

    Raises
    ------
    BrokenProcessPool
        If the process of the new worker has ended too.
    """
    try:
        worker.start(task, work, time_limit)
    except BrokenProcessPool:
        worker.stop()
        worker = _Worker()  # waiting workers may have ended for the same reason
        worker.sources |= sources
        try:
            worker.start(task, work, time_limit)
        except BrokenProcessPool:
            worker.stop()
            raise
    return worker


def _in_workers(
    run: Callable[[T], R],
    tasks: Iterator[T],
    n_jobs: int,
    lost: Callable[[T, str], R],
    time_limit: float | None,
    sources: dict[str, str],
) -> Iterator[R]:
    busy: list[_Worker[T, R]] = []
    free: list[_Worker[T, R]] = []
    try:
        more = True
        while more or busy:
            while more and len(busy) < n_jobs:
                task = next(tasks, None)
                if task is None:
                    more = False
                    break
                try:
                    work = _pickled(run, task)
                except PicklingError as error:
                    yield lost(task, _NOT_SENT.format(error))
                    continue
                worker = free.pop() if free else _take(sources)
                try:
                    busy.append(_begin(worker, task, work, time_limit, sources))
                except BrokenProcessPool as error:
                    yield lost(task, how_it_ended(error, n_jobs))
            if not busy:
                break
            left = min(worker.deadline for worker in busy) - time.monotonic()
            futures = [worker.future for worker in busy if worker.future is not None]
            wait(futures, max(0.0, min(left, _LONGEST_WAIT)), FIRST_COMPLETED)
            for worker in list(busy):
                assert worker.future is not None
                if worker.future.done():
                    busy.remove(worker)
                    future = worker.finish()
                    error = future.exception()
                    if isinstance(error, BrokenProcessPool):
                        worker.stop()
                        yield lost(worker.task, how_it_ended(error, n_jobs))
                        continue
                    free.append(worker)
                    if isinstance(error, PicklingError):
                        yield lost(worker.task, _NOT_SENT.format(error))
                    else:
                        yield future.result()
                elif worker.deadline <= time.monotonic():
                    busy.remove(worker)
                    worker.stop()
                    yield lost(worker.task, f"stopped at the time limit of {time_limit:g} s")
                elif worker.is_lost():
                    busy.remove(worker)
                    worker.stop()
                    yield lost(worker.task, _killed(n_jobs))
    finally:
        for worker in busy:
            worker.stop()
        for worker in free:
            _keep(worker)


def _pickled(run: Callable[[T], R], task: T) -> bytes:
    """Pickle a task and its function; any exception becomes a PicklingError."""
    try:
        return bytes(dumps((run, task)))
    except Exception as error:
        raise PicklingError(f"{type(error).__name__}: {error}") from error


def _killed(n_jobs: int) -> str:
    """Message for a task whose process was killed by the system."""
    fix = "Try n_jobs=1." if n_jobs > 1 else "Free memory, or use fewer rows or features."
    return f"its process was killed, perhaps for lack of memory. {fix}"


def how_it_ended(error: BrokenProcessPool, n_jobs: int) -> str:
    """Message about the end of a process, from the error of the executor."""
    found = re.search(r"exit codes? of the workers? (?:is|are) \{(.*?)\}", str(error))
    if found is None:
        return " ".join(str(error.__cause__ or error).split())
    if "SIGKILL" in found[1]:
        return _killed(n_jobs)
    first = re.match(r"(\w+)\((-?)(\d+)\)", found[1])
    if first is None:
        return "its process ended for an unknown reason."
    name, is_signal, number = first.groups()
    if is_signal:
        return f"its process was ended by signal {number if name == 'UNKNOWN' else name}."
    return f"its process ended with exit code {number}."


def _prepare() -> None:
    """Prepare a worker process.

    Ctrl-C reaches all processes of a terminal; only the parent process handles it. The executor
    treats a growth by 300 MB as a leak and ends the process with a warning. If warnings are errors,
    its thread ends as well, and the next task waits forever. Compiled code and the libraries of
    rankers can cause such growth.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    process_executor._MAX_MEMORY_LEAK_SIZE = sys.maxsize


def _import_library() -> None:
    """Do nothing: unpickling this function imports the library."""


@dataclass(frozen=True)
class _Place:
    """State of the calling process that a task can see."""

    environment: dict[str, str]
    folder: str
    path: list[str]

    @classmethod
    def here(cls) -> _Place:
        return cls(dict(os.environ), os.getcwd(), list(sys.path))

    def enter(self, before: _Place | None) -> None:
        """Apply this state to the current process."""
        for name in (before.environment if before else {}).keys() - self.environment.keys():
            os.environ.pop(name, None)
        os.environ.update(self.environment)
        os.chdir(self.folder)
        sys.path[:] = self.path


_last_place: _Place | None = None


def _call(place: _Place, work: bytes) -> Any:
    """Result of a pickled task, which is unpickled after its modules can be found."""
    global _last_place
    place.enter(_last_place)
    _last_place = place
    try:
        run, task = pickle.loads(work)
    except Exception as error:
        raise PicklingError(f"{type(error).__name__}: {error}") from error
    return run(task)


def _on_cluster(
    run: Callable[[T], R], tasks: Iterator[T], n_jobs: int, lost: Callable[[T, str], R], client: Any
) -> Iterator[R]:
    """Yield results from the workers of a Dask client as they finish.

    joblib's own Dask backend waits forever for a task whose worker died. Here, the tasks of dead
    workers run again at the end, one by one. A task whose worker dies again is lost.
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
            yield from (lost(task, _killed(n_jobs)) for task in dead)
    finally:
        for future in waiting:
            future.cancel()


def _finished(waiting: dict[Future[R], T], dead: list[T]) -> Iterator[R]:
    """Results of the tasks that finish next; tasks whose worker died are added to ``dead``."""
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
