"""Lines of fields divided by white space as columns: split, checked line by line, written."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from rankwise.datasets._output import open_to_write
from rankwise.datasets.textfiles import open_text
from rankwise.typing import Float64Array, Int64Array

# Its functions are made when it is imported: type checkers do not see them.
pc: Any = pyarrow.compute


def read_columns(path: str | Path, fields: Sequence[str]) -> list[tuple[bytes, ...]]:
    """One tuple of tokens per field; blank lines are passed over.

    Fields are divided by ASCII white space, any number of it; LF and CRLF end lines.

    Raises
    ------
    ValueError
        Naming file, line number and reason where a line has another number of fields.
    """
    rows = [row for row in map(bytes.split, _lines(path)) if row]
    if any(len(row) != len(fields) for row in rows):
        number, tokens = next(
            (number, tokens)
            for number, tokens in _numbered(path)
            if tokens and len(tokens) != len(fields)
        )
        raise ValueError(
            f"{path}, line {number}: expected {len(fields)} fields ({' '.join(fields)}), "
            f"got {len(tokens)}: {_shown(b' '.join(tokens))}."
        )
    return list(zip(*rows, strict=True)) if rows else [() for _ in fields]


def text_column(path: str | Path, tokens: Sequence[bytes], field: int) -> np.ndarray[Any, Any]:
    """Tokens as strings (UTF-8)."""
    try:
        return np.array([token.decode() for token in tokens], dtype=np.str_)
    except UnicodeDecodeError:
        _fail(path, field, bytes.decode, "is not UTF-8 text")


def integer_column(path: str | Path, tokens: Sequence[bytes], field: int) -> Int64Array:
    """Tokens as int64."""
    try:
        return np.array(list(map(_integer, tokens)), dtype=np.int64)
    except (ValueError, OverflowError):
        _fail(path, field, lambda token: np.int64(_integer(token)), "is not a whole number")


def real_column(path: str | Path, tokens: Sequence[bytes], field: int) -> Float64Array:
    """Tokens as finite float64."""
    try:
        return np.array(list(map(_real, tokens)), dtype=np.float64)
    except ValueError:
        _fail(path, field, _real, "is not a finite number")


def write_columns(path: str | Path, columns: Sequence[pa.Array | str]) -> None:
    """Write one line per entry, fields divided by a blank; a string fills its whole column."""
    lines = pc.binary_join_element_wise(*columns, " ")
    with open_to_write(path) as stream:
        for line in lines.to_pylist():
            stream.write(f"{line}\n".encode())


def id_column(name: str, values: NDArray[Any]) -> pa.Array:
    """Ids as they can be written.

    Raises
    ------
    ValueError
        When one is empty or holds white space.
    """
    ids = pa.array(values.tolist(), pa.string())
    bad = pc.match_substring_regex(ids, r"\s|^$")
    if pc.any(bad).as_py():
        row = bad.index(True).as_py()
        raise ValueError(
            f"{name} must not be empty or hold white space, got {ids[row].as_py()!r} at row {row}."
        )
    return ids


def _lines(path: str | Path) -> list[bytes]:
    file = open_text(Path(path))
    return file.read(file.start, file.stop).split(b"\n")


def _numbered(path: str | Path) -> list[tuple[int, list[bytes]]]:
    return [(number, line.split()) for number, line in enumerate(_lines(path), start=1)]


def line_of(path: str | Path, row: int) -> int:
    """Line number in the file of row ``row`` (from 0; blank lines are no rows)."""
    filled = (number for number, tokens in _numbered(path) if tokens)
    return next(number for at, number in enumerate(filled) if at == row)


def _fail(path: str | Path, field: int, convert: Callable[[bytes], Any], rule: str) -> NoReturn:
    for number, tokens in _numbered(path):
        if tokens:
            try:
                convert(tokens[field])
            except (ValueError, OverflowError):
                raise ValueError(
                    f"{path}, line {number}: {_shown(tokens[field])} {rule}."
                ) from None
    raise AssertionError("unreachable: every token converts")


def _integer(token: bytes) -> int:
    if b"_" in token:  # Python's digit separator, no number elsewhere
        raise ValueError
    return int(token)


def _real(token: bytes) -> float:
    value = float(token)
    if b"_" in token or not math.isfinite(value):
        raise ValueError
    return value


def _shown(token: bytes) -> str:
    return repr(token.decode(errors="replace"))
