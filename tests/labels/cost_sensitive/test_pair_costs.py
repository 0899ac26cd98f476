"""The cost transformation: its integral, its identity, the bound of the votes."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.labels import all_pairs_costs
from rankwise.labels.cost_sensitive.binary_questions import class_votes

COSTS = st.lists(st.integers(0, 80).map(lambda n: n / 8), min_size=1, max_size=7)


def integral(costs):
    """``v_k = integral_0^{c_k} dt / #{j : c_j <= t}``, interval by interval."""
    shifted = np.array(costs) - min(costs)
    values = []
    for cost in shifted:
        ends = sorted({0.0, cost, *shifted[shifted < cost]})
        values.append(sum((b - a) / np.sum(shifted <= (a + b) / 2) for a, b in pairwise(ends)))
    return values


@given(COSTS)
def test_recursion_is_the_integral(costs):
    np.testing.assert_allclose(all_pairs_costs(costs), integral(costs), atol=1e-12)


@given(COSTS)
def test_lost_weights_sum_to_the_excess_cost(costs):
    v = all_pairs_costs(costs)
    lost = [np.sum((mine - v)[v < mine]) for mine in v]
    np.testing.assert_allclose(lost, np.array(costs) - min(costs), atol=1e-12)


@given(COSTS)
def test_no_weight_exceeds_the_difference_of_the_costs(costs):
    c, v = np.array(costs), all_pairs_costs(costs)
    assert (np.abs(v[:, None] - v) <= np.abs(c[:, None] - c) + 1e-12).all()


@given(COSTS, st.randoms())
def test_order_of_the_classes_and_level_of_the_costs_do_not_matter(costs, random):
    order = list(range(len(costs)))
    random.shuffle(order)
    moved = all_pairs_costs(np.array(costs)[order] + 0.5)
    np.testing.assert_allclose(moved, all_pairs_costs(costs)[order], atol=1e-12)


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        ([0, 1, 3, 3], [0, 1, 2, 2]),
        ([2, 1, 0, 1, 2], [4 / 3, 1, 0, 1, 4 / 3]),
        ([1, 0, 1, 1], [1, 0, 1, 1]),
        ([5], [0]),
        ([], []),
    ],
)
def test_examples(costs, expected):
    np.testing.assert_allclose(all_pairs_costs(costs), expected, rtol=1e-15)


def test_rows_are_vectors(rng):
    costs = rng.integers(0, 5, (5000, 6)).astype(float)  # more than a block
    table = all_pairs_costs(costs)
    assert table.shape == (5000, 6)
    np.testing.assert_array_equal(table, [all_pairs_costs(row) for row in costs])
    for row, v in zip(costs, table, strict=True):  # equal costs, equal values, to the last bit
        assert len(np.unique(v)) == len(np.unique(row))
    assert all_pairs_costs(np.empty((0, 3))).shape == (0, 3)


def test_the_former_name_warns_and_is_the_same_function():
    with pytest.warns(FutureWarning, match="renamed to all_pairs_costs"):
        from rankwise.labels import csovo_costs
    assert csovo_costs is all_pairs_costs


def test_wrong_costs_are_named():
    with pytest.raises(ValueError, match=r"costs must have shape .*, got \(1, 1, 2\)"):
        all_pairs_costs([[[1, 2]]])
    with pytest.raises(ValueError, match="finite"):
        all_pairs_costs([1.0, np.nan])
    with pytest.raises(ValueError, match="numbers"):
        all_pairs_costs(["a", "b"])


@pytest.mark.parametrize("costs", [[0, 1, 1], [0, 2, 3], [0, 1, 1, 1], [0, 3, 1, 4], [0, 0, 1, 5]])
def test_votes_cost_at_most_twice_the_weight_of_wrong_answers(costs):
    """Over all answers that the questions can get; whichever of tied classes is taken."""
    worst = max(ratios(costs))
    assert worst <= 2 + 1e-12


def test_the_bound_is_attained():
    """Two classes of least cost: one wrong answer of weight 1/2 makes all three classes tie."""
    assert max(ratios([0, 0, 1])) == pytest.approx(2)
    assert max(ratios([0, 0, 1, 1])) == pytest.approx(2)


def ratios(costs):
    c, v = np.array(costs, dtype=float), all_pairs_costs(costs)
    pairs = np.column_stack(np.triu_indices(len(c), 1))
    first, second = pairs.T
    for answers in product((0.0, 1.0), repeat=len(pairs)):
        wrong = np.where(v[first] > v[second], 1.0, 0.0) != answers
        weight = np.abs(v[first] - v[second])[wrong].sum()
        given = np.array([answers])
        votes = class_votes(given, np.zeros_like(given), pairs, len(c))[0]
        excess = c[votes == votes.max()].max() - c.min()
        if weight > 0:
            yield excess / weight
        else:
            assert excess == 0
