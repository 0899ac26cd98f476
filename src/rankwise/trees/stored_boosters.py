"""Readers of the trees that boosting libraries store, each in the form of its library.

LightGBM compares with float64 thresholds and takes a missing value for 0 where the column had
none in training. XGBoost sends values below a float32 condition to the left. CatBoost has one
question a level, and values above a border go to the side of the larger leaf numbers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.trees.score_tree import ScoreTree
from rankwise.typing import Float64Array

_DEFAULT_LEFT, _MISSING_TYPE = 2, 12
_NONE, _ZERO = 0, 4
_END = "end of trees"


@dataclass(frozen=True, eq=False)
class StoredTrees:
    """Trees read from a stored model.

    Attributes
    ----------
    trees : tuple of ScoreTree
    constant : float
        Added to the sum of the trees.
    has_missing : bool
        Whether values were missing in the training rows, as far as the model knows.
    """

    trees: tuple[ScoreTree, ...]
    constant: float = 0.0
    has_missing: bool = False


def lightgbm_trees(model: bytes) -> StoredTrees:
    """Trees of LightGBM's text model; their cover is the number of rows."""
    if not model:
        return StoredTrees(())
    blocks = model.decode("ascii").split("\nTree=")[1:]
    blocks[-1] = blocks[-1].partition(_END)[0]
    trees, has_missing = [], False
    for block in blocks:
        lines = block.strip().split("\n")[1:]
        entries = dict(line.split("=", 1) for line in lines)
        kinds = np.array(entries.get("decision_type", "").split(), dtype=np.int64)
        has_missing = has_missing or bool(((kinds & _MISSING_TYPE) != _NONE).any())
        trees.append(_lightgbm_tree(entries, kinds))
    return StoredTrees(tuple(trees), 0.0, has_missing)


def _lightgbm_tree(entries: dict[str, str], kinds: Any) -> ScoreTree:
    leaves = np.array(entries["leaf_value"].split(), dtype=np.float64)
    n_inner = len(leaves) - 1

    def column(key: str, dtype: Any) -> Any:
        return np.array(entries[key].split() if n_inner else [], dtype=dtype)

    threshold = column("threshold", np.float64)
    as_zero = (kinds & _MISSING_TYPE) == _NONE
    missing_left = np.where(as_zero, threshold >= 0, (kinds & _DEFAULT_LEFT) > 0)
    zero_missing = (kinds & _MISSING_TYPE) == _ZERO
    left, right = column("left_child", np.int64), column("right_child", np.int64)
    # Leaves have negative numbers, -1 the first one.
    sides = [np.where(side < 0, n_inner - 1 - side, side) for side in (left, right)]
    none = np.full(len(leaves), -1, dtype=np.int64)
    false = np.zeros(len(leaves), dtype=bool)
    counts = np.array(entries["leaf_count"].split() if n_inner else [1.0], dtype=np.float64)
    return ScoreTree(
        np.concatenate([column("split_feature", np.int64), none]),
        np.concatenate([threshold, np.full(len(leaves), np.nan)]),
        np.concatenate([sides[0], none]),
        np.concatenate([sides[1], none]),
        np.concatenate([missing_left[:n_inner], false]).astype(bool),
        np.concatenate([np.zeros(n_inner), leaves]),
        cover=np.concatenate([column("internal_count", np.float64), counts]),
        zero_missing=np.concatenate([zero_missing, false]) if zero_missing.any() else None,
    )


def xgboost_trees(model: bytes) -> StoredTrees:
    """Trees of XGBoost's JSON model; their cover is the sum of second derivatives."""
    if not model:
        return StoredTrees(())
    learner = json.loads(model)["learner"]
    trees = []
    for tree in learner["gradient_booster"]["model"]["trees"]:
        left = np.array(tree["left_children"], dtype=np.int64)
        inner = left >= 0
        conditions = np.array(tree["split_conditions"], dtype=np.float32)
        below = np.nextafter(conditions, np.float32(-np.inf))
        # Between the largest number that goes left and the condition, which does not.
        halfway = 0.5 * below.astype(np.float64) + 0.5 * conditions.astype(np.float64)
        trees.append(
            ScoreTree(
                np.where(inner, tree["split_indices"], -1).astype(np.int64),
                np.where(inner, halfway, np.nan),
                left,
                np.array(tree["right_children"], dtype=np.int64),
                np.array(tree["default_left"], dtype=bool),
                np.where(inner, 0.0, conditions.astype(np.float64)),
                cover=np.array(tree["sum_hessian"], dtype=np.float64),
            )
        )
    base = float(learner["learner_model_param"]["base_score"].strip("[]"))
    return StoredTrees(tuple(trees), float(np.float32(base)))


def catboost_trees(model: bytes) -> StoredTrees:
    """Trees of CatBoost's JSON model, written out as ordinary ones; cover: weight of the rows."""
    if not model:
        return StoredTrees(())
    stored = json.loads(model)
    features = stored["features_info"]["float_features"]
    scale, (bias,) = stored["scale_and_bias"]
    trees = [_catboost_tree(tree, features, float(scale)) for tree in stored["oblivious_trees"]]
    has_missing = any(feature["has_nans"] for feature in features)
    return StoredTrees(tuple(trees), float(bias), has_missing)


def _catboost_tree(tree: dict[str, Any], features: list[dict[str, Any]], scale: float) -> ScoreTree:
    splits = (tree["splits"] or [])[::-1]  # the last question decides on the largest step
    depth = len(splits)
    level = np.repeat(np.arange(depth), 2 ** np.arange(depth))
    leaves: Float64Array = np.array(tree["leaf_values"], dtype=np.float64) * scale
    of = [features[split["float_feature_index"]] for split in splits]
    columns = np.array([feature["flat_feature_index"] for feature in of], dtype=np.int64)
    borders = np.array([split["border"] for split in splits], dtype=np.float32)
    to_right = np.array([feature["nan_value_treatment"] == "AsTrue" for feature in of], dtype=bool)
    n_inner, n_nodes = 2**depth - 1, 2 ** (depth + 1) - 1
    none = np.full(len(leaves), -1, dtype=np.int64)
    children = 2 * np.arange(n_inner)
    cover = [np.array(tree["leaf_weights"], dtype=np.float64)]
    for _ in range(depth):  # of the level above
        cover.insert(0, cover[0][::2] + cover[0][1::2])
    return ScoreTree(
        np.concatenate([columns[level], none]),
        np.concatenate([borders[level].astype(np.float64), np.full(len(leaves), np.nan)]),
        np.concatenate([children + 1, none]),
        np.concatenate([children + 2, none]),
        np.concatenate([~to_right[level], np.zeros(n_nodes - n_inner, dtype=bool)]),
        np.concatenate([np.zeros(n_inner), leaves]),
        cover=np.concatenate(cover),
    )
