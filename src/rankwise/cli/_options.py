"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankwise.cli import _completion as complete

DATA_HELP = (
    "Judged data: LETOR/SVMlight, CSV or Parquet files, patterns of these, folders of tables (all "
    "are one table), a folder with Fold1, Fold2, …, or a data set of 'rankwise list datasets' as "
    "NAME, NAME:FOLD or NAME:FOLD:PART."
)

MISSING_FOLDERS = "Missing folders are made."

Data = Annotated[
    list[str],
    typer.Argument(metavar="DATA", help=DATA_HELP, autocompletion=complete.data),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Measures = Annotated[
    str,
    typer.Option(
        metavar="A,B,…",
        help="Measures, separated by commas; the first one orders tables.",
        autocompletion=complete.measures,
    ),
]
Preset = Annotated[
    str | None,
    typer.Option(
        help="Whose convention fills in what a measure leaves open.",
        autocompletion=complete.presets,
    ),
]
Ranker = Annotated[
    str,
    typer.Option(help="A ranker of 'rankwise list rankers'.", autocompletion=complete.ranker),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the ranker; repeatable."),
]
SelectBy = Annotated[
    str | None,
    typer.Option(
        metavar="MEASURE",
        help="What parameters are chosen by on the validation part; else the first measure.",
        autocompletion=complete.measures,
    ),
]
Cv = Annotated[
    str | None,
    typer.Option(
        metavar="N|letor",
        help="Split one table into N folds of queries, or by LETOR's rotation: of five parts, "
        "or of the files given. Data sets bring their own folds.",
    ),
]
RandomState = Annotated[int, typer.Option(help="Seed for folds, rankers and permutation tests.")]
ValiData = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Validation part, a file, pattern or folder; DATA trains."),
]
TestData = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Test part, a file, pattern or folder; DATA trains."),
]
Jobs = Annotated[
    int, typer.Option("--n-jobs", help="Number of parallel worker processes; -1: one per CPU.")
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Stop a cell (one ranker on one fold) after this time and record it as failed.",
    ),
]
Store = Annotated[
    Path | None,
    typer.Option(help="Folder that keeps every finished cell; the same call resumes."),
]
