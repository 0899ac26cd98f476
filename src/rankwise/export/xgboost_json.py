"""Export of sums of trees to XGBoost's JSON, and to OpenSearch as dumps of XGBoost.

Both compute in float32, with finite conditions. A value goes left if it is below the condition, and
NaN goes to the side of ``default_left``, also at nodes of categories. A category of a node's set
goes right, and any other one left.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.export.chains import prepare_export
from rankwise.export.maps import (
    XGBOOST_FORBIDDEN,
    CategoryValues,
    first_step,
    replace_forbidden,
)
from rankwise.export.parts import (
    breadth_first,
    check_numbered,
    floor_float32,
    level_order,
    mean_values,
    positive_weights,
    trees_of,
    warn_of_missing,
    warn_of_unknown_names,
)
from rankwise.runtime.files import write_file
from rankwise.trees.tree_ensemble import ScoreTree, take_nodes
from rankwise.typing import Float64Array

_VERSION = [3, 0, 0]


def to_xgboost(
    estimator: Any, path: str | Path | None = None, *, features: Sequence[str] | None = None
) -> dict[str, Any]:
    """Write a sum of trees as a model file of XGBoost.

    Scores are those of :func:`rankwise.scores`: ``rank_score`` of ordinal classifiers, whose
    ``predict`` returns classes.

    Parameters
    ----------
    estimator : fitted estimator, or model of LightGBM, XGBoost or CatBoost
        LambdaMART, ranking tree or forest, boosted stumps, an adapter of a boosting library, or a
        blend of trees; or a pipeline of scalers and such a model.
    path : path-like, optional
        JSON file to write in addition; its name must end in ``.json`` for XGBoost to load it.
    features : sequence of str, optional
        Names of the columns, in order (default: names from the fit, else none).

    Returns
    -------
    dict
        Content of the file that ``xgboost.Booster(model_file=...)`` loads. The objective is
        "rank:pairwise", so scores are sums of leaves.

    Raises
    ------
    ExportError
        If the model is not a sum of trees, or if a category is not a whole number from 0 to 2**20.
    ValueError
        If the names do not match the columns.

    Warns
    -----
    UserWarning
        If names have characters that XGBoost forbids; these become "_". If the model parts missing
        and unknown categories, which XGBoost reads alike in data frames.

    Notes
    -----
    Every float32 row takes the branches of the model, with missing values as in training. XGBoost
    adds leaves in float32, so scores agree to about 1e-7 times the sum of the largest leaves.
    ``base_weights`` hold the leaves too, which OpenSearch reads (``model/xgboost+json+raw``).
    Unordered categories need XGBoost 2.1 or later; their columns have the type "c". Named
    categories are positions: pass a data frame whose columns of dtype ``category`` have the same
    categories in the same order, which are in the attribute "categories" of the Booster. Where the
    trees compare statistics of categories, the file has the sets of categories on either side.

    Composition: sum of trees x XGBoost's JSON.

    Examples
    --------
    >>> from rankwise import RankingTree
    >>> from rankwise.export import to_xgboost
    >>> tree = RankingTree(max_depth=1).fit([[0.0], [1.0], [3.5]], [0, 0, 1])
    >>> model = to_xgboost(tree)
    >>> model["learner"]["gradient_booster"]["model"]["trees"][0]["split_conditions"]
    [2.250000238418579, 0.0, 1.0]
    """
    estimator, names = prepare_export(estimator, path, features)
    trees = trees_of(estimator, "to_xgboost", encoded=True)
    check_numbered(trees, names, "XGBoost")
    warn_of_unknown_names(trees, "XGBoost", estimator)
    is_named = features is not None or hasattr(first_step(estimator), "feature_names_in_")
    listed = replace_forbidden(names, XGBOOST_FORBIDDEN, "XGBoost") if is_named else []
    grown = [
        xgboost_tree(tree, number, len(names), trees.encoded)
        for number, tree in enumerate(trees.trees)
    ]
    n_trees = len(grown)
    nominal = {int(tree.feature[node]) for tree in trees.trees for node in tree.members}
    nominal |= trees.encoded.keys()
    kinds = ["c" if column in nominal else "float" for column in range(len(names))]
    forest = {
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(n_trees)},
        "iteration_indptr": list(range(n_trees + 1)),
        "tree_info": [0] * n_trees,
        "trees": grown,
    }
    named = {names[column]: values.tolist() for column, values in trees.categories.items()}
    learner = {
        "attributes": {"categories": json.dumps(named, default=str)} if named else {},
        "feature_names": listed,
        "feature_types": kinds if listed or nominal else [],
        "gradient_booster": {"model": forest, "name": "gbtree"},
        "learner_model_param": {
            "base_score": repr(float(np.float32(trees.constant))),
            "boost_from_average": "0",
            "num_class": "0",
            "num_feature": str(len(names)),
            "num_target": "1",
        },
        "objective": {"lambdarank_param": {}, "name": "rank:pairwise"},
    }
    model = {"learner": learner, "version": _VERSION}
    if path is not None:
        write_file(path, json.dumps(model, ensure_ascii=False).encode())
    return model


_NO_PARENT = 2**31 - 1
_LARGEST = np.finfo(np.float32).max
_SMALLEST = float(np.finfo(np.float32).smallest_subnormal)  # XGBoost's condition of a set
_NO_CATEGORY = 2**24 - 1  # the largest that XGBoost knows, for sets that would be empty


def conditions(thresholds: Float64Array) -> NDArray[np.float32]:
    """Numbers c such that ``x < c`` decides as ``x <= t`` on float32 numbers; t < 3.4e38."""
    return np.nextafter(floor_float32(thresholds), np.float32(np.inf))


def limit_conditions(tree: ScoreTree) -> ScoreTree:
    """Tree whose conditions are finite.

    A node that parts missing values from all others has an infinite threshold, which JSON lacks.
    Its sides change places, so that no number is below the condition, which is the smallest number.
    """
    return _swap(tree, (tree.feature >= 0) & (floor_float32(tree.threshold) >= _LARGEST), -np.inf)


def _swap(tree: ScoreTree, swapped: NDArray[np.bool_], threshold: float) -> ScoreTree:
    return replace(
        tree,
        threshold=np.where(swapped, threshold, tree.threshold),
        left=np.where(swapped, tree.right, tree.left),
        right=np.where(swapped, tree.left, tree.right),
        missing_left=tree.missing_left ^ swapped,
    )


def xgboost_tree(
    tree: ScoreTree, number: int, n_features: int, encoded: Mapping[int, CategoryValues]
) -> dict[str, Any]:
    """Entries of a tree in a model file.

    XGBoost sends unknown categories to the left. Missing values, which unknown categories follow
    in a ScoreTree, therefore go left at nodes of categories, and the set holds the other side.
    At thresholds of statistics, unknown categories go left, and missing values by themselves.
    """
    sides = {node: (*known, tree.missing_left[node]) for node, known in tree.members.items()}
    for node in np.flatnonzero(np.isin(tree.feature, list(encoded))).tolist():
        sides[node] = encoded[int(tree.feature[node])].goes_left(tree.threshold[node])
    nominal, swapped = (np.zeros(len(tree.feature), dtype=bool) for _ in range(2))
    members = {}
    for node, (left, right, unknown_left) in sides.items():
        members[node] = (left, right) if unknown_left else (right, left)
        nominal[node], swapped[node] = True, not unknown_left
    threshold = np.where(nominal, 0.0, tree.threshold)
    tree = replace(tree, threshold=threshold, members=members)
    tree = limit_conditions(_swap(tree, swapped, 0.0))
    # The node after a left child is read as its sibling.
    tree = take_nodes(tree, np.array(breadth_first(tree)))
    is_inner, is_nominal = tree.feature >= 0, np.zeros(len(tree.feature), dtype=bool)
    is_nominal[list(tree.members)] = True
    parents, nodes = np.full(len(is_inner), _NO_PARENT), np.flatnonzero(is_inner)
    parents[tree.left[nodes]] = parents[tree.right[nodes]] = nodes
    weights = positive_weights(tree)
    values = mean_values(tree, weights)
    gain = np.zeros(len(is_inner)) if tree.gain is None else tree.gain
    thresholds = conditions(np.where(is_inner, tree.threshold, 0.0))
    thresholds[is_nominal] = _SMALLEST
    sets = {node: right.astype(np.int64).tolist() for node, (_, right) in tree.members.items()}
    return {
        "base_weights": _floats(values),
        **_categories(sets),
        "default_left": (is_inner & tree.missing_left).astype(int).tolist(),
        "id": number,
        "left_children": tree.left.tolist(),
        "loss_changes": _floats(gain),
        "parents": parents.tolist(),
        "right_children": tree.right.tolist(),
        "split_conditions": _floats(np.where(is_inner, thresholds, values)),
        "split_indices": np.maximum(tree.feature, 0).tolist(),
        "split_type": is_nominal.astype(int).tolist(),
        "sum_hessian": _floats(weights),
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(n_features),
            "num_nodes": str(len(is_inner)),
            "size_leaf_vector": "1",
        },
    }


def _categories(sets: dict[int, list[int]]) -> dict[str, list[int]]:
    """Sets of categories by node; XGBoost 3.2 ends the process if the nodes do not ascend."""
    nodes = sorted(sets)
    listed = [sorted(sets[node]) or [_NO_CATEGORY] for node in nodes]
    sizes = [len(numbers) for numbers in listed]
    return {
        "categories": [value for numbers in listed for value in numbers],
        "categories_nodes": nodes,
        "categories_segments": [sum(sizes[:k]) for k in range(len(sizes))],
        "categories_sizes": sizes,
    }


def _floats(values: Any) -> list[float]:
    """Float32 numbers, as Python numbers of the same value."""
    return np.asarray(values, dtype=np.float32).astype(np.float64).tolist()


def to_opensearch(
    estimator: Any,
    path: str | Path | None = None,
    *,
    features: Sequence[str] | None = None,
    name: str = "rankwise",
) -> dict[str, Any]:
    """Write a sum of trees for OpenSearch's Learning to Rank plugin, as a dump of XGBoost.

    Scores are those of :func:`rankwise.scores`: ``rank_score`` of ordinal classifiers, whose
    ``predict`` returns classes.

    Parameters
    ----------
    estimator : fitted estimator, or model of LightGBM, XGBoost or CatBoost
        As in :func:`rankwise.export.to_xgboost`.
    path : path-like, optional
        File to write in addition.
    features : sequence of str, optional
        Names in the feature set, in the order of the columns (default: names from the fit, or f1,
        f2, ...).
    name : str, default="rankwise"
        Name of the model.

    Returns
    -------
    dict
        Body of ``POST _ltr/_featureset/SET/_createmodel`` with a "model/xgboost+json".

    Raises
    ------
    ExportError
        If the model is not a sum of trees, or splits unordered categories.
    ValueError
        If the names do not match the columns.

    Warns
    -----
    UserWarning
        If trees had missing values in training, or are of XGBoost, which does not tell: versions of
        the plugin before August 2026 read missing values as 0.

    Notes
    -----
    The plugin adds leaves in float32 and has no constant: scores are shifted by the constant of
    the model, which keeps the order. :func:`to_elasticsearch` writes the older RankLib format,
    which has no missing values at all.

    Composition: sum of trees x the plugin's JSON.

    Examples
    --------
    >>> import json
    >>> from rankwise import RankingTree
    >>> from rankwise.export import to_opensearch
    >>> tree = RankingTree(max_depth=1).fit([[0.0], [1.0], [3.5]], [0, 0, 1])
    >>> model = to_opensearch(tree, features=["bm25"])["model"]["model"]
    >>> model["type"], json.loads(model["definition"])["splits"][0]["split"]
    ('model/xgboost+json', 'bm25')
    """
    estimator, names = prepare_export(estimator, path, features)
    trees = trees_of(estimator, "to_opensearch")
    warn_of_missing(trees, "OpenSearch before August 2026")
    splits = [_dump(tree, names) for tree in trees.trees] or [{"nodeid": 0, "leaf": 0.0}]
    definition = json.dumps({"objective": "rank:pairwise", "splits": splits})
    model = {"type": "model/xgboost+json", "definition": definition}
    body = {"model": {"name": name, "model": model}}
    if path is not None:
        write_file(path, json.dumps(body, indent=1).encode())
    return body


def _dump(tree: ScoreTree, names: list[str]) -> dict[str, Any]:
    """Nested nodes, as in XGBoost's ``dump_model``."""
    tree = limit_conditions(tree)
    inner, leaves = level_order(tree)
    threshold = conditions(tree.threshold).astype(np.float64)
    nodes: dict[int, dict[str, Any]] = {node: {"nodeid": node} for node in (*inner, *leaves)}
    depth = {0: 0}
    for node in inner:
        left, right = int(tree.left[node]), int(tree.right[node])
        depth[left] = depth[right] = depth[node] + 1
        nodes[node] |= {
            "depth": depth[node],
            "split": names[tree.feature[node]],
            "split_condition": float(threshold[node]),
            "yes": left,
            "no": right,
            "missing": left if tree.missing_left[node] else right,
            "children": [nodes[left], nodes[right]],
        }
    for node in leaves:
        nodes[node]["leaf"] = float(np.float32(tree.values[node]))
    return nodes[0]
