"""Write LETOR text, ``<label> qid:<query> cost:<weight> <index>:<value> … # comment``, and its ids.

Numbers are the shortest decimals that read back to the same bits, in the precision of X. pyarrow
builds the text column by column for blocks of rows: O(stored values), without a loop over values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.checks.exact_values import RowError, id_text, id_texts
from rankwise.datasets.data import RankingData
from rankwise.groups import QueryGroups
from rankwise.runtime.arrow import pa, pc
from rankwise.runtime.files import open_to_write
from rankwise.runtime.frames import fits_one_width, text_array
from rankwise.typing import is_sparse

# Its functions are created on import, so type checkers do not see them.

VALUES_PER_BLOCK = 1 << 20
# ASCII white space ends a document id, as in trec_eval; a NUL character is refused by readers.
_NOT_IN_COMMENTS = re.compile("[\0\t-\r ]")


def write_letor(
    data: RankingData | Any,
    path: str | Path,
    *,
    y: ArrayLike | None = None,
    qid: ArrayLike | QueryGroups | None = None,
    comments: ArrayLike | None = None,
    with_qid: bool = True,
) -> None:
    """Write rows, labels and queries as SVMlight text.

    Parameters
    ----------
    data : RankingData, or array or CSR of shape (n_samples, n_features)
        Rows to write: all values of dense rows, stored entries of CSR rows. Indices start at 1.
    path : path
        File to write; suffixes ``.gz``, ``.bz2``, ``.xz`` and ``.zst`` compress.
    y, qid : array-like of shape (n_samples,)
        Labels and query ids; required with arrays, not accepted with RankingData. Query ids are
        integers, or strings without white space.
    comments : array-like of shape (n_samples,) of str, optional
        Text after ``#``, which is omitted for empty comments (default: the comments of ``data``,
        else ``docid = <doc id>`` if it has document ids).
    with_qid : bool
        Whether to write ``qid:``; omit it for programs that read group sizes from a side file.

    Raises
    ------
    TypeError
        If labels and queries are missing, or given twice.
    ValueError
        If lengths differ, a row is unjudged, a column holds categories, or an id or comment would
        break the line.
    OSError
        If the file cannot be written; an old file of this name is then unchanged.

    Notes
    -----
    Weights of rows are written as ``cost:``, which SVMlight and
    :func:`rankwise.datasets.read_letor` read, and most other programs do not. The format does not
    store feature names. A reader does not see columns after the last stored one; pass
    ``n_features`` to it.
    """
    blocks = letor_text(_convert_to_data(data, y, qid), comments, with_qid)
    with open_to_write(path) as stream:
        for block in blocks:
            stream.write(block)


def letor_text(
    data: RankingData, comments: ArrayLike | None = None, with_qid: bool = True
) -> Iterator[memoryview]:
    """Yield the lines of :func:`write_letor` in blocks; arguments are checked first."""
    if data.judged is not None and not data.judged.all():
        raise ValueError(
            f"{int((~data.judged).sum())} rows have no judgement to write. Write "
            "data.only_judged(), or labels of your own for them."
        )
    if data.categories:
        names = data.feature_names or [str(j) for j in range(data.n_features)]
        texts = ", ".join(names[j] for j in sorted(data.categories))
        raise ValueError(
            f"LETOR text holds numbers, but columns {texts} hold categories. Encode them first, or "
            "read the table without categories."
        )
    notes = _notes(data, comments)
    labels = _numbers(data.y)
    queries = _queries(data.qid) if with_qid else None
    weights = None if data.sample_weight is None else _numbers(data.sample_weight)
    X = data.X.tocsr() if is_sparse(data.X) else np.asarray(data.X)
    if X.dtype.kind not in "biuf":
        raise ValueError(f"X must hold numbers, got dtype {X.dtype}. Encode it first.")

    def block(rows: slice, features: pa.Array) -> memoryview:
        columns: list[Any] = [labels[rows]]
        if queries is not None:
            columns += [" qid:", queries[rows]]
        if weights is not None:
            columns += [" cost:", weights[rows]]
        columns += [features]
        if notes is not None:
            columns += [notes[rows]]
        return _bytes_of(pc.binary_join_element_wise(*columns, "\n", ""))

    return (block(rows, features) for rows, features in _feature_blocks(X))


def _convert_to_data(
    data: Any, y: ArrayLike | None, qid: ArrayLike | QueryGroups | None
) -> RankingData:
    if isinstance(data, RankingData):
        if y is not None or qid is not None:
            raise TypeError("y and qid are part of the RankingData. Drop the arguments.")
        return data
    if y is None or qid is None:
        raise TypeError("rows as an array need y and qid. Pass both, or a RankingData.")
    ids = qid.codes() if isinstance(qid, QueryGroups) else np.asarray(qid)
    return RankingData(data, np.asarray(y), qid=ids)


def _numbers(values: Any) -> pa.Array:
    """Shortest decimals; whole numbers have no decimal point."""
    values = np.asarray(values)
    if values.dtype.kind == "b":
        values = values.astype(np.int8)
    if values.dtype == np.float16:
        values = values.astype(np.float32)
    return pa.array(np.ascontiguousarray(values)).cast(pa.string())


def _queries(qid: np.ndarray[Any, Any]) -> pa.Array:
    if qid.dtype.kind in "iu":
        return _numbers(qid)
    ids = pa.array(id_texts(qid, "qid"), pa.string())
    bad = pc.match_substring_regex(ids, r"[\x00\t-\r #]")
    if pc.any(bad).as_py():
        row = bad.index(True).as_py()
        raise RowError(
            f"qid must hold ids without white space or '#', got {ids[row].as_py()!r}",
            row,
            ". Number the queries.",
        )
    return ids


def _notes(data: RankingData, comments: ArrayLike | None) -> pa.Array | None:
    """End of every line, after its features."""
    if comments is not None:
        notes = np.asarray(comments)
    elif data.comments is not None:
        notes = data.comments
    elif data.doc_ids is not None:
        notes = _document_notes(data.doc_ids)
    else:
        return None
    if notes.shape != (data.n_samples,):
        raise ValueError(
            f"comments must have n_samples={data.n_samples} entries, got shape {notes.shape}. "
            "Pass one string per row."
        )
    written = [str(note) for note in notes.tolist()]
    if data.doc_ids is not None:
        _check_document_ids(written, data.doc_ids, comments is None)
    text = pa.array(written, pa.string())
    bad = pc.match_substring_regex(text, r"[\x00\r\n]")
    if pc.any(bad).as_py():
        row = bad.index(True).as_py()
        raise ValueError(
            "comments must not hold line breaks or NUL characters, got "
            f"{text[row].as_py()!r} at row {row}."
        )
    return pc.if_else(pc.equal(text, ""), "", pc.binary_join_element_wise(" #", text, ""))


def _check_document_ids(notes: list[str], ids: np.ndarray[Any, Any], strict: bool) -> None:
    """Raise ValueError if a comment names another document than the row; strict: or none."""
    found = doc_ids(notes) or [""] * len(notes)
    for row, (in_note, value) in enumerate(zip(found, _list_ids(ids), strict=True)):
        wanted = _text_of_id(value, row)
        if in_note != wanted and (in_note or strict):
            raise ValueError(
                f"doc_ids and comments must name the same documents, got {wanted!r} and the "
                f"comment {notes[row]!r} at row {row}. Pass comments that "
                "name them."
            )


def _document_notes(doc_ids: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Comments with document ids; rows with an empty id get none.

    ValueError is raised if an id would not come back whole from a comment.
    """
    notes = np.full(len(doc_ids), "", dtype=object)
    for row, doc_id in enumerate(_list_ids(doc_ids)):
        text = _text_of_id(doc_id, row)
        if not text:
            continue
        if _NOT_IN_COMMENTS.search(text):
            raise RowError(
                f"doc_ids must hold no white space in LETOR text, got {text!r}",
                row,
                ". Write CSV or Parquet, or number the documents.",
            )
        notes[row] = f"docid = {text}"
    return notes


def _list_ids(ids: np.ndarray[Any, Any]) -> list[Any]:
    """Ids as objects; NumPy would make numbers of times."""
    return list(ids) if ids.dtype.kind in "mM" else ids.tolist()


def _text_of_id(value: Any, row: int) -> str:
    """Document id as text; empty for a row without one."""
    is_empty = isinstance(value, str) and not value
    return "" if is_empty else id_text(value, f"doc_ids (row {row})")


def _feature_blocks(X: Any) -> Iterator[tuple[slice, pa.Array]]:
    """Yield row slices and their features, as one string ``" 1:0.5 2:…"`` per row."""
    n_rows, n_features = X.shape
    if is_sparse(X):
        X = X if X.has_sorted_indices else X.sorted_indices()
        starts = X.indptr.astype(np.int64)
    else:
        starts = np.arange(n_rows + 1, dtype=np.int64) * n_features
    prefixes = pa.array([f" {index}:" for index in range(1, n_features + 1)], pa.string())
    first = 0
    while first < n_rows:
        last = int(np.searchsorted(starts, starts[first] + VALUES_PER_BLOCK, side="right")) - 1
        last = min(max(last, first + 1), n_rows)
        if is_sparse(X):
            stored = slice(starts[first], starts[last])
            indices, values = X.indices[stored], X.data[stored]
        else:
            values = X[first:last].ravel()
            indices = np.tile(np.arange(n_features, dtype=np.int32), last - first)
        pairs = pc.binary_join_element_wise(prefixes.take(pa.array(indices)), _numbers(values), "")
        offsets = pa.array((starts[first : last + 1] - starts[first]).astype(np.int32))
        yield slice(first, last), pc.binary_join(pa.ListArray.from_arrays(offsets, pairs), "")
        first = last


def _bytes_of(lines: pa.Array) -> memoryview:
    """Concatenated characters of all lines, without a copy."""
    offsets = np.frombuffer(lines.buffers()[1], dtype=np.int32)
    start, stop = offsets[lines.offset], offsets[lines.offset + len(lines)]
    return memoryview(lines.buffers()[2])[start:stop]


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
