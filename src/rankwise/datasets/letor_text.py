"""The text in LETOR files: query ids that are no numbers, comments, document ids in them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_DOC_ID = re.compile(r"\bdocid\s*[=:]\s*(\S+)", re.IGNORECASE)
_SPARE_BYTES = 1 << 24


def split_text(
    text: bytes, qid_bytes: NDArray[np.int64] | None, comment_bytes: NDArray[np.int64]
) -> tuple[list[str] | None, list[str] | None]:
    """Cut what the kernel kept, row by row, into query ids (if there) and comments.

    Parameters
    ----------
    text : bytes
        UTF-8; what is not becomes U+FFFD.
    qid_bytes : ndarray of shape (n_rows,), or None
        Lengths of the query ids; None where they were read as numbers.
    comment_bytes : ndarray of shape (n_rows,)
        Lengths of the comments, -1 for none.

    Returns
    -------
    qid : list of str, or None
    comments : list of str, or None
        None where no row has one; "" for single rows without.
    """
    lengths = np.maximum(comment_bytes, 0)
    if qid_bytes is not None:
        lengths = np.column_stack([qid_bytes, lengths]).ravel()
    ends = np.cumsum(lengths)
    pieces: list[str] = []
    if len(text):
        starts = (ends - lengths).tolist()
        if text.isascii():
            string = text.decode("ascii")
            pieces = [string[a:b] for a, b in zip(starts, ends.tolist(), strict=True)]
        else:
            pieces = [
                text[a:b].decode("utf-8", "replace")
                for a, b in zip(starts, ends.tolist(), strict=True)
            ]
    qid = None
    if qid_bytes is not None:
        qid, pieces = pieces[::2], pieces[1::2]
    if (comment_bytes < 0).all():
        return qid, None
    return qid, pieces or [""] * len(comment_bytes)


def doc_ids(comments: Sequence[str]) -> list[str] | None:
    """What follows ``docid =`` or ``docid:`` in each comment, "" without; None if none has it."""
    found = [_DOC_ID.search(comment) for comment in comments]
    if not any(found):
        return None
    return ["" if match is None else match.group(1) for match in found]


def pack_text(name: str, strings: Sequence[str] | None) -> dict[str, NDArray[Any]]:
    """Strings as named arrays: of one width, or bytes and their ends where few are long."""
    if strings is None:
        return {}
    total = sum(map(len, strings))
    width = max(map(len, strings), default=0)
    if 4 * width * len(strings) <= 32 * total + _SPARE_BYTES:
        return {name: np.array(strings, dtype=f"<U{max(width, 1)}")}
    encoded = [string.encode() for string in strings]
    return {
        f"{name}.utf8": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        f"{name}.ends": np.cumsum([len(item) for item in encoded]),
    }


def unpack_text(name: str, arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any] | None:
    """The array of strings that :func:`pack_text` packed, of dtype object where few are long."""
    if name in arrays or f"{name}.utf8" not in arrays:
        return arrays.get(name)
    text, ends = arrays[f"{name}.utf8"].tobytes(), arrays[f"{name}.ends"].tolist()
    out = np.empty(len(ends), dtype=object)
    out[:] = [text[a:b].decode() for a, b in zip([0, *ends[:-1]], ends, strict=True)]
    return out
