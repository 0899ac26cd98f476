"""Interpreters of LightGBM's text, XGBoost's JSON, Elasticsearch's ensembles and dumps."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from rankwise.export.parity.engine_trees import AS_ZERO, LEFT, RIGHT, EngineTree, Split
from rankwise.export.parity.file_checks import column_of, require_value

_CATEGORICAL, _DEFAULT_LEFT, _MISSING_KIND, _NAN = 1, 2, 12, 8


def lightgbm_trees(text: str) -> tuple[EngineTree, ...]:
    """Trees of LightGBM's text: float64, at most, sets of categories go left."""
    body = text.partition("\nend of trees")[0]
    return tuple(_lightgbm_tree(block) for block in body.split("\nTree=")[1:])


def _lightgbm_tree(block: str) -> EngineTree:
    lines = [line.partition("=") for line in block.split("\n")]
    words = {key: value.split() for key, _, value in lines}
    values = np.array(words["leaf_value"], dtype=np.float64)
    n_inner, n_leaves = len(values) - 1, len(values)

    def inner(key: str, dtype: Any) -> Any:
        return np.array(words.get(key, [])[:n_inner], dtype=dtype)

    kinds = inner("decision_type", np.int64)
    threshold = inner("threshold", np.float64)
    children = [inner(key, np.int64) for key in ("left_child", "right_child")]
    left, right = (np.where(side < 0, n_inner - 1 - side, side) for side in children)
    sides = np.where(kinds & _DEFAULT_LEFT, LEFT, RIGHT)
    missing = np.where((kinds & _MISSING_KIND) == _NAN, sides, AS_ZERO)
    sets = {}
    for node in np.flatnonzero(kinds & _CATEGORICAL).tolist():
        ends, place = words["cat_boundaries"], int(threshold[node])
        numbers = [int(word) for word in words["cat_threshold"]]
        chosen = numbers[int(ends[place]) : int(ends[place + 1])]
        members = [32 * k + bit for k, word in enumerate(chosen) for bit in range(32)
                   if word >> bit & 1]  # fmt: skip
        sets[node] = (np.array(members, dtype=np.float64), None)
        missing[node] = RIGHT
    none = np.full(n_leaves, -1)
    return EngineTree(
        np.concatenate([inner("split_feature", np.int64), none]),
        np.concatenate([threshold, np.full(n_leaves, np.nan)]),
        np.concatenate([left, none]).astype(np.int64),
        np.concatenate([right, none]).astype(np.int64),
        np.concatenate([missing, np.zeros(n_leaves, dtype=np.int64)]).astype(np.int64),
        np.concatenate([np.zeros(n_inner), values]),
        sets=sets,
    )


def xgboost_trees(model: dict[str, Any]) -> tuple[tuple[EngineTree, ...], float]:
    """Trees of XGBoost's JSON and the constant: float32, below."""
    learner = model["learner"]
    trees = []
    for tree in learner["gradient_booster"]["model"]["trees"]:
        left = np.array(tree["left_children"], dtype=np.int64)
        inner = left >= 0
        numbers = np.array(tree["split_conditions"], dtype=np.float32)
        sets: dict[int, tuple[Any, Any]] = {}
        for place, node in enumerate(tree["categories_nodes"]):
            first, size = tree["categories_segments"][place], tree["categories_sizes"][place]
            if not tree["default_left"][node]:
                raise ValueError("a node of categories sends missing values to the right.")
            # Listed categories go right, any other one left, as missing values do here.
            sets[node] = (np.zeros(0), np.array(tree["categories"][first : first + size], "f8"))
        trees.append(
            EngineTree(
                np.where(inner, tree["split_indices"], -1).astype(np.int64),
                numbers,
                left,
                np.array(tree["right_children"], dtype=np.int64),
                np.array(tree["default_left"], dtype=np.int64),
                np.where(inner, np.float32(0), numbers),
                is_strict=True,
                sets=sets,
            )
        )
    base = learner["learner_model_param"]["base_score"].strip("[]")
    return tuple(trees), float(np.float32(base))


def opensearch_trees(body: dict[str, Any], names: list[str]) -> tuple[EngineTree, ...]:
    """Trees of a dump in the plugin: float32, below, by the names of the features."""

    def read(node: dict[str, Any]) -> Split | float:
        if "leaf" in node:
            return node["leaf"]
        children = {child["nodeid"]: child for child in node["children"]}
        side = LEFT if node["missing"] == node["yes"] else RIGHT
        left, right = children[node["yes"]], children[node["no"]]
        column = column_of(names, node["split"])
        return Split(column, node["split_condition"], side, left, right)

    splits = json.loads(body["model"]["model"]["definition"])["splits"]
    return tuple(EngineTree.flatten(root, read, np.float32, is_strict=True) for root in splits)


def native_trees(body: dict[str, Any], names: list[str]) -> tuple[EngineTree, ...]:
    """Trees of an ensemble of Elasticsearch: float64, at most."""
    ensemble = body["definition"]["trained_model"]["ensemble"]
    weights = ensemble["aggregate_output"]["weighted_sum"]["weights"]
    trees = []
    for model, weight in zip(ensemble["trained_models"], weights, strict=True):
        nodes = {node["node_index"]: node for node in model["tree"]["tree_structure"]}
        require_value("a tree's feature_names", model["tree"]["feature_names"],
                      ensemble["feature_names"])  # fmt: skip
        columns = [column_of(names, name) for name in ensemble["feature_names"]]

        def read(
            node: dict[str, Any], nodes: Any = nodes, columns: Any = columns, weight: Any = weight
        ) -> Split | float:
            if "leaf_value" in node:
                return weight * node["leaf_value"]
            require_value("decision_type", node["decision_type"], "lte")
            left, right = nodes[node["left_child"]], nodes[node["right_child"]]
            side = LEFT if node["default_left"] else RIGHT
            return Split(columns[node["split_feature"]], node["threshold"], side, left, right)

        trees.append(EngineTree.flatten(nodes[0], read, np.float64, is_strict=False))
    return tuple(trees)


def vespa_trees(model: dict[str, Any], names: list[str]) -> tuple[EngineTree, ...]:
    """Trees of LightGBM's dump in Vespa: float64, below."""
    columns = [column_of(names, name) for name in model["feature_names"]]

    def read(node: dict[str, Any]) -> Split | float:
        if "leaf_value" in node:
            return node["leaf_value"]
        require_value("decision_type", node["decision_type"], "<=")
        require_value("missing_type", node["missing_type"], "NaN")
        side = LEFT if node["default_left"] else RIGHT
        left, right = node["left_child"], node["right_child"]
        return Split(columns[node["split_feature"]], node["threshold"], side, left, right)

    roots = [tree["tree_structure"] for tree in model["tree_info"]]
    return tuple(EngineTree.flatten(root, read, np.float64, is_strict=True) for root in roots)
