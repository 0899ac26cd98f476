"""Inferred precisions of ragged queries with blocks of tied rows: the mean over all orders."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np

from rankwise.kernels.ranking_agreement import (
    EPSILON,
    MISSING,
    OTHER,
    OUTSIDE,
    POOLED,
    RELEVANT,
    add_inferred_precisions,
)

KINDS = (RELEVANT, OTHER, POOLED, OUTSIDE)


def naive(blocks):
    """Sum for one query, whose ``blocks`` of kinds may each stand in any order."""
    orders = [sum(parts, ()) for parts in product(*(permutations(block) for block in blocks))]
    total = 0.0
    for order in orders:
        for rank, kind in enumerate(order):
            if kind == RELEVANT:
                r, n, u = (order[:rank].count(kind) for kind in (RELEVANT, OTHER, POOLED))
                share = (r + EPSILON) / (r + n + 2 * EPSILON)
                total += (1 + (r + n + u) * share) / (rank + 1)
    return total / len(orders)


def test_sums_of_ragged_queries(rng):
    queries = [[], [(RELEVANT,)], [(OTHER,), (RELEVANT,)]]
    for _ in range(30):
        sizes = rng.integers(1, 4, rng.integers(1, 4))
        queries.append([tuple(rng.choice(KINDS, size).tolist()) for size in sizes])
    kinds, starts, indptr, wanted = [], [], [0], []
    for blocks in queries:
        n_missing = int(rng.integers(0, 3)) if blocks else 0
        for block in [*blocks, *([(MISSING,) * n_missing] if n_missing else [])]:
            starts.append(len(kinds))
            kinds += block
        indptr.append(len(kinds))
        wanted.append(naive(blocks))
    starts.append(len(kinds))
    out = np.full(len(queries), np.nan)
    add_inferred_precisions(np.array(kinds), np.array(starts), np.array(indptr), out)
    np.testing.assert_allclose(out, wanted, rtol=1e-12, atol=1e-15)
    assert max(wanted) > 1
