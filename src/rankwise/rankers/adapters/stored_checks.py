"""Structural checks of stored trees, made before a native library reads them.

The libraries use the child and feature numbers of a model file as array indices, so a crafted file
could make them read or write out of bounds. This module checks every number that is used as an
index, checks that trees are trees, and rejects all content that rankwise does not write."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

LIGHTGBM_OBJECTIVES = ("lambdarank", "rank_xendcg")
XGBOOST_OBJECTIVES = ("rank:ndcg", "rank:pairwise")
XGBOOST_LARGEST_CODE = 2**24  # codes are float32
CATBOOST_MAX_DEPTH = 16

_LIGHTGBM_HEADER = {
    "version", "num_class", "num_tree_per_iteration", "label_index", "max_feature_idx",
    "objective", "feature_names", "feature_infos", "tree_sizes",
}  # fmt: skip
_LIGHTGBM_NODES = {
    "split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child",
    "internal_value", "internal_weight", "internal_count",
}  # fmt: skip
# LightGBM ends the process if it cannot read a number, and it accepts fewer forms than Python.
_INTEGER = re.compile(r"-?[0-9]{1,10}")
_NUMBER = re.compile(r"-?([0-9]{1,40}(\.[0-9]{1,40})?(e[+-]?[0-9]{1,3})?|inf|nan)")
_FEATURE_INFO = re.compile(
    rf"none|\[{_NUMBER.pattern}:{_NUMBER.pattern}\]|-?[0-9]{{1,9}}(:-?[0-9]{{1,9}}){{0,99999}}"
)
_WORD = re.compile("[0-9]{1,10}")
_LIGHTGBM_LEAVES = {"leaf_value", "leaf_weight", "leaf_count"}
_LIGHTGBM_CATEGORIES = {"cat_boundaries", "cat_threshold"}
_LIGHTGBM_SCALARS = {"num_leaves", "num_cat", "is_linear", "shrinkage"}


_WORD_OR_NUMBER = re.compile(rf"[a-z_]{{1,30}}|{_NUMBER.pattern}")
_XGBOOST_LEARNER = {
    "attributes", "feature_names", "feature_types", "gradient_booster", "learner_model_param",
    "objective",
}  # fmt: skip
_XGBOOST_SHAPE = {"base_score", "boost_from_average", "num_class", "num_feature", "num_target"}
_XGBOOST_FOREST = {"cats", "gbtree_model_param", "iteration_indptr", "tree_info", "trees"}
_XGBOOST_NODES = (
    "base_weights", "default_left", "left_children", "loss_changes", "parents", "right_children",
    "split_conditions", "split_indices", "split_type", "sum_hessian",
)  # fmt: skip
_XGBOOST_CATEGORIES = (
    "categories", "categories_nodes", "categories_segments", "categories_sizes",
)  # fmt: skip
_XGBOOST_TREE_SHAPE = {"num_deleted", "num_feature", "num_nodes", "size_leaf_vector"}
_XGBOOST_NO_PARENT = 2**31 - 1
_CATBOOST_FEATURE = {
    "borders", "feature_id", "feature_index", "flat_feature_index", "has_nans",
    "nan_value_treatment",
}  # fmt: skip
_CATBOOST_NAN = ("AsIs", "AsFalse", "AsTrue")
_CATBOOST_NOMINAL = {"feature_id", "feature_index", "flat_feature_index", "values"}
_CATBOOST_ONE_HOT = {"cat_feature_index", "split_index", "split_type", "value"}
_CATBOOST_SPLIT = {"border", "float_feature_index", "split_index", "split_type"}
_WHAT_CHECKS_RUN_INTO = (
    KeyError, IndexError, TypeError, ValueError, OverflowError, AttributeError, RecursionError,
)  # fmt: skip


class StoredTreesError(ValueError):
    """Error for stored trees that are damaged or of a kind that rankwise does not store."""


def check_lightgbm(data: bytes, n_features: int) -> str:
    """Check a LightGBM text model that ends after its trees; returns its text."""
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
        _require(header["max_feature_idx"] == str(n_features - 1), "the feature count is wrong")
        _require(re.fullmatch("v[0-9]", header["version"]) is not None, "unknown version")
        _require(header["label_index"] == "0", "label_index must be 0")
        _tokens(header["feature_names"], re.compile(r"\w{1,99}"), n_features, "feature_names")
        _tokens(header["feature_infos"], _FEATURE_INFO, n_features, "feature_infos")
        for key in optional:
            _tokens(header[key], re.compile("-1|0|1"), n_features, key)
        objective = header["objective"]
        _require(objective in LIGHTGBM_OBJECTIVES, f"{objective!r} is not a ranking objective")
        start = len(header_text) + 2
        for number, size in enumerate(_integers(header["tree_sizes"], None, "tree_sizes")):
            _require(0 < size <= len(text), "a tree has a wrong size")
            _check_lightgbm_tree(text[start : start + size], number, n_features)
            start += size
        _require(text[start:] == "end of trees\n", "unexpected text after the last tree")
        return text
    except _WHAT_CHECKS_RUN_INTO as error:
        raise StoredTreesError(f"LightGBM model: {error}") from None


def _check_lightgbm_tree(block: str, number: int, n_features: int) -> None:
    first, *lines = block.rstrip("\n").split("\n")
    _require(first == f"Tree={number}", f"tree {number} does not start at its offset")
    tree = dict(line.split("=", 1) for line in lines)
    _require(len(tree) == len(lines), "a key of a tree comes twice")
    (n_nominal,) = _integers(tree["num_cat"], 1, "num_cat").tolist()
    _require(tree["is_linear"] == "0", "linear trees are not stored")
    (n_leaves,) = _integers(tree["num_leaves"], 1, "num_leaves").tolist()
    _require(n_leaves >= 1, "a tree has no leaves")
    if n_leaves == 1:  # a constant, for which the arrays of nodes are empty or absent
        tree = {**dict.fromkeys(_LIGHTGBM_NODES | _LIGHTGBM_LEAVES, ""), **tree}
    lists = _LIGHTGBM_CATEGORIES if n_nominal else set()
    _require_keys(tree, _LIGHTGBM_NODES | _LIGHTGBM_LEAVES | _LIGHTGBM_SCALARS | lists)
    _tokens(tree["shrinkage"], _NUMBER, 1, "shrinkage")
    if n_leaves == 1:
        _require(n_nominal == 0, "a constant has no categories")
        _tokens(tree["leaf_value"], _NUMBER, 1, "leaf_value")
        odd = [key for key in _LIGHTGBM_NODES if tree[key]]
        _require(not odd, f"{odd} of tree {number} belong to no node")
        return
    for key in _LIGHTGBM_NODES:
        _tokens(tree[key], _NUMBER, n_leaves - 1, f"{key} of tree {number}")
    for key in _LIGHTGBM_LEAVES:
        _tokens(tree[key], _NUMBER, n_leaves, f"{key} of tree {number}")

    def indices(key: str) -> np.ndarray[Any, Any]:
        return _integers(tree[key], n_leaves - 1, f"{key} of tree {number}")

    nominal = (indices("decision_type") & 1) > 0
    _require(int(nominal.sum()) == n_nominal, "num_cat is not the number of categorical splits")
    if n_nominal:
        words = np.array(tree["threshold"].split(" "))[nominal]
        places = _integers(" ".join(words.tolist()), n_nominal, "a categorical threshold")
        _check_range(places, n_nominal, "a categorical threshold")
        ends = _integers(tree["cat_boundaries"], n_nominal + 1, "cat_boundaries")
        _require(ends[0] == 0 and (np.diff(ends) > 0).all(), "cat_boundaries do not ascend")
        for word in _tokens(tree["cat_threshold"], _WORD, int(ends[-1]), "cat_threshold"):
            _require(int(word) < 2**32, "cat_threshold holds a wrong word")
    _check_range(indices("decision_type"), 16, "decision_type")
    _check_range(indices("split_feature"), n_features, "split_feature")
    children = np.concatenate([indices("left_child"), indices("right_child")])
    _check_range(-1 - children[children < 0], n_leaves, "a leaf number")
    _check_range(children[children >= 0], n_leaves - 1, "a child number")
    _require((np.bincount(children + n_leaves) <= 1).all(), "a node has two parents")
    _require(not (children == 0).any(), "the root has a parent")


def check_xgboost(data: bytes, n_features: int) -> bytes:
    """Check an XGBoost JSON model; returns it as JSON that reads in one way only."""
    try:
        model = json.loads(data)
        _require_keys(model, {"learner", "version"})
        version = _index_array(model["version"])
        _require(len(version) == 3 and version[0] >= 3, "the version is not 3 or later")
        learner = model["learner"]
        _require_keys(learner, _XGBOOST_LEARNER)
        for key in ("attributes", "feature_names"):
            _require(not learner[key], f"{key} must be empty")
        types = learner["feature_types"]
        _require(type(types) is list and len(types) in (0, n_features), "feature_types is invalid")
        _require(all(kind in ("c", "q") for kind in types), "feature_types holds a wrong word")
        shape = learner["learner_model_param"]
        _require_keys(shape, _XGBOOST_SHAPE)
        expected = {"num_feature": n_features, "num_class": 0, "num_target": 1}
        for key, value in expected.items():
            _require(shape[key] == str(value), f"{key} must be {value}")
        _require(shape["boost_from_average"] in ("0", "1"), "boost_from_average is invalid")
        _tokens(shape["base_score"].strip("[]").lower(), _NUMBER, 1, "base_score")
        _check_xgboost_objective(learner["objective"])
        _require(learner["gradient_booster"]["name"] == "gbtree", "the booster is not gbtree")
        _require_keys(learner["gradient_booster"], {"model", "name"})
        nominal = np.array([kind == "c" for kind in types] or [False] * n_features)
        _check_xgboost_forest(learner["gradient_booster"]["model"], nominal)
        return json.dumps(model).encode("ascii")
    except _WHAT_CHECKS_RUN_INTO as error:
        raise StoredTreesError(f"XGBoost model: {error}") from None


def _check_xgboost_objective(objective: dict[str, Any]) -> None:
    _require_keys(objective, {"lambdarank_param", "name"})
    name = objective["name"]
    _require(name in XGBOOST_OBJECTIVES, f"objective {name!r} is not a ranking one")
    unbiased = objective["lambdarank_param"].get("lambdarank_unbiased", "0")
    _require(unbiased in ("0", "false"), "lambdarank_unbiased must be 0")
    for key, value in objective["lambdarank_param"].items():
        _require(key.startswith(("lambdarank_", "ndcg_")), f"unknown entry {key!r}")
        _tokens(value.lower(), _WORD_OR_NUMBER, 1, key)


def _check_xgboost_forest(model: dict[str, Any], nominal: np.ndarray[Any, Any]) -> None:
    _require_keys(model, _XGBOOST_FOREST)
    trees = model["trees"]
    _require_keys(model["gbtree_model_param"], {"num_parallel_tree", "num_trees"})
    _integers(model["gbtree_model_param"]["num_parallel_tree"], 1, "num_parallel_tree")
    _require(model["gbtree_model_param"]["num_trees"] == str(len(trees)), "trees are missing")
    _require(model["tree_info"] == [0] * len(trees), "tree_info must hold a 0 per tree")
    rounds = _index_array(model["iteration_indptr"])
    covers = bool(len(rounds)) and rounds[0] == 0 and rounds[-1] == len(trees)
    _require(covers and (np.diff(rounds) >= 0).all(), "iteration_indptr does not cover the trees")
    _require(not any(model.get("cats", {}).values()), "categories are not stored")
    for number, tree in enumerate(trees):
        _check_xgboost_tree(tree, number, nominal)


def _check_xgboost_tree(tree: dict[str, Any], number: int, nominal: np.ndarray[Any, Any]) -> None:
    n_features = len(nominal)
    _require_keys(tree, {"id", "tree_param", *_XGBOOST_CATEGORIES, *_XGBOOST_NODES})
    _require(type(tree["id"]) is int and tree["id"] == number, "a tree has a wrong id")
    _require_keys(tree["tree_param"], _XGBOOST_TREE_SHAPE)
    sizes = {key: _integers(text, 1, key)[0] for key, text in tree["tree_param"].items()}
    n_nodes = sizes["num_nodes"]
    _require(n_nodes >= 1, "a tree has no nodes")
    _require(0 <= sizes["num_deleted"] < n_nodes, "num_deleted is invalid")
    _require(sizes["num_feature"] == n_features, "the feature count is wrong")
    _require(sizes["size_leaf_vector"] in (0, 1), "leaves must be scalars")
    for key in _XGBOOST_NODES:
        _check_numbers(tree[key], n_nodes, f"{key} of tree {number}")
    left, right = _index_array(tree["left_children"]), _index_array(tree["right_children"])
    inner = left >= 0
    _require((inner == (right >= 0)).all(), "a node has one child")
    _require(min(left.min(), right.min()) >= -1, "a child number is below -1")
    children = np.concatenate([left[inner], right[inner]])
    _check_range(children, n_nodes, "a child number")
    _require((np.bincount(children, minlength=1) <= 1).all(), "a node has two parents")
    _require(not (children == 0).any(), "the root has a parent")
    _check_range(_index_array(tree["default_left"]), 2, "default_left")
    _check_range(_index_array(tree["split_indices"]), n_features, "split_indices")
    parents = _index_array(tree["parents"])
    _require(parents[0] == _XGBOOST_NO_PARENT, "the root has a parent")
    nodes = np.flatnonzero(inner)
    _require(
        (parents[left[nodes]] == nodes).all() and (parents[right[nodes]] == nodes).all(),
        "a child has another parent entry",
    )
    known = parents != _XGBOOST_NO_PARENT
    _check_range(parents[known], n_nodes, "parents")
    _check_xgboost_categories(tree, nodes, nominal)


def _check_xgboost_categories(
    tree: dict[str, Any], inner: np.ndarray[Any, Any], nominal: np.ndarray[Any, Any]
) -> None:
    kinds, columns = _index_array(tree["split_type"]), _index_array(tree["split_indices"])
    _check_range(kinds, 2, "split_type")
    asking = inner[kinds[inner] == 1]
    _require((nominal[columns[inner]] == (kinds[inner] == 1)).all(), "a split is of another type")
    _require(not kinds[np.setdiff1d(np.arange(len(kinds)), inner)].any(), "a leaf has a type")
    nodes, categories = _index_array(tree["categories_nodes"]), _index_array(tree["categories"])
    starts, sizes = (_index_array(tree[f"categories_{key}"]) for key in ("segments", "sizes"))
    _require(np.array_equal(nodes, asking), "categories_nodes are not the categorical splits")
    _require(len(starts) == len(sizes) == len(nodes) and (sizes > 0).all(), "categories are cut")
    ends = np.cumsum(sizes)
    _require(np.array_equal(starts, ends - sizes), "categories_segments do not follow each other")
    _require(len(categories) == (ends[-1] if len(ends) else 0), "categories have a wrong length")
    _check_range(categories, XGBOOST_LARGEST_CODE, "a category")


def check_catboost(data: bytes, n_features: int) -> bytes:
    """Check a CatBoost JSON model of symmetric trees; returns it as JSON that reads in one way."""
    try:
        model = json.loads(data)
        _require_keys(model, {"features_info", "oblivious_trees", "scale_and_bias"})
        info = model["features_info"]
        optional = {"categorical_features"} & set(info)
        _require_keys(info, {"float_features"} | optional)
        _require(model["oblivious_trees"] is not None, "only symmetric trees are stored")
        features, nominal = info["float_features"], info.get("categorical_features", [])
        for number, feature in enumerate(features):
            _require_keys(feature, _CATBOOST_FEATURE)
            _require(feature["feature_index"] == number, "feature_index does not count up")
            _require(isinstance(feature["feature_id"], str), "feature_id is not a name")
            _require(isinstance(feature["has_nans"], bool), "has_nans is not a boolean")
            _require(feature["nan_value_treatment"] in _CATBOOST_NAN, "a NaN treatment is invalid")
            _check_numbers(feature["borders"], None, "borders")
        for number, feature in enumerate(nominal):
            _require_keys(feature, _CATBOOST_NOMINAL)
            _require(feature["feature_index"] == number, "feature_index does not count up")
            _require(isinstance(feature["feature_id"], str), "feature_id is not a name")
            _index_array(feature["values"])
        columns = _index_array([feature["flat_feature_index"] for feature in [*features, *nominal]])
        _check_range(columns, n_features, "flat_feature_index")
        _require(len(np.unique(columns)) == len(columns), "a column comes twice")
        # Splits are numbered by the features of numbers, then by those of categories.
        places = [("FloatFeature", f["feature_index"], b) for f in features for b in f["borders"]]
        places += [("OneHotFeature", f["feature_index"], v) for f in nominal for v in f["values"]]
        scale, bias = model["scale_and_bias"]
        _check_numbers([scale, *bias], 2, "scale_and_bias")
        for number, tree in enumerate(model["oblivious_trees"]):
            _check_catboost_tree(tree, number, places)
        return json.dumps(model).encode("ascii")
    except _WHAT_CHECKS_RUN_INTO as error:
        raise StoredTreesError(f"CatBoost model: {error}") from None


def _check_catboost_tree(
    tree: dict[str, Any], number: int, places: list[tuple[str, int, float]]
) -> None:
    _require_keys(tree, {"leaf_values", "leaf_weights", "splits"})
    splits = tree["splits"] or []
    _require(len(splits) <= CATBOOST_MAX_DEPTH, f"tree {number} is too deep")
    for split in splits:
        kind = split["split_type"]
        _require(kind in ("FloatFeature", "OneHotFeature"), "a split is of an unknown type")
        is_float = kind == "FloatFeature"
        _require_keys(split, _CATBOOST_SPLIT if is_float else _CATBOOST_ONE_HOT)
        _check_range(_index_array([split["split_index"]]), len(places), "split_index")
        place = ("float_feature_index", "border") if is_float else ("cat_feature_index", "value")
        _require(
            places[split["split_index"]] == (kind, *(split[key] for key in place)),
            "a split is not at a border or a category of its feature",
        )
    for key in ("leaf_values", "leaf_weights"):
        _check_numbers(tree[key], 2 ** len(splits), f"{key} of tree {number}")


def _check_numbers(values: list[Any], n: int | None, what: str) -> None:
    _require(type(values) is list and (n is None or len(values) == n),
             f"{what} has a wrong length")  # fmt: skip
    _require(all(type(value) in (int, float) for value in values), f"{what} holds no numbers")


def _require(condition: bool | np.bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def _require_keys(found: dict[str, Any], expected: set[str]) -> None:
    _require(type(found) is dict, "an entry is not a table")
    odd = sorted(set(found) ^ expected)
    _require(not odd, f"unknown or missing entries {odd}")


def _tokens(text: str, form: re.Pattern[str], n: int | None, what: str) -> list[str]:
    """Checked words of a line, all of one form and separated by single spaces."""
    words = text.split(" ") if text else []
    _require(n is None or len(words) == n, f"{what} has a wrong length")
    _require(all(form.fullmatch(word) for word in words), f"{what} holds a wrong word")
    return words


def _integers(text: str, n: int | None, what: str) -> np.ndarray[Any, Any]:
    return _index_array([int(word) for word in _tokens(text, _INTEGER, n, what)])


def _index_array(values: ArrayLike) -> np.ndarray[Any, Any]:
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    _require(array.dtype.kind == "i" and array.ndim == 1, "an index is not an integer")
    _require(array.min() >= -(2**31) and array.max() < 2**31, "an index is too large")
    return array.astype(np.int64)


def _check_range(indices: np.ndarray[Any, Any], n: int, what: str) -> None:
    _require(not ((indices < 0) | (indices >= n)).any(), f"{what} must lie in 0..{n - 1}")
