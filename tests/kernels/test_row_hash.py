"""Hashes of rows against Python's integers."""

from __future__ import annotations

import struct

import numpy as np

from rankwise.kernels.sorting import hash_rows

WORD = (1 << 64) - 1


def scrambled(value):
    value = float("nan") if value != value else value + 0.0  # one NaN, one zero
    (z,) = struct.unpack("<Q", struct.pack("<d", value))
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB & WORD
    return z ^ z >> 31


def test_hashes(rng):
    X = rng.normal(size=(6, 3))
    X[0], X[1] = (0.0, np.inf, -1.5), (-0.0, -np.inf, np.nan)
    X[2, 0], X[3, 0] = np.nan, -np.nan
    multipliers = rng.integers(0, WORD, 3, np.uint64) | np.uint64(1)
    keys = np.empty(6, np.uint64)
    hash_rows(X.view(np.uint64), multipliers, keys)
    for row, key in zip(X, keys, strict=True):
        terms = (scrambled(x) * int(m) for x, m in zip(row, multipliers, strict=True))
        assert int(key) == sum(terms) & WORD
    hash_rows(np.empty((6, 0), np.uint64), np.empty(0, np.uint64), keys)
    assert not keys.any()
