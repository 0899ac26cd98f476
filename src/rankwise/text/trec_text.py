"""Documents and topics of TREC files: elements of a loose SGML without a document type.

References
----------
.. [1] TREC format of documents, ``<DOC>`` with ``<DOCNO>``, and of topics, ``<top>`` with
   ``<num>`` or, in later tracks, ``<topic number="…">``.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

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
_BLANKS = " \t\r\n\f\v"
_SPACES = re.compile(f"[{_BLANKS}]+")
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
    if not any_found and text.strip(_BLANKS):
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
    docno = _plain(body, marks, numbers[0]).strip(_BLANKS)
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
    return _SPACES.sub(" ", text).strip(_BLANKS)


def _check_between(text: str, where: str, line: int) -> None:
    """Raise if there is text, of which ``line`` is the first line, between two entries."""
    n_blank = len(text) - len(text.lstrip(_BLANKS))
    _check_outside(text, f"{where}, line {line + text.count(chr(10), 0, n_blank)}", _OUTSIDE)


def _check_outside(text: str, at: str, where: str) -> None:
    """Raise if there is text outside of all entries, or of all elements of a topic."""
    if not text.strip(_BLANKS):
        return
    plain = _collapse_blanks(_plain(text, _marks(text), _Element("", 0, len(text), True)))
    if plain.strip("\ufeff"):
        raise ValueError(f"{at}: text {where}: {plain[:40]!r}. Put it inside, or remove it.")
