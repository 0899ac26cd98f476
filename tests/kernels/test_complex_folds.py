"""Systems of folds with complex penalties against dense complex algebra."""

from __future__ import annotations

import numpy as np

from rankwise.kernels.complex_folds import add_squared_solutions, fold_products, shrinkages


def test_factors_of_blocks_and_right_hand_sides(rng):
    left, target, y = rng.normal(size=(12, 4)), rng.normal(size=4), rng.normal(size=12)
    scale = np.full(12, 12**-0.5)
    rows = rng.permutation(12)[:9].astype(np.int64)
    for columns in (4, 5):  # without and with the rest of the identity
        out = np.empty((3 * (6 + 3), columns))
        fold_products(left, target, scale, y, rows, 3, out)
        at = 0
        for fold in rows.reshape(3, 3):
            for a in range(3):
                for b in range(a + 1):
                    i, j = fold[a], fold[b]
                    products = left[i] * left[j]
                    rest = (i == j) - scale[i] * scale[j] - products.sum()
                    np.testing.assert_allclose(out[at], [*products, rest][:columns], atol=1e-12)
                    at += 1
            for i in fold:
                products = left[i] * target
                rest = y[i] - scale[i] * (scale @ y) - products.sum()
                np.testing.assert_allclose(out[at], [*products, rest][:columns], atol=1e-12)
                at += 1


def test_shrinkages():
    values = np.array([3.0, 1e-9, 0.5])
    penalty = np.array([[1.0, 1e-9, 0.0, 1e-8], [2.0, 1e-9, 1.0, 4.0]])
    out = np.empty((4, 8))
    shrinkages(values, penalty, 0.5, 1e-8, out)
    eta = 0.5 * (penalty[0] + 1j * penalty[1])
    for row, value in zip(out, [*values, 0.0], strict=True):
        expected = eta / (value + eta)
        if value <= 1e-8:
            expected[1] = 1.0
        np.testing.assert_allclose(row[:4] + 1j * row[4:], expected, atol=1e-14)


def test_squared_solutions(rng):
    n_folds, size, n_grid = 3, 4, 5
    n_entries = size * (size + 1) // 2
    systems = np.empty((n_folds * (n_entries + size), 2 * n_grid))
    expected = np.ones(n_grid)
    lower = np.tril_indices(size)
    for fold in range(n_folds):
        for g in range(n_grid):
            root, imaginary = rng.normal(size=(2, size, size))
            A = root @ root.T + np.eye(size) + 1j * (imaginary + imaginary.T)
            b = rng.normal(size=size) + 1j * rng.normal(size=size)
            part = systems[fold * (n_entries + size) :][: n_entries + size]
            entries = np.concatenate([A[lower], b])
            part[:, g], part[:, n_grid + g] = entries.real, entries.imag
            expected[g] += (np.linalg.solve(A, b).real ** 2).sum()
    out = np.ones(n_grid)
    add_squared_solutions(systems, size, out)
    np.testing.assert_allclose(out, expected, rtol=1e-9)
