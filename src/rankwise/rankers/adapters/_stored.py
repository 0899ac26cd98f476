"""Structural checks of stored trees, made before a native library sees them.

The libraries index into their arrays with the child and feature numbers that a model file holds;
a crafted file could make them read or write outside. Here every number that is used as an index
is checked, trees must be trees, and whatever rankwise does not write itself is refused.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

LIGHTGBM_OBJECTIVES = ("lambdarank", "rank_xendcg")
XGBOOST_OBJECTIVES = ("rank:ndcg", "rank:pairwise")
CATBOOST_MAX_DEPTH = 16

_LIGHTGBM_HEADER = {
    "version", "num_class", "num_tree_per_iteration", "label_index", "max_feature_idx",
    "objective", "feature_names", "feature_infos", "tree_sizes",
}  # fmt: skip
_LIGHTGBM_NODES = {
    "split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child",
    "internal_value", "internal_weight", "internal_count",
}  # fmt: skip
_LIGHTGBM_LEAVES = {"leaf_value", "leaf_weight", "leaf_count"}
_LIGHTGBM_SCALARS = {"num_leaves", "num_cat", "is_linear", "shrinkage"}


class StoredTreesError(ValueError):
    """Stored trees are damaged, or of a kind that rankwise does not store."""


def check_lightgbm(data: bytes, n_features: int) -> None:
    """Check a LightGBM text model that ends after its trees; raises StoredTreesError."""
    try:
        text = data.decode("ascii")
        header_text, _, _ = text.partition("\n\n")
        first, *lines = header_text.split("\n")
        _require(first == "tree", "the text does not start with 'tree'")
        header = dict(line.split("=", 1) for line in lines)
        optional = {"monotone_constraints"} & set(header)
        _require(len(header) == len(lines), "a key of the header comes twice")
        _require_keys(header, _LIGHTGBM_HEADER | optional)
        _require(header["num_class"] == "1", "num_class must be 1")
        _require(header["num_tree_per_iteration"] == "1", "num_tree_per_iteration must be 1")
        _require(int(header["max_feature_idx"]) == n_features - 1, "the feature count is wrong")
        for key in ("feature_names", "feature_infos", *optional):
            _require(len(header[key].split(" ")) == n_features, f"{key} has a wrong length")
        objective = header["objective"].split(" ")[0]
        _require(objective in LIGHTGBM_OBJECTIVES, f"objective {objective!r} is not a ranking one")
        start = len(header_text) + 2
        for number, size in enumerate(_integers(header["tree_sizes"])):
            _require(0 < size <= len(text), "a tree has a wrong size")
            _check_lightgbm_tree(text[start : start + size], number, n_features)
            start += size
        _require(text[start:] == "end of trees\n", "the trees do not end where they should")
    except (KeyError, ValueError, OverflowError) as error:
        raise StoredTreesError(f"LightGBM model: {error}") from None


def _check_lightgbm_tree(block: str, number: int, n_features: int) -> None:
    first, *lines = block.rstrip("\n").split("\n")
    _require(first == f"Tree={number}", f"tree {number} does not start where it should")
    tree = dict(line.split("=", 1) for line in lines)
    _require(len(tree) == len(lines), "a key of a tree comes twice")
    _require(tree["num_cat"] == "0", "categorical splits are not stored")
    _require(tree["is_linear"] == "0", "linear trees are not stored")
    n_leaves = int(tree["num_leaves"])
    _require(n_leaves >= 1, "a tree has no leaves")
    if n_leaves == 1:  # a constant: the arrays of nodes are empty or absent
        tree = {**dict.fromkeys(_LIGHTGBM_NODES | _LIGHTGBM_LEAVES, ""), **tree}
    _require_keys(tree, _LIGHTGBM_NODES | _LIGHTGBM_LEAVES | _LIGHTGBM_SCALARS)
    float(tree["shrinkage"])
    for key in _LIGHTGBM_NODES:
        values = tree[key].split()
        _require(len(values) == n_leaves - 1, f"{key} of tree {number} has a wrong length")
        np.array(values, dtype=np.float64)
    for key in _LIGHTGBM_LEAVES:
        values = tree[key].split()
        _require(
            len(values) == n_leaves or (n_leaves == 1 and not values and key != "leaf_value"),
            f"{key} of tree {number} has a wrong length",
        )
        np.array(values, dtype=np.float64)
    if n_leaves == 1:
        return
    _require(not (_integers(tree["decision_type"]) & 1).any(), "categorical splits are not stored")
    _check_range(_integers(tree["split_feature"]), n_features, "split_feature")
    left, right = _integers(tree["left_child"]), _integers(tree["right_child"])
    children = np.concatenate([left, right])
    _check_range(-1 - children[children < 0], n_leaves, "a leaf number")
    _check_range(children[children >= 0], n_leaves - 1, "a child number")
    _require((np.bincount(children + n_leaves) <= 1).all(), "a node has two parents")
    _require(not (children == 0).any(), "the root has a parent")


def check_xgboost(data: bytes, n_features: int) -> None:
    """Check an XGBoost JSON model; raises StoredTreesError."""
    try:
        learner = json.loads(data)["learner"]
        shape = learner["learner_model_param"]
        _require(int(shape["num_feature"]) == n_features, "the feature count is wrong")
        _require(int(shape["num_class"]) == 0, "num_class must be 0")
        _require(int(shape["num_target"]) == 1, "num_target must be 1")
        objective = learner["objective"]["name"]
        _require(objective in XGBOOST_OBJECTIVES, f"objective {objective!r} is not a ranking one")
        _require(learner["gradient_booster"]["name"] == "gbtree", "the booster is not gbtree")
        model = learner["gradient_booster"]["model"]
        trees = model["trees"]
        _require(int(model["gbtree_model_param"]["num_trees"]) == len(trees), "trees are missing")
        _require(model["tree_info"] == [0] * len(trees), "tree_info must hold a 0 per tree")
        rounds = np.asarray(model["iteration_indptr"])
        _require(
            rounds[0] == 0 and rounds[-1] == len(trees) and (np.diff(rounds) >= 0).all(),
            "iteration_indptr does not cover the trees",
        )
        _require(not any(model.get("cats", {}).values()), "categories are not stored")
        for number, tree in enumerate(trees):
            _check_xgboost_tree(tree, number, n_features)
    except (KeyError, IndexError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise StoredTreesError(f"XGBoost model: {error}") from None


def _check_xgboost_tree(tree: dict[str, Any], number: int, n_features: int) -> None:
    n_nodes = int(tree["tree_param"]["num_nodes"])
    _require(n_nodes >= 1, "a tree has no nodes")
    _require(int(tree["tree_param"]["num_feature"]) == n_features, "the feature count is wrong")
    _require(int(tree["tree_param"]["size_leaf_vector"]) in (0, 1), "leaves must be scalars")
    for key, values in tree.items():
        if key.startswith("categories"):
            _require(values == [], "categorical splits are not stored")
        elif key not in ("id", "tree_param"):
            _require(len(values) == n_nodes, f"{key} of tree {number} has a wrong length")
    _require(not any(tree["split_type"]), "categorical splits are not stored")
    left, right = _index_array(tree["left_children"]), _index_array(tree["right_children"])
    inner = left >= 0
    _require(((left >= 0) == (right >= 0)).all(), "a node has one child")
    _require(min(left.min(), right.min()) >= -1, "a child number is below -1")
    children = np.concatenate([left[inner], right[inner]])
    _check_range(children, n_nodes, "a child number")
    _require((np.bincount(children, minlength=1) <= 1).all(), "a node has two parents")
    _require(not (children == 0).any(), "the root has a parent")
    _check_range(_index_array(tree["split_indices"]), n_features, "split_indices")
    parents = _index_array(tree["parents"])
    _check_range(parents[(parents != -1) & (parents != 2**31 - 1)], n_nodes, "parents")


def check_catboost(data: bytes, n_features: int) -> None:
    """Check a CatBoost JSON model of symmetric trees; raises StoredTreesError."""
    try:
        model = json.loads(data)
        _require_keys(model, {"features_info", "oblivious_trees", "scale_and_bias"})
        _require_keys(model["features_info"], {"float_features"})
        _require(model["oblivious_trees"] is not None, "only symmetric trees are stored")
        features = model["features_info"]["float_features"]
        _check_range(_index_array([f["flat_feature_index"] for f in features]), n_features,
                     "flat_feature_index")  # fmt: skip
        _require([f["feature_index"] for f in features] == list(range(len(features))),
                 "feature_index does not count the features")  # fmt: skip
        borders = [(f["feature_index"], b) for f in features for b in f["borders"] or ()]
        scale, bias = model["scale_and_bias"]
        _require(len(bias) == 1 and np.isfinite([scale, *bias]).all(), "the bias is not a number")
        for number, tree in enumerate(model["oblivious_trees"]):
            splits = tree["splits"] or []
            _require(len(splits) <= CATBOOST_MAX_DEPTH, f"tree {number} is too deep")
            for split in splits:
                _require(split["split_type"] == "FloatFeature", "a split is not of a number")
                index = split["split_index"]
                _check_range(_index_array([index]), len(borders), "split_index")
                _require(
                    borders[index] == (split["float_feature_index"], split["border"]),
                    "a split is not at a border of its feature",
                )
            for key in ("leaf_values", "leaf_weights"):
                values = np.array(tree[key], dtype=np.float64)
                _require(len(values) == 2 ** len(splits), f"{key} of tree {number} is too short")
    except (KeyError, IndexError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise StoredTreesError(f"CatBoost model: {error}") from None


def _require(condition: bool | np.bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def _require_keys(found: dict[str, Any], expected: set[str]) -> None:
    odd = sorted(set(found) ^ expected)
    _require(not odd, f"unknown or missing entries {odd}")


def _integers(text: str) -> np.ndarray[Any, Any]:
    return _index_array([int(value) for value in text.split()])


def _index_array(values: ArrayLike) -> np.ndarray[Any, Any]:
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    _require(array.dtype.kind == "i" and array.ndim == 1, "an index is not an integer")
    _require(np.abs(array).max() < 2**31, "an index is too large")
    return array.astype(np.int64)


def _check_range(indices: np.ndarray[Any, Any], n: int, what: str) -> None:
    _require(not ((indices < 0) | (indices >= n)).any(), f"{what} must lie in 0..{n - 1}")
