"""Error messages for malformed lines of SVMlight/LETOR text, with their positions."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from rankwise.datasets.readers.textfiles import TextFile
from rankwise.kernels.svmlight import DUPLICATE, LARGEST_INDEX, TOO_WIDE

# Numbers of ``float`` without underscores and non-ASCII digits. Possessive: time is linear.
NUMBER = re.compile(
    rb"[+-]?(?:(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:e[+-]?[0-9]++)?|inf(?:inity)?|nan)", re.IGNORECASE
)
INFINITE = re.compile(rb"[+-]?inf(?:inity)?", re.IGNORECASE)
_TOKEN = re.compile(rb"[^\s#]*")


def bad_number(token: bytes, *, is_label: bool) -> str:
    """Reason why a label or a value cannot be read."""
    if is_label:
        return f"the label must be a number, got {_show(token)}"
    if not token:
        return "a number must follow the colon, without a space"
    return f"the value must be a number, got {_show(token)}"


def too_large(token: bytes, dtype: Any) -> str:
    """Message for a decimal number that exceeds ``dtype``."""
    fits_float64 = math.isfinite(float(token))
    fix = "read with dtype=np.float64" if fits_float64 else "write inf if infinity is meant"
    return f"{_show(token)} is too large for {dtype}; {fix}"


def bad_token(line: bytes, status: int, n_features: int | None) -> str:
    """Reason why parsing stopped at the beginning of ``line``."""
    found = _TOKEN.match(line)
    token = found.group() if found else b""
    index = token.partition(b":")[0]
    shown = index.lstrip(b"0").decode("utf-8", "replace") or "0"
    if token.startswith(b"qid:"):
        return (
            "a query id must follow qid:"
            if token == b"qid:"
            else (f"qid must come once, right after the label, got {_show(token)}")
        )
    if token.startswith(b"cost:"):
        return f"cost: must come once, with a finite number >= 0, got {_show(token)}"
    if token.startswith(b"sid:"):
        return f"{_show(token)} sets the slack of a row in SVMlight, which is not read; remove it"
    if b":" not in token or not index.isdigit():
        return f"expected index:value with a whole index >= 0, got {_show(token)}"
    if status == DUPLICATE:
        return f"index {_cut(shown)} occurs twice in this row"
    if status == TOO_WIDE and shown == "0":
        return "index 0 in a file whose indices start at 1 (zero_based=False)"
    if status == TOO_WIDE:
        return f"index {_cut(shown)} is too large for n_features={n_features}"
    return f"index {_cut(shown)} is larger than {LARGEST_INDEX}"


def raise_at(file: TextFile, position: int, reason: str) -> NoReturn:
    """Raise ValueError with file, line, column (both from 1, in bytes) and reason."""
    line, line_start, at, step = 1, file.start, file.start, 1 << 20
    while at < position:
        part = file.read(at, min(at + step, position))
        if b"\n" in part:
            line += part.count(b"\n")
            line_start = at + part.rfind(b"\n") + 1
        at += len(part)
    rest = file.read(position, position + step)
    hint = ""
    if b"\n" not in rest and position + len(rest) >= file.stop:
        hint = " The file ends in this line without a newline: is it cut off?"
    raise ValueError(
        f"{file.path}, line {line}, column {position - line_start + 1}: {reason}.{hint}"
    )


def find_line(file: TextFile, row: int) -> tuple[int | None, int]:
    """Number of the line of a row, None beyond the last one; and the number of rows up to it."""
    n_rows = 0
    for number, _, _ in iterate_rows(file, file.start, file.stop):
        if n_rows == row:
            return number, n_rows
        n_rows += 1
    return None, n_rows


def iterate_rows(file: TextFile, start: int, stop: int) -> Iterator[tuple[int, int, bytes]]:
    """Number, first byte and text of each line of a part that is a row; lines count from 1."""
    byte = start
    for number, line in enumerate(file.read(start, stop).split(b"\n"), start=1):
        if line.partition(b"#")[0].strip():
            yield number, byte, line
        byte += len(line) + 1


def _show(token: bytes) -> str:
    return repr(_cut(token.decode("utf-8", "backslashreplace")))


def _cut(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
