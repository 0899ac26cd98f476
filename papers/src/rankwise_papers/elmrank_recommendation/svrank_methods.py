"""SVRank with one kernel and penalty for all reviewers, chosen by five-fold cross-validation.

Unlike the squared loss it has no formula for held-out rows: every fold is solved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rankwise.typing import Float64Array, Int64Array
from rankwise_papers.elmrank_recommendation.kernel_grid import KernelGrid
from rankwise_papers.elmrank_recommendation.kernel_methods import Kernels
from rankwise_papers.elmrank_recommendation.reviewers import Reviewer
from rankwise_papers.svrank_path import svrank_path

LAM = 10.0 ** np.arange(-4, 0.5)
N_FOLDS = 5
GAP = 1e-4  # duality gap over the objective at which a solution is taken


def fit_svrank(
    reviewers: Sequence[Reviewer],
    kernels: Callable[[Reviewer], Kernels],
    seed: Sequence[int],
) -> list[dict[str, KernelGrid]]:
    """Held-out squared errors and test scores of every kernel and ``LAM`` for every reviewer."""
    return [
        {
            name: _fit_grid(K, K_test, reviewer.y_train, reviewer.folds(seed)[0] % N_FOLDS)
            for name, K, K_test in kernels(reviewer)
        }
        for reviewer in reviewers
    ]


def _fit_grid(
    K: Float64Array, K_test: Float64Array, y: Float64Array, fold: Int64Array
) -> KernelGrid:
    errors = np.zeros(len(LAM))
    for number in range(N_FOLDS):
        held_out, train = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        dual = _solve(K[np.ix_(train, train)], y[train])
        intercept = np.mean(y[train] - dual @ K[np.ix_(train, train)], axis=1)
        scores = dual @ K[np.ix_(train, held_out)] + intercept[:, None]
        errors += np.square(y[held_out] - scores).sum(axis=1)
    return KernelGrid(errors / len(y), _solve(K, y) @ K_test.T)


def _solve(K: Float64Array, y: Float64Array) -> Float64Array:
    """Dual coefficients for every ``LAM``, shape (n_lam, n_samples)."""
    return np.stack([result.x for result in svrank_path(K, y, LAM, tol=GAP)])
