"""Hinge losses of listed pairs against a loop over the pairs."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.kernels.pair_losses import (
    apply_listed_curvature,
    evaluate_listed_pairs,
    sum_listed_pairs,
)
from tests.kernels import ragged
from tests.kernels.hinge import hinge


@pytest.mark.parametrize("bend", [0.25, np.inf])
@pytest.mark.parametrize("n_pairs", [0, 1, 60])
def test_value_gradient_and_curvature(n_pairs, bend, rng):
    keys = ragged.tied(rng) + 0.03
    pairs = ragged.pairs(ragged.grades(rng))
    chosen = rng.integers(0, len(pairs), n_pairs)  # some twice
    _, upper, lower = np.array([pairs[p] for p in chosen], np.int64).reshape(-1, 3).T.copy()
    weight = rng.uniform(0.5, 2, n_pairs)
    shape = 0.57, bend, 1.5
    listed = list(zip(weight, upper, lower, strict=True))
    value, gradient, hessian, plain = hinge(keys, listed, *shape)
    out = np.ones(ragged.N_ROWS)
    got, trace = evaluate_listed_pairs(keys, upper, lower, weight, *shape, out)
    assert got == pytest.approx(value, rel=1e-12)
    assert trace == pytest.approx(np.trace(hessian), rel=1e-12)
    np.testing.assert_allclose(out, 1 + gradient, atol=1e-12)
    values, out = rng.normal(size=ragged.N_ROWS), np.ones(ragged.N_ROWS)
    apply_listed_curvature(values, keys, upper, lower, weight, *shape, out)
    np.testing.assert_allclose(out, 1 + hessian @ values, atol=1e-12)
    assert sum_listed_pairs(keys, upper, lower, weight, 0.57) == pytest.approx(plain, rel=1e-12)
