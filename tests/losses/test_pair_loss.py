"""Losses of users over pairs: derivatives, parts of the queries, and what is refused."""

import re

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from rankwise.groups import GroupedRows
from rankwise.losses.pair_loss import ListedPairs, check_pair_loss


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


@pytest.mark.parametrize("method", ["value", "derivative", "second_derivative"])
def test_nan_met_while_solving_names_its_method(method, rng):
    loss, good = Exponential(), getattr(Exponential(), method)
    setattr(loss, method, lambda d: np.where(np.abs(d) > 60.0, np.nan, good(d)))
    check_pair_loss(loss)
    state, out = ListedPairs.of(grouped(rng), loss=loss).part(0, 4), np.empty(12)
    message = f"loss.{method} of .* returned nan for the score difference -?[0-9]"
    with pytest.raises(ValueError, match=message):
        for scores in (np.arange(12.0) * 61.0, np.arange(12.0) * -61.0):
            state.value_grad(scores, out)
            state.total_curvature()


def change_in_place(d):
    return np.exp(np.negative(d, out=d), out=d)


FINITE = "must return one finite number per score difference, but that of"


@pytest.mark.parametrize(
    ("method", "change", "message"),
    [
        ("value", lambda d: 1.0, "shape () for one of shape (1,)"),
        ("value", lambda d: np.exp(-d[:1]), "shape (1,) for one of shape"),
        ("value", lambda d: "much", "returned 'much'."),
        ("value", lambda d: None, "returned None."),
        ("value", lambda d: np.exp(-d) + 0j, "returned numbers of type complex128"),
        ("value", lambda d: np.exp(-1000.0 * d), "returned inf for the score difference"),
        ("derivative", np.log, "returned nan for the score difference"),
        ("second_derivative", lambda d: [str(x) for x in d], "returned numbers of type <U"),
    ],
)
def test_methods_that_return_no_numbers(method, change, message):
    loss = Exponential()
    setattr(loss, method, change)
    with pytest.raises(ValueError, match=f"loss.{method} {FINITE}.*{re.escape(message)}"):
        check_pair_loss(loss)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"derivative": lambda d: -d}, "loss must be convex"),
        ({"second_derivative": lambda d: -np.ones_like(d)}, "loss must be convex"),
        ({"derivative": lambda d: -np.exp(-np.maximum(d, -10)) * (d > -10)}, "must be convex"),
        ({"derivative": lambda d: -2.0 * np.exp(-d)}, "not the derivative of loss.value"),
        ({"derivative": lambda d: -1.02 * np.exp(-d)}, "not the derivative of loss.value"),
        ({"value": lambda d: np.exp(-d) + d}, "not the derivative of loss.value"),
        ({"value": np.exp, "derivative": np.exp}, "loss must fall where"),
        ({"derivative": change_in_place}, "loss.derivative of"),
    ],
)
def test_losses_that_cannot_be_minimised(changes, message):
    loss = Exponential()
    for method, change in changes.items():
        setattr(loss, method, change)
    with pytest.raises(ValueError, match=re.escape(message)):
        check_pair_loss(loss)
    check_pair_loss(Exponential())  # also after a loss that changed what it received


class Hinge:
    def value(self, difference):
        return np.maximum(0.0, 1.0 - difference)

    def derivative(self, difference):
        return -1.0 * (difference <= 1.0)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"derivative": lambda d: -1.0 * (d < 1.0)},
        {"derivative": lambda d: np.where(d < 1.0, -1.0, np.where(d > 1.0, 0.0, -0.3))},
        {"value": lambda d: np.logaddexp(0, -d), "derivative": lambda d: 1 / (1 + np.exp(-d)) - 1},
        {  # of float32
            "value": lambda d: np.logaddexp(np.float32(0), -d.astype(np.float32)),
            "derivative": lambda d: -1 / (1 + np.exp(d.astype(np.float32))),
        },
        {"value": lambda d: np.exp(-20 * d), "derivative": lambda d: -20 * np.exp(-20 * d)},
        {"value": lambda d: (d - 1.0) ** 2 / 2, "derivative": lambda d: d - 1.0},
    ],
)
def test_losses_with_kinks_rounding_or_overflow_pass(changes):
    loss = Hinge()
    for method, change in changes.items():
        setattr(loss, method, change)
    check_pair_loss(loss)


def test_a_class_or_a_missing_method():
    with pytest.raises(ValueError, match=r"got the class Exponential\. Pass an instance: Expon"):
        check_pair_loss(Exponential)
    loss = Exponential()
    loss.derivative = None
    with pytest.raises(ValueError, match="lacks derivative"):
        check_pair_loss(loss)


def test_a_loss_below_zero_is_refused():
    class Shifted(Exponential):
        def value(self, difference):
            return np.exp(-difference) - 1.0

    with pytest.raises(ValueError, match=r"loss must be >= 0, got .*Add a constant"):
        check_pair_loss(Shifted())
