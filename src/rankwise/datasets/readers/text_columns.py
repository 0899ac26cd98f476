"""Text with fields separated by white space: split into columns, validated, and written."""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.exact_values import RowError, token_changes, warn_of_missing_words
from rankwise.datasets.readers.delimited import DelimitedFile
from rankwise.datasets.readers.quotes import check_not_enclosed, unquote
from rankwise.datasets.readers.textfiles import TextFile, find_inner_mark
from rankwise.runtime.arrow import pa, pc
from rankwise.runtime.frames import text_array
from rankwise.typing import Float64Array, Int64Array

# Its functions are created on import, so type checkers do not see them.


@dataclass(frozen=True)
class TextColumns:
    """Fields of all rows, and the line at which each row ends."""

    path: Path
    columns: Sequence[Sequence[bytes]]
    line_of: Callable[[int], int]

    def texts(self, field: int) -> NDArray[Any]:
        """Column of ids as strings (UTF-8); none may be empty."""
        tokens = self.columns[field]
        if b"" in tokens:
            self._fail(field, _filled, "is not an id. Ids must not be missing")
        try:
            texts = [token.decode() for token in tokens]
        except UnicodeDecodeError:
            self._fail(field, bytes.decode, "is not UTF-8 text")
        warn_of_missing_words(texts, str(self.path))
        return text_array(texts)

    def integers(self, field: int) -> Int64Array:
        """Column of a field as int64; whole numbers may have a point, as in 2.0."""
        try:
            return np.array(list(map(_integer, self.columns[field])), dtype=np.int64)
        except (ValueError, OverflowError):
            rule = "is not a whole number of 64 bits"
            self._fail(field, lambda token: np.int64(_integer(token)), rule)

    def grades(self, field: int, rule: str) -> Int64Array | Float64Array:
        """Column of grades, int64 unless one has a fraction; ``rule`` ends messages."""
        try:
            return self.integers(field)
        except ValueError:
            try:
                return np.array(list(map(_grade, self.columns[field])), dtype=np.float64)
            except (ValueError, OverflowError):
                self._fail(field, _grade, rule)

    def reals(self, field: int) -> Float64Array:
        """Column of a field as finite float64; whole numbers must keep their value."""
        tokens = self.columns[field]
        try:
            values = np.array(list(map(_real, tokens)), dtype=np.float64)
        except ValueError:
            self._fail(field, _real, "is not a finite number")
        if any(len(token) > 15 and token_changes(token) for token in tokens):
            self._fail(
                field, _exact, "is a whole number that float64 changes. Subtract a common offset"
            )
        return values

    def where(self, row: int) -> str:
        """File and line of row ``row`` (counted from 0, without blank lines)."""
        return f"{self.path}, line {self.line_of(row)}"

    def _fail(self, field: int, convert: Callable[[bytes], Any], rule: str) -> NoReturn:
        for row, token in enumerate(self.columns[field]):
            try:
                convert(token)
            except (ValueError, OverflowError):
                raise ValueError(f"{self.where(row)}: {_shown(token)} {rule}.") from None
        raise AssertionError("unreachable: every token converts")


def read_columns(
    file: TextFile,
    fields: Sequence[str],
    separator: str | None = None,
    *,
    header: bool = False,
    skip_blank: bool = True,
) -> TextColumns:
    """Read one column per field.

    The separator is a tab or, if None, any amount of ASCII white space. LF and CRLF end lines.
    ``header`` skips the first line; blank lines are skipped, or else errors. A line with another
    number of fields or a NUL character raises ValueError; the message names file, line number and
    reason.
    """
    path, text = file.path, file.read(file.start, file.stop)
    file.check_unchanged()
    if b"\0" in text:
        number = text.count(b"\n", 0, text.index(b"\0")) + 1
        raise ValueError(f"{path}, line {number}: a NUL character. Is the file damaged?")
    if reason := find_inner_mark(text):
        raise ValueError(f"{path}, {reason}")
    line_of: Callable[[int], int]
    if separator is None:
        # Line by line: a list of blank lines would take many times their text.
        rows = [row for row in map(bytes.split, io.BytesIO(text)) if row or not skip_blank]
        line_of = _LineNumbers(text) if skip_blank else _next
    else:
        lines = (line.removesuffix(b"\n").removesuffix(b"\r") for line in io.BytesIO(text))
        rows = [line.split(b"\t") for line in lines if line.strip()]
        if b'"' in text:
            rows = [[unquote(field) for field in row] for row in rows]
        line_of = _LineNumbers(text)
    first = int(header)
    for row, tokens in enumerate(rows):
        is_comment = separator is None and tokens[:1] == [b"#"]  # with as many words as a row
        if len(tokens) != len(fields) or is_comment:
            raise ValueError(
                f"{path}, line {line_of(row)}: expected {len(fields)} fields "
                f"({' '.join(fields)}), got {len(tokens)}: {_shown(b' '.join(tokens))}."
                f"{_hint(tokens)}"
            )
    rows = rows[first:]
    columns = list(zip(*rows, strict=True)) if rows else [() for _ in fields]
    if separator == "\t":
        for name, column in zip(fields, columns, strict=True):
            check_not_enclosed(path, name, column)
    return TextColumns(path, columns, lambda row: line_of(row + first))


def _hint(tokens: Sequence[bytes]) -> str:
    """What to do about a line of another width, if it is a comment or separated by commas."""
    if tokens and tokens[0].startswith(b"#"):
        return " There are no comments in this format: remove the line."
    if len(tokens) == 1 and tokens[0].count(b",") + tokens[0].count(b";") > 1:
        return " If it is a table, name its columns in a first line: query-id,corpus-id,score."
    return ""


def _next(row: int) -> int:
    return row + 1


class _LineNumbers:
    """Number of the line of each row of a text whose blank lines are skipped."""

    def __init__(self, text: bytes) -> None:
        self._text = text

    def __call__(self, row: int) -> int:
        lines = enumerate(io.BytesIO(self._text), start=1)
        filled = (number for number, line in lines if line.strip())
        return next(itertools.islice(filled, row, None))


def read_cells(file: DelimitedFile) -> TextColumns:
    """Read all columns of a table with a header line.

    A row with another number of fields, or damaged text, raises ValueError; the message names file,
    line and reason.
    """
    with file.name_in_errors():
        names = file.names
    with file.name_in_errors(names):
        columns = _Columns(file.cells())
    if not file.quote_char:
        for name, column in zip(names, columns, strict=True):
            check_not_enclosed(file.path, name, column)
    return TextColumns(file.path, columns, lambda row: file.line_of(row) or 0)


class _Columns(Sequence[Sequence[bytes]]):
    """Columns of a table of Arrow as lists, made only of those that are read."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __len__(self) -> int:
        return self._table.num_columns

    def __getitem__(self, field: Any) -> Any:
        return self._table.column(field).to_pylist()


def lines_of(columns: Sequence[pa.Array | str]) -> Iterator[bytes]:
    """Yield one line per entry, with fields separated by blanks; a string fills its column."""
    lines = pc.binary_join_element_wise(*columns, " ")
    return (f"{line}\n".encode() for line in lines.to_pylist())


def id_column(name: str, values: NDArray[Any]) -> pa.Array:
    """Ids converted to text for writing; they must not be empty or contain white space."""
    ids = pa.array(values.tolist(), pa.string())
    bad = pc.match_substring_regex(ids, r"[\x00\t-\r ]|^$")
    if pc.any(bad).as_py():
        row = bad.index(True).as_py()
        raise RowError(
            f"{name} must not be empty or hold white space, got {ids[row].as_py()!r}",
            row,
            ". Replace the white space, or write a table, whose ids may hold it.",
        )
    return ids


def _filled(token: bytes) -> None:
    if not token:
        raise ValueError


def _integer(token: bytes) -> int:
    if b"_" in token:  # Python's digit separator, not accepted elsewhere
        raise ValueError
    try:
        return int(token)
    except ValueError:
        pass
    try:
        value = Decimal(token.decode("ascii"))
    except InvalidOperation:
        raise ValueError from None
    # Beyond 20 digits it is not of 64 bits, and may be too long to write out.
    if not value.is_finite() or value.adjusted() > 20 or value != value.to_integral_value():
        raise ValueError
    return int(value)


def _grade(token: bytes) -> float:
    """A whole number of 64 bits, or a fraction above 0."""
    value = _real(token)
    if value < 0 or value.is_integer():
        return float(np.int64(_integer(token)))
    return value


def _real(token: bytes) -> float:
    value = float(token)
    if b"_" in token or not math.isfinite(value):
        raise ValueError
    return value


def _exact(token: bytes) -> None:
    if token_changes(token):
        raise ValueError


def _shown(token: bytes) -> str:
    text = token.decode(errors="replace")
    return repr(text if len(text) <= 60 else text[:57] + "...")
