"""Values of a table's columns by role: numbers that fit, and ids as they were written."""

from __future__ import annotations

import warnings
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import DTypeLike, NDArray

from rankwise.checks.exact_numbers import LARGEST_EXACT, exact_float64
from rankwise.checks.frames import TIMES, kind_of, numbers_of
from rankwise.checks.ids import MissingWordsWarning as MissingWordsWarning  # exported by datasets
from rankwise.checks.ids import id_texts, warn_of_missing_words
from rankwise.checks.row_errors import RowError
from rankwise.runtime.callers import callers_level
from rankwise.runtime.column_values import (
    check_one_type,
    convert_to_array,
    convert_to_values,
    first_merged,
    is_missing,
    text_array,
)
from rankwise.runtime.vocabulary import setting
from rankwise.typing import Float64Array


def label_fix() -> str:
    """What to do about labels that are not numbers."""
    return (
        "Write the grades as numbers in rank order, such as 0 for the lowest, or name a column of "
        f"numbers: {setting('label')}."
    )


def read_numbers(what: str, name: str, column: nw.Series[Any]) -> Float64Array:
    """One number per row; NaN if it is missing."""
    kind = kind_of(column)
    if kind is None:
        return numbers_of(column)
    if kind == "categories":
        categories = convert_to_values(column.to_native())
        if categories.dtype.kind in "biuf":
            return categories.astype(np.float64)
    fix = f"Encode it as numbers, or leave it out of {setting('features')}."
    if what == "label":
        fix = label_fix()
    if what == "scores":
        fix = "Name a column of numbers."
    if kind in TIMES:
        fix = f"Replace it by a number, such as {TIMES[kind]}."
    raise ValueError(f"{what} must hold numbers, column {name!r} holds {kind}. {fix}")


def check_fits(name: str, values: Float64Array, stored: NDArray[Any]) -> None:
    """Raise ValueError if a finite number has become infinite; warn of whole numbers made equal."""
    if values.dtype == stored.dtype:
        return
    lost = np.isinf(stored) & ~np.isinf(values)
    if lost.any():
        row = int(lost.argmax())
        raise RowError(
            f"features must fit {stored.dtype}, column {name!r} has {values[row]:g}",
            row,
            ". Scale the column, or read it in Python with dtype=np.float64.",
        )
    large = np.flatnonzero(np.abs(values) >= first_merged(stored.dtype))
    whole = values[large][np.floor(values[large]) == values[large]]
    if len(np.unique(whole.astype(stored.dtype))) < len(np.unique(whole)):
        first = whole[int((whole.astype(stored.dtype) != whole).argmax())]
        warnings.warn(
            f"column {name!r} holds whole numbers that {stored.dtype} makes equal, such as "
            f"{first:.0f}. Subtract a common offset, or read it in Python with dtype=np.float64.",
            UserWarning,
            stacklevel=callers_level(),
        )


def read_finite(what: str, name: str, column: nw.Series[Any]) -> Float64Array:
    """One finite number per row, exact in float64; weights are >= 0."""
    values = read_exact(what, name, column)
    bad = ~np.isfinite(values)
    if bad.any():
        row = int(bad.argmax())
        raise RowError(
            f"{what} must be finite, column {name!r} has {values[row]}",
            row,
            f". Drop or fill such rows.{_describe_unjudged(what)}",
        )
    if what == "sample_weight" and (values < 0).any():
        row = int((values < 0).argmax())
        raise RowError(
            f"{what} must be >= 0, column {name!r} has {values[row]}",
            row,
            ". Use 0 to leave a row out.",
        )
    return values


def read_exact(what: str, name: str, column: nw.Series[Any]) -> Float64Array:
    """One number per row, NaN if it is missing; float64 must keep whole numbers."""
    values = read_numbers(what, name, column).astype(np.float64, copy=False)
    rows = np.flatnonzero(np.abs(values) >= LARGEST_EXACT)
    if len(rows) and not column.dtype.is_float():
        # Without the missing ones, with which Arrow would convert integers to floats.
        large = convert_to_array(column[rows.tolist()].to_native())
        exact_float64(large, f"{what} in column {name!r}", lambda at: f"row {rows[at]}")
    return values


def _describe_unjudged(what: str) -> str:
    """Hint at what rows without a judgement may be used for."""
    if what != "label":
        return ""
    missing = setting("unjudged", "missing")
    return f" Comparisons and evaluations also take rows without a judgement: {missing}."


def read_document_ids(name: str, column: nw.Series[Any]) -> NDArray[Any]:
    """Ids as text."""
    found = read_present_ids("doc_id", name, column)
    ids = list(found) if found.dtype.kind in "mM" else found.tolist()  # not as numbers
    odd = next((row for row, value in enumerate(ids) if isinstance(value, bytes)), None)
    if odd is not None:
        raise RowError(
            f"doc_id must hold text or numbers, column {name!r} has {ids[odd]!r}",
            odd,
            ". Decode the bytes.",
        )
    return text_array(id_texts(ids, f"doc_id (column {name!r})"))


def read_present_ids(what: str, name: str, column: nw.Series[Any]) -> NDArray[Any]:
    """Ids of all rows, none of them missing; whole floats and decimals are integers.

    Libraries store integers as floats once a column has had missing values, and databases as
    decimals.
    """
    ids = convert_to_array(column.to_native())
    missing = np.zeros(len(ids), dtype=bool)
    if ids.dtype.kind in "fmM":
        missing = np.isnan(ids)
    elif ids.dtype.kind in "OU":
        listed = ids.tolist()
        missing[:] = [is_missing(value) or value == "" for value in listed]
    if missing.any():
        row = int(missing.argmax())
        raise RowError(f"{what} must not be missing, column {name!r} is empty", row, ".")
    if ids.dtype.kind in "OU":
        texts = [value for value in ids.tolist() if isinstance(value, str)]
        warn_of_missing_words(texts, f"column {name!r}")
    if ids.dtype.kind == "O":
        check_one_type(ids, map(str, ids), f"{what} (column {name!r})", "row {}".format)
    numbers = convert_to_values(ids)
    limit = first_merged(ids.dtype)
    beyond = numbers.dtype.kind == "f" and (np.isfinite(numbers) & (np.abs(numbers) >= limit))
    if ids.dtype.kind == "f" and np.any(beyond):
        row = int(np.argmax(beyond))
        raise RowError(
            f"{what} must be text or whole numbers that {ids.dtype} holds exactly, column {name!r} "
            f"has {ids[row]:.17g}",
            row,
            ". Read the column as text or integers.",
        )
    if numbers.dtype.kind != "f" or not (np.abs(numbers) < limit).all():
        return ids
    return numbers.astype(np.int64) if (numbers == np.floor(numbers)).all() else ids


def resemble_ids(values: NDArray[Any]) -> bool:
    """Whether numbers are whole and differ in all rows, though they should repeat by chance.

    As many numbers drawn from the same range would repeat ten times or more on average; so prices
    in cents that all differ are no ids, and fewer than 20 rows have none.
    """
    n, first = len(values), values[:1000]  # settles most columns without reading all rows
    if n < 20 or (np.floor(first) != first).any() or len(np.unique(first)) < len(first):
        return False
    reach = float(values.max()) - float(values.min()) + 1.0
    if not n <= reach <= max(n, n * (n - 1) / 20) or (np.floor(values) != values).any():
        return False
    return len(np.unique(values)) == n


def check_float_type(dtype: DTypeLike) -> np.dtype[Any]:
    """The type of feature values, float32 or float64."""
    found = np.dtype(dtype)
    if found not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype must be float32 or float64, got {found.name}.")
    return found
