"""``rankwise lint``: find problems in judged data, and rebuild damaged caches."""

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

    Caches of LETOR text are verified by checksums of the whole text, and damaged caches are
    rebuilt. The exit code is 1 if the data contain an error.
    """
    from rankwise.cli._data import load_folds
    from rankwise.datasets import lint as check
    from rankwise.selection.splits import convert_to_folds

    damaged = [
        problem
        for files in (data, [vali_data], [test_data])
        if all(files)
        for problem in _damaged_caches(files, columns)
    ]
    loaded, n_folds = load_folds(data, cv, vali_data, test_data, columns, splits=False)
    if n_folds is not None:
        loaded = convert_to_folds(loaded, n_folds)
    with waiting("Checking"):
        report = check(loaded)
    if json:
        print_json(report.to_dict() | {"caches_rebuilt": damaged})
    else:
        typer.echo(str(report))
    for problem in damaged:
        say(f"warning: {problem}; rebuilt")
    if not report.ok:
        raise typer.Exit(FAILED)


def _damaged_caches(files: Sequence[str | None], columns: ColumnOptions) -> list[str]:
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
