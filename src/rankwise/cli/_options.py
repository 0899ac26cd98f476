"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankwise.cli import _completion as complete

DATA_HELP = (
    "Judged data: LETOR/SVMlight, CSV or Parquet files, glob patterns or folders of tables, joined "
    "into one table; a folder with Fold1, Fold2, …; or a data set of 'rankwise list datasets' as "
    "NAME, NAME:FOLD or NAME:FOLD:PART."
)

MISSING_FOLDERS = "Missing folders are created."

Data = Annotated[
    list[str],
    typer.Argument(metavar="DATA", help=DATA_HELP, autocompletion=complete.data),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Measures = Annotated[
    str,
    typer.Option(
        metavar="A,B,…",
        help="Comma-separated measures; the first one sorts the tables. --preset trec_eval also "
        "reads its own names: map, P_10, ndcg_cut_10.",
        autocompletion=complete.measures,
    ),
]
Preset = Annotated[
    str | None,
    typer.Option(
        help="Convention for unspecified options of measures (see 'rankwise list presets').",
        autocompletion=complete.presets,
    ),
]
Ranker = Annotated[
    str,
    typer.Option(help="Ranker (see 'rankwise list rankers').", autocompletion=complete.ranker),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Parameter of the ranker; repeatable. 'rankwise list --ranker RANKER' lists them.",
    ),
]
SelectBy = Annotated[
    str | None,
    typer.Option(
        metavar="MEASURE",
        help="Tuning metric on the validation part (default: the first of --measures).",
        autocompletion=complete.measures,
    ),
]
TuningMetric = Annotated[
    str | None,
    typer.Option(
        "--select-by",
        metavar="MEASURE",
        help="Tuning metric of rankers that have a parameter 'measure' (default: its value; if "
        "None, nDCG@10 for grades and Misranking for other labels). Other rankers use a criterion "
        "of their own.",
        autocompletion=complete.measures,
    ),
]
Cv = Annotated[
    str | None,
    typer.Option(
        metavar="N|letor",
        help="N: split one table into N folds of queries. letor: rotate five parts of the table, "
        "or the given files, as LETOR does. Data sets with folds of their own need no --cv.",
    ),
]
RandomState = Annotated[int, typer.Option(help="Seed for folds, rankers and permutation tests.")]
ValiData = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Validation part (file, pattern or folder); DATA trains."),
]
TestData = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Test part (file, pattern or folder); DATA trains."),
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
    typer.Option(help="Folder for finished cells; the same command resumes from it."),
]
