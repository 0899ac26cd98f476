"""Ids of queries and documents as text, as they would be written in a file."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from numbers import Integral
from typing import Any

import numpy as np

from rankwise.checks.exact_numbers import LARGEST_EXACT
from rankwise.runtime.callers import callers_level
from rankwise.runtime.column_values import check_one_type, convert_to_array, first_merged

# What pandas, R and databases write for missing values, and pandas reads as such.
_WORDS = {
    "NaN", "nan", "-NaN", "-nan", "NA", "<NA>", "#NA", "N/A", "n/a", "#N/A", "NULL", "null", "None",
    "NaT", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN",
}  # fmt: skip


class MissingWordsWarning(UserWarning):
    """Warning that ids are spelled as missing values are, such as NaN or NULL."""


def warn_of_missing_words(
    ids: Sequence[str], what: str, counts: Sequence[int] | None = None
) -> None:
    """Warn about ids spelled as missing values are, which are kept: NA may be an id.

    ``counts`` are the rows of each id; None: one row each.
    """
    if _WORDS.isdisjoint(ids):
        return
    if counts is None:
        found = Counter(text for text in ids if text in _WORDS)
    else:
        pairs = zip(ids, counts, strict=True)
        found = Counter({text: int(n) for text, n in pairs if text in _WORDS})
    listed = ", ".join(f"{word!r} ({n})" for word, n in found.most_common())
    warnings.warn(
        f"{what}: {found.total()} ids are spelled as programs write missing values, {listed}, and "
        "are kept as ids of these names. Drop their rows, or leave the cells empty, if the ids are "
        "missing.",
        MissingWordsWarning,
        stacklevel=callers_level(),
    )


def id_texts(
    values: Any,
    name: str,
    where: Callable[[int], str] = "row {}".format,
    *,
    limit: int | None = None,
) -> list[str]:
    """Ids as text, unchanged; whole numbers lose the ``.0`` that a float column gave them.

    Ids are text, integers, whole floats below 2^53 (2^24 in float32, 2^11 in float16), or other
    objects that have a text, such as dates. ``limit`` is the smallest whole number that the floats
    do not hold exactly (default: by the type of ``values``). ``where`` describes a row in messages.

    Raises ValueError if an id is missing (None, NaN, NaT, NA, masked or empty text), is a number
    that is not whole or text that UTF-8 cannot hold, or if two ids of different types have the same
    text, such as 1 and "1".
    """
    if isinstance(values, np.ma.MaskedArray):
        values = convert_to_array(values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        return values.astype(str).tolist()
    items = values.tolist() if isinstance(values, np.ndarray) and values.dtype.kind == "U" else None
    if items is None:
        items = list(values)
    if set(map(type, items)) <= {str}:
        if "" in items:
            raise _missing(name, where(items.index("")), "")
        texts = items
    else:
        limit = first_merged(values) if limit is None else limit
        texts = [_text(value, name, where, row, limit) for row, value in enumerate(items)]
        check_one_type(items, texts, name, where)
    if not is_unicode("".join(texts)):
        row = next(row for row, text in enumerate(texts) if not is_unicode(text))
        raise _half(name, where(row), texts[row])
    return texts


def id_text(value: Any, name: str) -> str:
    """One id as text, see :func:`id_texts`."""
    text = value if type(value) is str and value else _text(value, name, lambda _: "", 0)
    if not is_unicode(text):
        raise _half(name, "", text)
    return text


def is_unicode(text: str) -> bool:
    """Whether UTF-8 can hold a text: not if it has halves of surrogate pairs, as JSON may have."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _text(
    value: Any, name: str, where: Callable[[int], str], row: int, limit: int = LARGEST_EXACT
) -> str:
    if isinstance(value, str):
        text = str.__str__(value)  # of a member of an Enum, its value, as pandas and Polars read it
    elif isinstance(value, np.datetime64 | np.timedelta64):
        text = _time_text(value)
    elif value is None or type(value).__name__ == "NAType":
        text = ""
    elif isinstance(value, bytes):
        try:
            text = value.decode()
        except UnicodeDecodeError:
            raise _wrong(name, where(row), value, "UTF-8 text") from None
    elif isinstance(value, bool | np.bool_):
        raise _wrong(name, where(row), value, "text or integers")
    elif isinstance(value, Integral):
        text = str(int(value))
    elif isinstance(value, float | np.floating | Decimal):
        if value != value:
            text = ""
        elif not _is_whole(value, limit := min(limit, first_merged(value))):
            kind = {1 << 11: "float16", 1 << 24: "float32"}.get(limit, "float64")
            rule = f"text or whole numbers that {kind} holds exactly"
            raise _wrong(name, where(row), value, rule)
        else:
            text = str(int(value))
    else:
        text = "" if value != value else str(value)
    if not text:
        raise _missing(name, where(row), value)
    return text


def _time_text(value: Any) -> str:
    """Text of a time of NumPy, as Python and pandas write it; empty if it is missing."""
    if np.isnat(value):
        return ""
    found = value.item()
    if isinstance(found, int):  # finer than microseconds, the finest that Python has
        coarse = value.astype(f"{value.dtype.kind}8[us]")
        found = coarse.item() if coarse == value else str(value).replace("T", " ")
    return str(found)


def _is_whole(value: Any, limit: int) -> bool:
    if isinstance(value, Decimal):
        return value.is_finite() and value == value.to_integral_value()
    number = float(value)  # float16 does not hold the limit
    whole = math.isfinite(number) and number.is_integer() and number == value
    return whole and abs(number) < limit


def _missing(name: str, where: str, value: Any) -> ValueError:
    at = f" at {where}" if where else ""
    shown = float(value) if isinstance(value, np.floating) else value
    return ValueError(
        f"{name} must not be missing, got {shown!r}{at}. Drop such rows, or name them."
    )


def _half(name: str, where: str, text: str) -> ValueError:
    at = f" at {where}" if where else ""
    return ValueError(
        f"{name} must be text that UTF-8 can hold, got {text!r:.60}{at}, with half of a surrogate "
        "pair. Decode the text again, or number the ids."
    )


def _wrong(name: str, where: str, value: Any, rule: str) -> ValueError:
    at = f" at {where}" if where else ""
    return ValueError(f"{name} must be {rule}, got {value!r}{at}. Pass ids as text.")
