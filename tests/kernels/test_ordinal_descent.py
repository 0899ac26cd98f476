"""Products with powers of features against NumPy, single rows against their optimality."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from rankwise.kernels.ordinal_descent import (
    add_csr,
    add_rows,
    descend_csr,
    descend_rows,
    norms_csr,
    norms_rows,
    respond,
    scores_csr,
    scores_rows,
)

N, D, K = 14, 3, 4


@pytest.fixture
def table(rng):
    """Rows with zeros, their CSR form, scales, and a part of the rows in another order."""
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.7)
    X[4] = 0
    rows = sparse.csr_array(X)
    csr = rows.data, rows.indices, rows.indptr
    return X, csr, rng.uniform(0.5, 2, D), rng.permutation(N)[:10]


def powers(X, inverse, degree):
    return np.concatenate([(X * inverse) ** (p + 1) for p in range(degree)], axis=1)


@pytest.mark.parametrize("degree", range(1, 6))
def test_products(degree, table, rng):
    X, csr, inverse, rows = table
    phi = powers(X[rows], inverse, degree)
    w, factors = rng.normal(size=(degree, D)), rng.normal(size=10)
    factors[2] = 0
    for scores, add, norms, form, weights in (
        (scores_rows, add_rows, norms_rows, X, w),
        (scores_csr, add_csr, norms_csr, csr, np.ascontiguousarray(w.T)),
    ):
        out = np.empty(10)
        scores(form, inverse, rows, weights, out)
        np.testing.assert_allclose(out, phi @ w.ravel(), atol=1e-11)
        norms(form, inverse, rows, degree, out)
        np.testing.assert_allclose(out, (phi**2).sum(1), rtol=1e-11)
        total = weights.copy()
        add(form, inverse, rows, factors, total)
        added = (total - weights).T if form is csr else total - weights
        np.testing.assert_allclose(added.ravel(), factors @ phi, atol=1e-10)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_passes(form, squared, table, rng):
    """A visited row is at its optimum; passes end at that of the whole dual problem."""
    X, csr, inverse, rows = table
    degree, n = 2, len(rows)
    phi, codes = powers(X[rows], inverse, degree), rng.integers(0, K, n)
    weight = rng.uniform(0.2, 2, (n, K - 1))
    weight[3, 1] = 0
    signs = np.where(np.arange(K - 1) < codes[:, None], 1.0, -1.0)
    norms, alpha, theta = (phi**2).sum(1), np.zeros((n, K - 1)), np.zeros(K - 1)
    w = np.zeros((degree, D) if form == "dense" else (D, degree))
    descend, given = (descend_rows, X) if form == "dense" else (descend_csr, csr)

    def visit(order, slack):
        state = w, theta, alpha
        return descend(given, inverse, rows, order, codes, weight, norms, state, squared, slack)

    def violations(mine):
        flat = w.ravel() if form == "dense" else w.T.ravel()
        np.testing.assert_allclose(flat, (alpha * signs).sum(1) @ phi, atol=1e-9)
        np.testing.assert_allclose(theta, (alpha * signs).sum(0), atol=1e-9)
        gradient = signs[mine] * ((phi[mine] @ flat)[:, None] + theta) - 1
        upper = weight[mine]
        if squared:
            gradient += alpha[mine] / (2 * np.where(upper > 0, upper, 1))
            upper = np.where(upper > 0, np.inf, 0)
        free = np.where(alpha[mine] == 0, np.minimum(gradient, 0), gradient)
        free = np.where((alpha[mine] == upper) & (alpha[mine] > 0), np.maximum(free, 0), free)
        return np.where(weight[mine] > 0, abs(free), 0)

    for i in (0, 3, 7, 0):
        assert visit(np.array([i]), np.inf)[0] == 1
        assert violations([i]).max() < 1e-9
    for _ in range(20_000):
        n_left, gap, largest = visit(np.arange(n), np.inf)
    assert n_left == n
    assert violations(np.arange(n)).max() < 1e-6
    assert abs(gap) < 1e-6
    assert largest < 1e-6
    order = np.arange(n)
    n_left, _, _ = visit(order, 1e-3)  # rows at bounds go last
    assert sorted(order) == list(range(n))
    if squared:
        assert n_left <= n
    else:
        bounds = (alpha[order[n_left:]] == 0) | (alpha[order[n_left:]] == weight[order[n_left:]])
        assert bounds.all()


@pytest.mark.parametrize(("squared", "bend"), [(False, 0.3), (True, 0.0)])
def test_responses(squared, bend, rng):
    scores, theta, codes = rng.normal(size=N), rng.normal(size=K - 1), rng.integers(0, K, N)
    weight, centre = rng.uniform(0.2, 2, (2, N, K - 1))
    weight[3] = 0
    shape = N, K - 1
    outputs = np.empty(shape), np.empty(shape), np.empty(N), np.empty(K - 1)
    values = respond(scores, theta, codes, weight, centre, bend, squared, outputs)
    alpha, slopes, signed, of_thresholds = outputs
    h, expected = (0.5 if squared else 0.0), np.zeros(4)
    signs = np.where(np.arange(K - 1) < codes[:, None], 1.0, -1.0)
    for n in range(N):
        for k in range(K - 1):
            w = weight[n, k]
            if w == 0:
                assert alpha[n, k] == slopes[n, k] == 0
                continue
            short = 1 - signs[n, k] * (scores[n] + theta[k])
            raw = (bend * centre[n, k] + w * short) / (bend + h)
            a = np.clip(raw, 0, np.inf if squared else w)
            assert alpha[n, k] == pytest.approx(a, abs=1e-14)
            assert slopes[n, k] == pytest.approx(w / (bend + h) if raw == a and a > 0 else 0)
            away = bend * (a - centre[n, k]) ** 2 / w
            dual = h * a**2 / (2 * w)
            loss = w * max(short, 0) ** (1 + squared)
            expected += [loss, a - dual, a * short - dual - away / 2, away]
    np.testing.assert_allclose(values, expected)
    np.testing.assert_allclose(signed, (alpha * signs).sum(1), atol=1e-13)
    np.testing.assert_allclose(of_thresholds, (alpha * signs).sum(0), atol=1e-13)
