"""Resources of a cell: permitted threads and measured peak memory."""

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

    The order of sums in BLAS depends on its number of threads. A single thread makes the results
    of a comparison independent of ``n_jobs``. The library's own Gram computations use
    single-threaded BLAS in each of their threads anyway.
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
    """Context manager that measures the peak growth of resident memory.

    On Linux, the kernel's high-water mark is reset through ``/proc/self/clear_refs`` at the start,
    so each context has its own peak (the earlier peak of the process is lost for later readers). If
    that file is not writable, and on macOS, the growth of ``ru_maxrss`` is used: the peak of the
    whole process, which misses a peak below an earlier one. Free memory held by the process is
    first returned to the system if the C library supports it (glibc); otherwise its reuse is not
    seen. Memory of other threads is included.
    """

    extra_bytes: int | None = None  # peak minus start, >= 0, set at the end; None if unknown

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
