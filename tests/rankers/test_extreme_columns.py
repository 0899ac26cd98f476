"""Columns and targets far from 1 or from zero where the solution does not feel it."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import (
    LinearRegressionRanker,
    LSSVRanker,
    PairwiseELM,
    PointwiseELM,
    RankRLS,
    RidgeRanker,
)


@pytest.fixture
def rows(rng):
    qid = np.repeat(np.arange(30), 8)
    X = rng.normal(size=(240, 6))
    y = np.clip(np.round(X[:, 0] - X[:, 3] + rng.normal(size=240)), -1, 1) + 1
    return X, y, qid


@pytest.mark.parametrize("graph", ["all", "distinct"])
@pytest.mark.parametrize("n_nodes", [20, 400])  # fewer and more than rows
def test_columns_constant_within_queries_order_nothing(n_nodes, graph, rng):
    qid = np.repeat(np.arange(30), 8)
    y = rng.integers(0, 3, 240)
    for seed in range(15):
        X = np.random.default_rng(seed).uniform(size=(30, 4))[qid]
        ranker = PairwiseELM(n_nodes=n_nodes, C=2.0**20, graph=graph, random_state=seed)
        assert not ranker.fit(X, y, qid=qid).predict(X).any()


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "perceptron", "stump", "linear"])
def test_kernel_of_columns_constant_within_queries(kernel, rng):
    qid = np.repeat(np.arange(12), 5)
    X, y = 1e3 * rng.uniform(size=(12, 4))[qid], rng.integers(0, 3, 60)
    scores = RankRLS(kernel=kernel).fit(X, y, qid=qid).predict(X)
    first = scores[np.searchsorted(qid, qid)]
    np.testing.assert_allclose(scores, first, atol=1e-9)


@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1e-9, 1e7, 1e150, 1e200, 1e307])
@pytest.mark.parametrize("columns", [slice(None), slice(2, 3)])
def test_least_squares_do_not_feel_the_scale_of_columns(factor, columns, rows):
    X, y, _ = rows
    Z = X / np.abs(X).max()
    expected = LinearRegressionRanker().fit(Z, y)
    scaled = Z.copy()
    scaled[:, columns] *= factor
    ranker = LinearRegressionRanker().fit(scaled, y)
    np.testing.assert_allclose(ranker.predict(scaled), expected.predict(Z), rtol=1e-9)
    np.testing.assert_array_equal(ranker.path_["coef"][0], ranker.coef_)


def test_moderate_columns_are_multiplied_as_they_are(rows):
    X, y, _ = rows
    model = LinearRegressionRanker().fit(X * [1.0, 1e-2, 1e3, 1.0, 1.0, 10.0], y)
    plain = RidgeRanker(alpha=0.0).fit(X * [1.0, 1e-2, 1e3, 1.0, 1.0, 10.0], y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)


@pytest.mark.parametrize(
    "ranker",
    [
        RidgeRanker(alpha=2.0),
        LinearRegressionRanker(),
        PointwiseELM(n_nodes=30, random_state=0),
        PairwiseELM(n_nodes=400, random_state=0),
        RankRLS(kernel="rbf"),
        LSSVRanker(kernel="rbf"),
        LSSVRanker(kernel="rbf", approximation="nystroem", n_landmarks=20, random_state=0),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
@pytest.mark.parametrize("power", [-900, 600, 1000])
def test_squared_losses_are_linear_in_the_targets(ranker, power, rows):
    X, y, qid = rows
    y = y - 1.0
    ordinary = ranker.fit(X, y, qid=qid).predict(X)
    near = ranker.fit(X, np.ldexp(y, 300), qid=qid).predict(X)
    np.testing.assert_allclose(np.ldexp(near, -300), ordinary, rtol=1e-9, atol=1e-12)
    far = ranker.fit(X, np.ldexp(y, power), qid=qid).predict(X)
    np.testing.assert_array_equal(np.ldexp(far, 300 - power), near)
    assert np.isfinite(ranker.path_["coef"]).all()


def test_least_squares_with_an_intercept_far_from_zero(rows):
    X, y, qid = rows
    Z = X.copy()
    Z[:, 1] = np.round(2.0**10 * Z[:, 1])
    expected = LSSVRanker(kernel="linear", C=0.1).fit(Z, y, qid=qid).predict(Z)
    Z[:, 1] += 2.0**50
    scores = LSSVRanker(kernel="linear", C=0.1).fit(Z, y, qid=qid).predict(Z)
    spread = np.ptp(expected)
    np.testing.assert_allclose(
        scores - scores.mean(), expected - expected.mean(), atol=1e-3 * spread
    )
