"""Products of a block of rows with a vector, in float64 for any type of the block.

For rows in the cache, converting while multiplying is cheaper than BLAS on a converted copy. A
block is read from memory only once for a product from the right and one from the left.
"""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import REASSOCIATE, njit


@njit(fastmath=REASSOCIATE)
def times_vector(X, w, out):
    """Write ``X w``; X float32 or float64 (n, d), w float64 (d,), out float64 (n,)."""
    n, d = X.shape
    for i in range(n):
        # A float64 sum: the product with float32 rows is widened, not the rows.
        total = 0.0
        for j in range(d):
            total += X[i, j] * w[j]
        out[i] = total


@njit(fastmath=REASSOCIATE)
def add_transposed(X, h, out):
    """Add ``X' h`` to ``out``; X float32 or float64 (n, d), h float64 (n,), out float64 (d,)."""
    n, d = X.shape
    for i in range(n):
        factor = h[i]
        for j in range(d):
            out[j] += factor * X[i, j]


@njit(fastmath=REASSOCIATE)
def add_moments(X, sums, squares):
    """Add the sums of the columns and of their squares; both float64 (d,)."""
    n, d = X.shape
    for i in range(n):
        for j in range(d):
            value = np.float64(X[i, j])
            sums[j] += value
            squares[j] += value * value


@njit
def add_within(X, indptr, squares, largest):
    """Add the sums of squares of the columns about their means within groups of rows.

    ``largest`` becomes at least the largest absolute value of each column; both float64 (d,). The
    first row of each group is subtracted first, so that a common offset loses no digits.
    """
    d = X.shape[1]
    sums, about = np.empty(d), np.empty(d)
    for q in range(len(indptr) - 1):
        lo, hi = indptr[q], indptr[q + 1]
        sums[:] = 0.0
        about[:] = 0.0
        for i in range(lo, hi):
            for j in range(d):
                value = np.float64(X[i, j])
                largest[j] = max(largest[j], abs(value))
                value -= np.float64(X[lo, j])
                sums[j] += value
                about[j] += value * value
        for j in range(d):
            if hi > lo:
                # Divided before it is multiplied: the square of a large sum overflows. Below 0 is
                # rounding.
                squares[j] += max(0.0, about[j] - sums[j] * (sums[j] / (hi - lo)))
