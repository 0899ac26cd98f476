"""CatBoost's JSON model: symmetric and other trees, checks, and hashes of categories [1]_.

Values above a border go right; a symmetric tree has one question a level. A question about a
category asks for one. A category is known by 32 bits of a hash of its text. The hashes of whole
numbers from 0 to 999 are recognised; other categories are those that the caller lists. Statistics
of categories (CTRs) are refused.

References
----------
.. [1] G. Pike and J. Alakuijala, "Introducing CityHash", Google Open Source Blog, 2011; its
   version 1.0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.trees.stored_boosters import (
    BoosterError,
    StoredModel,
    StoredTrees,
    categories_by_column,
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
from rankwise.typing import Float64Array

CATBOOST_MAX_DEPTH = 16
MISSING_CODE = -1  # of a missing category, where a library takes whole numbers only
_UNKNOWN_CODE = -2
_MOST_GAPS = 2**20
_NUMBERS, _NOMINAL = "float_features", "categorical_features"
_NUMBER_ENTRIES = {
    "borders", "feature_id", "feature_index", "flat_feature_index", "has_nans",
    "nan_value_treatment",
}  # fmt: skip
_NAN_TREATMENTS = ("AsIs", "AsFalse", "AsTrue")
_NOMINAL_ENTRIES = {"feature_id", "feature_index", "flat_feature_index", "values"}
# By the kind of a split: its entries for the feature and the place.
_SPLITS = {
    "FloatFeature": ("float_feature_index", "border"),
    "OneHotFeature": ("cat_feature_index", "value"),
}


def catboost_trees(model: bytes, n_categories: NDArray[np.integer]) -> StoredTrees:
    """Trees of a model whose categories are codes, -1 a missing value; cover: weight of the rows.

    ``n_categories`` (n_features,) is the number of codes of each column of categories.
    """
    return check_trees(_trees(json.loads(model), n_categories, None), len(n_categories))


def _trees(
    model: dict[str, Any], n_categories: Any, codes: Mapping[int, Mapping[int, int]] | None
) -> StoredTrees:
    """Trees of any policy; ``codes`` maps columns and hashes to codes, None as above."""
    info = model["features_info"]
    scale, (bias,) = model["scale_and_bias"]
    if (symmetric := model.get("oblivious_trees")) is None:
        stored, read = model["trees"], _read_grown_tree
    else:
        stored, read = symmetric, _read_symmetric_tree
    trees = [
        read(tree, number, info, float(scale), n_categories, codes)
        for number, tree in enumerate(stored)
    ]
    has_missing = any(feature["has_nans"] for feature in info[_NUMBERS])
    return StoredTrees(tuple(trees), float(bias), has_missing)


def _read_question(
    split: dict[str, Any], info: Any, n_categories: Any, codes: Any
) -> tuple[int, float, bool, tuple[Float64Array, Float64Array] | None]:
    """Column, threshold, whether missing values go left, and the categories of both sides."""
    _check_split(split)
    if split["split_type"] == "FloatFeature":
        feature = info[_NUMBERS][split["float_feature_index"]]
        threshold = float(last_rounded_to(np.float32(split["border"])))
        missing_left = feature["nan_value_treatment"] != "AsTrue"
        return feature["flat_feature_index"], threshold, missing_left, None
    feature = info[_NOMINAL][split["cat_feature_index"]]
    column = feature["flat_feature_index"]
    if codes is None:
        code = _codes_of_hashes().get(split["value"], _UNKNOWN_CODE)
    else:
        code = codes[column][split["value"]]
    if code == MISSING_CODE:
        return column, np.inf, False, None
    right, left = category_sides(np.array([code]), int(n_categories[column]))
    return column, 0.0, True, (left, right)


def _read_symmetric_tree(
    tree: dict[str, Any], number: int, info: Any, scale: float, n_categories: Any, codes: Any
) -> ScoreTree:
    splits = (tree["splits"] or [])[::-1]  # the last question decides on the largest step
    depth = len(splits)
    if len(tree["leaf_values"]) != 2**depth:
        raise BoosterError(f"tree {number} of the CatBoost model lacks leaves.")
    # Level l of the complete tree has 2^l nodes, all with one split.
    level = np.repeat(np.arange(depth), 2 ** np.arange(depth))
    leaves: Float64Array = np.array(tree["leaf_values"], dtype=np.float64) * scale
    columns, missing_left = np.zeros(depth, dtype=np.int64), np.zeros(depth, dtype=bool)
    thresholds = np.zeros(depth)
    members = {}
    for place, split in enumerate(splits):
        question = _read_question(split, info, n_categories, codes)
        columns[place], thresholds[place], missing_left[place], sides = question
        if sides is not None:
            members |= dict.fromkeys(np.flatnonzero(level == place).tolist(), sides)
    n_inner, n_nodes = 2**depth - 1, 2 ** (depth + 1) - 1
    none = np.full(len(leaves), -1, dtype=np.int64)
    # A complete tree, numbered level by level.
    children = 2 * np.arange(n_inner)
    cover = [np.array(tree["leaf_weights"], dtype=np.float64)]
    for _ in range(depth):  # of the level above
        cover.insert(0, cover[0][::2] + cover[0][1::2])
    return ScoreTree(
        np.concatenate([columns[level], none]),
        np.concatenate([thresholds[level], np.full(len(leaves), np.nan)]),
        np.concatenate([children + 1, none]),
        np.concatenate([children + 2, none]),
        np.concatenate([missing_left[level], np.zeros(n_nodes - n_inner, dtype=bool)]),
        np.concatenate([np.zeros(n_inner), leaves]),
        members,
        cover=np.concatenate(cover),
    )


def _check_split(split: dict[str, Any]) -> None:
    if split["split_type"] not in ("FloatFeature", "OneHotFeature"):
        raise BoosterError(
            f"the CatBoost model splits by {split['split_type']}, a statistic of categories (CTR), "
            "which is not supported. Train it with one_hot_max_size at least the number of "
            "categories and max_ctr_complexity=0, or number the categories."
        )


def _read_grown_tree(
    root: dict[str, Any], number: int, info: Any, scale: float, n_categories: Any, codes: Any
) -> ScoreTree:
    """A tree of the policies Depthwise and Lossguide."""
    nodes, place = [root], 0
    rows: list[tuple[int, float, int, int, bool, float, float]] = []
    members: dict[int, Any] = {}
    while place < len(nodes):
        node = nodes[place]
        if "split" not in node:
            rows.append((-1, np.nan, -1, -1, False, scale * node["value"], node.get("weight", 0.0)))
        else:
            question = _read_question(node["split"], info, n_categories, codes)
            column, threshold, missing_left, sides = question
            if sides is not None:
                members[place] = sides
            left = len(nodes)
            nodes += [node["left"], node["right"]]
            rows.append((column, threshold, left, left + 1, missing_left, 0.0, 0.0))
        place += 1
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    feature, threshold, left, right, missing_left, values, cover = columns
    for node in range(len(rows) - 1, -1, -1):
        if feature[node] >= 0:
            cover[node] = cover[left[node]] + cover[right[node]]
    return ScoreTree(
        feature, threshold, left, right, missing_left.astype(bool), values, members, cover=cover
    )


def check_catboost(data: bytes, n_features: int) -> bytes:
    """A stored model as JSON that reads in one way only, checked before CatBoost parses it.

    Raises BoosterError for what rankwise does not write, and for indices out of range.
    """
    with refuse_damage("CatBoost"):
        model = json.loads(data)
        require_keys(model, {"features_info", "oblivious_trees", "scale_and_bias"})
        info = model["features_info"]
        require_keys(info, {_NUMBERS} | ({_NOMINAL} & set(info)))
        require(model["oblivious_trees"] is not None, "only symmetric trees are stored")
        features, nominal = info[_NUMBERS], info.get(_NOMINAL, [])
        for entries, group in ((_NUMBER_ENTRIES, features), (_NOMINAL_ENTRIES, nominal)):
            for number, feature in enumerate(group):
                require_keys(feature, entries)
                require(feature["feature_index"] == number, "feature_index does not count up")
                require(isinstance(feature["feature_id"], str), "feature_id is not a name")
        for feature in features:
            require(isinstance(feature["has_nans"], bool), "has_nans is not a boolean")
            is_known = feature["nan_value_treatment"] in _NAN_TREATMENTS
            require(is_known, "a NaN treatment is invalid")
            require_numbers(feature["borders"], None, "borders")
        for feature in nominal:
            index_array(feature["values"])
        columns = index_array([feature["flat_feature_index"] for feature in [*features, *nominal]])
        require_range(columns, n_features, "flat_feature_index")
        require(len(np.unique(columns)) == len(columns), "a column comes twice")
        # Splits are numbered by the features of numbers, then by those of categories.
        places = [("FloatFeature", f["feature_index"], b) for f in features for b in f["borders"]]
        places += [("OneHotFeature", f["feature_index"], v) for f in nominal for v in f["values"]]
        scale, bias = model["scale_and_bias"]
        require_numbers([scale, *bias], 2, "scale_and_bias")
        for number, tree in enumerate(model["oblivious_trees"]):
            require_keys(tree, {"leaf_values", "leaf_weights", "splits"})
            splits = tree["splits"] or []
            require(len(splits) <= CATBOOST_MAX_DEPTH, f"tree {number} is too deep")
            for split in splits:
                kind = split["split_type"]
                require(kind in _SPLITS, "a split is of an unknown type")
                require_keys(split, {"split_index", "split_type", *_SPLITS[kind]})
                require_range(index_array([split["split_index"]]), len(places), "split_index")
                require(
                    places[split["split_index"]] == (kind, *(split[key] for key in _SPLITS[kind])),
                    "a split is not at a border or a category of its feature",
                )
            for key in ("leaf_values", "leaf_weights"):
                require_numbers(tree[key], 2 ** len(splits), f"{key} of tree {number}")
        return json.dumps(model).encode("ascii")


def catboost_model(
    model: dict[str, Any],
    categories: Mapping[Any, Sequence[Any]] | None,
    features: Sequence[str] | None,
) -> StoredModel:
    """Read the description of a model; ``categories`` and ``features`` are what the caller passed.

    Several scores per row, text and embeddings are not supported. Categories must be whole numbers
    from 0 to 999, or be among ``categories``.
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
    columns = {feature["flat_feature_index"]: feature for feature in [*numbers, *nominal]}
    n_features = max(columns) + 1
    if n_features > len(columns) + _MOST_GAPS:
        raise BoosterError(f"the CatBoost model numbers {len(columns)} columns up to {n_features}.")
    names = [columns.get(j, {}).get("feature_id", "") for j in range(n_features)]
    is_numbered = names == [str(j) for j in range(n_features)] or not all(names)
    own_names = None if is_numbered else names
    known = own_names if features is None else features
    given = categories_by_column(categories, known, n_features)
    listed, codes = {}, {}
    for feature in nominal:
        if feature.get("values"):  # others are used by no split
            column = feature["flat_feature_index"]
            listed[column], codes[column] = _categories(feature, given.get(column))
    return StoredModel(
        "CatBoost",
        n_features,
        own_names,
        set(listed),
        listed,
        lambda n_categories: _trees(model, n_categories, codes),
        in_float32=True,
    )


def _categories(
    feature: dict[str, Any], given: list[Any] | None
) -> tuple[list[Any], dict[int, int]]:
    """Categories of a column, and the code of each hash."""
    wanted = list(feature["values"])
    if given is None:
        known = {value: code for value, code in _codes_of_hashes().items() if code >= 0}
        if all(value in known for value in wanted):
            most = max(known[value] for value in wanted)
            return list(range(most + 1)), {value: known[value] for value in wanted}
    else:
        try:
            # Columns of bool are 0 and 1 for CatBoost, and bool objects their text.
            known = {
                hash_category(text): code
                for code, value in enumerate(given)
                for text in (
                    (str(value), str(int(value)))
                    if isinstance(value, bool | np.bool_)
                    else (str(value),)
                )
            }
        except ValueError as error:
            raise BoosterError(str(error)) from error
        if all(value in known for value in wanted):
            return given, known
    name = feature.get("feature_id") or feature["flat_feature_index"]
    n_unknown = sum(value not in known for value in wanted)
    raise BoosterError(
        f"column {name!r} of the CatBoost model has {n_unknown} categories that are neither whole "
        "numbers from 0 to 999 nor among those passed; the file keeps only their hashes. Pass "
        "categories={column: [...]} with all categories of the column."
    )


_MASK = 2**64 - 1
_K0, _K1, _K2, _K3 = (
    0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F, 0xC949D7C7509E6557,
)  # fmt: skip
_MULTIPLIER = 0x9DDFEA08EB382D69
LONGEST = 64  # bytes of a text; longer ones are hashed in another way


def hash_category(text: str) -> int:
    """Signed 32 bits by which CatBoost knows a category of at most 64 bytes of UTF-8."""
    data = text.encode()
    if len(data) > LONGEST:
        raise ValueError(
            f"categories of CatBoost must have at most {LONGEST} bytes, got {len(data)}: {text!r}."
        )
    low = _city_hash(data) & (2**32 - 1)
    return low - 2**32 if low >= 2**31 else low


def _city_hash(data: bytes) -> int:
    n = len(data)
    if n > 32:
        return _hash_33_to_64(data)
    if n > 16:
        return _hash_17_to_32(data)
    if n > 8:
        a, b = _fetch(data, 0), _fetch(data, n - 8)
        return _mix(a, _rotate((b + n) & _MASK, n)) ^ b
    if n >= 4:
        return _mix((n + (_fetch(data, 0, 4) << 3)) & _MASK, _fetch(data, n - 4, 4))
    if n == 0:
        return _K2
    y = data[0] + (data[n >> 1] << 8)
    z = n + (data[-1] << 2)
    return _shift_mix((y * _K2 & _MASK) ^ (z * _K3 & _MASK)) * _K2 & _MASK


def _hash_17_to_32(data: bytes) -> int:
    n = len(data)
    a = _fetch(data, 0) * _K1 & _MASK
    b = _fetch(data, 8)
    c = _fetch(data, n - 8) * _K2 & _MASK
    d = _fetch(data, n - 16) * _K0 & _MASK
    first = (_rotate((a - b) & _MASK, 43) + _rotate(c, 30) + d) & _MASK
    return _mix(first, (a + _rotate(b ^ _K3, 20) - c + n) & _MASK)


def _hash_33_to_64(data: bytes) -> int:
    n = len(data)
    start = (_fetch(data, 0) + (n + _fetch(data, n - 16)) * _K0) & _MASK
    vf, vs = _weak_hash(data, start, _fetch(data, 24), 8)
    start = (_fetch(data, 16) + _fetch(data, n - 32)) & _MASK
    wf, ws = _weak_hash(data, start, _fetch(data, n - 8), n - 24)
    r = _shift_mix(((vf + ws) * _K2 + (wf + vs) * _K0) & _MASK)
    return _shift_mix((r * _K0 + vs) & _MASK) * _K2 & _MASK


def _weak_hash(data: bytes, a: int, z: int, place: int) -> tuple[int, int]:
    """Two words of a block of 32 bytes, of which those from ``place`` are still to be read."""
    b = _rotate((a + z) & _MASK, 52)
    c = _rotate(a, 37)
    a = (a + _fetch(data, place)) & _MASK
    c = (c + _rotate(a, 7)) & _MASK
    a = (a + _fetch(data, place + 8)) & _MASK
    return (a + z) & _MASK, (b + _rotate(a, 31) + c) & _MASK


def _mix(u: int, v: int) -> int:
    a = (u ^ v) * _MULTIPLIER & _MASK
    a ^= a >> 47
    b = (v ^ a) * _MULTIPLIER & _MASK
    b ^= b >> 47
    return b * _MULTIPLIER & _MASK


def _shift_mix(value: int) -> int:
    return value ^ value >> 47


def _rotate(value: int, shift: int) -> int:
    shift %= 64
    return (value >> shift | value << (64 - shift)) & _MASK


def _fetch(data: bytes, place: int, size: int = 8) -> int:
    return int.from_bytes(data[place : place + size], "little")


@cache
def _codes_of_hashes() -> dict[int, int]:
    """Missing values and whole numbers below 1000 by their hashes."""
    return {hash_category(str(code)): code for code in range(MISSING_CODE, 1000)}
