"""Export of sums of trees to XGBoost's JSON.

XGBoost computes in float32. A value goes left if it is below the condition, and NaN goes to the
side of ``default_left``. A category of a node's set goes right, and any other one left.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.export.feature_names import (
    XGBOOST_FORBIDDEN,
    feature_names,
    first_step,
    replace_forbidden,
)
from rankwise.export.maps import Trees
from rankwise.export.own_model import own_model
from rankwise.export.tree_part import trees_of
from rankwise.export.xgboost_trees import xgboost_tree
from rankwise.runtime.output import check_folder, write_file

_VERSION = [3, 0, 0]


def to_xgboost(
    estimator: Any, path: str | Path | None = None, *, features: Sequence[str] | None = None
) -> dict[str, Any]:
    """Write a sum of trees as a model file of XGBoost.

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
        If the model is no sum of trees, or if a category is not a whole number from 0 to 2**20.
    ValueError
        If the names do not match the columns.

    Warns
    -----
    UserWarning
        If names have characters that XGBoost forbids; these become "_".

    Notes
    -----
    Every float32 row takes the branches of the model, with missing values as in training. XGBoost
    adds leaves in float32, so scores agree to about 1e-7 times the sum of the largest leaves.
    ``base_weights`` hold the leaves too, which OpenSearch reads (``model/xgboost+json+raw``).
    Unordered categories need XGBoost 2.1 or later; their columns have the type "c". Named
    categories are positions: pass a data frame whose columns of dtype ``category`` have the same
    categories in the same order, which are in the attribute "categories" of the Booster.

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
    if path is not None:
        check_folder(path)
    estimator = own_model(estimator)
    names = feature_names(estimator, features)
    trees = trees_of(estimator, "to_xgboost")
    is_named = features is not None or hasattr(first_step(estimator), "feature_names_in_")
    listed = replace_forbidden(names, XGBOOST_FORBIDDEN, "XGBoost") if is_named else []
    grown = [xgboost_tree(tree, number, len(names)) for number, tree in enumerate(trees.trees)]
    n_trees = len(grown)
    nominal = {int(tree.feature[node]) for tree in trees.trees for node in tree.members}
    kinds = ["c" if column in nominal else "float" for column in range(len(names))]
    forest = {
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(n_trees)},
        "iteration_indptr": list(range(n_trees + 1)),
        "tree_info": [0] * n_trees,
        "trees": grown,
    }
    learner = {
        "attributes": _attributes(trees, names),
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


def _attributes(trees: Trees, names: list[str]) -> dict[str, str]:
    """Lists of the named categories, as JSON."""
    if not trees.categories:
        return {}
    listed = {names[column]: values.tolist() for column, values in trees.categories.items()}
    return {"categories": json.dumps(listed, default=str)}
