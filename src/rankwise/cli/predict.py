"""``rankwise predict``: scores of a saved model, as a plain list or a TREC run."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rankwise.cli._errors import UsageError
from rankwise.cli._options import Data
from rankwise.cli._progress import waiting


class ScoreFormat(StrEnum):
    """How scores are written."""

    scores = "scores"
    trec = "trec"


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="File that 'fit' wrote.")],
    data: Data,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write; else stdout.")
    ] = None,
    as_: Annotated[
        ScoreFormat | None,
        typer.Option("--as", help="One score per line, or a TREC run; else by the name of --out."),
    ] = None,
    tag: Annotated[str, typer.Option(help="Name of the system in a TREC run.")] = "rankwise",
) -> None:
    """Score the rows of DATA, in their order, with a saved model."""
    from rankwise.cli._data import load_table
    from rankwise.persistence import load
    from rankwise.selection.fitting import scores_of

    if not model.is_file():
        raise UsageError(f"{str(model)!r} is no model file.")
    estimator = load(model)
    table = load_table(data, getattr(estimator, "n_features_in_", None))
    with waiting("Predicting"):
        scores = scores_of(estimator, table.X)
    by_name = out is not None and out.suffix in (".run", ".trec")
    if (as_ or (ScoreFormat.trec if by_name else ScoreFormat.scores)) is ScoreFormat.scores:
        _write_scores(scores.tolist(), out)
        return
    from rankwise.datasets import Run, write_run

    if out is None:
        raise UsageError("a TREC run needs a file to go to. Add --out FILE.run.")
    write_run(Run.from_data(table, scores, tag), out)


def _write_scores(scores: Iterable[float], out: Path | None) -> None:
    """Shortest decimals that read back to the same numbers."""
    text = "".join(f"{score!r}\n" for score in scores)
    if out is None:
        sys.stdout.write(text)
    else:
        out.write_text(text, encoding="ascii")
