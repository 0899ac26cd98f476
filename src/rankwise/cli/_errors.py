"""Exit codes and one-line error messages of the commands.

0: done. 1: the job failed (unreadable data, a ranker that raised, …). 2: the command line is
wrong (an unknown option, ranker, measure or data set, a file that does not exist). 3: --fail-if
found a system that is worse than the baseline. 130:
interrupted, 143: ended by SIGTERM; both after temporary files are removed. ``--debug`` anywhere on
the command line shows the traceback instead.
"""

from __future__ import annotations

import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from rankwise.runtime.shown_text import escape_hidden
from rankwise.runtime.vocabulary import LISTS, settings_written

OK, FAILED, USAGE, REGRESSED = 0, 1, 2, 3
INTERRUPTED, TERMINATED = 130, 143
DEBUG_FLAG = "--debug"
# Warnings shown as notes, because they report what was done rather than a problem.
_NOTES = ("IgnoredColumnsWarning", "MissingWordsWarning")
_OF_PYDANTIC = ": Value error, "  # added by pydantic, after typer's own "Invalid value"


class UsageError(Exception):
    """The command line is wrong: exit code 2."""


class JobError(Exception):
    """The command line is valid, but the job failed: exit code 1."""


class Terminated(KeyboardInterrupt):
    """The process was asked to end (SIGTERM); ends a command as Ctrl-C does."""


class OneLineGroup(TyperGroup):
    """A command group that reports every error as one line on stderr."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> NoReturn:
        """Run a command, and exit with a code listed in the docstring of this module.

        The context's ``obj`` holds the command line as given, for reports.
        """
        given = list(sys.argv[1:] if args is None else args)
        debug = DEBUG_FLAG in given
        with (
            settings_written(_format_option),
            warnings_in_one_line(),
            cleaning_up_when_terminated() as terminated,
        ):
            try:
                code = super().main(
                    [argument for argument in given if argument != DEBUG_FLAG],
                    prog_name,
                    complete_var,
                    standalone_mode=False,
                    windows_expand_args=windows_expand_args,
                    obj=given,
                    **extra,
                )
            except Exception as error:
                if debug:
                    raise
                code, line = _code_and_line(error)
                say(line)
            except KeyboardInterrupt:
                code = INTERRUPTED
        if terminated.is_set():
            code = TERMINATED
        sys.exit(code if isinstance(code, int) else OK)


def say(line: str) -> None:
    """Print one line on stderr."""
    typer.echo(escape_hidden(line), err=True)


def echo(text: str) -> None:
    """Print lines on stdout; names in them cannot control the terminal."""
    typer.echo(escape_hidden(text, keep="\n\t"))


@contextmanager
def usage() -> Iterator[None]:
    """Turn errors that the library raises inside the block into UsageError."""
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(one_line(error)) from error


@contextmanager
def cleaning_up_when_terminated() -> Iterator[threading.Event]:
    """SIGTERM raises :class:`Terminated` once, so that temporary files are removed; again, it ends.

    Yields an event that is set then.
    """
    terminated = threading.Event()

    def end(number: int, _: Any) -> NoReturn:
        signal.signal(number, signal.SIG_DFL)
        terminated.set()
        raise Terminated

    if threading.current_thread() is not threading.main_thread():
        yield terminated  # only the main thread handles signals
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield terminated
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def warnings_in_one_line() -> Iterator[None]:
    """Print each warning as one line on stderr, without its location in the code."""

    def show(message: Warning | str, category: type[Warning], *_: Any) -> None:
        word = "note" if category.__name__ in _NOTES else "warning"
        say(f"{word}: {one_line(message)}")

    before = warnings.showwarning
    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = before


def one_line(error: object) -> str:
    """Message of an error on one line."""
    if isinstance(error, KeyError) and error.args:
        error = error.args[0]  # str of a KeyError is the repr of its argument
    return " ".join(str(error).split())


def _format_option(name: str, value: Any) -> str:
    """A setting in messages of the library, as it is written on the command line."""
    if name == "run" and value is False:
        return "--average-repeats"
    if name == "qid" and value in (False, 0):
        return "--one-query"
    if name == "replace":
        return "--update, for a saved index"
    option = f"--{name.replace('_', '-')}"
    if name in ("weight", "time") and value is False:
        return f"{option} ''"
    if value is True:
        return option
    if value is ...:
        return f"{option} {'A,B,…' if name in LISTS else 'NAME'}"
    return f"{option} {','.join(value) if name in LISTS else repr(value)}"


def _code_and_line(error: Exception) -> tuple[int, str]:
    format_message = getattr(error, "format_message", None)
    if format_message is not None:  # an error of typer, in any module of any version
        message = one_line(format_message()).replace(_OF_PYDANTIC, ": ", 1)
        message = message or type(error).__name__
        return getattr(error, "exit_code", FAILED), f"error: {message}"
    if isinstance(error, UsageError):
        return USAGE, f"error: {error}"
    if isinstance(error, typer.Abort):
        return FAILED, "error: aborted"
    if isinstance(error, FileNotFoundError):
        return USAGE, f"error: {one_line(error)}"
    text = one_line(error) or type(error).__name__
    kind = "" if isinstance(error, JobError | OSError | ValueError) else f"{type(error).__name__}: "
    return FAILED, f"error: {kind}{text}"
