"""Where the path of a row in a file leaves the path in the model."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.export.maps import Trees
from rankwise.export.parity.engine_trees import AS_ZERO, EngineTree

_LARGEST = np.finfo(np.float32).max


def describe_difference(trees: Trees | None, file_trees: tuple[EngineTree, ...], row: Any) -> str:
    """Node at which a row (n_features,) goes another way in the file; empty if that is not known.

    The trees of the file are in the order of the model's; a constant may be a tree of its own.
    """
    if trees is None or not file_trees:
        return ""
    # A constant is the first tree in some formats, and the last one in others.
    before = int(len(file_trees) > len(trees.trees) and file_trees[0].feature[0] < 0)
    for number, tree in enumerate(trees.trees[: len(file_trees) - before]):
        model, other = EngineTree.of(tree), file_trees[number + before]
        said = _compare(model, other, row)
        if said:
            return f"tree {number}: {said}"
    return ""


def _compare(model: EngineTree, other: EngineTree, row: Any) -> str:
    a = b = 0
    while model.feature[a] >= 0 and other.feature[b] >= 0:
        column = int(model.feature[a])
        parts_missing = np.isinf(model.threshold[a])
        if parts_missing and np.abs(other.threshold[b]) < _LARGEST:
            # Formats without missing values leave out nodes that part them from all others.
            if np.isnan(row[column]):
                return (
                    f"column {column} is missing, which the model tests; the file reads missing "
                    "values as 0."
                )
            a = int(model.left[a] if _goes_left(model, a, row) else model.right[a])
            continue
        if other.feature[b] != column:
            return f"the file tests column {other.feature[b]} where the model tests {column}."
        left_in_model, left_in_file = _goes_left(model, a, row), _goes_left(other, b, row)
        # Formats with one side for missing categories let the sides change places.
        is_swapped = b in other.sets and a in model.sets and model.missing[a] != other.missing[b]
        is_swapped |= bool(parts_missing and other.threshold[b] < 0 < model.threshold[a])
        if is_swapped:
            left_in_file = not left_in_file
        if left_in_model != left_in_file:
            return (
                f"column {column} has the value {float(row[column])!r}: "
                f"{_describe_test('model', model, a, left_in_model)}; "
                f"{_describe_test('file', other, b, left_in_file)}."
            )
        a = int(model.left[a] if left_in_model else model.right[a])
        b = int(other.left[b] if left_in_model != is_swapped else other.right[b])
    if (model.feature[a] < 0) != (other.feature[b] < 0):
        return "the file has another number of splits on the path."
    value, found = float(model.values[a]), float(other.values[b])
    if not np.isclose(value, found, rtol=1e-6, atol=0.0):
        return f"the leaf is {value!r} in the model and {found!r} in the file."
    return ""


def _goes_left(tree: EngineTree, node: int, row: Any) -> bool:
    return bool(tree.goes_left(np.array([node]), row[tree.feature[[node]]])[0])


def _describe_test(what: str, tree: EngineTree, node: int, is_left: bool) -> str:
    side = "left" if is_left else "right"
    if node in tree.sets:
        return f"the {what} sends it {side} by its set of categories"
    test = "<" if tree.is_strict else "<="
    reads = " and missing values as 0" if tree.missing[node] == AS_ZERO else ""
    return f"the {what} tests {test} {float(tree.threshold[node])!r}{reads}, so it goes {side}"
