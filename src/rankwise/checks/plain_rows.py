"""Fast path through the check of X, for rows that need no conversion and no message.

scikit-learn's check of a small table takes longer than most models take to score it. Float arrays
and numeric frames with the columns of the fit pass all of its tests, and a few comparisons
recognise them. Anything else takes the full check, which converts, warns or raises.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    if type(X) is np.ndarray:
        table = X
        same = fitted is None if names is None else fitted is not None and names == fitted.tolist()
        if not same or not _is_float(X.dtype):
            return None
    elif fitted is None or not hasattr(X, "columns"):
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
