"""Encoding of the columns of a table as numbers, including categories.

A tree splits numbers at thresholds and nominal columns by subsets. Columns with an ordered dtype
are replaced by their codes and split like numbers. Text and unordered categories are nominal. A
nominal column with a statistic of each category is a column of numbers to trees.
"""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple
from weakref import WeakKeyDictionary

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from rankwise.checks.classes import list_declared_classes
from rankwise.checks.rows import check_names, check_rows, hides_names
from rankwise.checks.text_categories import kind_of_text
from rankwise.datasets.table_columns import hardly_repeats, warn_of_free_text
from rankwise.runtime.frames import (
    Table,
    convert_to_array,
    first_merged,
    is_missing,
    list_distinct,
)
from rankwise.runtime.messages import callers_level
from rankwise.runtime.scikit_learn import check_is_fitted
from rankwise.structure.state_rules import Array, Dictionary, Instance, Number, Plain, Rule, require
from rankwise.typing import Float64Array, FrameLike, Matrix, densify, is_sparse

FROM_DTYPE = "from_dtype"
UNKNOWN_CATEGORIES = "the model knows no category of these columns"
MAX_DENSE_BYTES = 2**33


@dataclass(frozen=True, eq=False)
class ColumnTable:
    """Categorical columns of the training rows; all other columns hold numbers.

    A tree estimator stores this table to encode later tables in the same way.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "nominal": Dictionary(Number("i", low=0), Plain()),
        "ordered": Dictionary(Number("i", low=0), Plain()),
        "statistics": Dictionary(Number("i", low=0), Array(None, dtype="f8")),
        "prior": Dictionary(Number("i", low=0), Number()),
    }

    # By column: sorted categories of the training rows; codes are positions.
    nominal: dict[int, NDArray[Any]]
    ordered: dict[int, NDArray[Any]]  # By column: declared categories of the dtype.
    # By encoded nominal column: the number that stands for each category, in the order of
    # ``nominal[column]``, and the one that stands for unknown categories. All are float32 numbers,
    # so that float32 rows, and exports that read them, have the same ones.
    statistics: dict[int, Float64Array] = field(default_factory=dict)
    prior: dict[int, float] = field(default_factory=dict)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Tables stored before rankwise 1.0 have no statistics.
        vars(self).update({"statistics": {}, "prior": {}, **state})

    @classmethod
    def of(
        cls,
        X: FrameLike | Table,
        categorical_features: Any = FROM_DTYPE,
        sample_weight: Any = None,
    ) -> ColumnTable:
        """Find the categorical columns of a table and their categories.

        ``categorical_features`` lists columns that are nominal whatever their dtype, as a mask, by
        number or by name. With the default "from_dtype", and besides listed ones, text and
        unordered categories of frames are nominal, and ordered categories
        (pandas ordered categorical, polars Enum) are ordered. None: no column holds categories.
        Text that hardly repeats, as ``RankingData.from_frame`` leaves it out, has no categories, so
        that no tree splits it; IgnoredColumnsWarning names its columns.

        Categories that only rows of weight 0 hold are unknown, as if these rows were left out.
        Other rules for weights are checked with the rows.
        """
        nominal: dict[int, NDArray[Any]] = {}
        ordered: dict[int, NDArray[Any]] = {}
        # An array has one dtype: its columns are nominal only if the argument names them.
        table = Table.of(X)
        is_plain = isinstance(table.rows, np.ndarray) and _is_from_dtype(categorical_features)
        if categorical_features is None or is_plain:
            return cls(nominal, ordered)
        frame = table.numeric_frame
        if frame is None:
            if _is_from_dtype(categorical_features):
                return cls(nominal, ordered)
            array = _convert_to_array(table.rows)
            if array.ndim == 2:
                counted = _count_rows(sample_weight, len(array))
                for column in _choose_columns(categorical_features, array.shape[1], None):
                    nominal[column], _ = _list_categories(array[:, column], counted, str(column))
            return cls(nominal, ordered)
        chosen: Iterable[int] = ()
        if not _is_from_dtype(categorical_features):
            chosen = _choose_columns(categorical_features, len(frame.columns), list(frame.columns))
        counted = _count_rows(sample_weight, len(frame))
        odd: list[str] = []
        unused: list[str] = []
        for column, series in enumerate(frame.iter_columns()):
            declared = list_declared_classes(series.to_native())
            # A column that the argument names is nominal even if its dtype declares an order.
            if column in chosen or (declared is None and _is_text(series)):
                name = repr(str(frame.columns[column]))
                nominal[column], n_filled = _list_categories(series, counted, name)
                is_named = column in chosen or series.dtype in (nw.Categorical, nw.Enum)
                if not is_named and hardly_repeats(nominal[column].tolist(), n_filled):
                    nominal[column] = nominal[column][:0]  # nothing to split by
                    unused.append(str(frame.columns[column]))
                kind = kind_of_text(dict.fromkeys(nominal[column].tolist(), 1))
                if kind != "text" and column not in chosen:
                    odd.append(f"{name} ({kind})")
            elif declared is not None:
                ordered[column] = declared
        if odd:
            warnings.warn(
                f"columns become categories, which have no order: {', '.join(odd)}. Write them as "
                f"numbers, or name them in categorical_features if they are to be categories.",
                UserWarning,
                stacklevel=callers_level(),
            )
        warn_of_free_text(unused, "Convert them to a categorical dtype to use them.")
        return cls(nominal, ordered)

    def n_categories(self, n_features: int) -> NDArray[np.int32]:
        """Number of categories of each column that is split by subsets, 0 for all others."""
        numbers = np.zeros(n_features, dtype=np.int32)
        for column, categories in self.nominal.items():
            numbers[column] = 0 if column in self.statistics else len(categories)
        return numbers

    def encode(self, X: FrameLike | Table, unknown_code: float = np.nan) -> Table:
        """X with numbers in place of categories; unchanged if no column is categorical.

        These are codes, or the statistics of encoded columns. Unknown categories of nominal columns
        become ``unknown_code``, or the prior of encoded columns, with a warning if a column of
        several rows has no other. Missing values and unknown ordered categories are NaN. Text
        instead of numbers, or numbers instead of text, raise ValueError.
        """
        coded = {**self.nominal, **self.ordered}
        table = Table.of(X)
        if not coded:
            return table
        frame = table.numeric_frame
        unknown: list[str] = []
        if frame is not None:
            names = list(frame.columns)
            backend = nw.get_native_namespace(frame)
            new = []
            for j, categories in coded.items():
                numbers = self._encode_column(
                    j, frame[names[j]], categories, repr(names[j]), unknown, unknown_code
                )
                new.append(nw.new_series(names[j], numbers, nw.Float64, backend=backend))
            warn_of_unknown(unknown)
            return table.with_columns(new)
        array = _convert_to_array(table.rows)
        # float32 stays float32; object arrays keep numbers as they are until the rows are checked.
        out = array.astype(array.dtype if array.dtype in (np.float32, object) else np.float64)
        for column, categories in coded.items():
            out[:, column] = self._encode_column(
                column, array[:, column], categories, str(column), unknown, unknown_code
            )
        warn_of_unknown(unknown)
        return Table(out)

    def _encode_column(
        self,
        column: int,
        values: Any,
        categories: NDArray[Any],
        name: str,
        unknown: list[str],
        unknown_code: float,
    ) -> Float64Array:
        """Codes or statistics of the values of a column, and a number for unknown ones."""
        distinct, places = list_distinct(values)
        # A single row with a new category is usual where rows are scored one by one.
        tables = _CODES.setdefault(self, {})
        if column not in tables:
            tables[column] = Codes.of(categories)
        codes = _codes(distinct, tables[column], name, unknown if len(values) > 1 else [])
        statistics = self.statistics.get(column)
        number = self.prior.get(column, unknown_code)
        if column in self.nominal and (statistics is not None or not np.isnan(number)):
            absent = np.flatnonzero(np.isnan(codes))
            absent = absent[[not is_missing(value) for value in distinct[absent].tolist()]]
            if statistics is not None:
                known = ~np.isnan(codes)
                codes[known] = statistics[codes[known].astype(np.int64)]
            codes[absent] = number
        return codes[places]

    def continue_codes(self, earlier: ColumnTable, what: str = "init_model") -> ColumnTable:
        """Return this table with the codes and statistics of an earlier one; new codes come last.

        Raises ValueError if the categorical columns differ, or ordered categories have changed.
        """
        same = set(self.nominal) == set(earlier.nominal) and set(self.ordered) == {*earlier.ordered}
        for column in self.ordered if same else ():
            same = same and self.ordered[column].tolist() == earlier.ordered[column].tolist()
        if not same:
            raise ValueError(
                f"{what} needs the same columns of categories as in the earlier fit, got columns "
                f"{sorted([*earlier.nominal, *earlier.ordered])} of categories before and "
                f"{sorted([*self.nominal, *self.ordered])} now. Pass columns of the same dtypes."
            )
        nominal = {}
        for column, categories in self.nominal.items():
            before = nominal[column] = earlier.nominal[column]
            if column in earlier.statistics:
                continue  # new categories are unknown: the earlier statistics lack them
            known = set(before.tolist())
            new = [value for value in categories.tolist() if value not in known]
            # Known categories keep their codes, which the earlier trees refer to.
            nominal[column] = np.concatenate([before, np.array(new, dtype=before.dtype)])
        return ColumnTable(nominal, self.ordered, earlier.statistics, earlier.prior)

    def check_width(self, n_features: int) -> None:
        """Raise ValueError if a column of categories lies beyond the table."""
        for name, table in (("nominal", self.nominal), ("ordered", self.ordered)):
            last = max(table, default=0)
            require(last < n_features, f"columns_.{name}", f"name columns below {n_features}", last)

    def _check_structure(self) -> None:
        for name, table in (("nominal", self.nominal), ("ordered", self.ordered)):
            for column, categories in table.items():
                require(type(categories) is np.ndarray and categories.ndim == 1,
                        f"{name}[{column}]", "be a one-dimensional array", categories)  # fmt: skip
        require(self.statistics.keys() == self.prior.keys(), "prior",
                f"have the columns {[*self.statistics]}", [*self.prior])  # fmt: skip
        for column, statistics in self.statistics.items():
            categories = self.nominal.get(column, statistics[:0])
            require(column in self.nominal and statistics.shape == categories.shape,
                    f"statistics[{column}]", f"have shape ({len(categories)},), as the categories",
                    statistics.shape)  # fmt: skip
            numbers = np.append(statistics, self.prior[column])
            with np.errstate(over="ignore"):
                is_float32 = numbers.astype(np.float32) == numbers
            require(bool(is_float32.all()), f"statistics[{column}] and its prior",
                    "be float32 numbers", numbers[~is_float32][:1])  # fmt: skip


class CategoricalInput:
    """Mixin of tree estimators that take columns of categories; ``fit`` sets ``columns_``."""

    _structure: ClassVar[dict[str, Rule]] = {"columns_": Instance((ColumnTable,))}

    columns_: ColumnTable
    _unknown_code: ClassVar[float] = np.nan  # of categories without training rows

    @property
    def _most_categories(self) -> int | None:
        """Largest number of categories of a column that ``fit`` takes; None: any number."""
        return None

    def __sklearn_tags__(self) -> Any:
        inherited: Any = super()
        tags = inherited.__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    def _encoded_rows(self, X: FrameLike) -> NDArray[Any]:
        """Rows as dense input of the trees of ``tree_ensemble``, float32 or float64.

        Categories become codes; missing values and unknown categories become NaN.
        """
        return densify(self._check_rows(X))

    def _check_rows(self, X: FrameLike | Table) -> Matrix:
        """Checked rows, with codes for categories."""
        check_is_fitted(self)
        return check_rows(self, self._encode(X), allow_nan=True)

    def _encode(self, X: FrameLike | Table) -> FrameLike | Table:
        """X with codes for categories; column names are checked first if there are categories."""
        if not (self.columns_.nominal or self.columns_.ordered):
            return X
        if isinstance(X, Mapping) or (isinstance(X, Sequence) and not X):
            return X  # no columns: check_rows refuses them
        table = Table.of(X)
        if hides_names(table.rows):
            check_names(self, list(nw.from_native(table.rows).columns), reset=False)
        else:
            validate_data(self, table.rows, reset=False, skip_check_array=True)
        return self.columns_.encode(table, self._unknown_code)


def dense_within_memory(X: FrameLike) -> FrameLike:
    """Convert sparse rows to an array of at most 8 GiB; return anything else unchanged.

    Every split examines whole columns, including the zeros that a sparse matrix omits, so a sparse
    format would save nothing.
    """
    if not is_sparse(X):
        return X
    n_bytes = X.shape[0] * X.shape[1] * 8
    if n_bytes > MAX_DENSE_BYTES:
        raise ValueError(
            f"X must take at most {MAX_DENSE_BYTES:,} bytes as a dense array, which trees need, "
            f"got {n_bytes:,} for shape {X.shape}. Select columns or rows first."
        )
    return X.toarray()


def _convert_to_array(X: Any) -> NDArray[Any]:
    """X as an array; lists keep the types of their values, and text has no fixed width."""
    # A list of numbers and text would become an array of text without the object dtype.
    array = np.asarray(dense_within_memory(X), dtype=getattr(X, "dtype", object))
    return array.astype(object) if array.dtype.kind in "SUT" else array


def _count_rows(sample_weight: Any, n_samples: int) -> Any:
    """Rows of positive weight, as a mask; all rows if the weights do not fit."""
    weight = None if sample_weight is None else np.asarray(sample_weight)
    if weight is None or weight.shape != (n_samples,) or weight.dtype.kind not in "biuf":
        return slice(None)
    return weight > 0


def _is_from_dtype(categorical_features: Any) -> bool:
    return isinstance(categorical_features, str) and categorical_features == FROM_DTYPE


def _choose_columns(
    categorical_features: Any, n_features: int, names: Sequence[Any] | None
) -> list[int]:
    """Numbers of the columns that a mask, numbers or names choose."""
    given = np.atleast_1d(np.asarray(categorical_features, dtype=None))
    if given.dtype == bool:
        if given.shape != (n_features,):
            raise ValueError(
                f"categorical_features as a mask must have n_features={n_features} entries, got "
                f"shape {given.shape}."
            )
        return np.flatnonzero(given).tolist()
    columns = []
    for value in given.ravel().tolist():
        if isinstance(value, str):
            if names is None or value not in names:
                what = "X has no names" if names is None else f"columns are {list(names)}"
                raise ValueError(
                    f"categorical_features must name columns of X, got {value!r}; {what}."
                )
            columns.append(names.index(value))
        elif isinstance(value, int) and 0 <= value < n_features:
            columns.append(value)
        else:
            raise ValueError(
                f"categorical_features must be 'from_dtype', None, a mask, names, or numbers from "
                f"0 to {n_features - 1}, got {value!r}."
            )
    return columns


def _is_text(series: Any) -> bool:
    """Whether a column of a frame holds unordered categories or text."""
    if series.dtype == nw.Object:
        return any(isinstance(value, str) for value in convert_to_array(series.to_native()))
    return series.dtype in (nw.String, nw.Categorical, nw.Enum)


def _list_categories(column: Any, counted: Any, name: str) -> tuple[NDArray[Any], int]:
    """Distinct values of some rows that are not missing, ascending; text after numbers.

    Also the number of these rows that are neither missing nor empty text.
    """
    values, places = list_distinct(column)
    if isinstance(places, slice):
        values, n_rows = values[counted], None
    else:
        n_rows = np.bincount(places[counted], minlength=len(values))
        values, n_rows = values[n_rows > 0], n_rows[n_rows > 0].tolist()
    if values.dtype.kind in "biuf":
        _check_not_merged(values, name)
        values = values[~np.isnan(values)] if values.dtype.kind == "f" else values
        return np.unique(values), len(values)
    listed = values.tolist()
    counts = Counter(listed) if n_rows is None else dict(zip(listed, n_rows, strict=True))
    n_filled = sum(n for value, n in counts.items() if not (is_missing(value) or value == ""))
    distinct = {value for value in counts if not is_missing(value)}
    # Objects of NumPy become those of Python, which exports can write.
    distinct = {value.item() if isinstance(value, np.generic) else value for value in distinct}
    # Numbers and text do not compare, so text comes after numbers.
    ordered = sorted(distinct, key=lambda value: (isinstance(value, str), value))
    return np.array(ordered, dtype=object), n_filled


def _check_not_merged(values: NDArray[Any], column: str) -> None:
    """Raise ValueError if floats stand for whole numbers that they cannot tell apart.

    Libraries convert a column of integers to floats if a value is missing.
    """
    limit, large = first_merged(values.dtype), values[:0]
    if values.dtype.kind == "f":
        large = values[(np.abs(values) >= limit) & np.isfinite(values)]
    if len(large):
        raise ValueError(
            f"categories in column {column} of X must be numbers that {values.dtype} tells apart, "
            f"below {limit:,} if they are whole, got {float(large[0])}. Convert the column to text "
            "(or fill its missing values, and keep integers)."
        )


def warn_of_unknown(columns: Sequence[str]) -> None:
    """Warn of columns without any category that is known from the fit, if there are any."""
    if columns:
        warnings.warn(
            f"{UNKNOWN_CATEGORIES}: {'; '.join(columns)}. They tell it nothing. Write them as in "
            "fit, or fit again.",
            UserWarning,
            stacklevel=callers_level(),
        )


class Codes(NamedTuple):
    """Categories of a column as a dictionary, which takes longer to fill than to read."""

    code_of: dict[Any, float]
    kinds: frozenset[bool]  # whether categories are text
    largest: int  # in size, of whole numbers; 0 for others

    @classmethod
    def of(cls, categories: NDArray[Any]) -> Codes:
        """Number the categories."""
        known = categories.tolist()
        is_whole = categories.dtype.kind in "iu" and len(known)
        return cls(
            {value: float(code) for code, value in enumerate(known)},
            frozenset(isinstance(value, str) for value in known),
            max(known[-1], -known[0]) if is_whole else 0,
        )


# No attribute of the table, whose attributes are what a model file holds.
_CODES: WeakKeyDictionary[ColumnTable, dict[int, Codes]] = WeakKeyDictionary()


def _codes(values: NDArray[Any], known: Codes, column: str, unknown: list[str]) -> Float64Array:
    """Position of each value among the categories; NaN if it is not one of them.

    A column without any known value is added to ``unknown``, with examples.
    """
    given, first = values.tolist(), next(iter(known.code_of), None)
    # Numbers in place of text would all be unknown categories, and silently count as missing.
    present = next((value for value in given if not is_missing(value)), None)
    if present is not None and known.kinds and isinstance(present, str) not in known.kinds:
        what, other = ("text", "a number") if True in known.kinds else ("numbers", "text")
        raise ValueError(
            f"column {column} of X must hold {what} as in fit, such as {first!r}, got {other}: "
            f"{present!r}. Pass the column as it was."
        )
    if known.largest >= 2**24:
        _check_not_merged(values, column)
    found = map(known.code_of.get, given, itertools.repeat(np.nan))
    codes = np.fromiter(found, dtype=np.float64, count=len(given))
    if known.kinds and np.isnan(codes).all() and present is not None:
        unknown.append(f"{column} holds {present!r} and the like, not {first!r}")
    return codes
