"""Text in LETOR files: non-numeric query ids, comments, and document ids in comments."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.runtime.column_values import fits_one_width, text_array

_DOC_ID = re.compile(r"\bdocid[\t-\r ]*[=:][\t-\r ]*([^\t-\r ]+)", re.IGNORECASE)


class NotUtf8Error(ValueError):
    """An id is not UTF-8 text; replacing bytes could make two ids equal."""

    def __init__(self, what: str, row: int) -> None:
        super().__init__(f"the {what} of row {row} is not UTF-8 text")
        self.what = what
        self.row = row


def split_text(
    text: bytes, qid_bytes: NDArray[np.int64] | None, comment_bytes: NDArray[np.int64]
) -> tuple[list[str] | None, list[str] | None]:
    """Split the text kept by the kernel, row by row, into query ids (if any) and comments.

    ``qid_bytes`` (n_rows,) are the lengths of the query ids, None if they were read as numbers;
    ``comment_bytes`` (n_rows,) are those of the comments, -1 for none. Comments are "" for rows
    without one, and None if no row has one. The text is UTF-8: invalid bytes in comments become
    U+FFFD, but those in document ids raise NotUtf8Error.
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
            parts = [text[a:b] for a, b in zip(starts, ends.tolist(), strict=True)]
            pieces = [part.decode("utf-8", "replace") for part in parts]
            if qid_bytes is not None:
                _check_utf8("query id", parts[::2])
            first, step = (0, 1) if qid_bytes is None else (1, 2)
            names = map(_doc_id, pieces[first::step])
            _check_utf8(
                "document id",
                [
                    part if name and "\ufffd" in name else b""
                    for name, part in zip(names, parts[first::step], strict=True)
                ],
            )
    qid = None
    if qid_bytes is not None:
        qid, pieces = pieces[::2], pieces[1::2]
    if (comment_bytes < 0).all():
        return qid, None
    return qid, pieces or [""] * len(comment_bytes)


def _check_utf8(what: str, texts: Sequence[bytes]) -> None:
    for row, item in enumerate(texts):
        try:
            item.decode()
        except UnicodeDecodeError:
            raise NotUtf8Error(what, row) from None


def doc_ids(comments: Sequence[str]) -> list[str] | None:
    """Text after ``docid =`` or ``docid:`` in each comment, "" if absent; None if none has it."""
    found = list(map(_doc_id, comments))
    return [name or "" for name in found] if any(found) else None


def _doc_id(comment: str) -> str | None:
    match = _DOC_ID.search(comment)
    return None if match is None else match.group(1)


def pack_text(name: str, strings: Sequence[str] | None) -> dict[str, NDArray[Any]]:
    """Strings as named arrays: of fixed width, or bytes and their ends if few are long."""
    if strings is None:
        return {}
    if fits_one_width(strings):
        return {name: text_array(strings)}
    encoded = [string.encode() for string in strings]
    return {
        f"{name}.utf8": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        f"{name}.ends": np.cumsum([len(item) for item in encoded]),
    }


def unpack_text(name: str, arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any] | None:
    """Restore strings packed by :func:`pack_text`, as dtype object if few are long.

    ValueError is raised if the parts are inconsistent, as in a damaged file.
    """
    if name in arrays or f"{name}.utf8" not in arrays:
        return arrays.get(name)
    text, ends = arrays[f"{name}.utf8"].tobytes(), arrays[f"{name}.ends"].tolist()
    if ends != sorted(ends) or ends[:1] < [0] or ends[-1:] > [len(text)]:
        raise ValueError(f"{name} ends outside its text")
    out = np.empty(len(ends), dtype=object)
    out[:] = [text[a:b].decode() for a, b in zip([0, *ends[:-1]], ends, strict=True)]
    return out
