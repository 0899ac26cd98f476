"""Chunks of work on a pool of threads: the only form of parallelism inside the library.

Kernels release the GIL and write disjoint slots (or return a value that is reduced afterwards in
a fixed order), so results are bit-identical for any number of threads. Work runs in a copy of the
caller's context, which includes NumPy's overflow handling.
"""

from __future__ import annotations

import ast
import itertools
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import Context, ContextVar, copy_context
from functools import lru_cache
from multiprocessing import parent_process
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:  # texts of measures are parsed before numpy is needed
    import numpy as np

T = TypeVar("T")
R = TypeVar("R")
_SHARE: ContextVar[int] = ContextVar("share", default=0)  # threads of a thread; 0: not shared


def count_cores() -> int:
    """Number of CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def available_threads() -> int:
    """Number of threads that this thread may use; ``RANKWISE_NUM_THREADS`` caps it.

    In a worker process, such as one of joblib's, ``OMP_NUM_THREADS`` is its share of the machine.
    Inside of :func:`thread_map`, the threads share the CPUs of the caller.
    """
    if share := _SHARE.get():
        return share
    cap = os.environ.get("RANKWISE_NUM_THREADS", "")
    if not cap and "OMP_NUM_THREADS" in os.environ and parent_process() is not None:
        cap = os.environ["OMP_NUM_THREADS"]
    n_cores = count_cores()
    return max(1, min(n_cores, int(cap))) if cap.isdigit() and int(cap) > 0 else n_cores


def threads_asked(n_jobs: int | None) -> int:
    """Threads of one fit for ``n_jobs``, at most all: None or -1 means all, -2 all but one, …"""
    if n_jobs == 1:
        return 1
    n_threads = available_threads()
    if n_jobs is None:
        return n_threads
    return min(n_jobs, n_threads) if n_jobs > 0 else max(1, n_threads + 1 + n_jobs)


def thread_map(func: Callable[[T], R], items: Sequence[T], n_threads: int | None = None) -> list[R]:
    """``[func(item) for item in items]`` on ``n_threads`` threads, in the order of ``items``.

    The calling thread works too and finishes alone if the helpers are busy, so calls may be nested.
    If items fail, the exception is the one that a plain loop would raise.
    """
    n_threads = available_threads() if n_threads is None else n_threads
    n_threads = min(n_threads, len(items))
    if n_threads <= 1:
        return [func(item) for item in items]
    results: dict[int, R] = {}
    errors: dict[int, BaseException] = {}
    todo = deque(range(len(items)))  # popleft is atomic

    def work() -> None:
        while todo:
            try:
                index = todo.popleft()
            except IndexError:
                return
            try:
                results[index] = func(items[index])
            except BaseException as error:
                errors[index] = error
                todo.clear()

    helpers = [_helpers().submit(_share(n_threads).run, work) for _ in range(n_threads - 1)]
    _share(n_threads).run(work)
    for helper in helpers:
        if not helper.cancel():
            helper.result()
    if errors:
        raise errors[min(errors)]
    return [results[index] for index in range(len(items))]


def _share(n_threads: int) -> Context:
    """The caller's context for one of ``n_threads`` threads, with its share of the CPUs."""
    context = copy_context()
    context.run(_SHARE.set, max(1, available_threads() // n_threads))
    return context


@contextmanager
def use_one_thread() -> Iterator[None]:
    """Work without helpers inside the block: a process with threads cannot fork safely.

    Threads of OpenMP, as in scikit-learn's trees, are not started either: a forked process would
    wait for them forever.
    """
    from threadpoolctl import threadpool_limits

    token = _SHARE.set(1)
    try:
        with threadpool_limits(1, "openmp"):
            yield
    finally:
        _SHARE.reset(token)


@lru_cache(maxsize=1)
def _helpers() -> ThreadPoolExecutor:
    """Persistent threads, because starting one takes longer than a small chunk of work."""
    return ThreadPoolExecutor(max(32, os.cpu_count() or 1), thread_name_prefix="rankwise")


if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_helpers.cache_clear)


def thread_imap(
    func: Callable[[T], R], items: Iterable[T], n_threads: int | None = None
) -> Generator[R, None, None]:
    """Like :func:`thread_map`, yielding results in order with few of them alive at a time.

    Items may come from a generator, which is advanced while earlier items are processed.

    BLAS runs on one thread inside the workers. Workers and BLAS then do not compete for cores, and
    results are bit-identical for any number of workers. Small work passes ``n_threads=1`` and runs
    in the calling thread with BLAS unchanged.
    """
    if n_threads == 1:
        for item in items:
            yield func(item)
        return
    n_threads = available_threads() if n_threads is None else n_threads
    if isinstance(items, Sized):
        n_threads = max(1, min(n_threads, len(items)))
    with single_threaded_blas(), ThreadPoolExecutor(n_threads) as pool:
        pending: deque[Future[R]] = deque()
        for item in items:
            if len(pending) > n_threads:
                yield pending.popleft().result()
            pending.append(pool.submit(_share(n_threads).run, func, item))
        while pending:
            yield pending.popleft().result()


class _SingleThreadedBlas:
    """Process-wide limit, set by the first thread to enter and lifted by the last to leave.

    If every thread restored the limit it found, BLAS would stay limited after two user threads fit
    concurrently.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._depth = 0
        self._limits: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._depth == 0:
                self._limits = _blas_controller().limit(limits=1, user_api="blas")
            self._depth += 1

    def __exit__(self, *exc: object) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self._limits.restore_original_limits()


_SINGLE_THREADED_BLAS = _SingleThreadedBlas()


def single_threaded_blas() -> _SingleThreadedBlas:
    """Context in which every BLAS of the process runs on one thread.

    BLAS threads wait for each other in busy loops. On cores shared with other processes, a
    multi-threaded eigendecomposition can take ten times as long as a single-threaded one.
    """
    return _SINGLE_THREADED_BLAS


@lru_cache(maxsize=1)
def _blas_controller() -> Any:
    # Scanning the loaded libraries takes milliseconds; NumPy's and SciPy's BLAS are loaded by now.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def query_chunks(indptr: np.ndarray, rows_per_chunk: int) -> list[tuple[int, int]]:
    """Ranges ``(first, last)`` of whole queries with about ``rows_per_chunk`` rows each.

    A query larger than ``rows_per_chunk`` forms a chunk of its own.
    """
    n_queries = len(indptr) - 1
    if n_queries <= 0:
        return []
    starts = [0]
    while starts[-1] < n_queries:
        first = starts[-1]
        last = int(indptr.searchsorted(indptr[first] + rows_per_chunk, side="right")) - 1
        starts.append(min(max(last, first + 1), n_queries))
    return list(itertools.pairwise(starts))


def parse_syntax(source: str | bytes) -> ast.Module:
    """Syntax tree of a text, as of `ast.parse`, whatever other threads do.

    Before 3.11.8 and 3.12.2, threads share a counter of Python's depth in a tree. Where a callback
    of the garbage collector (distributed has one) lets another thread parse in the middle of a
    tree, a correct text ends in a SystemError (github.com/python/cpython/issues/106905). Nothing
    else raises it, so the text is read again.
    """
    for _ in range(20):
        with suppress(SystemError):
            return ast.parse(source)
    return ast.parse(source)
