"""Absolute differences of pairs against double loops, nearest points against their optimality."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from rankwise.kernels.pairwise_absolute import (
    expand_blocks,
    project_sorted,
    project_split,
    reduce_blocks,
    sum_exceedances,
)
from tests.kernels import ragged


@pytest.mark.parametrize("epsilon", [0.0, 0.35])
def test_sums_and_subgradient(epsilon, rng):
    r, w = ragged.tied(rng), ragged.weights(rng)
    sums, gradient = np.empty(len(ragged.SIZES)), np.empty(ragged.N_ROWS)
    sum_exceedances(r, w, ragged.INDPTR, epsilon, sums, gradient)
    for q, mine in enumerate(ragged.QUERIES):
        gaps = r[mine][:, None] - r[mine]
        pairs = np.outer(w[mine], w[mine])
        beyond = abs(gaps) > epsilon
        assert sums[q] == pytest.approx((pairs * np.maximum(abs(gaps) - epsilon, 0)).sum())
        slopes = 2 * (pairs * beyond * np.sign(gaps)).sum(1)
        np.testing.assert_allclose(gradient[mine], slopes, atol=1e-12)


def blocks_of(n_blocks, active, block_ptr):
    return [active[block_ptr[b] : block_ptr[b + 1]] for b in range(n_blocks)]


def test_nearest_point_of_sorted_nodes(rng):
    z, w = ragged.tied(rng), ragged.weights(rng)
    nu, active = np.empty(ragged.N_ROWS), np.empty(ragged.N_ROWS, np.int64)
    block_ptr = np.empty(ragged.N_ROWS + 1, np.int64)
    n_blocks = project_sorted(z, w, ragged.INDPTR, nu, active, block_ptr)
    for mine in ragged.QUERIES:
        rows = mine[np.argsort(z[mine], kind="stable")]
        below = np.cumsum(w[rows]) - w[rows]
        vertex = (2 * below + w[rows]) / w[rows].sum() - 1
        pooled = isotonic_regression(z[rows] - vertex, weights=w[rows]).x if len(rows) else 0
        np.testing.assert_allclose(nu[rows], z[rows] - pooled, atol=1e-12)
    assert n_blocks > 0
    for block in blocks_of(n_blocks, active, block_ptr):
        assert len(block) > 1
        assert np.ptp(nu[block] - z[block]) < 1e-12


def test_nearest_point_of_split_nodes(rng):
    """No point of the polytope lies in a direction from ``nu`` towards ``z``."""
    n, w = ragged.N_ROWS, ragged.weights(rng)
    z = rng.normal(scale=0.4, size=2 * n).round(1)
    nu, active = np.empty(2 * n), np.empty(2 * n, np.int64)
    block_ptr = np.empty(2 * n + 1, np.int64)
    n_blocks = project_split(z, w, ragged.INDPTR, nu, active, block_ptr)

    def support(c, mine):
        gaps = c[mine][:, None] - c[n + mine]
        return (np.outer(w[mine], w[mine]) * np.maximum(gaps, 0)).sum() / w[mine].sum()

    for mine in ragged.QUERIES:
        if len(mine) == 0:
            continue
        nodes, both = np.concatenate([mine, n + mine]), np.concatenate([w[mine]] * 2)
        for c in [z - nu, *rng.normal(size=(20, 2 * n))]:
            assert (both * c[nodes]) @ nu[nodes] <= support(c, mine) + 1e-12
        c = z - nu
        assert (both * c[nodes]) @ nu[nodes] == pytest.approx(support(c, mine), abs=1e-12)
    for block in blocks_of(n_blocks, active, block_ptr):
        assert np.ptp(nu[block] - z[block]) < 1e-12


def test_systems_of_blocks(rng):
    root = rng.normal(size=(10, 10))
    K, block_ptr = root @ root.T, np.array([0, 2, 5])
    rows, active = np.array([3, 7, 3, 0, 9]), np.array([4, 1, 6, 0, 2])
    diagonal, target = rng.uniform(1, 2, 5), rng.normal(size=10)
    matrix, vector = np.zeros((3, 3)), np.empty(3)
    reduce_blocks(K, rows, diagonal, block_ptr, target, matrix, vector)
    lower = np.tril(matrix)
    reduced = np.linalg.solve(lower + np.tril(lower, -1).T, vector)
    xi = np.zeros(7)
    expand_blocks(reduced, active, block_ptr, xi)
    # The same with a multiplier for each block whose sum is zero.
    blocks = np.repeat(np.eye(2), [2, 3], axis=0)
    system = np.block(
        [[K[np.ix_(rows, rows)] + np.diag(diagonal), blocks], [blocks.T, np.zeros((2, 2))]]
    )
    expected = np.linalg.solve(system, [*target[rows], 0, 0])[:5]
    np.testing.assert_allclose(xi[active], expected, atol=1e-10)
    assert xi[[3, 5]].tolist() == [0, 0]
