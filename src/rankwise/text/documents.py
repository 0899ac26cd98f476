"""Read documents and queries from mappings, iterators, frames, JSON lines and TREC files.

TREC files are a loose SGML without a document type: elements need no end, and much that looks like
a tag is text.

References
----------
.. [1] Thakur et al., "BEIR: a heterogeneous benchmark for zero-shot evaluation of information
   retrieval models", NeurIPS 2021: ``corpus.jsonl``, ``queries.jsonl``, ``qrels/*.tsv``.
.. [2] TREC format of documents, ``<DOC>`` with ``<DOCNO>``, and of topics, ``<top>`` with
   ``<num>`` or, in later tracks, ``<topic number="…">``.
"""

from __future__ import annotations

import html
import json
import re
import warnings
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral
from pathlib import Path
from typing import Any, Literal

import narwhals as nw
import numpy as np

from rankwise.checks.exact_values import is_unicode
from rankwise.datasets.readers.delimited import DelimitedFile
from rankwise.datasets.readers.quotes import (
    count_outside,
    first_record,
    name_has_lines,
    names_are_quoted,
    unquote,
)
from rankwise.datasets.readers.tables import is_stored, open_stored
from rankwise.datasets.readers.text_columns import read_cells
from rankwise.datasets.readers.textfiles import (
    TextFile,
    check_line_ends,
    find_inner_mark,
    read_text,
)
from rankwise.datasets.table_columns import TEXT_DOCUMENT_IDS, TEXT_QUERY_IDS
from rankwise.runtime.frames import check_unique, is_missing
from rankwise.runtime.messages import callers_level, setting

QUERY_TEXTS = ("text", "query", "title")
# Usual names of a column of texts, by which a first line without a known id is told from a text.
_TEXT_NAMES = frozenset(
    ("text", "query", "title", "passage", "body", "content", "contents", "document", "abstract")
)
# A single word that ends so is the name of a file, not a query.
FILE_SUFFIXES = (
    ".jsonl", ".json", ".trec", ".tsv", ".csv", ".txt", ".xml", ".gz", ".bz2", ".xz", ".zst"
)  # fmt: skip
_BLANKS = " \t\r\n"
_PARQUET = b"PAR1"
_HEAD = 1 << 16  # characters of a CSV file in which its header ends


def iterate_documents(
    documents: Any,
    fields: tuple[str, ...],
    *,
    is_default: bool = False,
    encoding: str | None = None,
) -> Iterator[tuple[str, list[str]]]:
    """Yield the id and the field texts of each document.

    ``documents`` is one of:

    - a mapping from document id to text, or to a mapping from field to text;
    - mappings, or rows of a frame, with an id ("doc_id", "docno", "docid", "corpus-id",
      "document_id", "pid", "_id", "id" or the like) and one text per field;
    - the path of a file of JSON lines (``.jsonl``, ``.json``, or any file that begins with a
      brace), of TREC documents, of text separated by tabs, see :func:`_tab_rows`, or of a table
      with named columns (CSV, Parquet).

    Fields that are missing or None are empty; a field that occurs in no document is a warning.
    ``is_default`` says that the user named no fields: TREC documents are then read as a whole, and
    a warning reports text in other fields. ``encoding`` is that of a file; None: UTF-8.
    """
    with prefix_errors(documents):
        missing, other = set(fields), dict[str, int]()
        skipped = {*fields, *TEXT_DOCUMENT_IDS}
        n_documents = 0
        wanted = None if is_default else fields
        for identifier, texts in _pairs(documents, TEXT_DOCUMENT_IDS, "document", wanted, encoding):
            n_documents += 1
            if isinstance(texts, str) and len(fields) == 1:
                texts = {fields[0]: texts}
            if not isinstance(texts, Mapping):
                raise TypeError(
                    f"document {identifier!r} must have a mapping from field to text, got "
                    f"{type(texts).__name__}. Fields: {', '.join(fields)}."
                )
            if missing:
                missing.difference_update(texts)
            if missing or is_default:
                for name, value in texts.items():
                    if name not in skipped:
                        has_text = isinstance(value, str) and not value.isspace() and value != ""
                        other[str(name)] = other.get(str(name), 0) + has_text
            yield identifier, [_text(texts.get(name), identifier, name) for name in fields]
    if not n_documents:
        if isinstance(documents, Path):
            warnings.warn(f"{documents} has no documents.", UserWarning, stacklevel=callers_level())
        return
    absent = " or ".join(repr(name) for name in fields if name in missing)
    start = f"{documents}: " if isinstance(documents, Path) else ""
    found = f"{start}no document has a field {absent}, they have {', '.join(map(repr, other))}"
    if other and len(missing) == len(fields):
        raise ValueError(f"{found}. To index them, pass {setting('fields')}.")
    if other and missing:
        warnings.warn(f"{found}.", UserWarning, stacklevel=callers_level())
    left_out = {name: n for name, n in other.items() if n}
    if is_default and left_out:
        counts = ", ".join(f"{name!r} ({n})" for name, n in left_out.items())
        warnings.warn(
            f"{start}of {n_documents} documents, only the field {fields[0]!r} is indexed. Text in "
            f"other fields is left out (number of documents): {counts}. To index it, pass "
            f"{setting('fields')}.",
            UserWarning,
            stacklevel=callers_level(),
        )


def convert_to_queries(queries: Any) -> dict[str, str]:
    """Return the text of every query, keyed by query id.

    ``queries`` is one of:

    - a single text, which gets the id "1";
    - a mapping from query id to text, or a Series of pandas whose labels are text or have
      a name, such as "qid";
    - an iterable of texts, which get the ids "1", "2", and so on;
    - mappings, or rows of a frame, with an id ("qid", "query_id", "q_id", "query-id",
      "queryid", "_id" or "id") and a text ("text", "query" or "title");
    - the path of a file of JSON lines, TREC topics, text separated by tabs, CSV or Parquet.

    An id that occurs twice is an error, and so is a str that is the name of a file.
    """
    if isinstance(queries, str):
        _check_no_file(queries)
        queries = [queries]
    series = nw.from_native(queries, allow_series=True, pass_through=True)
    is_column = isinstance(queries, Iterator | np.ndarray) or isinstance(series, nw.Series)
    if is_column and not _is_labelled(queries):
        queries = list(queries)
    if isinstance(queries, list | tuple) and any(isinstance(query, str) for query in queries):
        for number, query in enumerate(queries):
            if not isinstance(query, str):
                raise TypeError(f"query {number} must be text, as others are, got {query!r:.60}.")
        return {str(number): query for number, query in enumerate(queries, start=1)}
    found: dict[str, str] = {}
    with prefix_errors(queries):
        for identifier, texts in _pairs(queries, TEXT_QUERY_IDS, "query", QUERY_TEXTS, None):
            if identifier in found:
                raise ValueError(f"query {identifier!r} comes a second time. Ids must differ.")
            if isinstance(texts, Mapping):
                given = [texts[name] for name in QUERY_TEXTS if not is_missing(texts.get(name))]
                if not given:
                    empty = [name for name in QUERY_TEXTS if name in texts]
                    if empty:
                        raise ValueError(
                            f"query {identifier!r} has no text, its {empty[0]!r} is "
                            f"{texts[empty[0]]!r}. Leave the query out, or give it a text."
                        )
                    names = ", ".join(
                        repr(str(name)) for name in texts if name not in TEXT_QUERY_IDS
                    )
                    raise ValueError(
                        f"query {identifier!r} has no text, but {names or 'only an id'}. Name its "
                        f"text {' or '.join(map(repr, QUERY_TEXTS))}."
                    )
                texts = next((text for text in given if text), given[0])
            elif is_missing(texts):
                raise ValueError(f"query {identifier!r} has no text, got {texts!r}.")
            found[identifier] = _text(texts, identifier, "query")
    if not found and isinstance(queries, Path):
        raise ValueError(f"{queries} has no queries. Check the file.")
    return found


def _is_labelled(texts: Any) -> bool:
    """Whether texts are a Series of pandas whose labels are ids: text, or an index with a name.

    Other labels are numbers of rows, which remain where rows were selected.
    """
    if not nw.dependencies.is_pandas_like_series(texts):
        return False
    return texts.index.name is not None or any(isinstance(label, str) for label in texts.index)


def _check_no_file(text: str) -> None:
    """Raise if a query is the name of a file."""
    if len(text.split()) != 1 or len(text) > 4096 or "\0" in text:
        return
    path = Path(text)
    try:
        is_file = path.is_file() and (bool(path.suffix) or path.name != text)
    except OSError:
        is_file = False
    if is_file or path.suffix.lower() in FILE_SUFFIXES:
        raise ValueError(
            f"query {text!r} is the name of a file. To read queries from it, pass Path({text!r}); "
            f"to search for these words, pass [{text!r}]."
        )


def convert_to_id(value: Any, what: str) -> str:
    """Return an id as text; whole numbers are written in digits.

    An id that is missing (None, NaN) or empty is an error. So are NUL characters and halves of
    surrogate pairs, which no file of ids can hold.
    """
    if isinstance(value, str):
        if value == "" or "\0" in value or not is_unicode(value):
            problem = "is empty" if value == "" else "has a character that no file of ids can hold"
            raise ValueError(f"{what} {problem}: {value!r}. Give it another id.")
        return str.__str__(value)  # of a member of an Enum, its value
    if is_missing(value):
        raise ValueError(f"{what} is missing, got {value!r}. Give every row an id.")
    is_whole = isinstance(value, Integral) or (
        isinstance(value, Decimal) and value.is_finite() and value == int(value)
    )
    if isinstance(value, bool) or not is_whole:
        raise TypeError(
            f"{what} must be text or a whole number, got {value!r:.60} ({type(value).__name__}). "
            "Convert it to text first."
        )
    return str(int(value))


@contextmanager
def prefix_errors(given: Any) -> Iterator[None]:
    """Prefix error messages with the path of the file that caused them."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if not isinstance(given, Path) or str(given) in str(error):
            raise
        raise ValueError(f"{given}: {error}") from None


def _pairs(
    given: Any,
    ids: tuple[str, ...],
    what: str,
    fields: Collection[str] | None,
    encoding: str | None,
) -> Iterator[tuple[str, Any]]:
    """Yield the id and the text or texts of each document or query."""
    rows: Iterable[tuple[str, Any]]
    if isinstance(given, Path):
        rows = _read(given, what, fields, encoding)
    elif encoding is not None:
        raise TypeError(f"encoding applies to files, got {type(given).__name__}. Leave it out.")
    else:
        if (frame := nw.from_native(given, pass_through=True)) is not given:
            collected = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
            given = collected.iter_rows(named=True)
        if isinstance(given, Mapping) or _is_labelled(given):
            for number, (identifier, texts) in enumerate(given.items()):
                yield convert_to_id(identifier, f"the id of {what} {number}"), texts
            return
        if isinstance(given, str | bytes) or not isinstance(given, Iterable):
            is_text = isinstance(given, str)
            fix = f"To read a file, pass Path({given!r})" if is_text else "Pass {id: text}"
            raise TypeError(
                f"{what} texts must be a mapping, an iterable of mappings, a frame or a Path, got "
                f"{type(given).__name__}. {fix}."
            )
        rows = ((f"{what} {number}", row) for number, row in enumerate(given))
    for where, row in rows:
        if not isinstance(row, Mapping):
            raise TypeError(
                f"{where} must be a mapping with an id, got {type(row).__name__}. "
                f"Pass {{id: text}} or mappings with one of {', '.join(ids)}."
            )
        name = next((name for name in ids if name in row), None)
        if name is None:
            raise ValueError(f"{where} has no id, got {sorted(map(str, row))}. Name it {ids[0]!r}.")
        yield convert_to_id(row[name], f"{name!r} of {where}"), row


def _text(value: Any, identifier: str, name: str) -> str:
    if isinstance(value, str):
        return value
    if is_missing(value):
        return ""
    raise TypeError(
        f"{name} of {identifier!r} must be text, got {type(value).__name__}. Convert it first."
    )


def _read(
    path: Path, what: str, fields: Collection[str] | None, encoding: str | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the fields of each entry of a file."""
    ids = TEXT_DOCUMENT_IDS if what == "document" else TEXT_QUERY_IDS
    if is_stored(path):
        for number, values in enumerate(open_stored(path).read().to_pylist()):
            yield f"{what} in row {number}", _name_ids(values, ids)
        return
    text = read_lines(path, encoding, can_choose=what == "document")
    is_json = any(suffix in (".jsonl", ".json", ".ndjson") for suffix in path.suffixes)
    start = text.lstrip(_BLANKS)
    if ".csv" in path.suffixes:
        for number, row in _csv_rows(text, path):
            yield f"{what} at line {number}", _name_ids(row, ids)
        return
    if not is_json and not start.startswith("{"):
        # A TREC file begins with a tag, or has text that it refuses.
        is_tabbed = b"\t" in first_record(text[:_HEAD].encode()) and not start.startswith("<")
        rows = _tab_rows(text, ids, path) if is_tabbed else read_trec_text(text, fields, str(path))
        for number, row in rows:
            yield f"{what} at line {number}", row
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip(_BLANKS):
            yield f"line {number}", _json_object(line, f"{path}, line {number}")


def _name_ids(row: dict[str, Any], ids: tuple[str, ...]) -> dict[str, Any]:
    """The row with usual names of ids in lower case."""
    return {name.lower() if name.lower() in ids else name: value for name, value in row.items()}


def _csv_rows(text: str, path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line and the fields of each row of CSV, whose first line names the columns."""
    header = first_record(text[:_HEAD].encode())
    separator = max(",;|\t", key=lambda sign: count_outside(header, sign))
    data = text.encode()
    file = DelimitedFile(path, separator, TextFile(path, 0, len(data), data))
    columns, numbers = read_cells(file).columns, file.record_lines()
    check_unique(file.names)
    next(numbers)
    for number, *row in zip(numbers, *columns, strict=True):
        yield number, dict(zip(file.names, (cell.decode() for cell in row), strict=True))


def find_usual_fields(path: Path, encoding: str | None = None) -> tuple[str, ...] | None:
    """Title and text if the first document of a file has both; None: the default."""
    with prefix_errors(path):
        for _, texts in _pairs(path, TEXT_DOCUMENT_IDS, "document", None, encoding):
            return ("title", "text") if {"title", "text"} <= {*texts} else None
    return None


def _tab_rows(text: str, ids: tuple[str, ...], path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line and the fields of each row of text separated by tabs.

    A first line with a name of an id column (in any case) names the columns. Otherwise every line,
    also the first, is an id and a text, as in MS MARCO. Quotation marks are text, except in a file
    that quotes these names, and around fields that pandas quotes, see
    :mod:`rankwise.datasets.readers.quotes`.

    All lines must have the same number of columns. More than two columns need names, and a first
    line that names a column of texts must name an id, too.
    """
    names: list[str] = []
    for number, cells in _cells(text, ids, path):
        if not names:
            by_name = [cell.lower() if cell.lower() in ids else cell for cell in cells]
            names = by_name if set(by_name) & set(ids) else [ids[0], "text"]
            if len(set(names)) < len(names):
                raise ValueError(f"{path}, line {number}: two columns have one name.")
            if names is by_name:
                continue
            if len(cells) != 2:
                raise ValueError(
                    f"{path}, line {number}: {len(cells)} columns separated by tabs, but no names. "
                    f"Name them in a first line, one of them {ids[0]!r}; without names there must "
                    "be two, an id and a text."
                )
            if cells[1].strip().lower() in _TEXT_NAMES and cells[0].strip().isalpha():
                raise ValueError(
                    f"{path}, line {number}: {' '.join(cells)!r} looks like names of columns, but "
                    f"none is a known name of ids ({', '.join(ids)}). Rename the column of ids to "
                    f"{ids[0]!r}; if the line is an id and a text, put names before it: {ids[0]}, "
                    "a tab, text."
                )
        if len(cells) != len(names):
            raise ValueError(
                f"{path}, line {number}: expected {len(names)} columns separated by tabs "
                f"({', '.join(names)}), got {len(cells)}."
            )
        yield number, dict(zip(names, cells, strict=True))


def _cells(text: str, ids: tuple[str, ...], path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and the fields of each row of text separated by tabs, without blank lines."""
    head = text[:_HEAD].encode()
    header = first_record(head).rstrip(b"\r")
    names = {name.strip('"').lower() for name in header.decode().split("\t")}
    if names & set(ids) and (names_are_quoted(header) or name_has_lines(head)):
        data = text.encode()
        file = DelimitedFile(path, "\t", TextFile(path, 0, len(data), data))
        lines = file.record_lines()
        yield next(lines), file.names
        for number, *row in zip(lines, *read_cells(file).columns, strict=True):
            yield number, [cell.decode() for cell in row]
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip(_BLANKS):
            fields = line.removesuffix("\r").split("\t")
            yield number, [unquote(field.encode()).decode() for field in fields]


def read_lines(path: Path, encoding: str | None = None, *, can_choose: bool = False) -> str:
    """Text of a file; an error names the line of the first byte that the encoding does not have."""
    data = read_text(path, may_be_utf16=encoding is not None)
    if data.startswith(_PARQUET):
        raise ValueError(
            f"{path} is a Parquet table, not text. Give it a name that ends in .parquet."
        )
    if encoding is None:
        check_line_ends(path, data)
        if reason := find_inner_mark(data):
            raise ValueError(f"{path}, {reason}")
    try:
        return str(data, encoding or "utf-8").removeprefix("\ufeff")
    except LookupError:
        raise ValueError(
            f"encoding must be the name of an encoding of text, got {encoding!r}. Pass 'latin-1', "
            "for example."
        ) from None
    except UnicodeDecodeError as error:
        line = bytes(data[: error.start]).count(b"\n") + 1
        fix = (
            f"Pass its encoding, for example {setting('encoding', 'latin-1')}."
            if can_choose
            else "Save the file as UTF-8."
        )
        raise ValueError(
            f"{path}, line {line}: the byte 0x{data[error.start]:02x} at offset {error.start} is "
            f"not {encoding or 'UTF-8'} ({error.reason}). {fix}"
        ) from None


def _json_object(line: str, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line, object_pairs_hook=_check_unrepeated)
    except json.JSONDecodeError as error:
        raise ValueError(f"{where}: not valid JSON: {error}. Write one object per line.") from None
    except RecursionError:
        raise ValueError(f"{where}: the JSON is nested too deeply.") from None
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    if not isinstance(row, dict):
        raise ValueError(
            f"{where}: must be a JSON object, got a {type(row).__name__}. Write one object per "
            "line."
        )
    return row


def _check_unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the object has the key {twice!r} twice. Keep one of them.")
    return found


# An attribute must have a value: so "<j and k>", e-mail addresses and URLs in angle brackets stay
# text.
_ATTRIBUTE = r"""\s+([\w.:-]+)\s*=\s*("[^"]*"|'[^']*'|[^\s"'<>]+)"""
_TAG = rf"<(/?)([A-Za-z][\w.:-]*)((?:{_ATTRIBUTE.replace('(', '(?:')})*)\s*(/?)>"
_MARKUP = re.compile(rf"{_TAG}|<!--|<!\[CDATA\[|<\?|<!(?i:doctype)\b", re.DOTALL)
_ATTRIBUTES = re.compile(_ATTRIBUTE)
_ENTRY = re.compile(r"<(doc|top|topic)(?=[\s/>])", re.IGNORECASE)
_END = {kind: re.compile(rf"</{kind}\s*>", re.IGNORECASE) for kind in ("doc", "top", "topic")}
_CLOSED_BY = {"<!--": "-->", "<![CDATA[": "]]>", "<?": "?>"}
# Without the semicolon, "&" is text: "AT&T", "?a=1&copy=2".
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{0,31});")
_TREC_BLANKS = " \t\r\n\f\v"
_SPACES = re.compile(f"[{_TREC_BLANKS}]+")
# They format a part of a text; others end an element that is never closed.
_INLINE = frozenset({"a", "b", "br", "em", "font", "i", "p", "span", "strong", "sub", "sup", "u"})
_LABEL = {
    "num": re.compile(r"\s*number\s*:?\s*", re.IGNORECASE),
    "title": re.compile(r"\s*topic\s*:\s*", re.IGNORECASE),
}
_NUMBERS = ("num", "number")
_OUTSIDE, _APART = "outside of <DOC> and <top>", "outside of its elements"


@dataclass(frozen=True)
class _Mark:
    """Markup at ``start:end``; ``inner`` is the text of a CDATA section."""

    kind: Literal["open", "close", "empty", "other"]
    name: str
    start: int
    end: int
    inner: str = ""


@dataclass(frozen=True)
class _Element:
    """Element with its content at ``start:end``."""

    name: str
    start: int
    end: int
    is_closed: bool


def read_trec_text(
    text: str, fields: Collection[str] | None = None, where: str = "text"
) -> Iterator[tuple[int, dict[str, str | None]]]:
    """Yield the line and the fields of each document (``<DOC>``) or topic (``<top>``, ``<topic>``).

    A document has the key "docno", a topic the key "qid". Every other key is the name of an
    element, in lower case, with the text of all elements of that name, in their order and without
    tags; those that are not among ``fields`` are None. An element that is never closed ends at the
    next tag that opens an element, but for tags of formatting such as ``<b>``.

    ``fields`` holds names of elements in lower case. "text" of a document without ``<TEXT>`` is the
    whole document. None: only "text", which is the whole document, but for its ``<DOCNO>``.

    Text outside of documents and topics is an error, and so are entries that are not closed or
    have no id or two. Messages name the file, ``where``, and the line.
    """
    place, line, any_found = 0, 1, False
    for kind, start, body_start, body_end, end, number in _entries(text, where):
        _check_between(text[place:start], where, line)
        line += text.count("\n", place, start)
        at = f"{where}, line {line}: a <{text[start + 1 : start + 1 + len(kind)]}>"
        body = text[body_start:body_end]
        marks = _marks(body)
        elements = _elements(marks, len(body))
        if kind == "doc":
            yield line, _document(body, marks, elements, fields, at)
        else:
            yield line, _topic(body, marks, elements, fields or (), number, at)
        line += text.count("\n", start, end)
        place, any_found = end, True
    if any_found:
        _check_between(text[place:], where, line)
    if not any_found and text.strip(_TREC_BLANKS):
        raise ValueError(
            f"{where} has neither <DOC> nor <top>, so it is not a TREC file. Write JSON lines, one "
            "object with an id and its texts per line, or an id, a tab and a text per line."
        )


def _entries(text: str, where: str) -> Iterator[tuple[str, int, int, int, int, str]]:
    """Kind, start, start and end of the body, end, and attribute "number" of every entry."""
    place = 0
    while found := _ENTRY.search(text, place):
        tag = _MARKUP.match(text, found.start())
        if tag is None or tag[2] is None:  # "<doc" in a text
            place = found.end()
            continue
        kind = found[1].lower()
        end = _END[kind].search(text, tag.end())
        stop = len(text) if end is None else end.start()
        following = _ENTRY.search(text, tag.end(), stop)
        # Elements <top> and <topic> may occur in a document, but no entries in a topic.
        while following and kind == "doc" and following[1].lower() != kind:
            following = _ENTRY.search(text, following.end(), stop)
        if end is None or following is not None:
            line = text.count("\n", 0, found.start()) + 1
            raise ValueError(f"{where}, line {line}: a <{found[1]}> is never closed.")
        attributes = {
            name.lower(): html.unescape(value.strip("\"'"))
            for name, value in _ATTRIBUTES.findall(tag[3] or "")
        }
        names = ("number", "num", "id")
        number = next((attributes[name] for name in names if name in attributes), "")
        yield kind, found.start(), tag.end(), end.start(), end.end(), number
        place = end.end()


def _document(
    body: str,
    marks: list[_Mark],
    elements: list[_Element],
    fields: Collection[str] | None,
    at: str,
) -> dict[str, str | None]:
    numbers = [element for element in elements if element.name == "docno"]
    if len(numbers) != 1 or not numbers[0].is_closed:
        problem = "no <docno>" if not numbers else "a <docno> that is never closed"
        raise ValueError(f"{at} has {problem if len(numbers) < 2 else 'several <docno>'}.")
    docno = _plain(body, marks, numbers[0]).strip(_TREC_BLANKS)
    if not docno:
        raise ValueError(f"{at} has no <docno>.")
    found: dict[str, str | None] = {"docno": docno}
    if fields is not None:
        found |= _texts(body, marks, elements, fields)
        found["docno"] = docno
    if fields is None or ("text" in fields and "text" not in found):
        number = numbers[0]
        before = _plain(body, marks, _Element("", 0, number.start, True))
        after = _plain(body, marks, _Element("", number.end, len(body), True))
        found["text"] = _collapse_blanks(f"{before} {after}")
    return found


def _topic(
    body: str,
    marks: list[_Mark],
    elements: list[_Element],
    fields: Collection[str],
    number: str,
    at: str,
) -> dict[str, str | None]:
    place = 0
    ordered = sorted(elements, key=lambda element: element.start)
    for element in [*ordered, _Element("", len(body), len(body), True)]:
        if element.start > place:
            between = _Element("", place, element.start, True)
            _check_outside(_plain(body, marks, between), at, _APART)
        place = max(place, element.end)
    found = _texts(body, marks, elements, {*fields, *_NUMBERS} if not number else fields)
    for name, label in _LABEL.items():
        if found.get(name):
            found[name] = label.sub("", found[name] or "", count=1)
    qid = number or next((found[name] for name in _NUMBERS if found.get(name)), None)
    if not qid:
        raise ValueError(f"{at} has no <num>.")
    return {**{name: text for name, text in found.items() if name != "num"}, "qid": qid}


def _texts(
    body: str, marks: list[_Mark], elements: list[_Element], fields: Collection[str]
) -> dict[str, str | None]:
    """Text of all elements of each name; of nested ones of one name, that of the outer one."""
    parts: dict[str, list[str]] = {}
    ends: dict[str, int] = {}
    for element in elements:
        name = element.name
        own = parts.setdefault(name, [])
        if name in fields and element.start >= ends.get(name, 0):
            own.append(_plain(body, marks, element))
            ends[name] = element.end
    return {
        name: _collapse_blanks(" ".join(own)) if name in fields else None
        for name, own in parts.items()
    }


def _marks(text: str) -> list[_Mark]:
    """All markup of a text, in its order."""
    marks, place = [], 0
    unclosed: set[str] = set()  # so that no end is sought twice in vain
    while found := _MARKUP.search(text, place):
        start, place = found.span()
        if found[2] is not None:
            kind: Literal["open", "close", "empty"] = "open"
            kind = "close" if found[1] else "empty" if found[4] else kind
            marks.append(_Mark(kind, found[2].lower(), start, place))
            continue
        opening = found[0]
        closing = _CLOSED_BY.get(opening, ">")
        end = -1 if opening in unclosed else text.find(closing, place)
        if end < 0:
            unclosed.add(opening)
            continue  # text
        inner = text[place:end] if opening == "<![CDATA[" else ""
        place = end + len(closing)
        marks.append(_Mark("other", "", start, place, inner))
    return marks


def _elements(marks: list[_Mark], length: int) -> list[_Element]:
    """Elements, in the order of their tags that open them."""
    end_of: dict[int, tuple[int, bool]] = {}
    stack: list[int] = []
    n_open: dict[str, int] = {}
    for number, mark in enumerate(marks):
        if mark.kind == "open":
            stack.append(number)
            n_open[mark.name] = n_open.get(mark.name, 0) + 1
        elif mark.kind == "close" and n_open.get(mark.name):
            while True:
                inner = stack.pop()
                n_open[marks[inner].name] -= 1
                is_own = marks[inner].name == mark.name
                end_of[inner] = mark.start, is_own
                if is_own:
                    break
    following, elements = length, []
    for number in range(len(marks) - 1, -1, -1):
        mark = marks[number]
        if mark.kind != "open":
            continue
        end, is_closed = end_of.get(number, (length, False))
        elements.append(
            _Element(mark.name, mark.end, end if is_closed else min(end, following), is_closed)
        )
        if mark.name not in _INLINE:
            following = mark.start
    return elements[::-1]


def _plain(body: str, marks: list[_Mark], element: _Element) -> str:
    """Text of an element with blanks in place of tags, and with entities decoded."""
    pieces, place = [], element.start
    first = bisect_left(marks, element.start, key=lambda mark: mark.start)
    for number in range(first, len(marks)):
        mark = marks[number]
        if mark.end > element.end:
            break
        pieces += [_decode_entities(body[place : mark.start]), mark.inner]
        place = mark.end
    return " ".join([*pieces, _decode_entities(body[place : element.end])])


def _decode_entities(text: str) -> str:
    return _ENTITY.sub(lambda found: html.unescape(found[0]), text) if "&" in text else text


def _collapse_blanks(text: str) -> str:
    return _SPACES.sub(" ", text).strip(_TREC_BLANKS)


def _check_between(text: str, where: str, line: int) -> None:
    """Raise if there is text, of which ``line`` is the first line, between two entries."""
    n_blank = len(text) - len(text.lstrip(_TREC_BLANKS))
    _check_outside(text, f"{where}, line {line + text.count(chr(10), 0, n_blank)}", _OUTSIDE)


def _check_outside(text: str, at: str, where: str) -> None:
    """Raise if there is text outside of all entries, or of all elements of a topic."""
    if not text.strip(_TREC_BLANKS):
        return
    plain = _collapse_blanks(_plain(text, _marks(text), _Element("", 0, len(text), True)))
    if plain.strip("\ufeff"):
        raise ValueError(f"{at}: text {where}: {plain[:40]!r}. Put it inside, or remove it.")
