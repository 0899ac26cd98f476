"""MPRank with kernels and penalties from grids: chosen for each reviewer, or once for all.

One choice for all reviewers of a repetition and group is the setting of the least held-out error
in the mean over their training halves; test halves decide nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from rankwise.typing import Float64Array
from rankwise_papers.elmrank_recommendation.kernel_grid import KernelGrid, fit_grid
from rankwise_papers.elmrank_recommendation.reviewers import Reviewer

LAM = 10.0 ** np.arange(-4, 4.5, 0.5)
GAMMAS = 4.0 ** np.arange(-3, 2)  # times 1 / median squared distance
# A kernel by name: the matrix of the training rows, and of the test rows with the training rows.
Kernels = Iterator[tuple[str, Float64Array, Float64Array]]


def linear_and_rbf(X: Float64Array, n_train: int) -> Kernels:
    """The linear kernel, divided by the number of features, and the RBF kernel of five widths."""
    train = X[:n_train]
    linear = X @ train.T / X.shape[1]
    yield "linear", linear[:n_train], linear[n_train:]
    distances = compute_squared_distances(X, train)
    gamma = 1.0 / median_of_different(distances[:n_train])
    for factor in GAMMAS:
        K = np.exp(-factor * gamma * distances)
        yield f"rbf {factor:g}", K[:n_train], K[n_train:]


def compute_squared_distances(X: Float64Array, Z: Float64Array) -> Float64Array:
    """Squared Euclidean distances of every row of X to every row of Z."""
    squares = np.einsum("ij,ij->i", X, X)[:, None] + np.einsum("ij,ij->i", Z, Z) - 2.0 * X @ Z.T
    return np.maximum(squares, 0.0)


def median_of_different(distances: Float64Array) -> float:
    """Median distance between distinct rows; 1 if all rows are equal."""
    pairs = distances[np.triu_indices(len(distances), 1)]
    pairs = pairs[pairs > 1e-9 * distances.max()]  # equal rows are that near in floats
    return float(np.median(pairs)) if len(pairs) else 1.0


def fit_kernels(
    reviewers: Sequence[Reviewer],
    kernels: Callable[[Reviewer], Kernels],
    seed: Sequence[int],
) -> list[dict[str, KernelGrid]]:
    """Held-out errors and test scores of every kernel and ``LAM`` for every reviewer."""
    fits = []
    for reviewer in reviewers:
        fold = reviewer.folds(seed)[0]
        fits.append(
            {
                name: fit_grid(K, K_test, reviewer.y_train, fold, LAM)
                for name, K, K_test in kernels(reviewer)
            }
        )
    return fits


def choose_for_each(
    fits: Sequence[dict[str, KernelGrid]], takes: Callable[[str], bool] = lambda name: True
) -> list[Float64Array]:
    """Scores of the setting with the least held-out error of each reviewer."""
    scores = []
    for grids in fits:
        chosen = [grid for name, grid in grids.items() if takes(name)]
        errors = np.concatenate([grid.errors for grid in chosen])
        scores.append(np.concatenate([grid.scores for grid in chosen])[errors.argmin()])
    return scores


def choose_for_all(
    fits: Sequence[dict[str, KernelGrid]],
    takes: Callable[[str], bool] = lambda name: True,
    lam: Float64Array = LAM,
) -> tuple[list[Float64Array], str]:
    """Scores of the one setting with the least mean held-out error, and its name."""
    names = [name for name in fits[0] if takes(name)]
    errors = np.mean([[grids[name].errors for name in names] for grids in fits], axis=0)
    kernel, best = np.unravel_index(errors.argmin(), errors.shape)
    name = names[int(kernel)]
    return [grids[name].scores[best] for grids in fits], f"{name}, lam {lam[best]:.3g}"


def two_features(reviewer: Reviewer, half_range: float) -> Float64Array:
    """What the references think of an item, and how many of them know it, shape (n_items, 2).

    The mean deviation of a rating from its reviewer's mean, shrunk by five raters of deviation 0
    and counted in quarters of the scale, and half the logarithm of one more than the raters.
    """
    rated = ~np.isnan(reviewer.ratings)
    n_raters = rated.sum(axis=1)
    deviation = np.where(rated, reviewer.ratings - reviewer.means, 0.0).sum(axis=1)
    return np.column_stack(
        [2.0 * deviation / (n_raters + 5) / half_range, 0.5 * np.log1p(n_raters)]
    )


def make_two_feature_kernels(X: Float64Array, Z: Float64Array, n_train: int) -> Kernels:
    """Linear kernel of the two features, alone and added in three weights to two RBF kernels."""
    extra = Z @ Z[:n_train].T
    yield "two features", extra[:n_train], extra[n_train:]
    distances = compute_squared_distances(X, X[:n_train])
    gamma = 1.0 / median_of_different(distances[:n_train])
    for factor in (1 / 16, 1 / 4):
        rbf = np.exp(-factor * gamma * distances)
        for weight in (0.1, 0.3, 1.0):
            K = rbf + weight * extra
            yield f"rbf {factor:g} and {weight:g} of two features", K[:n_train], K[n_train:]
