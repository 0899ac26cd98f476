"""``rankwise budget``: what a reranker gains and costs by depth, and the cheapest depth."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from rankwise.cli._console import echo, print_json, waiting
from rankwise.cli._named_entries import columns_of, number_columns, read_systems_and_baseline
from rankwise.cli._options import (
    DATA_HELP,
    NO_COLUMNS,
    ColumnOptions,
    Json,
    complete_data,
    read_numbers,
    reads_tables,
)
from rankwise.cli.evaluate import read_judged

_ENTRY = "a TREC run, column:NAME of DATA, a file with one score per line, or a saved model"


@reads_tables
def budget(
    first: Annotated[
        str, typer.Argument(metavar="FIRST", help=f"Lists of the first stage: {_ENTRY}.")
    ],
    reranked: Annotated[
        str,
        typer.Argument(
            metavar="RERANKED",
            help="Scores of the reranker or grades of a machine judge on a sample of queries, "
            "given like FIRST. Documents without a score stay below the others.",
        ),
    ],
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA",
            help=f"{DATA_HELP} For TREC runs: qrels (TREC, BEIR, or a table).",
            autocompletion=complete_data,
        ),
    ],
    depths: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="Numbers of documents to rerank per query (default: 5,10,20,50,… up to all).",
        ),
    ] = None,
    measure: Annotated[str, typer.Option(help="Measure, such as nDCG@10.")] = "nDCG@10",
    margin: Annotated[
        float, typer.Option(help="Loss, compared with the best depth, accepted for fewer calls.")
    ] = 0.01,
    price: Annotated[
        float | None,
        typer.Option(
            help="Price of scoring one document, in any currency; 'cost' is that of 1,000 queries."
        ),
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="Seconds to score one document.")] = None,
    labels: Annotated[
        bool,
        typer.Option(
            "--labels",
            help="Also say how many queries labelled by the reranker are worth how many of DATA, "
            "for a student trained on the features of DATA.",
        ),
    ] = False,
    confidence_level: Annotated[
        float, typer.Option(help="Level of the promise and of the joint intervals.")
    ] = 0.95,
    columns: ColumnOptions = NO_COLUMNS,
    json: Json = False,
) -> None:
    """Is the reranker worth its seconds? Its gain and cost by the number of reranked documents.

    Prints the measure with joint intervals by depth, the cheapest depth that is not worse than the
    best one by more than --margin, "stop" if reranking hurts, and whether the scores of FIRST tell
    which queries gain.

    Example: rankwise budget bm25.run reranked.run qrels.txt --seconds 0.02
    """
    from rankwise.decisions import label_budget, rerank_budget

    steps = None
    if depths is not None:
        steps = [int(x) if x.is_integer() else x for x in read_numbers("depths", depths)]
    found, _ = read_systems_and_baseline([f"first={first}", f"reranked={reranked}"], None)
    judged: Any = read_judged(found, data, _choose_columns(found, data, columns, labels))
    found = number_columns(found, judged, data)
    with waiting("Reranking"):
        result = rerank_budget(
            found["first"],
            found["reranked"],
            judged,
            depths=steps,  # type: ignore[arg-type]
            measure=measure,
            margin=margin,
            price=price,
            seconds=seconds,
            confidence_level=confidence_level,
        )
        students = None
        if labels:
            students = label_budget(
                found["first"], found["reranked"], judged, measure=measure,
                confidence_level=confidence_level,
            )  # fmt: skip
    if json:
        print_json(result.to_dict() | {"labels": students and students.to_dict()})
        return
    echo("\n\n".join(str(part) for part in (result, students) if part is not None))


def _choose_columns(
    found: dict[str, Any], data: list[str], columns: ColumnOptions, labels: bool
) -> ColumnOptions:
    """Options that read the columns of scores of a table, in which some may be missing."""
    from rankwise.datasets.judged_source import is_table

    names = columns_of(found)
    is_model = any(hasattr(system, "predict") for system in found.values())
    is_named = names and not is_model and columns.features is None
    if is_named and all(is_table(path, columns.words) for path in data):
        return columns if labels else replace(columns, features=",".join(names))
    return replace(columns, score_columns=names)
