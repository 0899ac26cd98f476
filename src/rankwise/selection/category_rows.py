"""Rows with columns of categories, in the form that an estimator reads."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from sklearn.frozen import FrozenEstimator

from rankwise.datasets.category_columns import category_frame
from rankwise.datasets.data import RankingData
from rankwise.datasets.table_columns import IgnoredColumnsWarning, list_names
from rankwise.runtime.callers import callers_level
from rankwise.trees.column_table import CategoricalInput


def unfreeze(model: Any) -> Any:
    """Return the estimator inside a FrozenEstimator; others unchanged."""
    return unfreeze(model.estimator) if isinstance(model, FrozenEstimator) else model


def takes_categories(estimator: Any) -> bool:
    """Whether an estimator takes frames with columns of text."""
    return isinstance(unfreeze(estimator), CategoricalInput)


def prepare_rows(
    estimator: Any, data: RankingData, wanted: Sequence[str] | None = None
) -> tuple[Any, list[str] | None]:
    """Rows as an estimator reads them, and the names of their columns.

    Rows without categories are X. An estimator that takes categories gets a frame with their text,
    without columns of more categories than it takes. All others get X without their columns. An
    IgnoredColumnsWarning names the columns that are left out; it is an error if none remains.

    ``wanted`` are columns to read, in this order, as they were prepared before; None: all.
    """
    X: Any = data.X
    names, categories = data.feature_names, dict(data.categories or {})
    if names is not None and wanted is not None and names != [*wanted]:
        places = [names.index(name) for name in wanted]
        categories = {i: categories[j] for i, j in enumerate(places) if j in categories}
        X, names = X[:, places], list(wanted)
    if not categories or names is None:
        return X, names
    kind = type(unfreeze(estimator)).__name__
    if takes_categories(estimator):
        most = unfreeze(estimator)._most_categories if wanted is None else None
        many = [j for j, known in categories.items() if most is not None and len(known) > most]
        if not many or len(many) == len(names):  # fit says what is wrong with them
            return category_frame(X, names, categories), names
        listed = [f"{names[j]!r} ({len(categories[j])} categories)" for j in many]
        warnings.warn(
            f"{kind} takes at most {most} categories in a column, and leaves out "
            f"{list_names(listed, quote=str)}. Merge rare categories to use them, or use "
            "AutoRanker, LightGBMRanker or XGBoostRanker.",
            IgnoredColumnsWarning,
            stacklevel=callers_level(),
        )
        kept = [j for j in range(len(names)) if j not in many]
        names = [names[j] for j in kept]
        categories = {i: categories[j] for i, j in enumerate(kept) if j in categories}
        return category_frame(X[:, kept], names, categories) if categories else X[:, kept], names
    kept = [j for j in range(len(names)) if j not in categories]
    texts = [names[j] for j in sorted(categories)]
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
