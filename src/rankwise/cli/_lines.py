"""Places of rows in the files that DATA names: errors about rows become errors about lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwise.checks.row_errors import RowError
from rankwise.cli._columns import ColumnOptions
from rankwise.cli._errors import JobError
from rankwise.cli._files import (
    are_tables,
    exists,
    expand_patterns,
    have_sizes,
    read_files,
    table_words,
)

if TYPE_CHECKING:
    from rankwise.datasets import RankingData


@contextmanager
def name_lines(
    data: Sequence[str],
    columns: ColumnOptions,
) -> Iterator[None]:
    """Make errors about rows of DATA inside the block name the file and the line."""
    try:
        yield
    except RowError as error:
        place = place_of_row(data, columns, error.row)
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


# Files, their table, and whether they are validation data.
Part = tuple[Sequence[str], "RankingData", bool]
_BAD_VALUE = re.compile(
    r"(?:RowError: )?(Input (X|X_val) contains (NaN|infinity)) at row \d+"
    r"(, column (\d+)(?: \('([^']*)'\))?)?"
)


@contextmanager
def name_bad_values(parts: Sequence[Part], columns: ColumnOptions) -> Iterator[None]:
    """Make errors inside the block about values that are not finite name the file and the line."""
    try:
        yield
    except ValueError as error:
        named = place_bad_value(str(error), parts, columns)
        if named == str(error):
            raise
        raise JobError(named) from None


def place_bad_value(message: str, parts: Sequence[Part], columns: ColumnOptions) -> str:
    """A message about a value that is not finite, with file and line in place of the row.

    Fits and scores of parts of the rows count other rows, so the value is searched for.
    """
    found = _BAD_VALUE.search(message)
    if found is None:
        return message
    problem, what, kind, column, number, name = found.groups()
    for data, table, _ in sorted(parts, key=lambda part: part[2] != (what == "X_val")):
        places = _columns_of(table, None if number is None else int(number), name)
        row = _first_bad_row(table.X, kind, places)
        place = None if row is None else place_of_row(data, columns, row)
        if place is not None:
            before, after = message[: found.start()], message[found.end() :]
            return f"{before}{place}: {problem}{column or ''}{after}"
    return message


def parts_of(
    data: Sequence[str],
    loaded: Any,
    columns: ColumnOptions,
    vali: str | None = None,
    test: str | None = None,
) -> list[Part]:
    """Files and rows of what :func:`rankwise.cli._data.load_folds` loaded; none of data sets."""
    if hasattr(loaded, "X"):
        return [(data, loaded, False)]
    if test is not None:
        parts: list[Part] = [(data, loaded.train, False), ([test], loaded.test, False)]
        return parts if vali is None else [*parts, ([vali], loaded.vali, True)]
    files = expand_patterns(data)
    if all(Path(file).is_file() for file in files):  # cut into folds as LETOR does
        return [(files, read_files(files, columns=columns), False)]
    return []


def _columns_of(table: RankingData, number: int | None, name: str | None) -> list[int] | None:
    """Columns that may hold a bad value; None: all.

    Rankers of numbers count columns without those of text, so a name tells more than a number.
    Codes of categories are NaN if they are missing, which no ranker refuses.
    """
    names = table.feature_names or []
    if name in names:
        return [names.index(name)]
    if table.categories:
        return [j for j in range(table.n_features) if j not in table.categories]
    return None if number is None else [number]


def _first_bad_row(X: Any, kind: str, columns: list[int] | None) -> int | None:
    """First row of X with a value of this kind, in some columns or any."""
    import numpy as np

    is_bad = np.isnan if kind == "NaN" else np.isinf
    if hasattr(X, "tocoo"):
        entries = X.tocoo()
        chosen = is_bad(entries.data)
        if columns is not None:
            chosen &= np.isin(entries.col, columns)
        rows = entries.row[chosen]
    else:
        rows = is_bad(X if columns is None else X[:, columns]).nonzero()[0]
    return int(rows.min()) if len(rows) else None


def _letor_line(paths: Sequence[str], row: int) -> str | None:
    from rankwise.datasets.readers.letor_errors import find_line
    from rankwise.datasets.readers.textfiles import open_text

    for path in paths:
        line, n_rows = find_line(open_text(Path(path)), row)
        if line is not None:
            return f"{path}, line {line}"
        row -= n_rows
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
