"""Tables as columns of cells: read from files and frames, and cells as ids and numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.checks.frames import check_unique, wrap_frame
from rankwise.checks.ids import id_texts, warn_of_missing_words
from rankwise.datasets.readers.delimited import DelimitedFile
from rankwise.datasets.readers.file_formats import is_json
from rankwise.datasets.readers.tables import PARQUET, read_parquet
from rankwise.datasets.readers.text_columns import read_cells
from rankwise.datasets.readers.textfiles import check_line_ends, open_text
from rankwise.runtime.column_values import convert_to_values, is_missing
from rankwise.runtime.vocabulary import setting
from rankwise.typing import Float64Array

_SEPARATORS = ("\t", ",", ";", "|")
_FLAGS = {"true": 1.0, "false": 0.0}
_WITH_POINT = re.compile(r"[+-]?\d*\.\d+(e[+-]?\d+)?", re.IGNORECASE)
_WITH_COMMA = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?", re.IGNORECASE)
_MAY_BE_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "-", "\u2013"})


@dataclass(frozen=True)
class CellTable:
    """Columns by name, as they were written."""

    columns: dict[str, list[Any]]
    where: Callable[[int], str] = field(default="row {}".format)  # names a row in messages
    decimal: str = "."  # decimal mark of numbers that are text: "." or ","

    def ids(self, name: str) -> list[str]:
        ids = id_texts(self.columns[name], f"column {name!r}", self.where)
        warn_of_missing_words(ids, f"column {name!r}")
        return ids

    def is_text(self, name: str) -> bool:
        """Whether the first cell with a value is not a number."""
        for cell in self.columns[name]:
            if not _is_empty(cell):
                return self._number(cell) is None and not _has_comma(cell)
        return False

    def numbers(self, name: str) -> Float64Array:
        """Numbers of a column, NaN for empty cells; infinities and texts are errors."""
        found = np.empty(len(self.columns[name]))
        for row, cell in enumerate(self.columns[name]):
            value = math.nan if _is_empty(cell) else self._number(cell)
            if value is None or math.isinf(value):
                raise ValueError(
                    f"{self.where(row)}: {str(cell)!r} in column {name!r} is not a finite number "
                    f"(such as 0{self.decimal}5, without marks for thousands or percent)."
                    f"{self._describe_commas(cell)} Leave cells without a value empty, or leave "
                    f"out columns that hold no scores with {setting('ignore', [name])}."
                )
            found[row] = value
        return found

    def counts_rows(self, name: str) -> bool:
        """Whether a column holds 0, 1, 2, … or 1, 2, 3, …"""
        numbers = [self._number(cell) for cell in self.columns[name]]
        return len(numbers) > 1 and numbers in (
            [float(row) for row in range(len(numbers))],
            [float(row + 1) for row in range(len(numbers))],
        )

    def _number(self, cell: Any) -> float | None:
        """Number in a cell; None if it holds something else."""
        if isinstance(cell, str):
            text = cell.strip().lower()
            if text in _FLAGS:
                return _FLAGS[text]
            if "_" in text or not text.isascii() or (self.decimal == "," and "." in text):
                return None
            cell = text.replace(self.decimal, ".")
        try:
            return float(cell)
        except (TypeError, ValueError):
            return None

    def _describe_commas(self, cell: Any) -> str:
        if self.decimal == "." and _has_comma(cell):
            return f" If commas are decimal marks, pass {setting('decimal', ',')}."
        return ""


def is_index_of_names(index: Any) -> bool:
    """Whether an index of pandas says more than the place of a row."""
    dtype = getattr(index, "dtype", None)
    names = getattr(index, "names", None)
    if dtype is None or names is None:
        return False
    return any(name is not None for name in names) or dtype.kind not in "iu"


def add_index(frame: Any) -> Any:
    """A frame of pandas with its index as columns, if that names rows."""
    if hasattr(frame, "reset_index") and is_index_of_names(getattr(frame, "index", None)):
        return frame.reset_index()
    return frame


def _has_comma(cell: Any) -> bool:
    """Whether a cell is text that may be a number with a decimal comma."""
    return isinstance(cell, str) and _WITH_COMMA.fullmatch(cell.strip()) is not None


def _is_empty(cell: Any) -> bool:
    if isinstance(cell, str):
        return cell.strip().lower() in _MISSING
    return is_missing(cell)


def read_frame_cells(frame: Any, decimal: str | None = None) -> CellTable:
    """Cells of a frame of narwhals."""
    check_unique(frame.columns)
    return CellTable(
        {name: convert_to_values(frame[name].to_native()).tolist() for name in frame.columns},
        decimal=decimal or ".",
    )


def read_file_cells(path: Path, sep: str | None, decimal: str | None = None) -> CellTable:
    """Cells of a text file with a header line, or of a Parquet file.

    ``sep`` is by default the most frequent separator in the first line. ``decimal`` is by default
    the comma if columns are separated by semicolons, and numbers have commas that can be nothing
    else; otherwise the point.
    """
    file = open_text(path)
    head = file.read(file.start, file.start + (1 << 16))
    if head.startswith(b"PAR1") or path.suffix in PARQUET:
        return read_frame_cells(wrap_frame(read_parquet(path)), decimal)
    check_line_ends(path, head)
    if is_json(head):
        raise ValueError(
            f"{path} holds JSON, not a table. Pass the mapping that json.load returns to "
            "rankwise.leaderboard, or write CSV."
        )
    first = next((line for line in head.split(b"\n") if line.strip()), b"").rstrip(b"\r")
    try:
        header = first.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path}, line 1: the names of columns are not UTF-8 text.") from None
    sep = sep or max(_SEPARATORS, key=header.count)
    table = DelimitedFile(path, sep, file)
    with table.name_in_errors():
        names = table.names
    if len(names) < 2:
        raise ValueError(
            f"{path} must be a table with a header line and several columns, separated by a tab, "
            "comma, semicolon or bar, or a Parquet file."
        )
    check_unique(names)
    read = read_cells(table)
    columns = {}
    for name, cells in zip(names, read.columns, strict=True):
        try:
            columns[name] = [cell.decode() for cell in cells]
        except UnicodeDecodeError as error:
            raise ValueError(f"{path}: column {name!r} is not UTF-8 text: {error}.") from None
    if decimal is None:
        decimal = "," if sep == ";" and _has_decimal_commas(columns) else "."
    return CellTable(columns, read.where, decimal)


def _has_decimal_commas(columns: dict[str, list[str]]) -> bool:
    """Whether numbers have commas that mark no thousands, and none has a point."""
    cells = {cell.strip() for column in columns.values() for cell in column}
    if any(_WITH_POINT.fullmatch(cell) for cell in cells):
        return False
    found = [cell for cell in cells if _WITH_COMMA.fullmatch(cell)]
    return any(not _MAY_BE_THOUSANDS.fullmatch(cell) for cell in found)
