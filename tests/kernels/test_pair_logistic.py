"""Logistic loss over pairs against loops, and single gradient steps."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.kernels.pair_losses import (
    descend_pairs,
    logistic_curvature,
    logistic_point,
    raise_scores,
)
from tests.kernels import ragged


@pytest.mark.parametrize("weighted", [False, True])
def test_value_gradient_and_curvature(weighted, rng):
    y, scores = ragged.grades(rng), 3 * ragged.tied(rng)
    order = np.concatenate([mine[np.argsort(y[mine])] for mine in ragged.QUERIES])
    mine, f = y[order], scores[order]
    ends = np.array(
        [rows[y[order][rows] <= y[order][i]][-1] + 1 for rows in ragged.QUERIES for i in rows]
    )
    weight = ragged.weights(rng) if weighted else np.ones(ragged.N_ROWS)
    table = rng.uniform(0.5, 2, (4, 4)) if weighted else np.ones((1, 1))
    scale = rng.uniform(0.5, 2, len(ragged.SIZES))
    value, gradient = 0.0, np.zeros(ragged.N_ROWS)
    hessian = np.zeros((ragged.N_ROWS, ragged.N_ROWS))
    for q, i, j in ragged.pairs(mine):
        pair = scale[q] * weight[i] * weight[j] * (table[mine[i], mine[j]] if weighted else 1.0)
        share = 1 / (1 + np.exp(f[i] - f[j]))
        direction = np.zeros(ragged.N_ROWS)
        direction[i], direction[j] = -1, 1
        value += pair * np.log1p(np.exp(f[j] - f[i]))
        gradient += pair * share * direction
        hessian += pair * share * (1 - share) * np.outer(direction, direction)
    grow, out = np.empty(ragged.N_ROWS), np.empty(ragged.N_ROWS)
    assert raise_scores(scores, order, ragged.INDPTR, grow)
    rows = grow, mine, ends, weight, scale, ragged.INDPTR, table
    np.testing.assert_allclose(logistic_point(*rows, out), (value, np.trace(hessian)))
    np.testing.assert_allclose(out, gradient, atol=1e-11)
    values = rng.normal(size=ragged.N_ROWS)
    logistic_curvature(values, *rows, out)
    np.testing.assert_allclose(out, hessian @ values, atol=1e-11)


def test_raised_scores_are_refused_where_they_would_overflow():
    order, grow = np.arange(3), np.empty(3)
    for top, possible in ((600.0, True), (601.0, False)):
        assert raise_scores(np.array([0.0, top, 5.0]), order, np.array([0, 0, 3]), grow) is possible


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_steps(dtype, rng):
    X = rng.normal(size=(6, 3)).astype(dtype)
    upper, lower = rng.integers(0, 6, (2, 20))
    w, mean = np.zeros(3), np.zeros(3)
    descend_pairs(X, upper, lower, 5, 0.1, w, mean)
    expected, total = np.zeros(3), np.zeros(3)
    for number, (i, j) in enumerate(zip(upper, lower, strict=True)):
        gap = X[i].astype(float) - X[j]
        length = 1 / (0.1 * (5 + number))
        length = min(length, 1 / (gap @ gap)) if gap.any() else length
        gradient = 0.1 * expected - gap / (1 + np.exp(expected @ gap))
        expected = expected - length * gradient
        total += expected
    np.testing.assert_allclose(w, expected, atol=1e-12)
    np.testing.assert_allclose(mean, total, atol=1e-11)
