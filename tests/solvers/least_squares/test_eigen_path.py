"""The path by either decomposition is the dense solve, singular systems included."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.solvers.least_squares.eigen_path import SMALLEST_TRIDIAGONAL, eigen_path, path_coef
from rankwise.solvers.least_squares.gram import Gram

C = 2.0 ** np.arange(-30, 21, 10)


def _gram(B, y):
    p = B.shape[1]
    return Gram(B.T @ B, B.T @ y, float(y @ y), np.zeros(p), 0.0, 0.0)


@pytest.mark.parametrize("p", [20, SMALLEST_TRIDIAGONAL + 40])
def test_both_decompositions_equal_the_dense_solve(rng, p):
    B, y = rng.standard_normal((2 * p, p)), rng.standard_normal(2 * p)
    gram = _gram(B, y)
    expected = [np.linalg.solve(gram.matrix + np.eye(p) / c, gram.rhs) for c in C]
    np.testing.assert_allclose(path_coef(gram.matrix, gram.rhs, C), expected, rtol=1e-8, atol=1e-15)
    np.testing.assert_allclose(
        eigen_path(gram.matrix, gram.rhs).coef(C), expected, rtol=1e-8, atol=1e-15
    )


def test_a_singular_system_gives_the_least_norm_solution(rng):
    p = SMALLEST_TRIDIAGONAL + 40
    B, y = rng.standard_normal((p - 30, p)), rng.standard_normal(p - 30)
    gram = _gram(B, y)
    least_norm = np.linalg.pinv(B) @ y
    coef = path_coef(gram.matrix, gram.rhs, np.array([1.0, np.inf]))
    np.testing.assert_allclose(coef[1], least_norm, atol=1e-8)
    np.testing.assert_allclose(
        coef[0], np.linalg.solve(gram.matrix + np.eye(p), gram.rhs), atol=1e-10
    )


def test_a_gram_matrix_is_not_modified(rng):
    B, y = rng.standard_normal((300, 150)), rng.standard_normal(300)
    gram = _gram(B, y)
    before = gram.matrix.copy()
    path_coef(gram.matrix, gram.rhs, C)
    np.testing.assert_array_equal(gram.matrix, before)
