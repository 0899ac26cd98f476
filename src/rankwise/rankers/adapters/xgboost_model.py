"""XGBoost's JSON model, or the same content as UBJSON [1]_, and checks of stored JSON.

XGBoost sends values below a float32 condition to the left. A node lists the categories that go
right, and has a side for missing ones. Since version 3.1 a model lists the categories of data
frames: ``cats.enc`` has the texts or the numbers of each column. Earlier models only have codes.

References
----------
.. [1] https://ubjson.org, Draft 12.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.trees.stored_boosters import (
    BoosterError,
    StoredModel,
    StoredTrees,
    category_sides,
    check_trees,
    index_array,
    last_rounded_to,
    refuse_damage,
    require,
    require_keys,
    require_numbers,
    require_range,
)
from rankwise.trees.tree_ensemble import ScoreTree

XGBOOST_OBJECTIVES = ("rank:ndcg", "rank:pairwise")
_LARGEST_CODE = 2**24  # codes are float32
_LEARNER = {
    "attributes", "feature_names", "feature_types", "gradient_booster", "learner_model_param",
    "objective",
}  # fmt: skip
_SHAPE = {"base_score", "boost_from_average", "num_class", "num_feature", "num_target"}
_FOREST = {"cats", "gbtree_model_param", "iteration_indptr", "tree_info", "trees"}
_NODES = (
    "base_weights", "default_left", "left_children", "loss_changes", "parents", "right_children",
    "split_conditions", "split_indices", "split_type", "sum_hessian",
)  # fmt: skip
_CATEGORIES = ("categories", "categories_nodes", "categories_segments", "categories_sizes")
_NO_PARENT = 2**31 - 1


def xgboost_trees(model: bytes, n_categories: NDArray[np.integer]) -> StoredTrees:
    """Trees of XGBoost's JSON model; their cover is the sum of second derivatives."""
    learner = json.loads(model)["learner"]
    # Newer versions write a list of one number.
    base = float(learner["learner_model_param"]["base_score"].strip("[]"))
    stored = learner["gradient_booster"]["model"]["trees"]
    trees = xgboost_learner_trees(stored, float(np.float32(base)), n_categories)
    return check_trees(trees, len(n_categories))


def xgboost_learner_trees(
    stored: list[dict[str, Any]], constant: float, n_categories: NDArray[np.integer]
) -> StoredTrees:
    """Trees of an XGBoost model; ``constant`` is the margin that is added to their sum."""
    trees = []
    for tree in stored:
        left = np.array(tree["left_children"], dtype=np.int64)
        inner = left >= 0
        nominal = np.array(tree["split_type"], dtype=bool)
        members = {}
        for number, node in enumerate(tree["categories_nodes"]):
            first, size = tree["categories_segments"][number], tree["categories_sizes"][number]
            to_right = np.array(tree["categories"][first : first + size], dtype=np.int64)
            # XGBoost lists the codes that go right, hence the swap below.
            sides = category_sides(to_right, int(n_categories[tree["split_indices"][node]]))
            members[node] = sides[::-1]
        # x < condition in float32 is x <= the float32 number before it.
        with np.errstate(over="ignore"):  # nothing is below the smallest condition
            conditions = np.array(tree["split_conditions"], dtype=np.float32)
            thresholds = last_rounded_to(np.nextafter(conditions, np.float32(-np.inf)))
        trees.append(
            ScoreTree(
                np.where(inner, tree["split_indices"], -1).astype(np.int64),
                np.where(inner, np.where(nominal, 0.0, thresholds), np.nan),
                left,
                np.array(tree["right_children"], dtype=np.int64),
                np.array(tree["default_left"], dtype=bool),
                np.where(inner, 0.0, conditions.astype(np.float64)),
                members,
                cover=np.array(tree["sum_hessian"], dtype=np.float64),
                gain=np.where(inner, np.array(tree["loss_changes"], dtype=np.float64), 0.0),
            )
        )
    return StoredTrees(tuple(trees), constant, tells_missing=False)


def check_xgboost(data: bytes, n_features: int) -> bytes:
    """A stored model as JSON that reads in one way only, checked before XGBoost parses it.

    Raises BoosterError for what rankwise does not write, and for indices out of range.
    """
    with refuse_damage("XGBoost"):
        model = json.loads(data)
        require_keys(model, {"learner", "version"})
        version = index_array(model["version"])
        require(len(version) == 3 and version[0] >= 3, "the version is not 3 or later")
        learner = model["learner"]
        require_keys(learner, _LEARNER)
        for key in ("attributes", "feature_names"):
            require(not learner[key], f"{key} must be empty")
        types = learner["feature_types"]
        require(type(types) is list and len(types) in (0, n_features), "feature_types is invalid")
        require(all(kind in ("c", "q") for kind in types), "feature_types holds a wrong word")
        shape = learner["learner_model_param"]
        require_keys(shape, _SHAPE)
        expected = {"num_feature": n_features, "num_class": 0, "num_target": 1}
        for key, value in expected.items():
            require(shape[key] == str(value), f"{key} must be {value}")
        require(shape["boost_from_average"] in ("0", "1"), "boost_from_average is invalid")
        float(shape["base_score"].strip("[]"))
        _check_objective(learner["objective"])
        booster = learner["gradient_booster"]
        require(booster["name"] == "gbtree", "the booster is not gbtree")
        require_keys(booster, {"model", "name"})
        nominal = np.array([kind == "c" for kind in types] or [False] * n_features)
        _check_forest(booster["model"], nominal)
        trees = xgboost_learner_trees(booster["model"]["trees"], 0.0, np.zeros_like(nominal, int))
        check_trees(trees, n_features)
        return json.dumps(model).encode("ascii")


def _check_objective(objective: dict[str, Any]) -> None:
    require_keys(objective, {"lambdarank_param", "name"})
    name = objective["name"]
    require(name in XGBOOST_OBJECTIVES, f"objective {name!r} is not a ranking one")
    unbiased = objective["lambdarank_param"].get("lambdarank_unbiased", "0")
    require(unbiased in ("0", "false"), "lambdarank_unbiased must be 0")
    for key in objective["lambdarank_param"]:
        require(key.startswith(("lambdarank_", "ndcg_")), f"unknown entry {key!r}")


def _check_forest(model: dict[str, Any], nominal: NDArray[np.bool_]) -> None:
    require_keys(model, _FOREST)
    trees, shape = model["trees"], model["gbtree_model_param"]
    require_keys(shape, {"num_parallel_tree", "num_trees"})
    int(shape["num_parallel_tree"])
    require(shape["num_trees"] == str(len(trees)), "trees are missing")
    require(model["tree_info"] == [0] * len(trees), "tree_info must hold a 0 per tree")
    rounds = index_array(model["iteration_indptr"])
    covers = bool(len(rounds)) and rounds[0] == 0 and rounds[-1] == len(trees)
    require(covers and (np.diff(rounds) >= 0).all(), "iteration_indptr does not cover the trees")
    require(not any(model.get("cats", {}).values()), "categories are not stored")
    for number, tree in enumerate(trees):
        _check_tree(tree, number, nominal)


def _check_tree(tree: dict[str, Any], number: int, nominal: NDArray[np.bool_]) -> None:
    """Check the arrays of a tree; what follows from its children and columns must be so."""
    require_keys(tree, {"id", "tree_param", *_CATEGORIES, *_NODES})
    n_nodes, n_features = int(tree["tree_param"]["num_nodes"]), len(nominal)
    require(n_nodes >= 1, "a tree has no nodes")
    n_deleted = tree["tree_param"]["num_deleted"]
    require(0 <= int(n_deleted) < n_nodes, "num_deleted is invalid")
    for key in _NODES:
        require_numbers(tree[key], n_nodes, f"{key} of tree {number}")
    left, right = index_array(tree["left_children"]), index_array(tree["right_children"])
    inner = left >= 0
    require((inner == (right >= 0)).all(), "a node has one child")
    require(min(left.min(), right.min()) >= -1, "a child number is below -1")
    require_range(np.concatenate([left[inner], right[inner]]), n_nodes, "a child number")
    require_range(index_array(tree["default_left"]), 2, "default_left")
    columns = index_array(tree["split_indices"])
    require_range(columns, n_features, "split_indices")
    parents = index_array(tree["parents"])
    require_range(parents[parents != _NO_PARENT], n_nodes, "parents")
    require_range(index_array(tree["categories"]), _LARGEST_CODE, "a category")
    sizes = index_array(tree["categories_sizes"])
    require((sizes > 0).all(), "categories are cut")
    require(len(tree["categories"]) == sizes.sum(), "categories have a wrong length")
    asking = inner & nominal[columns]
    parents[left[inner]] = parents[right[inner]] = np.flatnonzero(inner)
    parents[0] = _NO_PARENT
    expected = {
        "id": number,
        "tree_param": {
            "num_deleted": n_deleted, "num_feature": str(n_features), "num_nodes": str(n_nodes),
            "size_leaf_vector": "0" if tree["tree_param"]["size_leaf_vector"] == "0" else "1",
        },
        "parents": parents.tolist(),
        "split_type": asking.astype(int).tolist(),
        "categories_nodes": np.flatnonzero(asking).tolist(),
        "categories_segments": (np.cumsum(sizes) - sizes).tolist(),
    }  # fmt: skip
    for key, value in expected.items():
        require(tree[key] == value, f"{key} of tree {number} contradicts its nodes")
    require(len(sizes) == len(tree["categories_nodes"]), "categories_sizes has a wrong length")


# Objectives by the function that makes a margin of base_score.
_IDENTITY = (
    "rank:", "reg:squarederror", "reg:linear", "reg:absoluteerror", "reg:pseudohubererror",
    "reg:squaredlogerror", "reg:quantileerror",
)  # fmt: skip
_LOGIT = ("binary:logistic", "reg:logistic")
_LOG = ("count:poisson", "reg:gamma", "reg:tweedie")


def xgboost_model(model: dict[str, Any]) -> StoredModel:
    """Read the description of a model.

    Linear boosters, several scores per row and unknown objectives are not supported.
    """
    learner = model["learner"]
    booster, shape = learner["gradient_booster"], learner["learner_model_param"]
    kind = booster["name"]
    if kind not in ("gbtree", "dart"):
        raise BoosterError(f"the XGBoost model is a {kind!r} booster; only trees are supported.")
    if int(shape["num_class"]) > 1 or int(shape.get("num_target", "1")) > 1:
        raise BoosterError(
            f"the XGBoost model has num_class={shape['num_class']} and "
            f"num_target={shape.get('num_target', '1')}. Only models with one score per row are "
            "supported."
        )
    n_features = int(shape["num_feature"])
    forest = (booster["gbtree"] if kind == "dart" else booster)["model"]
    enc = (forest.get("cats") or {}).get("enc") or []
    listed = {
        column: _list_categories(entry) for column, entry in enumerate(enc) if entry["values"]
    }
    nominal = set(listed)
    for tree in forest["trees"]:
        nominal.update(tree["split_indices"][node] for node in tree.get("categories_nodes", []))
    names = learner.get("feature_names") or None
    weights = booster["weight_drop"] if kind == "dart" else None
    constant = _margin(shape["base_score"], learner["objective"]["name"])
    return StoredModel(
        "XGBoost",
        n_features,
        names,
        nominal,
        {column: values for column, values in listed.items() if values is not None},
        lambda n_categories: _trees(forest, constant, weights, n_categories),
        in_float32=True,
    )


def _trees(forest: Any, constant: float, weights: Any, n_categories: Any) -> StoredTrees:
    for number, tree in enumerate(forest["trees"]):
        if int(tree["tree_param"].get("size_leaf_vector", "1")) > 1:
            raise BoosterError(f"tree {number} of the XGBoost model has several scores per leaf.")
        if "split_type" not in tree:  # before categories were known
            tree["split_type"] = [0] * len(tree["left_children"])
            tree["categories_nodes"] = []
    stored = xgboost_learner_trees(forest["trees"], constant, n_categories)
    if weights is None:
        return stored
    # XGBoost multiplies in float32.
    scaled = [
        replace(tree, values=(np.float32(weight) * tree.values.astype(np.float32)).astype("f8"))
        for tree, weight in zip(stored.trees, weights, strict=True)
    ]
    return replace(stored, trees=tuple(scaled))


def _margin(base_score: Any, objective: str) -> float:
    """Constant of the scores before the link function, in float32."""
    text = str(base_score).strip("[]")
    base = np.float32(text)
    if objective.startswith(_IDENTITY):
        return float(base)
    if objective in _LOGIT and 0 < base < 1:
        return float(-np.log(np.float32(1.0) / base - np.float32(1.0)))
    if objective in _LOG and base > 0:
        return float(np.log(base))
    raise BoosterError(
        f"objective {objective!r} of the XGBoost model is not supported: what base_score={text} "
        "adds to the scores is not known. Use a ranking, regression or logistic objective."
    )


def _list_categories(entry: dict[str, Any]) -> list[Any] | None:
    """Categories of a column; None if their text cannot be read.

    XGBoost counts the characters of text that is not ASCII where it should count bytes, so that
    names are cut at wrong places and the last ones are lost.
    """
    values = entry["values"]
    if "offsets" not in entry:
        return list(values)
    if not all(0 <= value < 128 for value in values):
        return None
    raw = bytes(values)
    return [raw[start:end].decode("ascii") for start, end in pairwise(entry["offsets"])]


_NUMBERS = {b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4",
            b"D": ">f8"}  # fmt: skip
_CONSTANTS = {b"T": True, b"F": False, b"Z": None}
_MAX_DEPTH = 64


def read_ubjson(data: bytes) -> Any:
    """Value of a document; arrays of one number type become lists of Python numbers.

    At most 64 levels may be nested.
    """
    reader = _DocumentReader(data)
    value = reader.value(reader.take(1), 0)
    if reader.place != len(data):
        raise ValueError(f"UBJSON ends at byte {reader.place} of {len(data)}.")
    return value


class _DocumentReader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0

    def take(self, size: int) -> bytes:
        if size < 0 or self.place + size > len(self.data):
            raise ValueError(f"UBJSON is cut off at byte {self.place}.")
        taken = self.data[self.place : self.place + size]
        self.place += size
        return taken

    def value(self, kind: bytes, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise ValueError(f"UBJSON nests more than {_MAX_DEPTH} levels.")
        if kind in _NUMBERS:
            dtype = np.dtype(_NUMBERS[kind])
            return np.frombuffer(self.take(dtype.itemsize), dtype)[0].item()
        if kind in _CONSTANTS:
            return _CONSTANTS[kind]
        if kind == b"S":
            return self.take(self.size()).decode()
        if kind == b"C":
            return self.take(1).decode()
        if kind == b"[":
            return self._array(depth)
        if kind == b"{":
            return self._object(depth)
        raise ValueError(f"UBJSON has an unknown type {kind!r} at byte {self.place - 1}.")

    def size(self) -> int:
        kind = self.take(1)
        size = self.value(kind, 0) if kind in _NUMBERS else -1
        if not isinstance(size, int) or size < 0:
            raise ValueError(f"UBJSON has no size at byte {self.place}.")
        return size

    def _header(self) -> tuple[bytes | None, int | None]:
        """Type and number of the items, where the container states them."""
        kind = None
        if self.data[self.place : self.place + 1] == b"$":
            self.take(1)
            kind = self.take(1)
            if kind in _CONSTANTS:  # items without bytes: any number of them fits into a file
                raise ValueError("UBJSON has a list of constants, which is not supported.")
        if self.data[self.place : self.place + 1] == b"#":
            self.take(1)
            return kind, self.size()
        return kind, None

    def _array(self, depth: int) -> list[Any]:
        kind, size = self._header()
        if kind in _NUMBERS and size is not None:
            dtype = np.dtype(_NUMBERS[kind])
            return np.frombuffer(self.take(size * dtype.itemsize), dtype).tolist()
        items = []
        while size is None or len(items) < size:
            marker = self.take(1) if kind is None else kind
            if size is None and marker == b"]":
                break
            items.append(self.value(marker, depth + 1))
        return items

    def _object(self, depth: int) -> dict[str, Any]:
        kind, size = self._header()
        items: dict[str, Any] = {}
        while size is None or len(items) < size:
            if size is None and self.data[self.place : self.place + 1] == b"}":
                self.take(1)
                break
            name = self.take(self.size()).decode()
            items[name] = self.value(self.take(1) if kind is None else kind, depth + 1)
        return items
