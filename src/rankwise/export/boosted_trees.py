"""Boosted trees, our own and those of the adapters, as chains of maps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rankwise.export.maps import Chain, ExportError, Trees
from rankwise.trees.score_tree import ScoreTree
from rankwise.typing import Float64Array


def lambdamart(estimator: Any) -> Chain:
    """Trees of our own."""
    trees = estimator.trees_
    return (Trees(trees.score_trees(), trees.constant, bool(estimator.has_missing_.any())),)


def lightgbm(estimator: Any) -> Chain:
    """Trees of LightGBM's text model."""
    if any(tree.zero_missing is not None for tree in estimator.stored_trees().trees):
        raise ExportError(
            "A LightGBM model of zero_as_missing=True takes zeros for missing values, which "
            "no other format does. Fit without it."
        )
    return boosted(estimator)


def boosted(estimator: Any) -> Chain:
    """Trees of the library's model, CatBoost's written out as ordinary ones."""
    stored, table = estimator.stored_trees(), estimator.columns_
    numbers = {
        column: categories.astype(np.float64)
        for column, categories in table.nominal.items()
        if categories.dtype.kind in "biuf"
    }
    named = {**table.nominal, **table.ordered}
    categories = {column: named[column] for column in named if column not in numbers}
    trees = tuple(_of_numbers(tree, numbers) for tree in stored.trees)
    return (Trees(trees, stored.constant, stored.has_missing, categories),)


def _of_numbers(tree: ScoreTree, numbers: dict[int, Float64Array]) -> ScoreTree:
    """The tree with the numbers of a column without order in place of their codes."""
    members = {}
    for node, sides in tree.members.items():
        known = numbers.get(int(tree.feature[node]))
        left, right = (side if known is None else known[side.astype(np.int64)] for side in sides)
        members[node] = (left, right)
    return replace(tree, members=members)
