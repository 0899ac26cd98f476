"""A Gaussian, an indefinite and a non-symmetric kernel for rows in [0, 1]."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rankwise.typing import Float64Array
from rankwise_papers.elmrank_recommendation.kernel_methods import (
    compute_squared_distances,
    median_of_different,
)

WIDTHS = (1 / 16, 1 / 4, 1.0)  # of the Gaussian, times 1 / median squared distance
SLOPES = (1.0, 4.0, 16.0)  # of the sigmoid, divided by the number of columns
OFFSET = -1.0
KernelFunction = Callable[[Float64Array, Float64Array], Float64Array]


def gaussian(gamma: float) -> KernelFunction:
    """``exp(-gamma |x - z|²)``."""
    return lambda X, Z: np.exp(-gamma * compute_squared_distances(X, Z))


def sigmoid(slope: float) -> KernelFunction:
    """``tanh(slope x.z / d - 1)``, which is indefinite."""
    return lambda X, Z: np.tanh(slope / X.shape[1] * (X @ Z.T) + OFFSET)


def containment(X: Float64Array, Z: Float64Array) -> Float64Array:
    """Share of z that x holds, ``Σ_j min(x_j, z_j) / Σ_j z_j``: not symmetric.

    Tversky's index of chemistry with all weight on z.

    Examples
    --------
    >>> containment(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([[1.0, 1.0], [0.0, 0.5]]))
    array([[0.5, 0. ],
           [1. , 1. ]])
    """
    K = np.empty((len(X), len(Z)))
    for column, z in enumerate(Z):
        total = z.sum()
        K[:, column] = np.minimum(X, z).sum(axis=1) / total if total > 0 else 0.0
    return K


def median_distance(X: Float64Array) -> float:
    """Median squared distance between distinct rows; 1 if all rows are equal."""
    return median_of_different(compute_squared_distances(X, X))


def kernel_functions(X: Float64Array) -> dict[str, dict[str, KernelFunction]]:
    """Settings of every kernel, by kernel and setting, for training rows X."""
    median = median_distance(X)
    return {
        "Gaussian": {f"{width:g}": gaussian(width / median) for width in WIDTHS},
        "sigmoid": {f"{slope:g}": sigmoid(slope) for slope in SLOPES},
        "containment": {"": containment},
    }
