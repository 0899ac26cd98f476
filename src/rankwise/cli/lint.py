"""``rankwise lint``: find problems in judged data, and rebuild damaged caches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.cli._columns import NO_COLUMNS, ColumnOptions, reads_tables
from rankwise.cli._errors import FAILED, JobError, UsageError, echo, say
from rankwise.cli._files import read_row_summary
from rankwise.cli._options import Cv, Data, Json, TestData, ValiData
from rankwise.cli._output import check_model_file, print_json
from rankwise.cli._progress import waiting

if TYPE_CHECKING:
    from collections.abc import Sequence


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

    Caches of LETOR text are verified by checksums of the whole text, and damaged caches are
    rebuilt. The exit code is 1 if the data contain an error, or if --against is given and a feature
    or the scores of the model have moved.
    """
    if against is not None:
        if cv is not None or vali_data is not None or test_data is not None:
            raise UsageError(
                "--against takes neither --cv, --vali-data nor --test-data. Drop them."
            )
        _lint_against(against, data, columns, json)
        return
    from rankwise.cli._data import ignore_columns, load_folds
    from rankwise.datasets import lint as check
    from rankwise.selection.splits import convert_to_folds

    damaged = [
        problem
        for files in (data, [vali_data], [test_data])
        if all(files)
        for problem in _find_damaged_caches(files, columns)
    ]
    columns = replace(columns, categories=True)  # as the rankers that take most columns
    loaded, n_folds = load_folds(data, cv, vali_data, test_data, columns, splits=False)
    loaded = ignore_columns(loaded, columns, data)
    if n_folds is not None:
        loaded = convert_to_folds(loaded, n_folds)
    with waiting("Checking"):
        report = check(loaded)
    if json:
        print_json(report.to_dict() | {"caches_rebuilt": damaged})
    else:
        echo(str(report))
    for problem in damaged:
        say(f"warning: {problem}; rebuilt")
    if not report.ok:
        raise typer.Exit(FAILED)


def _lint_against(path: Path, data: list[str], columns: ColumnOptions, json: bool) -> None:
    """Report what moved in DATA since the training of a model, and exit with 1 if anything did."""
    from rankwise.cli._scoring import chunks_to_score, join_chunk_rows
    from rankwise.persistence import load
    from rankwise.selection import find_drift
    from rankwise.streams.cutter import join_ids

    check_model_file(path)
    summary = read_row_summary(path)
    if summary is None:
        raise JobError(
            f"{path} has no summary of its training rows. Fit it with 'rankwise fit', or save it "
            "with save(model, path, rows=summarise_rows(X, qid, model=model))."
        )
    model = load(path)
    with waiting("Comparing"):
        chunks = list(chunks_to_score(data, columns, model, summary.first_index))
        if not chunks:
            raise JobError(f"{', '.join(data)} has no rows to compare.")
        X = join_chunk_rows(chunks)
        has_queries = all(chunk.qid is not None for chunk in chunks)
        qid = join_ids([chunk.qid for chunk in chunks]) if has_queries else None
        report = find_drift(summary, X, qid, model=model)
    if json:
        print_json(report.to_dict())
    else:
        echo(str(report))
    if not report.ok:
        raise typer.Exit(FAILED)


def _find_damaged_caches(files: Sequence[str | None], columns: ColumnOptions) -> list[str]:
    """Rebuild damaged caches of files that form one table, and describe the damage."""
    from rankwise.cli._files import exists, is_table
    from rankwise.datasets import read_letor, verify_cache

    paths = [path for path in files if path is not None and exists(path)]
    if len(paths) < len(files) or any(is_table(path, columns) for path in paths):
        return []
    with waiting("Verifying caches"):
        problems = verify_cache(paths)
        if problems:
            read_letor(paths, verify=True)
    return problems
