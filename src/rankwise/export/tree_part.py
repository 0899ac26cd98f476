"""Sums of trees for formats that keep categories and compare in float64."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rankwise.export.chains import chain_of
from rankwise.export.float32 import move_before
from rankwise.export.maps import ExportError, Scaled, Trees
from rankwise.export.parts import describe_model
from rankwise.prediction import innermost
from rankwise.trees.score_tree import ScoreTree
from rankwise.typing import Float64Array

# A node's set of categories takes a bit for each number up to the largest.
LARGEST_CATEGORY = 2**20


def trees_of(estimator: Any, format: str) -> Trees:
    """Trees of a model on its original features, with categories.

    The model is a sum of trees, or a pipeline of scalers and such a model. Its thresholds are kept,
    but if scalers precede the trees, they are float32 numbers such that every float32 row takes the
    branches of the pipeline. ``format`` names the function in errors: ExportError is raised if the
    model is not a sum of trees, or scales a column of categories.
    """
    chain = chain_of(estimator)
    n_scaled = 0
    while n_scaled < len(chain) and type(chain[n_scaled]) is Scaled:
        n_scaled += 1
    scaled: Any = chain[:n_scaled]
    match chain[n_scaled:]:
        case (Trees() as trees,):
            if not scaled:
                return trees
            grown = tuple(_unscale_tree(tree, scaled) for tree in trees.trees)
            return replace(trees, trees=grown)
        case _:
            raise ExportError(
                f"{format} takes sums of trees, with scalers before them; "
                f"{describe_model(estimator, chain)}{_members(estimator)} Use to_onnx."
            )


def _members(estimator: Any) -> str:
    """Members of a blend that are no sums of trees, in words."""
    blend = innermost(estimator)
    members = zip(getattr(blend, "models_", ()), getattr(blend, "weights_", ()), strict=False)
    others = {
        type(innermost(model)).__name__
        for model, weight in members
        if weight > 0 and not isinstance(chain_of(model)[-1], Trees)
    }
    return f" No trees: {', '.join(sorted(others))}." if others else ""


def _unscale_tree(tree: ScoreTree, scaled: tuple[Scaled, ...]) -> ScoreTree:
    if tree.members:
        column = int(tree.feature[next(iter(tree.members))])
        raise ExportError(
            f"column {column} has unordered categories behind a scaler. Fit without the scaler, "
            "which trees do not need."
        )
    return move_before(scaled, tree)


def separate_float32(thresholds: Float64Array) -> Float64Array:
    """Thresholds (n,) that no finite float32 number equals, with the same float32 numbers below.

    A threshold that is a float32 number becomes the next float64 number above it. Readers that test
    ``<`` then send float32 rows the same way as readers that test ``<=``. Every float64 row still
    takes its branch unless its value is exactly that next number.
    """
    with np.errstate(over="ignore"):
        is_float32 = thresholds.astype(np.float32).astype(np.float64) == thresholds
    moved = is_float32 & np.isfinite(thresholds)
    separate = thresholds.copy()
    separate[moved] = np.nextafter(thresholds[moved], np.inf)
    return separate


def level_order(tree: ScoreTree) -> tuple[list[int], list[int]]:
    """Inner nodes and leaves that the root reaches, level by level."""
    inner: list[int] = []
    leaves: list[int] = []
    level = [0]
    while level:
        split = [node for node in level if tree.feature[node] >= 0]
        inner += split
        leaves += [node for node in level if tree.feature[node] < 0]
        level = [int(side[node]) for node in split for side in (tree.left, tree.right)]
    return inner, leaves


def node_weights(tree: ScoreTree) -> Float64Array:
    """Weight of the training rows in each node; without it, the number of leaves below."""
    if tree.cover is not None:
        return tree.cover
    inner, leaves = level_order(tree)
    weights = np.zeros(len(tree.feature))
    weights[leaves] = 1.0
    for node in reversed(inner):
        weights[node] = weights[tree.left[node]] + weights[tree.right[node]]
    return weights


def positive_weights(tree: ScoreTree) -> Float64Array:
    """Weights in which leaves without training rows have a millionth of the root's weight.

    Contributions by paths divide by the weights of nodes.
    """
    inner, leaves = level_order(tree)
    weights = node_weights(tree).copy()
    weights[leaves] = np.maximum(weights[leaves], 1e-6 * (weights[0] or 1.0))
    for node in reversed(inner):
        weights[node] = weights[tree.left[node]] + weights[tree.right[node]]
    return weights


def mean_values(tree: ScoreTree, weights: Float64Array) -> Float64Array:
    """Value of each leaf, and the weighted mean of the leaves below each other node."""
    inner, _ = level_order(tree)
    values = tree.values.copy()
    for node in reversed(inner):
        sides = np.array([tree.left[node], tree.right[node]])
        total = weights[sides].sum()
        values[node] = weights[sides] @ values[sides] / total if total > 0 else values[sides].mean()
    return values


def category_numbers(values: Float64Array, column: int, format: str) -> list[int]:
    """Categories as whole numbers from 0 to 2**20, for formats that store them as sets of bits.

    ExportError is raised for any other category.
    """
    whole = (values == np.floor(values)) & (values >= 0) & (values <= LARGEST_CATEGORY)
    if not whole.all():
        raise ExportError(
            f"categories of column {column} must be whole numbers from 0 to {LARGEST_CATEGORY} for "
            f"{format}, got {values[~whole][0]:g}. Number the categories before training."
        )
    return values.astype(np.int64).tolist()
