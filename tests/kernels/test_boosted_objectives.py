"""Losses of scores for boosting: derivatives against finite differences of the stated losses."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from rankwise.groups import QueryGroups
from rankwise.kernels.lambda_gradients import (
    cross_entropy,
    differentiate_squared_pairs,
    logistic_pairs,
)
from rankwise.losses.boosted_objectives import (
    CrossEntropyGradients,
    LogisticGradients,
    SquaredGradients,
)
from rankwise.losses.gradient_loss import JudgedRows
from rankwise.losses.lambda_gradients import NeighbourGradients
from rankwise.metrics import parse

POWER = {"pair": 0, "document": -1, "query": -2}


def logistic(y, w, f):
    value = 0.0
    for i in range(len(y)):
        for j in range(len(y)):
            value += w[i] * w[j] * (y[i] > y[j]) * np.log1p(np.exp(f[j] - f[i]))
    return value


def squared(y, w, f):
    errors = y - f
    return 0.25 * (np.outer(w, w) * np.subtract.outer(errors, errors) ** 2).sum()


def softmax_loss(t, w, f):
    if not t.any():
        return 0.0
    return -(t * np.log(w * np.exp(f) / (w * np.exp(f)).sum())).sum()


@pytest.fixture
def rows(rng):
    indptr = np.array([0, 7, 8, 8, 19, 22])
    y = rng.integers(0, 4, 22) + rng.integers(0, 2, 22) / 2
    y[-3:] = 1.5  # nothing to order
    return y, indptr, rng.integers(1, 4, 22) * 0.7


def summed(loss, first, weight, indptr, query_weight):
    """The loss of all queries as a function of all scores."""

    def of(scores):
        total = 0.0
        for start, end in pairwise(indptr):
            part = slice(start, end)
            if end > start:
                c = weight[part].sum() ** POWER[query_weight]
                total += c * loss(first[part], weight[part], scores[part])
        return total

    return of


def check(loss, of, scores, diagonal):
    gradients, hessians = np.empty((2, len(scores)))
    loss.write(scores, gradients, hessians)
    np.testing.assert_allclose(gradients, approx_fprime(scores, of, 1e-7), atol=3e-5)
    if diagonal:
        step = 1e-4 * np.eye(len(scores))
        second = [(of(scores + s) - 2 * of(scores) + of(scores - s)) / 1e-8 for s in step]
        np.testing.assert_allclose(hessians, second, atol=3e-5)


@pytest.mark.parametrize("query_weight", list(POWER))
@pytest.mark.parametrize(
    ("made", "loss"), [(LogisticGradients, logistic), (SquaredGradients, squared)]
)
def test_pairs(made, loss, query_weight, rows, rng):
    y, indptr, weight = rows
    of = summed(loss, y, weight, indptr, query_weight)
    judged = JudgedRows(y, indptr, weight, query_weight)
    for scores in (np.zeros(22), rng.normal(size=22)):
        check(made(judged, 1), of, scores, diagonal=True)


@pytest.mark.parametrize("query_weight", list(POWER))
def test_cross_entropy(query_weight, rows, rng):
    y, indptr, weight = rows
    y = np.floor(y)
    y[7] = 3  # a query of one row
    judged = JudgedRows(y, indptr, weight, query_weight)
    loss, scores = CrossEntropyGradients(judged, parse("nDCG"), 5, 1), rng.normal(size=22)
    for tree in (0, 3):
        draws = np.random.default_rng([5, tree, 1]).random(22)
        aims = weight * (2.0**y - draws)
        for start, end in pairwise(indptr):
            part = slice(start, end)
            aims[part] = (
                aims[part] / aims[part].sum() if np.ptp(y[part] if end > start else 0) else 0
            )
        of = summed(softmax_loss, aims, weight, indptr, query_weight)
        gradients, hessians = np.empty((2, 22))
        loss.write(scores, gradients, hessians, tree)
        np.testing.assert_allclose(gradients, approx_fprime(scores, of, 1e-7), atol=3e-6)
        assert (hessians >= 0).all() and not gradients[-3:].any() and gradients[8:19].all()


def test_cross_entropy_has_the_diagonal_of_its_second_derivative(rng):
    y, f, h = rng.random(6), rng.normal(size=6), np.empty(6)
    targets, weights, indptr = y / y.sum(), np.ones(6), np.array([0, 6])
    cross_entropy(f, targets, weights, indptr, np.empty(6), h)
    step = 1e-4 * np.eye(6)
    values = [[softmax_loss(targets, weights, f + k * s) for k in (-1, 0, 1)] for s in step]
    np.testing.assert_allclose(h, np.array(values) @ [1, -2, 1] / 1e-8, atol=1e-6)


@pytest.mark.parametrize("spec", ["nDCG@4", "AP(rel=2)", "RR", "ERR(max_grade=3)@5", "P@2"])
def test_neighbours_in_noisy_rankings(spec, rng):
    """Against the measure itself, before and after each swap of neighbours."""
    measure, indptr = parse(spec), np.array([0, 1, 9, 15])
    y, scores = rng.integers(0, 4, 15).astype(float), rng.normal(size=15)
    y[[1, 9]] = 3
    loss = NeighbourGradients(JudgedRows(y, indptr, np.ones(15)), measure, None, 7, 1)
    gradients, hessians = np.empty((2, 15))
    loss.write(scores, gradients, hessians, 2)
    noise = np.random.default_rng([7, 2, 1]).logistic(size=(10, 15))
    g, h = np.zeros(15), np.zeros(15)
    for start, end in pairwise(indptr):
        for drawn in noise:
            order = start + np.argsort(-(scores + drawn)[start:end])
            labels = y[order]
            places = -np.arange(len(order), dtype=float)
            one = QueryGroups.from_qid(None, len(labels))
            value = measure.mean(labels, places, one)
            for r in range(len(order) - 1):
                swapped = labels.copy()
                swapped[[r, r + 1]] = labels[[r + 1, r]]
                change = abs(measure.mean(swapped, places, one) - value) / 10
                i, j = order[r : r + 2][np.argsort(-labels[r : r + 2])]
                p = 1 / (1 + np.exp(scores[i] - scores[j]))
                g[[i, j]] += [-p * change, p * change]
                h[[i, j]] += p * (1 - p) * change if y[i] > y[j] else 0
    np.testing.assert_allclose(gradients, g, atol=1e-12)
    np.testing.assert_allclose(hessians, h, atol=1e-12)


@pytest.mark.parametrize("decay", [0.85, 0.5])
@pytest.mark.parametrize("scale", [1.0, 40.0])
def test_neighbours_weigh_less_further_down(decay, scale, rng):
    """Against CatBoost's formula; labels that are no grades count by their share of the largest."""
    indptr, y = np.array([0, 1, 9, 15]), scale * rng.integers(0, 4, 15).astype(float)
    scores, y[1] = rng.normal(size=15), scale * 3
    loss = NeighbourGradients(JudgedRows(y, indptr, np.ones(15)), parse("nDCG"), decay, 7, 1)
    gradients, hessians = np.empty((2, 15))
    loss.write(scores, gradients, hessians, 2)
    noise = np.random.default_rng([7, 2, 1]).logistic(size=(10, 15))
    g, h, labels = np.zeros(15), np.zeros(15), y if scale == 1 else y / y.max()
    for start, end in pairwise(indptr):
        for drawn in noise:
            order = start + np.argsort(-(scores + drawn)[start:end])
            coefficient = (1 - decay) / 10
            for i, j in pairwise(order):
                if labels[i] < labels[j]:
                    i, j = j, i
                weight = coefficient * (labels[i] - labels[j])
                p = np.exp(scores[j]) / (np.exp(scores[i]) + np.exp(scores[j]))
                g[[i, j]] += [-p * weight, p * weight]
                h[[i, j]] += p * (1 - p) * weight
                coefficient *= decay
    np.testing.assert_allclose(gradients, g, atol=1e-12)
    np.testing.assert_allclose(hessians, h, atol=1e-12)


def test_scores_far_apart_stay_finite():
    f, y, ones = np.array([1e5, -1e5, 0.0, 3.0]), np.array([0.0, 1, 2, 0]), np.ones(4)
    indptr, order = np.array([0, 4]), np.array([0, 3, 1, 2], dtype=np.int32)
    for write in (
        lambda g, h: logistic_pairs(f, y, ones, order, indptr, g, h),
        lambda g, h: differentiate_squared_pairs(f, y, ones, indptr, g, h),
        lambda g, h: cross_entropy(f, y / 3, ones, indptr, g, h),
    ):
        gradients, hessians = np.empty((2, 4))
        write(gradients, hessians)
        assert np.isfinite(gradients).all() and (hessians >= 0).all()
        assert gradients[1] < 0 < gradients[0]


def test_labels_that_overflow_are_named():
    rows = JudgedRows(np.array([0.0, 1e200]), np.array([0, 2]), np.ones(2))
    with pytest.raises(ValueError, match=r"y must lie within \+-1e\+100 .* size 1e\+200"):
        SquaredGradients(rows, 1)
