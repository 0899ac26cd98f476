"""What commands show: tables and JSON on stdout; progress, notes and errors on stderr.

After two seconds, a line shows the time so far, the remaining time and what runs since when; if
stderr is not a terminal, a new line every ten seconds. While kernels are compiled, on the first run
of a new version, it says so.

Exit codes: 0: done. 1: the job failed (unreadable data, a ranker that raised, …). 2: the command
line is wrong (an unknown option, ranker, measure or data set, a file that does not exist). 3:
--fail-if found a system that is worse than the baseline. 130: interrupted, 143: ended by SIGTERM;
both after temporary files are removed. ``--debug`` anywhere on the command line shows the traceback
instead.
"""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from rankwise._packages import explain_missing
from rankwise._registry import join_names
from rankwise.cli.help_pages import count_cells, example_of, help_page, usage_of, wrap
from rankwise.runtime.messages import (
    LISTS,
    ArgumentError,
    SourceError,
    convert_to_json,
    escape_hidden,
    settings_written,
)
from rankwise.runtime.progress import TrialStart, listen_to_starts, watch_compilation
from rankwise.runtime.renames import find_new_name, find_new_word

if TYPE_CHECKING:
    from rankwise.runtime.result import Result

# Piped tables take their natural width.
_PIPE_WIDTH = 1000


def check_target(path: Path, option: str) -> None:
    """Raise UsageError before any work is done if no file can be written at ``path``.

    Missing folders are allowed: :func:`make_folder` creates them just before writing.
    """
    if path.is_dir():
        raise UsageError(f"{option} must name a file, but {path} is a folder.")
    there = next(folder for folder in path.absolute().parents if folder.exists())
    if not there.is_dir():
        raise UsageError(f"{option} {path} cannot be written: {there} is a file, not a folder.")


def check_folder(path: Path) -> None:
    """Raise UsageError if --out names a file instead of a folder, which may be missing."""
    if path.exists() and not path.is_dir():
        raise UsageError(f"--out must name a folder, but {path} is a file.")


def check_file(path: Path, what: str = "file") -> None:
    """Raise UsageError if a file is missing."""
    if not path.is_file():
        raise UsageError(f"{str(path)!r} is not a {what}. Check the path.")


def check_model_file(path: Path) -> None:
    """Raise UsageError if a model file is missing; tell how to search an index."""
    if path.is_dir():
        from rankwise.text.text_index import has_index

        if has_index(path):
            raise UsageError(
                f"{str(path)!r} is an index of text. Search it: rankwise search {path} QUERIES."
            )
    check_file(path, "model file")


def make_folder(path: Path) -> None:
    """Create the parent folders of the file ``path``."""
    path.parent.mkdir(parents=True, exist_ok=True)


def terminal_width(stream: Any = None) -> int | None:
    """Width of the terminal in characters; None if the stream (default: stdout) is no terminal."""
    stream = stream or sys.stdout
    if not stream.isatty():
        return None
    try:  # stderr may be a terminal while stdout is piped
        return int(os.environ.get("COLUMNS") or os.get_terminal_size(stream.fileno()).columns) or 80
    except (OSError, ValueError):
        return 80


def print_json(value: Any) -> None:
    """Print strict JSON on stdout; NaN and infinities become null."""
    sys.stdout.write(json.dumps(convert_to_json(value), allow_nan=False, indent=2) + "\n")


def show_result(result: Result, json: bool) -> None:
    """Print a result as JSON or as text."""
    if json:
        print_json(result)
    else:
        echo(str(result))


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str | list[str]]],
    *,
    title: str = "",
    right: Sequence[str] = (),
) -> None:
    """Print a table on stdout, below its title; the columns in ``right`` align right.

    A cell is a text, or a list of lines. Columns without any text are left out. On a terminal too
    narrow for the longest words, every row becomes a paragraph of "column: cell".
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = [n for n in range(len(columns)) if any(row[n] for row in rows) or columns[n] in right]
    head = [escape_hidden(columns[n]) for n in shown]

    def text_of(cell: str | list[str]) -> str:
        return "\n".join(map(escape_hidden, [cell] if isinstance(cell, str) else cell))

    lines = [[text_of(row[n]) for n in shown] for row in rows]
    fixed = [n for n, name in enumerate(head) if not n or columns[shown[n]] in right]
    width = terminal_width()
    if title:
        heading = wrap(escape_hidden(title), width)
        sys.stdout.write((heading if width is None else typer.style(heading, bold=True)) + "\n")
    needed = [
        max(
            count_cells(piece)
            for text in (name, *(line[n] for line in lines))
            for piece in (text.split("\n") if n in fixed else text.split() or [""])
        )
        for n, name in enumerate(head)
    ]
    if width is not None and sum(needed) + 3 * (len(head) - 1) > width:
        for line in lines:
            echo(line[0])
            for name, text in zip(head[1:], line[1:], strict=True):
                if text:
                    echo(f"  {name}: {' '.join(text.split())}")
        echo("")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for n, name in enumerate(head):
        table.add_column(
            Text(name),
            justify="right" if columns[shown[n]] in right else "left",
            no_wrap=n in fixed,
            min_width=needed[n],
        )
    for line in lines:
        table.add_row(*map(Text, line))
    console = Console(width=width or _PIPE_WIDTH)
    with console.capture() as captured:
        console.print(table)
    # Rich pads every line to the width of the table.
    sys.stdout.write(re.sub(r" +((?:\x1b\[[\d;]*m)*)$", r"\1", captured.get(), flags=re.M) + "\n")


def number(value: Any, form: str = ".4f") -> str:
    """Format a number; None and NaN become a dash."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    return format(value, form)


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
        self._running: dict[str, float] = {}  # cells, and when they started
        self._end: float | None = None
        self._lock = threading.RLock()
        self._finished = threading.Event()
        self._live: Any = None
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
        if self._live is not None:
            self._live.stop()
        self._stack.close()

    def begin(self, name: str) -> None:
        """Record that a step starts; steps may run at the same time."""
        with self._lock:
            self._running[name] = time.monotonic()

    def update(
        self, done: int, total: int, note: str = "", left: float | None = None, ended: str = ""
    ) -> None:
        """Record that ``done`` of ``total`` steps are done; ``left``: estimated seconds to go."""
        with self._lock:
            self._done, self._total, self._note = done, total, note
            self._running.pop(ended, None)
            self._end = None if left is None else time.monotonic() + left

    def line(self, width: int = _PIPE_WIDTH) -> str:
        """State of the job as one line of text; the name of the cell is cut if it is too wide."""
        with self._lock:
            now = time.monotonic()
            so_far = _clock(now - self._start)
            counted = f"{self._done} of {self._total} in {so_far}"
            known = [counted if self._total else f"{so_far} so far"]
            if self._end is not None:
                known.append(f"~{_clock(max(0.0, self._end - now))} left")
            rest = ["compiling …"] * self._is_compiling() + [self._note] * bool(self._note)
            for name, since in [*self._running.items()][:1]:
                others = f" +{len(self._running) - 1}" if len(self._running) > 1 else ""
                lasts = f" for {_clock(now - since)}{others}"
                left = width - len(", ".join([self.what, *known, lasts, *rest]))
                known.append(
                    (name if len(name) <= left else f"{name[: max(left - 1, 9)]}…") + lasts
                )
            return f"{self.what}: {', '.join(known + rest)}"

    def _show(self) -> None:
        if self._finished.wait(QUIET_SECONDS):
            return
        if sys.stderr.isatty():
            self._live = _show_on_terminal(self.line)
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

        with listen_to_starts(show):
            yield


@contextmanager
def cell_progress(what: str) -> Iterator[Progress]:
    """Show the running cells; the caller updates the finished ones."""
    with Progress(what) as progress:

        def begin(start: Any) -> None:
            if isinstance(start, str):  # and not a trial within a cell
                progress.begin(start)

        with listen_to_starts(begin):
            yield progress


def _show_on_terminal(line: Callable[[int], str]) -> Any:
    """Show what ``line`` returns in the last line of the terminal, until the result stops."""
    from rich.console import Console
    from rich.live import Live
    from rich.spinner import Spinner
    from rich.text import Text

    console, spinner = Console(stderr=True), Spinner("dots")

    def render() -> Spinner:
        width = console.width - 3  # the spinner, and a gap
        text = Text(line(width))
        text.truncate(width, overflow="ellipsis")
        spinner.update(text=text)
        return spinner

    live = Live(console=console, get_renderable=render, refresh_per_second=4, transient=True)
    live.start()
    return live


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


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


# Options whose names differ from those of the parameters that they set.
_OPTIONS = {"sizes": "learning_curve"}


class _WithPage:
    """A command or a group with a page of help of :mod:`rankwise.cli.help_pages`."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the page of --help."""
        formatter.write(help_page(self, ctx))


class PagedGroup(_WithPage, TyperGroup):
    """A group of commands with its own page of help, which it shows without arguments, too."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments before the name of a command."""
        if not args and not ctx.resilient_parsing:  # resilient: completion in shells
            typer.echo(ctx.get_help())
            raise typer.Exit(USAGE)
        return super().parse_args(ctx, args)


class OptionCommand(_WithPage, TyperCommand):
    """A command with its own page of help, whose errors name the option of a parameter."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an ArgumentError becomes a UsageError if there is such an option."""
        takes_one = any(parameter.name == "one_query" for parameter in self.params)
        try:
            with settings_written(partial(_format_option, takes_one_query=takes_one)):
                return super().invoke(ctx)
        except SourceError as error:
            raise UsageError(one_line(error)) from error
        except ArgumentError as error:
            name = _OPTIONS.get(error.name, error.name)
            long = f"--{name.replace('_', '-')}"
            for parameter in self.params:
                if parameter.param_type_name == "option" and (
                    parameter.name == name or long in parameter.opts
                ):
                    option = long if long in parameter.opts else parameter.opts[0]
                    raise UsageError(one_line(f"{option} {error.problem}")) from error
            raise


class OneLineGroup(PagedGroup):
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
                if isinstance(error, ImportError):
                    error = explain_missing(error, "this command")
                code, text = _code_and_line(error)
                for line in text.splitlines():
                    say(line)
            except KeyboardInterrupt:
                code = INTERRUPTED
        if terminated.is_set():
            code = TERMINATED
        sys.exit(code if isinstance(code, int) else OK)


def say(line: str) -> None:
    """Print one line on stderr, wrapped on a terminal."""
    typer.echo(wrap(escape_hidden(line), terminal_width(sys.stderr)), err=True)


def echo(text: str) -> None:
    """Print lines on stdout, wrapped on a terminal; names in them cannot control the terminal."""
    width = terminal_width()
    lines = escape_hidden(text, keep="\n\t").split("\n")
    typer.echo("\n".join(wrap(line, width) for line in lines))


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


def _format_option(name: str, value: Any, takes_one_query: bool = True) -> str:
    """A setting in messages of the library, as it is written on the command line."""
    if name == "run" and value is False:
        return "--average-repeats"
    if name == "qid" and value in (False, 0):
        return "--one-query" if takes_one_query else ""
    if name == "nonnegative" and value is False:
        return "--any-sign"
    if name == "replace":
        return "--update, for a saved index"
    option = f"--{name.replace('_', '-')}"
    if name in ("weight", "time") and value is False:
        return f"{option} ''"
    if value is True:
        return option
    if value is ...:
        return f"{option} {'A,B,…' if name in LISTS else 'NAME'}"
    if name not in LISTS:
        return f"{option} {value!r}"
    return f"{option} {shlex.quote(join_names(value))}"


def _renamed_option(error: Any) -> str:
    """The message for an option under its old name; empty for other errors."""
    if getattr(error, "ctx", None) is None or not hasattr(error, "possibilities"):
        return ""
    options = [option for p in error.ctx.command.params for option in p.opts]
    known = {option.lstrip("-").replace("-", "_"): option for option in options}
    new = find_new_name(error.option_name.lstrip("-").replace("-", "_"), known)
    return f"{error.option_name} is now {known[new]}." if new else ""


def _code_and_line(error: Exception) -> tuple[int, str]:
    format_message = getattr(error, "format_message", None)
    if format_message is not None:  # an error of typer, in any module of any version
        message = one_line(format_message()).replace(_OF_PYDANTIC, ": ", 1)
        message = _renamed_option(error) or f"{message} {find_new_word(message)}".rstrip()
        code = getattr(error, "exit_code", FAILED)
        text = f"error: {message or type(error).__name__}"
        if message.startswith("Missing ") and (context := getattr(error, "ctx", None)):
            usage = f"usage: {usage_of(context)}"
            example = example_of(context.command)
            text = "\n".join([text, usage, *([f"example: {example}"] if example else [])])
        return code, text
    if isinstance(error, UsageError):
        return USAGE, f"error: {error}"
    if isinstance(error, typer.Abort):
        return FAILED, "error: aborted"
    if isinstance(error, FileNotFoundError):
        return USAGE, f"error: {one_line(error)}"
    text = one_line(error) or type(error).__name__
    kind = "" if isinstance(error, JobError | OSError | ValueError) else f"{type(error).__name__}: "
    return FAILED, f"error: {kind}{text}"
