"""Texts that come from files, such as names of systems, made harmless for where they are shown.

One function per target. JSON, and tables that programs read again (runs, judgements, predictions,
converted data), keep texts as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

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
    return _HIDDEN.sub(lambda found: _escape(found[0], keep), text)


def _escape(character: str, keep: str) -> str:
    if character in keep:
        return character
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")


def join_lines(lines: Iterable[str]) -> str:
    """Lines of text for a terminal; what would end a line earlier is escaped."""
    return "\n".join(map(escape_hidden, lines))


def escape_table(text: str, form: str) -> str:
    """Text in a cell or a sentence of "markdown" or "latex"."""
    text = escape_hidden(text)
    if form == "markdown":
        return _MARKDOWN.sub(r"\\\g<0>", text)
    return "".join(_LATEX.get(character, character) for character in text)


def escape_spreadsheet(cell: Any) -> Any:
    """Cell of a CSV table for people: an apostrophe precedes text that would be a formula."""
    if not isinstance(cell, str):
        return cell
    is_formula = _FORMULA.match(cell) and not _NUMBER.fullmatch(cell)
    return "'" * bool(is_formula) + cell.replace("\r", r"\r")  # which Python's csv does not quote


def escape_figure(text: str, keep: str = "") -> str:
    """Text of Matplotlib, in which dollar signs would start formulas; see :func:`escape_hidden`."""
    return escape_hidden(text, keep).replace("$", r"\$")
