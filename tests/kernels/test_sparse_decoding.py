"""Sparse decoding against least squares on supports that are chosen by loops."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.kernels.sparse_decoding import (
    PENDING,
    SINGULAR,
    SOLVED,
    fit_supports,
    merge_supports,
    prune_supports,
    pursue_orthogonally,
)

N, K, M = 7, 12, 6


@pytest.fixture
def problem(rng):
    """Columns (K, M), two of them equal, and codes (n, M), one of them zero."""
    columns = rng.normal(size=(K, M))
    columns[5] = columns[4]
    codes = rng.normal(size=(N, M))
    codes[2] = 0
    return columns, codes


def largest(values, count):
    return np.argsort(-values, kind="stable")[:count]


def test_supports_are_merged(problem):
    columns, residuals = problem
    support = np.tile([1, 3, 0], (N, 1))
    size = np.array([0, 1, 2, 3, 3, 2, 1])
    state = np.full(N, PENDING)
    state[3] = SOLVED
    merged, merged_size = np.full((N, 5), -1), np.full(N, -1)
    rows = np.ascontiguousarray(columns.T)
    merge_supports(rows, residuals, support, size, state, 2, merged, merged_size)
    for i in range(N):
        if i == 3:
            assert merged_size[i] == -1
            continue
        chosen = {*largest(abs(columns @ residuals[i]), 2), *support[i, : size[i]]}
        assert merged[i, : merged_size[i]].tolist() == sorted(chosen)


def test_supports_are_fitted(problem):
    columns, codes = problem
    merged = np.array([[0, 1, 9], [2, 3, 6], [1, 2, 3], [4, 5, 6], [7, 8, 9], [0, 1, 2], [4, 6, 8]])
    merged_size = np.array([0, 1, 3, 3, 2, 3, 3])
    state = np.full(N, PENDING)
    state[5] = SOLVED
    values = np.full((N, 3), np.nan)
    fit_supports(columns, codes, merged, merged_size, values, state)
    assert state.tolist() == [PENDING] * 3 + [SINGULAR, PENDING, SOLVED, PENDING]
    for i in (0, 1, 2, 4, 6):
        mine = merged[i, : merged_size[i]]
        expected = np.linalg.lstsq(columns[mine].T, codes[i])[0] if len(mine) else []
        np.testing.assert_allclose(values[i, : len(mine)], expected, atol=1e-12)


def test_more_labels_than_codes_are_singular(problem):
    columns, codes = problem
    state = np.full(N, PENDING)
    merged = np.tile(np.arange(M + 1), (N, 1))
    fit_supports(columns, codes, merged, np.full(N, M + 1), np.empty((N, M + 1)), state)
    assert (state == SINGULAR).all()


def test_supports_are_pruned(problem, rng):
    columns, codes = problem
    before = codes.copy()
    merged = np.array([np.sort(rng.permutation(K)[:5]) for _ in range(N)])
    merged_size, values = np.array([5, 1, 0, 4, 5, 3, 2]), rng.normal(size=(N, 5))
    state = np.full(N, PENDING)
    state[4] = SOLVED
    support, size = np.full((N, 3), -1), np.full(N, -1)
    kept, norms = np.full((N, 3), np.nan), (codes**2).sum(1)
    norms[3] = 1e9
    old = norms.copy()
    rows = columns, codes, merged, merged_size, values, state, support, size, kept, norms
    prune_supports(*rows)
    for i in range(N):
        if i == 4:
            np.testing.assert_array_equal(codes[i], before[i])
            continue
        order = largest(abs(values[i, : merged_size[i]]), 3)
        assert size[i] == len(order)
        assert support[i, : size[i]].tolist() == merged[i, order].tolist()
        np.testing.assert_array_equal(kept[i, : size[i]], values[i, order])
        residual = before[i] - kept[i, : size[i]] @ columns[support[i, : size[i]]]
        np.testing.assert_allclose(codes[i], residual, atol=1e-12)
        assert norms[i] == pytest.approx(residual @ residual)
        assert state[i] == (PENDING if norms[i] < old[i] else SOLVED)


@pytest.mark.parametrize("most", [1, 4, 9])
def test_orthogonal_pursuit(problem, most):
    columns, codes = problem
    left = codes.copy()
    support, size = np.full((N, most), -1), np.full(N, -1)
    values = np.full((N, most), np.nan)
    rows = np.ascontiguousarray(columns.T)
    pursue_orthogonally(rows, columns, left, support, size, values)
    for i in range(N):
        chosen, residual, x = [], codes[i], []
        while len(chosen) < min(most, M) and residual @ residual > 1e-24 * codes[i] @ codes[i]:
            chosen.append(int(largest(abs(columns @ residual), 1)[0]))
            x = np.linalg.lstsq(columns[chosen].T, codes[i])[0]
            residual = codes[i] - x @ columns[chosen]
        assert support[i, : size[i]].tolist() == chosen
        np.testing.assert_allclose(values[i, : size[i]], x, atol=1e-9)
        np.testing.assert_allclose(left[i], residual, atol=1e-9)
