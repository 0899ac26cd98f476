"""CLSRRank for a grid of penalties with k-fold cross-validation, on the few rows of a reviewer.

With ``A = P K`` the coefficients are ``A' (A A' + (lam m²/2) I)^-1 P y``: one eigendecomposition of
``A A'`` for each set of training rows serves every lam. A held-out row takes its column of K with
it, so every fold is decomposed for itself. O(m^3) for each fold.
"""

from __future__ import annotations

import numpy as np

from rankwise.typing import Float64Array, Int64Array
from rankwise_papers.elmrank_recommendation.kernel_grid import KernelGrid


def fit_coefficient_grid(
    K: Float64Array, K_test: Float64Array, y: Float64Array, fold: Int64Array, lam: Float64Array
) -> KernelGrid:
    """Held-out errors and test scores for each ``lam``.

    Parameters
    ----------
    K : ndarray of shape (m, m)
        ``K[i, j] = K(x_i, x_j)``, any kernel.
    K_test : ndarray of shape (t, m)
    y : ndarray of shape (m,)
    fold : int array of shape (m,)
        Fold of each training row, from 0; every fold holds a row.
    lam : ndarray of shape (n_lam,), > 0
        Multiplies ``m |a|²`` in ``(1/m²) Σ_ij ((y_i - y_j) - (f_i - f_j))² + lam m |a|²``.
    """
    errors = np.zeros(len(lam))
    for number in range(fold.max() + 1):
        out, train = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        inside, outside = K[np.ix_(train, train)], K[np.ix_(out, train)]
        errors += np.square(y[out] - _scores(inside, outside, y[train], lam)).sum(axis=1)
    return KernelGrid(errors / len(y), _scores(K, K_test, y, lam))


def _scores(
    K: Float64Array, K_new: Float64Array, y: Float64Array, lam: Float64Array
) -> Float64Array:
    """Scores of new rows for each ``lam``, with the mean training residual as intercept."""
    m, mean, centre = len(y), y.mean(), K.mean(axis=0)
    A = K - centre
    values, vectors = np.linalg.eigh(A @ A.T)
    moment = vectors.T @ (y - mean)
    weights = moment[:, None] / (np.maximum(values, 0.0)[:, None] + 0.5 * m * m * lam)
    coef = A.T @ (vectors @ weights)
    return mean + ((K_new - centre) @ coef).T
