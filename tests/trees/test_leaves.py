"""Leaf rules against loops over the classes."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise.losses.class_costs import cost_matrix
from rankwise.trees.leaves import distance_matrix, leaf_classes, leaf_margins, mean_ranks

CLIPPED = [[0, 1, 2, 2], [1, 0, 1, 2], [2, 1, 0, 1], [2, 2, 1, 0]]


def least(costs):
    return min(range(len(costs)), key=lambda k: (costs[k], k))


def by_loop(counts, rule, distance):
    K = len(counts)
    if rule == "median":
        return least([sum(n * abs(k - j) for j, n in enumerate(counts)) for k in range(K)])
    if rule == "mode":
        return least([-n for n in counts])
    if rule == "probabilities":
        return least([sum(n * distance[k][j] for j, n in enumerate(counts)) for k in range(K)])
    twice = [2 * sum(j * n for j, n in enumerate(counts)), sum(counts)]
    return sum(twice[0] >= (2 * k + 1) * twice[1] for k in range(K - 1))


@pytest.mark.parametrize("rule", ["median", "mode", "mean", "probabilities"])
@pytest.mark.parametrize("n_classes", [1, 2, 4, 7])
def test_rules_are_the_loops(rng, rule, n_classes):
    counts = rng.integers(0, 4, (300, n_classes)).astype(float)
    counts = counts[counts.any(axis=1)]
    for distance in (
        cost_matrix("squared", n_classes),
        np.minimum(cost_matrix("absolute", n_classes), 2),
    ):
        expected = [by_loop(row, rule, distance.tolist()) for row in counts.tolist()]
        got = leaf_classes(counts, rule, distance)
        np.testing.assert_array_equal(got, expected)
        if rule != "mean":
            margins = leaf_margins(counts, rule, distance)
            np.testing.assert_array_equal(margins.argmax(axis=1), expected)


def test_median_has_the_least_absolute_loss(rng):
    """Against every class for every row, and below it every class has a larger one."""
    counts = rng.integers(0, 5, (200, 6)).astype(float) + np.eye(6)[rng.integers(0, 6, 200)]
    loss = counts @ cost_matrix("absolute", 6)
    chosen = leaf_classes(counts, "median", cost_matrix("absolute", 6))
    assert (loss[np.arange(200), chosen] == loss.min(axis=1)).all()
    for row, k in enumerate(chosen):
        assert (loss[row, :k] > loss[row, k]).all()
        at_most = counts[row, : k + 1].sum() / counts[row].sum()
        assert at_most >= 0.5  # a median
        assert counts[row, :k].sum() / counts[row].sum() < 0.5  # the lowest one


def test_probabilities_follow_the_distance():
    counts = np.array([[5.0, 0, 0, 4.0]])
    assert leaf_classes(counts, "median", np.array(CLIPPED)) == 0
    assert leaf_classes(counts, "probabilities", cost_matrix("absolute", 4)) == 0
    assert leaf_classes(counts, "probabilities", cost_matrix("squared", 4)) == 1  # mean 1.33
    assert leaf_classes(counts, "probabilities", cost_matrix("zero_one", 4)) == 0
    assert mean_ranks(counts).tolist() == [12 / 9]


def test_forms_of_the_distance():
    np.testing.assert_array_equal(distance_matrix(None, 4), cost_matrix("absolute", 4))
    for name in ("absolute", "squared", "zero_one"):
        np.testing.assert_array_equal(distance_matrix(name, 4), cost_matrix(name, 4))
    np.testing.assert_array_equal(distance_matrix(CLIPPED, 4), CLIPPED)
    np.testing.assert_array_equal(distance_matrix(lambda i, j: min(abs(i - j), 2), 4), CLIPPED)
    assert distance_matrix("squared", 1).tolist() == [[0.0]]


@pytest.mark.parametrize(
    ("distance", "message"),
    [
        ("cubed", "rank_distance must be one of absolute, squared, zero_one"),
        (np.ones((2, 2)), r"shape \(n_classes, n_classes\) = \(3, 3\), got \(2, 2\)"),
        ([[0, 1, 2], [1, 0, 1], [3, 1, 0]], "symmetric"),
        ([[0, 2, 1], [2, 0, 1], [1, 1, 0]], "must not fall"),
        ([[0, 1, 1], [1, 0, 2], [1, 2, 0]], "must not fall"),
        ([[1, 1, 2], [1, 0, 1], [2, 1, 0]], "0 for equal ranks"),
        ([[0, 1, np.inf], [1, 0, 1], [np.inf, 1, 0]], "finite"),
        ([[0, -1, -1], [-1, 0, -1], [-1, -1, 0]], "must not fall"),
        (lambda i, j: i - j, "symmetric"),
    ],
)  # fmt: skip
def test_distances_that_are_none_are_refused(distance, message):
    with pytest.raises(ValueError, match=message):
        distance_matrix(distance, 3)
