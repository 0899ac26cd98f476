"""Values of a column of any library as a NumPy array of numbers, text, dates or objects.

NumPy reads columns of pandas, Polars and Arrow, but leaves numbers of some types as objects
(Decimals of databases, numbers beside ``pandas.NA``), ignores the mask of masked arrays, and keeps
types of numbers with which little can be computed (float16, long double, foreign byte order).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Types of Polars, and of Arrow in pandas, that these libraries do not convert.
_NOT_IN_NUMPY = ("Int128", "UInt128", "string_view[pyarrow]")
# Bytes that an array may take beyond its characters.
_SPARE_BYTES = 1 << 21
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def convert_to_values(values: Any) -> NDArray[Any]:
    """Convert a column or table (also of pandas, Polars or Arrow) to an array to compute with.

    Booleans, integers, float32 or float64 if all values that are not missing are numbers; missing
    numbers are NaN. Any other values are returned as NumPy reads them; those that are masked become
    None.
    """
    if isinstance(values, np.ma.MaskedArray):
        return convert_to_values(_unmask(values))
    array = convert_to_array(values)
    kind = array.dtype.kind
    if kind == "f" and array.dtype not in _FLOATS:
        with np.errstate(over="ignore"):  # long doubles beyond float64 become infinite
            return array.astype(np.float64)
    if kind in "iu" and not array.dtype.isnative:
        return array.astype(array.dtype.newbyteorder("="))
    return _numbers_in(array) if kind == "O" else array


def convert_to_array(values: Any) -> NDArray[Any]:
    """Read any column as an array, also those that NumPy refuses; masked values become None."""
    if isinstance(values, np.ma.MaskedArray):
        return np.asarray(_unmask(values))
    if hasattr(getattr(values, "type", None), "index_type") and hasattr(values, "chunks"):
        # Of all chunks at once, Arrow gives the last entry of a dictionary for missing values.
        chunks = [np.asarray(chunk) for chunk in values.chunks]
        return np.concatenate(chunks) if chunks else np.empty(0, object)
    if str(getattr(values, "dtype", "")) not in _NOT_IN_NUMPY:
        return np.asarray(values)
    listed = values.to_list()
    array = np.empty(len(listed), dtype=object)
    array[:] = listed
    return array


def is_missing(value: Any) -> bool:
    """Whether a value is None, a NaN, or pandas' NA or NaT."""
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def is_number(value: Any) -> bool:
    """Whether a value is a real number, with Decimals and truth values."""
    return isinstance(value, Real | Decimal | np.bool_)


def first_merged(column: Any) -> int:
    """Smallest whole number that the floats of a column cannot tell from the next one.

    It is 2^53, less for narrow types. ``column`` is a column of any library, or a type of NumPy.
    """
    if not isinstance(column, np.dtype):
        column = getattr(column, "dtype", getattr(column, "type", None))
    kind = str(column).lower()
    if kind in ("float16", "halffloat", "halffloat[pyarrow]"):
        return 1 << 11
    return 1 << (24 if kind in ("float32", "float", "float[pyarrow]") else 53)


def check_one_type(
    items: Iterable[Any], texts: Iterable[str], name: str, where: Callable[[int], str]
) -> None:
    """Raise ValueError if text and another type give the same id, such as 1 and "1"."""
    are_text: dict[str, bool] = {}
    for row, (item, text) in enumerate(zip(items, texts, strict=True)):
        is_text = isinstance(item, str | bytes)
        if are_text.setdefault(text, is_text) != is_text:
            raise ValueError(
                f"{name} must be of one type, but {text} is text in one place and a number in "
                f"another, such as {where(row)}. Convert all to text."
            )


def _numbers_in(array: NDArray[Any]) -> NDArray[Any]:
    """Convert objects that are all numbers or missing; return any other objects unchanged."""
    values = array.ravel().tolist()
    kinds = set(map(type, values))
    if kinds <= {bool}:
        return array.astype(bool) if kinds else array
    if kinds <= {int}:
        try:
            return array.astype(np.int64)
        except OverflowError:
            pass
    if not all(is_number(value) or is_missing(value) for value in values):
        return array
    try:
        numbers = [math.nan if is_missing(value) else float(value) for value in values]
    except (ValueError, OverflowError):  # signalling NaN, integers beyond float64
        return array
    return np.array(numbers, dtype=np.float64).reshape(array.shape)


def _unmask(values: np.ma.MaskedArray[Any, Any]) -> NDArray[Any]:
    """Data of a masked array with missing values in place of masked ones."""
    if not np.ma.is_masked(values):
        return values.data
    if values.dtype.kind in "biuf":
        numbers = values.data.astype(np.float64)
        numbers[np.ma.getmaskarray(values)] = np.nan
        return numbers
    objects = values.data.astype(object)
    objects[np.ma.getmaskarray(values)] = None
    return objects


def text_array(strings: Sequence[str]) -> NDArray[Any]:
    """Array of fixed width, or of dtype object if a few long strings would make it large."""
    if fits_one_width(strings):
        return np.array(strings, dtype=f"<U{max(map(len, strings), default=1) or 1}")
    out = np.empty(len(strings), dtype=object)
    out[:] = strings
    return out


def fits_one_width(strings: Sequence[str]) -> bool:
    """Whether an array as wide as the longest string takes little more space than the characters.

    Such an array drops NUL characters at the end of a string.
    """
    if any(string.endswith("\0") for string in strings):
        return False
    width = max(map(len, strings), default=0)
    return 4 * width * len(strings) <= 32 * sum(map(len, strings)) + _SPARE_BYTES
