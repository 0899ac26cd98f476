"""The ``rankwise`` command: its global options, and the function behind each command.

Other distributions add commands by entry points in the group ``rankwise.commands``, each of which
names a function. This module imports neither scikit-learn nor numba; each command imports what it
needs when it runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from inspect import cleandoc
from io import TextIOWrapper
from typing import Annotated, Any

import typer

from rankwise.cli import (
    board,
    budget,
    clicks,
    compare,
    decide,
    evaluate,
    fit,
    fuse,
    judged_files,
    listing,
    model_files,
    predict,
    prefer,
    search,
    weights,
)
from rankwise.cli._console import DEBUG_FLAG, OneLineGroup, OptionCommand, UsageError, echo

_GROUP = "rankwise.commands"
_ELSEWHERE = {"reproduce": "rankwise-papers"}  # commands of other packages that the pages name


class _CommandGroup(OneLineGroup):
    """Commands of this package, and those of others, which are looked up only when asked for.

    Reading the entry points of all installed packages takes a tenth of the start.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of all commands, those of other packages last."""
        return [*super().list_commands(ctx), *sorted(entry_points(group=_GROUP).names)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Find a command; a known one of a missing package raises UsageError."""
        if command := super().get_command(ctx, cmd_name):
            return command
        for point in entry_points(group=_GROUP, name=cmd_name):
            alone = typer.Typer(add_completion=False)
            _add_command(alone, cmd_name, point.load())
            return typer.main.get_command(alone)
        if cmd_name in _ELSEWHERE and not ctx.resilient_parsing:  # resilient: completion in shells
            package = _ELSEWHERE[cmd_name]
            raise UsageError(
                f"the command {cmd_name} needs {package}, which is not installed. "
                f"Run: pip install {package}"
            )
        return None


def _add_command(to: typer.Typer, name: str, command: Callable[..., Any]) -> None:
    # A paragraph is one line: typer keeps the line ends of docstrings on narrow terminals.
    paragraphs = cleandoc(command.__doc__ or "").split("\n\n")
    shown = "\n\n".join(" ".join(text.split()) for text in paragraphs)
    to.command(name, cls=OptionCommand, help=shown)(command)


app: Any = typer.Typer(
    cls=_CommandGroup,
    help="Learning to rank: judged data in, a tuned and tested leaderboard out. "
    "'rankwise COMMAND --help' shows the options of a command.\n\n"
    "Example: rankwise compare judged.csv",
    epilog="Exit codes: 0 done, 1 the job failed, 2 the command line is wrong, 3 a system is worse "
    "than the baseline (--fail-if), 130 interrupted, "
    "143 terminated.",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
_COMMANDS = {
    "compare": compare.compare,
    "cv": compare.cv,
    "fit": fit.fit,
    "predict": predict.predict,
    "evaluate": evaluate.evaluate,
    "board": board.board,
    "plan": board.plan,
    "fuse": fuse.fuse,
    "prefer": prefer.prefer,
    "budget": budget.budget,
    "weights": weights.weights,
    "index": search.index,
    "search": search.search,
    "export": model_files.export,
    "convert": judged_files.convert,
    "lint": judged_files.lint,
    "info": model_files.info,
    "list": listing.list_,
    "warm-up": model_files.warm_up,
}
for _name, _command in _COMMANDS.items():
    _add_command(app, _name, _command)
app.add_typer(clicks.app, name="clicks")
app.add_typer(decide.app, name="decide")


def _print_version(wanted: bool) -> None:
    if wanted:
        from rankwise._version import __version__

        echo(f"rankwise {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_print_version, is_eager=True),
    ] = False,
    debug: Annotated[
        bool, typer.Option(DEBUG_FLAG, help="Show the traceback of errors; allowed anywhere.")
    ] = False,
) -> None:
    """Global options of the program."""


def main() -> None:
    """Entry point of the ``rankwise`` script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ± shows a question mark
    app(prog_name="rankwise")
