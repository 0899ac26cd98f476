"""Costs of ordinal errors: against loops over the measure, shapes, V-shape, weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise import evaluate
from rankwise.groups import FitData, QueryGroups
from rankwise.losses.class_costs import (
    cost_matrix,
    costs_of_rows,
    row_costs,
    threshold_weights,
    v_shaped,
)
from tests.oracles import ragged_groups


def literal_err_costs(codes, n_classes, qid):
    """Ranks every query anew for every row, class and place among its ties."""
    costs = np.zeros((len(codes), n_classes))
    measure = f"ERR(max_grade={n_classes - 1})"

    def err(y, scores):
        return evaluate(y, scores, None, [measure])[measure]

    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        y = codes[rows].astype(float)
        best = err(y, y)
        for place, row in enumerate(rows):
            for k in range(n_classes):
                others = np.delete(y, place)
                tied = np.flatnonzero(others == k)
                values = []
                for above in range(len(tied) + 1):
                    scores = others.copy()
                    scores[tied[:above]] += 0.5
                    values.append(err(y, np.insert(scores, place, k + 0.25)))
                costs[row, k] = best - np.mean(values)
    return costs


@given(st.integers(0, 10_000), st.integers(2, 5))
def test_err_costs_are_those_of_the_measure(seed, n_classes):
    rng = np.random.default_rng(seed)
    y, qid, _ = ragged_groups(rng, n_queries=3, most=5, grades=n_classes)
    codes = y.astype(np.int64)
    groups = QueryGroups.from_qid(qid, len(qid))
    costs = row_costs("err", codes, n_classes, groups)
    np.testing.assert_allclose(costs, literal_err_costs(codes, n_classes, qid), atol=1e-14)
    assert (costs[np.arange(len(codes)), codes] == 0.0).all()
    np.testing.assert_array_equal(v_shaped(costs, codes), costs)


def test_err_costs_repeat_rows_with_their_weight():
    rng = np.random.default_rng(0)
    y, qid, _ = ragged_groups(rng, n_queries=5, most=6, grades=4)
    weight = rng.integers(1, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), weight)
    groups = QueryGroups.from_qid(qid, len(qid))
    weighted = row_costs("err", y.astype(np.int64), 4, groups, weight=weight.astype(float))
    literal = row_costs(
        "err", y[repeated].astype(np.int64), 4, QueryGroups.from_qid(qid[repeated], len(repeated))
    )
    np.testing.assert_array_equal(weighted[repeated], literal)
    with pytest.raises(ValueError, match="whole sample_weight"):
        row_costs("err", y.astype(np.int64), 4, groups, weight=weight + 0.5)


def test_err_costs_of_many_classes_are_finite():
    codes = np.arange(2000)
    costs = row_costs("err", codes, 2000, QueryGroups.single(2000))
    assert np.isfinite(costs).all()
    assert costs.max() > 0.1


@pytest.mark.parametrize("kind", ["absolute", "squared", "zero_one"])
@pytest.mark.parametrize("n_classes", [1, 2, 5])
def test_weights_of_wrong_questions_sum_to_the_cost(kind, n_classes):
    codes = np.arange(n_classes)
    costs = row_costs(kind, codes, n_classes, QueryGroups.single(n_classes))
    np.testing.assert_array_equal(costs, cost_matrix(kind, n_classes))
    weights = threshold_weights(costs)
    for y in codes:
        for k in codes:
            wrong = slice(min(y, k), max(y, k))
            assert weights[y, wrong].sum() == costs[y, k]


def test_zero_one_costs_weigh_the_two_nearest_thresholds():
    weights = threshold_weights(row_costs("zero_one", np.array([2]), 5, QueryGroups.single(1)))
    np.testing.assert_array_equal(weights, [[0, 1, 1, 0]])


def test_arrays_by_class_and_by_row():
    codes = np.array([1, 0, 2, 1])
    groups = QueryGroups.single(4)
    matrix = cost_matrix("squared", 3) + np.array([[3.0], [0.0], [1.0]])
    by_class = row_costs(matrix, codes, 3, groups)
    np.testing.assert_array_equal(by_class, cost_matrix("squared", 3)[codes])
    np.testing.assert_array_equal(row_costs(matrix[codes], codes, 3, groups), by_class)
    kept = np.array([True, False, True, True])
    np.testing.assert_array_equal(
        row_costs(matrix[codes], codes[kept], 3, QueryGroups.single(3), kept=kept), by_class[kept]
    )


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ("huber", "one of absolute, squared, zero_one, err"),
        (np.zeros((2, 3)), "shape"),
        (np.zeros(3), "shape"),
        ([["a"] * 3] * 3, "numbers"),
        (np.full((3, 3), np.nan), "finite"),
        (np.eye(3) - 1.0, r"costs must be >= 0, got -1 at row 0, class number 1"),
        ([[0.0, 2.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]], "must not fall"),
        ([[0.0, 1.0, 2.0], [1.0, 2.0, 1.0], [1.0, 1.0, 0.0]], "must not fall"),
    ],
)
def test_messages(costs, message):
    with pytest.raises(ValueError, match=message):
        row_costs(costs, np.array([0, 1, 2, 2]), 3, QueryGroups.single(4))
    with pytest.raises(ValueError, match="kind must be"):
        cost_matrix("err", 3)


@given(st.integers(0, 10_000))
def test_v_shaped_costs_are_the_least_above(seed):
    rng = np.random.default_rng(seed)
    costs, codes = rng.integers(0, 5, (6, 5)).astype(float), rng.integers(0, 5, 6)
    lifted = v_shaped(costs, codes)
    assert (lifted >= costs).all()
    np.testing.assert_array_equal(v_shaped(lifted, codes), lifted)
    for row, y in enumerate(codes):
        assert (np.diff(lifted[row, y:]) >= 0).all()
        assert (np.diff(lifted[row, : y + 1]) <= 0).all()
        for k in range(5):
            between = costs[row, min(y, k) : max(y, k) + 1]
            assert lifted[row, k] == between.max()


def test_costs_by_row_follow_the_kept_rows():
    y, kept = np.array([0.0, 1.0, 2.0, 0.0]), np.array([True, False, True, True, True])
    single, classes = QueryGroups.single(4), np.arange(3)
    data = FitData(np.zeros((4, 1)), y, single, None, kept=kept, classes=classes)
    by_class, by_row = cost_matrix("absolute", 3), np.arange(15.0).reshape(5, 3)
    assert costs_of_rows(by_class, data, np.array([0, 2])) is by_class
    assert costs_of_rows("squared", data, np.array([0, 2])) == "squared"
    assert costs_of_rows(by_row, data, np.array([0, 2]))[:, 0].tolist() == [0.0, 9.0]
