"""LightGBM's text model, and the columns of the categories that it lists for data frames.

Categories are whole numbers. Those of pandas are listed in ``pandas_categorical``, one list for
each column of dtype ``category``, without the names of the columns.

``pandas_categorical`` has one list for each column of dtype ``category``, in their order but
without their names. Unordered columns are split by sets of codes, and ordered ones by thresholds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rankwise.trees.stored_boosters import (
    BoosterError,
    GivenCategories,
    StoredModel,
    StoredTrees,
    lightgbm_trees,
)
from rankwise.trees.tree_ensemble import ScoreTree

_END, _PANDAS = "\nend of trees", "pandas_categorical:"
_CATEGORICAL = 1
LARGEST_CODE = 2**20


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
    given = GivenCategories(categories, own_names, n_features).by_column
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
