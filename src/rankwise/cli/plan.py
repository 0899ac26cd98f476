"""``rankwise plan``: how many queries a comparison needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankwise.cli._errors import UsageError, echo
from rankwise.cli._options import Json, RandomState
from rankwise.cli._output import check_file, print_json
from rankwise.cli._score_columns import NO_SCORE_OPTIONS, ScoreOptions, reads_scores


@reads_scores
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
    layout: ScoreOptions = NO_SCORE_OPTIONS,
    random_state: RandomState = 0,
    json: Json = False,
) -> None:
    """Say how many queries find a difference, or which difference a number of queries finds.

    For a pair of systems whose differences spread like those of the median pair of the pilot, by
    the test of 'rankwise board' over all pairs at 95 %.
    """
    from rankwise import leaderboard
    from rankwise.metrics.significance import detectable_difference, queries_needed
    from rankwise.metrics.statistics.sample_size import spread_is_rough

    check_file(pilot)
    if difference is not None and units is not None:
        raise UsageError("--difference and --units exclude each other. Give one of them.")
    board = leaderboard(pilot, **layout.words)
    values = board.per_query()
    words = {"power": power, "random_state": random_state, "strata": board.fold_of_query}
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
        echo(
            f"{said} with probability {power:g} (median pair of {len(values)} systems, "
            f"{len(board.qids)} units in the pilot"
            f"{', strata in its proportions' if len(board.folds) > 1 else ''}"
            f"{spread_is_rough(len(board.qids))})."
        )
