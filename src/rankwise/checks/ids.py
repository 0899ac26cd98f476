"""Ids of queries and documents as text, as they would be written in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from numbers import Integral
from typing import Any

import numpy as np

from rankwise.checks.exact_numbers import LARGEST_EXACT


def id_texts(values: Any, name: str, where: Callable[[int], str] = "row {}".format) -> list[str]:
    """Ids as text, unchanged; whole numbers lose the ``.0`` that a float column gave them.

    Parameters
    ----------
    values : array or iterable
        Text, integers, whole floats below 2^53, or other objects that have a text, such as dates.
    name : str
        Name of the argument in messages.
    where : callable
        Description of a row, for messages.

    Raises
    ------
    ValueError
        If an id is missing (None, NaN, NaT, NA or empty text), is a number that is not whole, or if
        two ids of different types have the same text, such as 1 and "1".
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        return values.astype(str).tolist()
    items = values.tolist() if isinstance(values, np.ndarray) and values.dtype.kind == "U" else None
    if items is None:
        items = list(values)
    if set(map(type, items)) <= {str}:
        if "" in items:
            raise _missing(name, where(items.index("")), "")
        return items
    texts = [_text(value, name, where, row) for row, value in enumerate(items)]
    _check_one_type(items, texts, name, where)
    return texts


def id_text(value: Any, name: str) -> str:
    """One id as text, see :func:`id_texts`."""
    if type(value) is str and value:
        return value
    return _text(value, name, lambda _: "", 0)


def _text(value: Any, name: str, where: Callable[[int], str], row: int) -> str:
    if isinstance(value, str):
        text = str(value)
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
        elif not _is_whole(value):
            raise _wrong(
                name, where(row), value, "text or whole numbers that float64 holds exactly"
            )
        else:
            text = str(int(value))
    else:
        text = "" if value != value else str(value)
    if not text:
        raise _missing(name, where(row), value)
    return text


def _is_whole(value: Any) -> bool:
    if isinstance(value, Decimal):
        return value.is_finite() and value == value.to_integral_value()
    return bool(np.isfinite(value)) and value == np.floor(value) and abs(value) < LARGEST_EXACT


def _missing(name: str, where: str, value: Any) -> ValueError:
    at = f" at {where}" if where else ""
    return ValueError(
        f"{name} must not be missing, got {value!r}{at}. Drop such rows, or name them."
    )


def _wrong(name: str, where: str, value: Any, rule: str) -> ValueError:
    at = f" at {where}" if where else ""
    return ValueError(f"{name} must be {rule}, got {value!r}{at}. Pass ids as text.")


def _check_one_type(
    items: Iterable[Any], texts: list[str], name: str, where: Callable[[int], str]
) -> None:
    """Raise if text and another type give the same id."""
    are_text: dict[str, bool] = {}
    for row, (item, text) in enumerate(zip(items, texts, strict=True)):
        is_text = isinstance(item, str | bytes)
        if are_text.setdefault(text, is_text) != is_text:
            raise ValueError(
                f"{name} must be of one type, but {text} is text in one place and a number in "
                f"another, such as {where(row)}. Convert all to text."
            )
