"""``rankwise board``: a leaderboard with rank intervals of any table of scores."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from rankwise.cli._boards import (
    FailIfOption,
    Margin,
    Report,
    Table,
    Wide,
    check_gate,
    check_outputs,
    exit_if_worse,
    show_board,
)
from rankwise.cli._options import Json, RandomState
from rankwise.cli._output import check_file
from rankwise.cli._score_columns import NO_SCORE_OPTIONS, ScoreOptions, reads_scores
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
