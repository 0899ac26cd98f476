"""A round of margin boosting against sums over rows and, for thresholds, over all pools."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from rankwise.kernels.boosting_rounds import (
    advance_rows,
    read_sums,
    solve_thresholds,
    unit_scale,
    write_weights,
)

CLASS_PTR = np.array([0, 5, 5, 6, 20], np.int64)  # one class empty, one of a single row
CLASSES = np.repeat(np.arange(4), np.diff(CLASS_PTR))


@pytest.mark.parametrize("bound", [1e-300, 0.3, 1.0, 5.0, 1e30])
def test_scales(bound):
    scale = unit_scale(bound)
    assert math.frexp(scale)[0] == 0.5
    assert bound * scale <= 2**60
    assert bound * scale > 2**58 or scale == 2.0**1000
    assert unit_scale(0.0) == 1.0


def test_rows_advance(rng):
    P, Q = rng.uniform(0.1, 3, (2, 20))
    p, q, side = P.copy(), Q.copy(), rng.random(20) < 0.5
    sums = np.array([np.bincount(CLASSES, x, 4) for x in (P, Q)])
    totals = np.zeros((2, 4), np.int64)
    for start, stop in ((0, 3), (3, 4), (4, 20)):
        advance_rows(P, Q, side, 0.7, CLASS_PTR, sums, start, stop, totals)
    read_sums(totals, 0.7, sums)
    step = np.where(side, 0.7, -0.7)
    np.testing.assert_allclose(P, p * np.exp(step))
    np.testing.assert_allclose(Q, q * np.exp(-step))
    expected = [np.bincount(CLASSES, x, 4) for x in (P, Q)]
    np.testing.assert_allclose(sums, expected, rtol=1e-14)


def naive_thresholds(below, above):
    """The best ascending thresholds: every division into runs that share one."""
    best = math.inf, None
    n = len(below)
    for cuts in itertools.product([False, True], repeat=n - 1):
        run = np.concatenate([[0], np.cumsum(cuts)])
        a, b = np.bincount(run, below), np.bincount(run, above)
        theta = 0.5 * np.log(a / b)
        loss = 2 * np.sqrt(a * b).sum()
        if (np.diff(theta) >= 0).all() and loss < best[0]:
            best = loss, theta[run]
    return best


@pytest.mark.parametrize("left_right", [False, True])
def test_thresholds(left_right, rng):
    for _ in range(20):
        sums = rng.uniform(0.1, 3, (2, 5))
        theta, up, down = np.empty(4), np.empty(5), np.empty(5)
        loss = solve_thresholds(sums, left_right, theta, up, down)
        if left_right:
            below, above = sums[0, :-1], sums[1, 1:]
        else:
            below, above = np.cumsum(sums[0])[:-1], np.cumsum(sums[1, ::-1])[-2::-1]
        expected = naive_thresholds(below, above)
        assert loss == pytest.approx(expected[0], rel=1e-12)
        np.testing.assert_allclose(theta, expected[1], atol=1e-12)
        for y in range(5):
            under = [k for k in range(4) if k < y and (not left_right or k == y - 1)]
            over = [k for k in range(4) if k >= y and (not left_right or k == y)]
            assert up[y] == pytest.approx(np.exp(theta[under]).sum(), abs=1e-12)
            assert down[y] == pytest.approx(np.exp(-theta[over]).sum(), abs=1e-12)


def test_a_side_without_weight_gives_infinite_thresholds():
    sums = np.array([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    theta, up, down = np.empty(2), np.empty(3), np.empty(3)
    assert solve_thresholds(sums, False, theta, up, down) == 0.0
    assert theta.tolist() == [-np.inf, np.inf]
    assert not up.any()
    assert not down.any()


def test_weights(rng):
    P, Q = rng.uniform(0.1, 3, (2, 20))
    up, down = rng.uniform(0, 2, (2, 4))
    u = np.zeros(20, np.int64)
    totals = [
        write_weights(P, Q, CLASS_PTR, up, down, 9.0, *part, u)
        for part in ((0, 5), (5, 6), (6, 20))
    ]
    expected = (up[CLASSES] * Q - down[CLASSES] * P) * unit_scale(9.0)
    np.testing.assert_allclose(u, expected, rtol=1e-12)
    assert sum(totals) == u.sum()
