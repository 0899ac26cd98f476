"""``rankwise predict``: scores of a saved model, as a plain list or a TREC run."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rankwise.cli._errors import UsageError
from rankwise.cli._options import MISSING_FOLDERS, Data, Json
from rankwise.cli._output import check_target, make_folder, print_json
from rankwise.cli._progress import waiting


class ScoreFormat(StrEnum):
    """How scores are written."""

    scores = "scores"
    trec = "trec"


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
    tag: Annotated[str, typer.Option(help="Name of the system in a TREC run.")] = "rankwise",
    json: Json = False,
) -> None:
    """Score the rows of DATA, in their order, with a saved model.

    With --json the scores stand in the JSON where there is no --out, else the name of the file.
    """
    from rankwise.cli._data import load_table
    from rankwise.persistence import load
    from rankwise.selection.predicting import scores_of

    if not model.is_file():
        raise UsageError(f"{str(model)!r} is no model file.")
    by_name = out is not None and out.suffix in (".run", ".trec")
    form = as_ or (ScoreFormat.trec if by_name else ScoreFormat.scores)
    if out is not None:
        check_target(out, "--out")
    elif form is ScoreFormat.trec:
        raise UsageError("a TREC run needs a file to go to. Add --out FILE.run.")
    estimator = load(model)
    table = load_table(data, getattr(estimator, "n_features_in_", None))
    with waiting("Predicting"):
        scores = scores_of(estimator, table.X)
    if out is not None:
        make_folder(out)
        if form is ScoreFormat.trec:
            from rankwise.datasets import Run, write_run

            write_run(Run.from_data(table, scores, tag), out)
        else:
            out.write_text(_lines(scores.tolist()), encoding="ascii")
    if json:
        print_json(
            {
                "model": str(model),
                "data": table.name,
                "rows": table.n_samples,
                "queries": table.n_queries,
                "format": form.value,
                "out": None if out is None else str(out),
            }
            | ({"scores": scores} if out is None else {})
        )
    elif out is None:
        sys.stdout.write(_lines(scores.tolist()))


def _lines(scores: Iterable[float]) -> str:
    """Shortest decimals that read back to the same numbers."""
    return "".join(f"{score!r}\n" for score in scores)
