"""Sums of trees, row by row."""

import numpy as np

from rankwise.kernels.ensemble_scores import add_nominal_trees, add_trees


def test_scores_are_sums_of_leaves(rng):
    # Two trees: a root with two leaves, and a root whose right child splits again.
    indptr = np.array([0, 3, 8])
    feature = np.array([0, -1, -1, 1, -1, 2, -1, -1], dtype=np.int32)
    threshold = np.array([0.5, np.nan, np.nan, -0.2, np.nan, np.inf, np.nan, np.nan])
    left = np.array([1, -1, -1, 1, -1, 3, -1, -1], dtype=np.int32)
    right = np.array([2, -1, -1, 2, -1, 4, -1, -1], dtype=np.int32)
    missing_left = np.array([1, 0, 0, 0, 0, 0, 0, 0], dtype=bool)
    values = np.array([0.0, 1, 2, 0, 10, 0, 20, 30])
    X = rng.normal(size=(200, 3))
    X[rng.random(X.shape) < 0.3] = np.nan
    out = np.full(200, 100.0)
    add_trees(X, indptr, feature, threshold, left, right, missing_left, values, out)
    a, b, c = X.T
    first = np.where((a <= 0.5) | np.isnan(a), 1, 2)
    second = np.where(b <= -0.2, 10, np.where(np.isnan(c), 30, 20))
    np.testing.assert_array_equal(out, 100 + first + second)


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
