"""``rankwise lint``: what spoils training or comparison on judged data, and damaged caches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from rankwise.cli._columns import NO_COLUMNS, ColumnOptions, reads_tables
from rankwise.cli._errors import FAILED, say
from rankwise.cli._options import Cv, Data, Json, TestData, ValiData
from rankwise.cli._output import print_json
from rankwise.cli._progress import waiting

if TYPE_CHECKING:
    from collections.abc import Sequence


@reads_tables
def lint(
    data: Data,
    cv: Cv = None,
    vali_data: ValiData = None,
    test_data: TestData = None,
    columns: ColumnOptions = NO_COLUMNS,
    json: Json = False,
) -> None:
    """Check judged data: empty queries, useless features, leakage between parts, labels, sizes.

    Caches of LETOR text are compared with it by full checksums, and damaged ones built anew. Exit
    code 1: an error was found in the data.
    """
    from rankwise.cli._data import load_folds
    from rankwise.datasets import lint as check
    from rankwise.selection.splits import as_folds

    damaged = [
        problem
        for files in (data, [vali_data], [test_data])
        if all(files)
        for problem in _damaged_caches(files, columns)
    ]
    loaded, n_folds = load_folds(data, cv, vali_data, test_data, columns, splits=False)
    if n_folds is not None:
        loaded = as_folds(loaded, n_folds)
    with waiting("Checking"):
        report = check(loaded)
    if json:
        print_json(report.to_dict() | {"caches_rebuilt": damaged})
    else:
        typer.echo(str(report))
    for problem in damaged:
        say(f"warning: {problem}; built anew")
    if not report.ok:
        raise typer.Exit(FAILED)


def _damaged_caches(files: Sequence[str | None], columns: ColumnOptions) -> list[str]:
    """What is wrong with the caches of these files, which are read as one."""
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
