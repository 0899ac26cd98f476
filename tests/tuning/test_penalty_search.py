"""The search for a penalty on a path whose held-out scores are given."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from rankwise.groups import FitData, QueryGroups
from rankwise.tuning import Penalty, PenaltySearch, RefitPath, search_way

C = Penalty("C", "C", np.array([0.1, 1.0, 10.0]), ("cv", "val", "loqo", "lpo"), unpenalised=True)
ALPHA = Penalty("alpha", "alpha", np.array([10.0, 1.0, 0.1]))
ROWS = FitData(np.zeros((4, 1)), np.array([0.0, 1.0, 0.0, 1.0]), QueryGroups.single(4), None)


class Known:
    """A path with known scores, and a note of how it was asked."""

    def __init__(self, scores, asked=None):
        self.scores, self.asked = np.atleast_2d(scores), [] if asked is None else asked

    def solve(self):
        self.asked.append("solve")
        return self.asked

    def validate(self, measure, rows):
        assert rows is ROWS
        return self.solve(), self.scores

    def cross_validate(self, measure, cv):
        self.asked.append(cv)
        return self.solve(), self.scores

    def leave_query_out(self, measure):
        assert not measure.greater_is_better
        self.asked.append("loqo")
        return self.solve(), self.scores

    def leave_pair_out(self):
        return self.solve(), self.scores


def chosen(search, *paths):
    return search.choose((parameters, *search.solve(path)) for parameters, path in paths)


def search(penalty, value, measure="MSD", cv=7, validation=None, **options):
    has_validation = validation is not None
    found = PenaltySearch.of(
        penalty, value, measure=measure, cv=cv, has_validation=has_validation, **options
    )
    return replace(found, validation=validation)


@pytest.mark.parametrize(
    ("penalty", "value", "way", "grid"),
    [
        (C, 2, "fixed", [2.0]),
        (C, np.inf, "fixed", [np.inf]),
        (C, [3, 1.0, 2], "cv", [1.0, 2.0, 3.0]),
        (ALPHA, [3, 1.0, 2], "cv", [3.0, 2.0, 1.0]),
        (C, "loqo", "loqo", C.default),
        (ALPHA, "cv", "cv", ALPHA.default),
    ],
)
def test_way_and_grid(penalty, value, way, grid):
    found = search(penalty, value)
    assert found.way == way
    np.testing.assert_array_equal(found.penalties.values, grid)


@pytest.mark.parametrize(
    "value",
    [[], [[1.0]], [[1.0], [1.0, 2.0]], ["1", "a"], [1.0, -1.0], np.nan, 0.0, [1e-305], [1e301]],
)
@pytest.mark.parametrize("penalty", [C, ALPHA])
def test_values_out_of_range(penalty, value):
    with pytest.raises(ValueError, match=rf"^{penalty.name} must be a number or a list of numbers"):
        search(penalty, value)


def test_the_limit_without_a_penalty_is_allowed_where_it_exists():
    free = replace(ALPHA, unpenalised=True)
    assert [p.constraint[0].closed for p in (C, ALPHA, free)] == ["right", "neither", "left"]
    assert search(free, 0.0).penalties.values.tolist() == [0.0]
    with pytest.raises(ValueError, match=r"^alpha must be a number or a list of numbers"):
        search(free, ["1", "a"])


@pytest.mark.parametrize(("penalty", "expected"), [(C, 4.0), (ALPHA, 0.25), ("lam", 0.05)])
def test_penalties_are_converted_for_the_solvers(penalty, expected):
    penalty = replace(C, scale=penalty) if isinstance(penalty, str) else penalty
    assert search(penalty, 4.0).penalties.C(10.0) == pytest.approx(expected)


def test_validation_data_come_before_folds():
    assert search(C, [1.0, 2.0], validation=ROWS).way == "val"
    assert search(C, "cv", validation=ROWS).way == "cv"
    with pytest.raises(ValueError, match=r'^C="val" needs validation data, got X_val=None'):
        search(C, "val")


def test_what_is_searched_beside_the_penalty():
    assert search(C, 1.0, beside=[0.5, None]).way == "fixed"
    assert search(C, 1.0, beside=[[0.5, 1.0]]).way == "cv"
    assert search(C, 1.0, beside=["val"], validation=ROWS).way == "val"


def test_two_penalties_are_searched_in_one_way():
    assert search_way({"lam": 1.0, "C": "cv"}, has_validation=False) == "cv"
    assert search_way({"lam": [1.0], "C": 2.0}, has_validation=True) == "val"
    with pytest.raises(ValueError, match="lam and C must be searched in one way"):
        search_way({"lam": "val", "C": "cv"}, has_validation=True)


def test_each_way_is_a_method_of_the_path():
    asked = {}
    for value in (1.0, "cv", "loqo", "lpo"):
        asked[value] = chosen(search(C, value), ({}, Known(np.zeros(3)))).fit
    assert asked == {
        1.0: ["solve"],
        "cv": [7, "solve"],
        "loqo": ["loqo", "solve"],
        "lpo": ["solve"],
    }
    assert chosen(search(C, 1.0), ({}, Known([0.0]))).results is None


def test_the_first_best_value_of_the_first_best_path_is_chosen():
    better, equal = Known([3.0, 1.0, 1.0]), Known([1.0, 5.0, 5.0])
    paths = [({"gamma": 0.5}, better), ({"gamma": 2.0}, equal)]
    choice = chosen(search(C, "cv"), *paths)  # MSD: less is better
    assert (choice.index, choice.value) == (1, 1.0)
    assert choice.fit is better.asked
    np.testing.assert_array_equal(choice.results["C"], np.tile(C.default, 2))
    np.testing.assert_array_equal(choice.results["gamma"], [0.5] * 3 + [2.0] * 3)
    np.testing.assert_array_equal(choice.results["mean_test_score"], [3, 1, 1, 1, 5, 5])
    assert chosen(search(C, "cv", measure="nDCG@10"), *paths).value == 1.0


def test_parts_in_which_no_query_counts_are_left_out():
    path = Known([[np.nan, 2.0, 1.0], [4.0, np.nan, 5.0]])
    choice = chosen(search(C, "cv"), ({}, path))
    np.testing.assert_array_equal(choice.results["mean_test_score"], [4.0, 2.0, 3.0])
    assert choice.index == 1
    with pytest.raises(ValueError, match="defined for no held-out query"):
        chosen(search(C, "cv"), ({}, Known([np.nan] * 3)))


@dataclass(frozen=True, eq=False)
class Means(RefitPath):
    """A path whose solutions score every row by multiples of the mean target of its rows."""

    rows: FitData

    def _solve(self, rows):
        return self.rows.y[rows].mean() * np.arange(3.0)

    def _scores(self, fit, X):
        return np.tile(fit, (X.shape[0], 1))

    def _measure(self, fit, measure, y, scores, groups):
        assert groups.n_samples == len(y)
        return ((y[:, None] - scores) ** 2).mean(axis=0)


def test_held_out_rows_are_measured_as_the_way_asks():
    rows = FitData(ROWS.X, np.array([0.0, 3.0, 6.0, 1.0]), ROWS.groups, None)

    def solved(value, cv=2, **options):
        return search(C, value, cv=cv, **options).solve(Means(rows))

    def squares(y, mean):
        return [((np.array(y) - factor * mean) ** 2).mean() for factor in range(3)]

    fit, scores = solved(1.0)
    assert scores is None
    np.testing.assert_array_equal(fit, [0.0, 2.5, 5.0])
    np.testing.assert_allclose(solved("val", validation=ROWS)[1], [squares(ROWS.y, 2.5)])
    splits = [([0, 1, 2], [3]), ([1, 3], [0, 2])]
    fit, scores = solved("cv", splits)
    np.testing.assert_array_equal(fit, [0.0, 2.5, 5.0])
    np.testing.assert_allclose(scores, [squares([1.0], 3.0), squares([0.0, 6.0], 2.0)])


def test_the_measure_is_checked_against_what_it_measures():
    def check(value, are_classes=False, **options):
        chosen = search(C, value, measure="nDCG@10", **options)
        chosen.check_measure(ROWS.y - 1.0, ROWS.groups, are_classes=are_classes)

    with pytest.raises(ValueError, match="measure='nDCG@10', which chooses C, does not accept"):
        check("cv")
    check("cv", are_classes=True)  # the class -1 is below all others and has no gain
    check(1.0)
    check("lpo")
    check("val", validation=ROWS)
