"""One-versus-all regression of costs: the ridge, the one-sided loss, any regressor."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from rankwise.labels import CostSensitiveOneVsAllRegression as Osr


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(80, 3)) + 50.0
    y = np.arange(80) % 4
    costs = rng.integers(0, 5, (80, 4)) + X[:, :1]
    return X, y, costs, rng.integers(0, 3, 80).astype(float)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_squared_loss_is_ridge_regression(form, rows):
    X, y, costs, weight = rows
    ours = Osr(alpha=0.8).fit(form(X), y, costs=costs, sample_weight=weight)
    ridge = Ridge(alpha=0.8).fit(X, costs, sample_weight=weight)
    np.testing.assert_allclose(ours.coef_, ridge.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(-ours.decision_function(form(X)), ridge.predict(X), rtol=1e-8)
    any_other = Osr(Ridge(alpha=0.8)).fit(X, y, costs=costs, sample_weight=weight)
    np.testing.assert_allclose(any_other.decision_function(X), ours.decision_function(X), rtol=1e-8)
    np.testing.assert_array_equal(ours.predict(X), ridge.predict(X).argmin(axis=1))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_one_sided_loss_reaches_its_minimum(form, rows):
    X, y, costs, weight = rows
    X = X - 50.0
    ours = Osr(loss="one_sided", alpha=0.8).fit(form(X), y, costs=costs, sample_weight=weight)
    side = np.where(costs == costs.min(axis=1, keepdims=True), 1, -1)

    def objective(theta, k):
        excess = np.maximum(side[:, k] * (X @ theta[:3] + theta[3] - costs[:, k]), 0)
        slope = 2 * weight * side[:, k] * excess
        gradient = np.append(X.T @ slope + 1.6 * theta[:3], slope.sum())
        return weight @ excess**2 + 0.8 * theta[:3] @ theta[:3], gradient

    for k in range(4):
        theta = np.append(ours.coef_[k], ours.intercept_[k])
        value, gradient = objective(theta, k)
        assert np.abs(gradient).max() < 1e-8 * weight.sum()
        other = minimize(objective, np.zeros(4), (k,), jac=True, options={"gtol": 1e-8})
        assert value <= other.fun + 1e-9
    assert (ours.n_iter_ >= 1).all()


def test_one_sided_loss_says_when_steps_run_out(rows):
    X, y, costs, _ = rows
    with pytest.warns(ConvergenceWarning, match="max_iter=1 steps for [1-4] classes"):
        Osr(loss="one_sided", max_iter=1).fit(X, y, costs=costs)


def test_nothing_charged_leaves_a_constant(rng):
    """Where a constant per class is on the right side of every row, no feature is used."""
    X = rng.normal(size=(20, 2))
    costs = np.tile([0.0, 1.0, 2.0], (20, 1))
    model = Osr(loss="one_sided").fit(X, np.arange(20) % 3, costs=costs)
    np.testing.assert_allclose(model.coef_, 0, atol=1e-12)
    assert set(model.predict(X)) == {0}


def test_any_regressor():
    X, y = load_iris(return_X_y=True)
    costs = np.array([[0, 1, 9], [1, 0, 1], [9, 1, 0]])
    model = Osr(DecisionTreeRegressor(max_depth=3, random_state=0)).fit(X, y, costs=costs)
    assert model.score(X, y, costs=costs) > -0.05
    expected = [
        DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, c).predict(X) for c in costs[y].T
    ]
    np.testing.assert_array_equal(-model.decision_function(X), np.column_stack(expected))
    with pytest.raises(TypeError, match=r"KNeighborsRegressor\.fit does not"):
        Osr(KNeighborsRegressor()).fit(X, y, costs=costs, sample_weight=np.ones(150))
    with pytest.raises(ValueError, match='loss="one_sided" needs estimator=None'):
        Osr(Ridge(), loss="one_sided").fit(X, y, costs=costs)
