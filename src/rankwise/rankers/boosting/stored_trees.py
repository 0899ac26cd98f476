"""Checks of scikit-learn's histogram trees that come from a file, before they score a row.

Their compiled code follows the child and feature numbers of a tree without looking at them; a
crafted model file could make it read outside of its arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

MODULE = "sklearn.ensemble._hist_gradient_boosting"


def check_histogram_trees(value: Any) -> None:
    """Raise ValueError where a histogram gradient boosting estimator holds anything but trees.

    Other objects pass, and so do trees themselves: only their estimator uses them.
    """
    if not type(value).__module__.startswith(MODULE) or not hasattr(value, "_predictors"):
        return
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

    n_features = value.n_features_in_
    rounds = value._predictors
    trees = [tree for of_round in rounds for tree in of_round]
    if type(rounds) is not list or not all(type(of_round) is list for of_round in rounds):
        raise ValueError("_predictors must be lists of trees")
    for tree in trees:
        if type(tree) is not TreePredictor or tree.nodes.dtype != PREDICTOR_RECORD_DTYPE:
            raise ValueError("_predictors must hold trees alone")
        _check_nodes(tree.nodes, n_features)


def _check_nodes(nodes: Any, n_features: int) -> None:
    """Every inner node has two children after it, all nodes but the first are one's child."""
    if nodes.ndim != 1 or not len(nodes):
        raise ValueError("a tree must have nodes")
    inner = np.flatnonzero(nodes["is_leaf"] == 0)
    children = np.concatenate([nodes["left"][inner], nodes["right"][inner]]).astype(np.int64)
    parents = np.concatenate([inner, inner])
    if not np.array_equal(np.sort(children), np.arange(1, len(nodes))):
        raise ValueError("a tree's nodes must be one another's children")
    if (children <= parents).any():
        raise ValueError("a tree's children must come after their parents")
    feature = nodes["feature_idx"][inner]
    if ((feature < 0) | (feature >= n_features)).any():
        raise ValueError("a tree's features must be those of the rows")
    if nodes["is_categorical"].any():
        raise ValueError("a tree's features must have an order")
