"""Kernel ridge on pairs (MPRank, p = 2) for a grid of penalties, on the few rows of a reviewer.

``f(x) = b + sum_i a_i K(x, x_i)`` with ``P a = a``; one eigendecomposition of ``P K P`` gives the
solution for every ``lam`` and, by the block formula, every held-out residual of k folds, each fold
with the penalty of its own number of training rows. It is ELMRank's formula without its second
ridge, and shares its code. O(m^3) for m training rows, plus O(m t) for each value and t rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.solvers.least_squares.stabilised import ComplexPath, plan_folds
from rankwise.typing import Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class KernelGrid:
    """What a kernel gives for every ``lam``.

    Attributes
    ----------
    errors : ndarray of shape (n_lam,)
        Mean squared error of the held-out rows, each fold with its own intercept.
    scores : ndarray of shape (n_lam, n_test)
        Of the test rows, trained on all training rows.
    """

    errors: Float64Array
    scores: Float64Array


def fit_grid(
    K: Float64Array, K_test: Float64Array, y: Float64Array, fold: Int64Array, lam: Float64Array
) -> KernelGrid:
    """Held-out errors and test scores for each ``lam``.

    Parameters
    ----------
    K : ndarray of shape (m, m)
        Positive semidefinite, of the training rows.
    K_test : ndarray of shape (t, m)
    y : ndarray of shape (m,)
    fold : int array of shape (m,)
        Fold of each training row, from 0; every fold holds a row.
    lam : ndarray of shape (n_lam,), > 0
        Multiplies the norm in ``(1/m²) Σ_ij ((y_i - y_j) - (f_i - f_j))² + lam |f|²``.

    Returns
    -------
    KernelGrid
    """
    m, mean = len(y), y.mean()
    centre = K.mean(axis=0)
    values, vectors = np.linalg.eigh(K - centre - centre[:, None] + centre.mean())
    target = vectors.T @ (y - mean)
    path = ComplexPath(
        values=np.maximum(values, 0.0),
        basis=vectors,
        moment=target,
        half=0.5 * m,
        left=vectors,
        target=target,
        direction=np.full(m, m**-0.5),
        scaled=y - mean,
        weight=np.ones(m),
    )
    penalty = np.stack([lam, np.zeros(len(lam))])  # no second ridge: C is infinite
    folds = [np.flatnonzero(fold == number) for number in range(fold.max() + 1)]
    errors = path.held_out(plan_folds(folds, path.weight), penalty)
    dual = path.coef(penalty)
    dual -= dual.mean(axis=1, keepdims=True)
    return KernelGrid(errors / m, mean + dual @ (K_test - centre).T)
