"""CatBoost's JSON model, of symmetric and other trees.

Values above a border go right. A category is known by 32 bits of a hash of its text. The hashes of
whole numbers from 0 to 999 are recognised; other categories, and statistics of categories (CTRs),
are refused.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from rankwise.rankers.imported.stored_model import BoosterError, StoredModel
from rankwise.trees.score_tree import ScoreTree
from rankwise.trees.stored_boosters import (
    MISSING_CODE,
    StoredTrees,
    catboost_code,
    catboost_trees,
    last_rounded_to,
)

_NUMBERS, _NOMINAL = "float_features", "categorical_features"


def catboost_model(model: dict[str, Any]) -> StoredModel:
    """Read the description of a model.

    Raises
    ------
    BoosterError
        If the model has several scores per row, text or embeddings, or categories other than the
        whole numbers from 0 to 999.
    """
    info = model["features_info"]
    for kind in ("text_features", "embedding_features"):
        if info.get(kind):
            raise BoosterError(f"the CatBoost model has {kind}, which are not supported.")
    for tree in model.get("oblivious_trees") or []:
        for split in tree["splits"] or []:
            _check_split(split)
    _, bias = model["scale_and_bias"]
    if len(bias) != 1:
        raise BoosterError(f"the CatBoost model has {len(bias)} scores per row; 1 is supported.")
    numbers, nominal = info.get(_NUMBERS) or [], info.get(_NOMINAL) or []
    features = sorted([*numbers, *nominal], key=lambda feature: feature["flat_feature_index"])
    n_features = features[-1]["flat_feature_index"] + 1
    categories = {
        feature["flat_feature_index"]: _codes(feature)
        for feature in nominal
        if feature.get("values")
    }
    names = [str(column) for column in range(n_features)]
    for feature in features:
        names[feature["flat_feature_index"]] = feature.get("feature_id", "")
    is_numbered = names == [str(column) for column in range(n_features)] or not all(names)
    return StoredModel(
        "CatBoost",
        n_features,
        None if is_numbered else names,
        set(categories),
        categories,
        lambda n_categories: _trees(model, n_categories),
        in_float32=True,
    )


def _codes(feature: dict[str, Any]) -> list[int]:
    codes = [catboost_code(value) for value in feature["values"]]
    if any(code is None or code == MISSING_CODE for code in codes):
        name = feature.get("feature_id") or feature["flat_feature_index"]
        raise BoosterError(
            f"column {name!r} of the CatBoost model has categories other than whole numbers from 0 "
            "to 999, of which the file keeps only hashes. Number the categories before training."
        )
    return list(range(max(code for code in codes if code is not None) + 1))


def _trees(model: dict[str, Any], n_categories: Any) -> StoredTrees:
    info = model["features_info"]
    symmetric = model.get("oblivious_trees")
    if symmetric is not None:
        for feature in info.get(_NOMINAL) or []:
            feature.setdefault("values", [])
        for number, tree in enumerate(symmetric):
            if len(tree["leaf_values"]) != 2 ** len(tree["splits"] or []):
                raise BoosterError(f"tree {number} of the CatBoost model lacks leaves.")
        return catboost_trees(json.dumps(model).encode("ascii"), n_categories)
    scale, (bias,) = model["scale_and_bias"]
    trees = [_grown(tree, info, float(scale), n_categories) for tree in model["trees"]]
    has_missing = any(feature["has_nans"] for feature in info[_NUMBERS])
    return StoredTrees(tuple(trees), float(bias), has_missing)


def _check_split(split: dict[str, Any]) -> None:
    if split["split_type"] not in ("FloatFeature", "OneHotFeature"):
        raise BoosterError(
            f"the CatBoost model splits by {split['split_type']}, a statistic of categories (CTR), "
            "which is not supported. Train it with one_hot_max_size at least the number of "
            "categories and max_ctr_complexity=0, or number the categories."
        )


def _grown(root: dict[str, Any], info: Any, scale: float, n_categories: Any) -> ScoreTree:
    """A tree of the policies Depthwise and Lossguide."""
    nodes, place = [root], 0
    rows: list[tuple[int, float, int, int, bool, float, float]] = []
    members: dict[int, Any] = {}
    while place < len(nodes):
        node = nodes[place]
        if "split" not in node:
            rows.append((-1, np.nan, -1, -1, False, scale * node["value"], node.get("weight", 0.0)))
            place += 1
            continue
        split = node["split"]
        _check_split(split)
        left, right = len(nodes), len(nodes) + 1
        nodes += [node["left"], node["right"]]
        if split["split_type"] == "FloatFeature":
            feature = info[_NUMBERS][split["float_feature_index"]]
            threshold = float(last_rounded_to(np.float32(split["border"])))
            missing_left = feature["nan_value_treatment"] != "AsTrue"
        else:
            feature = info[_NOMINAL][split["cat_feature_index"]]
            code = float(catboost_code(split["value"]) or 0)
            every = np.arange(float(n_categories[feature["flat_feature_index"]]))
            members[place] = (every[every != code], every[every == code])
            threshold, missing_left = 0.0, True
        column = feature["flat_feature_index"]
        rows.append((column, threshold, left, right, missing_left, 0.0, 0.0))
        place += 1
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    feature, threshold, left, right, missing_left, values, cover = columns
    for node in range(len(rows) - 1, -1, -1):
        if feature[node] >= 0:
            cover[node] = cover[left[node]] + cover[right[node]]
    return ScoreTree(
        feature, threshold, left, right, missing_left.astype(bool), values, members, cover=cover
    )
