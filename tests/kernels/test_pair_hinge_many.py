"""Hinge losses of queries with many labels against loops over pairs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata

from rankwise.kernels.pair_losses import hinge_curvature_many, hinge_point_many, hinge_sum_many
from tests.kernels import ragged
from tests.kernels.hinge import hinge


@pytest.mark.parametrize("bend", [0.25, np.inf])
def test_value_gradient_and_curvature(bend, rng):
    y, weight = ragged.tied(rng), ragged.weights(rng)
    y[ragged.QUERIES[6]] = 1.0
    keys, scale = ragged.tied(rng) + 0.03, rng.uniform(0.5, 2, len(ragged.SIZES))
    scaled = [(scale[q] * weight[i] * weight[j], i, j) for q, i, j in ragged.pairs(y)]
    shape = np.array([0.57, bend, 1.5])
    value, gradient, hessian, plain = hinge(keys, scaled, *shape)
    ranks = np.concatenate([rankdata(y[mine], "dense") - 1 for mine in ragged.QUERIES])
    order = np.concatenate([mine[np.argsort(keys[mine])] for mine in ragged.QUERIES])
    rows = ranks.astype(np.int64), weight, scale, ragged.INDPTR
    placed, out = np.empty((3, ragged.N_ROWS)), np.empty(ragged.N_ROWS)
    got = hinge_point_many(keys, *rows, shape, order, placed, out)
    assert got == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(out, gradient, atol=1e-11)
    values = rng.normal(size=ragged.N_ROWS)
    hinge_curvature_many(values, rows[0], scale, ragged.INDPTR, shape, order, placed, out)
    np.testing.assert_allclose(out, hessian @ values, atol=1e-11)
    assert hinge_sum_many(keys, *rows, 0.57, order) == pytest.approx(plain, rel=1e-12)
