"""Sums over layers against loops over pairs of rows."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.kernels.boosting_rounds import (
    advance_pairs,
    split_layers,
    weigh_pairs,
    write_opponents,
)
from tests.kernels import ragged

N_QUERIES = len(ragged.SIZES)


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_and_weights(weighted, rng):
    y = ragged.grades(rng)
    order, layer_ptr, query_ptr, of_layer = ragged.layers(y)
    mine = y[order]
    layer_of_row = np.repeat(np.arange(len(of_layer)), np.diff(layer_ptr))
    P, Q = rng.uniform(0.1, 2, (2, ragged.N_ROWS))
    side = rng.random(ragged.N_ROWS) < 0.5
    table = rng.uniform(0.5, 2.0, (4, 4)) if weighted else np.empty((0, 0))

    sums = np.empty((4, len(of_layer)))
    split_layers(P, Q, side, layer_ptr, query_ptr, 0, N_QUERIES, sums)
    for row, x in zip(sums, (P * side, P * ~side, Q * side, Q * ~side), strict=True):
        np.testing.assert_allclose(row, np.bincount(layer_of_row, x), atol=1e-14)

    lower, upper = sums[0] + sums[1], sums[2] + sums[3]
    below, above = np.empty((2, len(of_layer)))
    layers = of_layer, table, query_ptr, 0, N_QUERIES
    total = weigh_pairs(lower, upper, *layers)
    write_opponents(lower, upper, *layers, below, above)
    loss, low, high = 0.0, np.zeros(ragged.N_ROWS), np.zeros(ragged.N_ROWS)
    for _, i, j in ragged.pairs(mine):
        pair = table[mine[i], mine[j]] if weighted else 1.0
        loss += pair * Q[i] * P[j]
        low[i] += pair * P[j]
        high[j] += pair * Q[i]
    assert total == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(below[layer_of_row], low, atol=1e-12)
    np.testing.assert_allclose(above[layer_of_row], high, atol=1e-12)

    p, q, u = P.copy(), Q.copy(), np.zeros(ragged.N_ROWS, np.int64)
    arguments = 0.4, layer_ptr, below, above, 2.0**40
    totals = [advance_pairs(P, Q, side, *arguments, *part, u) for part in ((0, 4), (4, len(upper)))]
    step = np.where(side, 0.4, -0.4)
    np.testing.assert_allclose(P, p * np.exp(step))
    np.testing.assert_allclose(Q, q * np.exp(-step))
    np.testing.assert_allclose(u, (Q * low - P * high) * 2.0**40, rtol=1e-9, atol=1)
    assert sum(totals) == u.sum()
