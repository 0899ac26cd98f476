"""``rankwise plan``: how many queries a comparison needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankwise.cli._arguments import split_list
from rankwise.cli._errors import UsageError
from rankwise.cli._options import Json, RandomState
from rankwise.cli._output import check_file, print_json
from rankwise.cli.board import read_rule


def plan(
    pilot: Annotated[
        Path,
        typer.Argument(
            metavar="SCORES",
            help="Values of two or more systems on the units of a pilot, in a table as for "
            "'rankwise board'.",
        ),
    ],
    difference: Annotated[
        float | None,
        typer.Option(metavar="D", help="Difference of the means to find: prints the units needed."),
    ] = None,
    units: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Number of units: prints the difference that they find (default: those of the "
            "pilot).",
        ),
    ] = None,
    power: Annotated[float, typer.Option(help="Chance to find the difference.")] = 0.8,
    system: Annotated[str | None, typer.Option(metavar="NAME", help="Column of systems.")] = None,
    unit: Annotated[str | None, typer.Option(metavar="A,B,…", help="Columns of the unit.")] = None,
    score: Annotated[str | None, typer.Option(metavar="NAME", help="Column of scores.")] = None,
    average_repeats: Annotated[
        bool,
        typer.Option(
            "--average-repeats",
            help="Average several values of a system for one unit, as independent repeats.",
        ),
    ] = False,
    run: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column of runs, which are averaged.")
    ] = None,
    stratum: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column of given groups of units.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Column of groups that are drawn; they are the units."),
    ] = None,
    ignore: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="Columns to leave out.")
    ] = None,
    sep: Annotated[str | None, typer.Option(metavar="CHARACTER", help="Column separator.")] = None,
    missing: Annotated[
        str, typer.Option(metavar="refuse|drop|pairs|NUMBER", help="Missing values.")
    ] = "refuse",
    random_state: RandomState = 0,
    json: Json = False,
) -> None:
    """Say how many queries find a difference, or which difference a number of queries finds.

    For a pair of systems whose differences spread like those of the median pair of the pilot, by
    the test of 'rankwise board' over all pairs at 95 %.
    """
    from rankwise import leaderboard
    from rankwise.metrics.significance import detectable_difference, queries_needed

    check_file(pilot)
    if difference is not None and units is not None:
        raise UsageError("--difference and --units exclude each other. Give one of them.")
    board = leaderboard(
        pilot,
        system=system,
        unit=None if unit is None else split_list(unit),
        score=score,
        run=False if average_repeats else run,
        stratum=stratum,
        cluster=cluster,
        ignore=() if ignore is None else split_list(ignore),
        sep="\t" if sep == "\\t" else sep,
        missing=read_rule(missing),
    )
    values = board.per_query()
    words = {"power": power, "random_state": random_state}
    if difference is not None:
        n = queries_needed(values, difference, **words)
        said = f"{n} units find a difference of {difference:g}"
    else:
        n = len(board.qids) if units is None else units
        difference = detectable_difference(values, n, **words)
        said = f"{n} units find a difference of {difference:.4g}"
    if json:
        print_json({"units": n, "difference": difference, "power": power})
    else:
        typer.echo(
            f"{said} with probability {power:g} (median pair of {len(values)} systems, "
            f"{len(board.qids)} units in the pilot)."
        )
