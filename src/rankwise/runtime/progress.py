"""Progress and limits of a computation, known to the context that started it.

- A search announces every trial before it starts, and a comparison every cell. The command line
  listens, so that its progress line names what runs; without a listener nothing happens.
- A process that shows progress names a folder in an environment variable, which workers inherit.
  While a process compiles a kernel, it keeps an empty file there. A kernel that comes from the
  cache on disk is not compiled.
- A search that has to end in time sets a limit around a fit. Solvers that can stop early call
  :func:`check_time`. Threads of a solver's kernels do not see the limit, so it is asked for where
  their results are joined.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rankwise.runtime.files import temporary_folder


@dataclass(frozen=True)
class TrialStart:
    """Trial ``number``, from 1, of ``total`` that is about to start."""

    name: str
    number: int
    total: int
    best: float | None  # best value so far, larger is better; None: none is known
    seconds_left: float | None  # until the time limit; None: there is no limit


_LISTENER: ContextVar[Callable[[Any], None] | None] = ContextVar("listener", default=None)


@contextmanager
def listen_to_starts(listener: Callable[[Any], None]) -> Iterator[None]:
    """Call ``listener`` with every TrialStart, and every name of a cell, of this context."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def announce_start(start: TrialStart | str) -> None:
    """Tell the listener, if there is one, that a trial starts, or the cell of this name."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(start)


_FOLDER = "RANKWISE_COMPILING"
# Kernels are compiled one after the other, with short breaks.
_BREAK_SECONDS = 1.0


@contextmanager
def watch_compilation() -> Iterator[Callable[[], bool]]:
    """Yield a function that says whether something is being compiled at the moment.

    Without a folder for temporary files (none is writable, or the disk is full) it says no.
    """
    before = os.environ.get(_FOLDER)
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(temporary_folder())
        except OSError:
            yield bool
            return
        os.environ[_FOLDER] = str(folder)
        start = folder.stat().st_mtime
        try:
            yield lambda: _is_compiling(folder, start)
        finally:
            if before is None:
                del os.environ[_FOLDER]
            else:
                os.environ[_FOLDER] = before


def _is_compiling(folder: Path, start: float) -> bool:
    with suppress(OSError):
        changed = folder.stat().st_mtime  # when a file was created or removed
        if changed > start and time.time() - changed < _BREAK_SECONDS:
            return True
        return any(_is_alive(int(path.name.partition("-")[0])) for path in folder.glob("*-*"))
    return False


def _is_alive(pid: int) -> bool:
    """Whether a process still exists; a worker that was killed leaves its file."""
    if os.name != "posix":
        return True  # os.kill would end the process
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


@cache
def announce_compilation() -> None:
    """Let Numba report its compilations in this process to :func:`watch_compilation`."""
    from numba.core import event

    depth = threading.local()  # a kernel is compiled while another one that calls it is

    class Announcement(event.Listener):
        def on_start(self, event: Any) -> None:
            depth.value = getattr(depth, "value", 0) + 1
            if depth.value == 1 and (path := _file()):
                with suppress(OSError):
                    path.touch()

        def on_end(self, event: Any) -> None:
            depth.value -= 1
            if depth.value == 0 and (path := _file()):
                with suppress(OSError):
                    path.unlink(missing_ok=True)

    event.register("numba:compile", Announcement())


def _file() -> Path | None:
    folder = os.environ.get(_FOLDER)
    return Path(folder, f"{os.getpid()}-{threading.get_ident()}") if folder else None


@dataclass
class TimeLimit:
    """Limit of the computations of a context."""

    seconds_left: Callable[[], float]  # below 0 after the limit
    is_reached: bool = False  # whether a computation asked after the limit, and so was cut short


class TimeLimitError(Exception):
    """The time limit of a computation was reached before it had a result."""


_LIMIT: ContextVar[TimeLimit | None] = ContextVar("time_limit", default=None)


@contextmanager
def limit_time(seconds_left: Callable[[], float]) -> Iterator[TimeLimit]:
    """Limit the computations of this context, see :class:`TimeLimit`."""
    limit = TimeLimit(seconds_left)
    token = _LIMIT.set(limit)
    try:
        yield limit
    finally:
        _LIMIT.reset(token)


def check_time() -> None:
    """Raise TimeLimitError if this context has a limit that is over."""
    limit = _LIMIT.get()
    if limit is not None and limit.seconds_left() < 0:
        limit.is_reached = True
        raise TimeLimitError
