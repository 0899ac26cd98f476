"""The ``rankwise`` command: its global options, and the function behind each command.

This module imports neither scikit-learn nor numba; each command imports what it needs when it runs.
"""

from __future__ import annotations

import sys
from inspect import cleandoc
from io import TextIOWrapper
from typing import Annotated

import typer

from rankwise.cli import (
    board,
    clicks,
    compare,
    evaluate,
    fit,
    fuse,
    judged_files,
    listing,
    model_files,
    predict,
    prefer,
    reproduce,
    search,
)
from rankwise.cli._console import DEBUG_FLAG, USAGE, OneLineGroup, OptionCommand, echo

app = typer.Typer(
    cls=OneLineGroup,
    help="Learning to rank: judged data in, a tuned and tested leaderboard out.",
    epilog="Exit codes: 0 done, 1 the job failed, 2 the command line is wrong, 3 a system is worse "
    "than the baseline (--fail-if), 130 interrupted, "
    "143 terminated.",
    invoke_without_command=True,
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
    "index": search.index,
    "search": search.search,
    "reproduce": reproduce.reproduce,
    "export": model_files.export,
    "convert": judged_files.convert,
    "lint": judged_files.lint,
    "info": model_files.info,
    "list": listing.list_,
    "warm-up": model_files.warm_up,
}
for _name, _command in _COMMANDS.items():
    # A paragraph is one line: typer keeps the line ends of docstrings on narrow terminals.
    _paragraphs = cleandoc(_command.__doc__ or "").split("\n\n")
    _help = "\n\n".join(" ".join(text.split()) for text in _paragraphs)
    app.command(_name, cls=OptionCommand, help=_help)(_command)
app.add_typer(clicks.app, name="clicks")


def _print_version(wanted: bool) -> None:
    if wanted:
        from rankwise._version import __version__

        echo(f"rankwise {__version__}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_print_version, is_eager=True),
    ] = False,
    debug: Annotated[
        bool, typer.Option(DEBUG_FLAG, help="Show the traceback of errors; allowed anywhere.")
    ] = False,
) -> None:
    """Global options of the program."""
    if context.invoked_subcommand is None:
        echo(context.get_help())
        raise typer.Exit(USAGE)


def main() -> None:
    """Entry point of the ``rankwise`` script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ± shows a question mark
    app(prog_name="rankwise")
