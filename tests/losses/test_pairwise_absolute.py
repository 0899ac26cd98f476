"""Sums over sorted residuals against the double loop, nearest dual points against their proof."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.losses.absolute_loss import pairwise_absolute

EPSILONS = (0.0, 0.5, 1.3)


def naive(r, w, indptr, epsilon, query_weight):
    """Mean over ordered pairs, and its subgradient, pair by pair."""
    total, gradient, pairs = 0.0, np.zeros(len(r)), 0.0
    for lo, hi in itertools.pairwise(indptr):
        weight = w[lo:hi].sum()
        c = {"pair": 1.0, "document": 1.0 / weight, "query": 1.0 / weight**2}[query_weight]
        pairs += c * weight**2
        for i in range(lo, hi):
            for j in range(lo, hi):
                beyond = abs(r[i] - r[j]) - epsilon
                if beyond > 0:
                    total += c * w[i] * w[j] * beyond
                    gradient[i] += 2 * c * w[i] * w[j] * np.sign(r[i] - r[j])
    return total / pairs, gradient / pairs


def ragged(seed, *, ties):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 9, 5)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    n = indptr[-1]
    r = 0.5 * rng.integers(0, 6, n) if ties else rng.normal(size=n)
    return rng, r, rng.integers(1, 4, n) * 1.0, indptr


@given(
    st.integers(0, 10_000),
    st.sampled_from(EPSILONS),
    st.sampled_from(["pair", "document", "query"]),
    st.booleans(),
)
def test_value_and_subgradient_are_those_of_the_double_loop(seed, epsilon, query_weight, ties):
    _, r, w, indptr = ragged(seed, ties=ties)
    loss = pairwise_absolute(indptr, w, epsilon=epsilon, query_weight=query_weight)
    value, gradient = loss.value_grad(r)
    expected, expected_gradient = naive(r, w, indptr, epsilon, query_weight)
    assert value == pytest.approx(expected, rel=1e-12, abs=1e-13)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-12, atol=1e-14)


@given(st.integers(0, 10_000), st.sampled_from(EPSILONS))
def test_gradient_is_that_of_finite_differences(seed, epsilon):
    rng, r, w, indptr = ragged(seed, ties=False)
    loss = pairwise_absolute(indptr, w, epsilon=epsilon)
    direction, h = rng.normal(size=len(r)), 1e-7
    slope = (loss.value(r + h * direction) - loss.value(r - h * direction)) / (2 * h)
    assert slope == pytest.approx(loss.value_grad(r)[1] @ direction, abs=1e-5)


@given(st.integers(0, 10_000), st.sampled_from(EPSILONS), st.booleans())
def test_subgradient_supports_the_loss(seed, epsilon, ties):
    rng, r, w, indptr = ragged(seed, ties=ties)
    loss = pairwise_absolute(indptr, w, epsilon=epsilon)
    value, gradient = loss.value_grad(r)
    other = r + rng.normal(size=len(r))
    assert loss.value(other) >= value + gradient @ (other - r) - 1e-12


@given(st.integers(0, 10_000), st.sampled_from(EPSILONS))
def test_a_weight_is_repetition_and_an_offset_costs_nothing(seed, epsilon):
    rng, r, w, indptr = ragged(seed, ties=True)
    loss = pairwise_absolute(indptr, w, epsilon=epsilon)
    rows = np.repeat(np.arange(len(r)), w.astype(int))
    repeated = np.searchsorted(rows, indptr)
    assert pairwise_absolute(repeated, epsilon=epsilon).value(r[rows]) == pytest.approx(
        loss.value(r), rel=1e-12, abs=1e-14
    )
    offset = np.repeat(rng.normal(size=len(indptr) - 1), np.diff(indptr))
    assert loss.value(r + 1e6 * offset) == pytest.approx(loss.value(r), abs=1e-8)


def test_sorted_form_of_one_query():
    r = np.random.default_rng(0).normal(size=50)
    m = len(r)
    formula = 2 / m**2 * ((2 * np.arange(1, m + 1) - m - 1) @ np.sort(r))
    assert pairwise_absolute(np.array([0, m])).value(r) == pytest.approx(formula, rel=1e-13)


# The nearest dual point --------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.sampled_from(EPSILONS), st.booleans())
def test_nearest_dual_point(seed, epsilon, ties):
    """A point nu is the nearest to z if and only if it is in the polytope and no point of it is
    further along z - nu: both are read off the support function."""
    rng, r, w, indptr = ragged(seed, ties=ties)
    loss = pairwise_absolute(indptr, w, epsilon=epsilon)
    z = loss.nodes(r) * rng.choice([0.1, 1.0, 10.0])
    z = z + rng.normal(size=len(z)) * rng.choice([0.0, 0.3])
    nu, active, block_ptr = loss.project(z)

    def support(direction):
        """Largest value of the linear function over the polytope, from the loss itself."""
        n = len(w)
        up, down = (direction, direction) if epsilon == 0 else (direction[:n], direction[n:])
        total = 0.0
        for scale, (lo, hi) in zip(loss.pair_scale, itertools.pairwise(indptr), strict=True):
            for i, j in itertools.product(range(lo, hi), repeat=2):
                total += 2 * scale * w[i] * w[j] * max(0.0, up[i] - down[j])
        return total

    ahead = z - nu
    along = (loss.dual_weight * nu) @ ahead
    assert support(ahead) == pytest.approx(along, abs=1e-12 * (1 + np.abs(z).max()))
    for _ in range(20):
        direction = rng.normal(size=len(z))
        assert (loss.dual_weight * nu) @ direction <= support(direction) + 1e-12
    for lo, hi in itertools.pairwise(block_ptr):
        assert np.ptp(ahead[active[lo:hi]]) < 1e-12 * (1 + np.abs(z).max())


def test_vertices_give_the_value():
    """Far along r the nearest point is the vertex that g(r) is attained at."""
    for epsilon in EPSILONS:
        _, r, w, indptr = ragged(3, ties=False)
        loss = pairwise_absolute(indptr, w, epsilon=epsilon)
        nu = loss.project(1e6 * loss.nodes(r)).nu
        assert (loss.dual_weight * nu) @ loss.nodes(r) == pytest.approx(loss.value(r), rel=1e-12)
        np.testing.assert_allclose(
            loss.rows(loss.dual_weight * nu), loss.value_grad(r)[1], atol=1e-13
        )
