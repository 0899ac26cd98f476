"""Steps of ordinal SVMs' dual against the conditions of its optimum over all variables."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.kernels.ordinal_smo import (
    CONVERGED,
    ROW_MISSING,
    STEPS_DONE,
    fill_tables,
    new_tables,
    pair_steps,
    place_rows,
    row_steps,
)


def signs_of(y, n_thresholds):
    return np.where(np.arange(n_thresholds) < y[:, None], 1.0, -1.0)


def test_codes_find_the_extremes_of_each_row():
    rng = np.random.default_rng(11)
    n, n_thresholds = 200, 5
    classes = rng.integers(0, 6, n)
    upper = rng.choice([0.0, 1.0, 2.0], (n, n_thresholds))
    alpha = upper * rng.choice([0.0, 0.4, 1.0], (n, n_thresholds))
    theta = rng.normal(size=n_thresholds)
    codes = np.empty((2, n), dtype=np.int32)
    state = (alpha, upper, np.zeros(n), theta, np.arange(5), codes[0], codes[1])
    place_rows(classes, state)
    assert (np.diff(theta[state[4]]) <= 0).all()
    tables = new_tables(n_thresholds)
    fill_tables(theta, state[4], tables)
    s = signs_of(classes, n_thresholds)
    can_rise = np.where(s > 0, alpha < upper, alpha > 0)
    can_fall = np.where(s > 0, alpha > 0, alpha < upper)
    rising = np.where(can_rise, s - theta, -1e300)
    falling = np.where(can_fall, s - theta, 1e300)
    np.testing.assert_array_equal(tables[0][codes[0]], rising.max(axis=1))
    np.testing.assert_array_equal(tables[2][codes[1]], falling.min(axis=1))
    movable = can_rise.any(axis=1)
    np.testing.assert_array_equal(tables[1][codes[0]][movable], rising.argmax(axis=1)[movable])
    movable = can_fall.any(axis=1)
    np.testing.assert_array_equal(tables[3][codes[1]][movable], falling.argmin(axis=1)[movable])


def problem(rng, n, n_thresholds):
    """Kernel matrix with equal rows, classes, bounds of which some are zero."""
    X = rng.normal(size=(n, 2))
    X[1:3] = X[0]
    K = np.exp(-((X[:, None] - X) ** 2).sum(-1))
    upper = rng.choice([0.0, 0.5, 2.0], (n, n_thresholds))
    upper[:2] = 1.0
    y = rng.integers(0, n_thresholds + 1, n)
    y[:2] = 0, n_thresholds  # something can move
    return K, y, upper


def start(K, y, upper):
    n, n_thresholds = upper.shape
    cache = K.copy(), np.arange(n), np.zeros(n + 1, np.int64)
    rows = np.arange(n), np.diagonal(K).copy(), y
    codes = np.empty((2, n), np.int32)
    state = (
        np.zeros((n, n_thresholds)), upper, np.zeros(n), np.zeros(n_thresholds),
        np.arange(n_thresholds), codes[0], codes[1],
    )  # fmt: skip
    place_rows(y, state)
    return cache, rows, state


def wants(K, y, state):
    """How much every variable wants to rise, which can, and which can fall; checks the state."""
    alpha, upper, f, theta = state[:4]
    s = signs_of(y, len(theta))
    np.testing.assert_allclose(f, K @ (alpha * s).sum(1), atol=1e-10)
    np.testing.assert_allclose(theta, (alpha * s).sum(0), atol=1e-10)
    assert (alpha >= 0).all()
    assert (alpha <= upper).all()
    rise = np.where(s > 0, alpha < upper, alpha > 0)
    fall = np.where(s > 0, alpha > 0, alpha < upper)
    return s - theta - f[:, None], rise, fall


@pytest.mark.parametrize("n_thresholds", [1, 3])
@pytest.mark.parametrize("n", [4, 25])
def test_pairs_of_variables(n, n_thresholds, rng):
    K, y, upper = problem(rng, n, n_thresholds)
    cache, rows, state = start(K, y, upper)
    assert pair_steps(cache, rows, state, 1e-9, 1)[1:3] == (-1, 1)
    status, row, _, top, low = pair_steps(cache, rows, state, 1e-9, 10**6)
    assert (status, row) == (CONVERGED, -1)
    v, rise, fall = wants(K, y, state)
    assert abs((state[0] * signs_of(y, n_thresholds)).sum()) < 1e-10
    assert v[rise].max() - v[fall].min() <= 2e-9
    assert top - low <= 1e-9


@pytest.mark.parametrize("n_thresholds", [1, 3])
@pytest.mark.parametrize("n", [4, 25])
def test_rows_of_variables(n, n_thresholds, rng):
    K, y, upper = problem(rng, n, n_thresholds)
    cache, rows, state = start(K, y, upper)
    assert row_steps(cache, rows, state, 1e-9, 1)[1:3] == (-1, 1)
    # After a step all variables of its row are at their best.
    mine = state[0].any(1)
    v, rise, fall = wants(K, y, state)
    assert np.where(rise[mine], v[mine], 0).max() < 1e-9
    assert np.where(fall[mine], v[mine], 0).min() > -1e-9
    status, row, _, violation, _ = row_steps(cache, rows, state, 1e-9, 10**6)
    assert (status, row) == (CONVERGED, -1)
    v, rise, fall = wants(K, y, state)
    assert max(v[rise].max(), -v[fall].min()) <= 2e-9
    assert violation <= 1e-9


@pytest.mark.parametrize("steps", [pair_steps, row_steps])
def test_a_missing_kernel_row_is_asked_for(steps, rng):
    K, y, upper = problem(rng, 25, 3)
    cache, rows, state = start(K, y, upper)
    assert steps(cache, rows, state, 1e-9, 0)[:3] == (STEPS_DONE, -1, 0)
    cache[1][:] = -1
    status, row, n_steps, _, _ = steps(cache, rows, state, 1e-9, 10)
    assert (status, n_steps) == (ROW_MISSING, 0)
    assert 0 <= row < 25
