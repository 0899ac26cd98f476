"""Rows of any kind of table: taken apart, and mixed feature by feature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.metrics.predicting import scores_of
from rankwise.typing import Float64Array, is_sparse

BATCH = 8192  # mixed rows scored at a time

Score = Callable[[Any], Float64Array]


def as_table(X: Any) -> Any:
    """A frame as it is, anything else as a dense two-dimensional array."""
    if hasattr(X, "columns"):
        return X
    X = X.toarray() if is_sparse(X) else np.asarray(X)
    return X[None, :] if X.ndim == 1 else X


def join(a: Any, b: Any) -> Any:
    """Table of the rows of ``a``, then those of ``b``."""
    if hasattr(a, "columns"):
        import narwhals

        frames = [narwhals.from_native(part, eager_only=True) for part in (a, b)]
        return narwhals.concat(frames).to_native()
    return np.vstack([as_table(a), as_table(b)])


def names_of(estimator: Any, table: Any) -> list[str]:
    """Names of the features: those of the fit, of the frame, or x0, x1, …"""
    names = getattr(estimator, "feature_names_in_", getattr(table, "columns", None))
    if names is None:
        return [f"x{j}" for j in range(table.shape[1])]
    return [str(name) for name in names]


def values_of(table: Any, row: int) -> list[Any]:
    """Values of a row, feature by feature."""
    if hasattr(table, "columns"):
        import narwhals

        frame = narwhals.from_native(table, eager_only=True)
        return [frame[name][row] for name in frame.columns]
    return list(table[row])


def take(table: Any, rows: Sequence[int] | NDArray[Any]) -> Any:
    """Some rows of a table."""
    if hasattr(table, "columns"):
        import narwhals

        return narwhals.from_native(table, eager_only=True)[list(map(int, rows))].to_native()
    return table[np.asarray(rows)]


def mixed(table: Any, sources: NDArray[Any]) -> Any:
    """Rows whose feature j comes from row ``sources[i, j]`` of the table."""
    if hasattr(table, "columns"):
        import narwhals

        frame = narwhals.from_native(table, eager_only=True)
        parts = [frame.select(name)[sources[:, j].tolist()] for j, name in enumerate(frame.columns)]
        return narwhals.concat(parts, how="horizontal").to_native()
    return table[sources, np.arange(table.shape[1])]


def score_mixed(estimator: Any, table: Any, sources: NDArray[Any]) -> Float64Array:
    """Scores of mixed rows, shape (len(sources),)."""
    parts = [
        scores_of(estimator, mixed(table, sources[lo : lo + BATCH]))
        for lo in range(0, len(sources), BATCH)
    ]
    return np.concatenate([np.zeros(0), *parts])
