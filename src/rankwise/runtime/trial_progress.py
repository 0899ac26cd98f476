"""Trials of a running search, told to whoever shows its progress.

A search announces every trial before it starts. The command line listens, so that its progress line
names the trial; without a listener nothing happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class TrialStart:
    """Trial ``number``, from 1, of ``total`` that is about to start."""

    name: str
    number: int
    total: int
    best: float | None  # best value so far, larger is better; None: none is known
    seconds_left: float | None  # until the time limit; None: there is no limit


_LISTENER: ContextVar[Callable[[TrialStart], None] | None] = ContextVar("listener", default=None)


@contextmanager
def listen_to_trials(listener: Callable[[TrialStart], None]) -> Iterator[None]:
    """Call ``listener`` before every trial of searches in this context."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def announce_trial(trial: TrialStart) -> None:
    """Tell the listener, if there is one, that a trial starts."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(trial)
