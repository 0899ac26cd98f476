"""Columns of frames of any library: what they hold, and their numbers.

Types of columns say too little. A sparse column, a decimal, a column of Python objects or one
without any value holds numbers as well. A date does not, although some libraries convert it to one,
each with another unit.
"""

from __future__ import annotations

import datetime
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from rankwise.runtime.column_values import (
    convert_to_array,
    convert_to_values,
    is_missing,
    is_number,
)
from rankwise.typing import Float64Array

# What columns of time hold, and a number to replace them with.
TIMES = {
    "dates": "the days since a fixed day",
    "durations": "their length in seconds",
    "times of day": "the seconds since midnight",
}
# Start of what a column holds that is to hold numbers, but does not.
MOSTLY_NUMBERS = "numbers, but"
_SEVERAL = "values of several types"


def wrap_frame(X: Any) -> nw.DataFrame[Any] | nw.LazyFrame[Any] | None:
    """X as a narwhals frame, which may be lazy; None if it is not a frame.

    Two columns of the same name raise ValueError.
    """
    # Lazy frames come first: asking Polars' for its columns warns.
    if not any(hasattr(X, name) for name in ("collect_schema", "columns", "column_names")):
        return None
    X = label_columns(build_arrow_table(X))
    try:
        frame = nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError:
        # Columns of Arrow tables are arrays, not names.
        check_unique([str(name) for name in getattr(X, "column_names", X.columns)])
        raise
    return frame if isinstance(frame, nw.DataFrame | nw.LazyFrame) else None


def label_columns(X: Any, *, only_mixed: bool = False) -> Any:
    """A frame of pandas with text as labels of its columns; others, and text, unchanged.

    pandas takes any objects as labels. Libraries for frames do not: a number as label would select
    rows, and scikit-learn refuses numbers beside text. With ``only_mixed``, labels that are all of
    another type than text are kept, as they are not names for scikit-learn.
    """
    native = nw.to_native(X, pass_through=True)
    if not nw.dependencies.is_pandas_like_dataframe(native):
        return X
    # pandas knows that the usual labels are text. To ask each of them takes longer than all other
    # checks of a few rows.
    if getattr(native.columns, "inferred_type", "") == "string" and not native.columns.hasnans:
        return X
    are_text = [isinstance(label, str) for label in native.columns]
    if all(are_text) or (only_mixed and not any(are_text)):
        return X
    names = [str(label) for label in native.columns]
    check_unique(names)
    return native.set_axis(names, axis="columns")


def restore_labels(frame: Any, X: Any) -> Any:
    """A frame that was made from X, with the labels of X if none of them is text."""
    native = nw.to_native(X, pass_through=True)
    if label_columns(native) is native or label_columns(native, only_mixed=True) is not native:
        return frame
    return frame.set_axis(native.columns, axis="columns")


def build_arrow_table(X: Any) -> Any:
    """A record batch of Arrow, which narwhals does not know, as a table; others unchanged."""
    if type(X).__name__ != "RecordBatch":
        return X
    import pyarrow as pa

    return pa.Table.from_batches([X])


def materialise(X: Any) -> Any:
    """Table of a record batch, with plain columns; a lazy Polars frame is collected.

    Text replaces string views, and values replace runs of equal values. Labels of several types,
    which only pandas has, become text.

    Other inputs are returned unchanged.
    """
    X = label_columns(build_arrow_table(X), only_mixed=True)
    if hasattr(X, "column_names") and hasattr(X, "schema"):
        return _plain_arrow_table(X)
    if hasattr(X, "assign") and (views := _string_views(X)):
        return X.assign(**views)
    return X.collect() if hasattr(X, "collect_schema") and hasattr(X, "collect") else X


def _string_views(X: Any) -> dict[str, Any]:
    """Columns of pandas of a type that neither pandas nor scikit-learn can ask for its kind."""
    kinds = X.dtypes.tolist()
    if all(isinstance(kind, np.dtype) for kind in kinds):
        return {}
    views = [
        name for name, kind in zip(X.columns, kinds, strict=True) if "string_view" in str(kind)
    ]
    return {name: convert_to_array(X[name]) for name in views}


def _plain_arrow_table(X: Any) -> Any:
    """An Arrow table whose columns have types of which Arrow can select rows."""
    import pyarrow as pa

    for number, field in enumerate(X.schema):
        if field.type == pa.string_view():
            plain = X.column(number).cast(pa.large_string())
        elif pa.types.is_run_end_encoded(field.type):
            plain = pa.chunked_array([_run_end_decode(part) for part in X.column(number).chunks])
        else:
            continue
        X = X.set_column(number, field.name, plain)
    return X


def _run_end_decode(runs: Any) -> Any:
    import pyarrow.compute

    functions: Any = pyarrow.compute  # created on import, so type checkers do not see them
    return functions.run_end_decode(runs)


def collect_frame(X: Any) -> nw.DataFrame[Any] | None:
    """X as a narwhals frame, collected if it is lazy; None if it is not a frame."""
    frame = wrap_frame(X)
    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame


def check_unique(names: Sequence[str]) -> None:
    """Raise ValueError if two columns have the same name."""
    if len(set(names)) < len(names):
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        raise ValueError(
            "columns must have different names, but "
            f"{', '.join(map(repr, twice[:12]))} occur more than once. Rename them."
        )


def kind_of(column: nw.Series[Any]) -> str | None:
    """What a column holds, in the plural; None: numbers or truth values, some perhaps missing."""
    known = kind_of_dtype(column.dtype)
    if known == "text" and _is_object(column) and column.null_count() == len(column):
        return None  # objects that are all missing
    if known != "":
        return known
    values = convert_to_values(column.to_native())
    if values.dtype.kind in "biuf":
        return None
    if values.dtype.kind in "mMc":
        return {"m": "durations", "M": "dates", "c": "complex numbers"}[values.dtype.kind]
    return _kind_of_objects(values.tolist())


def kind_of_dtype(dtype: Any) -> str | None:
    """What a column of a narwhals type holds; an empty string if its values have to tell."""
    if dtype.is_numeric() or dtype == nw.Boolean:
        return None
    if dtype == nw.String:
        return "text"
    if dtype in (nw.Object, nw.Unknown):
        return ""
    if dtype in (nw.Categorical, nw.Enum):
        return "categories"
    if dtype in (nw.Duration, nw.Time):
        return "durations" if dtype == nw.Duration else "times of day"
    return "dates" if dtype.is_temporal() else f"values of type {dtype}"


def numbers_of(column: nw.Series[Any]) -> Float64Array:
    """One number per row, NaN if it is missing, of a column whose :func:`kind_of` is None."""
    if column.dtype in (nw.Float32, nw.Float64):
        return column.to_numpy()
    if column.dtype == nw.Decimal and not column.implementation.is_polars():
        return decimals_of(column.to_arrow())
    if column.dtype in (nw.Boolean, nw.Decimal):  # far faster than as objects
        return column.cast(nw.Float64).to_numpy().astype(np.float64, copy=False)
    return convert_to_values(column.to_native()).astype(np.float64, copy=False)


def decimals_of(column: Any) -> Float64Array:
    """The doubles nearest to decimals of Arrow, whose own conversion rounds twice."""
    import pyarrow as pa

    return column.cast(pa.string()).cast(pa.float64()).to_numpy(zero_copy_only=False)


def check_no_times(kinds: Mapping[str, str | None], fix: str) -> None:
    """Raise ValueError if a column holds dates, durations or times of day.

    They are neither numbers nor categories, and no unit is the right one for all of them.
    """
    found = [name for name, kind in kinds.items() if kind in TIMES]
    if found:
        kind = kinds[found[0]]
        more = f" (and {len(found) - 1} more columns do)" if found[1:] else ""
        raise ValueError(
            f"column {found[0]!r} holds {kind}{more}, which are neither numbers nor categories. "
            f"Replace them by a number, such as {TIMES[str(kind)]}, or leave the column out{fix}."
        )


def drop_times(X: Any) -> tuple[Any, dict[str, str]]:
    """X without columns of dates, durations or times of day, and what those hold by name.

    Anything but a frame is returned unchanged; lazy frames are collected.
    """
    frame = collect_frame(X)
    if frame is None:
        return X, {}
    odd = {
        name: kind_of(frame[name]) for name, dtype in frame.schema.items() if not _is_plain(dtype)
    }
    times = {name: kind for name, kind in odd.items() if kind in TIMES}
    if not times:
        return X, {}
    return frame.drop(*times).to_native(), {str(name): str(kind) for name, kind in times.items()}


def plain_frame(X: Any) -> Any:
    """Frame or array with float64 in place of numbers of unusual types; lazy frames are collected.

    Anything else is returned unchanged; text and categories are left to the caller. Masked values
    are NaN. Other values (such as dates, durations and records) raise ValueError; the message names
    their column.
    """
    if isinstance(X, np.ndarray):
        _check_numeric(X.dtype)
        odd_array = X.dtype.kind == "O" or isinstance(X, np.ma.MaskedArray)
        return convert_to_values(X) if odd_array else X
    frame = collect_frame(X)
    if frame is None:
        return X
    odd = [name for name, dtype in frame.schema.items() if not _is_plain(dtype)]
    kinds = {name: kind_of(frame[name]) for name in odd}
    check_no_times({str(name): kind for name, kind in kinds.items()}, " of X")
    new = []
    for name, kind in kinds.items():
        if kind is None:
            values = numbers_of(frame[name])
            backend = nw.get_native_namespace(frame)
            new.append(nw.new_series(name, values, nw.Float64, backend=backend))
        elif not (kind in ("text", "categories", _SEVERAL) or kind.startswith(MOSTLY_NUMBERS)):
            raise ValueError(
                f"X must hold numbers, column {str(name)!r} holds {kind}. Encode it as numbers, or "
                "drop the column from X."
            )
    return restore_labels(frame.with_columns(*new).to_native() if new else frame.to_native(), X)


def check_is_table(X: Any, name: str) -> None:
    """Raise if X is the name of a file, or a list whose items are no rows of one length."""
    if isinstance(X, str | os.PathLike):
        raise TypeError(
            f"{name} must hold rows, got {str(X)[:60]!r}. Read a file first: "
            "data = rankwise.datasets.read_table(path), then data.X."
        )
    if isinstance(X, Mapping):
        raise TypeError(
            f"{name} must hold rows, got a {type(X).__name__}. Pass pandas.DataFrame({name})."
        )
    is_column = getattr(X, "ndim", 2) == 1 or nw.dependencies.is_polars_series(X)
    first = next(iter(X), None) if is_column else None
    if hasattr(first, "__len__") and not isinstance(first, str | bytes | Mapping):
        raise ValueError(
            f"{name} must be a table, got one column of sequences. Pass numpy.stack({name})."
        )
    if not isinstance(X, list | tuple) or not X:
        return
    if isinstance(X[0], Mapping):
        raise TypeError(
            f"{name} must hold rows of numbers, got a mapping at row 0. Pass "
            f"pandas.DataFrame({name})."
        )
    sizes = [len(row) if hasattr(row, "__len__") and not isinstance(row, str) else -1 for row in X]
    odd = next((row for row, size in enumerate(sizes) if size != sizes[0]), None)
    if odd is not None and min(sizes) >= 0:
        raise ValueError(
            f"{name} must hold rows of one length, got {sizes[0]} values at row 0 and {sizes[odd]} "
            f"at row {odd}. Fill missing values with NaN."
        )


def _check_numeric(dtype: np.dtype[Any]) -> None:
    """Raise ValueError if an array holds times, which NumPy would count in its unit, or records."""
    kind = {"M": "dates", "m": "durations"}.get(dtype.kind)
    if kind is not None:
        raise ValueError(
            f"X must hold numbers, got dtype {dtype}: {kind} are neither numbers nor categories. "
            f"Replace them by a number, such as {TIMES[kind]}, or leave their columns out of X."
        )
    if dtype.names is not None:
        fields = ", ".join(dtype.names)
        raise ValueError(
            f"X must hold one number per row and column, got records of {fields}. "
            "Pass pandas.DataFrame(X)."
        )


def _is_plain(dtype: Any) -> bool:
    """Whether scikit-learn converts the numbers of a column as they are."""
    if dtype in (nw.Float32, nw.Float64, nw.Boolean):
        return True
    return dtype.is_integer() and dtype not in (nw.Int128, nw.UInt128)


def _is_object(column: nw.Series[Any]) -> bool:
    return getattr(column.to_native(), "dtype", None) == np.dtype(object)


def _kind_of_objects(objects: list[Any]) -> str:
    """What objects hold that are not all numbers."""
    values = [value for value in objects if not is_missing(value)]
    if all(isinstance(value, str) for value in values):
        return "text"
    others = [value for value in values if not is_number(value)]
    if len(others) <= len(values) // 2:
        return f"{MOSTLY_NUMBERS} {others[0]!r} at row {objects.index(others[0])}"
    if len(others) < len(values) or any(isinstance(value, str) for value in values):
        return _SEVERAL
    names = {type(value).__name__ for value in values}
    if names <= {"Period"} or all(isinstance(value, datetime.date) for value in values):
        return "dates"
    if all(isinstance(value, datetime.timedelta) for value in values):
        return "durations"
    if all(isinstance(value, datetime.time) for value in values):
        return "times of day"
    return " and ".join(sorted(names)) + " objects"
