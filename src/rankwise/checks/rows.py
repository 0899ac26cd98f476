"""Checks of the rows that users pass to estimators.

X is checked before y, y before qid, qid before weights. Messages name the argument, the rule, the
value and the fix.

scikit-learn's check of a small table takes longer than most models take to score it, so rows that
need no conversion and no message take a faster path (:func:`plain_rows`).
"""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from typing import Any, Literal, overload

import narwhals as nw
import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_array, validate_data

from rankwise.checks.classes import OrderedLabels, check_length, class_positions
from rankwise.checks.column_sizes import ColumnLimit, warn_of_dominant_columns
from rankwise.checks.exact_values import RowError, check_exact
from rankwise.groups import FitData, QueryGroups, count_copies
from rankwise.row_order import canonical_order, training_fingerprint
from rankwise.runtime.finite import all_finite
from rankwise.runtime.frames import (
    TIMES,
    Table,
    check_is_table,
    convert_to_array,
    convert_to_values,
    is_missing,
)
from rankwise.runtime.messages import callers_level, setting
from rankwise.structure.state_rules import (
    Array,
    Either,
    MatrixRows,
    Optional,
    Rule,
    Size,
    Sometimes,
    structure_of,
)
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Int64Array, Matrix, is_sparse


def check_fit(
    estimator: Any,
    X: FrameLike | Table,
    y: ArrayLike | None,
    qid: ArrayLike | QueryGroups | None,
    sample_weight: ArrayLike | None = None,
    *,
    accept_sparse: bool = True,
    allow_nan: bool = False,
    reset: bool = True,
    names: list[str] | None = None,
    part: bool = False,
    pairs: bool = True,
    read_classes: Callable[[ArrayLike, int], OrderedLabels] | None = None,
    column_limit: ColumnLimit | None = None,
) -> FitData:
    """Check everything ``fit`` receives.

    Sets ``n_features_in_``, ``feature_names_in_`` (if X has names) and ``fit_fingerprint_``; with
    ``reset=False`` (later calls of ``partial_fit``) the fingerprint continues. ``names`` are the
    names of an array's columns. If the rows are only ``part`` of the training rows, all their
    weights may be zero. With ``read_classes``, y holds classes and is replaced by their numbers.
    Otherwise rows are ranked within their queries; with ``pairs``, at least one query must have
    different labels. Rows to be ranked without a ``qid`` warn (OneQueryWarning), as do columns of X
    beyond ``column_limit``, see :mod:`rankwise.checks.column_sizes`.
    """
    rows = check_rows(
        estimator, X, accept_sparse=accept_sparse, allow_nan=allow_nan, reset=reset, names=names
    )
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    numbers = X.chosen if isinstance(X, Table) else None
    n_samples = rows.shape[0] if numbers is None else len(numbers)
    labels = None if read_classes is None else read_classes(y, n_samples)
    target = check_target(y, n_samples) if labels is None else labels.codes
    groups = QueryGroups.from_qid(qid, n_samples)
    weight, kept = None, None
    if sample_weight is not None:
        weight = check_weight(sample_weight, n_samples, part=part)
        if not weight.all():
            kept = weight > 0
            weight, groups = weight[kept], groups.take(kept)
            if numbers is None:
                rows = rows[kept]
            else:
                numbers = numbers[kept]
            labels = None if labels is None else labels.take(kept)
            target = target[kept] if labels is None else labels.codes
    if labels is None and not part:
        warn_unless_queries(estimator, qid, n_samples)
        if pairs:
            check_comparable(estimator, target, groups)
    if reset and column_limit is not None:
        warn_of_dominant_columns(estimator, rows, column_limit)
    target = target.astype(np.float64, copy=False)
    estimator.fit_fingerprint_ = training_fingerprint(
        rows,
        target,
        groups,
        weight,
        numbers=numbers,
        previous=None if reset else getattr(estimator, "fit_fingerprint_", None),
    )
    classes = None if labels is None else labels.classes
    return FitData(rows, target, groups, weight, kept, classes, numbers=numbers)


def repeat_rows(data: FitData, owner: str) -> FitData:
    """Checked rows with as many copies of each as its weight says, which must be whole."""
    if data.sample_weight is None:
        return data
    fix = "Round the weights, or use LambdaMART."
    copies = count_copies(data.sample_weight, f"for {owner}", fix)
    rows = np.repeat(np.arange(len(copies)), copies)
    return replace(
        data, X=data.X[rows], y=data.y[rows], groups=data.groups.take(rows), sample_weight=None
    )


def check_validation(
    estimator: Any,
    train: FitData,
    X_val: FrameLike | Table | None,
    y_val: ArrayLike | None,
    qid_val: ArrayLike | QueryGroups | None,
    *,
    accept_sparse: bool = True,
    allow_nan: bool = False,
    keep_whole: bool = False,
) -> FitData | None:
    """Check ``X_val, y_val, qid_val`` beside the checked ``train``; None when X_val is None.

    The rows are returned in an order that depends on their content alone, so that nothing chosen on
    them depends on the order in which they were passed. If y holds ordered classes, ``y_val`` is
    replaced by their numbers, see :func:`rankwise.checks.classes.class_positions`. With
    ``keep_whole``, X is not copied in this order, which ``numbers`` of the result give.
    """
    if X_val is None:
        for name, value in (("y_val", y_val), ("qid_val", qid_val)):
            if value is not None:
                raise ValueError(f"{name} needs X_val, got X_val=None. Pass X_val, or drop {name}.")
        return None
    if y_val is None:
        raise ValueError("X_val needs y_val, got y_val=None. Pass the labels of X_val.")
    rows = check_rows(
        estimator,
        X_val,
        accept_sparse=accept_sparse,
        allow_nan=allow_nan,
        reset=False,
        name="X_val",
    )
    numbers = X_val.chosen if isinstance(X_val, Table) else None
    n_samples = rows.shape[0] if numbers is None else len(numbers)
    if train.classes is None:
        y_val = check_target(y_val, n_samples, name="y_val")
    else:
        y_val = class_positions(y_val, train.classes, n_samples, name="y_val")
    if qid_val is None and train.groups.n_queries > 1:
        raise ValueError(
            "X_val needs qid_val where fit has a qid, got qid_val=None. Pass the query id of every "
            "row of X_val."
        )
    groups = QueryGroups.from_qid(qid_val, n_samples, name="qid_val")
    # Sums over queries, and measures that break ties by the order of the rows, could otherwise
    # choose another model: with rows in the order of their labels, ties look like a good ranking.
    order, _ = canonical_order(rows, y_val, groups, numbers=numbers)
    numbers = order if numbers is None else numbers[order]
    if not keep_whole:
        rows, numbers = rows[numbers], None
    held = groups.take(order)
    return FitData(rows, y_val[order], held, None, classes=train.classes, numbers=numbers)


@overload
def check_rows(
    estimator: Any,
    X: FrameLike | Table,
    *,
    accept_sparse: Literal[False],
    allow_nan: bool = False,
    reset: bool = False,
    name: str = "X",
    names: list[str] | None = None,
) -> NDArray[Any]: ...


@overload
def check_rows(
    estimator: Any,
    X: FrameLike | Table,
    *,
    accept_sparse: bool = True,
    allow_nan: bool = False,
    reset: bool = False,
    name: str = "X",
    names: list[str] | None = None,
) -> Matrix: ...


def check_rows(
    estimator: Any,
    X: FrameLike | Table,
    *,
    accept_sparse: bool = True,
    allow_nan: bool = False,
    reset: bool = False,
    name: str = "X",
    names: list[str] | None = None,
) -> Matrix:
    """X as a C-contiguous float32/float64 matrix or CSR; feature names and width are checked.

    ``names`` are the names of an array's columns; None: the names come from X.
    """
    if isinstance(X, Iterator):
        raise TypeError(
            f"{name} must hold rows, got a {type(X).__name__}. Chunks of rows go through a stream: "
            "fit(rankwise.streams.stream(chunks))."
        )
    if not reset and name == "X":  # beside X_val, attributes of an earlier fit may remain
        check_model_width(estimator)
    # Frames of plain numbers skip the search of a Table for text, half of the time of a row. Their
    # class is asked: a lazy frame would resolve its schema.
    plain = plain_rows(estimator, X) if not reset and hasattr(type(X), "columns") else None
    table = Table.of(X if plain is None else plain[0])
    if names is None and not hasattr(table.rows, "columns"):
        names = find_given_names(estimator)
    if plain is None and not reset:
        plain = plain_rows(estimator, table.rows, names)
    if plain is not None:
        array, names = plain
        _check_finite(array, names, allow_nan=allow_nan, name=name)
        return array
    given, frame = table.numbers, table.numeric_frame
    rules: dict[str, Any] = {
        "accept_sparse": "csr" if accept_sparse else False,
        "dtype": [np.float64, np.float32],  # others become the first
        "order": "C",
        "ensure_all_finite": False,
        "accept_large_sparse": True,
    }
    if names is None and frame is not None and hides_names(given):
        names = [str(column) for column in frame.columns]
    if frame is not None and all(dtype == nw.Float32 for dtype in frame.schema.values()):
        rules["dtype"] = np.float32  # scikit-learn sees it in frames of pandas only
    try:
        if names is None:
            names = None if frame is None else [str(column) for column in frame.columns]
            rows: Any = validate_data(estimator, given, reset=reset, **rules)
        else:
            rows = check_array(given, estimator=estimator, **rules)
            check_names(estimator, names, reset=reset)
    except (TypeError, ValueError, NotImplementedError) as error:
        _check_numbers(table, names, name)
        if name == "X":
            raise
        said = str(error)
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name}{said[1:]}" if said.startswith("X ") else f"{name}: {said}") from None
    except OverflowError:
        raise ValueError(
            f"{name} must hold numbers up to 1.8e308, the largest of float64, got a larger one. "
            "Scale its column, or drop it."
        ) from None
    if names is None and not reset:
        names = list(getattr(estimator, "feature_names_in_", ())) or None
    _check_finite(rows, names, allow_nan=allow_nan, name=name)
    return rows


_NAMED: ContextVar[tuple[Any, list[str]] | None] = ContextVar("named", default=None)


@contextmanager
def name_columns(estimator: Any, names: list[str] | None) -> Iterator[None]:
    """Columns of arrays that ``estimator`` checks inside the block have these names.

    ``fit`` records them as it does the names of a frame. Other estimators, including parts of this
    one, see plain arrays.
    """
    token = _NAMED.set(None if names is None else (estimator, names))
    try:
        yield
    finally:
        _NAMED.reset(token)


def find_given_names(estimator: Any) -> list[str] | None:
    """Names that :func:`name_columns` gives the columns of an estimator, for fits of its copies."""
    named = _NAMED.get()
    return named[1] if named is not None and named[0] is estimator else None


def check_target(y: ArrayLike, n_samples: int | None = None, *, name: str = "y") -> Float64Array:
    """One finite real number per row, float64."""
    if is_sparse(y):
        raise TypeError(
            f"Sparse data was passed for {name}, but dense data is required. "
            f"Use {name}.toarray().ravel()."
        )
    given, y = y, convert_to_values(y)
    if y.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} must hold real numbers.")
    if y.ndim == 2 and y.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape "
            f"of {name} to (n_samples,), for example using ravel().",
            DataConversionWarning,
            stacklevel=4,
        )
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional, got shape {y.shape}. Pass one label per row of X."
        )
    check_length(name, len(y), n_samples)
    y = _convert_to_float(y, name, "Encode grades as numbers, larger for more relevant.")
    check_exact(given, y, name)
    if not np.isfinite(y).all():
        row = int(np.argmin(np.isfinite(y)))
        raise ValueError(
            f"Input {name} contains {'NaN' if np.isnan(y[row]) else 'infinity'} at "
            f"row {row}. Drop unjudged rows before fitting."
        )
    return y


def check_weight(sample_weight: ArrayLike, n_samples: int, *, part: bool = False) -> Float64Array:
    """One weight >= 0 per row, which counts as repetition; only in a part may all be zero."""
    weight = convert_to_values(sample_weight)
    if weight.ndim == 0 and np.issubdtype(weight.dtype, np.number):
        sample_weight = weight = np.full(n_samples, float(weight))
    if weight.ndim != 1:
        raise ValueError(
            "Sample weights must be 1D array or scalar, "
            f"got shape {weight.shape}. Pass one weight per row of X."
        )
    if len(weight) != n_samples:
        raise ValueError(
            f"sample_weight must have n_samples={n_samples} entries, "
            f"got {len(weight)}. Pass one weight per row of X."
        )
    weight = _convert_to_float(weight, "sample_weight", "Pass one weight per row of X.")
    check_exact(sample_weight, weight, "sample_weight")
    if not np.isfinite(weight).all():
        raise ValueError(
            "sample_weight contains NaN or infinity at row "
            f"{int(np.argmin(np.isfinite(weight)))}. Weights must be finite."
        )
    if (weight < 0).any():
        raise ValueError(
            f"sample_weight must be >= 0, got {weight.min()} at row {int(weight.argmin())}."
        )
    if not weight.any() and not part:
        raise ValueError("sample_weight must not be all zero: no row is left to fit.")
    return weight


def _convert_to_float(values: np.ndarray[Any, Any], name: str, fix: str) -> Float64Array:
    """float64 from booleans, numbers or objects; dates and text are not numbers."""
    reason = ""
    texts = values.tolist() if values.dtype.kind == "O" else ()
    text = next((value for value in texts if isinstance(value, str | bytes)), None)
    if text is not None:  # float("1") is 1, but only of objects: a list of texts has another dtype
        reason = f" ({text!r} is text)"
    elif values.dtype.kind in "biufO":
        try:
            return values.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            reason = f" ({error})"
    raise ValueError(f"{name} must hold numbers, got dtype {values.dtype}{reason}. {fix}")


def _check_numbers(table: Table, names: list[str] | None, name: str) -> None:
    """Raise if a column holds text or dates; called once X did not convert to numbers."""
    X, frame = table.numbers, table.numeric_frame
    if is_sparse(X):
        return
    check_is_table(X, name)
    if frame is not None:
        columns = [convert_to_array(series.to_native()) for series in frame.iter_columns()]
    else:
        array = np.asarray(X, dtype=getattr(X, "dtype", object))
        columns = list(array.T) if array.ndim == 2 else []
    for j, column in enumerate(columns):
        row = _first_no_number(column)
        if row is not None:
            place = f"row {row}, column {j}" + (f" ({names[j]!r})" if names else "")
            raise _not_a_number(name, column[row], place)


def _not_a_number(name: str, value: Any, place: str) -> Exception:
    """The error for a value that does not convert to a number."""
    found = f"got {str(value)[:40]!r} at {place}"
    if isinstance(value, complex | np.complexfloating):  # words that scikit-learn's checks require
        return ValueError(f"Complex data not supported: {name} must hold real numbers, {found}.")
    if isinstance(value, datetime.date | np.datetime64 | np.timedelta64):
        return ValueError(
            f"{name} must hold numbers, {found}. Dates are neither numbers nor categories. Replace "
            f"them by a number, such as {TIMES['dates']}, or drop the column."
        )
    fix = "Encode the column (with scikit-learn's OneHotEncoder or OrdinalEncoder) or drop it."
    if isinstance(value, str | bytes):
        return ValueError(f"{name} must hold numbers, {found}. {fix}")
    return TypeError(
        f"{name} must hold numbers, {found}: every argument must be a string or a real number, not "
        f"{type(value).__name__}. {fix}"
    )


def _first_no_number(column: np.ndarray[Any, Any]) -> int | None:
    """Row of the first date or complex number, or of the first object that is not a number."""
    if column.dtype.kind in "mMcV":
        return 0
    for row, value in enumerate(column if column.dtype.kind in "OSUT" else ()):
        if is_missing(value):
            continue
        try:
            float(value)
        except (TypeError, ValueError):
            return row
    return None


def sklearn_release() -> tuple[int, ...]:
    """Major and minor version of scikit-learn."""
    return tuple(map(int, sklearn.__version__.split(".")[:2]))


def hides_names(X: Any) -> bool:
    """Whether scikit-learn does not read the names of a frame.

    Until 1.8 it reads those of pandas and of frames with the interchange protocol, which Polars
    and Arrow have dropped.
    """
    is_read = nw.dependencies.is_pandas_like_dataframe(X) or hasattr(X, "__dataframe__")
    return sklearn_release() < (1, 9) and hasattr(X, "columns") and not is_read


def check_names(estimator: Any, names: list[str], *, reset: bool) -> None:
    """Set the width and the names of the columns, or compare with those of the fit."""
    if reset:
        estimator.n_features_in_ = len(names)
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
        return
    if len(names) != estimator.n_features_in_:
        raise ValueError(
            f"X has {len(names)} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    fitted = getattr(estimator, "feature_names_in_", names)
    for column, (name, expected) in enumerate(zip(names, fitted, strict=True)):
        if name != expected:
            raise ValueError(
                "The feature names should match those that were passed during fit: column "
                f"{column} is {name!r}, it was {expected!r}."
            )


def _check_finite(X: Matrix, names: list[str] | None, *, allow_nan: bool, name: str) -> None:
    values = X.data if is_sparse(X) else X
    if all_finite(values):
        return
    bad = np.isinf(values) if allow_nan else ~np.isfinite(values)
    if not bad.any():
        return
    if is_sparse(X):
        entry = int(np.flatnonzero(bad)[0])
        row = int(np.searchsorted(X.indptr, entry, side="right")) - 1
        column, value = int(X.indices[entry]), values[entry]
    else:
        row, column = (int(i) for i in np.argwhere(bad)[0])
        value = X[row, column]
    label = f" ({names[column]!r})" if names else ""
    kind, fix = "infinity", "Clip or drop such values."
    if np.isnan(value):
        kind = "NaN"
        fix = (
            "Impute or drop such values. LambdaMART, AutoRanker, ranking trees and forests, "
            "RankBoost, FRank, McRank and the LightGBM, XGBoost and CatBoost adapters accept NaN."
        )
    raise RowError(f"Input {name} contains {kind}", row, f", column {column}{label}. {fix}")


FEW_VALUES = 100_000
FEW_ROWS = 16  # Polars values are read by row up to this number, by column beyond


def plain_rows(
    estimator: Any, X: Any, names: list[str] | None = None
) -> tuple[NDArray[Any], list[str] | None] | None:
    """X as a C-contiguous float array with its column names; None: use the full check.

    ``names`` are those of an array's columns. The array is bit-identical to what
    :func:`sklearn.utils.validation.validate_data` returns. Values that are not finite are left to
    the caller.
    """
    state = vars(estimator)
    if "n_features_in_" not in state:
        return None
    fitted = state.get("feature_names_in_")
    if type(X) is list:
        X = _list_values(X)
    if type(X) is np.ndarray:
        table = X
        same = fitted is None if names is None else fitted is not None and names == fitted.tolist()
        if not same or not _is_float(X.dtype):
            return None
    elif fitted is None or not hasattr(type(X), "columns"):
        return None
    else:
        read = _frame(X)
        if read is None:
            return None
        table, names = read
        if names != fitted.tolist():
            return None
    if table.ndim != 2 or table.shape[0] == 0 or not table.shape[1] == state["n_features_in_"] > 0:
        return None
    return np.ascontiguousarray(table), names


def _list_values(X: list[Any]) -> NDArray[Any] | None:
    """Values of a list of lists of Python's numbers as float64; None for any other list."""
    if not X or type(X[0]) is not list:
        return None
    try:
        values = np.asarray(X)
    except (TypeError, ValueError):  # lists of different lengths
        return None
    return values.astype(np.float64) if values.dtype in (np.float64, np.int64) else None


def _frame(X: Any) -> tuple[NDArray[Any], list[str]] | None:
    """Values and names of a pandas or Polars frame whose columns are all numbers."""
    from narwhals import dependencies

    if dependencies.is_pandas_dataframe(X):
        names = X.columns.tolist()
        kinds = set(X.dtypes.to_numpy().tolist())
        plain = all(isinstance(kind, np.dtype) and kind.kind in "fiu" for kind in kinds)
        single = False  # to_numpy has found the common type
    elif dependencies.is_polars_dataframe(X):
        names = X.columns
        kinds = set(X.dtypes)
        plain = all(kind.is_float() or kind.is_integer() for kind in kinds)
        plain = plain and not any(str(kind) in ("Int128", "UInt128") for kind in kinds)
        single = len(kinds) > 1  # scikit-learn reads mixed columns as float64
        if plain and 0 < X.height * X.width < FEW_VALUES:
            return _few_values(X, kinds), names
    else:
        return None
    if not plain or not names:
        return None
    values = X.to_numpy()
    if single or not _is_float(values.dtype):
        if values.dtype.kind not in "fiu":
            return None
        values = values.astype(np.float64)
    return values, names


def _few_values(X: Any, kinds: set[Any]) -> NDArray[Any]:
    """Values of a small Polars frame, read without waking the Polars thread pool.

    Waking the pool takes 5 to 30 ms (measured) if another library's threads still wait for work.
    """
    if X.height <= FEW_ROWS:
        in_float32 = [str(kind) for kind in kinds] == ["Float32"]
        return np.array(X.rows(), dtype=np.float32 if in_float32 else np.float64)
    columns = [column.to_numpy() for column in X.iter_columns()]
    kind = np.float64 if len(kinds) > 1 else np.result_type(*{column.dtype for column in columns})
    table = np.empty(X.shape, dtype=kind if _is_float(np.dtype(kind)) else np.float64)
    for j, column in enumerate(columns):
        table[:, j] = column
    return table


def _is_float(dtype: np.dtype[Any]) -> bool:
    return dtype == np.float64 or dtype == np.float32


_WIDTH = "n_features_in_"


def check_model_width(estimator: Any) -> None:
    """Raise ValueError unless ``n_features_in_`` is the width of the arrays of the fitted model.

    The arrays are those with a dimension ``n_features_in_`` among the declared attributes; the
    fingerprint of the training rows counts as one. O(number of attributes).
    """
    state = vars(estimator)
    width = state.get(_WIDTH)
    for name, n_axes, axis in _arrays_of_width(type(estimator)):
        shape = getattr(state.get(name), "shape", ())
        if len(shape) == n_axes and shape[axis] != width:
            raise _other_width(estimator, width, shape[axis], name)
    fingerprint = state.get("fit_fingerprint_")
    if isinstance(fingerprint, Mapping) and fingerprint.get("n_features", width) != width:
        raise _other_width(estimator, width, fingerprint["n_features"], "fit_fingerprint_")


def check_columns_read(features: np.ndarray[Any, Any], n_columns: int) -> None:
    """Raise ValueError if one of the columns that a model reads is beyond those of the rows."""
    last = int(features.max(initial=-1))
    if last >= n_columns:
        raise ValueError(
            f"X must have column {last}, which the model reads, but has only {n_columns} columns. "
            "Pass rows with the features of the fit."
        )


@cache
def _arrays_of_width(cls: type) -> tuple[tuple[str, int, int], ...]:
    """Names of the declared arrays of a class, each with its number of axes and that of columns."""
    return tuple(
        (name, len(sizes), axis)
        for name, rule in structure_of(cls).items()
        for sizes in _shapes(rule)
        for axis, size in enumerate(sizes)
        if size == _WIDTH
    )


def _shapes(rule: Rule) -> list[tuple[Size, ...]]:
    """Shapes that a rule allows for an array."""
    if isinstance(rule, Either):
        return [shape for choice in rule.rules for shape in _shapes(choice)]
    if isinstance(rule, Sometimes | Optional):
        return _shapes(rule.rule)
    if isinstance(rule, MatrixRows):
        return [(rule.n_rows, rule.n_columns)]
    return [rule.shape] if isinstance(rule, Array) and rule.shape is not None else []


def _other_width(estimator: Any, width: Any, expected: Any, name: str) -> ValueError:
    return ValueError(
        f"{type(estimator).__name__}.n_features_in_ must be {expected}, as in {name}, got {width}: "
        "it was changed after the fit. Fit the model again."
    )


class OneQueryWarning(UserWarning):
    """Rows were passed without a ``qid``, so all of them are treated as one query.

    ``qid=0`` (any scalar) declares one query, without a warning.
    """


def warn_unless_queries(estimator: Any, qid: Any, n_samples: int) -> None:
    """Warn if ``fit`` gets several rows and no ``qid``."""
    if qid is None and n_samples > 1:
        _warn(f"{type(estimator).__name__} got no qid in fit and takes all {n_samples} rows as one "
              "query, each compared with every other.")  # fmt: skip


def warn_of_one_query(estimator: Any, method: str, qid: Any, n_samples: int) -> None:
    """Warn if a model of several queries ranks or measures several rows without a ``qid``.

    Objects without a training fingerprint pass without a warning.
    """
    if qid is not None or n_samples < 2:
        return
    n_queries = getattr(estimator, "fit_fingerprint_", {}).get("n_queries", 1)
    if n_queries > 1:
        _warn(f"{method} got no qid and takes all {n_samples} rows as one query, but "
              f"{type(estimator).__name__} was fitted on {n_queries} queries."
              f"{_fix_for_old_searches(method)}")  # fmt: skip


def _fix_for_old_searches(method: str) -> str:
    """What to do where a search of scikit-learn 1.6 or 1.7 lost the qid of a pipeline."""
    release = sklearn.__version__
    is_old = sklearn_release() < (1, 8)
    is_routed = method.endswith(".score") and sklearn.get_config()["enable_metadata_routing"]
    if not (is_old and is_routed):
        return ""
    return (
        f" In searches and cross-validation over pipelines, scikit-learn {release} does not pass "
        'qid to score: pass scoring=rankwise.metrics.make_scorer("nDCG@10"), or install '
        "scikit-learn 1.8 or later."
    )


def check_comparable(estimator: Any, y: Float64Array, groups: QueryGroups) -> None:
    """Raise ValueError if no query has two rows with different labels."""
    if groups.n_samples < 2:
        return
    ordered = groups.sort(y)
    differs = ordered[1:] != ordered[:-1]
    differs[groups.indptr[1:-1] - 1] = False  # the last row of a query and the first of the next
    if differs.any():
        return
    name = type(estimator).__name__
    if groups.n_queries == groups.n_samples:
        raise ValueError(
            f"qid must give some query two rows or more, got {groups.n_queries} queries of one row "
            f"each: {name} compares rows of one query. Pass the id that rows to be ranked together "
            f"share, or {setting('qid', 0)} where all rows are one query."
        )
    raise ValueError(
        f"y must differ within some query, got equal labels in each of the {groups.n_queries} "
        f"queries: {name} has no pair to learn from. Check that qid and y belong to the same rows."
    )


def _warn(what: str) -> None:
    one_query = setting("qid", 0)
    fix = f"Pass the query of every row as qid, or {one_query} where all rows are one query."
    warnings.warn(f"{what} {fix}{routing_hint()}", OneQueryWarning, stacklevel=callers_level())


def routing_hint() -> str:
    """What a caller who did pass qid to scikit-learn has to do; empty if routing is enabled."""
    if sklearn.get_config()["enable_metadata_routing"]:
        return ""
    return (
        " Searches, cross-validation and pipelines of scikit-learn hand qid on only after "
        "sklearn.set_config(enable_metadata_routing=True)."
    )


def check_positions(position: ArrayLike, data: FitData) -> Int64Array:
    """Positions (integers >= 0) at which the checked rows were displayed.

    ``position`` covers all rows that ``fit`` received; rows of zero weight are dropped.
    """
    n_samples = len(data.y) if data.kept is None else len(data.kept)
    positions = np.asarray(position)
    if positions.shape != (n_samples,):
        raise ValueError(
            f"position must have n_samples={n_samples} entries, got shape {positions.shape}. Pass "
            "the place at which each row was shown."
        )
    if positions.dtype.kind in "iuf":
        with np.errstate(invalid="ignore"):  # infinity has no remainder
            is_bad = ~((positions >= 0) & (positions % 1 == 0))
    else:
        is_bad = np.ones(n_samples, dtype=bool)
    if is_bad.any():
        row = int(is_bad.argmax())
        value = positions[row]
        raise ValueError(
            "position must hold integers >= 0, the place at which each row was shown, got "
            f"{value.item() if isinstance(value, np.generic) else value!r} at row {row}."
        )
    kept = slice(None) if data.kept is None else data.kept
    return positions[kept].astype(np.int64)
