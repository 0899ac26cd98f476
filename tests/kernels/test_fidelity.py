"""Fidelity loss, slopes and their splits against loops over pairs."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.kernels.boosting_rounds import fidelity_point, fidelity_split, write_integers
from tests.kernels import ragged


@pytest.mark.parametrize("weighted", [False, True])
def test_loss_slopes_and_splits(weighted, rng):
    y = ragged.grades(rng)
    order, layer_ptr, query_ptr, of_layer = ragged.layers(y)
    scores, weight = ragged.tied(rng)[order], ragged.weights(rng)[order]
    table = rng.uniform(0.5, 2.0, (4, 4)) if weighted else np.empty((0, 0))
    scale = rng.uniform(0.5, 2.0, len(ragged.SIZES))
    side = rng.random(ragged.N_ROWS) < 0.5
    mine = y[order]
    value, total, slope, right, wrong = 0.0, 0.0, np.zeros(ragged.N_ROWS), 0.0, 0.0
    for q, i, j in ragged.pairs(mine):  # queries keep their places
        pair = scale[q] * weight[i] * weight[j] * (table[mine[i], mine[j]] if weighted else 1.0)
        odds = np.exp(scores[j] - scores[i])
        value += pair * (1 - (1 + odds) ** -0.5)
        push = pair * 0.5 * odds * (1 + odds) ** -1.5
        slope[i] += push
        slope[j] -= push
        total += push
        right += push * (side[i] and not side[j])
        wrong += push * (side[j] and not side[i])
    arguments = np.exp(scores), weight, of_layer, table, layer_ptr, query_ptr, scale
    out, queries = np.zeros(ragged.N_ROWS), (0, len(ragged.SIZES))
    np.testing.assert_allclose(fidelity_point(*arguments, queries, out), (value, total))
    np.testing.assert_allclose(out, slope, atol=1e-12)
    np.testing.assert_allclose(fidelity_split(*arguments, queries, side), (right, wrong))


def test_integers(rng):
    slope, out = rng.normal(size=20), np.empty(20, np.int64)
    assert write_integers(slope, 2.0**20, out) == out.sum()
    np.testing.assert_array_equal(out, np.rint(slope * 2**20))
