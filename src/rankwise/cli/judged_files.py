"""``rankwise lint`` and ``rankwise convert``: find problems in judged data; change its format."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.cli._console import (
    FAILED,
    JobError,
    UsageError,
    check_model_file,
    check_target,
    echo,
    make_folder,
    print_json,
    say,
    show_result,
    terminal_width,
    waiting,
)
from rankwise.cli._data import load_table, name_lines, read_row_summary
from rankwise.cli._options import (
    NO_COLUMNS,
    ColumnOptions,
    Cv,
    Data,
    Json,
    TestData,
    ValiData,
    reads_tables,
)
from rankwise.runtime.arrow import pa, pa_csv, pa_parquet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankwise.datasets import RankingData


@reads_tables
def lint(
    data: Data,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL",
            help="Model of 'rankwise fit': report which of its features have moved in DATA, which "
            "needs no labels.",
        ),
    ] = None,
    cv: Cv = None,
    vali_data: ValiData = None,
    test_data: TestData = None,
    columns: ColumnOptions = NO_COLUMNS,
    json: Json = False,
) -> None:
    """Check judged data: empty queries, useless features, leakage between parts, labels, sizes.

    Parts are folds, --test-data, or --vali-data as in 'rankwise fit'. Of judgements (qrels) and
    those of --test-data, the share of test queries is shown whose relevant documents were relevant
    in training.

    Caches of LETOR text are verified by checksums of the whole text, and damaged caches are
    rebuilt. The exit code is 1 if the data contain an error, or if --against is given and a feature
    or the scores of the model have moved.

    Example: rankwise lint judged.csv
    """
    if against is not None:
        if cv is not None or vali_data is not None or test_data is not None:
            raise UsageError(
                "--against takes neither --cv, --vali-data nor --test-data. Drop them."
            )
        _lint_against(against, data, columns, json)
        return
    from rankwise.cli._data import load_folds, load_training
    from rankwise.datasets import Fold
    from rankwise.datasets import lint as check
    from rankwise.datasets.judged_source import SourceError, expand_patterns, ignore_columns
    from rankwise.datasets.linting import lint_text
    from rankwise.selection import memory_audit
    from rankwise.selection.splits import convert_to_folds

    damaged = [
        problem
        for files in (data, [vali_data], [test_data])
        if all(files)
        for problem in _find_damaged_caches(files, columns)
    ]
    columns = replace(columns, categories=True)  # as the rankers that take most columns
    if test_data is None and vali_data is not None:  # the two parts of 'rankwise fit'
        if cv is not None:
            raise UsageError("--vali-data defines a single fold. Drop --cv.")
        train, vali = load_training(data, vali_data, columns)
        loaded, n_folds = Fold(train, vali, None, ""), "auto"  # type: ignore[arg-type]
    else:
        try:
            loaded, n_folds = load_folds(data, cv, vali_data, test_data, columns, splits=False)
        except SourceError:
            audit = None
            if test_data is not None:
                with suppress(ValueError, OSError):  # they are no judgements either
                    parts = (expand_patterns(files) for files in (data, [test_data]))
                    audit = memory_audit(None, *parts)
            if audit is None:
                raise
            show_result(audit, json)
            return
    loaded = ignore_columns(loaded, columns.words, data)
    if test_data is not None:
        loaded = replace(loaded, name="")  # the parts have the names of their files
    if n_folds != "auto":
        loaded = convert_to_folds(loaded, n_folds)
    with waiting("Checking"):
        report = check(loaded)
    if json:
        print_json(report.to_dict() | {"caches_rebuilt": damaged})
    else:
        echo(lint_text(report, terminal_width()))
    for problem in damaged:
        say(f"warning: {problem}; rebuilt")
    if not report.ok:
        raise typer.Exit(FAILED)


def _lint_against(path: Path, data: list[str], columns: ColumnOptions, json: bool) -> None:
    """Report what moved in DATA since the training of a model, and exit with 1 if anything did."""
    from rankwise.cli._scoring import chunks_to_score, join_chunk_rows
    from rankwise.groups import join_ids
    from rankwise.persistence import load
    from rankwise.selection import find_drift

    check_model_file(path)
    summary = read_row_summary(path)
    if summary is None:
        raise JobError(
            f"{path} has no summary of its training rows. Fit it with 'rankwise fit', or save it "
            "with save(model, path, rows=summarize_rows(X, qid, model=model))."
        )
    model = load(path)
    with waiting("Comparing"):
        chunks = list(chunks_to_score(data, columns, model, summary.first_index))
        if not chunks:
            raise JobError(f"{', '.join(data)} has no rows to compare.")
        X = join_chunk_rows(chunks)
        has_queries = all(chunk.qid is not None for chunk in chunks)
        qid = join_ids([chunk.qid for chunk in chunks]) if has_queries else None
        report = find_drift(summary, X, qid, estimator=model)
    show_result(report, json)
    if not report.ok:
        raise typer.Exit(FAILED)


def _find_damaged_caches(files: Sequence[str | None], columns: ColumnOptions) -> list[str]:
    """Rebuild damaged caches of files that form one table, and describe the damage."""
    from rankwise.datasets import read_letor, verify_cache
    from rankwise.datasets.judged_source import exists, is_table

    paths = [path for path in files if path is not None and exists(path)]
    if len(paths) < len(files) or any(is_table(path, columns.words) for path in paths):
        return []
    with waiting("Verifying caches"):
        problems = verify_cache(paths)
        if problems:
            read_letor(paths, verify=True)
    return problems


class Kind(StrEnum):
    """Output format of judged data."""

    letor = "letor"
    csv = "csv"
    tsv = "tsv"
    parquet = "parquet"
    qrels = "qrels"
    lightgbm = "lightgbm"
    xgboost = "xgboost"


@reads_tables
def convert(
    data: Data,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="File to write; .gz, .bz2, .xz and .zst compress LETOR text and CSV.",
        ),
    ],
    to: Annotated[
        Kind | None, typer.Option(help="Output format (default: by the suffix of --out).")
    ] = None,
    columns: ColumnOptions = NO_COLUMNS,
    json: Json = False,
) -> None:
    """Convert judged data to LETOR/SVMlight text, CSV, TSV, Parquet or TREC qrels.

    Tables have the columns qid, label, doc_id and sample_weight (if known), and the features.
    Values stay bit-identical. Comments of LETOR text are kept only in LETOR text. With --to
    lightgbm or xgboost, group sizes and weights are written to files beside --out. Such files
    beside DATA are read.

    Example: rankwise convert judged.txt --out judged.parquet
    """
    from rankwise.datasets.readers.tables import format_of_name

    named = format_of_name(out)
    if to is None and named not in {*Kind}:
        raise UsageError(f"{out.name!r} implies no format. Add --to {'|'.join(Kind)}.")
    kind = to or Kind(named)
    check_target(out, "--out")
    table = load_table(data, columns=columns)
    make_folder(out)
    with waiting("Writing"), name_lines(data, columns):
        if kind is Kind.letor:
            from rankwise.datasets import write_letor

            write_letor(table, out)
        elif kind in (Kind.lightgbm, Kind.xgboost):
            from rankwise.datasets import write_grouped

            write_grouped(table, out, "lightgbm" if kind is Kind.lightgbm else "xgboost")
        elif kind is Kind.qrels:
            from rankwise.datasets import Qrels, write_qrels

            write_qrels(Qrels.from_data(table), out)
        else:
            _write_table(table, out, kind)
    if json:
        print_json(
            {
                "data": table.name,
                "rows": table.n_samples,
                "queries": table.n_queries,
                "features": table.n_features,
                "format": kind.value,
                "out": str(out),
            }
        )


def _write_table(data: RankingData, out: Path, kind: Kind) -> None:
    import numpy as np

    from rankwise.runtime.files import open_to_write

    X = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
    names = data.feature_names or [f"f{number}" for number in range(1, data.n_features + 1)]
    columns = {"qid": data.qid, "label": data.y}
    if data.doc_ids is not None:
        missing = np.flatnonzero(data.doc_ids == "")
        if len(missing):
            raise JobError(
                f"{len(missing)} of {data.n_samples} rows have no document id, the first of them "
                f"is row {missing[0]}, and a table with an empty id could not be read again. Add "
                "the ids, remove those of the other rows, or write LETOR text: --to letor."
            )
        columns["doc_id"] = data.doc_ids
    if data.sample_weight is not None:
        columns["sample_weight"] = data.sample_weight
    taken = sorted(columns.keys() & set(names))
    if taken:
        raise JobError(
            f"features must not be named like other columns of the table, got {', '.join(taken)}. "
            "Rename them."
        )
    columns |= {name: np.ascontiguousarray(X[:, i]) for i, name in enumerate(names)}
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    if kind is Kind.parquet:
        with open_to_write(out) as stream:
            pa_parquet.write_table(table, stream)
        return
    with open_to_write(out) as stream:
        pa_csv.write_csv(
            table, stream, pa_csv.WriteOptions(delimiter="\t" if kind is Kind.tsv else ",")
        )
