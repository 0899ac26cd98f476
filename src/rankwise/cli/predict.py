"""``rankwise predict``: predict scores or classes with a saved model, chunk by chunk."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from rankwise.cli._console import (
    JobError,
    UsageError,
    check_model_file,
    check_target,
    make_folder,
    print_json,
    say,
    waiting,
)
from rankwise.cli._data import ScoreFormat, format_of, name_lines, read_row_summary
from rankwise.cli._options import (
    NO_COLUMNS,
    ColumnOptions,
    Json,
    complete_data,
    reads_tables,
)


@reads_tables
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file of 'rankwise fit'.")],
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA",
            help="Rows to score, with or without labels: files, glob patterns, folders of tables, "
            "or a data set.",
            autocompletion=complete_data,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="File to write (default: stdout)."),
    ] = None,
    format: Annotated[
        ScoreFormat | None,
        typer.Option(
            help="Output format. scores: one score per line. trec: a TREC run. csv, tsv, parquet, "
            "jsonl: query, document and score. Default: by the suffix of --out."
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option("-k", min=1, help="Write the best k rows of each query, with ranks."),
    ] = None,
    classes: Annotated[
        bool,
        typer.Option("--classes", help="Predict the classes of an ordinal model, not scores."),
    ] = False,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities",
            help="Also write probabilities of relevance, by a model of 'rankwise fit --calibrate'.",
        ),
    ] = False,
    tag: Annotated[str, typer.Option(help="Name of the system in a TREC run.")] = "rankwise",
    columns: ColumnOptions = NO_COLUMNS,
    json: Json = False,
) -> None:
    """Score the rows of DATA, in order, with a saved model.

    Labels are not needed. Rows are read and scored chunk by chunk. If the model knows the names of
    its features, columns are chosen by these names. Scores rank rows; for MAE, Kappa and similar
    measures of an ordinal model, add --classes. --probabilities of a calibrated model can be
    compared across queries; in a list of scores, they replace the scores. With --json, the scores
    are part of the JSON unless --out names a file.

    Example: rankwise predict model.rankwise new.csv --out scores.csv
    """
    from rankwise.persistence import load
    from rankwise.prediction import innermost
    from rankwise.trees.column_table import UNKNOWN_CATEGORIES

    form = _format(format, out, k, classes)
    if probabilities and (classes or form is ScoreFormat.trec):
        raise UsageError(
            "--probabilities needs rows with scores and another column. Drop --classes, or choose "
            "--format csv, tsv, jsonl or parquet."
        )
    check_model_file(model)
    if out is not None:
        check_target(out, "--out")
    estimator = load(model)
    if classes and not hasattr(innermost(estimator), "classes_"):
        raise UsageError(
            f"--classes needs a model that predicts classes, but {str(model)!r} holds a "
            f"{type(innermost(estimator)).__name__}. Drop --classes to get its scores."
        )
    if probabilities and not hasattr(estimator, "predict_relevance"):
        raise UsageError(
            f"--probabilities needs a calibrated model, but {str(model)!r} holds a "
            f"{type(innermost(estimator)).__name__}. Fit it again: rankwise fit … --calibrate beta."
        )
    from rankwise.cli._scoring import (
        best_of_each_query,
        check_trec_ids,
        chunks_to_score,
        join_tables,
        predict_rows,
        write_scores,
    )
    from rankwise.datasets.judged_source import place_of_row, source_name

    n_rows, queries = 0, set()

    def counted(tables: Iterable[Any]) -> Iterator[Any]:
        nonlocal n_rows
        for table in tables:
            n_rows += table.num_rows
            if "qid" in table.column_names:
                queries.update(table["qid"].unique().to_pylist())
            yield table
        if not n_rows:
            raise JobError(f"{source_name(data)} has no rows to score.")

    with waiting("Predicting"), name_lines(data, columns), warnings.catch_warnings():
        # The columns are already chosen by the model's feature names; rows come as an array.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        # That of a chunk may be known in another one: predict_rows warns of all.
        warnings.filterwarnings("ignore", UNKNOWN_CATEGORIES)
        trained = read_row_summary(model)
        first_index = None if trained is None else trained.first_index
        chunks = chunks_to_score(data, columns, estimator, first_index)
        as_trec = form is ScoreFormat.trec
        if as_trec:
            chunks = check_trec_ids(chunks)
        tables: Any = counted(predict_rows(estimator, chunks, classes, trained, probabilities))
        if k is not None or as_trec:

            def where(row: int) -> str:
                return place_of_row(data, columns.words, row) or f"row {row}"

            tables = [best_of_each_query(join_tables(tables), k, as_trec, where)]
            if as_trec and "doc_id" not in tables[0].column_names:
                say(
                    "note: DATA has no ids of documents, so the run names documents by the numbers "
                    "of their rows, from 0. Name the column of ids: --doc-id NAME."
                )
        if json and out is None:
            tables = [join_tables(iter(tables))]
        elif out is None:
            write_scores(tables, form, typer.get_binary_stream("stdout"), tag)
        else:
            from rankwise.runtime.files import open_to_write

            make_folder(out)
            with open_to_write(out) as stream:
                write_scores(tables, form, stream, tag)
    if not json:
        return
    facts: dict[str, Any] = {
        "model": str(model),
        "data": source_name(data),
        "rows": n_rows,
        "queries": len(queries),
        "format": "classes" if classes and form is ScoreFormat.scores else form.value,
        "out": None if out is None else str(out),
    }
    if probabilities and out is None and k is None:
        facts["probabilities"] = tables[0]["probability"].to_pylist()
    if out is None and k is None:
        facts["classes" if classes else "scores"] = tables[0][
            "class" if classes else "score"
        ].to_pylist()
    elif out is None:
        facts["best"] = tables[0].to_pylist()
    print_json(facts)


def _format(
    asked: ScoreFormat | None, out: Path | None, k: int | None, classes: bool
) -> ScoreFormat:
    """Choose the output format, and check it against the other options."""
    form = asked or format_of(out)
    if k is not None and out is None and asked is None:
        form = ScoreFormat.csv
    if classes and form is ScoreFormat.trec:
        raise UsageError("a TREC run holds scores, but --classes writes none. Drop one of them.")
    if classes and k is not None:
        raise UsageError("-k needs scores, but --classes writes none. Drop one of them.")
    if k is not None and form is ScoreFormat.scores:
        raise UsageError("-k needs a format with ids. Add --format csv, jsonl, parquet or trec.")
    if form is ScoreFormat.parquet and out is None:
        raise UsageError("Parquet cannot be written to stdout. Add --out FILE.parquet.")
    return form
