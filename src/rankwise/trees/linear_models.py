"""A regression tree with a linear model at every node: grown, pruned and smoothed as M5' does.

scikit-learn grows the tree by variance reduction. At every split, a least-squares model is fitted
on the features used by the tests and models below. The feature with the smallest standardised
coefficient is dropped repeatedly as long as Akaike's criterion decreases. From the bottom up, a
node becomes a leaf if the error of its model, ``sqrt(SSE / n) (n + v) / (n - v)`` with v parameters
(ten times the error if n <= v), is not above that of the subtree. On the way up from a leaf,
smoothing turns the prediction p of a child of n rows into ``(n p + k q) / (n + k)``, where q is the
prediction of the parent's model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from sklearn.tree import DecisionTreeRegressor

from rankwise.checks.rows import check_columns_read
from rankwise.runtime.finite import foreign_range
from rankwise.structure.state_rules import Array, Rule, check_children, floats, integers, require
from rankwise.typing import Float64Array, FloatArray, Int64Array

LEAF = -1
RIDGE = 1e-8  # share of the mean diagonal; makes dependent columns share a coefficient
NEGLIGIBLE = 1e-5  # share of the root's deviation; a model with a smaller error needs no subtree
EXACT = 1e-12  # share of the sum of squares; a fit with a smaller error is exact
OVERFITTED = 10.0  # factor of the error if there are no more rows than parameters


@dataclass(frozen=True, eq=False)
class ModelNodes:
    """Arrays over the nodes of a model tree; node 0 is the root, children come after their parent.

    ``feature``, ``left`` and ``right`` are -1 at leaves.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "feature": integers("n_nodes", low=-1, below="n_features_in_"),
        "threshold": Array(("n_nodes",), numbers="any"),
        "left": integers("n_nodes", low=-1, below="n_nodes"),
        "right": integers("n_nodes", low=-1, below="n_nodes"),
        "coef": floats("n_nodes", "n_features_in_"),
        "intercept": floats("n_nodes"),
    }

    feature: Int64Array  # column that a node tests
    threshold: Float64Array  # a row goes left if its value, as float32, is at most the threshold
    left: Int64Array
    right: Int64Array
    coef: Float64Array  # (n_nodes, n_features), of the leaves' models, smoothed; zeros elsewhere
    intercept: Float64Array

    def apply(self, X: FloatArray) -> Int64Array:
        """Leaf of every row, shape (n_samples,); O(depth) a row."""
        check_columns_read(self.feature, X.shape[1])
        # scikit-learn grew the tree on float32 values and compares those.
        rounded = np.asarray(X, dtype=np.float32)
        node = np.zeros(len(X), dtype=np.int64)
        rows = np.arange(len(X))
        for _ in range(len(self.feature)):  # as deep as a tree can be
            rows = rows[self.feature[node[rows]] != LEAF]
            if not len(rows):
                break
            at = node[rows]
            goes_left = rounded[rows, self.feature[at]] <= self.threshold[at]
            node[rows] = np.where(goes_left, self.left[at], self.right[at])
        return node

    def predict(self, X: FloatArray) -> Float64Array:
        """Value of the leaf's model for every row, shape (n_samples,)."""
        leaf = self.apply(X)
        X = np.asarray(X, dtype=np.float64)
        return np.einsum("ij,ij->i", X, self.coef[leaf]) + self.intercept[leaf]

    def _check_structure(self) -> None:
        check_children(self.feature, self.left, self.right)
        thresholds = self.threshold[self.feature >= 0]
        require(not np.isnan(thresholds).any(), "threshold", "be a number at splits", np.nan)


@dataclass(frozen=True)
class NodeRegression:
    """Least squares on some features."""

    features: Int64Array
    coef: Float64Array
    intercept: float
    sse: float  # weighted sum of squared errors on the node's rows

    @property
    def n_parameters(self) -> int:
        """Coefficients and the constant."""
        return len(self.features) + 1


def grow_models(
    X: FloatArray,
    y: Float64Array,
    weight: Float64Array,
    *,
    min_leaf: float = 4,
    max_depth: int | None = None,
    least_deviation: float = 0.05,
    prune: bool = True,
    smoothing: float = 15.0,
) -> ModelNodes:
    """Grow, prune and smooth a model tree on finite X (n_samples, n_features).

    A ``weight`` > 0 counts as a number of repetitions; ``min_leaf`` is the minimum weight of a
    leaf. Nodes whose standard deviation is below the share ``least_deviation`` of the root's become
    leaves. ``smoothing`` is the constant k; 0: none.

    O(N d log N) for each level of the growing tree; for every node of n rows whose subtree uses p
    features O(n p^2 + p^3).
    """
    total = weight.sum()
    # A share just below min_leaf / total, whose rounding could forbid leaves of exactly min_leaf;
    # scikit-learn takes at most 0.5.
    share = min(0.5, min_leaf * (1 - 1e-9) / total)
    with foreign_range():
        grown = DecisionTreeRegressor(
            max_depth=max_depth, min_weight_fraction_leaf=share, random_state=0
        ).fit(X, y, sample_weight=weight)
    tree: Any = grown.tree_
    n = tree.node_count
    feature = np.where(tree.children_left == LEAF, LEAF, tree.feature).astype(np.int64)
    # The impurity is a variance, the square of a deviation.
    feature[tree.impurity <= least_deviation**2 * tree.impurity[0]] = LEAF
    left, right = tree.children_left.astype(np.int64), tree.children_right.astype(np.int64)
    models, weights = _models(X, y, weight, tree.apply(np.asarray(X, np.float32)), (feature, left,
                              right), prune)  # fmt: skip
    coef, intercept = np.zeros((n, X.shape[1])), np.zeros(n)
    reached = np.zeros(n, dtype=bool)  # nodes that remain after pruning
    for leaf, path in _paths(feature, left, right):
        coef[leaf], intercept[leaf] = _smooth(models, weights, path, smoothing, X.shape[1])
        reached[path] = True
    number = np.cumsum(reached) - 1
    inner = feature[reached] != LEAF
    return ModelNodes(
        feature[reached],
        np.where(inner, tree.threshold[reached], np.nan),
        np.where(inner, number[left[reached]], LEAF),
        np.where(inner, number[right[reached]], LEAF),
        coef[reached],
        intercept[reached],
    )


def _models(
    X: FloatArray,
    y: Float64Array,
    weight: Float64Array,
    leaf: Int64Array,
    nodes: tuple[Int64Array, Int64Array, Int64Array],
    prune: bool,
) -> tuple[list[NodeRegression], Float64Array]:
    """Fit the model and weight of every node; pruning sets ``feature`` to -1."""
    feature, left, right = nodes
    n = len(feature)
    # Depth first, the nodes of a subtree are numbered one after the other: node to before
    # stop[node]. Rows sorted by leaf are then contiguous for every node.
    stop = np.arange(1, n + 1)
    for node in range(n - 1, -1, -1):  # nodes are numbered depth first
        if right[node] != LEAF:
            stop[node] = stop[right[node]]
    order = np.argsort(leaf, kind="stable")
    bounds = np.searchsorted(leaf[order], np.arange(n + 1))
    models: list[Any] = [None] * n
    weights = np.zeros(n)
    below: list[Any] = [np.empty(0, dtype=np.int64)] * n
    errors, parameters = np.zeros(n), np.zeros(n)  # SSE and parameters of subtrees
    deviation = np.sqrt(np.average((y - np.average(y, weights=weight)) ** 2, weights=weight))
    for node in range(n - 1, -1, -1):
        rows = order[bounds[node] : bounds[stop[node]]]
        w = weight[rows]
        weights[node] = w.sum()
        inner = feature[node] != LEAF
        if inner:
            found = [below[left[node]], below[right[node]], [feature[node]]]
            below[node] = np.unique(np.concatenate(found)).astype(np.int64)
        models[node] = fit_linear(X[np.ix_(rows, below[node])], y[rows], w, below[node])
        if inner:
            errors[node] = errors[left[node]] + errors[right[node]]
            parameters[node] = parameters[left[node]] + parameters[right[node]] + 1
            # A node's model is kept if it is expected to err no more than its subtree.
            model, total = models[node], weights[node]
            of_model = np.sqrt(model.sse / total) * penalty(total, model.n_parameters)
            of_tree = np.sqrt(errors[node] / total) * penalty(total, parameters[node])
            is_better = of_model <= of_tree or of_model < NEGLIGIBLE * deviation
            if not prune or not is_better:
                continue
            feature[node] = LEAF
            below[node] = models[node].features
        errors[node], parameters[node] = models[node].sse, models[node].n_parameters
    return models, weights


def penalty(n: float, parameters: float) -> float:
    """Factor by which the error on n training rows is expected to be too small."""
    return (n + parameters) / (n - parameters) if n > parameters else OVERFITTED


def fit_linear(
    X: FloatArray, y: Float64Array, weight: Float64Array, features: Int64Array
) -> NodeRegression:
    """Least squares with a constant; features are dropped while Akaike's criterion decreases.

    X is (n_samples, n_columns); ``features`` (n_columns,) are their numbers in the whole matrix.
    """
    n = weight.sum()
    X = np.asarray(X, dtype=np.float64)
    mean, centre = (weight @ X) / n, float(weight @ y / n)
    X, y = X - mean, y - centre
    left_over = float(weight @ y**2)
    gram = (X * weight[:, None]).T @ X
    scale = np.sqrt(np.diag(gram))
    # Columns that are constant up to the rounding of their mean.
    used = np.flatnonzero(scale > 1e-12 * (1 + np.abs(mean)) * np.sqrt(n))
    if not len(used) or left_over <= 0:
        return NodeRegression(features[:0], np.empty(0), centre, max(left_over, 0.0))
    scale = scale[used]
    # Columns of length 1, so that coefficients compare across units.
    gram = gram[np.ix_(used, used)] / np.outer(scale, scale)
    gram[np.diag_indices_from(gram)] += RIDGE
    right = ((X[:, used] * weight[:, None]).T @ y) / scale
    inverse = scipy.linalg.cho_solve(scipy.linalg.cho_factor(gram), np.eye(len(used)))
    beta = inverse @ right
    kept = _choose_columns(inverse, beta, left_over - float(right @ beta), n, EXACT * left_over)
    used, beta = used[kept], beta[kept] / scale[kept]
    residual = y - X[:, used] @ beta
    return NodeRegression(
        features[used], beta, centre - float(mean[used] @ beta), float(weight @ residual**2)
    )


def _choose_columns(
    inverse: Float64Array, beta: Float64Array, sse: float, n: float, least: float
) -> Int64Array:
    """Select the columns to keep; ``beta`` is updated in place to their coefficients.

    Dropping a column j of unit length adds ``beta_j^2 / inverse_jj`` to the sum of squares. A sum
    below ``least`` is rounding.
    """
    kept = np.arange(len(beta))
    # Akaike's criterion with the error variance of the full model, full / degrees.
    full, degrees = max(sse, least), max(n - len(beta) - 1, 1.0)
    criterion = degrees + 2 * (len(beta) + 1)
    A = inverse
    while len(kept):
        j = int(np.argmin(np.abs(beta[kept])))
        column = A[:, j]
        more = beta[kept[j]] ** 2 / column[j]
        next_criterion = (sse + more) / full * degrees + 2 * len(kept)
        if next_criterion >= criterion:
            break
        criterion, sse = next_criterion, sse + more
        # The coefficients and the inverse without column j, by elimination instead of a new fit.
        beta[kept] -= column * (beta[kept[j]] / column[j])
        A = A - np.outer(column, column / column[j])
        A, kept = np.delete(np.delete(A, j, 0), j, 1), np.delete(kept, j)
    return kept


def _paths(feature: Int64Array, left: Int64Array, right: Int64Array) -> list[tuple[int, list[int]]]:
    """Every leaf with the nodes from the root to it."""
    paths, todo = [], [[0]]
    while todo:
        path = todo.pop()
        node = path[-1]
        if feature[node] == LEAF:
            paths.append((node, path))
        else:
            todo += [[*path, int(left[node])], [*path, int(right[node])]]
    return paths


def _smooth(
    models: list[NodeRegression], weights: Float64Array, path: list[int], k: float, n_features: int
) -> tuple[Float64Array, float]:
    """Model of a leaf, averaged with the models of its ancestors."""
    coef, intercept = np.zeros(n_features), models[path[-1]].intercept
    coef[models[path[-1]].features] = models[path[-1]].coef
    if k == 0:
        return coef, intercept
    for parent, child in zip(path[-2::-1], path[:0:-1], strict=True):
        share = k / (weights[child] + k)
        coef *= 1 - share
        coef[models[parent].features] += share * models[parent].coef
        intercept = (1 - share) * intercept + share * models[parent].intercept
    return coef, intercept
