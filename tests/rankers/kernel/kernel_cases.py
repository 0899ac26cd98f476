"""Rows, a kernel that is none, and a grid."""

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

GAMMA = 1.3
GRID = [0.3, 0.02, 0.001]


def rows(seed=0, n=26, d=3):
    rng = np.random.RandomState(seed)
    X = rng.rand(n, d)
    return X, np.round(2 * X[:, 0] + X[:, 1] + 0.3 * rng.rand(n), 1), rng.randint(0, 5, n)


def skewed(X, Z):
    return rbf_kernel(X, Z, gamma=2.0) + 0.3 * X[:, :1] * np.sin(3 * Z[:, 1])
