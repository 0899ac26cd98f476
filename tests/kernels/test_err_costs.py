"""Costs of wrong ranks against the expected reciprocal rank of every list that they give."""

from __future__ import annotations

import numpy as np

from rankwise.kernels.topk import err_costs


def expected_reciprocal_rank(stops):
    passing, total = 1.0, 0.0
    for place, stop in enumerate(stops, 1):
        total += passing * stop / place
        passing *= 1 - stop
    return total


def mean_over_places(others, grade, taken_for, stop):
    """ERR of a list by true grades, of which one row is put among those of another grade."""
    values = []
    for place in range(len(others) + 1):
        above, below = others[:place], others[place:]
        if all(k >= taken_for for k in above) and all(k <= taken_for for k in below):
            values.append(expected_reciprocal_rank(stop[[*above, grade, *below]]))
    return np.mean(values)


def test_costs():
    stop = np.array([0.0, 0.1, 0.4, 0.8])
    counts = np.array([[2, 0, 3, 1], [0, 0, 0, 0], [1, 0, 0, 0], [3, 2, 1, 2]], np.int64)
    out = np.full((4, 4, 4), np.nan)
    err_costs(counts, stop, out)
    for q, of_grade in enumerate(counts):
        for y in range(4):
            if of_grade[y] == 0:
                assert (out[q, y] == 0).all()
                continue
            rows = np.repeat(np.arange(4), of_grade - (np.arange(4) == y))[::-1]
            right = mean_over_places(list(rows), y, y, stop)
            for k in range(4):
                loss = right - mean_over_places(list(rows), y, k, stop)
                np.testing.assert_allclose(out[q, y, k], max(loss, 0), atol=1e-14)
