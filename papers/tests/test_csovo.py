"""The experiment with costs: splits and their costs, tuning, the bases, the tests of its tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import t as student
from scipy.stats import ttest_rel
from sklearn.svm import SVC

from rankwise.labels import ClassCosts
from rankwise_papers.lin2010_csovo import tables
from rankwise_papers.lin2010_csovo.experiment import CostSensitive
from rankwise_papers.lin2010_csovo.methods import (
    METHODS,
    LeastExpectedCost,
    SplitRows,
    predicted_by,
    tune_and_measure,
)
from rankwise_papers.lin2010_csovo.sets import make_split


@pytest.fixture(scope="module")
def wine():
    return make_split("wine", "random", 3)


def test_splits_and_their_costs(wine):
    assert wine.Z.shape == (133, 13)
    assert wine.Z_test.shape == (45, 13)
    np.testing.assert_allclose(wine.Z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(wine.Z.std(axis=0), 1)
    counts = np.bincount(wine.y)
    most = 2000 * counts / counts[:, None]
    costs = wine.costs.costs * wine.scale
    assert (np.diag(costs) == 0).all()
    assert (costs <= most).all()
    wrong = wine.costs.costs[wine.y].sum() / (2 * 133)
    assert wrong == pytest.approx(1)
    other = make_split("wine", "random", 4)
    assert not np.allclose(other.costs.costs, wine.costs.costs)
    squared = make_split("wine", "squared", 3)
    np.testing.assert_array_equal(squared.Z, wine.Z)
    np.testing.assert_allclose(squared.costs.costs[0] * squared.scale, [0, 1, 4])
    digits = make_split("digits", "random", 0)
    assert (len(digits.y), len(digits.y_test)) == (300, 500)
    assert len(np.unique(digits.y)) == 10


@pytest.mark.parametrize("name", sorted(METHODS["squared"].keys() - {"ORBoost", "SVM, OrdinalSVM"}))
def test_every_method_predicts_classes_and_learns(name):
    """Of iris, whose classes have an order; ORBoost and OrdinalSVM have tests of their own."""
    iris = make_split("iris", "squared", 0)
    method = METHODS["squared"][name]
    train, test = np.arange(112), 112 + np.arange(38)
    rows, setting = SplitRows(iris, 0), method.settings[len(method.settings) // 2]
    predicted = predicted_by(method, rows, iris.y, iris.costs, train, test, setting)
    assert np.mean(predicted == iris.y_test) > 0.8
    assert set(predicted) <= {0, 1, 2}


def test_methods_take_the_costs_or_do_not(wine):
    """With class 2 free of charge, what takes costs predicts it more often."""
    costs = ClassCosts(np.array([[0, 1, 0.1], [1, 0, 0.1], [8, 8, 0]]), np.arange(3))
    train, test = np.arange(133), 133 + np.arange(45)
    rows = SplitRows(wine, 0)
    for name, method in METHODS["random"].items():
        setting = method.settings[1 if name.startswith("SVM") else -2]
        number = [
            np.sum(predicted_by(method, rows, wine.y, of, train, test, setting) == 2)
            for of in (wine.costs, costs)
        ]
        assert (number[0] == number[1]) == (not method.takes_costs), name


def test_tuning_sees_no_test_label(wine):
    method = METHODS["random"]["CSOVO"]
    cost, accuracy, chosen = tune_and_measure(method, wine, SplitRows(wine, 0), 0)
    turned = replace(wine, y_test=(wine.y_test + 1) % 3)
    other_cost, other_accuracy, same = tune_and_measure(method, turned, SplitRows(turned, 0), 0)
    assert chosen == same
    assert accuracy > 0.8 > other_accuracy
    assert cost < other_cost


def test_machines_share_the_perceptron_kernel(wine):
    """Looked up by row number as computed from the columns, whatever the constant."""
    rows = SplitRows(wine, 0)
    looked = SVC(kernel=rows.kernel, C=3.0).fit(rows.numbers[:133], wine.y)
    direct = SVC(kernel=lambda X, Z: 7.0 - cdist(X, Z), C=3.0).fit(wine.Z, wine.y)
    np.testing.assert_allclose(
        looked.decision_function(rows.numbers[133:]), direct.decision_function(wine.Z_test),
        atol=1e-2,
    )  # fmt: skip
    np.testing.assert_array_equal(looked.predict(rows.numbers[133:]), direct.predict(wine.Z_test))


def test_least_expected_cost(wine):
    model = LeastExpectedCost(1.0).fit(wine.Z, wine.y, costs=wine.costs)
    p = model.model.predict_proba(wine.Z_test)
    expected = [min(range(3), key=lambda k: row @ wine.costs.costs[:, k]) for row in p]
    np.testing.assert_array_equal(model.predict(wine.Z_test), expected)


def test_tables_count_and_test():
    """Against sets made by hand: one sure win, one level, one sure loss."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(3, 20)) / 10
    ours = {"a": 1 + noise[0], "b": 2 + noise[1], "c": 3 + noise[2]}
    other = {"a": 2 + noise[1], "b": 2 + noise[1], "c": 2 + noise[0]}
    methods = ["CSOVO", "OVO"]
    results = {
        f"random/{name}/{method}": {"cost": list(of[name]), "rows": [300, 100]}
        for method, of in zip(methods, (ours, other), strict=True)
        for name in "abc"
    }
    costs, against = tables.make(results, {"random": list("abc")}, {"random": methods}, False)
    found = {(value.row, value.column): value for value in costs.values}
    assert found["OVO", "a"].ours == pytest.approx(np.mean(other["a"]))
    assert found["CSOVO", "c"].error == pytest.approx(np.std(ours["c"], ddof=1) / np.sqrt(20))
    row = {value.column: value.ours for value in against.values}
    assert [row[name] for name in ("less", "more")] == [1, 1]
    assert [row[name] for name in ("t", "corrected", "t, more", "corrected, more")] == [1] * 4
    means = [np.mean(ours[name]) / np.mean(other[name]) for name in "abc"]
    assert row["cost ratio"] == pytest.approx(np.prod(means) ** (1 / 3))
    missing = tables.make({}, {"random": ["a"]}, {"random": methods}, False)
    assert all(value.ours is None for table in missing for value in table.values)


def test_variance_is_corrected_for_shared_rows():
    rng = np.random.default_rng(1)
    one = rng.normal(size=(2, 20))
    ours = {"cost": list(one[0]), "rows": [300, 0]}
    other = {"cost": list(one[1]), "rows": [300, 0]}
    plain = ttest_rel(one[0], one[1]).pvalue
    assert tables._paired_p(ours, other, shared=True) == pytest.approx(plain)
    shared = {**ours, "rows": [300, 100]}
    t = abs(np.mean(one[0] - one[1])) / np.sqrt(np.var(one[0] - one[1], ddof=1) * (1 / 20 + 1 / 3))
    assert tables._paired_p(shared, other, shared=False) == pytest.approx(plain)
    assert tables._paired_p(shared, other, shared=True) == pytest.approx(2 * student.sf(t, 19))


def test_quick_run_needs_few_cells():
    cells = CostSensitive().cells(True)
    assert {cell.params["splits"] for cell in cells} == {3}
    full = CostSensitive().cells(False)
    assert {cell.params["splits"] for cell in full} == {20}
    assert not {cell.name for cell in cells} & {cell.name for cell in full}
    assert {cell.data for cell in full} <= {"", *CostSensitive().data()}
