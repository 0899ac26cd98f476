"""Time limit of a computation, which solvers ask for between their steps.

A search that has to end in time sets the limit around a fit. Solvers that can stop early call
:func:`check_time`; without a limit nothing happens. Threads of a solver's kernels do not see the
limit, so it is asked for where their results are joined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


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
