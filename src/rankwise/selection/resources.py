"""What a cell may use and what it used: threads and peak memory."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from threadpoolctl import threadpool_limits

THREADS_VARIABLE = "RANKWISE_NUM_THREADS"


@contextmanager
def threads(n_threads: int) -> Iterator[None]:
    """Run with ``n_threads`` threads of the library and of OpenMP, and one of BLAS.

    BLAS sums in another order for another number of threads. One thread always, whatever
    ``n_jobs``, makes the numbers of a comparison the same for any ``n_jobs``; the library's own
    Gram work runs single-threaded BLAS in every of its threads anyway.
    """
    before = os.environ.get(THREADS_VARIABLE)
    os.environ[THREADS_VARIABLE] = str(n_threads)
    try:
        with threadpool_limits({"blas": 1, "openmp": n_threads}):
            yield
    finally:
        if before is None:
            del os.environ[THREADS_VARIABLE]
        else:
            os.environ[THREADS_VARIABLE] = before


class PeakMemory:
    """Context that measures by how much resident memory rose above its start, at the peak.

    Attributes
    ----------
    extra_bytes : int or None
        After the context: peak minus start, >= 0. None where the system does not tell.

    Notes
    -----
    Linux: the kernel's high-water mark, reset through ``/proc/self/clear_refs`` at the start, so
    that each context has a peak of its own (the process's earlier peak is lost to later readers).
    Where that file may not be written, and on macOS: the rise of ``ru_maxrss``, the peak of the
    whole process, which misses a peak below an earlier one. Free memory that the process holds is
    given back first where the C library can do that (glibc); elsewhere its reuse stays unseen.
    What other threads take counts.
    """

    extra_bytes: int | None = None

    def __enter__(self) -> PeakMemory:
        _release_free_memory()
        self._resettable = _reset_peak()
        self._start = _status_bytes("VmRSS") if self._resettable else max_rss()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        peak = _status_bytes("VmHWM") if self._resettable else max_rss()
        if peak is not None and self._start is not None:
            self.extra_bytes = max(0, peak - self._start)


def _release_free_memory() -> None:
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:  # not in musl
            trim(0)


def _reset_peak() -> bool:
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        return False
    return _status_bytes("VmHWM") is not None


def _status_bytes(what: str) -> int | None:
    try:
        with open("/proc/self/status") as file:
            for line in file:
                if line.startswith(f"{what}:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def max_rss() -> int | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
