"""Columns 0 or 1 in place of categories, for models that read numbers only.

Categories arrive as codes, as :class:`rankwise.trees.column_table.ColumnTable` makes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.typing import Float64Array

MOST_CATEGORIES = 64


def frequent_categories(
    X: NDArray[Any],
    columns: Iterable[int],
    weight: Float64Array | None = None,
    most: int = MOST_CATEGORIES,
) -> dict[int, Float64Array]:
    """Codes of the ``most`` heaviest categories by column, ascending; ties go to the smaller code.

    X is (n_samples, n_features), with codes in the given columns; NaN is not a category. ``weight``
    is (n_samples,); None: all 1.
    """
    found = {}
    for column in columns:
        known = np.isfinite(X[:, column])
        codes, place = np.unique(X[known, column].astype(np.float64), return_inverse=True)
        total = np.bincount(place, None if weight is None else weight[known], len(codes))
        found[column] = np.sort(codes[np.argsort(-total, kind="stable")[:most]])
    return found


def append_indicators(
    table: NDArray[Any], X: NDArray[Any], categories: Mapping[int, Float64Array], height: float
) -> NDArray[Any]:
    """The table with a column for each category: ``height`` in its rows of X, 0 in all others.

    Rows of other categories, or of none, are 0 in all columns.
    """
    blocks = [
        (X[:, [column]] == codes).astype(table.dtype) * table.dtype.type(height)
        for column, codes in categories.items()
    ]
    return np.hstack([table, *blocks]) if blocks else table
