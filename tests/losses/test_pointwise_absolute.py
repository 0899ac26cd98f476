"""Absolute residuals with a free intercept: brute force, support function, nearest dual point."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from rankwise.losses.absolute_loss import PointwiseAbsolute


def case(seed, epsilon, *, ties):
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 9)
    r = 0.5 * rng.integers(0, 5, n) if ties else rng.normal(size=n)
    return rng, r, PointwiseAbsolute(rng.integers(1, 4, n) * 0.7, epsilon)


def brute(loss, r):
    """The best b is among the kinks."""
    kinks = np.concatenate([r - loss.epsilon, r + loss.epsilon])
    beyond = np.abs(r[:, None] - kinks) - loss.epsilon
    return (loss.weight @ np.maximum(beyond, 0.0)).min()


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.3, 1.0]), st.booleans())
def test_value_is_that_of_the_best_intercept(seed, epsilon, ties):
    rng, r, loss = case(seed, epsilon, ties=ties)
    assert loss.value(r) == pytest.approx(brute(loss, r), rel=1e-12, abs=1e-13)
    assert loss.value(r + rng.normal()) == pytest.approx(loss.value(r), rel=1e-9, abs=1e-12)
    assert loss.intercept(r + 3.0) == pytest.approx(loss.intercept(r) + 3.0, abs=1e-12)


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.3]), st.booleans())
def test_nearest_dual_point(seed, epsilon, ties):
    rng, r, loss = case(seed, epsilon, ties=ties)
    z = loss.nodes(r) * rng.choice([0.1, 1.0, 10.0]) + rng.normal(size=len(loss.nodes(r)))
    nu, active, block_ptr = loss.project(z)
    n, w = len(r), loss.dual_weight
    low, high = -np.ones(len(z)), np.ones(len(z))
    if epsilon:
        low[:n], high[n:] = 0.0, 0.0
    assert abs(w @ nu) < 1e-12 * w.sum()
    assert (nu >= low - 1e-14).all()
    assert (nu <= high + 1e-14).all()
    ahead = w * (z - nu)
    furthest = -linprog(-ahead, A_eq=[w], b_eq=[0.0], bounds=np.stack([low, high], axis=1)).fun
    assert furthest <= ahead @ nu + 1e-9 * (1 + np.abs(ahead).sum())
    if len(active):
        assert list(block_ptr) == [0, len(active)]
        assert np.ptp((z - nu)[active]) < 1e-12 * (1 + np.abs(z).max())


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.3]))
def test_the_loss_is_the_support_function(seed, epsilon):
    _, r, loss = case(seed, epsilon, ties=False)
    nu = loss.project(1e7 * loss.nodes(r)).nu
    assert (loss.dual_weight * nu) @ loss.nodes(r) == pytest.approx(loss.value(r), abs=1e-6)
