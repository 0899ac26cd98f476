"""Many splits, penalties and sizes of the same rows against separate fits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from rankwise.labels import (
    CPLST,
    PLST,
    BinaryRelevance,
    CompressedSensing,
    LinearLabelSpaceTransform,
    PartialBinaryRelevance,
    fit_splits,
    plst_path,
)

ESTIMATORS = {
    "br": BinaryRelevance(alpha=0.3),
    "pbr": PartialBinaryRelevance(3, "mean", alpha=0.3, random_state=1),
    "plst": PLST(3, alpha=0.3),
    "plst zero": PLST(4, 0.3, reference="zero"),
    "cplst": CPLST(3, alpha=0.3),
    "code": LinearLabelSpaceTransform(
        np.arange(21.0).reshape(3, 7) ** 0.5, None, reference="mean", alpha=0.3
    ),
    "cs": CompressedSensing(4, random_state=0, alpha=0.3),
}


@pytest.fixture
def labelled(rng):
    """80 rows of 6 features, far from zero, with seven labels."""
    X = rng.normal(size=(80, 6)) + 3
    Y = ((X - 3) @ rng.normal(size=(6, 7)) + rng.normal(size=(80, 7)) > 1).astype(int)
    return X, Y


@pytest.mark.parametrize("name", ESTIMATORS)
def test_splits_by_downdating_are_separate_fits(name, labelled, rng):
    X, Y = labelled
    estimator = ESTIMATORS[name]
    parts = [rng.permutation(80)[:n] for n in (72, 60, 20)]
    parts.append(rng.integers(0, 80, 80))  # some rows twice
    for rows in (X, sparse.csr_array(X)):
        for part, model in zip(parts, fit_splits(estimator, rows, Y, parts), strict=True):
            expected = clone(estimator).fit(X[part], Y[part])
            np.testing.assert_allclose(
                model.decision_function(X), expected.decision_function(X), atol=1e-8
            )
            assert model.score(X, Y) == expected.score(X, Y)


def test_splits_with_a_base_are_fitted_one_by_one(labelled):
    X, Y = labelled
    base = DecisionTreeRegressor(max_depth=2, random_state=0)
    (model,) = fit_splits(PLST(2, estimator=base), X, Y, [np.arange(40)])
    expected = PLST(2, estimator=base).fit(X[:40], Y[:40])
    np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))


def test_path_is_the_loss_of_each_fit(labelled):
    X, Y = labelled
    alphas, sizes = [0.01, 1.0, 1000.0], [7, 0, 2]
    path = plst_path(X[:50], Y[:50], X[50:], Y[50:], alphas=alphas, n_components=sizes)
    for row, alpha in zip(path["hamming_loss"], alphas, strict=True):
        for loss, n in zip(row, sizes, strict=True):
            if n:
                expected = -PLST(n, alpha=alpha).fit(X[:50], Y[:50]).score(X[50:], Y[50:])
            else:
                expected = np.mean((Y[:50].mean(axis=0) > 0.5) != Y[50:])
            assert loss == pytest.approx(expected, abs=1e-12)


def test_path_keeps_the_digits_of_columns_far_from_zero(labelled):
    X, Y = labelled
    far = X + np.array([3e9, 7e9, 0, 0, -2e9, 1e9])
    alphas, sizes = [1e-3, 1.0], [3, 7]
    path = plst_path(far[:50], Y[:50], far[50:], Y[50:], alphas=alphas, n_components=sizes)
    for row, alpha in zip(path["hamming_loss"], alphas, strict=True):
        for loss, n in zip(row, sizes, strict=True):
            expected = -PLST(n, alpha=alpha).fit(far[:50], Y[:50]).score(far[50:], Y[50:])
            assert loss == pytest.approx(expected, abs=1e-12)


def test_wrong_calls_are_named(labelled):
    X, Y = labelled
    with pytest.raises(TypeError, match=r"estimator must regress linear codes .* got Ridge"):
        next(fit_splits(Ridge(), X, Y, [[0]]))
    with pytest.raises(ValueError, match="y must be a 0/1 matrix with a column for every label"):
        next(fit_splits(PLST(), X, Y[:, 0], [[0]]))
    with pytest.raises(ValueError, match="n_components must hold integers from 0 to"):
        plst_path(X, Y, X, Y, alphas=[1.0], n_components=[2, -1])
