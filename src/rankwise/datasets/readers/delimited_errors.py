"""Errors of delimited text in our words, with the lines of the file in place of its rows."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute

from rankwise.checks.exact_numbers import LARGEST_EXACT, exact_float64
from rankwise.checks.row_errors import RowError
from rankwise.datasets.readers.letor_errors import INFINITE
from rankwise.datasets.readers.textfiles import TextFile
from rankwise.runtime.vocabulary import setting

if TYPE_CHECKING:
    from rankwise.datasets.readers.delimited import DelimitedFile
    from rankwise.datasets.table_columns import Columns

# Its functions are created on import, so type checkers do not see them.
pc: Any = pyarrow.compute

_BLOCK_BYTES = 1 << 22
# Messages of pyarrow's parser, which counts rows from 1, with the header.
_RAGGED = re.compile(r"(?s)Row #(\d+): Expected (\d+) columns, got (\d+): (.*)")
_NO_TEXT = re.compile(r"(?s)In CSV column #(\d+): Row #(\d+): ")
_BAD_CELL = re.compile(r"(?s)In CSV column #(\d+): Row #(\d+): .*invalid value ('.*')$")


@contextmanager
def name_file_in_errors(
    path: Path, names: Sequence[str] = (), line_of: Callable[[int], int | None] | None = None
) -> Iterator[None]:
    """Make errors inside the block name the file, and the line or the column.

    Parameters
    ----------
    path : Path
    names : sequence of str
        Names of the columns that are read.
    line_of : callable, optional
        Line of a row (counted from 0, without the header); None if it is unknown.
    """

    def place(row: int) -> str:
        line = None if line_of is None else line_of(row)
        return f"{path}: row {row}" if line is None else f"{path}, line {line}"

    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        message = str(error)
        if "Expected" in message and '"' in message and ".csv" not in path.suffixes:
            raise ValueError(
                f"{path}: {error}. Without quotation marks around the names in its first line, a "
                "TSV file cannot hold tabs and line ends in its fields. Write such a table as CSV "
                "or Parquet."
            ) from None
        if "UTF8" in message and (cell := _NO_TEXT.search(message)):
            column, row = map(int, cell.groups())
            name = repr(names[column]) if column < len(names) else f"number {column}"
            raise ValueError(
                f"{place(row - 2)}: column {name} is not UTF-8 text. Convert the file to UTF-8."
            ) from None
        if "UTF8" in message:
            raise ValueError(
                f"{path}: {error}. Text must be encoded in UTF-8. Convert the file."
            ) from None
        if ragged := _RAGGED.search(message):
            row, wanted, got, text = ragged.groups()
            raise ValueError(
                f"{place(int(row) - 2)}: expected {wanted} columns, got {got}: {text:.60}."
            ) from None
        if cell := _BAD_CELL.search(message):
            column, row, value = cell.groups()
            name = repr(names[int(column)]) if int(column) < len(names) else f"number {column}"
            raise ValueError(
                f"{place(int(row) - 2)}: column {name} has {value}, which is not a number. Leave "
                "cells without a value empty, or choose the columns of numbers by "
                f"{setting('features')}."
            ) from None
        if message == "Empty CSV file":
            message = "the file is empty. Its first line must name the columns"
        elif "straddl" in message:
            message = f"a row has more than {_BLOCK_BYTES:,} bytes. Shorten its text"
        else:
            message = f"{message}. The first line must name the columns"
        raise ValueError(f"{path}: {message}.") from None
    except UnicodeDecodeError:
        raise ValueError(
            f"{path}: the names of the columns are not UTF-8 text. Convert the file to UTF-8."
        ) from None
    except RowError as error:
        if line_of is None or line_of(error.row) is None:
            raise ValueError(f"{path}: {error}") from None
        raise ValueError(f"{place(error.row)}: {error.without_row()}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def check_infinite(file: DelimitedFile, table: pa.Table) -> None:
    """Raise if a finite number in the file is too large for float64."""
    for name, kind in zip(table.column_names, table.schema.types, strict=True):
        if kind != pa.float64():
            continue
        infinite = pc.is_inf(table[name]).fill_null(False)
        if not pc.any(infinite).as_py():
            continue
        cells = file.table({name: pa.string()})[name]
        for row in np.flatnonzero(infinite.to_numpy()).tolist():
            if not INFINITE.fullmatch(cells[row].as_py().strip().encode()):
                raise RowError(
                    f"column {name!r} has {cells[row].as_py()!r}",
                    row,
                    ", too large for float64. Write inf if infinity is meant.",
                )


def check_exact_cells(file: DelimitedFile, table: pa.Table, columns: Columns) -> None:
    """Raise if float64 changed a whole number of scores, labels or weights."""
    named = [("scores", name) for name in columns.score_columns]
    named += [("label", columns.label), ("sample_weight", columns.sample_weight)]
    for what, name in named:
        if name is None or table.schema.field(name).type != pa.float64():
            continue
        values = table[name].to_numpy()
        rows = np.flatnonzero(np.abs(values) >= LARGEST_EXACT)
        if len(rows):
            cells = file.table({name: pa.string()})[name].take(pa.array(rows)).to_pylist()

            def where(at: int, rows: Any = rows) -> str:
                return f"line {file.line_of(int(rows[at]))}"

            exact_float64(cells, f"{what} in column {name!r}", where)


def find_line(
    file: TextFile, number: int, delimiter: str, quote_char: str | Literal[False]
) -> int | None:
    """Line at which a record begins, from 1; None if there is no such record.

    Parameters
    ----------
    file : TextFile
    number : int
        Number of the record, from 0, without blank lines, which pyarrow skips.
    delimiter : str
    quote_char : str or False
        Quotation mark of fields that may hold line ends; False: marks are text.
    """
    lines = enumerate(_lines(file), start=1)
    if not quote_char:
        for line_number, line in lines:
            number -= sum(map(bool, line.split(b"\r")))  # the parser ends lines there too
            if number < 0:
                return line_number
        return None
    # Latin-1 keeps every byte, whatever the encoding; the csv module counts the lines it takes.
    texts = (line.rstrip(b"\r").replace(b"\r", b" ").decode("latin-1") for _, line in lines)
    reader = csv.reader((f"{text}\n" for text in texts), delimiter=delimiter, quotechar=quote_char)
    start = 1
    try:
        for record in reader:
            if record:
                number -= 1
            if number < 0:
                return start
            start = reader.line_num + 1
    except csv.Error:  # a field beyond the limit of the module
        pass
    return None


def _lines(file: TextFile) -> Iterator[bytes]:
    """Lines without their ends; a file on disk is read in blocks."""
    rest = b""
    for start in range(file.start, file.stop, _BLOCK_BYTES):
        *lines, rest = (rest + file.read(start, min(start + _BLOCK_BYTES, file.stop))).split(b"\n")
        yield from lines
    if rest:
        yield rest
