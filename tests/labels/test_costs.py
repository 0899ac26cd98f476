"""Forms of the costs, their builders and measure, and what cross-validation makes of them."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
import sklearn
from scipy.sparse import csr_array
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwise
from rankwise.checks.cost_tables import cost_table
from rankwise.labels import (
    CSOVO,
    ClassCosts,
    RowCosts,
    all_pairs_costs,
    confusion_costs,
    ordinal_costs,
    random_costs,
)
from rankwise.labels.cost_sensitive.cost_sensitive_classifier import CostSensitiveClassifier
from rankwise.metrics import confusion, make_cost_scorer, mean_cost

CLASSES = np.array(["a", "b", "c"])


@pytest.fixture
def rows(rng):
    """60 rows in three classes, with costs of every row."""
    y = np.repeat([0, 1, 2], 20)
    X = rng.normal(size=(60, 4)) + 2 * np.eye(3, 4)[y]
    order = rng.permutation(60)
    return X[order], CLASSES[y[order]], rng.random((60, 3))


# Forms -------------------------------------------------------------------------------------------


def test_costs_by_class_are_those_of_the_rows(rng):
    codes = np.array([0, 2, 1, 1, 2])
    by_class = rng.random((3, 3))
    for costs in (by_class, by_class.tolist(), ClassCosts(by_class)):
        table = cost_table(costs, codes, CLASSES)
        np.testing.assert_array_equal(table.by_row, by_class[codes])
        np.testing.assert_array_equal(table.by_class, by_class)
    by_row = rng.random((5, 3))
    for costs in (by_row, RowCosts(by_row)):
        table = cost_table(costs, codes, CLASSES)
        assert table.by_class is None
        np.testing.assert_array_equal(table.by_row, by_row)
    np.testing.assert_array_equal(cost_table(None, codes, CLASSES).by_row, 1 - np.eye(3)[codes])


def test_as_many_rows_as_classes_may_be_both(rng):
    """A plain array is refused where its two readings differ, and taken where they do not."""
    costs = rng.random((3, 3))
    codes = np.array([2, 0, 1])
    with pytest.raises(ValueError, match=r"RowCosts\(costs\) or .*ClassCosts\(costs\)"):
        cost_table(costs, codes, CLASSES)
    np.testing.assert_array_equal(cost_table(RowCosts(costs), codes, CLASSES).by_row, costs)
    by_class = cost_table(ClassCosts(costs), codes, CLASSES)
    np.testing.assert_array_equal(by_class.by_row, costs[codes])
    np.testing.assert_array_equal(cost_table(costs, np.arange(3), CLASSES).by_row, costs)


def test_names_of_the_columns(rows):
    """Columns in another order, and classes that no row has."""
    X, y, costs = rows
    expected = CSOVO().fit(X, y, costs=costs)
    named = CSOVO().fit(X, y, costs=RowCosts(costs[:, ::-1], CLASSES[::-1]))
    assert named.classes_.tolist() == ["c", "b", "a"]
    np.testing.assert_array_equal(named.predict(X), expected.predict(X))
    few = y != "b"
    with pytest.raises(ValueError, match=r"name the classes: RowCosts\(costs, classes\)"):
        CSOVO().fit(X[few], y[few], costs=costs[few])
    # Costs alone teach a class without rows: here it is the cheapest for all.
    cheap = np.where(np.arange(3) == 1, 0.0, costs + 1)
    alone = CSOVO().fit(X[few], y[few], costs=RowCosts(cheap[few], CLASSES))
    assert set(alone.predict(X)) == {"b"}
    with pytest.raises(ValueError, match="y must contain only classes named by costs, got 'b'"):
        CSOVO().fit(X, y, costs=RowCosts(costs[:, :2], ["a", "c"]))


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        (np.zeros((60, 2)), r"shape \(n_samples, n_classes\)=\(60, 3\) .*got \(60, 2\)"),
        (np.zeros((4, 4)), r"got \(4, 4\)"),
        (np.zeros(60), "two-dimensional"),
        (np.full((60, 3), np.inf), "finite"),
        (np.full((60, 3), -0.5), r"costs must be >= 0, got -0\.5 at row 0, class 'a'"),
        ([["x"] * 3] * 60, "numbers"),
        (csr_array(np.ones((60, 3))), "costs must be dense, .* costs.toarray"),
        (RowCosts(np.zeros((59, 3))), r"got \(59, 3\)"),
        (ClassCosts(np.zeros((2, 2))), r"got \(2, 2\)"),
    ],
)
def test_wrong_costs_are_named(costs, message, rows):
    X, y, _ = rows
    with pytest.raises(ValueError, match=message):
        CSOVO().fit(X, y, costs=costs)
    with pytest.raises(ValueError, match=message):
        mean_cost(y, y, costs, classes=CLASSES)


def test_negative_costs_are_named():
    for kind in (ClassCosts, RowCosts):
        with pytest.raises(ValueError, match=r"got -3 at row 1, class 'spam'"):
            kind([[0, 1], [0, -3]], ["ham", "spam"])
        with pytest.raises(ValueError, match=r"got -3 at row 1, class number 1\. Subtract"):
            kind([[0, 1], [0, -3]])
    with pytest.raises(ValueError, match=r"got -1 at class number 1\."):
        all_pairs_costs([0, -1])


def test_wrong_names_are_named():
    with pytest.raises(ValueError, match="by class must have shape"):
        ClassCosts(np.zeros((2, 3)))
    for kind in (ClassCosts, RowCosts):
        with pytest.raises(ValueError, match="classes must name every column of the costs once"):
            kind(np.zeros((2, 2)), ["a", "a"])


# Builders and measure ----------------------------------------------------------------------------


def test_random_costs_of_the_benchmark():
    y = np.repeat(["a", "b", "c"], [40, 10, 50])
    drawn = np.array([random_costs(y, random_state=seed).costs for seed in range(400)])
    counts = np.array([40, 10, 50])
    most = 2000 * counts / counts[:, None]
    assert (drawn[:, range(3), range(3)] == 0).all()
    off = ~np.eye(3, dtype=bool)
    assert (drawn.max(axis=0)[off] <= most[off]).all()
    assert (drawn.max(axis=0)[off] > 0.97 * most[off]).all()
    np.testing.assert_allclose(drawn.mean(axis=0)[off], most[off] / 2, rtol=0.1)
    again = random_costs(y, scale=2.0, random_state=7)
    np.testing.assert_allclose(again.costs * 1000, drawn[7])
    assert again.classes.tolist() == ["a", "b", "c"]


def test_costs_of_ranks_and_of_confusions():
    assert ordinal_costs("absolute", CLASSES).costs[0].tolist() == [0, 1, 2]
    unnamed = ordinal_costs("absolute", 3)
    assert unnamed.costs[0].tolist() == [0, 1, 2]
    assert unnamed.classes is None
    with pytest.raises(ValueError, match="classes must be a list of classes, or their number"):
        ordinal_costs("absolute", 0)
    seen = confusion(list("aaab"), list("aabb"), ["a", "b"])
    costs = confusion_costs(seen, smoothing=0.5).costs
    np.testing.assert_allclose(costs, [[0, -np.log(1.5 / 4)], [-np.log(0.5 / 2), 0]])
    plain = confusion_costs([[2, 1], [0, 1]], smoothing=0.5)
    np.testing.assert_array_equal(plain.costs, costs)
    assert plain.classes is None
    for wrong, what in (([1, 2], "counts, of shape"), ([["x"]], "numbers"), ([[-1.0]], ">= 0")):
        with pytest.raises(ValueError, match=f"confusion must .*{what}"):
            confusion_costs(wrong)
    with pytest.raises(ValueError, match="smoothing must be > 0"):
        confusion_costs(seen, smoothing=0)


def test_mean_cost(rows):
    _, y, costs = rows
    predicted = np.roll(y, 7)
    column = np.searchsorted(CLASSES, predicted)
    each = costs[np.arange(60), column]
    assert mean_cost(y, predicted, costs) == pytest.approx(each.mean())
    weight = np.arange(60.0)
    weighted = mean_cost(y, predicted, costs, sample_weight=weight)
    assert weighted == pytest.approx(np.average(each, weights=weight))
    assert mean_cost(y, predicted) == np.mean(y != predicted)
    by_class = np.arange(9.0).reshape(3, 3)
    table = confusion(y, predicted, CLASSES).counts
    assert mean_cost(y, predicted, by_class) == pytest.approx((table * by_class).sum() / 60)
    with pytest.raises(ValueError, match="predicted must hold classes of the costs, got 'z'"):
        mean_cost(y, np.where(y == "a", "z", y), costs, classes=CLASSES)
    with pytest.raises(ValueError, match="by class must have a row for every class of y"):
        mean_cost(np.where(y == "a", "z", y), np.full(60, "b"), by_class, classes=CLASSES)


def test_score_is_minus_the_mean_cost(rows):
    X, y, costs = rows
    model = CSOVO().fit(X, y, costs=costs)
    assert model.score(X, y, costs=costs) == -mean_cost(y, model.predict(X), costs)
    assert model.score(X, y) == -np.mean(y != model.predict(X))
    other = np.where(y == "c", "new", y)  # a class that the fit has not seen is never predicted
    assert model.score(X, other) <= model.score(X[y != "c"], y[y != "c"]) * np.mean(y != "c")


# Routing -----------------------------------------------------------------------------------------


class Recorder(CostSensitiveClassifier):
    """Notes the costs that fit and score receive, beside the rows they belong to."""

    seen: ClassVar[list[tuple[str, np.ndarray, object]]] = []

    def __init__(self, estimator=None, n_jobs=None, answer=0):
        self.estimator = estimator
        self.n_jobs = n_jobs
        self.answer = answer

    def fit(self, X, y, *, costs=None, sample_weight=None):
        self.seen.append(("fit", X, costs))
        self.classes_ = CLASSES
        return self

    def predict(self, X):
        return np.repeat(CLASSES[self.answer], len(X))

    def score(self, X, y, sample_weight=None, *, costs=None):
        self.seen.append(("score", X, costs))
        return super().score(X, y, sample_weight, costs=costs)


@pytest.fixture
def recorded():
    Recorder.seen.clear()
    with sklearn.config_context(enable_metadata_routing=True):
        yield Recorder.seen


@pytest.mark.parametrize("form", [np.asarray, RowCosts])
def test_costs_by_row_are_sliced_with_their_rows(form, rows, recorded):
    """Also where a fold has as many rows as there are classes, which needs RowCosts."""
    X, y, costs = rows
    n = 60 if form is np.asarray else 9
    X, y, costs = X[:n], y[:n], costs[:n]
    search = GridSearchCV(
        make_pipeline(StandardScaler(with_mean=False, with_std=False), Recorder()),
        {"recorder__answer": [0, 1, 2]},
        cv=KFold(3),
        error_score="raise",
    )
    search.fit(X, y, costs=form(costs)).score(X, y, costs=form(costs))
    assert len(recorded) == 3 * 3 * 2 + 2
    for what, some, got in recorded:
        got = got.costs if form is RowCosts else got
        place = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in some]
        np.testing.assert_array_equal(got, costs[place], err_msg=what)
    assert search.best_params_["recorder__answer"] == costs.mean(axis=0).argmin()
    assert search.score(X, y, costs=form(costs)) == pytest.approx(-costs.mean(axis=0).min())


@pytest.mark.parametrize(
    ("form", "n_rows"), [(np.asarray, 60), (ClassCosts, 60), (ClassCosts, 3), (ClassCosts, 9)]
)
def test_costs_by_class_are_never_sliced(form, n_rows, rows, recorded, rng):
    X, y, _ = rows
    costs = form(rng.random((3, 3)))
    parts = cross_validate(
        make_pipeline(StandardScaler(), Recorder()), X[:n_rows], y[:n_rows], cv=KFold(3),
        params={"costs": costs}, error_score="raise",
    )["test_score"]  # fmt: skip
    assert len(recorded) == 6
    assert all(got is costs for _, _, got in recorded)
    by_class = costs if form is np.asarray else costs.costs
    codes = np.searchsorted(CLASSES, y[:n_rows])
    assert parts.mean() == pytest.approx(-by_class[codes, 0].mean())


def test_a_plain_array_of_both_kinds_is_refused_in_a_fold(rows, recorded):
    """20 folds of 3 rows: costs of the rows would be read as costs of the three classes."""
    X, y, costs = rows
    with pytest.raises(ValueError, match="may be by row or by class"):
        cross_validate(CSOVO(), X, y, cv=KFold(20), params={"costs": costs}, error_score="raise")
    result = cross_validate(
        CSOVO(), X, y, cv=KFold(20), params={"costs": RowCosts(costs)}, error_score="raise"
    )
    predicted = np.empty_like(y)
    for train, test in KFold(20).split(X):
        predicted[test] = CSOVO().fit(X[train], y[train], costs=costs[train]).predict(X[test])
    assert result["test_score"].mean() == pytest.approx(-mean_cost(y, predicted, costs))


def test_scorer_of_any_classifier(rows, recorded, tmp_path):
    X, y, costs = rows
    cv = KFold(4)
    result = cross_validate(
        LogisticRegression(), X, y, cv=cv, scoring=make_cost_scorer(), params={"costs": costs},
        error_score="raise",
    )  # fmt: skip
    for (train, test), got in zip(cv.split(X), result["test_score"], strict=True):
        predicted = LogisticRegression().fit(X[train], y[train]).predict(X[test])
        assert got == pytest.approx(-mean_cost(y[test], predicted, costs[test], classes=CLASSES))
    search = GridSearchCV(CSOVO(), {"alpha": [0.1, 10.0]}, scoring=make_cost_scorer(), cv=4)
    search.fit(X, y, costs=costs)
    rankwise.save(search, tmp_path / "search")
    again = rankwise.load(tmp_path / "search", trusted=[StratifiedKFold])
    assert again.score(X, y, costs=costs) == search.score(X, y, costs=costs)
    assert again.best_params_ == search.best_params_


def test_a_search_over_the_base_classifier(rows):
    """Without routing too, as fit parameters."""
    X, y, costs = rows
    forest = RandomForestClassifier(5, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            CSOVO(forest), {"estimator__max_depth": [1, 3]}, cv=3, error_score="raise"
        )
        search.fit(X, y, costs=costs)
    assert (
        search.best_estimator_.estimators_[0].max_depth
        == search.best_params_["estimator__max_depth"]
    )
