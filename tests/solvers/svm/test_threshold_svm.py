"""Linear scores with thresholds: products with powers, single rows, optima against LIBLINEAR."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from rankwise.solvers.svm.threshold_solver import (
    PowerRows,
    ThresholdHinge,
    descend,
    solution_of,
    take_newton_steps,
)


def powers(X, degree):
    return np.hstack([X.astype(float) ** p for p in range(1, degree + 1)])


def problem(seed, *, n=60, d=3, K=4, degree=2, squared=False):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    utility = X @ rng.normal(size=d) + 0.4 * rng.normal(size=n)
    codes = np.digitize(utility, np.quantile(utility, np.linspace(0, 1, K + 1)[1:-1]))
    weight = rng.uniform(0.5, 2.0, (n, K - 1)) * (rng.random((n, K - 1)) < 0.9)
    loss = ThresholdHinge(codes.astype(np.int64), weight, squared)
    return X, loss, PowerRows(X, degree)


def expansion(Z, codes, weight):
    """The binary rows ``(z_n, e_k)`` with their labels and weights."""
    K1 = weight.shape[1]
    rows = np.hstack([np.repeat(Z, K1, axis=0), np.tile(np.eye(K1), (len(Z), 1))])
    labels = np.where(np.tile(np.arange(K1), len(Z)) < np.repeat(codes, K1), 1, -1)
    return rows, labels, weight.ravel()


def liblinear(Z, loss, C):
    rows, labels, weight = expansion(Z, loss.codes, loss.weight)
    kept = weight > 0
    dual: Any = not loss.squared
    machine = LinearSVC(
        loss="squared_hinge" if loss.squared else "hinge",
        C=C,
        fit_intercept=False,
        tol=1e-10,
        max_iter=10**5,
        dual=dual,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(rows[kept], labels[kept], sample_weight=weight[kept])
    w = machine.coef_[0]
    beyond = np.maximum(1 - labels * (rows @ w), 0)
    return w, 0.5 * w @ w + C * weight @ (beyond**2 if loss.squared else beyond)


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_those_of_the_powers(degree, dtype):
    rng = np.random.default_rng(degree)
    X = (rng.normal(size=(50, 7)) * (rng.random((50, 7)) < 0.6)).astype(dtype)
    inverse, which = rng.uniform(0.5, 2.0, 7), rng.permutation(50)[:40]
    Z = powers(X[which] * inverse, degree)
    w, factors = rng.normal(size=7 * degree), rng.normal(size=40)
    factors[::3] = 0.0
    for stored in (X, np.asfortranarray(X), sparse.csr_array(X)):
        rows = PowerRows(stored, degree, inverse, which)
        assert rows.n_columns == Z.shape[1]
        np.testing.assert_allclose(rows.scores(w), Z @ w, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(rows.transposed(factors), Z.T @ factors, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(rows.norms, (Z**2).sum(axis=1), rtol=1e-12)
        np.testing.assert_allclose(rows.expanded(np.array([3, 0])), Z[[3, 0]], rtol=1e-12)
        np.testing.assert_array_equal(rows.weights(rows.table(w)), w)


@given(st.integers(0, 10_000), st.booleans(), st.integers(2, 6))
def test_a_row_is_solved_at_once(seed, squared, K):
    rng = np.random.default_rng(seed)
    X = rng.choice([0.0, 0.1, 1.0, 10.0], (1, 2))
    weight = rng.choice([0.0, 0.01, 1.0, 100.0], (1, K - 1))
    codes = rng.integers(0, K, 1)
    rows = PowerRows(X, 2)
    table = rows.table(rng.normal(size=rows.n_columns))
    theta = rng.normal(size=K - 1)
    alpha = weight * rng.choice([0.0, 0.5, 1.0], weight.shape)
    order = np.zeros(1, dtype=np.int64)
    state = (table, theta, alpha)
    rows.descend(order, codes, weight, state, squared, np.inf)
    sign = np.where(np.arange(K - 1) < codes[0], 1.0, -1.0)
    score = rows.scores(rows.weights(table))[0]
    gradient = sign * (score + theta) - 1
    upper = weight[0]
    if squared:
        upper = np.where(weight[0] > 0, np.inf, 0.0)
        gradient += alpha[0] / (2 * np.where(weight[0] > 0, weight[0], 1.0))
    size = 1e-9 * (1 + rows.norms[0] * np.abs(alpha).sum())
    assert (alpha >= 0).all()
    assert (alpha[0] <= upper).all()
    assert (gradient[(alpha[0] == 0) & (upper > 0)] >= -size).all()
    assert (gradient[(alpha[0] == upper) & (upper > 0)] <= size).all()
    assert (np.abs(gradient[(alpha[0] > 0) & (alpha[0] < upper)]) <= size).all()


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("C", [0.05, 1.0])
@pytest.mark.parametrize("K", [2, 4])
def test_both_solvers_reach_the_optimum_of_the_expansion(squared, C, K):
    X, loss, rows = problem(3, K=K, squared=squared)
    _, best = liblinear(powers(X, 2), loss, C)
    nothing = np.zeros(loss.weight.shape)
    start = solution_of(loss.scaled(C), rows, nothing, 0, 0.0)
    descent = descend(loss.scaled(C), rows, nothing, 1e-9, 20_000)
    newton = take_newton_steps(loss.scaled(C), rows, start, 1e-9, 200)
    for solution in (descent, newton):
        assert solution.converged
        assert -1e-12 <= solution.stop_value <= 1e-9
        assert solution.objective <= best * (1 + 1e-8)
        assert solution.objective >= best * (1 - 1e-6)
    np.testing.assert_allclose(newton.x, descent.x, atol=1e-3)


@given(st.integers(0, 10_000), st.booleans())
def test_the_gap_bounds_the_distance(seed, squared):
    X, loss, rows = problem(seed, n=25, degree=1, squared=squared)
    rng = np.random.default_rng(seed)
    alpha = loss.weight * rng.random(loss.weight.shape)
    solution = solution_of(loss, rows, alpha, 0, 0.0)
    best = take_newton_steps(loss, rows, solution, 1e-10, 100)
    assert best.objective <= solution.objective + 1e-12
    assert solution.objective - best.objective <= solution.gap
    w, theta = solution.x, solution.theta
    Z, labels, weight = expansion(X, loss.codes, loss.weight)
    beyond = np.maximum(1 - labels * (Z @ np.concatenate([w, theta])), 0)
    literal = 0.5 * (w @ w + theta @ theta) + weight @ (beyond**2 if squared else beyond)
    assert solution.objective == pytest.approx(literal, rel=1e-12)


@pytest.mark.parametrize("squared", [False, True])
def test_the_bent_loss_has_the_dual_values_as_slopes(squared):
    _, loss, rows = problem(0, squared=squared)
    rng = np.random.default_rng(0)
    centre = loss.weight * rng.random(loss.weight.shape)
    scores, theta = rng.normal(size=rows.n_samples), rng.normal(size=3)
    bend = 0.0 if squared else 2.0
    here = loss.bent(scores, theta, centre, bend)
    assert here.loss == pytest.approx(loss.value(scores, theta))
    step, moves = 1e-6, rng.normal(size=rows.n_samples)
    there = loss.bent(scores + step * moves, theta + step, centre, bend)
    slope = -(here.signed @ moves + here.thresholds.sum())
    assert (there.bent - here.bent) / step == pytest.approx(slope, rel=1e-3)
    signs = np.where(np.arange(3) < loss.codes[:, None], 1.0, -1.0)
    np.testing.assert_allclose(here.signed, (signs * here.alpha).sum(axis=1), atol=1e-12)
    moved = signs * (here.alpha - there.alpha) / step
    expected = here.curvature * (moves[:, None] + 1.0)
    free = (here.curvature > 0) & (there.curvature > 0)
    assert free.sum() > 20
    np.testing.assert_allclose(moved[free], expected[free], rtol=1e-4, atol=1e-6)


def test_threads_change_no_bit(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(20_000, 60)).astype(np.float32)
    codes = (X[:, 0] + X[:, 1] + rng.normal(size=20_000) > [[0.7], [1.4]]).sum(axis=0)
    loss, found = ThresholdHinge(codes, np.full((20_000, 2), 0.01), False), []
    for n_threads in ("1", "3"):
        monkeypatch.setenv("RANKWISE_NUM_THREADS", n_threads)
        rows = PowerRows(X, 2)
        start = descend(loss, rows, np.zeros((20_000, 2)), 0.0, 2)
        found.append(take_newton_steps(loss, rows, start, 0.0, 3).x)
    np.testing.assert_array_equal(*found)
