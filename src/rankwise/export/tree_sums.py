"""Convert trees, stumps and boosted perceptrons, of this library and others, to chains of maps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rankwise.export.maps import Chain, ExportError, HiddenNodes, Trees, linear
from rankwise.solvers.boosting.stump_ensemble import StumpEnsemble
from rankwise.trees.column_table import ColumnTable
from rankwise.trees.score_tree import ScoreTree
from rankwise.trees.stored_boosters import StoredTrees
from rankwise.trees.tree_ensemble import TreeEnsemble
from rankwise.typing import Float64Array


def tree_ensemble(estimator: Any) -> Chain:
    """Trees of our own estimators."""
    return _chain_of_ensemble(estimator, estimator.tree_ensemble())


def node_classes(estimator: Any) -> Chain:
    """Class numbers of the leaves of one tree."""
    values = estimator.node_classes_.astype(np.float64)
    return _chain_of_ensemble(estimator, TreeEnsemble.of_grown([(estimator.tree_, values)]))


def _chain_of_ensemble(estimator: Any, ensemble: TreeEnsemble) -> Chain:
    table = estimator.columns_
    trees = ensemble.score_trees(table.n_categories(estimator.n_features_in_))
    stored = StoredTrees(
        trees,
        ensemble.constant,
        bool(estimator.has_missing_.any()),
        tells_missing=getattr(estimator, "library_", None) != "XGBoost",
    )
    return _chain(stored, table)


def lightgbm(estimator: Any) -> Chain:
    """Trees of LightGBM's text model."""
    if any(tree.zero_missing is not None for tree in estimator.stored_trees().trees):
        raise ExportError(
            "A LightGBM model with zero_as_missing=True treats zeros as missing values, which "
            "no other format supports. Fit without it."
        )
    return booster(estimator)


def booster(estimator: Any) -> Chain:
    """Trees of the library's model; CatBoost's are converted to ordinary trees."""
    stored = estimator.stored_trees()
    return _chain(stored, estimator.columns_)


def _chain(stored: StoredTrees, table: ColumnTable) -> Chain:
    """Convert trees on codes of categories to trees on the categories themselves."""
    numbers = {
        column: categories.astype(np.float64)
        for column, categories in table.nominal.items()
        if categories.dtype.kind in "biuf"
    }
    named = {**table.nominal, **table.ordered}
    categories = {column: named[column] for column in named if column not in numbers}
    of_numbers = tuple(_replace_codes(tree, numbers) for tree in stored.trees)
    return (
        Trees(of_numbers, stored.constant, stored.has_missing, categories, stored.tells_missing),
    )


def _replace_codes(tree: ScoreTree, numbers: dict[int, Float64Array]) -> ScoreTree:
    """Replace codes of unordered columns in a tree by the numbers of their categories."""
    members = {}
    for node, sides in tree.members.items():
        known = numbers.get(int(tree.feature[node]))
        left, right = (side if known is None else known[side.astype(np.int64)] for side in sides)
        members[node] = (left, right)
    return replace(tree, members=members)


def orboost(estimator: Any) -> Chain:
    """ORBoost, of stumps or of perceptrons."""
    if estimator.estimator == "stump":
        return stumps(estimator)
    ensemble = estimator.ensemble_
    weights = ensemble.coefs[:, :-1] / ensemble.scale
    biases = ensemble.coefs[:, -1] - weights @ ensemble.center
    # Up if the sum is above 0, that is, unless its negative is at least 0.
    steps = ensemble.steps
    return HiddenNodes(-weights.T, -biases, "hardlimit"), linear(-2.0 * steps, steps.sum())


def stumps(estimator: Any) -> Chain:
    """One tree per feature: the piecewise constant function that is the sum of its stumps."""
    ensemble: StumpEnsemble = estimator.ensemble_
    takes_missing = bool(estimator.__sklearn_tags__().input_tags.allow_nan)
    features, indptr, thresholds, values, missing = ensemble.pieces()
    grown = []
    for m, feature in enumerate(features.tolist()):
        cuts, distinct = np.unique(thresholds[indptr[m] : indptr[m + 1]], return_index=True)
        # A value above equal thresholds is above all of them.
        ends = np.append(distinct[1:], indptr[m + 1] - indptr[m])
        steps = values[indptr[m] + m : indptr[m + 1] + m + 1]
        levels = np.concatenate([steps[:1], steps[ends]])
        absent = float(missing[m]) if takes_missing else None
        grown.append(_step_function(feature, cuts, levels, absent))
    return (Trees(tuple(grown), 0.0, bool(ensemble.missing.any())),)


def _step_function(
    feature: int, cuts: Float64Array, levels: Float64Array, missing: float | None
) -> ScoreTree:
    """Balanced tree of a step function whose value is ``levels[k]`` above k cuts."""
    n_inner = len(cuts)
    n_nodes = 2 * n_inner + 1
    tree = ScoreTree(
        np.full(n_nodes, -1, dtype=np.int64),
        np.full(n_nodes, np.nan),
        np.full(n_nodes, -1, dtype=np.int64),
        np.full(n_nodes, -1, dtype=np.int64),
        np.zeros(n_nodes, dtype=bool),
        np.zeros(n_nodes),
    )
    waiting, n_made = [(0, 0, n_inner)], 1  # a node and the range of cuts that it splits
    while waiting:
        node, first, last = waiting.pop()
        if first == last:
            tree.values[node] = levels[first]
            continue
        middle = (first + last) // 2
        tree.feature[node], tree.threshold[node] = feature, cuts[middle]
        tree.left[node], tree.right[node] = n_made, n_made + 1
        waiting += [(n_made, first, middle), (n_made + 1, middle + 1, last)]
        n_made += 2
    return tree if missing is None else _part_missing(tree, feature, missing)


def _part_missing(tree: ScoreTree, feature: int, missing: float) -> ScoreTree:
    """Put a root above the tree that sends missing values to their own leaf."""
    return ScoreTree(
        np.concatenate([[feature], tree.feature, [-1]]),
        np.concatenate([[np.inf], tree.threshold, [np.nan]]),
        np.concatenate([[1], np.where(tree.left >= 0, tree.left + 1, -1), [-1]]),
        np.concatenate(
            [[len(tree.feature) + 1], np.where(tree.right >= 0, tree.right + 1, -1), [-1]]
        ),
        np.zeros(len(tree.feature) + 2, dtype=bool),
        np.concatenate([[0.0], tree.values, [missing]]),
    )
