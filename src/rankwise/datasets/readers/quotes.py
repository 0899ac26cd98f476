"""Quotation marks in delimited text: when they enclose a field, and when they are text.

Most programs that write text separated by tabs quote nothing, so a mark at the start of a field
must not swallow the lines up to the next one. Two kinds of programs quote nevertheless: those that
quote all text also quote the names in the first line, and pandas quotes a field that holds marks,
doubled.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from rankwise.datasets.readers.textfiles import PathLike

# A field that pandas quoted because it holds marks, or because it is empty.
ENCLOSED = r'^"(([^"]*"")+[^"]*)?"$'
_ENCLOSED_BYTES = re.compile(ENCLOSED.encode())


def names_are_quoted(line: bytes) -> bool:
    """Whether a header line separated by tabs quotes every name."""
    names = line.rstrip(b"\r\n").split(b"\t")
    return all(len(name) > 1 and name[:1] == name[-1:] == b'"' for name in names)


def unquote(field: bytes) -> bytes:
    """Text of a field, without the marks that pandas puts around fields with marks."""
    if _ENCLOSED_BYTES.fullmatch(field):
        return field[1:-1].replace(b'""', b'"')
    return field


def check_not_enclosed(path: PathLike, name: str, fields: Sequence[bytes]) -> None:
    """Raise if quotation marks enclose all fields of a column whose name has none.

    The marks would become part of ids, which then equal those of no other file.
    """
    if fields and all(len(field) > 1 and field[:1] == field[-1:] == b'"' for field in fields):
        raise ValueError(
            f"{path}: quotation marks enclose all values of column {name!r}, such as "
            f"{fields[0].decode(errors='replace')[:60]}, but not the names in the first line. "
            "Remove the marks, or enclose the names as well."
        )


def check_marks(text: bytes, delimiter: str, n_columns: int) -> None:
    """Raise if a quoted field of several lines could as well be whole lines with lone marks.

    Both readings fit if every one of these lines has all columns. The check ends where a mark opens
    no field, because all later ones count from it.
    """
    if b'"' not in text:
        return
    values = np.frombuffer(text, dtype=np.uint8)
    marks = np.flatnonzero(values == ord('"'))
    ends = np.flatnonzero(values == ord("\n"))
    before = np.searchsorted(marks, ends)
    delimiters = np.flatnonzero(values == ord(delimiter))
    starts = np.append(0, ends[:-1] + 1)
    counts = np.searchsorted(delimiters, ends) - np.searchsorted(delimiters, starts)
    opens = {ord(delimiter), ord("\n"), ord("\r"), ord('"')}
    irregular = [mark for mark in marks[::2].tolist() if mark and values[mark - 1] not in opens]
    limit = irregular[0] if irregular else len(text)
    inside = np.flatnonzero((before % 2 == 1) & (ends < limit))
    for first in inside.tolist():
        if first and before[first - 1] == before[first]:
            continue  # not the first line of the field
        last = first
        while last < len(ends) and before[last] == before[first]:
            last += 1
        if last < len(ends) and (counts[first : last + 1] == n_columns - 1).all():
            raise ValueError(
                f"line {first + 1}: a quotation mark opens a field that ends in line {last + 1}, "
                "but each of these lines has all columns. If the marks are text, write them twice "
                "in a field in quotation marks, or write the table as TSV or Parquet"
            )
