"""Location and scale of the columns of X, for solvers that centre or scale them."""

from __future__ import annotations

import numpy as np

from rankwise.typing import Float64Array, Matrix, is_sparse

# Means farther than this many standard deviations from zero reduce the precision of squares.
FAR = 100.0
# Columns whose largest values differ by less than this ratio are multiplied unscaled: their squares
# stay precise enough for the relative eigenvalue cutoff.
MODERATE = 2.0**18
# Largest values whose squares are far within float64, for any number of rows.
SAFE = 2.0**256


def column_means(X: Matrix) -> Float64Array:
    """Means of the columns in float64."""
    return np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()


def far_means(X: Matrix) -> Float64Array:
    """Means of dense columns that are far from zero relative to their spread; 0 for the others."""
    if is_sparse(X):
        return np.zeros(X.shape[1])
    means, spread = column_means(X), np.std(X, axis=0, dtype=np.float64)
    return np.where(np.abs(means) > FAR * spread, means, 0.0)


def target_power(y: Float64Array) -> int:
    """Power of two by which targets are divided before they are squared; 0 for moderate ones."""
    largest = float(np.abs(y).max(initial=0.0))
    if largest == 0.0 or (largest < SAFE and largest * SAFE > 1.0):
        return 0
    return int(np.frexp(largest)[1])


def column_scales(X: Matrix) -> Float64Array | None:
    """Powers of two near the largest value of each column; None if sizes are moderate.

    Columns of zeros have scale 1.
    """
    if is_sparse(X):
        largest = np.zeros(X.shape[1])
        np.maximum.at(largest, X.indices, np.abs(X.data))
    else:
        largest = np.maximum(X.max(axis=0), -X.min(axis=0)).astype(np.float64)
    used = largest[largest > 0]
    if not len(used):
        return None
    low, high = float(used.min()), float(used.max())
    if low * SAFE > 1.0 and high < SAFE and high < MODERATE * low:
        return None
    return np.where(largest > 0, 2.0 ** np.floor(np.log2(np.where(largest > 0, largest, 1.0))), 1.0)
