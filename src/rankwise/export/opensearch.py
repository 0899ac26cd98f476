"""Export of sums of trees to OpenSearch's Learning to Rank plugin, as dumps of XGBoost.

The plugin computes in float32. A value goes left if it is below the condition.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.export.feature_names import feature_names
from rankwise.export.maps import ExportError
from rankwise.export.own_model import own_model
from rankwise.export.parts import warn_of_missing
from rankwise.export.tree_part import level_order, trees_of
from rankwise.export.xgboost_trees import conditions, limit_conditions
from rankwise.runtime.output import check_folder, write_file
from rankwise.trees.score_tree import ScoreTree


def to_opensearch(
    estimator: Any,
    path: str | Path | None = None,
    *,
    features: Sequence[str] | None = None,
    name: str = "rankwise",
) -> dict[str, Any]:
    """Write a sum of trees for OpenSearch's Learning to Rank plugin, as a dump of XGBoost.

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
        If the model is no sum of trees, or splits unordered categories.
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
    if path is not None:
        check_folder(path)
    estimator = own_model(estimator)
    names = feature_names(estimator, features)
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
    if tree.members:
        raise ExportError(
            f"column {tree.feature[min(tree.members)]} has unordered categories, which OpenSearch "
            "cannot split. Use to_lightgbm or to_onnx, or encode them as columns of 0 and 1."
        )
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
