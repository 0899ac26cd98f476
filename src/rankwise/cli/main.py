"""The ``rankwise`` command: its global options, and the function behind each command.

This module imports neither scikit-learn nor numba; each command imports what it needs when it runs.
"""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from rankwise.cli import (
    compare,
    convert,
    cv,
    evaluate,
    export,
    fit,
    fuse,
    info,
    lint,
    listing,
    predict,
    reproduce,
    search,
)
from rankwise.cli._errors import DEBUG_FLAG, USAGE, OneLineGroup

app = typer.Typer(
    cls=OneLineGroup,
    help="Learning to rank: judged data in, a tuned and tested leaderboard out.",
    epilog="Exit codes: 0 done, 1 the job failed, 2 the command line is wrong, 130 interrupted.",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
app.command("compare")(compare.compare)
app.command("cv")(cv.cv)
app.command("fit")(fit.fit)
app.command("predict")(predict.predict)
app.command("evaluate")(evaluate.evaluate)
app.command("fuse")(fuse.fuse)
app.command("index")(search.index)
app.command("search")(search.search)
app.command("reproduce")(reproduce.reproduce)
app.command("export")(export.export)
app.command("convert")(convert.convert)
app.command("lint")(lint.lint)
app.command("info")(info.info)
app.command("list")(listing.list_)


def _print_version(wanted: bool) -> None:
    if wanted:
        from rankwise._version import __version__

        typer.echo(f"rankwise {__version__}")
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
        typer.echo(context.get_help())
        raise typer.Exit(USAGE)


def main() -> None:
    """Entry point of the ``rankwise`` script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ± shows a question mark
    app(prog_name="rankwise")
