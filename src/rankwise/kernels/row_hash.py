"""Hashes of rows: sums of scrambled values."""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import njit

# The mixing steps of splitmix64: each bit of a value changes about half the bits of the result.
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)
_MINUS_ZERO = np.uint64(1 << 63)
_INFINITY, _NAN = np.uint64(0x7FF << 52), np.uint64(0xFFF << 51)


@njit
def hash_rows(bits, multipliers, keys):
    """Write ``sum_j scrambled(bits_ij) multipliers_j``; all NaN are equal, as are 0.0 and -0.0.

    ``bits`` are the bits of float64 values as uint64, shape (n_rows, n_columns). O(n d).
    """
    for i in range(bits.shape[0]):
        key = np.uint64(0)
        for j in range(bits.shape[1]):
            z = bits[i, j]
            if z == _MINUS_ZERO:
                z = np.uint64(0)
            # Above infinity, sign apart, are only NaN, which may hold any further bits.
            elif z & ~_MINUS_ZERO > _INFINITY:
                z = _NAN
            z = (z ^ (z >> _30)) * _FIRST
            z = (z ^ (z >> _27)) * _SECOND
            # Unsigned sums wrap around, which keeps them independent of the order of columns. A
            # multiplier per column tells equal values in different columns apart.
            key += (z ^ (z >> _31)) * multipliers[j]
        keys[i] = key
