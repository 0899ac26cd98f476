"""``rankwise board``: a leaderboard with rank intervals of any table of scores."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from rankwise.cli._arguments import split_list
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
from rankwise.cli._errors import UsageError
from rankwise.cli._options import Json, RandomState
from rankwise.cli._output import check_file
from rankwise.cli.compare import Correction, TestOfPair


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
    system: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Column of systems (default: system, model, method or the like)."
        ),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="Columns that name a unit together (default: unit, task, query, prompt or the "
            "like).",
        ),
    ] = None,
    score: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="Columns of scores (default: score or value); several are several measures of a "
            "long table. With one column per system: the systems.",
        ),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Column of seeds or other runs of a system."),
    ] = None,
    average_repeats: Annotated[
        bool,
        typer.Option(
            "--average-repeats",
            help="Average several values of a system for one unit, as independent repeats.",
        ),
    ] = False,
    stratum: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Column of given groups of units, such as tasks: means are means of their means.",
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Column of groups that are drawn as a whole, such as users: they become the "
            "units.",
        ),
    ] = None,
    ignore: Annotated[
        str | None,
        typer.Option(metavar="A,B,…", help="Columns to leave out, which hold no scores."),
    ] = None,
    lower_is_better: Annotated[
        bool, typer.Option("--lower-is-better", help="Smaller scores are better.")
    ] = False,
    missing: Annotated[
        str,
        typer.Option(
            metavar="refuse|drop|pairs|NUMBER",
            help="Missing values: refuse them, drop their units, test each pair on its common "
            "units, or count them as a number.",
        ),
    ] = "refuse",
    sep: Annotated[
        str | None,
        typer.Option(metavar="CHARACTER", help="Column separator (default: by the first line)."),
    ] = None,
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
    if run is not None and average_repeats:
        raise UsageError("--run and --average-repeats exclude each other. Choose one.")
    found = leaderboard(
        scores,
        system=system,
        unit=None if unit is None else split_list(unit),
        score=None if score is None else split_list(score),
        run=False if average_repeats else run,
        stratum=stratum,
        cluster=cluster,
        ignore=() if ignore is None else split_list(ignore),
        sep="\t" if sep == "\\t" else sep,
        greater_is_better=not lower_is_better,
        missing=read_rule(missing),
        baseline=baseline,
        test=test.value,
        correction=None if correction is None else correction.value,
        random_state=random_state,
    )
    check_gate(fail_if, margin, baseline, len(found.rankers))
    command = shlex.join(["rankwise", *context.obj])
    show_board(found, report=report, table=table, command=command, wide=wide, json=json)
    exit_if_worse(found, fail_if, margin)


def read_rule(text: str) -> Any:
    """Rule for missing values, a word or a number."""
    if text in ("refuse", "drop", "pairs"):
        return text
    try:
        return float(text)
    except ValueError:
        raise UsageError(
            f"--missing must be refuse, drop, pairs or a number, got {text!r}."
        ) from None
