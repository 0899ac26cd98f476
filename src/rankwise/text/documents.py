"""Read documents and queries from mappings, iterators, frames, JSON lines and TREC files.

References
----------
.. [1] TREC format of documents, ``<DOC>`` with ``<DOCNO>``, and of topics, ``<top>`` with
   ``<num>``.
.. [2] Thakur et al., "BEIR: a heterogeneous benchmark for zero-shot evaluation of information
   retrieval models", NeurIPS 2021: ``corpus.jsonl``, ``queries.jsonl``, ``qrels/*.tsv``.
"""

from __future__ import annotations

import html
import json
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import narwhals as nw

from rankwise.datasets.readers.textfiles import read_text
from rankwise.runtime.callers import callers_level

DOCUMENT_IDS = ("doc_id", "docno", "docid", "_id", "id")
QUERY_IDS = ("qid", "query_id", "q_id", "_id", "id")
QUERY_TEXTS = ("text", "query", "title")
_ENTRY = re.compile(r"<(doc|top)\b[^<>]*>", re.IGNORECASE)
_END = {kind: re.compile(rf"</{kind}\s*>", re.IGNORECASE) for kind in ("doc", "top")}
_TAG = re.compile(r"<(\w+)\b[^<>]*>")
_ANY_TAG = re.compile(r"</?\w+[^<>]*>")
_DOCNO = re.compile(r"<docno\b[^<>]*>.*?</docno\s*>", re.IGNORECASE | re.DOTALL)


def as_documents(documents: Any, fields: tuple[str, ...]) -> Iterator[tuple[str, list[str]]]:
    """Yield the id and the field texts of each document.

    Parameters
    ----------
    documents : mapping, iterable of mappings, frame, or path
        One of:

        - a mapping from document id to text, or to a mapping from field to text;
        - mappings, or rows of a frame, with an id ("doc_id", "docno", "docid", "_id" or "id") and
          one text per field;
        - the path of a file of JSON lines (``.jsonl``, ``.json``) or of TREC documents (any other
          suffix).

        Fields that are missing or None are empty.

    Raises
    ------
    TypeError, ValueError
        If ``documents`` is none of these, a document has no id, a text is not a str, or no
        document has any of the fields.

    Warns
    -----
    UserWarning
        If a field occurs in no document.
    """
    with _naming(documents):
        missing, other = set(fields), dict[str, None]()
        for identifier, texts in _pairs(documents, DOCUMENT_IDS, "document"):
            if isinstance(texts, str) and len(fields) == 1:
                texts = {fields[0]: texts}
            if not isinstance(texts, Mapping):
                raise TypeError(
                    f"document {identifier!r} must have a mapping from field to text, got "
                    f"{type(texts).__name__}. Fields: {', '.join(fields)}."
                )
            if missing:
                missing.difference_update(texts)
                other |= dict.fromkeys(str(name) for name in texts if name not in fields)
            yield identifier, [_text(texts.get(name), identifier, name) for name in fields]
        others = [name for name in other if name not in DOCUMENT_IDS]
        absent = " or ".join(repr(name) for name in fields if name in missing)
        found = f"no document has a field {absent}, they have {', '.join(map(repr, others))}"
        if others and len(missing) == len(fields):
            raise ValueError(f"{found}. To index them, pass fields=[…].")
        if others and missing:
            warnings.warn(f"{found}.", UserWarning, stacklevel=callers_level())


def as_queries(queries: Any) -> dict[str, str]:
    """Return the text of every query, keyed by query id.

    Parameters
    ----------
    queries : str, mapping, iterable, frame, or path
        One of:

        - a single text, which gets the id "1";
        - a mapping from query id to text;
        - an iterable of texts, which get the ids "1", "2", and so on;
        - mappings, or rows of a frame, with an id ("qid", "query_id", "q_id", "_id" or "id") and a
          text ("text", "query" or "title");
        - the path of a file of JSON lines or TREC topics.

    Raises
    ------
    TypeError, ValueError
        If ``queries`` is none of these, a query has no id, or an id occurs twice.
    """
    if isinstance(queries, str):
        queries = [queries]
    if isinstance(queries, list | tuple) and all(isinstance(query, str) for query in queries):
        return {str(number): query for number, query in enumerate(queries, start=1)}
    found: dict[str, str] = {}
    with _naming(queries):
        for identifier, texts in _pairs(queries, QUERY_IDS, "query"):
            if identifier in found:
                raise ValueError(f"query {identifier!r} comes a second time. Ids must differ.")
            if isinstance(texts, Mapping):
                texts = next((texts[name] for name in QUERY_TEXTS if texts.get(name)), None)
            found[identifier] = _text(texts, identifier, "query")
    return found


@contextmanager
def _naming(given: Any) -> Iterator[None]:
    """Prefix error messages with the path of the file that caused them."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if not isinstance(given, Path) or str(given) in str(error):
            raise
        raise ValueError(f"{given}: {error}") from None


def _pairs(given: Any, ids: tuple[str, ...], what: str) -> Iterator[tuple[str, Any]]:
    if isinstance(given, Path):
        given = _read(given)
    elif (frame := nw.from_native(given, pass_through=True)) is not given:
        collected = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
        given = collected.iter_rows(named=True)
    if isinstance(given, Mapping):
        yield from ((str(identifier), texts) for identifier, texts in given.items())
        return
    if isinstance(given, str) or not isinstance(given, Iterable):
        fix = (
            f"To read a file, pass Path({given!r})" if isinstance(given, str) else "Pass {id: text}"
        )
        raise TypeError(
            f"{what} texts must be a mapping, an iterable of mappings, a frame or a Path, got "
            f"{type(given).__name__}. {fix}."
        )
    for number, row in enumerate(given):
        if not isinstance(row, Mapping):
            raise TypeError(
                f"{what} {number} must be a mapping with an id, got {type(row).__name__}. "
                f"Pass {{id: text}} or mappings with one of {', '.join(ids)}."
            )
        identifier = next((row[name] for name in ids if row.get(name) is not None), None)
        if identifier is None:
            raise ValueError(
                f"{what} {number} has no id, got {sorted(map(str, row))}. Name it {ids[0]!r}."
            )
        yield str(identifier), row


def _text(value: Any, identifier: str, name: str) -> str:
    if value is None or value != value:  # NaN of a frame
        return ""
    if not isinstance(value, str):
        raise TypeError(
            f"{name} of {identifier!r} must be text, got {type(value).__name__}. Convert it first."
        )
    return value


def _read(path: Path) -> Iterator[dict[str, Any]]:
    text = read_text(path).decode("utf-8", "replace")
    if any(suffix in (".jsonl", ".json") for suffix in path.suffixes):
        for number, line in enumerate(text.splitlines(), start=1):
            if line.strip():
                try:
                    row = json.loads(line)
                except json.JSONDecodeError as error:
                    raise ValueError(f"{path}, line {number}: not valid JSON: {error}.") from None
                if not isinstance(row, dict):
                    raise ValueError(f"{path}, line {number}: must be a JSON object.")
                yield row
        return
    yield from read_trec_text(text, str(path))


def read_trec_text(text: str, name: str = "text") -> Iterator[dict[str, str]]:
    """Parse the documents (``<DOC>``) or topics (``<top>``) of a TREC file.

    A document has the key "docno", one key in lower case for every other tag, and "text": the
    whole document without tags. A topic has the key "qid" and one key per tag. The tags of topics
    need not be closed.

    Raises
    ------
    ValueError
        If the file has neither documents nor topics, a document has no ``<DOCNO>``, or a topic has
        no ``<num>``.
    """
    place, any_found = 0, False
    while found := _ENTRY.search(text, place):
        kind = found[1].lower()
        end = _END[kind].search(text, found.end())
        if end is None:
            raise ValueError(f"{name}: a <{found[1]}> is never closed.")
        body, place, any_found = text[found.end() : end.start()], end.end(), True
        is_topic = kind == "top"
        tags, key = _tags(body, is_topic), "num" if is_topic else "docno"
        if not tags.get(key):
            raise ValueError(f"{name}: a <{found[1]}> has no <{key}>.")
        if is_topic:
            tags["qid"] = re.sub(r"^number:?\s*", "", tags.pop("num"), flags=re.IGNORECASE)
        elif "text" not in tags:
            tags["text"] = _plain(_DOCNO.sub(" ", body, count=1))
        yield tags
    if not any_found and text.strip():
        raise ValueError(f"{name} has neither <DOC> nor <top>, so it is not a TREC file.")


def _tags(body: str, is_topic: bool) -> dict[str, str]:
    """Map each tag name, in lower case, to the text of its first occurrence, in one pass."""
    tags: dict[str, str] = {}
    unclosed: set[str] = set()
    place = 0
    while found := _TAG.search(body, place):
        name, place = found[1].lower(), found.end()
        if is_topic:
            following = _ANY_TAG.search(body, place)
            end = len(body) if following is None else following.start()
            tags.setdefault(name, _plain(body[place:end]))
        elif name not in unclosed:
            close = re.compile(rf"</{name}\s*>", re.IGNORECASE).search(body, place)
            if close is None:
                unclosed.add(name)
                continue
            tags.setdefault(name, _plain(body[place : close.start()]))
            place = close.end()
    return tags


def _plain(text: str) -> str:
    """Remove tags, decode entities and collapse white space."""
    return " ".join(html.unescape(_ANY_TAG.sub(" ", text)).split())
