"""Line searches against every step between crossings, passes and sides against loops."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.kernels.boosting_rounds import run_pass, search_line, sum_weighted, write_sides


def gain_of(s, u):
    return int(np.where(s > 0, u, -u).sum())


@pytest.mark.parametrize("n", [0, 1, 30])
@pytest.mark.parametrize("slack", [0, 3])
def test_line_searches(n, slack, rng):
    for _ in range(20):
        s, d = rng.integers(-4, 5, (2, n)).astype(float)
        u = rng.integers(-9, 10, n)
        step = search_line(s, d, u, slack, np.empty(n, np.int64), np.empty(n))
        crossings = np.unique(-s[d != 0] / d[d != 0])
        steps = []
        if len(crossings):
            between = (crossings[1:] + crossings[:-1]) / 2
            steps = [crossings[0] - 1, *between, crossings[-1] + 1]
        # The first that gains more than the best so far by more than the slack.
        best, expected = gain_of(s, u), 0.0
        for candidate in steps:
            gain = gain_of(s + candidate * d, u)
            if gain > best + slack:
                best, expected = gain, candidate
        assert step == pytest.approx(expected, abs=1e-14)


def test_a_pass_corrects_wrong_rows(rng):
    Z, u = rng.integers(-2, 3, (20, 3)).astype(float), rng.integers(-3, 4, 20)
    rows, coef = rng.integers(0, 20, 50), np.zeros(4)
    run_pass(Z, u, rows, coef)
    expected = np.zeros(4)
    for i in rows:
        row = np.append(Z[i], 1.0)
        if (expected @ row > 0) != (u[i] > 0):
            expected += row if u[i] > 0 else -row
    np.testing.assert_array_equal(coef, expected)


def test_sides_and_sums(rng):
    Z, coefs = rng.integers(-2, 3, (20, 3)).astype(float), rng.integers(-2, 3, (5, 4)).astype(float)
    sides = np.empty((5, 20), np.bool_)
    write_sides(Z, coefs, sides)
    np.testing.assert_array_equal(sides, coefs[:, :3] @ Z.T > -coefs[:, 3:])
    u, sums = rng.integers(-9, 10, 20), np.empty(3)
    sum_weighted(np.ascontiguousarray(Z.T), u, sums)
    np.testing.assert_array_equal(sums, Z.T @ u)
