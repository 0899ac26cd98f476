"""Gradients against swaps of rows, measured by the measure itself."""

from itertools import pairwise

import numpy as np
import pytest

from rankwise.groups import QueryGroups
from rankwise.kernels.lambda_gradients import DISCOUNTED, measure_gradients
from rankwise.losses.gradient_loss import CHUNK_ROWS, JudgedRows
from rankwise.losses.lambda_gradients import LambdaGradients, changes_of
from rankwise.metrics import parse


def lambda_gradients(spec, y, indptr, normalised, weight=None):
    weight = np.ones(len(y)) if weight is None else weight
    return LambdaGradients(JudgedRows(y, indptr, weight), parse(spec), normalised, 1)


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


SPECS = [
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
]


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("spec", SPECS)
def test_gradients_are_those_of_swaps(spec, normalised, rng):
    measure, sizes = parse(spec), np.array([1, 7, 12, 2, 5])
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    y = rng.integers(0, 4, indptr[-1]).astype(float)
    y[1], y[-5:] = 3, 2  # the last query has nothing to order
    loss = lambda_gradients(spec, y, indptr, normalised)
    gradients, hessians = np.empty((2, len(y)))
    for scores in (np.zeros(len(y)), rng.normal(size=len(y)), rng.integers(0, 3, len(y)) * 40.0):
        loss.write(scores, gradients, hessians)
        expected = swapped_by_hand(measure, y, indptr, scores, normalised)
        np.testing.assert_allclose(gradients, expected[0], atol=1e-12)
        np.testing.assert_allclose(hessians, expected[1], atol=1e-12)


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("spec", SPECS)
def test_weights_are_copies(spec, normalised, rng):
    sizes = np.array([6, 9, 1, 3])
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    y, weight = rng.integers(0, 4, 19).astype(float), rng.integers(1, 5, 19)
    y[[0, 7, 17]] = 3
    copies = np.repeat(np.arange(19), weight)
    ends = np.concatenate([[0], np.cumsum(weight)])[indptr]
    loss = lambda_gradients(spec, y, indptr, normalised, weight.astype(float))
    gradients, hessians = np.empty((2, 19))
    for scores in (rng.normal(size=19), rng.integers(0, 3, 19) * 2.0):
        loss.write(scores, gradients, hessians)
        expected = swapped_by_hand(parse(spec), y[copies], ends, scores[copies], normalised)
        np.testing.assert_allclose(gradients, np.bincount(copies, expected[0]), atol=1e-12)
        np.testing.assert_allclose(hessians, np.bincount(copies, expected[1]), atol=1e-12)


def test_fractional_weights_take_parts_of_ranks(rng):
    """Against rows of a quarter each, four to a rank."""
    y, quarters = rng.integers(0, 3, 12).astype(float), rng.integers(1, 10, 12)
    scores, gradients, hessians = rng.normal(size=12), np.empty(12), np.empty(12)
    loss = lambda_gradients("nDCG@4", y, np.array([0, 12]), False, quarters / 4)
    loss.write(scores, gradients, hessians)

    order = np.argsort(-scores)
    parts = np.repeat(order, quarters[order])
    discount = np.zeros(len(parts))
    discount[:16] = np.repeat(1 / np.log2([2, 3, 4, 5]), 4)
    gains, s = 2.0 ** y[parts] - 1, scores[parts]
    ideal = (np.sort(gains)[::-1] * discount).sum() / 4
    change = np.abs(np.subtract.outer(gains, gains) * np.subtract.outer(discount, discount))
    p = 1 / (1 + np.exp(np.subtract.outer(s, s)))
    lambdas = np.where(np.greater.outer(gains, gains), p * change / 16 / ideal, 0)
    expected = np.bincount(parts, lambdas.sum(0) - lambdas.sum(1))
    np.testing.assert_allclose(gradients, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("spec", "weight", "message"),
    [
        ("AP", [1, 1.5], "sample_weight must hold whole numbers for AP.*, got 1.5:"),
        ("nDCG", [0.2, 0.3], "must give some query a sum above 1 .* got at most 0.5"),
        ("nDCG", [1e9, 1], "none a sum above 16777216, got at most 1e"),
    ],
)
def test_weights_that_are_no_ranks(spec, weight, message):
    with pytest.raises(ValueError, match=message):
        lambda_gradients(spec, np.array([0.0, 1]), np.array([0, 2]), True, np.array(weight))


def test_tiles_of_a_long_query_add_up(rng):
    y, scores = rng.integers(0, 3, 2500).astype(float), rng.normal(size=2500).round(1)
    indptr = np.array([0, 2500])
    loss = lambda_gradients("nDCG@1500", y, indptr, True)
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
    loss = lambda_gradients("nDCG", y, indptr, False)
    gradients, hessians = np.empty((2, 4))
    loss.write(np.array([1e5, -1e5, -1e5, 0.0]), gradients, hessians)
    assert np.isfinite(gradients).all() and (hessians >= 0).all()
    assert gradients[1] < 0 < gradients[0]


def test_queries_without_weight_and_stale_orders(rng):
    scores, gains = rng.normal(size=9), rng.random(9)
    indptr, weights = np.array([0, 4, 9]), np.array([0.0, 1.0])
    results = []
    for order in (np.array([0, 1, 2, 3, 0, 1, 2, 3, 4]), np.array([3, 0, 2, 1, 4, 3, 0, 2, 1])):
        order = order.astype(np.int64)
        gradients, hessians = np.full((2, 9), np.nan)
        measure_gradients(
            scores, gains, np.ones(9), indptr, weights, np.ones(2), DISCOUNTED, True, order,
            gradients, hessians,
        )  # fmt: skip
        assert order[4:].tolist() == np.argsort(-scores[4:]).tolist()
        assert not gradients[:4].any() and not hessians[:4].any() and gradients[4:].any()
        results.append(gradients)
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("n", [1, 2, 30, 400, 3000])
@pytest.mark.parametrize("levels", [3, 10**9])
def test_rows_are_put_in_order(n, levels, rng):
    scores = rng.integers(0, levels, n).astype(float)
    expected = np.lexsort([np.arange(n), -scores])
    near = expected.copy()
    near[: n // 2 * 2] = near[: n // 2 * 2].reshape(-1, 2)[:, ::-1].ravel()
    for order in (np.arange(n), rng.permutation(n), expected[::-1].copy(), near):
        measure_gradients(
            scores, np.zeros(n), np.ones(n), np.array([0, n]), np.ones(1), np.ones(10), DISCOUNTED,
            True, order, np.empty(n), np.empty(n),
        )  # fmt: skip
        np.testing.assert_array_equal(order, expected)


def test_a_long_query_is_put_in_order(rng):
    n = 2 * CHUNK_ROWS
    y, scores = rng.integers(0, 3, n).astype(float), rng.integers(0, 50, n).astype(float)
    rows = JudgedRows(y, np.array([0, n]), np.ones(n))
    loss = LambdaGradients(rows, parse("nDCG@10"), True, 1)
    gradients, hessians = np.empty((2, 2, n))
    loss.write(scores, gradients[0], hessians[0])
    changes = changes_of(parse("nDCG@10"), y, rows.indptr, np.ones(n))
    order = np.arange(n)
    measure_gradients(
        scores, changes.gains, np.ones(n), rows.indptr, changes.query_weight, changes.discounts,
        changes.kind, True, order, gradients[1], hessians[1],
    )  # fmt: skip
    assert (gradients[0] != 0).any()
    np.testing.assert_array_equal(gradients[0], gradients[1])
    np.testing.assert_array_equal(hessians[0], hessians[1])
