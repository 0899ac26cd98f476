"""Run tasks in worker processes; a task that crashes or runs too long does not affect others.

Large arrays of a task become files that workers map read-only.
"""

from __future__ import annotations

import atexit
import os
import pickle
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from pickle import PicklingError, UnpicklingError
from queue import SimpleQueue
from threading import Timer
from typing import IO, Any, BinaryIO, Self, TypeVar

import numpy as np
from joblib import wrap_non_picklable_objects
from joblib.parallel import get_active_backend

from rankwise.datasets.data import Fold
from rankwise.runtime.files import temporary_folder

T = TypeVar("T")
R = TypeVar("R")
# Dask's names for the death of workers and the loss of their data; Dask is not imported here.
_DEATHS = ("KilledWorker", "CancelledError", "FutureCancelledError")
_NOT_SENT = (
    "it cannot be sent to a worker process: {}. Make the estimator picklable, or use isolate=False."
)
_IDLE_SECONDS = 60
SECONDS_TO_RETURN = 300.0  # for workers of a cluster
# Ctrl-C that arrives just before a wait is noticed only after the wait.
_LONGEST_WAIT = 1.0
# Seconds for an idle process to end by itself.
_GRACE_SECONDS = 5.0
# Run by a worker process, whose arguments are the mark of its first message and this process's
# module path.
_START = """\
import sys
mark = sys.argv[1]
sys.path[:] = sys.argv[2:]
del sys.argv[1:]
from rankwise.selection.cells.workers import serve
serve(mark)
"""


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

    ``run`` is an importable function from a task to its result; an exception that it raises ends
    the run. ``due`` yields the tasks. ``lost`` makes the result of a task whose process ended or
    was stopped, from the task and a message. Without ``isolate``, tasks run in this process if
    ``n_jobs`` is 1. ``time_limit`` (seconds) stops the process of a task, so it needs worker
    processes on this machine. ``sources`` are hashes of the source, by name, of classes that
    workers import; a worker that imported another source of the same name is not reused.

    Starting a worker takes as long as importing the library, so workers wait a minute for the next
    call. With every task they receive this process's environment variables and working folder. They
    ignore Ctrl-C, which ends this process and thereby its workers. What they print goes to the
    standard error of this process.
    """
    client = _client() if n_jobs > 1 else None
    if time_limit is not None and client is not None:
        raise ValueError(
            f"time_limit cannot be kept on a Dask cluster, got time_limit={time_limit:g}. Leave it "
            "out, or run compare on this machine."
        )
    if client is not None:
        yield from _run_on_cluster(run, due(), n_jobs, lost, client)
    elif n_jobs == 1 and not isolate:
        yield from map(run, due())
    else:
        yield from _run_in_workers(run, due(), n_jobs, lost, time_limit, dict(sources or {}))


def uses_cluster() -> bool:
    """Whether work goes to a Dask cluster."""
    return _client() is not None


def _client() -> Any:
    return getattr(get_active_backend()[0], "client", None)


class _Worker:
    """Process that runs one task at a time."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        # Of random letters, so that nothing printed before it can be taken for it.
        self._mark = secrets.token_hex(16)
        self._is_open = False  # whether the mark has been read
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, self._mark, *map(str, sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,  # also of the children that a task starts
        )
        self._is_late = False
        self.sources = dict(sources)
        self.timer: Timer | None = None

    def run(
        self, state: _CallerState, work: bytes, time_limit: float | None, n_jobs: int
    ) -> tuple[Any, Any]:
        """Result of a pickled task, and the exception that it raised, one of them None.

        The time limit excludes the start of the process. If the process ended, perhaps in the
        middle of its reply, the ChildProcessError says how.
        """
        source, sink = self._process.stdout, self._process.stdin
        assert source is not None and sink is not None
        clock = Timer(time_limit or 0.0, self.expire)
        try:
            if not self._is_open:
                # Before anything is sent: a process that prints more than the pipe holds would
                # never come to reading.
                _skip_prints(source, self._mark)
                self._is_open = True
            _send((state, work), sink)
            pickle.load(source)  # the process has read the task
            if time_limit is not None:
                clock.start()
            reply = pickle.load(source)
        except (OSError, EOFError, UnpicklingError):
            message = how_it_ended(self._process.wait(), n_jobs)
            if self._is_late:
                message = f"stopped at the time limit of {time_limit:g} s"
            raise ChildProcessError(message) from None
        finally:
            clock.cancel()
        return pickle.loads(reply)

    def expire(self) -> None:
        """End the process and its children, since the time limit has passed."""
        self._is_late = True
        self.kill()

    def kill(self) -> None:
        """End the process and its children; also the children of one that has ended."""
        _kill(self._process.pid)

    def has_ended(self) -> bool:
        """Whether the process has ended."""
        return self._process.poll() is not None

    def stop(self) -> None:
        """End the process, which runs no task."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with suppress(OSError):  # it has ended already
            self._process.stdin.close()
        try:
            self._process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()
        self._process.stdout.close()


def _kill(group: int) -> None:
    """End a worker process and its children."""
    if sys.platform == "win32":
        subprocess.run(["taskkill", "/F", "/T", "/PID", str(group)], capture_output=True)
    else:
        with suppress(ProcessLookupError, PermissionError):  # on macOS, if all have ended
            os.killpg(group, signal.SIGKILL)


_waiting: list[_Worker] = []
_lock = threading.Lock()


def _leave_to_parent() -> None:
    """After a fork: workers serve the parent only."""
    global _lock
    _lock = threading.Lock()  # the old one may have been held
    _waiting.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


def _keep(worker: _Worker) -> None:
    """Keep a worker for the next call, for a while."""
    worker.timer = Timer(_IDLE_SECONDS, _retire, [worker])
    worker.timer.daemon = True
    with _lock:
        _waiting.append(worker)
    worker.timer.start()


def _retire(worker: _Worker) -> None:
    with _lock:
        if worker not in _waiting:
            return
        _waiting.remove(worker)
    worker.stop()


@atexit.register
def _retire_all() -> None:
    for worker in list(_waiting):
        _retire(worker)


def _take(sources: dict[str, str], held: list[_Worker]) -> _Worker:
    """A waiting worker that imported no other version of these sources, or a new one.

    It is added to those that the call holds.
    """
    while True:
        with _lock:
            worker = _waiting.pop() if _waiting else _Worker(sources)
            held.append(worker)
        if worker.timer is not None:
            worker.timer.cancel()
        if all(worker.sources.get(name, source) == source for name, source in sources.items()):
            worker.sources |= sources
            return worker
        worker.stop()
        held.remove(worker)


def _run_in_workers(
    run: Callable[[T], R],
    tasks: Iterator[T],
    n_jobs: int,
    lost: Callable[[T, str], R],
    time_limit: float | None,
    sources: dict[str, str],
) -> Iterator[R]:
    busy: dict[Future[tuple[R, Any]], tuple[_Worker, T]] = {}
    free: list[_Worker] = []
    # All workers of this call, from their start on: Ctrl-C may come between any two lines below.
    held: list[_Worker] = []
    threads = ThreadPoolExecutor(n_jobs)
    try:
        more = True
        while more or busy:
            while more and len(busy) < n_jobs:
                task = next(tasks, None)
                if task is None:
                    more = False
                    break
                try:
                    work = _pickle((run, task))
                except PicklingError as error:
                    yield lost(task, _NOT_SENT.format(error))
                    continue
                worker = free.pop() if free else _take(sources, held)
                if worker.has_ended():
                    worker.stop()
                    held.remove(worker)
                    worker = _Worker(sources)  # waiting ones may have ended for the same reason
                    held.append(worker)
                future = threads.submit(worker.run, _CallerState.here(), work, time_limit, n_jobs)
                busy[future] = worker, task
            done, _ = wait(busy, _LONGEST_WAIT, FIRST_COMPLETED)
            for future in done:
                worker, task = busy.pop(future)
                try:
                    result, error = future.result()
                except ChildProcessError as ended:
                    worker.stop()
                    held.remove(worker)
                    yield lost(task, str(ended))
                    continue
                free.append(worker)
                if isinstance(error, PicklingError):
                    yield lost(task, _NOT_SENT.format(error))
                elif error is not None:
                    raise error
                else:
                    yield result
            for worker, _ in busy.values():
                if worker.has_ended():
                    worker.kill()  # children, which may hold its end of the pipe
    finally:
        in_use = [worker for worker in held if worker not in free]
        for worker in in_use:
            worker.kill()
        threads.shutdown()
        for worker in in_use:
            worker.stop()
        for worker in free:
            _keep(worker)


def _pickle(value: Any) -> bytes:
    """Pickle a value, also of local classes and functions; any error becomes a PicklingError."""
    try:
        return pickle.dumps(wrap_non_picklable_objects(value, keep_wrapper=False))
    except Exception as error:
        raise PicklingError(f"{type(error).__name__}: {error}") from error


def _skip_prints(source: IO[bytes], mark: str) -> None:
    """Read up to the mark of a worker process; print what its start-up printed before it.

    Files such as sitecustomize.py, and modules that the library imports, may print. EOFError: the
    process ended before it wrote the mark.
    """
    wanted = f"{mark}\n".encode()
    while line := source.readline():
        # What was printed may not end its line.
        is_last = line.endswith(wanted)
        sys.stderr.write(line.removesuffix(wanted if is_last else b"").decode(errors="replace"))
        if is_last:
            return
    raise EOFError


def _send(message: Any, sink: IO[bytes]) -> None:
    pickle.dump(message, sink)
    sink.flush()


def _describe_kill(n_jobs: int) -> str:
    """Message for a task whose process was killed by the system."""
    fix = "Try n_jobs=1." if n_jobs > 1 else "Free memory, or use fewer rows or features."
    return f"its process was killed, perhaps for lack of memory. {fix}"


def how_it_ended(code: int, n_jobs: int) -> str:
    """Message about the end of a process with this exit code, on POSIX minus a signal."""
    if code >= 0:
        return f"its process ended with exit code {code}."
    if -code == signal.SIGKILL:
        return _describe_kill(n_jobs)
    names = {number.value: number.name for number in signal.Signals}
    return f"its process was ended by signal {names.get(-code, -code)}."


@dataclass(frozen=True)
class _CallerState:
    """State of the calling process that a task can see."""

    environment: dict[str, str]
    folder: str
    path: list[str]

    @classmethod
    def here(cls) -> _CallerState:
        return cls(dict(os.environ), os.getcwd(), list(sys.path))

    def enter(self, before: _CallerState | None) -> None:
        """Apply this state to the current process."""
        for name in (before.environment if before else {}).keys() - self.environment.keys():
            os.environ.pop(name, None)
        os.environ.update(self.environment)
        os.chdir(self.folder)
        sys.path[:] = self.path


def serve(mark: str) -> None:
    """Run the tasks that the parent process sends; in a worker process.

    Its messages begin after ``mark``; what was printed earlier is not one. It ends with the parent
    process, also in the middle of a task. Ctrl-C is left to the parent.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # What tasks read and print must not mix with the messages.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    sink.write(f"{mark}\n".encode())
    sink.flush()
    messages: SimpleQueue[tuple[_CallerState, bytes] | None] = SimpleQueue()
    is_running = False

    def receive() -> None:
        with suppress(OSError, EOFError, UnpicklingError):
            while True:
                messages.put(pickle.load(source))
        if is_running:
            _kill(os.getpid())
        messages.put(None)

    threading.Thread(target=receive, daemon=True).start()
    before = None
    while (message := messages.get()) is not None:
        is_running = True
        _send(None, sink)
        reply = _call(*message, before)
        sys.stdout.flush()
        _send(reply, sink)
        before, is_running = message[0], False


def _call(state: _CallerState, work: bytes, before: _CallerState | None) -> bytes:
    """Pickled result of a task and exception that it raised, one of them None."""
    result, raised = None, None
    try:
        state.enter(before)
        try:
            run, task = pickle.loads(work)
        except Exception as error:
            raise PicklingError(f"{type(error).__name__}: {error}") from error
        result = run(task)
    except BaseException as error:
        error.add_note(f"In a worker process:\n{traceback.format_exc()}")
        raised = error
    try:
        return _pickle((result, raised))
    except PicklingError as error:
        return pickle.dumps((None, error))


def watch_workers(client: Any) -> Callable[[], None]:
    """Function that raises RuntimeError once a cluster has had no worker for five minutes."""
    seen = time.monotonic()

    def check() -> None:
        nonlocal seen
        if client.nthreads():
            seen = time.monotonic()
        elif time.monotonic() - seen > SECONDS_TO_RETURN:
            raise RuntimeError(
                f"the cluster has had no worker for {SECONDS_TO_RETURN:.0f} s: all died or were "
                "stopped, and none came back. Start workers, with more memory or fewer rows each, "
                "and run this again."
            )

    return check


def _run_on_cluster(
    run: Callable[[T], R], tasks: Iterator[T], n_jobs: int, lost: Callable[[T, str], R], client: Any
) -> Iterator[R]:
    """Yield results from the workers of a Dask client as they finish.

    joblib's own Dask backend waits forever for a task whose worker died. Here, the tasks of dead
    workers run again at the end, one by one. A task whose worker dies again is lost. RuntimeError
    if all workers are gone for good.
    """
    check = watch_workers(client)
    executor = client.get_executor(pure=False)
    waiting: dict[Future[R], T] = {}
    again: list[T] = []

    def put(task: T) -> None:
        while not client.nthreads():  # scattering gives up after 30 seconds
            check()
            time.sleep(_LONGEST_WAIT)
        waiting[executor.submit(run, client.scatter(task, hash=False))] = task

    try:
        for task in tasks:
            put(task)
            if len(waiting) >= 2 * n_jobs:
                yield from _yield_finished(waiting, again, check)
        while waiting:
            yield from _yield_finished(waiting, again, check)
        for task in again:
            put(task)
            dead: list[T] = []
            yield from _yield_finished(waiting, dead, check)
            yield from (lost(task, _describe_kill(n_jobs)) for task in dead)
    finally:
        for future in waiting:
            future.cancel()


def _yield_finished(
    waiting: dict[Future[R], T], dead: list[T], check: Callable[[], None]
) -> Iterator[R]:
    """Results of the tasks that finish next; tasks whose worker died are added to ``dead``."""
    while not (done := wait(waiting, _LONGEST_WAIT, FIRST_COMPLETED).done):
        check()
    for future in done:
        task = waiting.pop(future)
        error = CancelledError() if future.cancelled() else future.exception()
        if error is None:
            yield future.result()
        elif type(error).__name__ in _DEATHS:
            dead.append(task)
        else:
            raise error


_LARGE = 1 << 20  # bytes


@dataclass(frozen=True)
class Parcel:
    """Fold stored in files."""

    folder: Path

    def open(self) -> Fold:
        """Load the fold; a process caches the last one that it opened."""
        return _open(self.folder)

    def remove(self) -> None:
        """Delete the files; processes that opened them keep their arrays."""
        shutil.rmtree(self.folder, ignore_errors=True)


class Parcels:
    """Context manager that packs folds into a temporary folder and removes it at the end."""

    def __enter__(self) -> Self:
        self._stack, self._folder, self._n_packed = ExitStack(), None, 0
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def pack(self, fold: Fold) -> Parcel | Fold:
        """Write a fold; if that is impossible (a full disk), return it as it is."""
        try:
            return self._write(fold)
        except OSError:
            return fold

    def _write(self, fold: Fold) -> Parcel:
        if self._folder is None:
            self._folder = self._stack.enter_context(temporary_folder())
        parcel = Parcel(self._folder / str(self._n_packed))
        self._n_packed += 1
        try:
            parcel.folder.mkdir()
            with (parcel.folder / "fold").open("wb") as file:
                _Pickler(file, parcel.folder).dump(fold)
        except BaseException:
            parcel.remove()
            raise
        return parcel


class _Pickler(pickle.Pickler):
    """Pickler that writes arrays of a megabyte or more to separate files."""

    def __init__(self, file: BinaryIO, folder: Path) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._folder = folder
        self._names: dict[int, str] = {}

    def persistent_id(self, value: Any) -> str | None:
        """Name of the file for a large array."""
        is_large = isinstance(value, np.ndarray) and value.nbytes >= _LARGE
        if not is_large or value.dtype.hasobject:
            return None
        if id(value) not in self._names:
            name = f"{len(self._names)}.npy"
            np.save(self._folder / name, value, allow_pickle=False)
            self._names[id(value)] = name
        return self._names[id(value)]


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: BinaryIO, folder: Path) -> None:
        super().__init__(file)
        self._folder = folder

    def persistent_load(self, name: str) -> Any:
        """Array in a file, as a plain read-only array."""
        return np.asarray(np.load(self._folder / name, mmap_mode="r", allow_pickle=False))


@lru_cache(maxsize=1)
def _open(folder: Path) -> Fold:
    with (folder / "fold").open("rb") as file:
        return _Unpickler(file, folder).load()
