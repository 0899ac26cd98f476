"""Readers written a second time: slow, in plain Python, straight from the documentation.

Each returns the value, or raises ValueError where the documentation says that the reader refuses.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

SPACE = b"\t\n\x0b\x0c\r "
NUMBER = re.compile(rb"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity|nan)", re.IGNORECASE)
LARGEST_INDEX = 2**31 - 1


@dataclass
class LetorTwin:
    """What ``read_letor`` returns: rows as dicts of column to value."""

    y: list[float]
    rows: list[dict[int, float]]
    width: int
    qid: list[int] | list[str]
    comments: list[str] | None


def number(token: bytes, dtype: type = np.float64) -> float:
    """A decimal number that fits ``dtype``, or an infinity or NaN that is written so."""
    if not NUMBER.fullmatch(token):
        raise ValueError(token)
    with np.errstate(over="ignore"):
        value = float(dtype(float(token)))
    if math.isinf(value) and b"inf" not in token.lower():
        raise ValueError(token)
    return value


def read_letor(text: bytes) -> LetorTwin:
    """``label qid:id index:value # comment``."""
    text = _text(text)
    labels, rows, qids, comments = [], [], [], []
    for line in text.split(b"\n"):
        content, mark, comment = line.partition(b"#")
        if b"\r" in comment.rstrip(SPACE):
            raise ValueError("a carriage return in a comment")
        tokens = _split(content)
        if not tokens:
            continue
        labels.append(_score(tokens.pop(0)))
        qid = None
        if tokens and tokens[0].startswith(b"qid:"):
            qid = tokens.pop(0)[4:]
            if not qid:
                raise ValueError("qid")
        row: dict[int, float] = {}
        for token in tokens:
            index, colon, value = token.partition(b":")
            if not colon or not re.fullmatch(rb"[0-9]+", index) or len(index.lstrip(b"0")) > 10:
                raise ValueError(token)
            column = int(index.lstrip(b"0") or b"0")
            if column > LARGEST_INDEX or column in row:
                raise ValueError(token)
            row[column] = number(value, np.float32)
        rows.append(row)
        qids.append(qid)
        if b"\0" in (qid or b"") + comment:
            raise ValueError("NUL")
        comments.append(comment.strip(SPACE).decode("utf-8", "replace") if mark else None)
        names = re.findall(r"(?i)\bdocid[\t-\r ]*[=:][\t-\r ]*([^\t-\r ]+)", comments[-1] or "")
        if names and "\ufffd" in names[0]:
            comment.decode()
    if not rows or any((qid is None) != (qids[0] is None) for qid in qids):
        raise ValueError("rows")
    base = 0 if any(0 in row for row in rows) else 1
    width = max((max(row) for row in rows if row), default=base - 1) - base + 1
    return LetorTwin(
        labels,
        [{index - base: value for index, value in row.items()} for row in rows],
        width,
        _query_ids(qids),
        None
        if all(comment is None for comment in comments)
        else [comment or "" for comment in comments],
    )


def _split(content: bytes) -> list[bytes]:
    return [token for token in re.split(rb"[\t\n\x0b\x0c\r ]+", content) if token]


def _query_ids(qids: list[bytes | None]) -> list[int] | list[str]:
    if qids[0] is None:
        return [0] * len(qids)
    if all(re.fullmatch(rb"0|-?[1-9][0-9]{0,18}", qid) for qid in qids):  # as usually written
        numbers = [int(qid) for qid in qids]
        if all(-(2**63) <= value < 2**63 for value in numbers):
            return numbers
    return [qid.decode() for qid in qids]


def read_trec(text: bytes, n_fields: int) -> list[list[str]]:
    """The fields of every line that is not blank; ids are UTF-8 without NUL."""
    return _ids_decoded(_words(_filled_lines(text)), n_fields, {0, 2, 5})


def _words(lines: list[bytes]) -> list[list[bytes]]:
    rows = [_split(line) for line in lines]
    if any(row[0] == b"#" for row in rows):
        raise ValueError("a comment")
    return rows


def _filled_lines(text: bytes) -> list[bytes]:
    lines = [line for line in _text(text).split(b"\n") if _split(line)]
    if b"\0" in text or not lines:
        raise ValueError("NUL or nothing")
    if any(line.startswith(b"\xef\xbb\xbf") for line in _text(text).split(b"\n")):
        raise ValueError("a byte order mark within")
    if b"\n" not in text and b"\r" in text.rstrip(b"\r"):  # within the only line
        raise ValueError("line ends of old Macs")
    return lines


def _ids_decoded(rows: list[list[bytes]], n_fields: int, ids: set[int]) -> list[list[str]]:
    if any(len(fields) != n_fields for fields in rows):
        raise ValueError("fields")
    return [
        [field.decode("utf-8", "strict" if i in ids else "replace") for i, field in enumerate(row)]
        for row in rows
    ]


def read_qrels(text: bytes) -> list[tuple[str, str, int]]:
    """Query, document, relevance, of four columns or of three."""
    lines = _filled_lines(text)
    voters = [line for line in lines if not line.lstrip().startswith(b"#")] or lines
    widths = [len(_split(line)) for line in voters]
    if all(line.count(b"\t") == 2 for line in lines) and set(widths) != {4}:
        rows = [line.removesuffix(b"\r").split(b"\t") for line in lines]
        triples = _ids_decoded(rows, 3, {0, 1})
        for column in zip(*triples, strict=True):
            if all(len(cell) > 1 and cell[0] == cell[-1] == '"' for cell in column):
                raise ValueError("marks around all ids")
    elif widths.count(3) > widths.count(4):
        triples = _ids_decoded(_words(lines), 3, {0, 1})
    else:
        triples = [[row[0], row[2], row[3]] for row in read_trec(text, 4)]
    out = [(row[0], row[1], _grade(row[2].encode())) for row in triples]
    if len({row[:2] for row in out}) < len(out) or not all(all(row[:2]) for row in out):
        raise ValueError("twice")
    return out


def read_run(text: bytes) -> list[tuple[str, str, float, str]]:
    """Query, document, score, tag."""
    rows = read_trec(text, 6)
    out = [(row[0], row[2], _score(row[4].encode()), row[5]) for row in rows]
    if len({row[:2] for row in out}) < len(out) or not all(math.isfinite(row[2]) for row in out):
        raise ValueError("twice")
    return out


def read_extreme(
    text: bytes,
) -> tuple[tuple[int, int, int], list[set[int]], list[dict[int, float]]]:
    """Sizes; labels and features of every row, zeros left out."""
    header, _, body = _text(text).replace(b"\r\n", b"\n").partition(b"\n")
    n, d, k = map(_index, _split(header))
    if max(d, k) >= 2**31:
        raise ValueError("sizes")
    lines = body.removesuffix(b"\n").split(b"\n") if body else []
    if len(lines) != n:
        raise ValueError("rows")
    labels, rows = [], []
    for line in lines:
        pairs = [token for token in re.split(rb"[ \t]+", line) if token]
        of: list[int] = []
        first = line.partition(b" ")[0]
        if first and b":" not in first:
            of = [_index(label) for label in first.split(b",")]
            pairs = [token for token in re.split(rb"[ \t]+", line[len(first) :]) if token]
        if len(set(of)) < len(of) or any(label >= k for label in of):
            raise ValueError("label")
        row: dict[int, float] = {}
        for pair in pairs:
            index, colon, value = pair.partition(b":")
            column = _index(index)
            if not colon or column >= d or column in row or not math.isfinite(number(value)):
                raise ValueError("feature")
            row[column] = number(value)
        labels.append(set(of))
        rows.append({column: value for column, value in row.items() if value != 0})
    return (n, d, k), labels, rows


def _grade(token: bytes) -> int:
    """A whole number of 64 bits, with or without a point and an exponent."""
    if re.fullmatch(rb"[+-]?[0-9]+", token.strip()):
        return _integer(token.strip())
    if not abs(number(token.strip())) < 2**64:
        raise ValueError(token)
    value = Fraction(token.strip().decode())
    if value.denominator != 1:
        raise ValueError(token)
    return int(value)


def _score(token: bytes) -> float:
    """A number; a whole number must be one of float64, as far as its digits go."""
    value = number(token)
    mantissa, _, power = token.strip().lower().partition(b"e")
    if 2**53 <= abs(value) < math.inf:
        unit = Fraction(10) ** (int(power or b"0") - len(mantissa.partition(b".")[2]))
        written = Fraction(token.strip().decode())
        if written.denominator == 1 and abs(written - Fraction(value)) * 2 > unit:
            raise ValueError(token)
    return value


def _text(text: bytes) -> bytes:
    if text.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError("UTF-16")
    return text.removeprefix(b"\xef\xbb\xbf")


def _index(token: bytes) -> int:
    if not re.fullmatch(rb"0*[0-9]{1,15}", token):
        raise ValueError(token)
    return int(token.lstrip(b"0") or b"0")


def _integer(token: bytes) -> int:
    if not re.fullmatch(rb"[+-]?[0-9]+", token) or len(token) > 4000:
        raise ValueError(token)
    value = int(token)
    if not -(2**63) <= value < 2**63:
        raise ValueError(token)
    return value


def arff_rows(text: bytes, categories: list[tuple[str, ...]]) -> list[list[float]]:
    """The rows of an ARFF file whose attributes have these categories (none: numbers)."""
    lines = _text(text).decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    start = next(i for i, line in enumerate(lines) if re.match(r"\s*@data\b", line, re.IGNORECASE))
    rows = []
    for line in lines[start + 1 :]:
        if not line.strip() or line.strip().startswith("%"):
            continue
        if line.strip().startswith("{"):
            cells = dict(re.findall(rf"(\d+)\s+({_ARFF_CELL})", line.strip()[1:-1]))
            given = {int(j): cell for j, cell in cells.items()}
            row = [_arff_value(given.get(j), of) for j, of in enumerate(categories)]
        else:
            row = [
                _arff_value(cell, of)
                for cell, of in zip(
                    re.findall(rf"(?:^|,)({_ARFF_CELL})", line), categories, strict=True
                )
            ]
        rows.append(row)
    return rows


_ARFF_CELL = r"""\s*(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^,{}]*)\s*"""


def _arff_value(cell: str | None, categories: tuple[str, ...]) -> float:
    """A number, a category's number or position; None stands for what a sparse row leaves out."""
    numbers = [_decimal(name) for name in categories]
    coded = any(value is None for value in numbers)
    if cell is None:
        return 0.0 if not categories or coded else numbers[0]
    cell = cell.strip()
    if len(cell) > 1 and cell[0] == cell[-1] and cell[0] in "'\"":
        cell = re.sub(r"\\(.)", r"\1", cell[1:-1])
    if cell == "?":
        return math.nan
    return float(categories.index(cell)) if coded else float(cell)


def _decimal(name: str) -> float | None:
    return (
        float(name)
        if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", name, re.I)
        else None
    )
