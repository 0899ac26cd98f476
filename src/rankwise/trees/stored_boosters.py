"""Trees that boosting libraries store: what all models have, checks, and a reader for each library.

LightGBM compares with float64 thresholds and takes a missing value for 0 where the column had
none in training. XGBoost sends values below a float32 condition to the left. CatBoost has one
question a level, and values above a border go to the side of the larger leaf numbers.

A category is a code, and codes that the training rows did not have count as missing. LightGBM lists
the codes that go left and sends missing ones to the right; XGBoost lists those that go right, and
has a side for missing ones; CatBoost asks for one category.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.trees.tree_ensemble import ScoreTree
from rankwise.typing import Float64Array

# Bits of LightGBM's decision_type: 1 categorical, 2 missing values go left, 4 and 8 the kind of
# missing values (none, zero or NaN).
_CATEGORICAL, _DEFAULT_LEFT, _MISSING_TYPE = 1, 2, 12
_NONE, _ZERO = 0, 4
# LightGBM reads values of at most this size as 0 before it compares them.
_LIGHTGBM_ZERO = float(np.float32(1e-35))
_END = "end of trees"
MISSING_CODE = -1  # of a missing category, where a library takes whole numbers only
_UNKNOWN_CODE = -2


@dataclass(frozen=True, eq=False)
class StoredTrees:
    """Trees read from a stored model; ``constant`` is added to their sum."""

    trees: tuple[ScoreTree, ...]
    constant: float = 0.0
    # whether values were missing in the training rows, as far as the model knows
    has_missing: bool = False
    tells_missing: bool = True  # whether the model knows


def lightgbm_trees(model: bytes, n_categories: NDArray[np.integer]) -> StoredTrees:
    """Trees of LightGBM's text model; their cover is the number of rows.

    ``n_categories`` (n_features,) is the number of codes of each column of categories, 0 for all
    others; so for all libraries.
    """
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
        trees.append(_lightgbm_tree(entries, kinds, n_categories))
    return StoredTrees(tuple(trees), 0.0, has_missing)


def _lightgbm_tree(entries: dict[str, str], kinds: Any, n_categories: Any) -> ScoreTree:
    leaves = np.array(entries["leaf_value"].split(), dtype=np.float64)
    n_inner = len(leaves) - 1

    def column(key: str, dtype: Any) -> Any:
        return np.array(entries[key].split() if n_inner else [], dtype=dtype)

    threshold = column("threshold", np.float64)
    feature = column("split_feature", np.int64)
    nominal = (kinds & _CATEGORICAL) > 0
    members = {}
    if nominal.any():
        ends = np.array(entries["cat_boundaries"].split(), dtype=np.int64)
        words = np.array(entries["cat_threshold"].split(), dtype=np.uint32)
        for node in np.flatnonzero(nominal).tolist():
            place = int(threshold[node])
            # Categories are a bit set in words of 32 bits; code 0 is the lowest bit.
            bits = np.unpackbits(
                words[ends[place] : ends[place + 1]].view(np.uint8), bitorder="little"
            )
            members[node] = _sides(np.flatnonzero(bits), int(n_categories[feature[node]]))
    # Its thresholds beside 0 lie at -1e-35 and 1e-35, and values of that size count as 0: such a
    # threshold is moved to where comparing the value itself decides as comparing 0 does.
    beside_zero = ~nominal & (np.abs(threshold) <= _LIGHTGBM_ZERO)
    below_zero = np.nextafter(-_LIGHTGBM_ZERO, -np.inf)
    threshold[beside_zero] = np.where(threshold[beside_zero] >= 0, _LIGHTGBM_ZERO, below_zero)
    as_zero = (kinds & _MISSING_TYPE) == _NONE
    missing_left = np.where(as_zero, threshold >= 0, (kinds & _DEFAULT_LEFT) > 0) & ~nominal
    zero_missing = ((kinds & _MISSING_TYPE) == _ZERO) & ~nominal
    left, right = column("left_child", np.int64), column("right_child", np.int64)
    # Leaves have negative numbers, -1 the first one.
    sides = [np.where(side < 0, n_inner - 1 - side, side) for side in (left, right)]
    none = np.full(len(leaves), -1, dtype=np.int64)
    false = np.zeros(len(leaves), dtype=bool)
    counts = np.array(entries["leaf_count"].split() if n_inner else [1.0], dtype=np.float64)
    return ScoreTree(
        np.concatenate([feature, none]),
        np.concatenate([np.where(nominal, 0.0, threshold), np.full(len(leaves), np.nan)]),
        np.concatenate([sides[0], none]),
        np.concatenate([sides[1], none]),
        np.concatenate([missing_left[:n_inner], false]).astype(bool),
        np.concatenate([np.zeros(n_inner), leaves]),
        members,
        cover=np.concatenate([column("internal_count", np.float64), counts]),
        zero_missing=np.concatenate([zero_missing, false]) if zero_missing.any() else None,
        gain=np.concatenate([column("split_gain", np.float64), np.zeros(len(leaves))]),
    )


def _sides(listed: NDArray[np.integer], n_codes: int) -> tuple[Float64Array, Float64Array]:
    """Codes that a node lists, and all others."""
    codes = np.arange(n_codes)
    inside = np.isin(codes, listed)
    return codes[inside].astype(np.float64), codes[~inside].astype(np.float64)


def xgboost_trees(model: bytes, n_categories: NDArray[np.integer]) -> StoredTrees:
    """Trees of XGBoost's JSON model; their cover is the sum of second derivatives."""
    if not model:
        return StoredTrees(())
    learner = json.loads(model)["learner"]
    # Newer versions write a list of one number.
    base = float(learner["learner_model_param"]["base_score"].strip("[]"))
    stored = learner["gradient_booster"]["model"]["trees"]
    return xgboost_learner_trees(stored, float(np.float32(base)), n_categories)


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
            sides = _sides(to_right, int(n_categories[tree["split_indices"][node]]))
            members[node] = sides[::-1]
        conditions = np.array(tree["split_conditions"], dtype=np.float32)
        # x < condition in float32 is x <= the float32 number before it.
        with np.errstate(over="ignore"):  # nothing is below the smallest condition
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


def last_rounded_to(values: Any) -> Float64Array:
    """Largest float64 numbers that libraries round to the given float32 numbers.

    Beyond the middle between two float32 numbers, rows are rounded to the larger one; in the
    middle, to the one whose last bit is 0.
    """
    values = np.asarray(values, dtype=np.float32)
    above = np.nextafter(values, np.float32(np.inf))
    middle = 0.5 * values.astype(np.float64) + 0.5 * above.astype(np.float64)
    return np.where(middle.astype(np.float32) == values, middle, np.nextafter(middle, -np.inf))


def catboost_trees(
    model: bytes,
    n_categories: NDArray[np.integer],
    codes: Mapping[int, Mapping[int, int]] | None = None,
) -> StoredTrees:
    """Trees of CatBoost's JSON model, written out as ordinary ones; cover: weight of the rows.

    ``codes`` maps columns and hashes to codes. None: the categories are codes, and -1 is a missing
    value.
    """
    if not model:
        return StoredTrees(())
    stored = json.loads(model)
    features = stored["features_info"]
    scale, (bias,) = stored["scale_and_bias"]
    trees = [
        _catboost_tree(tree, features, float(scale), n_categories, codes)
        for tree in stored["oblivious_trees"]
    ]
    has_missing = any(feature["has_nans"] for feature in features["float_features"])
    return StoredTrees(tuple(trees), float(bias), has_missing)


def _catboost_tree(
    tree: dict[str, Any], features: dict[str, Any], scale: float, n_categories: Any, codes: Any
) -> ScoreTree:
    splits = (tree["splits"] or [])[::-1]  # the last question decides on the largest step
    depth = len(splits)
    # Level l of the complete tree has 2^l nodes, all with one split.
    level = np.repeat(np.arange(depth), 2 ** np.arange(depth))
    leaves: Float64Array = np.array(tree["leaf_values"], dtype=np.float64) * scale
    columns, to_right = np.zeros(depth, dtype=np.int64), np.zeros(depth, dtype=bool)
    borders = np.zeros(depth)
    members = {}
    for number, split in enumerate(splits):
        if split["split_type"] == "FloatFeature":
            feature = features["float_features"][split["float_feature_index"]]
            borders[number] = last_rounded_to(np.float32(split["border"]))
            to_right[number] = feature["nan_value_treatment"] == "AsTrue"
        else:
            feature = features["categorical_features"][split["cat_feature_index"]]
            if codes is None:
                code = _code_of(split["value"])
            else:
                code = codes[feature["flat_feature_index"]][split["value"]]
            if code == MISSING_CODE:
                borders[number], to_right[number] = np.inf, True
            else:
                n_codes = int(n_categories[feature["flat_feature_index"]])
                right, left = _sides(np.array([code]), n_codes)
                members |= dict.fromkeys(np.flatnonzero(level == number).tolist(), (left, right))
        columns[number] = feature["flat_feature_index"]
    n_inner, n_nodes = 2**depth - 1, 2 ** (depth + 1) - 1
    none = np.full(len(leaves), -1, dtype=np.int64)
    # A complete tree, numbered level by level.
    children = 2 * np.arange(n_inner)
    cover = [np.array(tree["leaf_weights"], dtype=np.float64)]
    for _ in range(depth):  # of the level above
        cover.insert(0, cover[0][::2] + cover[0][1::2])
    return ScoreTree(
        np.concatenate([columns[level], none]),
        np.concatenate([borders[level], np.full(len(leaves), np.nan)]),
        np.concatenate([children + 1, none]),
        np.concatenate([children + 2, none]),
        np.concatenate([~to_right[level], np.zeros(n_nodes - n_inner, dtype=bool)]),
        np.concatenate([np.zeros(n_inner), leaves]),
        members,
        cover=np.concatenate(cover),
    )


@cache
def _codes_of_hashes() -> dict[int, int]:
    return {catboost_hash(code): code for code in range(MISSING_CODE, 1000)}


def _code_of(value: int) -> int:
    return _codes_of_hashes().get(value, _UNKNOWN_CODE)


def catboost_hash(code: int) -> int:
    """The signed 32 bits by which CatBoost knows a category, for codes of 1 to 3 characters.

    Its CityHash64 of a text of that length mixes the length and three of the characters (G. Pike
    and J. Alakuijala, "Introducing CityHash", Google Open Source Blog, 2011).
    """
    text = str(code).encode("ascii")
    n = len(text)
    low = text[0] + (text[n >> 1] << 8)
    high = n + (text[-1] << 2)
    mixed = (low * 0x9AE16A3B2F90404F ^ high * 0xC949D7C7509E6557) & (2**64 - 1)
    mixed = ((mixed ^ mixed >> 47) * 0x9AE16A3B2F90404F) & (2**32 - 1)
    return mixed - 2**32 if mixed >= 2**31 else mixed


class BoosterError(ValueError):
    """A stored model is damaged, not supported, or does not fit the arguments."""


@dataclass(frozen=True, eq=False)
class StoredModel:
    """A model before its trees are read."""

    library: str  # "LightGBM", "XGBoost" or "CatBoost"
    n_features: int
    names: list[str] | None  # of the columns; None if the file only numbers them
    nominal: set[int]  # columns that nodes split by sets of categories
    # Of columns, in the order of their codes, as far as the file lists them.
    categories: dict[int, list[Any]]
    # Returns the trees, given the number of categories of each column.
    read: Callable[[NDArray[np.integer]], StoredTrees]
    in_float32: bool = False  # whether the library rounds rows to float32


@dataclass
class GivenCategories:
    """Categories that the caller passes, by the number of their column."""

    given: Mapping[Any, Sequence[Any]] | None
    names: Sequence[str] | None
    n_features: int
    by_column: dict[int, list[Any]] = field(init=False)

    def __post_init__(self) -> None:
        self.by_column = {}
        for key, values in (self.given or {}).items():
            self.by_column[self._column(key)] = list(values)

    def _column(self, key: Any) -> int:
        if isinstance(key, str) and self.names is not None and key in self.names:
            return list(self.names).index(key)
        if isinstance(key, int | np.integer) and 0 <= key < self.n_features:
            return int(key)
        known = f"the names {list(self.names)}, or " if self.names is not None else ""
        raise BoosterError(
            f"categories must have columns as keys ({known}numbers from 0 to "
            f"{self.n_features - 1}), got {key!r}."
        )


def check_trees(stored: StoredTrees, n_features: int) -> StoredTrees:
    """Trees without nodes that the root does not reach.

    Raises BoosterError if a node has no children, two parents or a column that does not exist, or
    if a threshold or a leaf is not a number.
    """
    trees = [_keep_reached(tree, number, n_features) for number, tree in enumerate(stored.trees)]
    return replace(stored, trees=tuple(trees))


def _keep_reached(tree: ScoreTree, number: int, n_features: int) -> ScoreTree:
    n_nodes = len(tree.feature)
    inner = tree.feature >= 0
    order, level, seen = [], [0], {0}
    while level:
        order += level
        children = []
        for node in level:
            if inner[node]:
                children += [int(tree.left[node]), int(tree.right[node])]
        if any(not 0 <= child < n_nodes for child in children):
            raise BoosterError(f"tree {number} has a child that does not exist.")
        if len(seen | set(children)) != len(seen) + len(children):
            raise BoosterError(f"tree {number} has a node with two parents.")
        seen |= set(children)
        level = children
    kept = np.array(order)
    place = np.full(n_nodes, -1)
    place[kept] = np.arange(len(kept))
    is_inner = inner[kept]
    if tree.feature.max(initial=-1) >= n_features:
        raise BoosterError(f"tree {number} splits a column beyond the {n_features} of the model.")
    numeric = is_inner & ~np.isin(kept, list(tree.members))
    if np.isnan(tree.threshold[kept][numeric]).any() or not np.isfinite(tree.values[kept]).all():
        raise BoosterError(f"tree {number} has a threshold or a leaf that is not a number.")

    def taken(array: Any) -> Any:
        return None if array is None else array[kept]

    return replace(
        tree,
        feature=tree.feature[kept],
        threshold=tree.threshold[kept],
        left=np.where(is_inner, place[tree.left[kept]], -1),
        right=np.where(is_inner, place[tree.right[kept]], -1),
        missing_left=tree.missing_left[kept],
        values=np.where(is_inner, 0.0, tree.values[kept]),
        members={int(place[n]): s for n, s in tree.members.items() if place[n] >= 0},
        cover=taken(tree.cover),
        gain=taken(tree.gain),
        zero_missing=taken(tree.zero_missing),
    )
