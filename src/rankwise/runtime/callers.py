"""Location of warnings: the line of the user's code that called the library."""

from __future__ import annotations

import sys

_PACKAGE = __name__.partition(".")[0]


def callers_level() -> int:
    """Stack level of the first frame outside of this package, as ``warnings.warn`` counts them.

    The level is counted from the function that calls this one.
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_back and str(frame.f_globals.get("__name__", "")).partition(".")[0] == _PACKAGE:
        level, frame = level + 1, frame.f_back
    return level
