"""The largest t over pairs of systems against loops over queries and signs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from rankwise.kernels.random_draws import SMALLEST_ERROR, largest_pair_t

WORD = (1 << 64) - 1


def signs(seed, n):
    """Signs of n queries from the bits of splitmix64, in Python's integers."""
    out, state, bits = [], seed, 0
    for q in range(n):
        if q % 64 == 0:
            state = state + 0x9E3779B97F4A7C15 & WORD
            bits = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & WORD
            bits = (bits ^ bits >> 27) * 0x94D049BB133111EB & WORD
            bits ^= bits >> 31
        out.append(1.0 if bits & 1 else -1.0)
        bits >>= 1
    return np.array(out)


def test_largest_t(rng):
    values = rng.normal(size=(70, 3))
    counted = rng.random((70, 3)) < 0.9
    counted[40] = False
    values = np.where(counted, values, 0.0)
    starts = np.array([0, 1, 30, 30, 70])  # a stratum of one query, one without any
    both = counted[:, :, None] & counted[:, None]
    gaps = np.where(both, values[:, :, None] - values[:, None], 0.0)
    strata = [slice(a, b) for a, b in pairwise(starts)]
    sizes = np.array([both[part].sum(0) for part in strata], dtype=float)
    scale = rng.uniform(0.001, 0.01, (4, 3, 3))
    base = sum(scale[g] * (gaps[part] ** 2).sum(0) for g, part in enumerate(strata))
    base[0, 2] = np.nan
    inverse = np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0)
    ratio, share = scale * inverse, inverse / (sizes > 0).sum(0)
    seeds = rng.integers(0, 2**63, 5).astype(np.uint64)
    maxima = np.empty(5)
    shifts, variances = rng.normal(0.0, 0.1, (5, 3)), rng.uniform(0.0, 0.02, 3)
    largest_pair_t(values, counted, starts, base, ratio, share, shifts, variances, seeds, maxima)
    for seed, shift, found in zip(seeds, shifts, maxima, strict=True):
        flipped = gaps * signs(int(seed), 70)[:, None, None]
        expected = 0.0
        for i, j in ((0, 1), (1, 2)):
            sums = [flipped[part, i, j].sum() for part in strata]
            parts = [(g, total) for g, total in enumerate(sums) if sizes[g, i, j] > 0]
            mean = np.mean([total / sizes[g, i, j] for g, total in parts]) + shift[i] - shift[j]
            error = sum(
                scale[g, i, j] * ((gaps[strata[g], i, j] ** 2).sum() - total**2 / sizes[g, i, j])
                for g, total in parts
            )
            error += variances[i] + variances[j]
            expected = max(expected, mean**2 / max(error, SMALLEST_ERROR * mean**2))
        np.testing.assert_allclose(found, expected)
