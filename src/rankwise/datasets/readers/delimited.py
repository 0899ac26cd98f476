"""Delimited text such as CSV, columns of several files as one table, and side files of sizes.

All columns except ids are numbers, so no types are guessed. If a cell is not a number, the cells of
its column are counted. A column in which most cells are not numbers is text and not a feature. A
few such cells in a column of numbers raise an error that names the first one.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice, repeat
from pathlib import Path
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import DTypeLike

from rankwise.checks.exact_values import LARGEST_EXACT, RowError, exact_float64
from rankwise.checks.text_categories import SAMPLE_ROWS, kind_of_text
from rankwise.datasets.readers.letor_parse import INFINITE, NUMBER
from rankwise.datasets.readers.quotes import (
    ENCLOSED,
    LongRecord,
    Records,
    check_lines,
    check_not_enclosed,
    find_records,
    first_record,
    name_has_lines,
    names_are_quoted,
    split_names,
)
from rankwise.datasets.readers.textfiles import (
    TextFile,
    find_inner_mark,
    find_line_start,
    open_text,
)
from rankwise.datasets.table_columns import (
    Columns,
    IgnoredColumnsWarning,
    Kinds,
    LargeNumbers,
    Roles,
    TableRows,
    choose_features,
    label_fix,
    list_names,
    warn_of_merged,
)
from rankwise.runtime.arrow import pa, pa_csv, pc
from rankwise.runtime.files import COMPRESSIONS
from rankwise.runtime.frames import MOSTLY_NUMBERS, TIMES, check_unique
from rankwise.runtime.messages import callers_level, setting

_BLOCK_BYTES = 1 << 20
_LARGEST_BLOCK = (1 << 31) - 1
_TABLE_BYTES = 1 << 23  # of rows that are checked and converted at once
# Separators to suggest if the header is a single column.
_OTHERS = (",", ";", "\t", "|")
_NUMBER = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$|^\s*[+-]?(?i:inf(inity)?)\s*$"
_FLAG = "^(true|false|True|False|TRUE|FALSE)$"
# Whole numbers with leading zeros are codes to people, such as postal codes.
_DIGITS, _PADDED = r"^\s*[0-9]+\s*$", r"^\s*0[0-9]+\s*$"
_PADDED_CELL = re.compile(rb'[,;|\t\n][" ]*0[0-9]')
SAMPLE_BYTES = 1 << 22
_DECIMAL_COMMA = r"^\s*[+-]?[0-9]+,[0-9]+\s*$"
# Texts that stay the same if read as a number and written again.
_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"
# Messages of pyarrow's parser, which counts rows from 1, with the header.
_RAGGED = re.compile(r"(?s)Row #(\d+): Expected (\d+) columns, got (\d+): (.*)")
_NO_TEXT = re.compile(r"(?s)In CSV column #(\d+): Row #(\d+): ")
_BAD_CELL = re.compile(r"(?s)In CSV column #(\d+): Row #(\d+): .*invalid value ('.*')$")

# Its functions are created on import, so type checkers do not see them.


@contextmanager
def name_file_in_errors(
    path: Path,
    names: Sequence[str] = (),
    line_of: Callable[[int], int | None] | None = None,
    hint: Callable[[], str] = str,
) -> Iterator[None]:
    """Make errors inside the block name the file, and the line or the column.

    ``names`` are those of the columns that are read. ``line_of`` returns the line of a row (counted
    from 0, without the header), None if it is unknown; ``hint`` what to do about a row of another
    width.
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
            name = repr(names[column]) if column < len(names) else f"number {column + 1}"
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
                f"{place(int(row) - 2)}: expected {wanted} columns, got {got}: {text:.60}.{hint()}"
            ) from None
        if cell := _BAD_CELL.search(message):
            column, row, value = cell.groups()
            name = repr(names[int(column)]) if int(column) < len(names) else f"number {column}"
            raise ValueError(
                f"{place(int(row) - 2)}: column {name} has {value}, which is not a number. Leave "
                "cells without a value empty, or choose the columns of numbers by "
                f"{setting('features')}."
            ) from None
        if "straddl" in message:
            message = f"a row has more than {_LARGEST_BLOCK:,} bytes. Shorten its text"
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
        said = str(error)
        if said.startswith(str(path)):  # from a reader of the file
            raise
        raise ValueError(f"{path}{', ' if said.startswith('line ') else ': '}{said}") from None


@dataclass(frozen=True, eq=False)
class DelimitedFile:
    """Text file with its column separator."""

    path: Path
    delimiter: str
    file: TextFile  # text of the file: read from disk if plain, in memory if compressed
    first_line_number: int = 1  # 0 if a header was put before the first line

    @classmethod
    def of(cls, path: Path, delimiter: str, max_decompressed_bytes: int) -> DelimitedFile:
        """Open a file and detect its compression."""
        return cls(path, delimiter, open_text(path, max_decompressed_bytes))

    @cached_property
    def quote_char(self) -> str | Literal[False]:
        """Quotation mark; False if marks are text, see :mod:`rankwise.datasets.readers.quotes`."""
        if self.delimiter != "\t":
            return '"'
        if names_are_quoted(self.first_line()):
            return '"'
        return '"' if name_has_lines(self._head()) else False

    def line_of(self, row: int) -> int | None:
        """Line at which a row begins; None if there is no such row, as in a damaged file."""
        return next(islice(self.record_lines(), row + 1, None), None)

    def record_lines(self) -> Iterator[int]:
        """Yield the line at which each record begins; the first one is the header."""
        long, record, at = iter(self.records.long), None, self.file.start
        for number, line in enumerate(_lines(self.file), start=self.first_line_number):
            while record is None or record.stop < at:
                record = next(long, LongRecord(self.file.stop, self.file.stop, None))
            if at == record.start:
                yield number
            elif at < record.start:  # the parser ends lines at carriage returns, too
                yield from repeat(number, sum(map(bool, line.split(b"\r"))))
            at += len(line) + 1

    def name_in_errors(self, names: Sequence[str] = ()) -> AbstractContextManager[None]:
        """Make errors inside the block name the file, and the lines of rows."""
        return name_file_in_errors(self.path, names, self.line_of, self._hint)

    def _hint(self) -> str:
        """What to do about a row of another width, if carriage returns end rows."""
        ends = self.text.count(b"\r\n")
        if b"\n" not in self.text or self.text.count(b"\r") == ends:
            return ""
        return (
            " Carriage returns within lines end rows. Enclose fields that have them in quotation "
            "marks, or write spaces instead."
        )

    @cached_property
    def records(self) -> Records:
        """Records of several lines, see :func:`find_records`."""
        return find_records(self.file, self.delimiter, bool(self.quote_char))

    @property
    def _parse_options(self) -> Any:
        signs = {"delimiter": self.delimiter, "quote_char": self.quote_char}
        return pa_csv.ParseOptions(**signs, newlines_in_values=bool(self.records.long))  # slower

    def _unquote(self, table: Any) -> Any:
        """Text of fields that were quoted because they hold marks, as pandas writes TSV."""
        if self.quote_char:
            return table
        columns = []
        for column in table.columns:
            if column.type in (pa.string(), pa.binary()):
                enclosed = pc.match_substring_regex(column, ENCLOSED)
                inner = pc.replace_substring_regex(column, '^"|"$', "")
                inner = pc.replace_substring(inner, '""', '"')
                column = pc.if_else(enclosed, inner, column)
            columns.append(column)
        return type(table).from_arrays(columns, names=table.schema.names)

    @cached_property
    def text(self) -> bytes:
        """The whole text; its first line has an end."""
        text = self.file.read(self.file.start, self.file.stop)
        self.file.check_unchanged()
        if b"\0" in text:
            number = text.count(b"\n", 0, text.index(b"\0")) + 1
            raise ValueError(f"line {number}: a NUL character. Is the file damaged?")
        if reason := find_inner_mark(text):
            raise ValueError(reason)
        return text if b"\n" in text else text + b"\n"  # a header alone needs its end

    def count_most_rows(self) -> int:
        """No fewer than the number of rows: the number of line ends. Checks the text."""
        most, end = 1, b"\n"
        for start in range(self.file.start, self.file.stop, _BLOCK_BYTES):
            block = self.file.read(start, start + _BLOCK_BYTES)
            if b"\0" in block or find_inner_mark(end + block):
                self.text  # noqa: B018 (raises, with the line)
            most += block.count(b"\n") + block.count(b"\r")
            end = block[-3:]
        return most

    def first_line(self) -> bytes:
        """The line that names the columns: the first one that is not blank."""
        start = self.file.start
        while start < self.file.stop:
            stop = find_line_start(self.file, start + 1)
            line = self.file.read(start, stop)
            if line.strip(b"\r\n"):
                return line
            start = stop
        return b""

    @cached_property
    def names(self) -> list[str]:
        """Names of all columns, some of which may be empty."""
        line = self.first_line()
        if not line:
            raise ValueError("the file is empty. Its first line must name the columns.")
        if line.startswith(b"PAR1"):
            raise ValueError(
                "it is a Parquet table, not text. Give it a name that ends in .parquet"
            )
        check_named_columns(self.path, line)
        header = first_record(self._head())
        if self.delimiter.encode() not in header:  # quoted names are faults by a wrong separator
            self._check_separator([header.decode()])
        for record in self.records.long[:1]:
            if not self.file.read(self.file.start, record.start).strip(b"\r\n"):
                line = self.file.read(record.start, record.stop)
        names = split_names(line, self.delimiter, self.quote_char)
        self._check_separator(names)
        check_lines(self.file, self.records, self.delimiter, len(names))
        return names

    def _check_separator(self, names: list[str]) -> None:
        """Raise ValueError if another sign separates the names."""
        others = [sign for sign in _OTHERS if len(names) == 1 and sign in names[0]]
        if others:
            raise ValueError(
                f"the first line is one column, {names[0][:60]!r}. Pass the column separator: "
                f"{setting('sep', others[0])}."
            )

    def _head(self) -> bytes:
        """Some first lines of the file."""
        return self.file.read(self.file.start, self.file.start + _BLOCK_BYTES)

    @cached_property
    def header(self) -> list[str]:
        """Names of the columns, which differ, but for those without a name."""
        check_unique([name for name in self.names if name])  # columns without one are left out
        return self.names

    def table(self, types: dict[str, Any]) -> pa.Table:
        """Read columns with the given types."""
        return pa.concat_tables(self.tables(types))

    def cells(self) -> pa.Table:
        """Read all columns as bytes; their names are their numbers."""
        types = {str(number): pa.binary() for number in range(len(self.names))}
        options = pa_csv.ReadOptions(
            use_threads=False,
            block_size=self._block_bytes(),
            column_names=list(types),
            skip_rows_after_names=1,
        )
        source, convert = pa.BufferReader(self.text), pa_csv.ConvertOptions(column_types=types)
        return self._unquote(pa_csv.read_csv(source, options, self._parse_options, convert))

    def tables(self, types: dict[str, Any]) -> Iterator[pa.Table]:
        """Read columns with the given types, in tables of some rows, or one without rows."""
        fields = pa.schema(types.items())
        parts: list[Any] = [pa.RecordBatch.from_pylist([], fields)]
        for batch in self.batches(types):
            parts.append(batch)
            if sum(part.nbytes for part in parts) >= _TABLE_BYTES:
                yield pa.Table.from_batches(parts)
                parts = []
        if parts:
            yield pa.Table.from_batches(parts)

    def batches(self, types: dict[str, Any]) -> Iterator[Any]:
        """Read columns with the given types, in batches of rows."""
        try:
            for batch in self._open(types, True, False):
                for ids in (column for column in batch.columns if column.type == pa.string()):
                    found = (pc.match_substring(ids, "\0"), pc.starts_with(ids, "\ufeff"))
                    if any(pc.any(matches).as_py() for matches in found):
                        self.text  # noqa: B018 (raises, with the line, if it is damaged)
                yield self._unquote(batch)
        except pa.ArrowInvalid:
            for _ in self._open(types, False, False):
                pass
            raise
        self.file.check_unchanged()

    def texts(self, names: Sequence[str]) -> Iterator[Any]:
        """Read columns as text, in batches of rows; empty cells and other nulls are null."""
        # Without threads, errors name the row.
        yield from self._open(dict.fromkeys(names, pa.string()), False, True)

    def _open(self, types: dict[str, Any], threads: bool, with_nulls: bool) -> Any:
        file = self.file
        if b"\n" not in file.read(file.start, file.start + _BLOCK_BYTES):
            source: Any = pa.BufferReader(self.text)
        elif file.data is None:
            source = pa.OSFile(str(self.path))
        else:
            source = pa.BufferReader(pa.py_buffer(file.data).slice(file.start))
        return pa_csv.open_csv(
            source,
            pa_csv.ReadOptions(use_threads=threads, block_size=self._block_bytes()),
            self._parse_options,
            pa_csv.ConvertOptions(
                column_types=types, include_columns=list(types), strings_can_be_null=with_nulls
            ),
        )

    def _block_bytes(self) -> int:
        """Size of the parser's blocks, which must have room for any row."""
        return min(max(_BLOCK_BYTES, self.records.most_bytes), _LARGEST_BLOCK)


def read_delimited(
    files: Sequence[DelimitedFile], roles: Roles, dtype: DTypeLike
) -> tuple[Columns, TableRows]:
    """Read the rows of files with the same columns.

    Query ids are integers if all of them are integers, else strings. Errors name the file, and the
    column and line of a bad cell.
    """
    columns = common_columns(files, lambda kinds: Columns.of(kinds, *roles))
    rows = _FileRows(files, columns, dtype)
    may_hold_codes = roles.features is None or roles.categories is True
    is_padded, is_typed, failure = False, True, None
    try:
        for file in files:
            start = file.file.start
            found = _PADDED_CELL.search(file.file.read(start, start + SAMPLE_BYTES))
            is_padded, found = is_padded or found is not None, None
            if may_hold_codes and is_padded:
                continue
            tables = file.tables(arrow_types(columns))
            try:
                if failure is None:
                    rows.add(file, tables)
            except pa.ArrowInvalid:
                raise
            except ValueError as error:
                failure = error
            for _ in tables:  # a later row may show that the column holds text
                pass
    except pa.ArrowInvalid:
        is_typed = False
    if not is_typed or (may_hold_codes and is_padded):
        layouts = refine_by_cells(
            files, columns, may_ignore=roles.features is None, with_text=roles.categories is True
        )
        columns = replace(layouts[0], flags=frozenset())
        del rows
        rows, failure = _FileRows(files, columns, dtype), None
        for file, layout in zip(files, layouts, strict=True):
            with file.name_in_errors(file.header):
                rows.add(file, file.tables(arrow_types(layout)))
    if failure is not None:
        raise failure
    return columns, rows.join()


class _FileRows:
    """Rows of files, which fill one array in turn: only some of them are in memory twice."""

    def __init__(self, files: Sequence[DelimitedFile], columns: Columns, dtype: DTypeLike) -> None:
        self._files, self._columns, self._dtype = files, columns, dtype
        most = 0
        for file in files:
            with file.name_in_errors():
                most += file.count_most_rows()
        # No fewer than there are: memory that is never written takes no room.
        self._X = columns.allocate(most, dtype)
        self._parts: list[TableRows] = []
        self._ids: list[pa.Table] = []  # of every file
        self._stops: list[int] = []
        self._large: LargeNumbers = {}

    def add(self, file: DelimitedFile, tables: Iterator[pa.Table]) -> None:
        """Check and convert the rows of the next file; ids wait for those of all files."""
        columns = self._columns
        values = replace(columns, qid=None, doc_id=None)
        names = [name for name in (columns.qid, columns.doc_id) if name is not None]
        start = first = self._stops[-1] if self._stops else 0
        ids = []
        for table in tables:
            file.file.check_unchanged()  # it could have more rows than there is room for
            for number, column in enumerate(table.schema):
                if pa.types.is_boolean(column.type):
                    numbers = table[number].cast(pa.float64())
                    table = table.set_column(number, column.name, numbers)
            X, n_before = self._X[start : start + len(table)], start - first
            with file.name_in_errors():
                check_infinite(file, table, n_before)
                check_exact_cells(file, table, columns, n_before)
                frame = nw.from_native(table, eager_only=True)
                try:
                    self._parts.append(values.read(frame, self._dtype, X, self._large))
                except RowError as error:
                    raise error.at(n_before + error.row) from None
            ids.append(table.select(list(dict.fromkeys(names))))
            start += len(table)
        self._ids.append(pa.concat_tables(ids))
        _check_ids(file, self._ids[-1], columns)
        self._stops.append(start)

    def join(self) -> TableRows:
        """The rows of all files."""
        files, stops, columns = self._files, self._stops, self._columns
        warn_of_merged(self._large, self._dtype)
        rows = TableRows.join(self._parts, self._X[: stops[-1]])
        table = pa.concat_tables(self._ids)
        if columns.qid is not None:
            ids = table[columns.qid]
            if pc.all(pc.match_substring_regex(ids, _INTEGER)).as_py():
                number = table.column_names.index(columns.qid)
                table = table.set_column(number, columns.qid, ids.cast(pa.int64()))
        try:
            named = Columns(None, columns.qid, columns.doc_id, None, [])
            found = named.read(nw.from_native(table, eager_only=True), self._dtype)
        except RowError as error:
            at = int(np.searchsorted(stops, error.row, side="right"))
            with files[at].name_in_errors():
                raise error.at(error.row - (stops[at - 1] if at else 0)) from None
        except ValueError as error:
            more = f" and {len(files) - 1} more" if len(files) > 1 else ""
            raise ValueError(f"{files[0].path}{more}: {error}") from None
        return rows._replace(qid=found.qid, doc_ids=found.doc_ids)


def check_infinite(file: DelimitedFile, table: pa.Table, n_before: int = 0) -> None:
    """Raise if a finite number is too large for float64; ``n_before`` rows of the file precede."""
    for name, kind in zip(table.column_names, table.schema.types, strict=True):
        if kind != pa.float64():
            continue
        infinite = pc.is_inf(table[name]).fill_null(False)
        if not pc.any(infinite).as_py():
            continue
        cells = file.table({name: pa.string()})[name]
        for row in (n_before + np.flatnonzero(infinite.to_numpy())).tolist():
            if not INFINITE.fullmatch(cells[row].as_py().strip().encode()):
                raise RowError(
                    f"column {name!r} has {cells[row].as_py()!r}",
                    row,
                    ", too large for float64. Write inf if infinity is meant.",
                )


def check_exact_cells(
    file: DelimitedFile, table: pa.Table, columns: Columns, n_before: int = 0
) -> None:
    """Raise if float64 changed a whole number of scores, labels or weights.

    ``n_before`` rows of the file precede the table.
    """
    named = [("scores", name) for name in columns.score_columns]
    named += [("label", columns.label), ("sample_weight", columns.sample_weight)]
    for what, name in named:
        if name is None or table.schema.field(name).type != pa.float64():
            continue
        values = table[name].to_numpy()
        rows = n_before + np.flatnonzero(np.abs(values) >= LARGEST_EXACT)
        if len(rows):
            cells = file.table({name: pa.string()})[name].take(pa.array(rows)).to_pylist()

            def where(at: int, rows: Any = rows) -> str:
                return f"line {file.line_of(int(rows[at]))}"

            exact_float64(cells, f"{what} in column {name!r}", where)


def common_columns(files: Sequence[DelimitedFile], roles: Callable[[Kinds], Columns]) -> Columns:
    """Columns of all files; any may turn out to be text.

    Columns without a name are left out with a warning; of the first one alone, ``roles`` decides,
    since pandas writes its index so. A file that lacks a column of another one raises ValueError.
    """
    headers = []
    for file in files:
        with name_file_in_errors(file.path):
            names = file.header
        unnamed = [number for number, name in enumerate(names, start=1) if not name]
        # The index that pandas writes; with others, it could not be told from them by its name.
        is_index = unnamed == [1]
        headers.append((file.path, dict.fromkeys([*names[:is_index], *filter(None, names)])))
        if unnamed and not is_index:
            listed = list_names([*map(str, unnamed)], quote=str)
            warnings.warn(
                f"{file.path}: columns without a name are left out: column {listed}. Name them in "
                "the first line to use them.",
                IgnoredColumnsWarning,
                stacklevel=callers_level(),
            )
    found = FileColumns.join(headers)
    with name_file_in_errors(files[0].path), name_sizes_in_errors(files[0].path):
        try:
            columns = roles(found.kinds)
        except ValueError as error:
            if side_file(files[0].path, SIZES) is not None:
                raise
            if number_separator(files[0].first_line()) is None:
                raise
            raise ValueError(
                f"{error} The first line looks like numbers, not names of columns. Add a line of "
                "names, such as label,qid,…; if the label comes first and the rows of a query are "
                f"adjacent, write the sizes of the queries to {files[0].path.name}.query."
            ) from None
    found.check(columns)
    return columns


def arrow_types(columns: Columns) -> dict[str, Any]:
    """Types for reading: text for ids and categories, booleans for flags, else numbers."""
    ids = dict.fromkeys((columns.qid, columns.doc_id, *columns.categories), pa.string())
    kinds = dict.fromkeys(columns.flags, pa.bool_()) | ids
    return {name: kinds.get(name, pa.float64()) for name in columns.names()}


def refine_by_cells(
    files: Sequence[DelimitedFile],
    columns: Columns,
    *,
    may_ignore: bool,
    with_text: bool = False,
    most_batches: int | None = None,
) -> list[Columns]:
    """Columns of each file, refined by their cells.

    Flags are true or false; only they may differ between files. Text is not a feature; with
    ``with_text``, it is a category. ``may_ignore`` leaves out features in which most cells are not
    numbers. ``most_batches`` of each file are inspected (default: all). A label that is not a
    number, or decimal commas in a column that must hold numbers, raise ValueError.
    """
    label = columns.label
    numbers = [name for name in columns.features if name not in columns.categories]
    names = [*numbers, *([] if label is None else [label])]
    if not names:
        return [columns] * len(files)
    counted = []
    for file in files:
        counts = {name: _Cells() for name in numbers}
        row = 0
        with file.name_in_errors(file.header):
            for batch in islice(file.texts(names), most_batches):
                if label is not None:
                    _check_labels(batch.column(label), label, row)
                for name, cells in counts.items():
                    cells.add(batch.column(name))
                row += len(batch)
            for name, cells in counts.items():
                if cells.commas > cells.filled // 2 and not (may_ignore or with_text):
                    raise ValueError(
                        f"column {name!r} has decimal commas. Write its numbers with decimal points"
                    )
        counted.append(counts)
    left, categories, left_out = columns.features, columns.categories, dict(columns.left_out)
    if may_ignore or with_text:
        kinds: dict[str, str | None] = dict.fromkeys(left)  # those of categories do not matter
        kinds |= {name: _kind_of([counts[name] for counts in counted]) for name in numbers}
        if may_ignore:
            with name_file_in_errors(files[0].path):
                left, others = choose_features(kinds, with_text=with_text)
            left_out |= others
        if with_text:
            categories |= {name for name, kind in kinds.items() if kind is not None}
    return [
        replace(
            columns,
            features=left,
            flags=frozenset(n for n in left if n in counts and counts[n].are_flags) - categories,
            categories=categories & {*left},
            left_out=left_out,
        )
        for counts in counted
    ]


def _check_labels(cells: Any, name: str, first_row: int) -> None:
    """Raise if a filled cell of the label is not a number."""
    bad = pc.invert(pc.match_substring_regex(cells, _NUMBER)).fill_null(False)
    if pc.any(bad).as_py():
        at = pc.index(bad, True).as_py()
        raise RowError(
            f"label must hold numbers, column {name!r} has {cells[at].as_py()!r}",
            first_row + at,
            f". {label_fix()}",
        )


@dataclass
class _Cells:
    """Numbers of filled cells of a column, in total and by kind."""

    filled: int = 0
    flags: int = 0
    numbers: int = 0
    commas: int = 0
    digits: int = 0
    padded: int = 0
    texts: Counter[str] = field(default_factory=Counter)  # of the first values that differ

    @property
    def are_flags(self) -> bool:
        """Whether all filled cells are true or false."""
        return self.flags == self.filled > 0

    def add(self, cells: Any) -> None:
        self.filled += len(cells) - cells.null_count
        self.flags += pc.sum(pc.match_substring_regex(cells, _FLAG)).as_py() or 0
        are_numbers = pc.match_substring_regex(cells, _NUMBER)
        self.numbers += pc.sum(are_numbers).as_py() or 0
        self.commas += pc.sum(pc.match_substring_regex(cells, _DECIMAL_COMMA)).as_py() or 0
        self.digits += pc.sum(pc.match_substring_regex(cells, _DIGITS)).as_py() or 0
        self.padded += pc.sum(pc.match_substring_regex(cells, _PADDED)).as_py() or 0
        if self.numbers < self.filled and len(self.texts) < SAMPLE_ROWS:
            for found in pc.value_counts(cells.filter(pc.invert(are_numbers))).to_pylist():
                self.texts[found["values"]] += found["counts"]


def _kind_of(parts: Sequence[_Cells]) -> str | None:
    """What a column holds whose cells are in several files, see ``runtime.frames.kind_of``."""
    filled = sum(cells.filled for cells in parts)
    numbers = sum(cells.filled if cells.are_flags else cells.numbers for cells in parts)
    if numbers >= filled - numbers:
        are_codes = sum(cells.digits for cells in parts) == numbers == filled
        return "text" if are_codes and any(cells.padded for cells in parts) else None
    texts: Counter[str] = Counter()
    for cells in parts:
        texts.update(cells.texts)
    return kind_of_text(texts, numbers)


def _check_ids(file: DelimitedFile, table: pa.Table, columns: Columns) -> None:
    """Raise if marks enclose all ids of a file in which marks are text."""
    if file.quote_char is not False:
        return
    for name in filter(None, (columns.qid, columns.doc_id)):
        ids = table[name]
        if len(ids) and ids[0].as_py().startswith('"'):
            check_not_enclosed(file.path, name, [value.encode() for value in ids.to_pylist()])


def _lines(file: TextFile) -> Iterator[bytes]:
    """Lines without their ends; a file on disk is read in blocks."""
    rest = b""
    for start in range(file.start, file.stop, _BLOCK_BYTES):
        *lines, rest = (rest + file.read(start, min(start + _BLOCK_BYTES, file.stop))).split(b"\n")
        yield from lines
    if rest:
        yield rest


# Kind of a column of a file that has no value, and may hold anything in another file.
NO_VALUES = "no values"


@dataclass(frozen=True)
class FileColumns:
    """Columns of several files that form one table, see :meth:`join`."""

    # Kind of each column of any file; a column without values has the kind of the others
    kinds: dict[str, str | None]
    first: dict[str, Path]  # the first file with each column
    files: list[tuple[Path, Kinds]]

    @classmethod
    def join(cls, files: Sequence[tuple[Path, Kinds]]) -> FileColumns:
        """Join the columns of files, in the order of their appearance.

        A column that holds numbers in one file and anything else in another gets a kind that says
        so, and is refused as a feature.
        """
        kinds: dict[str, str | None] = {}
        first: dict[str, Path] = {}
        for path, found in files:
            for name, kind in found.items():
                first.setdefault(name, path)
                known = kinds.get(name, NO_VALUES)
                kinds[name] = kind if known == NO_VALUES else _joint_kind(known, kind, path)
        return cls(
            {name: None if kind == NO_VALUES else kind for name, kind in kinds.items()},
            first,
            list(files),
        )

    def check(self, columns: Columns) -> None:
        """Check that all files have the columns to read, and ids of one kind.

        The error names the file and the columns.
        """
        for path, kinds in self.files:
            missing = [name for name in columns.names() if name not in kinds]
            if missing:
                raise ValueError(
                    f"{path}: columns {list_names(missing)} are missing, but "
                    f"{self.first[missing[0]].name} has them. Write all files with the same "
                    "columns."
                )
        for name in (columns.qid, columns.doc_id):
            if name is None:
                continue
            with_numbers = {kinds[name] is None: path for path, kinds in reversed(self.files)}
            if len(with_numbers) == 2:
                raise ValueError(
                    f"{with_numbers[False]}: the ids in column {name!r} are text, but numbers in "
                    f"{with_numbers[True].name}. Write all files with ids of one type."
                )


def _joint_kind(known: str | None, kind: str | None, path: Path) -> str | None:
    """Kind of a column that is ``known`` from earlier files and has a ``kind`` in ``path``."""
    if kind in (known, NO_VALUES) or (known is not None and known.startswith(MOSTLY_NUMBERS)):
        return known
    if known is None:
        return f"{MOSTLY_NUMBERS} {kind} in {path.name}"
    if kind is None:
        return f"{known}, but numbers in {path.name}"
    return known if known in TIMES else kind


SIZES = (".query", ".group")
WEIGHT = ".weight"
SIZES_FIX = (
    "Files of group sizes go with rows without names of columns: SVMlight text (label index:value "
    "…), or numbers with the label first. Leave out the first line, or add a column of queries."
)


def stem(path: Path) -> Path:
    """Path without a suffix for compression."""
    return path.with_suffix("") if path.suffix in COMPRESSIONS else path


def side_file(path: Path, suffixes: tuple[str, ...]) -> Path | None:
    """First existing side file of ``path`` with one of the suffixes, compressed or not."""
    return next(iter(side_files(path, suffixes)), None)


def number_separator(first_line: bytes) -> str | None:
    """Separator of LightGBM's tables without a header: a tab or a comma between numbers, or None.

    All but the first number, which is the label, may be missing.
    """
    line = first_line.strip(b" \r\n")
    for separator in (b"\t", b","):
        words = line.split(separator)
        rest = all(NUMBER.fullmatch(word) or word in (b"", b"NA", b"null") for word in words)
        if len(words) > 1 and words[0] and rest:
            return separator.decode()
    return None


def names_columns(first_line: bytes) -> bool:
    """Whether a line begins with a word, as no row does, rather than with a label or a comment."""
    word = re.split(rb"[\s,;|]", first_line.strip(), maxsplit=1)[0].strip(b'"')
    return word[:1].isalpha() and NUMBER.fullmatch(word) is None


def warn_of_unread(paths: Sequence[Path]) -> None:
    """Warn if a table with named columns has a side file, which is then not read."""
    for path in paths:
        for file in side_files(path, (*SIZES, WEIGHT)):
            is_weight = WEIGHT in file.suffixes
            what = "weights" if is_weight else "sizes of queries"
            column = "sample_weight" if is_weight else "qid"
            warnings.warn(
                f"the {what} in {file} are not read, because the columns of "
                f"{path.name} have names. Write them into the table, as a column {column}, or "
                "delete the file.",
                UserWarning,
                stacklevel=callers_level(),
            )
            return


def check_named_columns(path: Path, first_line: bytes) -> None:
    """Raise ValueError for LightGBM's delimited text without a header, with a file of sizes."""
    sizes = side_file(path, SIZES)
    if sizes is not None and number_separator(first_line) is not None:
        raise ValueError(
            "the first line holds numbers, not names of columns, and the queries stand in "
            f"{sizes}. Read both with read_grouped({str(path)!r})."
        )


@contextmanager
def name_sizes_in_errors(path: Path) -> Iterator[None]:
    """Make an error about the columns of a table name the file of sizes beside it, if any."""
    try:
        yield
    except ValueError as error:
        if side_file(path, SIZES) is None:
            raise
        raise ValueError(f"{error} {SIZES_FIX}") from None


def side_files(path: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """All existing side files, in order of precedence."""
    names = [
        Path(f"{start}{suffix}{packed}")
        for start in dict.fromkeys((path, stem(path)))
        for suffix in suffixes
        for packed in ("", *COMPRESSIONS)
    ]
    return [name for name in names if name.is_file()]
