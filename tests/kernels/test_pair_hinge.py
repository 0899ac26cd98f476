"""Hinge losses from order statistics against loops over pairs."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.kernels.pair_losses import hinge_curvature, hinge_point, hinge_sum
from tests.kernels import ragged
from tests.kernels.hinge import hinge


@pytest.mark.parametrize("bend", [0.25, np.inf])
def test_value_gradient_and_curvature(bend, rng):
    grades, weight = ragged.grades(rng), ragged.weights(rng)
    keys = ragged.tied(rng) + 0.03  # no slack is exactly at a kink
    table, scale = rng.uniform(0.5, 2, (4, 4)), rng.uniform(0.5, 2, len(ragged.SIZES))
    scaled = [
        (scale[q] * weight[i] * weight[j] * table[grades[i], grades[j]], i, j)
        for q, i, j in ragged.pairs(grades)
    ]
    shape = np.array([0.57, bend, 1.5])
    value, gradient, hessian, plain = hinge(keys, scaled, *shape)
    order = np.arange(ragged.N_ROWS)
    placed = np.empty((3, ragged.N_ROWS))
    ranges, out = np.empty((5, ragged.N_ROWS), np.int32), np.empty(ragged.N_ROWS)
    rows = grades, weight, scale, ragged.INDPTR, table
    for _ in range(2):  # from any order, and from the right one
        got = hinge_point(keys, *rows, shape, order, placed, ranges, out)
        assert got == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(out, gradient, atol=1e-11)
        for mine in ragged.QUERIES:
            assert (np.diff(keys[order[mine]]) >= 0).all()
    values = rng.normal(size=ragged.N_ROWS)
    hinge_curvature(values, scale, ragged.INDPTR, table, 1.5, order, placed, ranges, out)
    np.testing.assert_allclose(out, hessian @ values, atol=1e-11)
    assert hinge_sum(keys, *rows, 0.57) == pytest.approx(plain, rel=1e-12)
