"""``rankwise board`` and ``rankwise plan``: tables of scores; queries that a test needs."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from rankwise.cli._boards import (
    NO_SCORE_OPTIONS,
    FailIfOption,
    Margin,
    Report,
    ScoreOptions,
    Table,
    Wide,
    check_gate,
    check_outputs,
    exit_if_worse,
    reads_scores,
    show_board,
)
from rankwise.cli._console import UsageError, check_file, echo, print_json
from rankwise.cli._options import Json, RandomState
from rankwise.cli.compare import Correction, TestOfPair


@reads_scores
def board(
    context: typer.Context,
    scores: Annotated[
        Path,
        typer.Argument(
            metavar="SCORES",
            help="Table with a header line, or Parquet: one row per value (columns for the system, "
            "the unit and the score), one row per unit and one column per system, or one row per "
            "system and one column per unit.",
        ),
    ],
    layout: ScoreOptions = NO_SCORE_OPTIONS,
    lower_is_better: Annotated[
        bool, typer.Option("--lower-is-better", help="Smaller scores are better.")
    ] = False,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="SYSTEM", help="System that all others are tested against."),
    ] = None,
    test: Annotated[
        TestOfPair, typer.Option(help="Test of the values of two systems.")
    ] = TestOfPair.t,
    correction: Annotated[
        Correction | None,
        typer.Option(
            help="Correction of p-values over all pairs of systems (default: max-t with the t "
            "test, else holm)."
        ),
    ] = None,
    random_state: RandomState = 0,
    report: Report = None,
    table: Table = None,
    fail_if: FailIfOption = None,
    margin: Margin = None,
    wide: Wide = False,
    json: Json = False,
) -> None:
    """Rank systems by any table of scores, with rank intervals that hold jointly.

    A rank from 1 + the number of systems significantly better to the number of systems less those
    significantly worse: systems whose intervals share ranks may be in any order.
    """
    from rankwise import leaderboard

    check_file(scores)
    check_outputs(report, table)
    check_gate(fail_if, margin, baseline)
    found = leaderboard(
        scores,
        greater_is_better=not lower_is_better,
        baseline=baseline,
        test=test.value,
        correction=None if correction is None else correction.value,
        random_state=random_state,
        **layout.words,
    )
    check_gate(fail_if, margin, baseline, len(found.rankers))
    command = shlex.join(["rankwise", *context.obj])
    show_board(found, report=report, table=table, command=command, wide=wide, json=json)
    exit_if_worse(found, fail_if, margin)


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
