"""Format numbers for readers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rankwise.selection.leaderboard_text import p_value

NONE = "–"
MINUS = "−"
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float | None, digits: int = 4) -> str:
    """Format with fixed digits; None and NaN become a dash."""
    if value is None or math.isnan(value):
        return NONE
    return f"{value:.{digits}f}".replace("-", MINUS)


def format_signed(value: float | None, digits: int = 4) -> str:
    """Format with a sign."""
    if value is None or math.isnan(value):
        return NONE
    return f"{value:+.{digits}f}".replace("-", MINUS)


def seconds(value: float | None) -> str:
    """Format with two or three significant digits in ms, s, min or h."""
    if value is None:
        return NONE
    if value < 1:
        return f"{1000 * value:.3g} ms" if value < 0.0995 else f"{1000 * value:.0f} ms"
    if value < 120:
        return f"{value:.3g} s"
    return f"{value / 60:.3g} min" if value < 7200 else f"{value / 3600:.3g} h"


def size(value: float | None) -> str:
    """Format in MB or GB."""
    if value is None:
        return NONE
    return f"{value / 1e6:.0f} MB" if value < 1e9 else f"{value / 1e9:.2f} GB"


def setting(value: Any) -> str:
    """Format a parameter: powers of two as powers, other numbers with four digits."""
    if isinstance(value, float) and value > 0 and math.isfinite(value):
        mantissa, exponent = math.frexp(value)
        if mantissa == 0.5 and abs(exponent - 1) > 4:
            return "2" + str(exponent - 1).translate(_SUPERSCRIPT)
        return f"{value:.4g}"
    return str(value)


def count(value: int) -> str:
    """Format with thin spaces between thousands."""
    return f"{value:,}".replace(",", "\u2009")


FILTERS: dict[str, Callable[..., str]] = {
    "number": number,
    "signed": format_signed,
    "p_value": p_value,
    "seconds": seconds,
    "size": size,
    "setting": setting,
    "count": count,
}
