"""Formats of files: a table of suffixes and first bytes, and recognition by the first lines.

A new format of tables is one line of ``FORMATS``, and for binary files a file that reads it.

Readers of judgements, runs and scores ask :func:`file_format`; names and suffixes do not count for
them. Each line among the first 64 KiB has one vote:

- LETOR text, if a number comes first, and ``qid:…`` or ``index:value`` next;
- a run with 6 words, qrels with 4, judgements without a header with 3, scores with 1 number.

The format with the most votes wins, of equal ones the first in this list, and its reader names any
line of another width. Three columns separated by tabs are judgements whose ids may hold blanks. A
first line with names of columns makes a table. Binary tables are known by their first bytes.

Words are separated by ASCII white space, as by ``isspace`` in the C of trec_eval: blank, tab,
vertical tab, form feed and carriage return. A line ends with a line feed only. No other character
separates, such as a no-break space, U+3000, U+2028 or U+0085. Blank lines are skipped (but for
files of scores, where every line is a row). Only LETOR text has comments: elsewhere a line that
begins with ``#`` is a line like any other, since ids may begin so.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from rankwise.datasets.readers.letor_parse import NUMBER
from rankwise.datasets.readers.quotes import first_record, split_names
from rankwise.datasets.readers.textfiles import (
    PathLike,
    TextFile,
    check_line_ends,
    find_line_start,
    open_text,
)
from rankwise.datasets.table_columns import ALL_DOCUMENT_NAMES, ALL_QUERY_NAMES, GRADE_NAMES


class Format(NamedTuple):
    """Names of the files of a format, and how a table of it is read."""

    suffixes: tuple[str, ...]
    separator: str | None = None  # between the columns of delimited text
    magic: bytes = b""  # first bytes of a binary table
    # "module:function" of (path, max_decompressed_bytes) that reads a binary table: it returns a
    # pyarrow.Table, or a StoredTable whose columns are read when they are asked for.
    open: str = ""


FORMATS: dict[str, Format] = {
    "parquet": Format(
        (".parquet", ".pq"), magic=b"PAR1", open="rankwise.datasets.readers.tables:ParquetTable"
    ),
    "csv": Format((".csv",), separator=","),
    "tsv": Format((".tsv", ".tab"), separator="\t"),
    "letor": Format((".txt", ".letor", ".svm", ".svmlight")),
    "qrels": Format((".qrels",)),
    "trec": Format((".run", ".trec")),
    "jsonl": Format((".jsonl", ".ndjson")),
}
STORED = tuple(suffix for found in FORMATS.values() if found.open for suffix in found.suffixes)
DELIMITERS = {
    suffix: found.separator
    for found in FORMATS.values()
    if found.separator is not None
    for suffix in found.suffixes
}
TABLES = (*STORED, *DELIMITERS)

QRELS_FIELDS = ("query", "iteration", "document", "relevance")
RUN_FIELDS = ("query", "Q0", "document", "rank", "score", "tag")
TRIPLE_FIELDS = ("query", "document", "relevance")

_HEAD_BYTES = 1 << 16
SEPARATORS = ("\t", ",", ";", "|")
_LETOR_WORD = re.compile(rb"(?:qid|cost|[0-9]+):\S")
_JSON = re.compile(rb'\s*(\{\s*"|\[\s*[{["])')
# Fields without blanks between them, rather than an attempt at a number, such as 1,5.
_NO_SCORE = re.compile(rb"[,;|].*[,;|]")
_NAMES = frozenset((*ALL_QUERY_NAMES, *ALL_DOCUMENT_NAMES, *GRADE_NAMES))


class FormatName(StrEnum):
    """What a file holds."""

    stored = "a binary table"
    table = "a table with a header line"
    run = "a TREC run"
    qrels = "TREC qrels"
    triples = "three columns without a header line"
    letor = "LETOR text"
    scores = "scores, one per line"
    json = "JSON"
    empty = "nothing"
    unknown = "text of an unknown format"


_BY_PRECEDENCE = (
    FormatName.letor, FormatName.run, FormatName.qrels, FormatName.triples,
    FormatName.scores, FormatName.unknown,
)  # fmt: skip
_OF_WIDTH = {1: FormatName.scores, 3: FormatName.triples, 4: FormatName.qrels, 6: FormatName.run}


@dataclass(frozen=True)
class FileFormat:
    """Format of a file."""

    kind: FormatName
    # Character between the columns of a table or of triples; None: ASCII white space
    separator: str | None = None
    columns: tuple[str, ...] = ()  # names in the header of a table


def file_format(source: PathLike | TextFile) -> FileFormat:
    """Decide the format of a file, plain or compressed.

    ValueError is raised if its first lines fit two formats, or its compressed data are damaged.
    """
    file = source if isinstance(source, TextFile) else open_text(Path(source))
    head = file.read(file.start, file.start + _HEAD_BYTES)
    if is_binary_table(head):
        return FileFormat(FormatName.stored)
    if is_json(head):
        return FileFormat(FormatName.json)
    check_line_ends(file.path, head)
    if file.start + _HEAD_BYTES < file.stop:  # whole lines only
        cut = head.rfind(b"\n") + 1
        head = head[:cut] or file.read(file.start, find_line_start(file, file.start + 1))
    lines = [line for line in head.split(b"\n") if line.strip()]
    if not lines:
        return FileFormat(FormatName.empty)
    return _header(file.path, first_record(head)) or _majority(file.path, lines)


def is_binary_table(head: bytes) -> bool:
    """Whether a file begins like a binary table."""
    return any(found.magic and head.startswith(found.magic) for found in FORMATS.values())


def is_json(head: bytes) -> bool:
    """Whether a text begins like JSON, one value or one per line."""
    return _JSON.match(head) is not None


def _header(path: Path, line: bytes) -> FileFormat | None:
    """Table whose first line names columns; None if the line has no known names."""
    try:
        text = line.rstrip(b"\r").decode()
    except UnicodeDecodeError:
        return None
    for separator in (*SEPARATORS, None):
        if separator is None:
            names = [word.decode() for word in line.split()]
        else:
            names = split_names(line, separator, '"' if line.count(b'"') % 2 == 0 else False)
        known = {name.lower() for name in names} & _NAMES
        stripped = {name.strip().lower() for name in names} & _NAMES
        if len(stripped) > max(len(known), 1) and separator is not None:
            raise ValueError(
                f"{path}, line 1: blanks stand around names of columns, {text[:60]!r}, and perhaps "
                "around ids, which keep their blanks. Remove the blanks beside the separators."
            )
        if len(known) >= 2 and not any(NUMBER.fullmatch(name.encode()) for name in names):
            return FileFormat(FormatName.table, separator, tuple(names))
    return None


def _majority(path: Path, lines: list[bytes]) -> FileFormat:
    voters = [line for line in lines if not line.lstrip().startswith(b"#")] or lines
    votes = Counter(map(_vote, voters))
    kind = max(_BY_PRECEDENCE, key=lambda kind: votes[kind])
    if kind is FormatName.letor or any(line.count(b"\t") != 2 for line in lines):
        return FileFormat(kind)
    if votes[FormatName.qrels] < len(voters):
        return FileFormat(FormatName.triples, "\t")
    if any(line.split()[1] not in (b"0", b"Q0") for line in voters):
        raise ValueError(
            f"{path}, line 1: three columns separated by tabs, or four separated by blanks? "
            "Write ids without blanks, or name the columns in a first line: query-id, corpus-id, "
            "score."
        )
    return FileFormat(FormatName.qrels)


def _vote(line: bytes) -> FormatName:
    words = line.split()
    if len(words) > 1 and _LETOR_WORD.match(words[1]) and NUMBER.fullmatch(words[0]):
        return FormatName.letor
    if len(words) > 4 and words[1] == b"Q0":
        return FormatName.run
    if len(words) == 1 and _NO_SCORE.search(words[0]):
        return FormatName.unknown
    if len(words) == 3 and line.count(b"\t") == 3 and line.split(b"\t")[1] in (b"0", b"Q0"):
        return FormatName.qrels  # an iteration; one of the other fields is missing
    return _OF_WIDTH.get(len(words), FormatName.unknown)
