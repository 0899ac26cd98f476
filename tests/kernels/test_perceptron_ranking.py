"""Ranking perceptrons and least mean squares against loops over rows and thresholds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from rankwise.kernels.perceptron_ranking import (
    count_votes,
    lms_csr,
    lms_rows,
    lms_value,
    prank_csr,
    prank_rows,
    prank_value,
    replay_thresholds,
    replay_votes,
)

N, D, P, K = 60, 4, 3, 4


@pytest.fixture
def stream(rng):
    """Whole numbers, so that scores hit thresholds; a row of zeros; classes, coins."""
    X = rng.integers(-2, 3, (N, D)).astype(float)
    X[5] = 0
    codes = np.clip(X[:, 0] + rng.integers(0, 3, N), 0, K - 1).astype(np.int64)
    return X, codes, rng.random((N, P)) < 0.7


def naive_prank(X, codes, coins):
    """One hypothesis; its weights, thresholds, tallies, and what each row moved."""
    w, theta, tally = np.zeros(X.shape[1]), np.zeros(K - 1), [0, 0, 0]
    moves = []
    for x, code, coin in zip(X, codes, coins, strict=True):
        lowered = raised = 0
        score = w @ x
        if coin:
            predicted = (score >= theta).sum()
            tally[0] = tally[0] + 1 if predicted == code else 1
            tally[1] += predicted != code
            tally[2] += abs(predicted - code)
            if predicted != code:
                low = (np.arange(K - 1) < code) & (score <= theta)
                high = (np.arange(K - 1) >= code) & (score >= theta)
                theta = theta - low + high
                lowered, raised = low.sum(), high.sum()
                w = w + (lowered - raised) * x
        moves.append((lowered, raised))
    return w, theta, tally, moves


def new_state():
    return np.zeros((D, P)), np.zeros((P, K - 1)), np.zeros((P, 3), np.int64)


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("spans", [[(0, 3)], [(0, 1), (1, 3)]])
def test_prank(form, spans, stream):
    X, codes, coins = stream
    weights, thresholds, tallies = new_state()
    moves = np.full((N, P, 2), -1, np.int32)
    rows = sparse.csr_array(X)
    for lo, hi in spans:
        state = codes, coins, weights, thresholds, tallies, moves
        if form == "dense":
            prank_rows(X, *state, lo, hi)
        else:
            prank_csr(rows.data, rows.indices, rows.indptr, *state, (lo, hi))
    for p in range(P):
        w, theta, tally, moved = naive_prank(X, codes, coins[:, p])
        np.testing.assert_array_equal(weights[:, p], w)
        np.testing.assert_array_equal(thresholds[p], theta)
        assert tallies[p].tolist() == tally
        np.testing.assert_array_equal(moves[:, p], moved)


def test_prank_by_kernel_values_and_its_history(stream, rng):
    X, codes, coins = stream
    coefficients, thresholds, tallies = np.zeros((N, P)), np.zeros((P, K - 1)), new_state()[2]
    moves, support = np.zeros((N, P, 2), np.int32), []
    for i in range(N):
        values = X[[*support, i]] @ X[i]
        state = coefficients, thresholds, tallies, moves[i]
        if prank_value(values, codes[i], coins[i], *state):
            support.append(i)
    for p in range(P):
        w, theta, tally, _ = naive_prank(X, codes, coins[:, p])
        np.testing.assert_allclose(coefficients[: len(support), p] @ X[support], w, atol=1e-12)
        np.testing.assert_array_equal(thresholds[p], theta)
        assert tallies[p].tolist() == tally

    path, own = np.zeros((len(support) + 1, K - 1)), moves[support, 0]
    replay_thresholds(own, codes[support], path)
    steps = (own[:, 0] - own[:, 1]).astype(float)
    np.testing.assert_array_equal(path[-1], thresholds[0])
    voices, votes = rng.uniform(1, 2, len(path)), np.ones((N, K))
    expected = votes.copy()
    replay_votes(X @ X[support].T, steps, path, voices, votes)
    for m in range(len(path)):
        w = steps[:m] @ X[support[:m]]
        for i, x in enumerate(X):
            expected[i, (w @ x >= path[m]).sum()] += voices[m]
    np.testing.assert_allclose(votes, expected)


@pytest.mark.parametrize("eta", [0.05, 3.0])
def test_least_mean_squares(eta, stream):
    X, codes, _ = stream
    thresholds = np.array([1.5, 2.5, 3.5])
    w, tally, steps = np.zeros(D), [0, 0, 0], []
    for x, code in zip(X, codes, strict=True):
        predicted = (w @ x >= thresholds).sum()
        tally[0] = tally[0] + 1 if predicted == code else 1
        tally[1] += predicted != code
        tally[2] += abs(predicted - code)
        rate = min(eta, 1 / (x @ x)) if x.any() else eta
        steps.append(rate * (code + 1 - w @ x))
        w = w + steps[-1] * x
    rows = sparse.csr_array(X)
    for kernel, form in ((lms_rows, (X,)), (lms_csr, (rows.data, rows.indices, rows.indptr))):
        weights, tallies = np.zeros(D), np.zeros(3, np.int64)
        kernel(*form, codes, eta, weights, thresholds, tallies)
        np.testing.assert_allclose(weights, w, atol=1e-10)
        assert tallies.tolist() == tally
    coefficients, tallies = np.zeros(N), np.zeros(3, np.int64)
    for i in range(N):
        values = X[: i + 1] @ X[i]
        moved = lms_value(values, codes[i], eta, coefficients, thresholds, tallies)
        assert moved == (steps[i] != 0)
    np.testing.assert_allclose(coefficients, steps, atol=1e-10)


def test_votes(rng):
    scores = rng.integers(-3, 4, (9, P)).astype(float)
    thresholds = np.sort(rng.integers(-2, 3, (P, 3)))
    voices, votes = rng.uniform(1, 2, P), np.ones((9, K))
    expected = votes.copy()
    count_votes(scores, thresholds.astype(float), voices, votes)
    for i in range(9):
        for p in range(P):
            expected[i, sum(scores[i, p] >= thresholds[p])] += voices[p]
    np.testing.assert_allclose(votes, expected)
