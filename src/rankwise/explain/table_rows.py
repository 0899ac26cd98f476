"""Rows of any kind of table: split into values, and mixed feature by feature."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.rows import name_columns, plain_rows
from rankwise.prediction import scores_of
from rankwise.runtime.finite import FiniteResults
from rankwise.typing import Float64Array, is_sparse

BATCH = 8192  # number of mixed rows scored together
_EXACT = 2**53  # every whole number up to this is a float64

Score = Callable[[Any], Float64Array]


def convert_to_table(X: Any) -> Any:
    """Convert to a table: frames unchanged, a row of a frame as a frame, others as a 2-D array."""
    if hasattr(X, "columns"):
        return X
    if hasattr(X, "to_frame") and hasattr(X, "index"):  # a row of a pandas frame
        return X.to_frame().T.infer_objects()
    X = X.toarray() if is_sparse(X) else np.asarray(X)
    return X[None, :] if X.ndim == 1 else X


def join(a: Any, b: Any) -> Any:
    """Table of the rows of ``a`` followed by those of ``b``."""
    if hasattr(a, "columns"):
        import narwhals

        frames = [narwhals.from_native(part, eager_only=True) for part in (a, b)]
        return narwhals.concat(frames).to_native()
    return np.vstack([convert_to_table(a), convert_to_table(b)])


@contextmanager
def convert_to_arrays(ranker: Any, *tables: Any) -> Iterator[tuple[Any, ...]]:
    """Convert frames of numbers to arrays, which ``ranker`` reads faster; others are unchanged.

    Within the block, the ranker treats the columns of arrays as those of its fit. Only estimators
    of this library read frames and arrays alike, and without categories, which floats may merge.
    """
    columns = getattr(ranker, "columns_", None)
    is_alike = isinstance(ranker, FiniteResults) and not (columns and columns.nominal)
    read = [
        plain_rows(ranker, table) if hasattr(table, "columns") and is_alike else None
        for table in tables
    ]
    plain = [found for found in read if found is not None]
    if len(plain) < len(tables):
        yield tables
        return
    with name_columns(ranker, plain[0][1]):
        yield tuple(rows for rows, _ in plain)


def names_of(estimator: Any, table: Any) -> list[str]:
    """Names of the features: from the fit or the frame, or x0, x1, …"""
    names = getattr(estimator, "feature_names_in_", getattr(table, "columns", None))
    if names is None:
        return [f"x{j}" for j in range(table.shape[1])]
    return [str(name) for name in names]


def row_values(table: Any, read: Any = None) -> list[Sequence[Any]]:
    """Values of every row, feature by feature; ``read`` comes from :func:`convert_to_arrays`."""
    if hasattr(table, "columns"):
        import narwhals

        if narwhals.dependencies.is_pandas_dataframe(table):
            return _pandas_values(table, read)
        return list(narwhals.from_native(table, eager_only=True).rows())
    return list(table)


def _pandas_values(table: Any, read: Any) -> list[Sequence[Any]]:
    """Values of every row; pandas itself would split columns of several dtypes one by one."""
    dtypes = table.dtypes.to_numpy()
    kinds = set(dtypes.tolist())
    if not all(isinstance(kind, np.dtype) and kind.kind in "fi" for kind in kinds):
        return list(table.to_numpy(dtype=object))
    values = read if isinstance(read, np.ndarray) else table.to_numpy()
    if all(kind.kind == "f" for kind in kinds):
        return list(values)
    whole = np.array([kind.kind == "i" for kind in dtypes])
    if not (np.abs(values[:, whole]) <= _EXACT).all():
        return list(table.to_numpy(dtype=object))
    rows = values.astype(object)
    rows[:, whole] = values[:, whole].astype(np.int64)
    return list(rows)


def mix_rows(table: Any, sources: NDArray[Any]) -> Any:
    """Mixed rows: feature j of row i comes from row ``sources[i, j]`` of the table."""
    if not hasattr(table, "columns"):
        return table[sources, np.arange(table.shape[1])]
    import narwhals

    if narwhals.dependencies.is_pandas_dataframe(table):
        return _mix_pandas(table, sources)
    frame = narwhals.from_native(table, eager_only=True)
    columns = [frame[name] for name in frame.columns]
    is_plain = all(column.dtype == columns[0].dtype for column in columns)
    if is_plain and columns[0].dtype.is_float() and not any(c.null_count() for c in columns):
        block = frame.to_numpy()[sources, np.arange(len(columns))]
        backend = narwhals.get_native_namespace(frame)
        return narwhals.from_numpy(block, frame.columns, backend=backend).to_native()
    taken = [column[np.ascontiguousarray(sources[:, j])] for j, column in enumerate(columns)]
    return frame[np.zeros(len(sources), dtype=np.int64)].with_columns(*taken).to_native()


def _mix_pandas(table: Any, sources: NDArray[Any]) -> Any:
    """Mix columns of one NumPy dtype together, since building a frame by columns is slow."""
    import pandas as pd

    of_dtype: dict[Any, list[int]] = {}
    for j, dtype in enumerate(table.dtypes):
        is_number = isinstance(dtype, np.dtype) and dtype.kind in "biuf"
        of_dtype.setdefault(dtype if is_number else j, []).append(j)
    parts: list[Any] = []
    for key, columns in of_dtype.items():
        if isinstance(key, np.dtype):
            block = table.iloc[:, columns].to_numpy()
            block = block[sources[:, columns], np.arange(len(columns))]
            parts.append(pd.DataFrame(block, columns=table.columns[columns]))
        else:
            taken = table.iloc[:, key].take(sources[:, key])
            parts.append(taken.reset_index(drop=True))
    if len(parts) == 1 and isinstance(parts[0], pd.DataFrame):
        return parts[0]
    return pd.concat(parts, axis=1)[list(table.columns)]


def score_mixed(estimator: Any, table: Any, sources: NDArray[Any]) -> Float64Array:
    """Scores of mixed rows, shape (len(sources),)."""
    parts = [
        scores_of(estimator, mix_rows(table, sources[lo : lo + BATCH]))
        for lo in range(0, len(sources), BATCH)
    ]
    return np.concatenate([np.zeros(0), *parts])


def additive_parts(estimator: Any, table: Any) -> Float64Array:
    """Values of the single-feature functions that the scores of an additive estimator sum.

    The shape is (n_samples, n_features); each function is determined up to a constant.
    """
    n, d = table.shape
    parts = np.empty((n, d))
    at_once = max(1, BATCH // max(n, 1))
    for first in range(0, d, at_once):
        columns = np.arange(first, min(first + at_once, d))
        sources = np.zeros((len(columns), n, d), dtype=np.int64)  # other features: from row 0
        sources[np.arange(len(columns)), :, columns] = np.arange(n)
        scores = score_mixed(estimator, table, sources.reshape(-1, d))
        parts[:, columns] = scores.reshape(len(columns), n).T
    return parts
