"""CatBoost's JSON model: symmetric and other trees, checks, and hashes of categories [1]_.

Values above a border go right; a symmetric tree has one question a level. A question about a
category asks for one, or compares a target statistic of the category (CTR) with a border: the model
stores the sums of labels for every category, so that a border is a set of categories. Statistics of
combinations of columns are not read. A category is known by 32 bits of a hash of its text. The
hashes of whole numbers from 0 to 999 are recognised; other categories are those that the caller
lists.

References
----------
.. [1] G. Pike and J. Alakuijala, "Introducing CityHash", Google Open Source Blog, 2011; its
   version 1.0.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
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
    "OnlineCtr": ("ctr_target_border_idx", "border"),
}
_STATISTICS, _TABLES = "ctrs", "ctr_data"
_STATISTIC_ENTRIES = {
    "borders", "ctr_type", "elements", "identifier", "prior_denomerator", "prior_numerator",
    "scale", "shift", "target_border_idx",
}  # fmt: skip
_TABLE_ENTRIES = {"counter_denominator", "hash_map", "hash_stride"}
# By what a statistic of a combination of columns reads: the entries of this part.
_ELEMENTS = {
    "cat_feature_value": {"cat_feature_index"},
    "cat_feature_exact_value": {"cat_feature_index", "value"},
    "float_feature": {"float_feature_index", "border"},
}
_MOST_CLASSES = 256
_COUNTS, _MEANS = ("Counter", "FeatureFreq"), ("BinarizedTargetMeanValue", "FloatTargetMeanValue")
_CLASSES = ("Borders", "Buckets")


def catboost_trees(model: bytes, n_categories: NDArray[np.integer]) -> StoredTrees:
    """Trees of a model whose categories are codes, -1 a missing value; cover: weight of the rows.

    ``n_categories`` (n_features,) is the number of codes of each column of categories.
    """
    return check_trees(_trees(json.loads(model), n_categories, None), len(n_categories))


def _trees(
    model: dict[str, Any], n_categories: Any, codes: Mapping[int, Mapping[int, int]] | None
) -> StoredTrees:
    """Trees of any policy; ``codes`` maps columns and hashes to codes, None as above."""
    scale, (bias,) = model["scale_and_bias"]
    if (symmetric := model.get("oblivious_trees")) is None:
        stored, read = model["trees"], _read_grown_tree
    else:
        stored, read = symmetric, _read_symmetric_tree
    _refuse_combinations(model["features_info"])
    questions = _Questions(model, n_categories, codes)
    trees = [read(tree, number, questions, float(scale)) for number, tree in enumerate(stored)]
    has_missing = any(feature["has_nans"] for feature in model["features_info"][_NUMBERS])
    return StoredTrees(tuple(trees), float(bias), has_missing)


_Sides = tuple[Float64Array, Float64Array]


class _Questions:
    """Questions of the splits of a model; ``codes`` as for :func:`_trees`."""

    def __init__(
        self,
        model: dict[str, Any],
        n_categories: NDArray[np.integer],
        codes: Mapping[int, Mapping[int, int]] | None,
    ) -> None:
        self._info, self._tables = model["features_info"], model.get(_TABLES) or {}
        self._n_categories, self._codes = n_categories, codes
        self._numbered: list[Any] = []  # statistics of the splits, by split_index
        if statistics := self._info.get(_STATISTICS):
            self._numbered = [None] * _count_places(self._info)
            self._numbered += [given for given in statistics for _ in given["borders"]]
        self._values: dict[str, NDArray[np.float32]] = {}

    def read(self, split: dict[str, Any]) -> tuple[int, float, bool, _Sides | None]:
        """Column, threshold, whether missing values go left, and the categories of both sides."""
        info, kind = self._info, split["split_type"]
        if kind == "FloatFeature":
            feature = info[_NUMBERS][split["float_feature_index"]]
            threshold = float(last_rounded_to(np.float32(split["border"])))
            missing_left = feature["nan_value_treatment"] != "AsTrue"
            return feature["flat_feature_index"], threshold, missing_left, None
        if kind == "OnlineCtr":
            return self._read_statistic(self._numbered[split["split_index"]], split["border"])
        if kind != "OneHotFeature":
            raise BoosterError(f"the CatBoost model splits by {kind}, which is not supported.")
        column = info[_NOMINAL][split["cat_feature_index"]]["flat_feature_index"]
        if self._codes is None:
            code = _codes_of_hashes().get(split["value"], _UNKNOWN_CODE)
        else:
            code = self._codes[column][split["value"]]
        if code == MISSING_CODE:
            return column, np.inf, False, None
        right, left = category_sides(np.array([code]), int(self._n_categories[column]))
        return column, 0.0, True, (left, right)

    def _read_statistic(self, given: Any, border: float) -> tuple[int, float, bool, _Sides]:
        (element,) = given["elements"]
        column = self._info[_NOMINAL][element["cat_feature_index"]]["flat_feature_index"]
        key = json.dumps({name: given[name] for name in given if name != "borders"})
        if key not in self._values:
            # One value more than categories, of missing and unknown ones.
            n_codes = int(self._n_categories[column])
            if self._codes is None:
                hashes = ((hash_category(str(code)), code) for code in range(MISSING_CODE, n_codes))
            else:
                hashes = iter(self._codes[column].items())
            table = self._tables[given["identifier"]]
            self._values[key] = _statistics(given, table, hashes, n_codes)
        is_above = self._values[key] > np.float32(border)
        right, left = (np.flatnonzero(is_above[:-1] == side) for side in (True, False))
        sides = left.astype(np.float64), right.astype(np.float64)
        return column, 0.0, not is_above[-1], sides


def _refuse_combinations(info: dict[str, Any]) -> None:
    for given in info.get(_STATISTICS) or []:
        if len(given["elements"]) > 1:
            raise BoosterError(
                "the CatBoost model has statistics of combinations of columns, which are not sets "
                "of categories of one column. Only CatBoost itself can score them; train with "
                "max_ctr_complexity=1, its default for rankings, to explain, export or read them."
            )


def _count_places(info: dict[str, Any]) -> int:
    """Number of borders of numbers and of categories with a split of their own."""
    borders = sum(len(feature["borders"] or []) for feature in info.get(_NUMBERS) or [])
    return borders + sum(len(feature.get("values", [])) for feature in info.get(_NOMINAL) or [])


def _statistics(
    given: dict[str, Any], table: dict[str, Any], hashes: Iterable[tuple[int, int]], n_codes: int
) -> NDArray[np.float32]:
    """Statistic of each category, and last that of missing and unknown ones, as CatBoost rounds it.

    ``hashes`` are pairs of a hash and its code, :data:`MISSING_CODE` for missing values. Categories
    without training rows get the prior.
    """
    stride, target = table["hash_stride"], given["target_border_idx"]
    rows = np.array(table["hash_map"], dtype=object).reshape(-1, stride)
    sums: Any = rows[:, 1:].astype(np.float64)
    places = {int(key): place for place, key in enumerate(rows[:, 0].tolist())}
    found = np.full(n_codes + 1, -1)
    for hashed, code in hashes:
        place = places.get(_hash_projection(hashed))
        if place is not None:
            found[code] = place  # MISSING_CODE is the last one
    sums = np.where(found[:, None] >= 0, sums[found], 0.0)
    kind = given["ctr_type"]
    if kind in _COUNTS:
        part, whole = sums[:, 0], np.full(n_codes + 1, float(table["counter_denominator"]))
    elif kind in _MEANS:
        part, whole = sums[:, 0], sums[:, 1]
    else:
        first = target if kind == "Buckets" else target + 1
        part = sums[:, first : first + 1 if kind == "Buckets" else None].sum(axis=1)
        whole = sums.sum(axis=1)
    prior, weight, shift, scale = (
        np.float32(given[name])
        for name in ("prior_numerator", "prior_denomerator", "shift", "scale")
    )
    ratio = (part.astype(np.float32) + prior) / (whole.astype(np.float32) + weight)
    return (ratio + shift) * scale


def _read_symmetric_tree(
    tree: dict[str, Any], number: int, questions: _Questions, scale: float
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
        columns[place], thresholds[place], missing_left[place], sides = questions.read(split)
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


def _read_grown_tree(
    root: dict[str, Any], number: int, questions: _Questions, scale: float
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
            column, threshold, missing_left, sides = questions.read(node["split"])
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
        known = {"features_info", "oblivious_trees", "scale_and_bias"}
        require_keys(model, known | ({_TABLES} & set(model)))
        info = model["features_info"]
        require_keys(info, {_NUMBERS} | ({_NOMINAL, _STATISTICS} & set(info)))
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
        statistics = info.get(_STATISTICS, [])
        _check_statistics(statistics, model.get(_TABLES, {}), len(features), len(nominal))
        places += [("OnlineCtr", f["target_border_idx"], b) for f in statistics
                   for b in f["borders"]]  # fmt: skip
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


def _check_statistics(statistics: Any, tables: Any, n_numbers: int, n_nominal: int) -> None:
    """Raise unless statistics of categories read existing columns and cells of their tables."""
    require(type(tables) is dict, "ctr_data is not a table")
    for given in statistics:
        require_keys(given, _STATISTIC_ENTRIES)
        kind, elements = given["ctr_type"], given["elements"]
        require(kind in (*_COUNTS, *_MEANS, *_CLASSES), "a statistic is of an unknown type")
        require(isinstance(elements, list) and len(elements) > 0, "a statistic has no column")
        for element in elements:
            part = element["combination_element"]
            require(part in _ELEMENTS, "a statistic reads an unknown kind of column")
            require_keys(element, {"combination_element"} | _ELEMENTS[part])
            name, n = ("float_feature_index", n_numbers), ("cat_feature_index", n_nominal)
            name, n = name if part == "float_feature" else n
            require_range(index_array([element[name]]), n, name)
            if part == "float_feature":
                require_numbers([element["border"]], 1, "border")
            elif part == "cat_feature_exact_value":
                index_array([element["value"]])
        require_numbers(given["borders"], None, "borders")
        numbers = ("prior_numerator", "prior_denomerator", "scale", "shift")
        require_numbers([given[name] for name in numbers], 4, "a statistic")
        # The identifier is both the key of the table and, for CatBoost, the description of its
        # columns; written in another way, the two might differ.
        described = {"identifier": elements, "type": kind}
        text = json.dumps(described, separators=(",", ":"), sort_keys=True)
        require(given["identifier"] == text, "a statistic has another identifier")
        require(text in tables, "a statistic has no table")
        target, table = given["target_border_idx"], tables[text]
        n_sums = {**dict.fromkeys(_COUNTS, 1), **dict.fromkeys(_MEANS, 2)}.get(kind)
        if n_sums is None:
            n_sums = table["hash_stride"] - 1
            require(1 < n_sums < _MOST_CLASSES, "hash_stride is out of range")
        n_targets = {"Buckets": n_sums, "Borders": n_sums - 1}.get(kind, 1)
        require_range(index_array([target]), n_targets, "target_border_idx")
        require(table["hash_stride"] == 1 + n_sums, "hash_stride does not fit the type")
    for table in tables.values():
        require_keys(table, _TABLE_ENTRIES)
        require(type(table["hash_map"]) is list, "hash_map is not a list")
        stride = int(index_array([table["hash_stride"]])[0])
        require(1 < stride <= _MOST_CLASSES, "hash_stride is out of range")
        require(len(table["hash_map"]) % stride == 0, "hash_map has a wrong length")
        require_range(index_array([table["counter_denominator"]]), 2**31, "counter_denominator")
        hashes = table["hash_map"][::stride]
        require(all(type(key) is str and key.isdecimal() and key.isascii() for key in hashes),
                "a hash is not a number")  # fmt: skip
        require(all(int(key) < 2**64 for key in hashes), "a hash is too large")
        require(len(set(map(int, hashes))) == len(hashes), "a hash comes twice")
        for first in range(1, stride):
            sums = table["hash_map"][first::stride]
            require_numbers(sums, None, "hash_map")
            require(all(0 <= value < 2**31 for value in sums), "a sum is out of range")


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
    _refuse_combinations(info)
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
        wanted = list(feature.get("values", []))
        # Statistics know a category by a hash of its hash.
        projected = {
            int(key)
            for statistic in info.get(_STATISTICS) or []
            if statistic["elements"][0]["cat_feature_index"] == feature["feature_index"]
            for table in [model[_TABLES][statistic["identifier"]]]
            for key in table["hash_map"][:: table["hash_stride"]]
        } - {_NO_HASH}
        if wanted or projected:  # others are used by no split
            column = feature["flat_feature_index"]
            found = _categories(feature, wanted, projected, given.get(column))
            listed[column], codes[column] = found
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
    feature: dict[str, Any], wanted: list[int], projected: set[int], given: list[Any] | None
) -> tuple[list[Any], dict[int, int]]:
    """Categories of a column, and the code of each hash.

    The model asks for the hashes ``wanted``, and has statistics of the hashes ``projected``.
    """
    if given is None:
        known = {value: code for value, code in _codes_of_hashes().items() if code >= 0}
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
    hash_of = {_hash_projection(value): value for value in known} if projected else {}
    n_unknown = sum(value not in known for value in wanted) + len(projected - set(hash_of))
    if n_unknown == 0:
        if given is not None:
            return given, known
        used = {*wanted, *(hash_of[value] for value in projected)}
        codes = {value: known[value] for value in used}
        return list(range(max(codes.values()) + 1)), codes
    name = feature.get("feature_id") or feature["flat_feature_index"]
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


_NO_HASH = _MASK  # of an empty cell in the tables of CatBoost
_PROJECTION = 0x4906BA494954CB65


def _hash_projection(hashed: int) -> int:
    """Unsigned 64 bits by which statistics of a single column know a category."""
    return _PROJECTION * (_PROJECTION * (hashed & _MASK) & _MASK) & _MASK


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
