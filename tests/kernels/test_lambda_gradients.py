"""Gradients against swaps of rows, measured by the measure itself."""

from itertools import pairwise

import numpy as np
import pytest

from rankwise.groups import QueryGroups
from rankwise.kernels.lambda_gradients import DISCOUNTED, measure_gradients
from rankwise.losses.lambda_gradients import LambdaGradients
from rankwise.metrics import parse


def swapped_by_hand(measure, y, indptr, scores, normalised):
    """Gradients from the measure itself, evaluated before and after every swap of two rows."""
    gradients, hessians = np.zeros(len(y)), np.zeros(len(y))
    for start, end in pairwise(indptr):
        labels, s = y[start:end], scores[start:end]
        one, n = QueryGroups.from_qid(None, end - start), end - start
        order = np.argsort(-s, kind="stable")
        place = np.empty(n)
        place[order] = -np.arange(n, dtype=float)
        value, total = measure.mean(labels, place, one), 0.0
        for i in range(n):
            for j in range(n):
                if not labels[i] > labels[j]:
                    continue
                swapped = place.copy()
                swapped[[i, j]] = place[[j, i]]
                change = abs(measure.mean(labels, swapped, one) - value)
                if normalised and s.max() != s.min():
                    change /= 0.01 + abs(s[i] - s[j])
                p = 1 / (1 + np.exp(s[i] - s[j]))
                gradients[start + i] -= p * change
                gradients[start + j] += p * change
                hessians[[start + i, start + j]] += p * (1 - p) * change
                total += 2 * p * change
        if normalised and total > 0:
            gradients[start:end] *= np.log2(1 + total) / total
            hessians[start:end] *= np.log2(1 + total) / total
    return gradients, hessians


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize(
    "spec",
    [
        "nDCG@3",
        "nDCG",
        "nDCG(gain='linear')@5",
        "nDCG(discount='letor')@4",
        "nDCG(gain=(0,1,1,5))@2",
        "DCG@3",
        "AP",
        "AP(rel=2)@4",
        "AP(norm='cutoff')@3",
        "RR",
        "RR(rel=3)@2",
        "ERR(max_grade=3)",
        "ERR(max_grade=5)@4",
        "ERR(gain='linear',max_grade=4)@3",
        "P(rel=2)@3",
        "P(short='cut')@6",
        "R(rel=2)@2",
        "RBP(p=0.6)",
        "RBP(rel=2)@5",
    ],
)
def test_gradients_are_those_of_swaps(spec, normalised, rng):
    measure, sizes = parse(spec), np.array([1, 7, 12, 2, 5])
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    y = rng.integers(0, 4, indptr[-1]).astype(float)
    y[1], y[-5:] = 3, 2  # the last query has nothing to order
    loss = LambdaGradients(measure, y, indptr, normalised, 1)
    gradients, hessians = np.empty((2, len(y)))
    for scores in (np.zeros(len(y)), rng.normal(size=len(y)), rng.integers(0, 3, len(y)) * 40.0):
        loss.write(scores, gradients, hessians)
        expected = swapped_by_hand(measure, y, indptr, scores, normalised)
        np.testing.assert_allclose(gradients, expected[0], atol=1e-12)
        np.testing.assert_allclose(hessians, expected[1], atol=1e-12)


def test_tiles_of_a_long_query_add_up(rng):
    y, scores = rng.integers(0, 3, 2500).astype(float), rng.normal(size=2500).round(1)
    indptr = np.array([0, 2500])
    loss = LambdaGradients(parse("nDCG@1500"), y, indptr, True, 1)
    gradients, hessians = np.empty((2, 2500))
    loss.write(scores, gradients, hessians)

    order = np.argsort(-scores, kind="stable")
    gains, s = (2.0**y - 1)[order], scores[order]
    discount = np.where(np.arange(2500) < 1500, 1 / np.log2(np.arange(2500) + 2), 0)
    ideal = (np.sort(gains)[::-1] * discount).sum()
    change = np.abs(np.subtract.outer(gains, gains) * np.subtract.outer(discount, discount))
    change /= ideal * (0.01 + np.abs(np.subtract.outer(s, s)))
    p = 1 / (1 + np.exp(np.subtract.outer(s, s)))
    above = np.greater.outer(gains, gains)
    lambdas = np.where(above, p * change, 0)
    seconds = np.where(above, p * (1 - p) * change, 0)
    scale = np.log2(1 + 2 * lambdas.sum()) / (2 * lambdas.sum())
    np.testing.assert_allclose(
        gradients[order], scale * (lambdas.sum(0) - lambdas.sum(1)), atol=1e-12
    )
    np.testing.assert_allclose(hessians[order], scale * (seconds.sum(0) + seconds.sum(1)))


def test_scores_far_apart_give_finite_gradients():
    y, indptr = np.array([0.0, 1.0, 2.0, 0.0]), np.array([0, 4])
    loss = LambdaGradients(parse("nDCG"), y, indptr, False, 1)
    gradients, hessians = np.empty((2, 4))
    loss.write(np.array([1e5, -1e5, -1e5, 0.0]), gradients, hessians)
    assert np.isfinite(gradients).all() and (hessians >= 0).all()
    assert gradients[1] < 0 < gradients[0]


def test_queries_without_weight_and_stale_orders(rng):
    scores, gains = rng.normal(size=9), rng.random(9)
    indptr, weights = np.array([0, 4, 9]), np.array([0.0, 1.0])
    results = []
    for order in (np.array([0, 1, 2, 3, 0, 1, 2, 3, 4]), np.array([3, 0, 2, 1, 4, 3, 0, 2, 1])):
        order = order.astype(np.int32)
        gradients, hessians = np.full((2, 9), np.nan)
        measure_gradients(
            scores, gains, indptr, weights, np.ones(2), DISCOUNTED, True, order, gradients, hessians
        )
        assert order[4:].tolist() == np.argsort(-scores[4:]).tolist()
        assert not gradients[:4].any() and not hessians[:4].any() and gradients[4:].any()
        results.append(gradients)
    np.testing.assert_array_equal(*results)
