"""Ridge regression for many weighted binary questions about the same rows.

Question p minimises ``sum_n w_np (t_np - x_n' beta - b)^2 + alpha |beta|^2`` with t = 1 or -1.
Since ``w t`` is linear in the values that the contrasts compare, one product gives the right-hand
sides of all questions. If weights depend only on the class of a row, one Gram matrix per class is
enough for any number of questions.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from rankwise.labels.cost_sensitive.contrasts import Contrasts
from rankwise.runtime.threads import single_threaded_blas, thread_map
from rankwise.typing import Float64Array, Matrix, densify, is_sparse


def fit_binary_ridge(
    X: Matrix, contrasts: Contrasts, alpha: float, n_threads: int
) -> tuple[Float64Array, Float64Array]:
    """Coefficients (n_questions, n_features) and intercepts (n_questions,) of all questions.

    ``alpha > 0`` is the factor of ``|beta|^2``; the intercept is not penalised. Coefficients and
    intercept of a question without weight are 0. Questions are solved in parallel, with
    bit-identical results for any ``n_threads``.

    p questions cost O(N d^2 + p d^2 (K + d)) if costs depend only on the class, and O(p d^2 (N +
    d)) otherwise. If there are more features than rows, features are first rotated into the row
    space, so d becomes N. Scores do not change.
    """
    centre = centre_of(X)
    with single_threaded_blas():
        rows, rotation = row_space(X if centre is None else X - centre)
        moments = QuestionMoments(rows, contrasts)
        solved = thread_map(
            lambda question: _solve(*moments.of(question), alpha),
            range(contrasts.n_questions),
            n_threads,
        )
    coef = np.array([beta for beta, _ in solved]).reshape(len(solved), rows.shape[1])
    if rotation is not None:
        coef = np.asarray((rotation @ coef.T).T)
    intercept = np.array([intercept for _, intercept in solved])
    return coef, intercept if centre is None else intercept - coef @ centre


def centre_of(X: Matrix) -> Float64Array | None:
    """Column means of dense rows, needed for accurate moments; None for sparse rows."""
    return None if is_sparse(X) else X.mean(axis=0, dtype=np.float64)


def row_space(X: Matrix) -> tuple[Matrix, Matrix | None]:
    """``(Z, R)`` with ``X = Z R'`` and orthonormal columns of R, for more columns than rows.

    Any other matrix is returned in float64, with None for R.
    """
    X = X.astype(np.float64, copy=False)
    if X.shape[1] <= X.shape[0]:
        return X, None
    product = X @ X.T
    product = densify(product)
    eigenvalues, vectors = scipy.linalg.eigh(product)
    kept = eigenvalues > eigenvalues[-1] * len(eigenvalues) * np.finfo(np.float64).eps
    roots = np.sqrt(eigenvalues[kept])
    return vectors[:, kept] * roots, np.asarray(X.T @ (vectors[:, kept] / roots))


class QuestionMoments:
    """Weighted moments of the rows for every question, computed from class moments if possible."""

    def __init__(self, X: Matrix, contrasts: Contrasts) -> None:
        self.X = X
        self.contrasts = contrasts
        self.by_class: Float64Array | None = None
        if contrasts.group is not None:
            weight = np.ones(X.shape[0]) if contrasts.weight is None else contrasts.weight
            rows_of = [contrasts.group == index for index in range(len(contrasts.values))]
            self.by_class = np.array(
                [compute_weighted_moments(X[rows], weight[rows]) for rows in rows_of]
            )

    def of(self, question: int) -> tuple[Float64Array, Float64Array]:
        """``sum_n w_n [x_n 1] [x_n 1]'`` and ``sum_n w_n t_n [x_n 1]`` of a question."""
        if self.by_class is None:
            signed = self.contrasts.of_rows(question)
            return compute_weighted_moments(self.X, np.abs(signed)), _moments_of(self.X, signed)
        signed = self.contrasts.of_groups(question)
        return np.tensordot(np.abs(signed), self.by_class, axes=1), signed @ self.by_class[:, -1]


def compute_weighted_moments(X: Matrix, weight: Float64Array) -> Float64Array:
    """``sum_n w_n [x_n 1] [x_n 1]'``; the last row equals :func:`_moments_of`."""
    n_features = X.shape[1]
    moments = np.empty((n_features + 1, n_features + 1))
    if is_sparse(X):
        moments[:-1, :-1] = (X.T @ X.multiply(weight[:, None]).tocsr()).toarray()
    else:
        used = weight > 0
        X, weight = (X, weight) if used.all() else (X[used], weight[used])
        half = X * np.sqrt(weight)[:, None]
        np.matmul(half.T, half, out=moments[:-1, :-1])
    moments[-1] = moments[:, -1] = _moments_of(X, weight)
    return moments


def _moments_of(X: Matrix, signed: Float64Array) -> Float64Array:
    """``sum_n s_n [x_n 1]``."""
    return np.append(X.T @ signed, signed.sum())


def _solve(gram: Float64Array, total: Float64Array, alpha: float) -> tuple[Float64Array, float]:
    """Coefficients and intercept; the intercept is eliminated first."""
    weight = gram[-1, -1]
    if weight <= 0:
        return np.zeros(len(total) - 1), 0.0
    mean = gram[-1, :-1] / weight
    centred = gram[:-1, :-1] - weight * np.outer(mean, mean)
    centred[np.diag_indices_from(centred)] += alpha
    beta = solve_positive(centred, total[:-1] - mean * total[-1])
    return beta, float(total[-1] / weight - mean @ beta)


def solve_positive(matrix: Float64Array, right: Float64Array) -> Float64Array:
    """``matrix^-1 right`` by Cholesky; minimum-norm solution if the matrix is singular."""
    try:
        return scipy.linalg.cho_solve(scipy.linalg.cho_factor(matrix), right)
    except np.linalg.LinAlgError:
        return scipy.linalg.pinvh(matrix) @ right
