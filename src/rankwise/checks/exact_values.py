"""Values that must survive reading: whole numbers beyond 2^53, ids as text, and the rows of errors.

A :class:`RowError` says which row is wrong; readers of text turn it into an error of a line.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from math import inf
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.runtime.frames import check_one_type, convert_to_array, first_merged
from rankwise.runtime.messages import callers_level
from rankwise.typing import Float64Array


class RowError(ValueError):
    """What is wrong with a row, by its number in a table, from 0.

    ``problem`` says what was found, without the place. ``fix`` says what to do, with the mark or
    the clause that comes before it.
    """

    def __init__(self, problem: str, row: int, fix: str) -> None:
        super().__init__(f"{problem} at row {row}{fix}")
        self.problem = problem
        self.row = row
        self.fix = fix

    def at(self, row: int) -> RowError:
        """The same error with another number, as of a row of a larger table."""
        return RowError(self.problem, row, self.fix)

    def without_row(self) -> str:
        """The message without the place."""
        return f"{self.problem}{self.fix}"


# All whole numbers up to this one are doubles; beyond it, two of them can become one.
LARGEST_EXACT = 1 << 53


class NotExactError(ValueError):
    """float64 changes a whole number."""


def exact_float64(
    values: Any, name: str, where: Callable[[int], str] = "row {}".format
) -> Float64Array:
    """Convert n numbers, also objects of Decimal, to float64; whole numbers must keep their value.

    A value that is not a number, or a whole number that becomes another one, as 2^53 + 1 does,
    raises ValueError. ``where`` describes a row in messages.
    """
    array = np.asarray(values)
    if array.dtype.kind in "US":
        array = array.astype(object)
    if array.dtype.kind == "f" and array.ndim == 1 and not isinstance(values, np.ndarray):
        out = array.astype(np.float64, copy=False)
        # NumPy converts a list of whole and real numbers without a check.
        if hasattr(values, "dtype") or not (np.abs(out) >= LARGEST_EXACT).any():
            return out
        array = np.empty(len(values), dtype=object)
        array[:] = list(values)
    if array.dtype.kind == "O":
        try:
            out = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} must be numbers: {error}.") from None
        except OverflowError:
            row = next(row for row, value in enumerate(array.flat) if _is_too_large(value))
            raise ValueError(
                f"{name} must hold numbers up to 1.8e308, the largest of float64, got a larger one "
                f"at {where(row)}. Divide all by the same number, or pass ranks."
            ) from None
        rows = np.flatnonzero(np.abs(out) >= LARGEST_EXACT).tolist()
        bad = [row for row in rows if _changes(array.flat[row])]
        first = bad[0] if bad else None
    elif array.dtype.kind in "iu":
        out = array.astype(np.float64)
        # The largest integer of a type rounds up to a double that the type cannot hold.
        too_large = out >= 2.0 ** (64 if array.dtype.kind == "u" else 63)
        changed = too_large | (np.where(too_large, 0.0, out).astype(array.dtype) != array)
        first = int(changed.argmax()) if changed.any() else None
    elif array.dtype == np.longdouble:
        with np.errstate(over="ignore"):
            out = array.astype(np.float64)
        changed = np.isfinite(array) & (array == np.floor(array)) & (out != array)
        first = int(changed.argmax()) if changed.any() else None
    else:
        return array.astype(np.float64, copy=False)
    if first is not None:
        raise NotExactError(
            f"{name} must hold numbers that float64 keeps, got {array.flat[first]} at "
            f"{where(first)}, which would become {_text(out.flat[first])}. Subtract a common "
            "offset, or pass ranks."
        )
    return out


def check_exact(values: Any, numbers: NDArray[Any], name: str) -> None:
    """Raise NotExactError if ``numbers``, converted from ``values``, changed a whole number.

    ``values`` may be a column of any library, with missing values; its floats are not checked.
    """
    rows = np.flatnonzero(np.abs(numbers) >= LARGEST_EXACT)
    if not len(rows):
        return
    array = convert_to_array(values).ravel()
    if array.dtype.kind == "f" and isinstance(values, list | tuple):
        array = np.array(values, dtype=object).ravel()  # NumPy made floats of its integers
    if array.dtype.kind in "iuO":
        exact_float64(array[rows], name, lambda at: f"row {rows[at]}")


def order_keeping_float64(values: Any, name: str) -> Float64Array:
    """Numbers as float64; their dense ranks if float64 would change a whole number.

    For measures that only compare scores. See :func:`exact_float64` for the parameters.
    """
    try:
        return exact_float64(values, name)
    except NotExactError:
        array = np.empty(len(values), dtype=object)
        array[:] = [_exact(value) for value in values]
        return np.unique(array, return_inverse=True)[1].astype(np.float64)


def token_changes(token: bytes) -> bool:
    """Whether float64 changes a whole number in a file, such as 9007199254740993e0.

    A number counts to its last written digit: 1e23 names a double, though it is not one.
    """
    kept = float(token)
    if not LARGEST_EXACT <= abs(kept) < inf:
        return False
    written = Decimal(token.decode())
    exponent = written.as_tuple().exponent
    assert isinstance(exponent, int)
    loss = abs(Fraction(written) - Fraction(kept))
    return written == written.to_integral_value() and 2 * loss > Fraction(10) ** exponent


def _text(value: float) -> str:
    return str(int(value)) if np.isfinite(value) else str(value)


def _is_too_large(value: Any) -> bool:
    try:
        float(value)
    except OverflowError:
        return True
    return False


def _exact(value: Any) -> float | int | Fraction:
    """The number itself, in a type that compares exactly with the others."""
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, float) or not np.isfinite(float(value)):
        return float(value)
    if isinstance(value, np.floating):
        return Fraction(*value.as_integer_ratio())
    return Fraction(value.decode() if isinstance(value, bytes) else value)


def _changes(value: Any) -> bool:
    if isinstance(value, str | bytes):
        return token_changes(value.encode() if isinstance(value, str) else value)
    if isinstance(value, Decimal):
        return (
            value.is_finite() and value == value.to_integral_value() and int(value) != float(value)
        )
    return isinstance(value, Integral) and int(value) != float(value)


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
        texts = [_id_text(value, name, where, row, limit) for row, value in enumerate(items)]
        check_one_type(items, texts, name, where)
    if not is_unicode("".join(texts)):
        row = next(row for row, text in enumerate(texts) if not is_unicode(text))
        raise _half(name, where(row), texts[row])
    return texts


def id_text(value: Any, name: str) -> str:
    """One id as text, see :func:`id_texts`."""
    text = value if type(value) is str and value else _id_text(value, name, lambda _: "", 0)
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


def _id_text(
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


def check_unjudged(label: Any) -> float | None:
    """Label of unjudged rows (a finite number); None if they have none ("missing")."""
    if isinstance(label, str) and label == "missing":
        return None
    if isinstance(label, bool) or not isinstance(label, Real) or not math.isfinite(label):
        raise ValueError(f"unjudged must be a number such as -1, or 'missing', got {label!r}.")
    return float(label)
