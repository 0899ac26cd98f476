"""Random codes and sparse decoding, against loops that follow the published algorithms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import hadamard

from rankwise.labels import CompressedSensing
from rankwise.labels.multi_label.label_codes import hadamard_part
from rankwise.solvers.many_labels import cosamp, matching_pursuit


def naive_cosamp(code, target, s, max_iter):
    """Algorithm 1 of Needell & Tropp for one row, stopped where the residual no longer falls."""
    n_labels = code.shape[1]
    x, residual = np.zeros(n_labels), target
    for _ in range(max_iter):
        proxy = np.abs(code.T @ residual)
        chosen = np.argsort(-proxy, kind="stable")[: min(2 * s, n_labels)]
        support = np.union1d(chosen, np.flatnonzero(x)).astype(int)
        values = np.zeros(n_labels)
        values[support] = np.linalg.lstsq(code[:, support], target, rcond=1e-10)[0]
        x = np.zeros(n_labels)
        kept = support[np.argsort(-np.abs(values[support]), kind="stable")[:s]]
        x[kept] = values[kept]
        before, residual = residual, target - code @ x
        if residual @ residual >= before @ before:
            break
    return x


def naive_omp(code, target, s):
    """Orthogonal matching pursuit for one row."""
    support, x = [], np.zeros(code.shape[1])
    for _ in range(min(s, len(code))):
        residual = target - code @ x
        if residual @ residual <= 1e-24 * (target @ target):
            break
        support.append(int(np.argmax(np.abs(code.T @ residual))))
        x[support] = np.linalg.lstsq(code[:, support], target, rcond=None)[0]
    return x


@pytest.fixture(params=["hadamard", "gaussian", "few codes"])
def problem(request, rng):
    """Codes of sparse vectors with noise; the last has fewer codes than 3 s."""
    n_codes, n_labels, s = (6, 14, 4) if request.param == "few codes" else (24, 60, 4)
    if request.param == "hadamard":
        code = hadamard_part(rng.choice(64, n_codes, False), rng.choice(64, n_labels, False))
    else:
        code = rng.normal(size=(n_codes, n_labels)) / np.sqrt(n_codes)
    X = np.zeros((150, n_labels))
    for row in X:
        row[rng.choice(n_labels, s, replace=False)] = rng.choice([-1, 1], s) * (1 + rng.random(s))
    return code, X, X @ code.T + 0.05 * rng.normal(size=(150, n_codes)), s


def test_cosamp_is_the_published_algorithm(problem):
    code, _, codes, s = problem
    for max_iter in (1, 10):
        expected = [naive_cosamp(code, target, s, max_iter) for target in codes]
        np.testing.assert_allclose(cosamp(code, codes, s, max_iter), expected, atol=1e-8)


def test_matching_pursuit_is_the_published_algorithm(problem):
    code, _, codes, s = problem
    expected = [naive_omp(code, target, s) for target in codes]
    np.testing.assert_allclose(matching_pursuit(code, codes, s), expected, atol=1e-8)


@pytest.mark.parametrize("decode", [lambda *a: cosamp(*a, 10), matching_pursuit])
def test_sparse_vectors_come_back_exactly(decode, rng):
    code = rng.normal(size=(60, 100)) / np.sqrt(60)
    X = (rng.random((200, 100)) < 0.05) * rng.normal(size=(200, 100))
    X = X[(X != 0).sum(axis=1) <= 6]
    assert len(X) > 100
    np.testing.assert_allclose(decode(code, X @ code.T, 6), X, atol=1e-9)


def test_equal_columns_and_empty_codes(rng):
    """Labels with the same code share the value; a row of zeros has no label."""
    code = np.repeat(rng.normal(size=(8, 6)), 2, axis=1)
    targets = np.vstack([2 * code[:, 3], np.zeros(8)])
    np.testing.assert_allclose(cosamp(code, targets, 2, 10)[0, 2:4], [1.0, 1.0], atol=1e-9)
    for scores in (cosamp(code, targets, 2, 10), matching_pursuit(code, targets, 2)):
        np.testing.assert_allclose(scores @ code.T, targets, atol=1e-9)
        assert not scores[1].any()


def test_rows_do_not_depend_on_each_other_or_on_threads(problem, monkeypatch):
    code, _, codes, s = problem
    for decode in (lambda r: cosamp(code, r, s, 10), lambda r: matching_pursuit(code, r, s)):
        expected = decode(codes)
        monkeypatch.setenv("RANKWISE_NUM_THREADS", "2")
        np.testing.assert_array_equal(decode(codes), expected)
        np.testing.assert_array_equal(decode(codes[37:38]), expected[37:38])


def test_rows_of_the_hadamard_matrix():
    np.testing.assert_array_equal(hadamard_part(np.arange(64), np.arange(64)), hadamard(64))
    model = CompressedSensing(5, random_state=3).fit(np.eye(11), np.eye(11, dtype=int))
    signs = model.components_ * np.sqrt(5)
    assert set(np.unique(signs.round(12))) == {-1.0, 1.0}
    products = signs.T @ signs  # of columns that are rows and columns of the matrix at random
    assert np.isin(products, np.arange(-5, 6, 2)).all()
    assert len({tuple(column) for column in signs.T}) > 5


def test_sparsity_is_the_largest_label_set(rng):
    X, Y = rng.normal(size=(50, 3)), (rng.random((50, 9)) < 0.2).astype(int)
    Y[7] = [1, 1, 1, 1, 1, 0, 0, 0, 0]
    Y[Y.sum(axis=1) > 5] = 0
    model = CompressedSensing(8, random_state=0).fit(X, Y)
    assert model.sparsity_ == 5
    assert ((model.decision_function(X) != 0).sum(axis=1) <= 5).all()
    with pytest.raises(ValueError, match=r"sparsity must be at most 9 for these labels, got 20"):
        CompressedSensing(8, sparsity=20, random_state=0).fit(X, Y)


@pytest.mark.parametrize("rows", ["hadamard", "gaussian"])
@pytest.mark.parametrize("decoder", ["cosamp", "omp"])
def test_learns_labels_that_are_there(rows, decoder, rng):
    kind = rng.integers(0, 40, 900)
    X = np.eye(40)[kind] + 0.05 * rng.normal(size=(900, 40))
    sets = (rng.random((40, 60)) < 0.04).astype(int)
    sets[:, 0] = 0
    Y = sets[kind]
    model = CompressedSensing(30, rows=rows, decoder=decoder, random_state=0).fit(X[:600], Y[:600])
    nothing = Y[600:].mean()
    assert -model.score(X[600:], Y[600:]) < 0.4 * nothing
