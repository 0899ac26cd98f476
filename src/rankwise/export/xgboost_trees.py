"""Trees in XGBoost's arrays, with finite float32 conditions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.export.float32 import floor_float32
from rankwise.export.tree_part import category_numbers, mean_values, positive_weights
from rankwise.trees.score_tree import ScoreTree
from rankwise.typing import Float64Array

_NO_PARENT = 2**31 - 1
_LARGEST = np.finfo(np.float32).max
_SMALLEST = float(np.finfo(np.float32).smallest_subnormal)  # XGBoost's condition of a set
_NO_CATEGORY = 2**24 - 1  # the largest that XGBoost knows, for sets that would be empty


def conditions(thresholds: Float64Array) -> NDArray[np.float32]:
    """Numbers c such that ``x < c`` decides as ``x <= t`` on float32 numbers; t < 3.4e38."""
    return np.nextafter(floor_float32(thresholds), np.float32(np.inf))


def limit_conditions(tree: ScoreTree) -> ScoreTree:
    """Tree whose conditions are finite.

    A node that parts missing values from all others has an infinite threshold, which JSON lacks.
    Its sides change places, so that no number is below the condition, which is the smallest number.
    """
    return _swap(tree, (tree.feature >= 0) & (floor_float32(tree.threshold) >= _LARGEST), -np.inf)


def _swap(tree: ScoreTree, swapped: NDArray[np.bool_], threshold: float) -> ScoreTree:
    return replace(
        tree,
        threshold=np.where(swapped, threshold, tree.threshold),
        left=np.where(swapped, tree.right, tree.left),
        right=np.where(swapped, tree.left, tree.right),
        missing_left=tree.missing_left ^ swapped,
    )


def xgboost_tree(tree: ScoreTree, number: int, n_features: int) -> dict[str, Any]:
    """Entries of a tree in a model file.

    XGBoost sends unknown categories to the left. Missing values, which unknown categories follow
    in a ScoreTree, therefore go left at nodes of categories, and the set holds the other side.
    """
    to_right = {}
    for node, sides in tree.members.items():
        left_side, right_side = (
            category_numbers(side, int(tree.feature[node]), "XGBoost") for side in sides
        )
        to_right[node] = right_side if tree.missing_left[node] else left_side
    nominal = np.zeros(len(tree.feature), dtype=bool)
    nominal[list(to_right)] = True
    tree = _swap(tree, nominal & ~tree.missing_left, 0.0)
    tree = limit_conditions(replace(tree, threshold=np.where(nominal, 0.0, tree.threshold)))
    order = np.array(_breadth_first(tree))
    place = np.full(len(tree.feature), -1)
    place[order] = np.arange(len(order))
    is_inner, is_nominal = tree.feature[order] >= 0, nominal[order]
    left = np.where(is_inner, place[tree.left[order]], -1)
    right = np.where(is_inner, place[tree.right[order]], -1)
    parents = np.full(len(order), _NO_PARENT)
    nodes = np.flatnonzero(is_inner)
    parents[left[nodes]] = parents[right[nodes]] = nodes
    weights = positive_weights(tree)
    values = mean_values(tree, weights)[order]
    gain = np.zeros(len(order)) if tree.gain is None else tree.gain[order]
    thresholds = conditions(np.where(is_inner, tree.threshold[order], 0.0))
    thresholds[is_nominal] = _SMALLEST
    sets = {int(place[node]): side for node, side in to_right.items()}
    return {
        "base_weights": _floats(values),
        **_categories(sets),
        "default_left": (is_inner & tree.missing_left[order]).astype(int).tolist(),
        "id": number,
        "left_children": left.tolist(),
        "loss_changes": _floats(gain),
        "parents": parents.tolist(),
        "right_children": right.tolist(),
        "split_conditions": _floats(np.where(is_inner, thresholds, values)),
        "split_indices": np.where(is_inner, tree.feature[order], 0).tolist(),
        "split_type": is_nominal.astype(int).tolist(),
        "sum_hessian": _floats(weights[order]),
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(n_features),
            "num_nodes": str(len(order)),
            "size_leaf_vector": "1",
        },
    }


def _categories(sets: dict[int, list[int]]) -> dict[str, list[int]]:
    """Sets of categories by node; XGBoost 3.2 ends the process if the nodes do not ascend."""
    nodes = sorted(place for place in sets if place >= 0)
    listed = [sorted(sets[node]) or [_NO_CATEGORY] for node in nodes]
    sizes = [len(numbers) for numbers in listed]
    return {
        "categories": [value for numbers in listed for value in numbers],
        "categories_nodes": nodes,
        "categories_segments": [sum(sizes[:k]) for k in range(len(sizes))],
        "categories_sizes": sizes,
    }


def _breadth_first(tree: ScoreTree) -> list[int]:
    """Nodes level by level; XGBoost takes the node after a left child for its sibling."""
    order = [0]
    for node in order:
        if tree.feature[node] >= 0:
            order += [int(tree.left[node]), int(tree.right[node])]
    return order


def _floats(values: Any) -> list[float]:
    """Float32 numbers, as Python numbers of the same value."""
    return np.asarray(values, dtype=np.float32).astype(np.float64).tolist()
