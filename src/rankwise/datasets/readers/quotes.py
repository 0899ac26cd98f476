"""Quotation marks in text separated by tabs: when they enclose a field, and when they are text.

Most programs that write such text quote nothing, so a mark at the start of a field must not swallow
the lines up to the next one. Two kinds of programs quote nevertheless: those that quote all text
also quote the names in the first line, and pandas quotes a field that holds marks, doubled.
"""

from __future__ import annotations

import re

# A field that pandas quoted because it holds marks, or because it is empty.
ENCLOSED = r'^"(([^"]*"")+[^"]*)?"$'
_ENCLOSED_BYTES = re.compile(ENCLOSED.encode())


def names_are_quoted(line: bytes) -> bool:
    """Whether a header line separated by tabs quotes every name."""
    names = line.rstrip(b"\r\n").split(b"\t")
    return all(len(name) > 1 and name[:1] == name[-1:] == b'"' for name in names)


def unquote(field: bytes) -> bytes:
    """Text of a field, without the marks that pandas puts around fields with marks."""
    if _ENCLOSED_BYTES.fullmatch(field):
        return field[1:-1].replace(b'""', b'"')
    return field
