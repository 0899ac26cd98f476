"""SVRank's solver against quadratic programmes, limits, and its own certificate."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import lsq_linear, minimize

from rankwise.losses.absolute_loss import pairwise_absolute
from rankwise_papers.svrank_path import svrank_path

LAMS = 10.0 ** np.arange(2, -6.1, -1)


def problem(seed, n=12, *, grades=0, columns=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, columns))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + rng.standard_t(2, size=n)
    if grades:
        y = np.clip(np.round(y), 0, grades - 1)
    D = ((X[:, None] - X[None]) ** 2).sum(-1)
    return X, y, np.exp(-D / np.median(D))


def objective(K, y, a, lam, epsilon=0.0, indptr=None, w=None):
    """The definition: pairs one by one."""
    indptr = [0, len(y)] if indptr is None else indptr
    w = np.ones(len(y)) if w is None else w
    r = y - K @ a
    total = sum(
        w[i] * w[j] * max(0.0, abs(r[i] - r[j]) - epsilon)
        for lo, hi in itertools.pairwise(indptr)
        for i in range(lo, hi)
        for j in range(lo, hi)
    )
    pairs = sum(w[lo:hi].sum() ** 2 for lo, hi in itertools.pairwise(indptr))
    return total / pairs + lam * a @ K @ a


def pair_rows(n, indptr=None):
    indptr = [0, n] if indptr is None else indptr
    pairs = [
        pair for lo, hi in itertools.pairwise(indptr) for pair in itertools.combinations(
            range(lo, hi), 2
        )
    ]  # fmt: skip
    B = np.zeros((len(pairs), n))
    for k, (i, j) in enumerate(pairs):
        B[k, i], B[k, j] = 1.0, -1.0
    return B


def by_bounded_least_squares(K, y, lam):
    """epsilon = 0: the dual over s in [-1, 1] per pair is bounded least squares (exact, BVLS)."""
    n = len(y)
    B = pair_rows(n) * (2.0 / n**2)
    values, vectors = np.linalg.eigh(K / (2 * lam))
    root = np.sqrt(values)[:, None] * vectors.T
    s = lsq_linear(
        root @ B.T, (vectors.T @ y) / np.sqrt(values), (-1, 1), method="bvls", tol=1e-15
    ).x
    return B.T @ s / (2 * lam)


def by_quadratic_programme(K, y, lam, epsilon, indptr=None, w=None):
    """Slack form of the primal, SLSQP: minimise c't + lam a'K a, t >= 0, t >= |d| - epsilon."""
    n = len(y)
    indptr = [0, n] if indptr is None else indptr
    w = np.ones(n) if w is None else w
    B = pair_rows(n, indptr)
    S = sum(w[lo:hi].sum() ** 2 for lo, hi in itertools.pairwise(indptr))
    c = np.array([2 * np.prod(w[np.flatnonzero(row)]) / S for row in B])
    BK, By, p = B @ K, B @ y, len(B)
    identity = np.eye(p)
    constraints = [
        {
            "type": "ineq",
            "fun": lambda x, sign=sign: x[n:] - sign * (By - BK @ x[:n]) + epsilon,
            "jac": lambda x, sign=sign: np.hstack([sign * BK, identity]),
        }
        for sign in (1.0, -1.0)
    ]
    start = np.concatenate([np.zeros(n), np.maximum(0, np.abs(By) - epsilon)])
    found = minimize(
        lambda x: c @ x[n:] + lam * x[:n] @ K @ x[:n],
        start,
        jac=lambda x: np.concatenate([2 * lam * K @ x[:n], c]),
        bounds=[(None, None)] * n + [(0, None)] * p,
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return found.fun


@pytest.mark.parametrize("grades", [0, 3])
@pytest.mark.parametrize("lam", [10.0, 1.0, 0.1, 0.01, 1e-3])
def test_bounded_least_squares(lam, grades):
    _, y, K = problem(1, 10, grades=grades)
    exact = by_bounded_least_squares(K, y, lam)
    (result,) = svrank_path(K, y, lam, tol=1e-12)
    assert result.converged
    scores = K @ np.stack([exact, result.x], axis=1)
    scores -= scores.mean(axis=0)
    np.testing.assert_allclose(scores[:, 0], scores[:, 1], atol=1e-6)
    ours, theirs = objective(K, y, result.x, lam), objective(K, y, exact, lam)
    assert ours == pytest.approx(theirs, rel=1e-9)
    assert ours <= theirs * (1 + 1e-11)


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("lam", [1.0, 0.1, 0.01])
def test_quadratic_programme(lam, epsilon):
    _, y, K = problem(2, 7)
    w = np.array([1.0, 2.0, 1.0, 1.0, 3.0, 1.0, 1.0])
    indptr = np.array([0, 3, 7])
    (result,) = svrank_path(K, y, lam, epsilon, indptr=indptr, sample_weight=w, tol=1e-11)
    ours = objective(K, y, result.x, lam, epsilon, indptr, w)
    theirs = by_quadratic_programme(K, y, lam, epsilon, indptr, w)
    assert ours <= theirs * (1 + 1e-10)
    assert ours == pytest.approx(theirs, rel=1e-7)


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("grades", [0, 4])
def test_the_gap_bounds_the_distance_to_the_optimum(grades, epsilon):
    """The dual value of a loose solution never exceeds the objective of a tight one."""
    _, y, K = problem(3, 40, grades=grades)
    for lam in (1.0, 0.03, 1e-3):
        tight = svrank_path(K, y, lam, epsilon, tol=1e-10)[0]
        loose = svrank_path(K, y, lam, epsilon, tol=1e-2)[0]
        assert tight.converged
        assert loose.converged
        best, value = (objective(K, y, a.x, lam, epsilon) for a in (tight, loose))
        assert value >= best * (1 - 1e-9)
        assert value * (1 - loose.stop_value) <= best * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("grades", [0, 4])
def test_nine_powers_of_ten_converge_from_warm_and_cold(grades, epsilon):
    _, y, K = problem(4, 50, grades=grades)
    loss = pairwise_absolute(np.array([0, 50]), epsilon=epsilon)
    path = svrank_path(K, y, LAMS, epsilon)
    for lam, warm in zip(LAMS, path, strict=True):
        (cold,) = svrank_path(K, y, lam, epsilon)
        values = [loss.value(y - K @ a.x) + lam * a.x @ K @ a.x for a in (warm, cold)]
        assert warm.converged
        assert cold.converged
        assert values[0] == pytest.approx(values[1], rel=2e-6)
        assert warm.n_iter < 100
        assert cold.n_iter < 200


def test_order_of_the_grid_does_not_matter():
    _, y, K = problem(5, 20)
    down, up = svrank_path(K, y, [1.0, 0.1, 0.01]), svrank_path(K, y, [0.01, 0.1, 1.0])
    for a, b in zip(down, reversed(up), strict=True):
        np.testing.assert_array_equal(a.x, b.x)


def test_a_small_penalty_interpolates_and_a_large_one_gives_nothing():
    _, y, K = problem(6, 20)
    small, large = svrank_path(K, y, [1e-7, 1e6])
    assert np.ptp(y - K @ small.x) < 1e-5
    assert np.abs(K @ large.x).max() < 1e-6


def test_an_epsilon_beyond_all_differences_gives_nothing():
    _, y, K = problem(7, 20)
    (result,) = svrank_path(K, y, 1e-3, float(np.ptp(y)))
    assert result.n_iter == 0
    np.testing.assert_array_equal(result.x, 0.0)


def test_large_penalty_in_closed_form():
    """Without ties nothing but the order of y counts: a = (1/lam) (2 i - m - 1) / m^2 ."""
    _, y, K = problem(8, 20)
    (result,) = svrank_path(K, y, 1e3)
    rank = np.argsort(np.argsort(y)) + 1
    np.testing.assert_allclose(result.x, (2 * rank - 21) / 400 / 1e3, rtol=1e-12)


def test_weights_are_repetition():
    _, y, K = problem(9, 15, grades=4)
    w = np.random.default_rng(0).integers(1, 4, 15)
    rows = np.repeat(np.arange(15), w)
    for epsilon in (0.0, 0.3):
        for lam in (0.1, 1e-3):
            (weighted,) = svrank_path(K, y, lam, epsilon, sample_weight=w * 1.0, tol=1e-10)
            (repeated,) = svrank_path(K[np.ix_(rows, rows)], y[rows], lam, epsilon, tol=1e-10)
            difference = K @ weighted.x - K[:, rows] @ repeated.x
            assert np.ptp(difference) < 1e-5


def test_conditionally_definite_kernels():
    """Minus the distance is definite where dual values sum to zero; a constant changes nothing."""
    X, y, _ = problem(10, 25)
    K = -np.sqrt(((X[:, None] - X[None]) ** 2).sum(-1))
    for lam in (1.0, 1e-3):
        (plain,) = svrank_path(K, y, lam, tol=1e-10)
        (shifted,) = svrank_path(K + 100.0, y, lam, tol=1e-10)
        assert plain.converged
        assert abs(plain.x.sum()) < 1e-12
        np.testing.assert_allclose(plain.x, shifted.x, atol=1e-8 * np.abs(plain.x).max())


@pytest.mark.parametrize("y", [np.ones(6), np.arange(6) == 2, [0.0] * 5 + [1e9]])
def test_degenerate_targets(y):
    y = np.asarray(y, dtype=float)
    _, _, K = problem(11, 6)
    for result in svrank_path(K, y, [1.0, 1e-2, 1e-4]):
        assert result.converged


def test_too_few_steps_are_reported():
    _, y, K = problem(12, 40)
    (result,) = svrank_path(K, y, 1e-2, max_iter=2)
    assert not result.converged
    assert result.n_iter == 2
    assert result.stop_value > 1e-6


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_weighted_interpolation_keeps_its_digits(epsilon):
    """Dual values far inside the polytope: their sums must vanish to their own rounding."""
    rng = np.random.default_rng(13)
    y, w = rng.normal(size=40), rng.random(40) + 0.01
    for lam in (1e-2, 1e-5):
        (result,) = svrank_path(1e4 * np.eye(40), y, lam, epsilon, sample_weight=w)
        assert result.converged
        assert result.n_iter < 100


def test_equal_rows_leave_nothing_to_fit():
    y = np.arange(5.0)
    for epsilon in (0.0, 0.3):
        (result,) = svrank_path(np.ones((5, 5)), y, 0.1, epsilon)
        assert result.converged
        # Every score is the sum of x, which is 0 up to the rounding of the five terms.
        rounding = 5 * np.finfo(float).eps * np.abs(result.x).sum()
        assert np.abs(np.ones((5, 5)) @ result.x).max() <= rounding
