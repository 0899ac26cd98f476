"""Readers written a second time: slow, in plain Python, straight from the documentation.

Each returns the value, or raises ValueError where the documentation says that the reader refuses.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

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
    if text.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError("UTF-16")
    text = text.removeprefix(b"\xef\xbb\xbf")
    labels, rows, qids, comments = [], [], [], []
    for line in text.split(b"\n"):
        content, mark, comment = line.partition(b"#")
        tokens = _split(content)
        if not tokens:
            continue
        labels.append(number(tokens.pop(0)))
        qid = None
        if tokens and tokens[0].startswith(b"qid:"):
            qid = tokens.pop(0)[4:]
            if not qid:
                raise ValueError("qid")
        row: dict[int, float] = {}
        for token in tokens:
            index, colon, value = token.partition(b":")
            if not colon or not re.fullmatch(rb"[0-9]+", index) or int(index) > LARGEST_INDEX:
                raise ValueError(token)
            if int(index) in row:
                raise ValueError("twice")
            row[int(index)] = number(value, np.float32)
        rows.append(row)
        qids.append(qid)
        comments.append(comment.strip(SPACE).decode("utf-8", "replace") if mark else None)
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
    whole = all(re.fullmatch(rb"[+-]?[0-9]+", qid) for qid in qids)
    if whole and all(-(2**63) <= int(qid) < 2**63 for qid in qids):
        return [int(qid) for qid in qids]
    return [qid.decode("utf-8", "replace") for qid in qids]
