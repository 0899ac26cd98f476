"""Export of sums of trees to LightGBM's text format, and to Vespa as LightGBM's dump.

LightGBM computes in float64. A number goes left if it is at most the threshold; a category goes
left if it is in the node's set, and missing and unknown categories go right. Values of at most
1e-35 count as 0.

Vespa reads a dump and a rank profile. It computes in float64 and sends a value left if it is below
the threshold, although LightGBM means at most; the next float64 number above each threshold is
therefore written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.export.chains import prepare_export
from rankwise.export.maps import (
    LIGHTGBM_FORBIDDEN,
    CategoryValues,
    ExportError,
    Trees,
    replace_forbidden,
)
from rankwise.export.parts import (
    check_numbered,
    constant_tree,
    level_order,
    mean_values,
    node_weights,
    separate_float32,
    trees_of,
    warn_of_unknown_names,
)
from rankwise.runtime.files import write_file
from rankwise.trees.tree_ensemble import ScoreTree
from rankwise.typing import Float64Array, Int64Array

# Bits of decision_type: a set of categories; missing values go left; NaN is the missing value.
_CATEGORICAL, _DEFAULT_LEFT, _NAN_MISSING = 1, 2, 8
_ZERO = float(np.float32(1e-35))
_LARGEST = float(np.finfo(np.float64).max)
_LARGEST_COUNT = 2**30


def to_lightgbm(
    estimator: Any, path: str | Path | None = None, *, features: Sequence[str] | None = None
) -> str:
    """Write a sum of trees as a model file of LightGBM.

    Scores are those of :func:`rankwise.scores`: ``rank_score`` of ordinal classifiers, whose
    ``predict`` returns classes.

    Parameters
    ----------
    estimator : fitted estimator, or model of LightGBM, XGBoost or CatBoost
        LambdaMART, ranking tree or forest, boosted stumps, an adapter of a boosting library, or a
        blend of trees; or a pipeline of scalers and such a model.
    path : path-like, optional
        File to write in addition.
    features : sequence of str, optional
        Names of the columns, in order (default: names from the fit, or f1, f2, ...).

    Returns
    -------
    str
        Text that ``lightgbm.Booster(model_file=...)`` loads, scores, explains and saves again. The
        objective is "lambdarank", so scores are sums of leaves.

    Raises
    ------
    ExportError
        If the model is not a sum of trees, if a category is not a whole number from 0 to 2**20, or
        if a named category cannot be written as JSON.
    ValueError
        If the names do not match the columns.

    Warns
    -----
    UserWarning
        If names have characters that LightGBM forbids; these become "_". If the model parts missing
        and unknown categories, which LightGBM reads alike in data frames.

    Notes
    -----
    Trees are added in the order of the model, so scores of a model that is itself a sum of trees
    are bit-equal. Forests divide shares of classes, and blends multiply scores; these agree up to
    rounding in float64.

    A threshold that is a float32 number is moved to the next float64 number. Readers that test
    ``<`` instead of ``<=`` then agree on float32 rows. Values of at most 1e-35 count as 0.

    Columns of text and of ordered categories are listed in ``pandas_categorical``: pass a data
    frame with these columns as ``category``, or their positions in the list. Other nominal columns
    take the category numbers themselves. Where the trees compare statistics of categories, the file
    has the sets of categories on either side; if missing and unknown ones part, a test for missing
    values comes first. Of a column of text, pass -1 for unknown ones then. The weights of the
    training rows become the counts that ``pred_contrib`` needs; a model that keeps no weights
    counts each leaf once.

    Composition: sum of trees x LightGBM's text.

    Examples
    --------
    >>> from rankwise import RankingTree
    >>> from rankwise.export import to_lightgbm
    >>> tree = RankingTree(max_depth=1).fit([[0.0], [1.0], [3.5]], [0, 0, 1])
    >>> text = to_lightgbm(tree, features=["bm25"])
    >>> [line for line in text.split("\\n") if line.startswith(("feature_names", "threshold"))]
    ['feature_names=bm25', 'threshold=2.2500000000000004']
    """
    estimator, names = prepare_export(estimator, path, features)
    names = replace_forbidden(names, LIGHTGBM_FORBIDDEN, "LightGBM")
    trees = trees_of(estimator, "to_lightgbm", encoded=True)
    check_numbered(trees, names, "LightGBM")
    warn_of_unknown_names(trees, "LightGBM", estimator)
    text = lightgbm_text(split_by_sets(trees), names)
    if path is not None:
        write_file(path, text.encode())
    return text


def lightgbm_text(trees: Trees, names: list[str]) -> str:
    """Text of trees whose columns have names without blanks."""
    grown = list(trees.trees)
    if trees.constant or not grown:
        # The first tree, as the sum of the model starts from its constant.
        grown.insert(0, constant_tree(trees.constant))
    # Range of the thresholds, or the categories, of each column that a tree tests.
    ranges: dict[int, tuple[float, float]] = {}
    listed: dict[int, set[int]] = {}
    blocks = [
        f"Tree={number}\n{_tree(tree, ranges, listed)}\n\n" for number, tree in enumerate(grown)
    ]
    # Ordered columns are numbers from 0 on; read_booster finds their lists by this range.
    for column in ranges.keys() & trees.categories.keys():
        ranges[column] = (0, len(trees.categories[column]) - 1)
    infos = ["none"] * len(names)
    for column, (low, high) in ranges.items():
        infos[column] = f"[{low!r}:{high!r}]"
    for column, known in listed.items():
        infos[column] = ":".join(str(value) for value in sorted(known))
    header = {
        "version": "v4",
        "num_class": 1,
        "num_tree_per_iteration": 1,
        "label_index": 0,
        "max_feature_idx": len(names) - 1,
        "objective": "lambdarank",
        "feature_names": " ".join(names),
        "feature_infos": " ".join(infos),
        "tree_sizes": " ".join(str(len(block.encode())) for block in blocks),
    }
    lines = ["tree", *(f"{key}={value}" for key, value in header.items()), "", ""]
    named = f"pandas_categorical:{_pandas_categories(trees)}\n"
    return "\n".join(lines) + "".join(blocks) + f"end of trees\n\n{named}"


def split_by_sets(trees: Trees) -> Trees:
    """Trees with sets of categories in place of thresholds of their statistics.

    LightGBM has one side for unknown and missing categories. Where these part, a node that parts
    missing values alone comes first, and their side of the tree is copied for them.
    """
    if not trees.encoded:
        return trees
    grown = tuple(_split_by_sets(tree, trees.encoded) for tree in trees.trees)
    return replace(trees, trees=grown, encoded={})


def _split_by_sets(tree: ScoreTree, encoded: Mapping[int, CategoryValues]) -> ScoreTree:
    # By node of the new tree: the node that it comes from, its threshold, whether missing values go
    # left, whether it is a copy for missing values, and whether it keeps the gain.
    nodes: list[tuple[int, float, bool, bool, bool]] = []
    children: list[list[int]] = []
    members: dict[int, tuple[Float64Array, Float64Array]] = {}
    # A node, its place as a child of a new one, and the encoded columns that are known to be
    # missing (True) or not (False) there.
    waiting: list[tuple[int, list[int], int, dict[int, bool]]] = [(0, [-1], 0, {})]
    while waiting:
        node, places, side, absent = waiting.pop()
        while absent.get(int(tree.feature[node])):
            node = int((tree.left if tree.missing_left[node] else tree.right)[node])
        column, threshold = int(tree.feature[node]), float(tree.threshold[node])
        missing_left, parts_missing = bool(tree.missing_left[node]), False
        below = [(int(tree.left[node]), absent), (int(tree.right[node]), absent)]
        number = places[side] = len(nodes)
        if column in encoded:
            left, right, unknown_left = encoded[column].goes_left(threshold)
            parts_missing = unknown_left != missing_left and column not in absent
            if parts_missing:
                copied, _ = below[0 if missing_left else 1]
                below = [(node, {**absent, column: False}), (copied, {**absent, column: True})]
                threshold, missing_left = np.inf, False
            else:
                members[number], missing_left = (left, right), unknown_left
        elif node in tree.members:
            members[number] = tree.members[node]
        is_copy = any(absent.values())
        # The gain of a split is that of the set, and so none of the node that parts missing values.
        nodes.append((node, threshold, missing_left, is_copy, not (is_copy or parts_missing)))
        children.append([-1, -1])
        if column >= 0:
            waiting += [(child, children[-1], k, known) for k, (child, known) in enumerate(below)]
    source, thresholds, goes_left, copies, is_counted = map(np.array, zip(*nodes, strict=True))
    to_left, to_right = np.array(children, dtype=np.int64).T
    return replace(
        tree,
        feature=tree.feature[source],
        threshold=thresholds,
        left=to_left,
        right=to_right,
        missing_left=goes_left,
        values=tree.values[source],
        members=members,
        # Copies have no weight of training rows.
        cover=None if tree.cover is None else np.where(copies, 0.0, tree.cover[source]),
        gain=None if tree.gain is None else np.where(is_counted, tree.gain[source], 0.0),
    )


def _tree(
    tree: ScoreTree, ranges: dict[int, tuple[float, float]], listed: dict[int, set[int]]
) -> str:
    """Lines of a tree, without its number; adds its thresholds and categories to both tables."""
    inner, leaves = level_order(tree)
    nodes, ends = np.array(inner, dtype=np.int64), np.array(leaves, dtype=np.int64)
    place = np.zeros(len(tree.feature), dtype=np.int64)
    place[nodes] = np.arange(len(nodes))
    place[ends] = -1 - np.arange(len(ends))  # leaf 0 is child -1
    left, right = place[tree.left[nodes]], place[tree.right[nodes]]
    feature, threshold = tree.feature[nodes], _thresholds(tree.threshold[nodes])
    kinds = np.where(tree.missing_left[nodes], _DEFAULT_LEFT, 0) | _NAN_MISSING
    words: list[int] = []
    boundaries = [0]
    for number, node in enumerate(inner):
        if node not in tree.members:
            continue
        if tree.missing_left[node]:
            # Missing values go right, so the sides change places and the set is that of the right.
            left[number], right[number] = right[number], left[number]
        to_left, to_right = (side.astype(np.int64).tolist() for side in tree.members[node])
        listed.setdefault(int(feature[number]), set()).update(to_left + to_right)
        members = to_right if tree.missing_left[node] else to_left
        # Words of 32 bits, the lowest bit first; an empty set is one word of 0.
        bits = [0] * (max(members, default=0) // 32 + 1)
        for member in members:
            bits[member // 32] |= 1 << member % 32
        words += bits
        threshold[number], kinds[number] = len(boundaries) - 1, _CATEGORICAL | _NAN_MISSING
        boundaries.append(len(words))
    numeric = (kinds & _CATEGORICAL) == 0
    for column, value in zip(feature[numeric].tolist(), threshold[numeric].tolist(), strict=True):
        low, high = ranges.get(column, (value, value))
        ranges[column] = min(low, value), max(high, value)
    entries: dict[str, Any] = {
        "num_leaves": [len(ends)],
        "num_cat": [len(boundaries) - 1],
        "split_feature": feature.tolist(),
        "split_gain": [0] * len(nodes) if tree.gain is None else tree.gain[nodes].tolist(),
        "threshold": [
            value if is_number else int(value)
            for value, is_number in zip(threshold.tolist(), numeric, strict=True)
        ],
        "decision_type": kinds.tolist(),
        "left_child": left.tolist(),
        "right_child": right.tolist(),
        **_statistics(tree, nodes, ends),
    }
    if words:
        entries |= {"cat_boundaries": boundaries, "cat_threshold": words}
    entries |= {"is_linear": [0], "shrinkage": [1]}
    return "\n".join(f"{key}={' '.join(map(repr, values))}" for key, values in entries.items())


def _statistics(tree: ScoreTree, nodes: Int64Array, ends: Int64Array) -> dict[str, list[Any]]:
    """Values and weights of nodes and leaves."""
    weights = node_weights(tree)
    means = mean_values(tree, weights)
    counts = _counts(tree, weights, nodes, ends)
    return {
        "leaf_value": tree.values[ends].tolist(),
        "leaf_weight": weights[ends].tolist(),
        "leaf_count": counts[ends].tolist(),
        "internal_value": means[nodes].tolist(),
        "internal_weight": weights[nodes].tolist(),
        "internal_count": counts[nodes].tolist(),
    }


def _counts(
    tree: ScoreTree, weights: Float64Array, nodes: Int64Array, ends: Int64Array
) -> Int64Array:
    """Weights as int32 counts >= 1, in which every parent is the sum of its children.

    ``pred_contrib`` divides by them, and reads nothing else as the weight of a node.
    """
    largest = weights.max(initial=1.0)
    is_count = (weights == np.rint(weights)).all() and largest <= _LARGEST_COUNT
    factor = 1.0 if is_count else _LARGEST_COUNT / largest
    counts = np.zeros(len(weights), dtype=np.int64)
    counts[ends] = np.maximum(np.rint(weights[ends] * factor), 1)
    for node in nodes[::-1]:  # children come after their parent
        counts[node] = counts[tree.left[node]] + counts[tree.right[node]]
    return counts


def _thresholds(thresholds: Float64Array) -> Float64Array:
    """Finite thresholds that decide as the given ones on values that LightGBM tells from 0."""
    finite = np.clip(thresholds, -_LARGEST, _LARGEST)
    near_zero = np.abs(finite) <= _ZERO
    away = np.where(near_zero, np.where(finite >= 0, _ZERO, -_ZERO), finite)
    return separate_float32(away)


def _pandas_categories(trees: Trees) -> str:
    """Categories of the named columns, in the order of the columns, as JSON."""
    listed = [trees.categories[column].tolist() for column in sorted(trees.categories)]
    try:
        return json.dumps(listed, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ExportError(
            f"categories must be text or numbers for LightGBM: {error}. Convert them to text "
            "before training."
        ) from error


_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# A rank feature, such as bm25(title) or fieldMatch(title,0.5).completeness, or a function.
_FEATURE = re.compile(r"[A-Za-z_][\w.]*(\([^(){}\"\\\s]*\))?(\.\w+)*", re.ASCII)
_BELOW_LARGEST = float(np.nextafter(_LARGEST, 0.0))


def to_vespa(
    estimator: Any,
    path: str | Path | None = None,
    *,
    features: Sequence[str] | None = None,
    name: str = "rankwise",
) -> dict[str, Any]:
    """Write a sum of trees as a model file and a rank profile of Vespa.

    Scores are those of :func:`rankwise.scores`: ``rank_score`` of ordinal classifiers, whose
    ``predict`` returns classes.

    Parameters
    ----------
    estimator : fitted estimator, or model of LightGBM, XGBoost or CatBoost
        LambdaMART, ranking tree or forest, boosted stumps, an adapter of a boosting library, or a
        blend of trees; or a pipeline of scalers and such a model.
    path : path-like, optional
        Model file to write in addition, to be stored as ``models/NAME.json`` in the application
        package. The profile is written to the same folder, with the suffix ``.profile``.
    features : sequence of str, optional
        Rank features or functions in the order of the columns, such as "bm25(title)" (default:
        names from the fit, or f1, f2, ...).
    name : str, default="rankwise"
        Name of the profile and of the model file, without ".json".

    Returns
    -------
    dict
        "model": content of the model file, as LightGBM dumps it. "profile": text of the profile,
        which ranks by the model in the first phase.

    Raises
    ------
    ExportError
        If the model is not a sum of trees, or splits unordered categories.
    ValueError
        If the names do not match the columns, or cannot be rank features or names of Vespa.

    Notes
    -----
    Scores are sums of float64 leaves on the branches of the model, of all float64 rows. Thresholds
    are moved to the next float64 number, because Vespa tests ``<``. Vespa's missing values are NaN,
    which not all rank features return: give attributes a default of NaN where training had one.

    Composition: sum of trees x LightGBM's dump x a rank profile.

    Examples
    --------
    >>> from rankwise import RankingTree
    >>> from rankwise.export import to_vespa
    >>> tree = RankingTree(max_depth=1).fit([[0.0], [1.0], [3.5]], [0, 0, 1])
    >>> written = to_vespa(tree, features=["bm25(title)"], name="tree")
    >>> print(written["profile"])
    rank-profile tree inherits default {
        first-phase {
            expression: lightgbm("tree.json")
        }
        match-features {
            bm25(title)
        }
    }
    <BLANKLINE>
    """
    if not _IDENTIFIER.fullmatch(name):
        raise ValueError(f"name must be letters, digits and _ for Vespa, got {name!r}.")
    estimator, names = prepare_export(estimator, path, features)
    odd = [feature for feature in names if not _FEATURE.fullmatch(feature)]
    if odd:
        raise ValueError(
            f"features must be rank features or functions of Vespa, such as bm25(title), got "
            f"{odd[0]!r}. Pass features=[...]."
        )
    trees = trees_of(estimator, "to_vespa")
    model = _vespa_model(trees, names)
    used = sorted({int(column) for tree in trees.trees for column in tree.feature if column >= 0})
    listed = "".join(f"        {names[column]}\n" for column in used)
    shown = f"    match-features {{\n{listed}    }}\n" if used else ""
    profile = (
        f"rank-profile {name} inherits default {{\n    first-phase {{\n"
        f'        expression: lightgbm("{name}.json")\n    }}\n{shown}}}\n'
    )
    if path is not None:
        write_file(path, json.dumps(model, indent=1).encode())
        write_file(Path(path).with_suffix(".profile"), profile.encode())
    return {"model": model, "profile": profile}


def _vespa_model(trees: Trees, names: list[str]) -> dict[str, Any]:
    """Model in the shape of LightGBM's ``dump_model``."""
    roots = [_vespa_root(tree) for tree in trees.trees]
    if trees.constant or not roots:
        roots.insert(0, {"leaf_value": float(trees.constant)})
    infos = [
        {"tree_index": number, "num_cat": 0, "shrinkage": 1, "tree_structure": root}
        for number, root in enumerate(roots)
    ]
    return {
        "name": "tree",
        "version": "v4",
        "num_class": 1,
        "num_tree_per_iteration": 1,
        "label_index": 0,
        "max_feature_idx": len(names) - 1,
        "objective": "lambdarank",
        "average_output": False,
        "feature_names": names,
        "tree_info": infos,
        "pandas_categorical": [],
    }


def _vespa_root(tree: ScoreTree) -> dict[str, Any]:
    inner, leaves = level_order(tree)
    weights = node_weights(tree)
    means = mean_values(tree, weights)
    # x < nextafter(T) holds for the same float64 numbers x as x <= T.
    thresholds = np.nextafter(np.clip(tree.threshold, -_LARGEST, _BELOW_LARGEST), np.inf)
    nodes: dict[int, dict[str, Any]] = {node: {} for node in (*inner, *leaves)}
    for number, node in enumerate(inner):
        nodes[node] |= {
            "split_index": number,
            "split_feature": int(tree.feature[node]),
            "split_gain": 0.0 if tree.gain is None else float(tree.gain[node]),
            "threshold": float(thresholds[node]),
            "decision_type": "<=",
            "default_left": bool(tree.missing_left[node]),
            "missing_type": "NaN",
            "internal_value": float(means[node]),
            "internal_weight": float(weights[node]),
            "internal_count": round(float(weights[node])),
            "left_child": nodes[int(tree.left[node])],
            "right_child": nodes[int(tree.right[node])],
        }
    for number, node in enumerate(leaves):
        nodes[node] |= {
            "leaf_index": number,
            "leaf_value": float(tree.values[node]),
            "leaf_weight": float(weights[node]),
            "leaf_count": round(float(weights[node])),
        }
    return nodes[0]
