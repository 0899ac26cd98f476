"""Places of rows in the files that DATA names: errors about rows become errors about lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rankwise.checks.row_errors import RowError
from rankwise.cli._columns import ColumnOptions
from rankwise.cli._errors import JobError
from rankwise.cli._files import are_tables, exists, expand_patterns, have_sizes, table_words


@contextmanager
def name_lines(
    data: Sequence[str],
    columns: ColumnOptions,
    row_of: Callable[[RowError], int | None] = lambda error: error.row,
) -> Iterator[None]:
    """Make errors about rows inside the block name the file and the line.

    Parameters
    ----------
    data : sequence of str
    columns : ColumnOptions
    row_of : callable
        Finds the row of DATA that an error is about; None if it is about no row of DATA.
    """
    try:
        yield
    except RowError as error:
        row = row_of(error)
        place = None if row is None else place_of_row(data, columns, row)
        if place is None:
            raise
        raise JobError(f"{place}: {error.without_row()}") from None


def place_of_row(data: Sequence[str], columns: ColumnOptions, row: int) -> str | None:
    """File and line of a row of DATA, from 0; None for data sets and files with side files."""
    if not all(map(exists, data)) or have_sizes(data):
        return None
    if not are_tables(data, columns):
        return _letor_line(expand_patterns(data), row)
    from rankwise.datasets.readers.tables import is_parquet, table_files

    paths = table_files(list(data), other=True)
    find = _parquet_row if is_parquet(paths[0]) else _table_line
    return find(paths, table_words(data, columns).get("sep"), row)


def first_bad_row(X: Any, error: RowError) -> int | None:
    """Row of X with the first value that is not finite, of the kind that an error names."""
    import numpy as np

    if not error.problem.startswith("Input X contains "):
        return None
    is_bad = np.isnan if error.problem.endswith("NaN") else np.isinf
    entries = X.tocoo() if hasattr(X, "tocoo") else None
    rows = is_bad(X).nonzero()[0] if entries is None else entries.row[is_bad(entries.data)]
    return int(rows.min()) if len(rows) else None


def _letor_line(paths: Sequence[str], row: int) -> str | None:
    from rankwise.datasets.readers.textfiles import open_text

    for path in paths:
        file = open_text(Path(path))
        lines = enumerate(file.read(file.start, file.stop).split(b"\n"), start=1)
        numbers = [number for number, line in lines if line.partition(b"#")[0].strip()]
        if row < len(numbers):
            return f"{path}, line {numbers[row]}"
        row -= len(numbers)
    return None


def _table_line(paths: Sequence[Path], sep: str | None, row: int) -> str | None:
    import pyarrow as pa

    from rankwise.datasets.readers.delimited import DelimitedFile
    from rankwise.datasets.readers.tables import delimiter_of
    from rankwise.datasets.readers.textfiles import MAX_DECOMPRESSED_BYTES

    for path in paths:
        file = DelimitedFile.of(path, delimiter_of(path, sep), MAX_DECOMPRESSED_BYTES)
        line = file.line_of(row)
        if line is not None:
            return f"{path}, line {line}"
        name = next(filter(None, file.header()))
        row -= file.table({name: pa.string()}).num_rows
    return None


def _parquet_row(paths: Sequence[Path], _: str | None, row: int) -> str | None:
    from rankwise.datasets.readers.tables import open_parquet

    for path in paths:
        with open_parquet(path) as file:
            if row < file.metadata.num_rows:
                return f"{path}, row {row}"
            row -= file.metadata.num_rows
    return None
