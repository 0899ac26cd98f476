"""Quotation marks in delimited text: when they enclose a field, and when they are text.

Most programs that write text separated by tabs quote nothing, so a mark at the start of a field
must not swallow the lines up to the next one. Two kinds of programs quote nevertheless: those that
quote all text also quote the names in the first line, and pandas quotes a field that holds marks,
doubled.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.datasets.readers.textfiles import PathLike, TextFile
from rankwise.runtime.arrow import pa, pa_csv

# A field that pandas quoted because it holds marks, or because it is empty.
ENCLOSED = r'^"(([^"]*"")+[^"]*)?"$'
_ENCLOSED_BYTES = re.compile(ENCLOSED.encode())
_QUOTED = re.compile(rb'"[^"]*"')
_BLANK_LINES = re.compile(rb"\A(?:[^\S\n]*\n)+")
_NUMBER = re.compile(rb"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
_BLOCK_BYTES = 1 << 20
# Lines that tell which columns hold numbers.
_MOST_LINES = 1000
_FIX = (
    "If the marks are text, write them twice in a field in quotation marks, or write the table as "
    "TSV or Parquet"
)


def names_are_quoted(line: bytes) -> bool:
    """Whether a header line separated by tabs quotes every name."""
    names = line.rstrip(b"\r\n").split(b"\t")
    return all(len(name) > 1 and name[:1] == name[-1:] == b'"' for name in names)


def first_record(head: bytes) -> bytes:
    """First line that is not blank, with those over which a field in quotation marks goes on."""
    lines, marks = _BLANK_LINES.sub(b"", head).split(b"\n"), 0
    for k, line in enumerate(lines, start=1):
        marks += line.count(b'"')
        if marks % 2 == 0:
            return b"\n".join(lines[:k])
    return lines[0]


def count_outside(record: bytes, sign: str) -> int:
    """How often a separator occurs outside quotation marks."""
    return _QUOTED.sub(b"", record).count(sign.encode())


def name_has_lines(head: bytes) -> bool:
    """Whether a name in the header of text separated by tabs has several lines.

    Spreadsheets enclose such a name in marks, and no other. A lone mark differs from it by the
    lines: those of the header are not all whole rows, and together they are as wide as the next.
    """
    names = first_record(head)
    n, following = count_outside(names, "\t"), first_record(head.partition(names)[2])
    is_wide = not following or count_outside(following, "\t") == n
    return is_wide and any(line.count(b"\t") != n for line in names.splitlines())


def unquote(field: bytes) -> bytes:
    """Text of a field, without the marks that pandas puts around fields with marks."""
    if _ENCLOSED_BYTES.fullmatch(field):
        return field[1:-1].replace(b'""', b'"')
    return field


def split_names(record: bytes, delimiter: str, quote_char: Any = '"') -> list[str]:
    """Names of columns in the first record of a table; any record of text is one."""
    return pa_csv.read_csv(
        pa.BufferReader(record.rstrip(b"\n") + b"\n"),  # without an end, Arrow sees no columns
        pa_csv.ReadOptions(use_threads=False, block_size=max(len(record) + 1, 1 << 10)),
        pa_csv.ParseOptions(
            delimiter=delimiter, quote_char=quote_char, newlines_in_values=True,
            invalid_row_handler=lambda _: "skip",  # after a carriage return
        ),
    ).column_names  # fmt: skip


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


@dataclass(frozen=True)
class LongRecord:
    """Record whose quoted fields have line ends: bytes ``start`` to ``stop`` of the file.

    ``delimiters`` is the number of delimiters in each of its lines, None if these differ.
    """

    start: int
    stop: int
    delimiters: int | None


@dataclass(frozen=True)
class Records:
    """Records of delimited text that are not single lines, and a limit on the bytes of any."""

    long: list[LongRecord]
    most_bytes: int


def find_records(file: TextFile, delimiter: str, is_quoted: bool) -> Records:
    """Find the records of several lines, by the rules of pyarrow's parser, in one pass.

    ValueError, which names the line, is raised if a quoted field has no end, or text follows its
    end.
    """
    pattern, sign = _quoted_field(delimiter), delimiter.encode()
    found: list[LongRecord] = []
    start, size, most, rest = file.start, _BLOCK_BYTES, 0, b""
    while start + len(rest) < file.stop:
        data = rest + file.read(start + len(rest), start + len(rest) + size)
        is_last = start + len(data) >= file.stop
        most = max(most, len(data))
        cut = len(data) if is_last else data.rfind(b"\n") + 1
        if is_quoted and data.find(b'"', 0, cut) >= 0 and _has_long(data[:cut], sign):
            cut = _find_long(file, start, data[:cut], is_last, pattern, sign, found)
        start, rest = start + cut, data[cut:]
        size = max(_BLOCK_BYTES, len(rest))  # doubled where a record has no end yet
    return Records(found, most)


def _quoted_field(delimiter: str) -> re.Pattern[bytes]:
    """Pattern of the text up to a quoted field that is not a closed one within a line."""
    sign = re.escape(delimiter.encode())
    opening = rb'(?<![^%b\r\n])"' % sign
    within_line = opening + rb'(?:[^"\r\n]++|"")*+"(?= *(?:[%b\r\n]|\Z))' % sign
    literal = rb'(?<=[^%b\r\n])"' % sign
    return re.compile(
        rb'(?:[^"]++|%b|%b)*+(?P<field>%b(?:[^"]++|"")*+(?P<end>"?))(?P<closed> *(?:[%b\r\n]|\Z))?'
        % (literal, within_line, opening, sign)
    )


def _find_long(
    file: TextFile, start: int, data: bytes, is_last: bool, pattern: re.Pattern[bytes],
    sign: bytes, found: list[LongRecord],
) -> int:  # fmt: skip
    """Add the long records of ``data``, which starts at ``start``; return the bytes looked at."""
    at, first, last = 0, 0, -1  # a record may have several fields of several lines

    def add_record() -> None:
        if last > first:
            n = _delimiters_of_lines(data[first:last], sign)
            found.append(LongRecord(start + first, start + last, n))

    while match := pattern.match(data, at):
        opened, at = match.span("field")
        if opened > last:
            add_record()
            first, last = data.rfind(b"\n", 0, opened) + 1, -1
        if not match["end"] and not is_last:
            return first
        if not match["end"] or match["closed"] is None:
            raise _describe_fault(file, start + opened, start + at - 1, bool(match["end"]))
        last = data.find(b"\n", at)
        last = len(data) if last < 0 else last
    add_record()
    return len(data)


def _delimiters_of_lines(data: bytes, sign: bytes) -> int | None:
    """Number of delimiters in each of several lines; None if these differ."""
    n, rest = divmod(data.count(sign), data.count(b"\n") + 1)
    if rest or b"\n" not in data or any(line.count(sign) != n for line in data.split(b"\n")):
        return None
    return n


def _has_long(data: bytes, sign: bytes) -> bool:
    """Whether quoted fields of ``data`` may have line ends or faults."""
    values = np.frombuffer(data, dtype=np.uint8)
    marks = np.flatnonzero(values == ord('"'))
    around = np.isin(np.arange(256), [*sign, *b'\r\n"'])
    if len(marks) % 2 or not around[values[np.maximum(marks[::2] - 1, 0)]].all():
        return True
    if not around[values[np.minimum(marks[1::2] + 1, len(values) - 1)]].all():
        return True
    ends = np.flatnonzero((values == ord("\n")) | (values == ord("\r")))
    return bool((np.searchsorted(marks, ends) % 2).any())


def _describe_fault(file: TextFile, opened: int, closed: int, has_end: bool) -> ValueError:
    """The error of a quoted field without an end, or with text after it."""
    what = f"line {_line(file, opened)}: a quotation mark opens a field, "
    if has_end:
        after = file.read(closed, closed + 20).split(b"\n")[0].decode(errors="replace")
        what += f"and text follows the mark that closes it in line {_line(file, closed)}: {after!r}"
    else:
        what += "and no mark closes it"
    return ValueError(f"{what}. {_FIX}")


def _line(file: TextFile, position: int) -> int:
    return file.read(file.start, position).count(b"\n") + 1


def check_lines(file: TextFile, records: Records, delimiter: str, n_columns: int) -> None:
    """Raise if a record of several lines could as well be whole rows with lone marks.

    Such lines have as many delimiters as a row, and numbers where other rows have numbers. In a
    table without numbers, no other line may have quoted delimiters.
    """
    suspects = [record for record in records.long if record.delimiters == n_columns - 1]
    if not suspects:
        return
    sign, parts, at = delimiter.encode(), [], file.start
    for record in records.long[:_MOST_LINES]:
        parts.append(file.read(at, min(record.start, at + _BLOCK_BYTES)))
        at = record.stop + 1
    parts.append(file.read(at, at + _BLOCK_BYTES))
    lines = [line for line in b"".join(parts).split(b"\n")[1:] if line.strip()]
    others = [[_bare(cell) for cell in line.split(sign)] for line in lines[:_MOST_LINES]]
    rows = [cells for cells in others if len(cells) == n_columns]
    numbers = [j for j, cells in enumerate(zip(*rows, strict=True)) if _are_numbers(cells)]
    if not numbers and len(rows) < len(others):
        return
    for record in suspects:
        lines = file.read(record.start, record.stop).split(b"\n")
        cells = [[_bare(cell) for cell in line.split(sign)] for line in lines]
        if all(_are_numbers([row[j] for row in cells], may_be_empty=True) for j in numbers):
            line = _line(file, record.start)
            raise ValueError(
                f"line {line}: a quotation mark opens a field that ends in line "
                f"{line + len(lines) - 1}, but each of these lines has all columns. {_FIX}"
            )


def _bare(cell: bytes) -> bytes:
    return cell.strip(b'"\r ')


def _are_numbers(cells: Sequence[bytes], may_be_empty: bool = False) -> bool:
    filled = [cell for cell in cells if cell]
    return (may_be_empty or bool(filled)) and all(map(_NUMBER.fullmatch, filled))
