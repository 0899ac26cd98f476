"""Numbers as float64, without the silent loss of digits of whole numbers beyond 2^53."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from math import inf
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.runtime.column_values import convert_to_array
from rankwise.typing import Float64Array

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
        first = _first_changed(array, out)
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


def _first_changed(array: NDArray[Any], out: Float64Array) -> int | None:
    """First integer that differs from its double, or None."""
    # The largest integer of a type rounds up to a double that the type cannot hold.
    too_large = out >= 2.0 ** (64 if array.dtype.kind == "u" else 63)
    back = np.where(too_large, 0.0, out).astype(array.dtype)
    changed = too_large | (back != array)
    return int(changed.argmax()) if changed.any() else None
