"""Ordinal support vector machines' dual against LIBSVM, naive loops and its own optimality."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC

from rankwise.features.kernels import Kernel
from rankwise.solvers.svm import ordinal_smo
from rankwise.solvers.svm.ordinal_smo import OrdinalSMO, kernel_rows

PERCEPTRON, RBF = Kernel("perceptron"), Kernel("rbf", gamma=0.3)
PLENTY = 2**30


def graded(n, n_classes, seed=0):
    """Rows whose class follows a curved function of them, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    utility = np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=n)
    cuts = np.quantile(utility, np.linspace(0, 1, n_classes + 1)[1:-1])
    return X, np.digitize(utility, cuts).astype(np.int64)


def signs_of(y, n_thresholds):
    return np.where(np.arange(n_thresholds) < y[:, None], 1.0, -1.0)


def violation_of(K, y, upper, alpha, *, intercept=True):
    """Largest violation of the optimality conditions, from the variables alone."""
    s = signs_of(y, upper.shape[1])
    signed = alpha * s
    v = s - signed.sum(axis=0) - (K @ signed.sum(axis=1))[:, None]
    can_rise = np.where(s > 0, alpha < upper, alpha > 0)
    can_fall = np.where(s > 0, alpha > 0, alpha < upper)
    if intercept:
        return v[can_rise].max() - v[can_fall].min()
    return max(v[can_rise].max(), -v[can_fall].min())


def expanded(K, y, n_thresholds):
    """Kernel and signs of the binary problem over all pairs (row, threshold)."""
    square = np.ones((n_thresholds, n_thresholds))
    Q = np.kron(K, square) + np.kron(np.ones_like(K), np.eye(n_thresholds))
    return Q, signs_of(y, n_thresholds).ravel()


@pytest.mark.parametrize("kernel", [PERCEPTRON, RBF], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize(("n_classes", "C"), [(2, 1.0), (4, 0.1), (4, 3.0), (7, 1.0)])
def test_same_optimum_as_scikit_learn_on_all_pairs(kernel, n_classes, C):
    X, y = graded(90, n_classes)
    weights = np.random.default_rng(1).uniform(0.2, 2.0, (90, n_classes - 1))
    K = kernel(X, X)
    result = OrdinalSMO(tol=1e-6).solve(kernel_rows(kernel, X, PLENTY), y, C * weights)
    Q, s = expanded(K, y, n_classes - 1)
    machine = SVC(kernel="precomputed", C=C, tol=1e-5)
    machine.fit(Q, s, sample_weight=weights.ravel())
    signed = np.zeros(len(s))
    signed[machine.support_] = machine.dual_coef_[0]
    expected = 0.5 * signed @ Q @ signed - np.abs(signed).sum()
    assert result.converged
    assert result.x.dual_objective == pytest.approx(expected, rel=1e-6)
    margins = result.x.scores[:, None] + result.x.intercept + result.x.theta
    np.testing.assert_allclose(margins.ravel(), machine.decision_function(Q), atol=1e-3)
    clear = np.abs(margins.ravel()) > 1e-4
    np.testing.assert_array_equal(np.sign(margins).ravel()[clear], machine.predict(Q)[clear])


@pytest.mark.parametrize("intercept", [True, False])
def test_optimality_conditions_and_bounds(intercept):
    X, y = graded(150, 5, seed=2)
    upper = np.random.default_rng(3).uniform(0.0, 5.0, (150, 4))
    upper[::7, 1] = 0.0
    K = RBF(X, X)
    result = OrdinalSMO(1e-8, intercept).solve(kernel_rows(RBF, X, PLENTY), y, upper)
    x = result.x
    assert ((x.alpha >= 0) & (x.alpha <= upper)).all()
    assert violation_of(K, y, upper, x.alpha, intercept=intercept) < 2e-8
    assert result.stop_value <= 1e-8
    signed = x.alpha * signs_of(y, 4)
    if intercept:
        assert abs(signed.sum()) < 1e-10
    np.testing.assert_allclose(x.theta, signed.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(x.scores, K @ x.coef, atol=1e-9)
    margins = signs_of(y, 4) * (x.scores[:, None] + x.theta + x.intercept)
    losses = (upper * np.maximum(0, 1 - margins)).sum()
    norm = 0.5 * (x.coef @ K @ x.coef + x.theta @ x.theta)
    assert x.objective == pytest.approx(norm + losses, rel=1e-12)
    assert x.dual_objective == pytest.approx(norm - x.alpha.sum(), rel=1e-12)
    assert 0 <= x.gap < 1e-8


def test_without_intercept_as_by_coordinate_descent():
    X, y = graded(20, 4, seed=4)
    upper = np.full((20, 3), 2.0)
    Q, s = expanded(RBF(X, X), y, 3)
    alpha = np.zeros(len(s))
    for _ in range(1500):
        for i in range(len(s)):
            gradient = s[i] * (Q[i] @ (alpha * s)) - 1
            alpha[i] = min(max(alpha[i] - gradient / Q[i, i], 0.0), 2.0)
    expected = 0.5 * (alpha * s) @ Q @ (alpha * s) - alpha.sum()
    result = OrdinalSMO(1e-9, intercept=False).solve(kernel_rows(RBF, X, PLENTY), y, upper)
    assert result.x.dual_objective == pytest.approx(expected, rel=1e-9)
    assert result.x.intercept == 0.0


@pytest.mark.parametrize("intercept", [True, False])
def test_a_few_kernel_rows_at_a_time_give_the_same_solution(intercept):
    X, y = graded(120, 4, seed=5)
    upper = np.full((120, 3), 3.0)
    solver = OrdinalSMO(1e-6, intercept)
    whole = solver.solve(kernel_rows(RBF, X, PLENTY), y, upper).x
    single = kernel_rows(RBF, X, 4 * 120**2)
    assert single.is_whole
    assert single.values.dtype == np.float32
    cached = kernel_rows(RBF, X, 10 * 4 * 120)
    assert cached.values.shape == (10, 120)
    computed, evaluate = [], cached.evaluate
    cached.evaluate = lambda rows: computed.append(rows) or evaluate(rows)
    for rows in (single, cached):
        x = solver.solve(rows, y, upper).x
        assert x.dual_objective == pytest.approx(whole.dual_objective, rel=1e-6)
        np.testing.assert_allclose(x.scores, whole.scores, atol=1e-4)
    assert len(computed) > 120
    held = np.flatnonzero(cached.slots >= 0)
    np.testing.assert_array_equal(np.sort(cached.slots[held]), np.arange(10))
    np.testing.assert_allclose(cached.values[cached.slots[held]], RBF(X[held], X), rtol=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
def test_rows_left_out_on_the_way_change_nothing(intercept, monkeypatch):
    X, y = graded(400, 5, seed=6)
    upper = np.full((400, 4), 10.0)
    kernel = kernel_rows(RBF, X, PLENTY)
    sizes = []
    shrink = ordinal_smo._ActiveRows.shrink

    def watched(rows, top, low):
        shrink(rows, top, low)
        sizes.append(len(rows.active))

    monkeypatch.setattr(ordinal_smo._ActiveRows, "shrink", watched)
    monkeypatch.setattr(ordinal_smo, "SHRINK_STEPS", 100)
    quick = OrdinalSMO(1e-7, intercept).solve(kernel, y, upper)
    assert min(sizes) < 300
    monkeypatch.setattr(ordinal_smo, "SHRINK_STEPS", 10**9)
    plain = OrdinalSMO(1e-7, intercept).solve(kernel, y, upper)
    assert quick.x.dual_objective == pytest.approx(plain.x.dual_objective, rel=1e-10)
    K = RBF(X, X)
    assert violation_of(K, y, upper, quick.x.alpha, intercept=intercept) < 2e-7
    np.testing.assert_allclose(quick.x.scores, K @ quick.x.coef, atol=1e-9)


def test_warm_starts_take_fewer_steps():
    X, y = graded(200, 5, seed=7)
    kernel, solver = kernel_rows(PERCEPTRON, X, PLENTY), OrdinalSMO(1e-5)
    weak = solver.solve(kernel, y, np.full((200, 4), 1.0))
    strong = solver.solve(kernel, y, np.full((200, 4), 1.5))
    warm = solver.solve(kernel, y, np.full((200, 4), 1.5), weak.x, 1.5)
    assert warm.n_iter < 0.8 * strong.n_iter
    assert warm.x.dual_objective == pytest.approx(strong.x.dual_objective, rel=1e-6)
    again = solver.solve(kernel, y, np.full((200, 4), 1.5), strong.x)
    assert again.n_iter == 0


def test_rows_without_bounds_take_no_part():
    X, y = graded(60, 3, seed=8)
    upper = np.full((60, 2), 1.0)
    upper[::2] = 0.0
    some = OrdinalSMO(1e-9).solve(kernel_rows(RBF, X, PLENTY), y, upper).x
    alone = OrdinalSMO(1e-9).solve(kernel_rows(RBF, X[1::2], PLENTY), y[1::2], upper[1::2]).x
    assert (some.alpha[::2] == 0).all()
    np.testing.assert_allclose(some.scores[1::2], alone.scores, atol=1e-8)
    np.testing.assert_allclose(some.theta, alone.theta, atol=1e-8)


def test_a_constant_in_the_kernel_changes_nothing():
    X, y = graded(60, 4, seed=9)
    upper = np.full((60, 3), 2.0)
    plain, shifted = (
        OrdinalSMO(1e-9).solve(kernel_rows(Kernel("perceptron", delta=d), X, PLENTY), y, upper).x
        for d in (0.0, 8.0)
    )
    np.testing.assert_allclose(shifted.scores, plain.scores, atol=1e-7)
    np.testing.assert_allclose(shifted.theta, plain.theta, atol=1e-7)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_convex_costs_order_the_thresholds(intercept, seed):
    """|c_k - c_{k+1}| that do not fall with the distance from the class: Li & Lin's theorem."""
    X, y = graded(80, 5, seed)
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(80) < 0.4, rng.integers(0, 5, 80), y)
    distance = np.abs(np.arange(4) + 0.5 - y[:, None])
    for weights in (np.ones((80, 4)), distance, distance**3 * rng.uniform(0.1, 1, (80, 1))):
        result = OrdinalSMO(1e-8, intercept).solve(kernel_rows(RBF, X, PLENTY), y, 3.0 * weights)
        assert (np.diff(result.x.theta) <= 1e-7).all()


def test_costs_that_are_only_v_shaped_do_not():
    """Counter-example: zero-one costs, a rare middle class, and rows that tell nothing."""
    y = np.repeat([0, 1, 2], [10, 1, 10])
    weights = (np.abs(np.arange(2) + 0.5 - y[:, None]) < 1).astype(float)
    rows = kernel_rows(RBF, np.zeros((21, 1)), PLENTY)
    result = OrdinalSMO(1e-8).solve(rows, y, weights)
    assert np.diff(result.x.theta) > 1.9


@pytest.mark.parametrize("present", [[0], [2], [3], [0, 3], [1, 2]])
def test_classes_without_rows(present):
    X, y = graded(40, len(present), seed=10)
    y = np.array(present)[y]
    for intercept in (True, False):
        result = OrdinalSMO(1e-6, intercept).solve(
            kernel_rows(RBF, X, PLENTY), y, np.full((40, 3), 50.0)
        )
        assert result.converged
        margins = result.x.scores[:, None] + result.x.intercept + result.x.theta
        assert ((margins > 0).sum(axis=1) == y).mean() > 0.9
        assert (np.diff(result.x.theta) <= 1e-5).all()


def test_no_threshold_and_no_row_to_fit():
    X, y = graded(10, 1)
    kernel = kernel_rows(RBF, X, PLENTY)
    for upper in (np.ones((10, 0)), np.zeros((10, 3))):
        result = OrdinalSMO().solve(kernel, y, upper)
        assert result.converged
        assert result.x.dual_objective == result.x.objective == result.x.gap == 0.0


def test_equal_rows_of_different_classes():
    X = np.zeros((6, 2))
    y = np.array([0, 1, 2, 0, 1, 2])
    result = OrdinalSMO(1e-8).solve(kernel_rows(RBF, X, PLENTY), y, np.ones((6, 2)))
    assert result.converged
    assert violation_of(np.ones((6, 6)), y, np.ones((6, 2)), result.x.alpha) < 2e-8


def test_steps_are_limited():
    X, y = graded(100, 4)
    result = OrdinalSMO(1e-9, max_iter=20).solve(kernel_rows(RBF, X, PLENTY), y, np.ones((100, 3)))
    assert result.n_iter == 20
    assert not result.converged
    K = RBF(X, X)
    expected = violation_of(K, y, np.ones((100, 3)), result.x.alpha)
    assert result.stop_value == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(result.x.scores, K @ result.x.coef, atol=1e-10)


def test_memory_and_kernels_that_do_not_fit_are_named():
    X, _ = graded(100, 2)
    with pytest.raises(ValueError, match="max_bytes=3000 is less than the 3200 bytes of 8 rows"):
        kernel_rows(RBF, X, 3000)
    given = Kernel("callable", function=lambda A, B: A @ B.T)
    with pytest.raises(ValueError, match="max_bytes=3200 is less than the 80000 bytes"):
        kernel_rows(given, X, 3200)
    with pytest.raises(ValueError, match="must be symmetric"):
        kernel_rows(Kernel("callable", function=lambda A, B: A[:, :1] + 2 * B[:, 0]), X, PLENTY)
    with pytest.raises(ValueError, match="must be finite between training rows"):
        kernel_rows(Kernel("polynomial", gamma=1e200, degree=2), X, PLENTY)


def test_diagonal_of_named_kernels():
    X, _ = graded(20, 2)
    for kernel in (
        RBF,
        Kernel("laplacian", gamma=0.2),
        Kernel("perceptron", delta=3.0),
        Kernel("stump", delta=1.0),
        Kernel("linear"),
        Kernel("polynomial", gamma=0.5),
        Kernel("sigmoid", gamma=0.5),
    ):
        np.testing.assert_allclose(kernel.diagonal(X), np.diagonal(kernel(X, X)), rtol=1e-14)


def test_rows_of_a_given_kernel_are_contiguous_and_checked_against_its_columns():
    K = np.random.default_rng(12).normal(size=(600, 600))
    K += K.T
    part = np.random.default_rng(13).permutation(600)[:550]
    given = Kernel("precomputed")
    rows = kernel_rows(given, K[part], PLENTY, part)
    assert rows.values.flags.c_contiguous
    np.testing.assert_array_equal(rows.values, K[np.ix_(part, part)])
    for i, j in ((part[0], part[-1]), (part[-1], part[0]), (part[300], part[301])):
        skewed = K.copy()
        skewed[i, j] += 1e-5
        with pytest.raises(ValueError, match="kernel must be symmetric"):
            kernel_rows(given, skewed[part], PLENTY, part)
    skewed = K.copy()
    skewed[0, 599] += 1e-12
    assert kernel_rows(given, skewed, PLENTY).is_whole
