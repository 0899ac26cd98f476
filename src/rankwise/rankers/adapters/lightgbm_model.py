"""LightGBM's text model: its trees, checks of a stored text, and categories of data frames.

LightGBM compares with float64 thresholds and takes a missing value for 0 where the column had
none in training. Categories are whole numbers: a node lists those that go left, and missing ones go
right.

``pandas_categorical`` has one list of categories for each column of dtype ``category``, in their
order but without their names. Unordered columns are split by sets of codes, and ordered ones by
thresholds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
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
    refuse_damage,
    require,
    require_keys,
    require_range,
)
from rankwise.trees.tree_ensemble import ScoreTree

LIGHTGBM_OBJECTIVES = ("lambdarank", "rank_xendcg")
LARGEST_CODE = 2**20
END_OF_TREES = "end of trees\n"
_END, _PANDAS = "\nend of trees", "pandas_categorical:"
# Bits of decision_type: 1 categorical, 2 missing values go left, 4 and 8 the kind of missing values
# (none, zero or NaN).
_CATEGORICAL, _DEFAULT_LEFT, _MISSING_TYPE = 1, 2, 12
_NONE, _ZERO = 0, 4
# LightGBM reads values of at most this size as 0 before it compares them.
_LIGHTGBM_ZERO = float(np.float32(1e-35))
_HEADER = {
    "version", "num_class", "num_tree_per_iteration", "label_index", "max_feature_idx",
    "objective", "feature_names", "feature_infos", "tree_sizes",
}  # fmt: skip
# Entries of a tree that it needs, by the type of their words.
_NODES = {
    "split_feature": np.int32, "split_gain": np.float64, "threshold": np.float64,
    "decision_type": np.int32, "left_child": np.int32, "right_child": np.int32,
    "internal_value": np.float64, "internal_weight": np.float64, "internal_count": np.float64,
}  # fmt: skip
_LEAVES = {"leaf_value": np.float64, "leaf_weight": np.float64, "leaf_count": np.float64}
_CATEGORIES = {"cat_boundaries": np.int32, "cat_threshold": np.uint32}
_SCALARS = {"num_leaves", "num_cat", "is_linear", "shrinkage"}
# LightGBM ends the process if it cannot read a number, and it accepts fewer forms than Python.
_NUMBER = r"-?(?:[0-9]{1,40}(?:\.[0-9]{1,40})?(?:e[+-]?[0-9]{1,3})?|inf|nan)"
_NUMBERS = re.compile(f"{_NUMBER}(?: {_NUMBER})*|")


def lightgbm_trees(model: bytes, n_categories: NDArray[np.integer]) -> StoredTrees:
    """Trees of the text; their cover is the number of rows.

    ``n_categories`` (n_features,) is the number of codes of each column of categories, 0 for all
    others; so for all libraries.
    """
    trees, has_missing = [], False
    text, _, _ = model.decode("ascii").partition(_END)
    for block in text.split("\nTree=")[1:]:
        entries = _entries(block)
        kinds = _words(entries, "decision_type")
        has_missing = has_missing or bool(((kinds & _MISSING_TYPE) != _NONE).any())
        trees.append(_lightgbm_tree(entries, kinds, n_categories))
    return StoredTrees(tuple(trees), 0.0, has_missing)


def _words(entries: dict[str, str], key: str) -> NDArray[Any]:
    dtype = {**_NODES, **_LEAVES, **_CATEGORIES}[key]
    read: Any = float if dtype is np.float64 else int
    try:
        return np.array([read(word) for word in entries.get(key, "").split()], dtype=dtype)
    except (ValueError, OverflowError) as error:
        raise BoosterError(f"{key} of a tree holds a wrong word: {error}") from error


def _lightgbm_tree(entries: dict[str, str], kinds: Any, n_categories: Any) -> ScoreTree:
    leaves = np.array(entries["leaf_value"].split(), dtype=np.float64)
    n_inner = len(leaves) - 1

    def column(key: str) -> Any:
        return _words(entries, key) if n_inner else np.zeros(0, dtype=_NODES[key])

    threshold = column("threshold")
    feature = column("split_feature").astype(np.int64)
    require_range(feature, len(n_categories), "split_feature")
    nominal = (kinds & _CATEGORICAL) > 0
    members = {}
    if nominal.any():
        ends, words = _words(entries, "cat_boundaries"), _words(entries, "cat_threshold")
        is_whole = ends[0] == 0 and ends[-1] == len(words) and (np.diff(ends) > 0).all()
        require(is_whole, "cat_boundaries do not divide cat_threshold")
        require_range(threshold[nominal], len(ends) - 1, "a categorical threshold")
        for node in np.flatnonzero(nominal).tolist():
            place = int(threshold[node])
            # Categories are a bit set in words of 32 bits; code 0 is the lowest bit.
            bits = np.unpackbits(
                words[ends[place] : ends[place + 1]].view(np.uint8), bitorder="little"
            )
            members[node] = category_sides(np.flatnonzero(bits), int(n_categories[feature[node]]))
    # Its thresholds beside 0 lie at -1e-35 and 1e-35, and values of that size count as 0: such a
    # threshold is moved to where comparing the value itself decides as comparing 0 does.
    beside_zero = ~nominal & (np.abs(threshold) <= _LIGHTGBM_ZERO)
    below_zero = np.nextafter(-_LIGHTGBM_ZERO, -np.inf)
    threshold[beside_zero] = np.where(threshold[beside_zero] >= 0, _LIGHTGBM_ZERO, below_zero)
    as_zero = (kinds & _MISSING_TYPE) == _NONE
    missing_left = np.where(as_zero, threshold >= 0, (kinds & _DEFAULT_LEFT) > 0) & ~nominal
    zero_missing = ((kinds & _MISSING_TYPE) == _ZERO) & ~nominal
    # Leaves have negative numbers, -1 the first one.
    sides = []
    for side in (column("left_child"), column("right_child")):
        require_range(side[side >= 0], n_inner, "a child number")
        require_range(-1 - side[side < 0], n_inner + 1, "a leaf number")
        sides.append(np.where(side < 0, n_inner - 1 - side, side).astype(np.int64))
    none = np.full(len(leaves), -1, dtype=np.int64)
    false = np.zeros(len(leaves), dtype=bool)
    counts = _words(entries, "leaf_count") if n_inner else np.ones(1)
    return ScoreTree(
        np.concatenate([feature, none]),
        np.concatenate([np.where(nominal, 0.0, threshold), np.full(len(leaves), np.nan)]),
        np.concatenate([sides[0], none]),
        np.concatenate([sides[1], none]),
        np.concatenate([missing_left[:n_inner], false]).astype(bool),
        np.concatenate([np.zeros(n_inner), leaves]),
        members,
        cover=np.concatenate([column("internal_count"), counts]),
        zero_missing=np.concatenate([zero_missing, false]) if zero_missing.any() else None,
        gain=np.concatenate([column("split_gain"), np.zeros(len(leaves))]),
    )


def check_lightgbm(data: bytes, n_categories: NDArray[np.integer]) -> tuple[str, StoredTrees]:
    """Text of a model that ends after its trees, checked before LightGBM parses it, and its trees.

    Raises BoosterError for what rankwise does not write, and for indices out of range.
    """
    n_features = len(n_categories)
    with refuse_damage("LightGBM"):
        text = data.decode("ascii")
        require(text.endswith(END_OF_TREES), "unexpected text after the last tree")
        head, *blocks = text.removesuffix(END_OF_TREES).split("Tree=")
        first, *lines = head.rstrip("\n").split("\n")
        require(first == "tree", "the text does not start with 'tree'")
        header = dict(line.split("=", 1) for line in lines)
        require(len(header) == len(lines), "a key of the header comes twice")
        require_keys(header, _HEADER | ({"monotone_constraints"} & set(header)))
        fixed = {
            "num_class": "1", "num_tree_per_iteration": "1", "label_index": "0",
            "max_feature_idx": str(n_features - 1),
        }  # fmt: skip
        for key, value in fixed.items():
            require(header[key] == value, f"{key} must be {value}")
        for key in {"feature_names", "feature_infos", "monotone_constraints"} & set(header):
            require(len(header[key].split(" ")) == n_features, f"{key} has a wrong length")
        objective = header["objective"]
        require(objective in LIGHTGBM_OBJECTIVES, f"{objective!r} is not a ranking objective")
        for number, block in enumerate(blocks):
            _check_tree_text(block.rstrip("\n").split("\n"), number)
        trees = check_trees(lightgbm_trees(data, n_categories), n_features)
        sizes = " ".join(str(len("Tree=" + block)) for block in blocks)
        require(header["tree_sizes"] == sizes, "a tree has a wrong size")
        return text, trees


def _check_tree_text(lines: list[str], number: int) -> None:
    """Check the form of all words of a tree, and how many of them an entry has."""
    require(lines[0] == str(number), f"tree {number} does not start at its offset")
    tree = dict(line.split("=", 1) for line in lines[1:])
    require(len(tree) == len(lines) - 1, "a key of a tree comes twice")
    require(tree["is_linear"] == "0", "linear trees are not stored")
    n_leaves, n_nominal = int(tree["num_leaves"]), int(tree["num_cat"])
    require(n_leaves >= 1, "a tree has no leaves")
    if n_leaves == 1:  # a constant, for which the arrays of nodes are empty or absent
        tree = {**dict.fromkeys([*_NODES, *_LEAVES], ""), **tree}
    require_keys(tree, {*_NODES, *_LEAVES, *_SCALARS, *(_CATEGORIES if n_nominal else ())})
    lengths = {
        **dict.fromkeys(_SCALARS, 1), **dict.fromkeys(_NODES, n_leaves - 1),
        **dict.fromkeys(_LEAVES, n_leaves),
    }  # fmt: skip
    for key, text in tree.items():
        n_words = text.count(" ") + 1 if text else 0
        is_absent = n_leaves == 1 and not text and key in ("leaf_weight", "leaf_count")
        is_long = key in _CATEGORIES or n_words == lengths[key] or is_absent
        require(is_long, f"{key} of tree {number} has a wrong length")
        require(_NUMBERS.fullmatch(text), f"{key} of tree {number} holds a wrong word")
    kinds = _words(tree, "decision_type")
    require_range(kinds, 16, "decision_type")
    is_counted = int(((kinds & _CATEGORICAL) > 0).sum()) == n_nominal
    require(is_counted, "num_cat is not the number of categorical splits")
    if n_nominal:
        n_listed = len(tree["cat_boundaries"].split(" ")) - 1
        require(n_listed == n_nominal, "cat_boundaries has a wrong length")


def lightgbm_model(
    text: str, categories: Mapping[Any, Sequence[Any]] | None, features: Sequence[str] | None
) -> StoredModel:
    """Read the header of a model; ``categories`` and ``features`` are what the caller passed.

    Several scores per row and linear leaves are not supported, nor are categories of data frames
    that cannot be attributed to columns.
    """
    head, first, rest = text.partition("\nTree=")
    if not first:
        head = head.partition(_END)[0]
    header = _entries(head)
    for key in ("num_class", "num_tree_per_iteration"):
        if header[key] != "1":
            raise BoosterError(
                f"the LightGBM model has {key}={header[key]}. Only models with one score per row "
                "are supported."
            )
    names = header["feature_names"].split(" ")
    n_features = int(header["max_feature_idx"]) + 1
    if len(names) != n_features:
        raise BoosterError(f"feature_names must have {n_features} entries, got {len(names)}.")
    trees = _whole_trees(first + rest if first else text, header)
    if "\nis_linear=1" in trees:
        raise BoosterError(
            "the LightGBM model has linear leaves (linear_tree=true), which are not supported. "
            "Train it with linear_tree=false."
        )
    codes = _category_codes(header, trees, n_features)
    for column, code in codes.items():
        if code > LARGEST_CODE:
            raise BoosterError(
                f"column {names[column]!r} of the LightGBM model has categories up to {code}, at "
                f"most {LARGEST_CODE} are supported. Number the categories before training."
            )
    own_names = names if features is None else features
    given = categories_by_column(categories, own_names, n_features)
    found = {column: list(range(code + 1)) for column, code in codes.items()}
    found |= attribute_categories(
        _pandas_categories(text),
        header.get("feature_infos", "").split(" "),
        _split_columns(trees),
        given,
        names,
    )
    average = "average_output" in header
    # LightGBM's names of columns without names, and those of to_lightgbm.
    numbered = names in (
        [f"Column_{column}" for column in range(n_features)],
        [f"f{column + 1}" for column in range(n_features)],
    )
    return StoredModel(
        "LightGBM",
        n_features,
        None if numbered else names,
        set(codes),
        found,
        lambda n_categories: _trees(trees, n_categories, average),
    )


def _whole_trees(text: str, header: dict[str, str]) -> str:
    """Text of the trees, all of which are there."""
    trees, end, _ = text.partition(_END)
    if not end:
        raise BoosterError("the LightGBM model is cut off: it has no line 'end of trees'.")
    n_trees, n_listed = trees.count("\nTree="), len(header.get("tree_sizes", "").split())
    if "tree_sizes" in header and n_trees != n_listed:
        raise BoosterError(
            f"the LightGBM model has {n_trees} trees, but its header lists {n_listed}."
        )
    return trees if n_trees else ""


def _trees(text: str, n_categories: Any, average: bool) -> StoredTrees:
    if not text:
        return StoredTrees(())
    stored = lightgbm_trees(text.encode("ascii"), n_categories)
    trees = [_place_zeros(tree, number) for number, tree in enumerate(stored.trees)]
    if average:  # boosting=rf
        trees = [replace(tree, values=tree.values / len(trees)) for tree in trees]
    return replace(stored, trees=tuple(trees))


def _place_zeros(tree: ScoreTree, number: int) -> ScoreTree:
    """Tree in which 0 goes to its side by its threshold, if that is the side of missing values."""
    if tree.zero_missing is None:
        return tree
    nodes = tree.zero_missing
    if ((tree.threshold[nodes] >= 0) != tree.missing_left[nodes]).any():
        raise BoosterError(
            f"tree {number} of the LightGBM model was trained with zero_as_missing=true and sends "
            "zeros where no threshold sends them. Train it with zero_as_missing=false."
        )
    return replace(tree, zero_missing=None)


def _entries(block: str) -> dict[str, str]:
    """Values by their keys, one of each in a line."""
    lines = [line.partition("=") for line in block.split("\n")]
    return {key: value for key, _, value in lines}


def _category_codes(header: dict[str, str], trees: str, n_features: int) -> dict[int, int]:
    """Largest category of every column that has categories."""
    infos = header.get("feature_infos", "").split(" ")
    codes: dict[int, int] = {}
    for column, info in enumerate(infos[:n_features]):
        if info and info != "none" and not info.startswith("["):
            codes[column] = max(int(code) for code in info.split(":"))
    for block in trees.split("\nTree=")[1:]:
        entries = _entries(block)
        kinds = np.array(entries.get("decision_type", "").split(), dtype=np.int64)
        if not (kinds & _CATEGORICAL).any():
            continue
        columns = np.array(entries["split_feature"].split(), dtype=np.int64)
        ends = np.array(entries["cat_boundaries"].split(), dtype=np.int64)
        places = np.array(entries["threshold"].split(), dtype=np.float64)
        for node in np.flatnonzero(kinds & _CATEGORICAL):
            place = int(places[node])
            most = 32 * int(ends[place + 1] - ends[place]) - 1
            column = int(columns[node])
            codes[column] = max(codes.get(column, -1), most)
    return codes


def _split_columns(trees: str) -> set[int]:
    """Columns that the trees test."""
    columns = {
        int(column)
        for block in trees.split("\nTree=")[1:]
        for column in _entries(block).get("split_feature", "").split()
    }
    if min(columns, default=0) < 0:
        raise BoosterError(f"a tree of the LightGBM model splits the column {min(columns)}.")
    return columns


def _pandas_categories(text: str) -> list[list[Any]]:
    """Categories of the data frame of the training rows; none if it was no data frame."""
    start = text.rfind(_PANDAS)
    if start < 0:
        return []
    return json.loads(text[start + len(_PANDAS) :].strip() or "null") or []


def attribute_categories(
    listed: Sequence[list[Any]],
    infos: Sequence[str],
    used: set[int],
    given: Mapping[int, list[Any]],
    names: Sequence[str],
) -> dict[int, list[Any]]:
    """Categories of the columns to which they certainly belong.

    ``listed`` holds the categories of each column of dtype ``category``, in the order of the
    columns. ``infos`` are LightGBM's ``feature_infos``: the codes of columns of categories,
    "[min:max]" of columns of numbers, or "none" for constants. ``used`` are the columns that the
    trees split, and ``given`` the categories that the caller knows.

    A list may belong to a column if it has a category for each code of the column. The columns of
    the lists ascend; so if the first possible column of a list is also its last one, it is certain.
    A list that may belong to several columns of which the trees split one raises BoosterError.
    """
    _check_order(listed, given, names)
    n_sets = sum(_is_nominal(info) for info in infos)
    possible = []
    for values in listed:
        owners = sorted(column for column in given if list(given[column]) == values)
        if len(owners) >= list(listed).count(values):
            possible.append(owners)
            continue
        # Lists of text are most likely those of the columns split by sets: text in another column
        # is refused when rows are scored, but numbers are not.
        all_occur = len(listed) == n_sets and _is_text(values)
        possible.append([
            column
            for column, info in enumerate(infos)
            if column in owners
            or (column not in given and _holds(info, len(values), all_occur=all_occur))
        ])  # fmt: skip
    first = _leftmost(possible)
    mirrored = [[-column for column in reversed(columns)] for columns in reversed(possible)]
    last = [-column for column in reversed(_leftmost(mirrored))]
    if len(first) < len(listed):
        raise BoosterError(
            _describe(listed, "fit no columns of the file", names, used - set(given))
        )
    ends = list(zip(first, last, listed, strict=True))
    found = {a: values for a, b, values in ends if a == b}
    for (a, b, values), columns in zip(ends, possible, strict=True):
        doubtful = [c for c in columns if a <= c <= b and c not in found]
        doubtful = [c for c in doubtful if c in used or _is_text(values)]
        if a != b and doubtful:
            said = f"have {values!r} for one of several columns"
            raise BoosterError(_describe(listed, said, names, doubtful))
    return found


def _check_order(
    listed: Sequence[list[Any]], given: Mapping[int, list[Any]], names: Sequence[str]
) -> None:
    for column, values in given.items():
        same = [known for known in listed if sorted(known, key=repr) == sorted(values, key=repr)]
        if same and list(values) not in same:
            raise BoosterError(
                f"categories of column {names[column]!r} must have the order of the file, "
                f"{same[0]!r}, got {list(values)!r}."
            )


def _is_nominal(info: str) -> bool:
    return info not in ("", "none") and not info.startswith("[")


def _is_text(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _holds(info: str, n_categories: int, *, all_occur: bool) -> bool:
    """Whether the codes of a column are below the number of categories.

    ``all_occur``: whether the codes of a column of numbers must reach from the first to the last
    category.
    """
    if info in ("", "none"):
        return True
    if _is_nominal(info):
        return max(int(code) for code in info.split(":")) < n_categories
    low, high = (float(end) for end in info.strip("[]").split(":"))
    if all_occur:
        return (low, high) == (0.0, n_categories - 1.0)
    return low.is_integer() and high.is_integer() and 0 <= low <= high < n_categories


def _leftmost(possible: list[list[int]]) -> list[int]:
    """First possible column of each list behind that of the list before; fewer if none is left."""
    chosen: list[int] = []
    for columns in possible:
        column = next((c for c in columns if not chosen or c > chosen[-1]), None)
        if column is None:
            break
        chosen.append(column)
    return chosen


def _describe(listed: Any, said: str, names: Sequence[str], columns: Any) -> str:
    called = [names[column] for column in sorted(columns)]
    return (
        f"the LightGBM model lists categories of {len(listed)} columns of a data frame without "
        f"their names, and these {said}. Pass categories={{column: list}} for those of the columns "
        f"{called} that had the dtype category, in the order of pandas."
    )
