"""Read documents and queries from mappings, iterators, frames, JSON lines and TREC files.

References
----------
.. [1] Thakur et al., "BEIR: a heterogeneous benchmark for zero-shot evaluation of information
   retrieval models", NeurIPS 2021: ``corpus.jsonl``, ``queries.jsonl``, ``qrels/*.tsv``.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from numbers import Integral
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from rankwise.checks.exact_values import is_unicode
from rankwise.datasets.readers.delimited import DelimitedFile
from rankwise.datasets.readers.quotes import names_are_quoted, unquote
from rankwise.datasets.readers.text_columns import read_cells
from rankwise.datasets.readers.textfiles import (
    TextFile,
    check_line_ends,
    find_inner_mark,
    read_text,
)
from rankwise.datasets.table_columns import TEXT_DOCUMENT_IDS, TEXT_QUERY_IDS
from rankwise.runtime.frames import is_missing
from rankwise.runtime.messages import callers_level, setting
from rankwise.text.trec_text import read_trec_text

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
      brace), of TREC documents, or of text separated by tabs, see :func:`_tab_rows`.

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
    - the path of a file of JSON lines, TREC topics, or text separated by tabs.

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
    text = read_lines(path, encoding, can_choose=what == "document")
    is_json = any(suffix in (".jsonl", ".json", ".ndjson") for suffix in path.suffixes)
    start = text.lstrip(_BLANKS)
    if not is_json and not start.startswith("{"):
        # A TREC file begins with a tag, or has text that it refuses.
        is_tabbed = "\t" in text.lstrip("\r\n").partition("\n")[0] and not start.startswith("<")
        ids = TEXT_DOCUMENT_IDS if what == "document" else TEXT_QUERY_IDS
        rows = _tab_rows(text, ids, path) if is_tabbed else read_trec_text(text, fields, str(path))
        for number, row in rows:
            yield f"{what} at line {number}", row
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip(_BLANKS):
            yield f"line {number}", _json_object(line, f"{path}, line {number}")


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
    first = next((line for line in text.split("\n") if line.strip(_BLANKS)), "").removesuffix("\r")
    names = {name.strip('"').lower() for name in first.split("\t")}
    if names & set(ids) and names_are_quoted(first.encode()):
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
            f"{path} is a Parquet table, not text. Read it into a frame, and pass that."
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
