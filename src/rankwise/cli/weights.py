"""``rankwise weights``: hand-made weights of signals against learnt ones."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from rankwise.cli._console import REGRESSED, echo, print_json, say, waiting
from rankwise.cli._data import name_bad_values
from rankwise.cli._options import (
    NO_COLUMNS,
    ColumnOptions,
    Json,
    complete_data,
    complete_measures,
    read_numbers,
    reads_tables,
)
from rankwise.decisions.weight_formula import FORMATS
from rankwise.runtime.messages import check_choice


class FailIfKept(StrEnum):
    """Verdict that makes the command fail."""

    keep = "keep"


def weights(
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA",
            help="CSV, TSV or Parquet files with one row per document that was ranked: its query, "
            "its signals, and a label or feedback.",
            autocompletion=complete_data,
        ),
    ],
    current: Annotated[
        str,
        typer.Option(
            metavar="FORMULA",
            help="Weights in use: number*name joined by + or -, such as '0.6*similarity + "
            "0.4*recency'. Quote names with spaces by \" or `; 0*name adds a signal.",
        ),
    ],
    position: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Column of ranks, from 1, at which documents were shown when the feedback was "
            "given.",
            rich_help_panel="Data",
        ),
    ] = None,
    propensities: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="Chance that users look at position 1, 2, …, up to a factor (default: estimated "
            "from documents that were shown at several positions).",
            rich_help_panel="Data",
        ),
    ] = None,
    any_sign: Annotated[
        bool, typer.Option("--any-sign", help="Allow weights to change their sign.")
    ] = False,
    measure: Annotated[
        str | None,
        typer.Option(
            metavar="MEASURE",
            help="Measure on held-out queries (default: nDCG@10, or with --position a DCG that is "
            "corrected for it).",
            autocompletion=complete_measures,
            rich_help_panel="Evaluation",
        ),
    ] = None,
    margin: Annotated[
        float, typer.Option(help="Gain of the measure that a change must exceed.")
    ] = 0.0,
    fail_if: Annotated[
        FailIfKept | None,
        typer.Option(help="Exit with status 3 if the verdict is to keep the weights in use."),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help=f"Print only the weights to use, as {', '.join(FORMATS[:-1])} or {FORMATS[-1]}; "
            "the verdict goes to stderr.",
            rich_help_panel="Output",
        ),
    ] = None,
    random_state: Annotated[int, typer.Option(help="Seed for folds and intervals.")] = 0,
    columns: ColumnOptions = NO_COLUMNS,
    json: Json = False,
) -> None:
    """Compare hand-made weights of signals with learnt ones: take these, or keep yours.

    Learnt weights are pulled towards yours, as far as held-out queries ask for. They are worth
    taking if they are significantly better on queries that chose neither weights nor pull.

    Example: rankwise weights signals.csv --current "0.6*similarity + 0.4*recency"
    """
    from rankwise.datasets.judged_source import load_source
    from rankwise.decisions import compare_weights, parse_weights

    if form is not None:
        check_choice("format", form, FORMATS)
    given = parse_weights(current)
    chances = None if propensities is None else read_numbers("propensities", propensities)
    words: dict[str, Any] = columns.words | {"features": list(given), "dtype": "float64"}
    if position is not None and position not in given:
        words["features"].append(position)
    with waiting("Reading"):
        rows = load_source(data, words)
    with waiting("Comparing"), name_bad_values([(data, rows, False)], columns):
        found = compare_weights(
            rows,
            given,
            label=columns.label,
            position=position,
            propensities=chances,
            nonnegative=not any_sign,
            measure=measure,
            margin=margin,
            random_state=random_state,
        )
    if json:
        print_json(found)
    elif form is None:
        echo(f"{found}\n\n{found.export()}")
    else:
        for line in (found._heading(), *(f"note: {note}" for note in found.notes)):
            say(line)
        echo(found.export(form))  # type: ignore[arg-type]  # checked above
    if fail_if is not None and found.verdict != "take":
        raise typer.Exit(REGRESSED)


weights = reads_tables(weights, ("label", "qid", "doc_id", "sep"))
