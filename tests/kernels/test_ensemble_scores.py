"""Sums of trees, row by row."""

import numpy as np
import pytest

from rankwise.kernels.ensemble_scores import add_nominal_trees, add_trees


@pytest.mark.parametrize("n_trees", [2, 7, 8, 9, 17])
def test_scores_are_sums_of_leaves(rng, n_trees):
    """Trees in turn: a root with two leaves, and a root whose right child splits again."""
    nodes = [(np.nan,) * 4] * n_trees  # threshold, left child, feature, missing values go right
    values = [0.0] * n_trees

    def append(*leaves):
        for value in leaves:
            nodes.append((np.inf, len(nodes), 0, 0))
            values.append(value)

    for t in range(n_trees):
        if t % 2 == 0:
            nodes[t] = (0.5, len(nodes), 0, 0)
            append(1.0, 2.0)
        else:
            nodes[t] = (-0.2, len(nodes), 1, 1)
            append(10.0)
            nodes.append((np.inf, len(nodes) + 1, 2, 1))
            values.append(0.0)
            append(20.0, 30.0)
    threshold, child, feature, goes_right = np.array(nodes).T
    cuts = np.stack([threshold, np.empty(len(nodes))], axis=1)
    links = cuts.view(np.int64)
    links[:, 1] = child.astype(np.int64) * 2**32 + feature.astype(np.int64) * 2
    links[:, 1] += goes_right.astype(np.int64)
    X = rng.normal(size=(200, 3))
    X[rng.random(X.shape) < 0.3] = np.nan
    X[0] = np.inf
    out = np.full(200, 100.0)
    add_trees(X, n_trees, cuts, links, np.array(values), out)
    a, b, c = X.T
    first = np.where((a <= 0.5) | np.isnan(a), 1, 2)
    second = np.where(b <= -0.2, 10, np.where(np.isnan(c), 30, 20))
    expected = 100 + first * (n_trees - n_trees // 2) + second * (n_trees // 2)
    np.testing.assert_array_equal(out, expected)


def test_sets_of_categories_go_left(rng):
    """A root that sends 0, 3 and 7 left, whose right child asks for a threshold."""
    indptr, feature = np.array([0, 5]), np.array([0, -1, 1, -1, -1], dtype=np.int32)
    threshold = np.array([np.nan, np.nan, 0.1, np.nan, np.nan])
    left, right = np.array([1, -1, 3, -1, -1]), np.array([2, -1, 4, -1, -1])
    missing_left = np.array([1, 0, 0, 0, 0], dtype=bool)
    values, nominal = np.array([0.0, 1, 0, 2, 3]), np.array([1, 0, 0, 0, 0], dtype=bool)
    ends, categories = np.array([0, 3, 3, 3, 3, 3]), np.array([0.0, 3.0, 7.0])
    X = np.stack([rng.integers(-1, 9, 200), rng.normal(size=200)], axis=1).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    out = np.zeros(200)
    add_nominal_trees(
        X, indptr, feature, threshold, left, right, missing_left, values, nominal, ends,
        categories, out,
    )  # fmt: skip
    goes = np.isin(X[:, 0], categories) | np.isnan(X[:, 0])
    np.testing.assert_array_equal(out, np.where(goes, 1, np.where(X[:, 1] <= 0.1, 2, 3)))
