"""Convert boosted trees, our own and those of the adapters, to chains of maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rankwise.export.maps import Chain, ExportError, Trees
from rankwise.trees.columns import ColumnTable
from rankwise.trees.score_tree import ScoreTree
from rankwise.typing import Float64Array


def lambdamart(estimator: Any) -> Chain:
    """Trees of our own boosters."""
    trees, table = estimator.trees_, estimator.columns_
    grown = trees.score_trees(table.n_categories(estimator.n_features_in_))
    return _chain(grown, trees.constant, bool(estimator.has_missing_.any()), table)


def lightgbm(estimator: Any) -> Chain:
    """Trees of LightGBM's text model."""
    if any(tree.zero_missing is not None for tree in estimator.stored_trees().trees):
        raise ExportError(
            "A LightGBM model with zero_as_missing=True treats zeros as missing values, which "
            "no other format supports. Fit without it."
        )
    return boosted(estimator)


def boosted(estimator: Any) -> Chain:
    """Trees of the library's model; CatBoost's are converted to ordinary trees."""
    stored = estimator.stored_trees()
    return _chain(stored.trees, stored.constant, stored.has_missing, estimator.columns_)


def _chain(
    trees: Sequence[ScoreTree], constant: float, has_missing: bool, table: ColumnTable
) -> Chain:
    """Convert trees on codes of categories to trees on the categories themselves."""
    numbers = {
        column: categories.astype(np.float64)
        for column, categories in table.nominal.items()
        if categories.dtype.kind in "biuf"
    }
    named = {**table.nominal, **table.ordered}
    categories = {column: named[column] for column in named if column not in numbers}
    of_numbers = tuple(_of_numbers(tree, numbers) for tree in trees)
    return (Trees(of_numbers, constant, has_missing, categories),)


def _of_numbers(tree: ScoreTree, numbers: dict[int, Float64Array]) -> ScoreTree:
    """Replace codes of unordered columns in a tree by the numbers of their categories."""
    members = {}
    for node, sides in tree.members.items():
        known = numbers.get(int(tree.feature[node]))
        left, right = (side if known is None else known[side.astype(np.int64)] for side in sides)
        members[node] = (left, right)
    return replace(tree, members=members)
