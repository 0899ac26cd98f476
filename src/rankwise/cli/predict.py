"""``rankwise predict``: scores or classes of a saved model, as a plain list or a TREC run."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from rankwise.cli._columns import NO_COLUMNS, ColumnOptions, reads_tables
from rankwise.cli._errors import UsageError
from rankwise.cli._options import MISSING_FOLDERS, Data, Json
from rankwise.cli._output import check_target, make_folder, print_json
from rankwise.cli._progress import waiting


class ScoreFormat(StrEnum):
    """How scores are written."""

    scores = "scores"
    trec = "trec"


@reads_tables
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="File that 'fit' wrote.")],
    data: Data,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help=f"File to write; else stdout. {MISSING_FOLDERS}"),
    ] = None,
    as_: Annotated[
        ScoreFormat | None,
        typer.Option("--as", help="One score per line, or a TREC run; else by the name of --out."),
    ] = None,
    classes: Annotated[
        bool,
        typer.Option("--classes", help="Predicted classes of an ordinal model, not its scores."),
    ] = False,
    tag: Annotated[str, typer.Option(help="Name of the system in a TREC run.")] = "rankwise",
    columns: ColumnOptions = NO_COLUMNS,
    json: Json = False,
) -> None:
    """Score the rows of DATA, in their order, with a saved model.

    Scores are what rows are ranked by; of an ordinal model MAE, Kappa and the like need --classes.
    With --json they stand in the JSON where there is no --out, else the name of the file.
    """
    from rankwise.cli._data import load_table
    from rankwise.metrics.predicting import innermost, scores_of
    from rankwise.persistence import load
    from rankwise.runtime.routing import call_with

    if not model.is_file():
        raise UsageError(f"{str(model)!r} is no model file.")
    by_name = out is not None and out.suffix in (".run", ".trec")
    form = as_ or (ScoreFormat.trec if by_name else ScoreFormat.scores)
    if classes and form is ScoreFormat.trec:
        raise UsageError("--classes are no scores, which a TREC run holds. Drop one of both.")
    if out is not None:
        check_target(out, "--out")
    elif form is ScoreFormat.trec:
        raise UsageError("a TREC run needs a file to go to. Add --out FILE.run.")
    estimator = load(model)
    if classes and not hasattr(innermost(estimator), "classes_"):
        raise UsageError(
            f"--classes needs a model that predicts classes, {str(model)!r} holds a "
            f"{type(innermost(estimator)).__name__}. Drop --classes for its scores."
        )
    table = load_table(data, getattr(estimator, "n_features_in_", None), columns)
    with waiting("Predicting"):
        told: Any = (
            call_with(estimator, "predict", table.X, table.qid)
            if classes
            else scores_of(estimator, table.X, table.qid)
        )
    if out is not None:
        make_folder(out)
        if form is ScoreFormat.trec:
            from rankwise.datasets import Run, write_run

            write_run(Run.from_data(table, told, tag), out)
        else:
            from rankwise.datasets.writers.output import write_file

            write_file(out, _lines(told.tolist()).encode())
    if json:
        print_json(
            {
                "model": str(model),
                "data": table.name,
                "rows": table.n_samples,
                "queries": table.n_queries,
                "format": "classes" if classes else form.value,
                "out": None if out is None else str(out),
            }
            | ({"classes" if classes else "scores": told} if out is None else {})
        )
    elif out is None:
        sys.stdout.write(_lines(told.tolist()))


def _lines(values: Iterable[Any]) -> str:
    """Shortest decimals that read back to the same numbers; classes of text as they are."""
    return "".join(f"{value}\n" for value in values)
