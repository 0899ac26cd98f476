"""Text with fields separated by white space: split into columns, validated, and written."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from rankwise.datasets.readers.letor_text import text_array
from rankwise.datasets.readers.textfiles import read_text
from rankwise.datasets.writers.output import open_to_write
from rankwise.typing import Float64Array, Int64Array

# Its functions are created on import, so type checkers do not see them.
pc: Any = pyarrow.compute


@dataclass(frozen=True)
class TextColumns:
    """Fields of all non-blank lines; the text is kept to locate bad fields."""

    path: Path
    text: bytes
    columns: list[tuple[bytes, ...]]

    def texts(self, field: int) -> NDArray[Any]:
        """Column of a field as strings (UTF-8)."""
        try:
            return text_array([token.decode() for token in self.columns[field]])
        except UnicodeDecodeError:
            self._fail(field, bytes.decode, "is not UTF-8 text")

    def integers(self, field: int) -> Int64Array:
        """Column of a field as int64."""
        try:
            return np.array(list(map(_integer, self.columns[field])), dtype=np.int64)
        except (ValueError, OverflowError):
            self._fail(field, lambda token: np.int64(_integer(token)), "is not a whole number")

    def reals(self, field: int) -> Float64Array:
        """Column of a field as finite float64."""
        try:
            return np.array(list(map(_real, self.columns[field])), dtype=np.float64)
        except ValueError:
            self._fail(field, _real, "is not a finite number")

    def where(self, row: int) -> str:
        """File and line of row ``row`` (counted from 0, without blank lines)."""
        filled = (number for number, tokens in _numbered(self.text) if tokens)
        return f"{self.path}, line {next(itertools.islice(filled, row, None))}"

    def _fail(self, field: int, convert: Callable[[bytes], Any], rule: str) -> NoReturn:
        for row, token in enumerate(self.columns[field]):
            try:
                convert(token)
            except (ValueError, OverflowError):
                raise ValueError(f"{self.where(row)}: {_shown(token)} {rule}.") from None
        raise AssertionError("unreachable: every token converts")


def read_columns(
    path: str | Path, fields: Sequence[str], max_decompressed_bytes: int
) -> TextColumns:
    """Read one column per field; blank lines are skipped.

    Fields are separated by any amount of ASCII white space; LF and CRLF end lines.

    Raises
    ------
    ValueError
        If a line has another number of fields or contains a NUL character; the message names file,
        line number and reason.
    """
    path = Path(path)
    text = read_text(path, max_decompressed_bytes)
    if b"\0" in text:
        number = text.count(b"\n", 0, text.index(b"\0")) + 1
        raise ValueError(f"{path}, line {number}: a NUL character. Is the file damaged?")
    rows = [row for row in map(bytes.split, text.split(b"\n")) if row]
    if any(len(row) != len(fields) for row in rows):
        number, tokens = next(
            (number, tokens)
            for number, tokens in _numbered(text)
            if tokens and len(tokens) != len(fields)
        )
        raise ValueError(
            f"{path}, line {number}: expected {len(fields)} fields ({' '.join(fields)}), "
            f"got {len(tokens)}: {_shown(b' '.join(tokens))}."
        )
    return TextColumns(path, text, list(zip(*rows, strict=True)) if rows else [() for _ in fields])


def write_columns(path: str | Path, columns: Sequence[pa.Array | str]) -> None:
    """Write one line per entry with fields separated by blanks; a string fills its column."""
    with open_to_write(path) as stream:
        for line in lines_of(columns):
            stream.write(line)


def lines_of(columns: Sequence[pa.Array | str]) -> Iterator[bytes]:
    """Yield the lines of :func:`write_columns`."""
    lines = pc.binary_join_element_wise(*columns, " ")
    return (f"{line}\n".encode() for line in lines.to_pylist())


def id_column(name: str, values: NDArray[Any]) -> pa.Array:
    """Ids converted to text and validated for writing.

    Raises
    ------
    ValueError
        If an id is empty or contains white space.
    """
    ids = pa.array(values.tolist(), pa.string())
    bad = pc.match_substring_regex(ids, r"\s|^$")
    if pc.any(bad).as_py():
        row = bad.index(True).as_py()
        raise ValueError(
            f"{name} must not be empty or hold white space, got {ids[row].as_py()!r} at row {row}."
        )
    return ids


def _numbered(text: bytes) -> list[tuple[int, list[bytes]]]:
    return [(number, line.split()) for number, line in enumerate(text.split(b"\n"), start=1)]


def _integer(token: bytes) -> int:
    if b"_" in token:  # Python's digit separator, not accepted elsewhere
        raise ValueError
    return int(token)


def _real(token: bytes) -> float:
    value = float(token)
    if b"_" in token or not math.isfinite(value):
        raise ValueError
    return value


def _shown(token: bytes) -> str:
    text = token.decode(errors="replace")
    return repr(text if len(text) <= 60 else text[:57] + "...")
