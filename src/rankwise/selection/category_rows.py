"""Rows with columns of categories, in the form that an estimator reads."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.frozen import FrozenEstimator

from rankwise.datasets.category_columns import category_frame
from rankwise.datasets.data import RankingData
from rankwise.datasets.table_columns import IgnoredColumnsWarning, list_names
from rankwise.runtime.callers import callers_level
from rankwise.trees.column_table import CategoricalInput


def takes_categories(estimator: Any) -> bool:
    """Whether an estimator takes frames with columns of text."""
    if isinstance(estimator, FrozenEstimator):
        return takes_categories(estimator.estimator)
    return isinstance(estimator, CategoricalInput)


def rows_for(estimator: Any, data: RankingData) -> tuple[Any, list[str] | None]:
    """Rows as an estimator reads them, and the names of their columns.

    Rows without categories are X. An estimator that takes categories gets a frame with their text,
    all others get X without their columns.

    Raises
    ------
    ValueError
        If no column is left.

    Warns
    -----
    IgnoredColumnsWarning
        If columns are left out.
    """
    names = data.feature_names
    if not data.categories or names is None:
        return data.X, names
    X: Any = data.X
    if takes_categories(estimator):
        return category_frame(X, names, data.categories), names
    kept = [j for j in range(data.n_features) if j not in data.categories]
    texts, kind = [names[j] for j in sorted(data.categories)], type(estimator).__name__
    if not kept:
        raise ValueError(
            f"{kind} takes columns of numbers, but all columns hold text: {list_names(texts)}. "
            "Encode them as numbers, or use LambdaMART, AutoRanker or a booster."
        )
    warnings.warn(
        f"{kind} takes columns of numbers, and leaves out those of text: {list_names(texts)}. "
        "Encode them as numbers to use them, or use LambdaMART, AutoRanker or a booster.",
        IgnoredColumnsWarning,
        stacklevel=callers_level(),
    )
    return X[:, kept], [names[j] for j in kept]
