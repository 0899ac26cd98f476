"""Texts of messages: checks that name their parameter, settings as their user writes them, escapes.

Texts that come from files, such as names of systems, are made harmless for where they are shown:
one function per target. JSON, and tables that programs read again (runs, judgements, predictions,
converted data), keep texts as they are.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

from rankwise.runtime.renames import find_new_word

LISTS = ("features", "fields", "ignore")


class ArgumentError(ValueError):
    """An argument is wrong; ``problem`` is the message without its ``name``."""

    name: str
    problem: str

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(name, problem)
        self.name, self.problem = name, problem

    def __str__(self) -> str:
        return f"{self.name} {self.problem}"


class SourceError(ArgumentError):
    """Files, or settings of their columns, do not fit; wrong usage on the command line."""

    def __init__(self, problem: str) -> None:
        super().__init__("paths", problem)

    def __str__(self) -> str:
        return self.problem


def check_choice(name: str, value: object, known: Collection[Any], fix: str = "") -> None:
    """Refuse a value that is none of the known ones; True is not 1."""
    if not any(
        value is other
        or (isinstance(value, type(other)) and not isinstance(value, bool) and value == other)
        for other in known
    ):
        words = [word for word in known if isinstance(word, str)]
        hint = fix or (did_you_mean(value, words, "") if isinstance(value, str) else "")
        problem = f"must be one of {', '.join(map(repr, known))}, got {value!r}."
        problem = f"{problem} {find_new_word(problem) or hint}"
        raise ArgumentError(name, problem.rstrip())


def check_whole(name: str, value: object, least: int, fix: str = "") -> None:
    """Refuse what is not a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        problem = f"must be a whole number >= {least}, got {value!r}. {fix}"
        raise ArgumentError(name, problem.rstrip())


def check_share(name: str, value: object, fix: str = "") -> None:
    """Refuse what is not a number between 0 and 1, both excluded."""
    if not isinstance(value, Real) or not 0 < float(value) < 1:
        raise ArgumentError(name, f"must lie between 0 and 1, got {value!r}. {fix}".rstrip())


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """Question with the known name that is most similar; ``otherwise`` if none is."""
    known = list(known)
    same = [other for other in known if other.lower() == name.lower()]
    near = same or get_close_matches(name, known, n=1)
    return f"Did you mean {near[0]!r}?" if near else otherwise


def setting(name: str, value: Any = ...) -> str:
    """A parameter, by its Python name, with its value, as the user of this process writes it.

    Without a value, a placeholder is shown.
    """
    return _write(name, value)


@contextmanager
def settings_written(write: Callable[[str, Any], str]) -> Iterator[None]:
    """Let messages of the library write settings as ``write(name, value)``, in all threads."""
    global _write
    before, _write = _write, write
    try:
        yield
    finally:
        _write = before


def _format_argument(name: str, value: Any) -> str:
    if value is ...:
        return f"{name}=[…]" if name in LISTS else f"{name}='…'"
    return f"{name}={value!r}"


_write = _format_argument

# Control characters, marks that change the direction of text, invisible signs, ends of lines,
# and halves of surrogate pairs.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff]"
)
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_MARKDOWN = re.compile(
    r"[\\|*<>`$\[\]&~]|(?<!\w)_|_(?!\w)|:(?=//)|(?<=www)\.|(?<=\])\(", re.IGNORECASE
)
# In this order: the backslash of a replacement must stay.
_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "_": r"\_", "%": r"\%", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "|": r"\textbar{}", "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip
# What spreadsheets take for the start of a formula, also in full width.
_FORMULA = re.compile(r"[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def escape_hidden(text: str, keep: str = "") -> str:
    r"""Text with escapes, such as ``\x1b``, for what a terminal would obey or not show.

    ``keep`` are characters that stay, such as line ends between lines.
    """

    def escape(found: re.Match[str]) -> str:
        character, code = found[0], ord(found[0])
        if character in keep:
            return character
        return _SHORT.get(character) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")

    return _HIDDEN.sub(escape, text)


def join_lines(lines: Iterable[str]) -> str:
    """Lines of text for a terminal; what would end a line earlier is escaped."""
    return "\n".join(map(escape_hidden, lines))


def escape_table(text: str, form: str) -> str:
    """Text in a cell or a sentence of "markdown", "latex" or plain "text"."""
    text = escape_hidden(text)
    if form == "markdown":
        return _MARKDOWN.sub(r"\\\g<0>", text)
    return text if form == "text" else "".join(_LATEX.get(sign, sign) for sign in text)


def escape_spreadsheet(cell: Any) -> Any:
    """Cell of a CSV table for people: an apostrophe precedes text that would be a formula."""
    if not isinstance(cell, str):
        return cell
    is_formula = _FORMULA.match(cell) and not _NUMBER.fullmatch(cell)
    return "'" * bool(is_formula) + cell.replace("\r", r"\r")  # which Python's csv does not quote


def escape_figure(text: str, keep: str = "") -> str:
    """Text of Matplotlib, in which dollar signs would start formulas; see :func:`escape_hidden`."""
    return escape_hidden(text, keep).replace("$", r"\$")


def convert_to_json(value: Any) -> Any:
    """JSON value of nested results, mappings, sequences, sets, arrays, numbers; else the ``str``.

    NaN and infinities become null.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if hasattr(value, "tolist"):  # NumPy arrays and scalars, without importing NumPy
        return convert_to_json(value.tolist())
    if hasattr(value, "to_dict"):  # a result
        return convert_to_json(value.to_dict())
    if isinstance(value, Mapping):
        return {str(key): convert_to_json(item) for key, item in value.items()}
    if isinstance(value, Sequence | Set):
        return [convert_to_json(item) for item in value]
    return str(value)


_PACKAGE = __name__.partition(".")[0]


def callers_level() -> int:
    """Stack level of the first frame outside of this package, as ``warnings.warn`` counts them.

    The level is counted from the function that calls this one.
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_back and str(frame.f_globals.get("__name__", "")).partition(".")[0] == _PACKAGE:
        level, frame = level + 1, frame.f_back
    return level
