"""Losses of users over pairs: derivatives, parts of the queries, and what is refused."""

import re

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from rankwise.losses.pair_loss import ListedPairs, check_pair_loss
from rankwise.rows.grouped_rows import GroupedRows


class Exponential:
    def value(self, difference):
        return np.exp(-difference)

    def derivative(self, difference):
        return -np.exp(-difference)

    def second_derivative(self, difference):
        return np.exp(-difference)


def grouped(rng, n=12):
    y, indptr = rng.integers(0, 3, n).astype(float), np.array([0, 4, 4, 5, n])
    return GroupedRows(np.zeros((n, 1)), y, indptr, rng.uniform(0.5, 2.0, n))


@pytest.mark.parametrize("pair_weight", [None, "difference"])
@pytest.mark.parametrize("query_weight", ["pair", "document", "query"])
def test_derivatives_and_naive_sum(pair_weight, query_weight, rng):
    rows = grouped(rng)
    options = {"pair_weight": pair_weight, "query_weight": query_weight}
    pairs = ListedPairs.of(rows, loss=Exponential(), **options)
    state, scores, step = pairs.part(0, 4), rng.normal(size=12), rng.normal(size=12)
    gradient, curved, out = np.empty(12), np.empty(12), np.empty(12)
    expected = 0.0
    for lo, hi in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        power = {"pair": 0, "document": 1, "query": 2}[query_weight]
        total = rows.weight[lo:hi].sum() ** power if hi > lo else 1.0
        for i in range(lo, hi):
            for j in range(lo, hi):
                if rows.y[i] > rows.y[j]:
                    weight = rows.weight[i] * rows.weight[j] / total
                    weight *= rows.y[i] - rows.y[j] if pair_weight else 1.0
                    expected += weight * np.exp(scores[j] - scores[i])
    assert state.value_grad(scores, gradient) == pytest.approx(expected)
    np.testing.assert_allclose(
        gradient, approx_fprime(scores, lambda f: state.value_grad(f, out)), rtol=1e-4, atol=1e-6
    )
    state.value_grad(scores, gradient)
    state.curvature(step, curved)
    state.value_grad(scores + 1e-6 * step, out)
    np.testing.assert_allclose(curved, (out - gradient) / 1e-6, rtol=1e-4, atol=1e-5)


def test_parts_add_up(rng):
    pairs, scores = ListedPairs.of(grouped(rng), loss=Exponential()), rng.normal(size=12)
    whole, first, last = pairs.part(0, 4), pairs.part(0, 3), pairs.part(3, 4)
    out, parts = np.empty(12), np.empty(12)
    value = whole.value_grad(scores, out)
    sums = first.value_grad(scores[:5], parts[:5]) + last.value_grad(scores[5:], parts[5:])
    assert value == pytest.approx(sums)
    np.testing.assert_allclose(out, parts)
    total = first.total_curvature() + last.total_curvature()
    assert whole.total_curvature() == pytest.approx(total)


def test_overflow_is_an_infinite_value(rng):
    state = ListedPairs.of(grouped(rng), loss=Exponential()).part(0, 4)
    assert state.value_grad(-1e4 * np.arange(12.0) ** 2, np.empty(12)) in (np.inf, 0.0)


@pytest.mark.parametrize(
    ("method", "change", "message"),
    [
        ("value", lambda d: 1.0, "loss.value must return one finite number per score difference"),
        ("derivative", np.log, "loss.derivative must return one finite number"),
        ("derivative", lambda d: -d, "loss must be convex"),
        ("second_derivative", lambda d: -np.ones_like(d), "loss must be convex"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*encountered in log:RuntimeWarning")
def test_refused_losses(method, change, message):
    loss = Exponential()
    setattr(loss, method, change)
    with pytest.raises(ValueError, match=re.escape(message)):
        check_pair_loss(loss)
