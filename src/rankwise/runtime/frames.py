"""Tables of any library: what a column holds, and its values as a NumPy array.

Types of columns say too little: a sparse column, a decimal, Python objects or a column without any
value may hold numbers; dates do not, although some libraries convert them, each with another unit.
NumPy reads columns of pandas, Polars and Arrow, but leaves numbers of some types as objects,
ignores the mask of masked arrays, and keeps types with which little can be computed (float16, long
double, foreign byte order).
"""

from __future__ import annotations

import datetime
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from rankwise.runtime.arrow import pa, pc
from rankwise.typing import Float64Array, Int64Array

# Types of Polars, and of Arrow in pandas, that these libraries do not convert.
_NOT_IN_NUMPY = ("Int128", "UInt128", "string_view[pyarrow]")
# Bytes that an array may take beyond its characters.
_SPARE_BYTES = 1 << 21
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_MANY_ROWS = 500  # from which it pays to find equal values first


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


def list_distinct(column: nw.Series[Any] | NDArray[Any]) -> tuple[NDArray[Any], Any]:
    """Values of a column, and the place of every row's value among them.

    ``values[places]`` is the column as :func:`convert_to_array` reads it. Categories, text that is
    not of Python objects, and whole numbers of a small range come once, in the order of the rows.
    All others, and few rows, come as they are: the places are ``slice(None)``.
    """
    n = len(column)
    codes = _codes_of(column) if n >= _MANY_ROWS else None
    if codes is None:
        values = column if isinstance(column, np.ndarray) else column.to_native()
        return convert_to_array(values), slice(None)
    place_of = np.full(codes.max() + 1, -1)
    place_of[codes[::-1]] = np.arange(n - 1, -1, -1)  # the last of several rows is kept
    rows = np.sort(place_of[place_of >= 0])
    place_of[codes[rows]] = np.arange(len(rows))
    values = column[rows]
    return convert_to_array(nw.to_native(values, pass_through=True)), place_of[codes]


def _codes_of(column: nw.Series[Any] | NDArray[Any]) -> Int64Array | None:
    """Integers >= 0 that differ between values, 0 for missing ones; None: too slow to find."""
    if isinstance(column, np.ndarray):
        return _count_from_least(column) if column.dtype.kind in "biuf" else None
    native = column.to_native()
    if hasattr(getattr(native, "cat", None), "codes"):  # pandas
        return native.cat.codes.to_numpy().astype(np.int64) + 1
    is_object = getattr(native, "dtype", None) == np.dtype(object)
    if is_object or column.dtype not in (nw.String, nw.Categorical, nw.Enum):
        return None
    try:
        arrow: Any = column.to_arrow()
    except ImportError:  # Polars needs pyarrow
        return None
    if column.dtype == nw.String:
        arrow = arrow.dictionary_encode()
    # Joined columns, and files of several groups of rows, come in chunks.
    chunks = arrow.unify_dictionaries().chunks if isinstance(arrow, pa.ChunkedArray) else [arrow]
    codes = [chunk.indices.cast(pa.int64()).fill_null(-1) for chunk in chunks]
    return np.concatenate([part.to_numpy(zero_copy_only=False) for part in codes]) + 1


def _count_from_least(numbers: NDArray[Any]) -> Int64Array | None:
    """Whole numbers minus the least one, plus 1, and 0 for NaN; None: others, or a large range."""
    numbers = np.ascontiguousarray(numbers)
    low, high = np.fmin.reduce(numbers), np.fmax.reduce(numbers)  # NaN if all numbers are
    if not (abs(float(low)) < 2**53 and float(high) - float(low) < 8 * len(numbers)):
        return None
    missing = numbers != numbers
    with np.errstate(invalid="ignore"):
        whole = numbers.astype(np.int64)
    if not ((whole == numbers) | missing).all():
        return None
    return np.where(missing, 0, whole - int(low) + 1)


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


# What columns of time hold, and a number to replace them with.
TIMES = {
    "dates": "the days since a fixed day",
    "durations": "their length in seconds",
    "times of day": "the seconds since midnight",
}
# Start of what a column holds that is to hold numbers, but does not.
MOSTLY_NUMBERS = "numbers, but"
_SEVERAL = "values of several types"


class Table:
    """X as it came through the door: what it is, and what its columns hold, is asked once.

    ``rows`` are X itself, or a frame with plain columns: lazy frames are collected, record batches
    are tables, text replaces string views, values replace runs of equal values, and labels of
    several types, which only pandas has, are text.

    ``chosen`` are the row numbers to which labels belong; None: all. Only fits that need no copy of
    these rows, and their checks, get a table with it.
    """

    chosen: NDArray[np.int64] | None = None

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    @classmethod
    def of(cls, X: Any) -> Table:
        """Table of any input; a Table is returned unchanged."""
        if isinstance(X, Table):
            return X
        if isinstance(X, np.ndarray) or type(X) is list:  # neither labels nor columns to look for
            return cls(X)
        X = label_columns(_arrow_table(X), only_mixed=True)
        if hasattr(X, "column_names") and hasattr(X, "schema"):
            X = _plain_arrow_table(X)
        elif hasattr(X, "assign") and (views := _string_views(X)):
            X = X.assign(**views)
        elif hasattr(X, "collect_schema") and hasattr(X, "collect"):
            X = X.collect()
        return cls(X)

    def choose(self, rows: NDArray[np.int64]) -> Table:
        """This table with chosen rows."""
        table = copy(self)
        table.chosen = rows
        return table

    @cached_property
    def frame(self) -> nw.DataFrame[Any] | None:
        """The rows with text as labels of the columns; None if they are not a frame."""
        return None if isinstance(self.rows, np.ndarray) else collect_frame(self.rows)

    @cached_property
    def kinds(self) -> dict[str, str | None]:
        """What columns of unusual types hold, see :func:`kind_of`; all others hold numbers."""
        if self.frame is None:
            return {}
        schema = self.frame.schema.items()
        return {name: kind_of(self.frame[name]) for name, dtype in schema if not _is_plain(dtype)}

    @cached_property
    def numeric_frame(self) -> nw.DataFrame[Any] | None:
        """The frame with float64 in place of numbers of unusual types; None without a frame.

        Text and categories are left to the caller. Other values (such as dates, durations and
        records) raise ValueError; the message names their column.
        """
        if isinstance(self.rows, np.ndarray):
            _check_numeric(self.rows.dtype)
        if self.frame is None:
            return None
        check_no_times({str(name): kind for name, kind in self.kinds.items()}, " of X")
        new = []
        for name, kind in self.kinds.items():
            if kind is None:
                values = numbers_of(self.frame[name])
                backend = nw.get_native_namespace(self.frame)
                new.append(nw.new_series(name, values, nw.Float64, backend=backend))
            elif not (kind in ("text", "categories", _SEVERAL) or kind.startswith(MOSTLY_NUMBERS)):
                raise ValueError(
                    f"X must hold numbers, column {str(name)!r} holds {kind}. Encode it as "
                    "numbers, or drop the column from X."
                )
        return self.frame.with_columns(*new) if new else self.frame

    @cached_property
    def numbers(self) -> Any:
        """Rows for scikit-learn: the numeric frame, or an array whose masked values are NaN."""
        frame, rows = self.numeric_frame, self.rows
        if frame is not None:
            return self.restore_labels(frame)
        if isinstance(rows, np.ma.MaskedArray):
            return convert_to_values(rows)
        return convert_to_values(rows) if getattr(rows, "dtype", "") == "O" else rows

    def restore_labels(self, frame: nw.DataFrame[Any]) -> Any:
        """A native frame that was made of this one, with the labels of the rows if none is text."""
        native = frame.to_native()
        if label_columns(self.rows) is self.rows:
            return native
        return native.set_axis(self.rows.columns, axis="columns")

    def with_columns(self, new: Sequence[nw.Series[Any]]) -> Table:
        """The numeric frame with other values in some columns."""
        assert self.numeric_frame is not None
        frame = self.numeric_frame.with_columns(*new)
        table = Table(self.restore_labels(frame))
        table.frame = frame
        return table

    def without_times(self) -> tuple[Table, dict[str, str]]:
        """Without columns of dates, durations or times of day, and what those hold by name."""
        times = {name: kind for name, kind in self.kinds.items() if kind in TIMES}
        if not times or self.frame is None:
            return self, {}
        frame = self.frame.drop(*times)
        return Table(frame.to_native()), {str(name): str(kind) for name, kind in times.items()}


class FrameColumns:
    """Columns of a frame of any library, which may be lazy; ``frame`` is None for anything else."""

    def __init__(self, frame: nw.DataFrame[Any] | nw.LazyFrame[Any] | None) -> None:
        self.frame = frame

    @classmethod
    def of(cls, X: Any) -> FrameColumns:
        """Columns of any input."""
        return cls(wrap_frame(X))

    @cached_property
    def kinds(self) -> dict[str, str | None]:
        """What every column holds; of a lazy frame, columns of unknown type are collected."""
        frame: Any = self.frame
        schema = frame.collect_schema()
        check_unique([str(name) for name in schema])
        kinds: dict[str, str | None] = {}
        if isinstance(frame, nw.LazyFrame):
            kinds = {name: kind_of_dtype(dtype) for name, dtype in schema.items()}
        unknown = [name for name in schema if kinds.get(name, "") == ""]
        if unknown:
            eager: Any = frame.select(unknown).collect() if kinds else frame
            kinds |= {name: kind_of(eager.get_column(name)) for name in unknown}
        return {str(name): kinds[name] for name in schema}

    def in_memory(self) -> nw.DataFrame[Any]:
        """The frame in memory."""
        frame: Any = self.frame
        return frame.collect() if isinstance(frame, nw.LazyFrame) else frame

    def first_values(self, name: str, n_rows: int) -> list[Any]:
        """First values of a column."""
        rows: Any = self.frame
        original = {str(column): column for column in rows.collect_schema()}[name]
        part = rows.lazy().select(original).head(n_rows).collect()
        return convert_to_array(part[original].to_native()).tolist()


def wrap_frame(X: Any) -> nw.DataFrame[Any] | nw.LazyFrame[Any] | None:
    """X as a narwhals frame, which may be lazy; None if it is not a frame.

    Two columns of the same name raise ValueError.
    """
    # Lazy frames come first: asking Polars' for its columns warns.
    if not any(hasattr(X, name) for name in ("collect_schema", "columns", "column_names")):
        return None
    X = label_columns(_arrow_table(X))
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


def _arrow_table(X: Any) -> Any:
    """A record batch of Arrow, which narwhals does not know, as a table; others unchanged."""
    if type(X).__name__ != "RecordBatch":
        return X
    return pa.Table.from_batches([X])


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
    for number, field in enumerate(X.schema):
        if field.type == pa.string_view():
            plain = X.column(number).cast(pa.large_string())
        elif pa.types.is_run_end_encoded(field.type):
            chunks = X.column(number).chunks
            plain = pa.chunked_array([pc.run_end_decode(part) for part in chunks])
        else:
            continue
        X = X.set_column(number, field.name, plain)
    return X


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
    is_object = getattr(column.to_native(), "dtype", None) == np.dtype(object)
    if known == "text" and is_object and column.null_count() == len(column):
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


def frame_for(estimator: Any, X: Any, names: Sequence[str] | None) -> Any:
    """Rows as the pandas frame that an estimator was fitted on, or ``X`` itself.

    Estimators of this library take arrays whose columns are known
    (:func:`rankwise.checks.rows.name_columns`). A pipeline or search may select columns by name,
    and warns about arrays if it was fitted on a frame. ``X`` is returned if the estimator is of
    this library or was fitted without names or on other columns than ``names``, if ``X`` is sparse,
    or if pandas is missing. Arrow tables, which scikit-learn does not read, become frames as
    ``pandas.read_csv`` makes them, with NaN for missing text.
    """
    wanted = getattr(estimator, "feature_names_in_", None)
    own = type(estimator).__module__.partition(".")[0] == "rankwise"
    if own or wanted is None or names is None:
        return X
    if hasattr(X, "column_names") and hasattr(X, "to_pandas"):
        return _pandas_of_arrow(X)
    if not isinstance(X, np.ndarray):
        return X
    if [str(name) for name in wanted] != [*names]:
        return X
    try:
        import pandas as pd
    except ImportError:
        return X
    return pd.DataFrame(X, columns=list(wanted), copy=False)


def _pandas_of_arrow(table: Any) -> Any:
    try:
        frame = table.to_pandas()
    except ImportError:
        return table
    # Scalers compute in the type of their columns.
    narrow = frame.select_dtypes(include=["float32"]).columns
    frame = frame.astype(dict.fromkeys(narrow, np.float64))
    text = frame.select_dtypes(include=["category", "object"]).columns
    for name in text:
        frame[name] = frame[name].astype(object).where(frame[name].notna(), np.nan)
    return frame
