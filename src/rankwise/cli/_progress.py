"""Progress on stderr: after two seconds, a bar with the remaining time.

While kernels are compiled, on the first run of a new version, it says so.
If stderr is not a terminal, a line is printed every ten seconds.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from rankwise.cli._errors import say
from rankwise.runtime.compiling import watch_compilation
from rankwise.runtime.trial_progress import TrialStart, listen_to_trials

QUIET_SECONDS = 2.0
_LINE_EVERY_SECONDS = 10.0


class Progress:
    """Context manager that shows the progress of a job of more than two seconds.

    ``what`` names the job, e.g. "Comparing". ``total`` is None if its steps cannot be counted.
    """

    def __init__(self, what: str, total: int | None = None) -> None:
        self.what = what
        self._total = total
        self._done = 0
        self._note = ""
        self._end: float | None = None
        self._lock = threading.RLock()
        self._finished = threading.Event()
        self._bar: Any = None
        self._task: Any = None
        self._stack = ExitStack()
        self._is_compiling: Callable[[], bool] = bool
        self._thread = threading.Thread(target=self._show, daemon=True)
        self._start = time.monotonic()

    def __enter__(self) -> Progress:
        self._is_compiling = self._stack.enter_context(watch_compilation())
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._finished.set()
        self._thread.join()
        if self._bar is not None:
            self._bar.stop()
        self._stack.close()

    def update(self, done: int, total: int, note: str = "", left: float | None = None) -> None:
        """Record that ``done`` of ``total`` steps are done; ``left``: estimated seconds to go."""
        with self._lock:
            self._done, self._total, self._note = done, total, note
            self._end = None if left is None else time.monotonic() + left
            if self._bar is not None:
                self._bar.update(self._task, completed=done, total=total, note=note)

    def line(self) -> str:
        """State of the job as one line of text."""
        seconds = time.monotonic() - self._start
        done = f"{self._done} of {self._total} after" if self._total else ""
        so_far = f"{done} {_clock(seconds)}" if done else f"{_clock(seconds)} so far"
        known = [so_far, self.left(), self.compiling(), self._note]
        return f"{self.what}: {', '.join(text for text in known if text)}"

    def left(self) -> str:
        """Remaining time as text; empty if unknown."""
        if self._end is None:
            return ""
        return f"about {_clock(max(0.0, self._end - time.monotonic()))} left"

    def compiling(self) -> str:
        """ "compiling …" while kernels are compiled; else empty."""
        return "compiling …" if self._is_compiling() else ""

    def _show(self) -> None:
        if self._finished.wait(QUIET_SECONDS):
            return
        if sys.stderr.isatty():
            with self._lock:
                self._bar = _bar(self)
                self._task = self._bar.add_task(
                    self.what, completed=self._done, total=self._total, note=self._note
                )
                self._bar.start()
            return
        say(self.line())
        while not self._finished.wait(_LINE_EVERY_SECONDS):
            say(self.line())


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show the elapsed time of a job without countable steps."""
    with Progress(what):
        yield


@contextmanager
def trial_progress(what: str) -> Iterator[None]:
    """Show the trials of a search, with the best value so far; otherwise the elapsed time."""
    with Progress(what) as progress:

        def show(trial: TrialStart) -> None:
            note = trial.name if trial.best is None else f"{trial.name}, best {trial.best:.4f}"
            progress.update(trial.number - 1, trial.total, note, trial.seconds_left)

        with listen_to_trials(show):
            yield


def _bar(status: Progress) -> Any:
    from rich import progress
    from rich.console import Console
    from rich.text import Text

    class TimeLeft(progress.ProgressColumn):
        def render(self, task: progress.Task) -> Text:
            return Text(status.left())

    class Compiling(progress.ProgressColumn):
        def render(self, task: progress.Task) -> Text:
            return Text(status.compiling())

    return progress.Progress(
        progress.SpinnerColumn(),
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        TimeLeft(),
        Compiling(),
        progress.TextColumn("{task.fields[note]}"),
        console=Console(stderr=True),
        transient=True,
    )


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
