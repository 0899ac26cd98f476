"""Reductions to weighted binary classification: what the base classifier is asked, and votes."""

from __future__ import annotations

from itertools import product
from typing import ClassVar

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsOneClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import rankwise
from rankwise.labels import (
    CSOVO,
    ClassCosts,
    OrdinalReduction,
    WeightedAllPairs,
    all_pairs_costs,
    ordinal_costs,
)
from rankwise.losses.class_costs import cost_matrix, threshold_weights, v_shaped

BASES = [
    SVC(gamma=1e-3, C=10),
    RidgeClassifier(),
    DecisionTreeClassifier(max_depth=3, random_state=0),
    GaussianNB(),
    KNeighborsClassifier(1),  # takes no weights, and needs none here
]


class Recorder(ClassifierMixin, BaseEstimator):
    """Notes what it is asked; always answers 0."""

    asked: ClassVar[list[tuple[np.ndarray, ...]]] = []

    def fit(self, X, y, sample_weight=None):
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        self.asked.append((X[:, 0], y, weight))
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.zeros(X.shape[0], dtype=int)


@pytest.fixture
def asked():
    Recorder.asked.clear()
    return Recorder.asked


@pytest.fixture
def rows(rng):
    """40 rows with numbers in the first column, four classes, costs of rows with equal ones."""
    X = np.column_stack([np.arange(40.0), rng.normal(size=(40, 2))])
    y = np.arange(40) % 4
    costs = rng.integers(0, 4, (40, 4)).astype(float)
    return X, y, costs, rng.integers(0, 3, 40).astype(float)


# One-versus-one ----------------------------------------------------------------------------------


@pytest.mark.parametrize("base", BASES, ids=lambda base: type(base).__name__)
@pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
def test_costs_of_zero_and_one_are_plain_one_versus_one(base, load):
    """Predictions and decision values of scikit-learn's, to the last bit; three ways to say it."""
    X, y = load(return_X_y=True)
    X, y = X[y < 6], y[y < 6]
    X, y = X[:: len(y) // 140], y[:: len(y) // 140]
    train = np.arange(len(y)) % 2 == 0
    plain = OneVsOneClassifier(base).fit(X[train], y[train])
    n_classes = len(plain.classes_)
    for costs in (None, 1 - np.eye(n_classes), (1 - np.eye(n_classes))[y[train]]):
        ours = CSOVO(base).fit(X[train], y[train], costs=costs)
        np.testing.assert_array_equal(ours.predict(X), plain.predict(X))
        np.testing.assert_array_equal(ours.decision_function(X), plain.decision_function(X))


def test_two_classes(rng):
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], np.array(["versi", "virgi"])[y[50:] - 1]
    plain = OneVsOneClassifier(GaussianNB()).fit(X, y)
    ours = CSOVO(GaussianNB()).fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), plain.predict(X))
    assert ours.decision_function(X).shape == (100,)
    np.testing.assert_array_equal(ours.decision_function(X) > 0, ours.predict(X) == "virgi")


@pytest.mark.parametrize("weights", ["transformed", "difference"])
@pytest.mark.parametrize("weighted", [False, True])
def test_what_pairs_are_asked(weights, weighted, rows, asked):
    X, y, costs, weight = rows
    CSOVO(Recorder(), weights=weights, n_jobs=1).fit(
        X, y, costs=costs, sample_weight=weight if weighted else None
    )
    v = all_pairs_costs(costs) if weights == "transformed" else costs
    weight = weight if weighted else np.ones(40)
    assert len(asked) == 6
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    for (a, b), (who, label, given) in zip(pairs, asked, strict=True):
        expected = np.flatnonzero((costs[:, a] != costs[:, b]) & (weight > 0))
        np.testing.assert_array_equal(who, expected)
        np.testing.assert_array_equal(label, (costs[:, b] < costs[:, a])[expected])
        size = np.abs(v[:, a] - v[:, b]) * weight
        np.testing.assert_allclose(given, size[expected], rtol=1e-14)


def test_csovo_weighs_pairs_by_the_difference_of_the_costs(rows, asked):
    """Of every pair and row ``|c_a - c_b|``, and not the difference of the transformed costs."""
    X, y, _, _ = rows
    costs = np.tile([0.0, 1.0, 3.0, 7.0], (40, 1))
    CSOVO(Recorder(), n_jobs=1).fit(X, y, costs=costs)
    # One answer only: no classifier is asked; the pairs with row 0 reversed have two.
    assert not asked
    costs[:20] = costs[:20, ::-1]
    CSOVO(Recorder(), n_jobs=1).fit(X, y, costs=costs)
    expected = [abs(costs[:, a] - costs[:, b]) for a in range(4) for b in range(a + 1, 4)]
    np.testing.assert_array_equal([weight for _, _, weight in asked], expected)


def test_a_saved_model_keeps_its_weights(rows, tmp_path):
    X, y, costs, _ = rows
    predicted = {}
    for weights in ("difference", "transformed"):
        model = CSOVO(weights=weights).fit(X / 40, y, costs=costs)
        again = rankwise.load(model.save(tmp_path / weights))
        assert again.weights == weights
        predicted[weights] = again.fit(X / 40, y, costs=costs).decision_function(X / 40)
        np.testing.assert_array_equal(predicted[weights], model.decision_function(X / 40))
    assert not np.allclose(predicted["difference"], predicted["transformed"])


def test_questions_with_one_answer_or_none(rng):
    """No classifier is fitted; a pair that no row asks gives each class half a vote."""
    X = rng.normal(size=(20, 2))
    y = np.arange(20) % 4
    costs = np.tile([0.0, 1.0, 1.0, 2.0], (20, 1))
    model = CSOVO(LogisticRegression()).fit(X, y, costs=costs)
    assert model.estimators_ == [None] * 6
    assert model.constants_.tolist() == [0, 0, 0, 0.5, 0, 0]
    scores = model.decision_function(X)
    assert set(model.predict(X)) == {0}
    np.testing.assert_allclose(scores[:, 1], scores[:, 2])
    same = CSOVO().fit(X, y, costs=costs)
    assert set(same.predict(X)) == {0}
    assert (CSOVO().fit(X, y, costs=0 * costs).decision_function(X) == 1.5).all()


@pytest.mark.parametrize("of", [CSOVO, WeightedAllPairs, OrdinalReduction])
def test_saved_with_its_classifiers(of, rows, tmp_path):
    X, y, costs, _ = rows
    costs[:, 3] = costs[:, 2] + 1  # a question with one answer
    model = of(LogisticRegression(fit_intercept=False, C=0.1)).fit(X / 40, y, costs=costs)
    again = rankwise.load(model.save(tmp_path / "model"))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_weights_must_be_taken(rows):
    X, y, costs, _ = rows
    for base in (KNeighborsClassifier(), make_pipeline(StandardScaler(), LogisticRegression())):
        with pytest.raises(TypeError, match="estimator must accept sample_weight"):
            CSOVO(base).fit(X, y, costs=costs)
        with pytest.raises(TypeError, match="estimator must accept sample_weight"):
            WeightedAllPairs(base, encoding="indicators").fit(X, y, costs=costs)
    with sklearn.config_context(enable_metadata_routing=True):
        first = StandardScaler().set_fit_request(sample_weight=False)
        last = LogisticRegression().set_fit_request(sample_weight=True)
    piped = CSOVO(make_pipeline(first, last)).fit(X, y, costs=costs)
    scaled = CSOVO(LogisticRegression()).fit(StandardScaler().fit_transform(X), y, costs=costs)
    assert np.mean(piped.predict(X) == scaled.predict(StandardScaler().fit_transform(X))) > 0.8


def test_the_base_says_which_rows_it_takes(rows):
    X, y, costs, _ = rows
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN at row 3, column 1"):
        CSOVO(LogisticRegression()).fit(X, y, costs=costs)
    boosting = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2)
    assert CSOVO(boosting).fit(X, y, costs=costs).predict(X).shape == (40,)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        CSOVO(boosting).fit(sparse.csr_array(X), y, costs=costs)


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("of", [CSOVO, OrdinalReduction])
def test_ridge_of_all_questions_is_that_of_each(of, by_class, rows, rng):
    """The closed form with shared Gram matrices against a classifier per question."""
    X, y, costs, weight = rows
    X = X + 1000.0
    costs = 1 - np.eye(4) + 0.3 * rng.random((4, 4)) if by_class else costs
    ours = of(alpha=0.3).fit(X, y, costs=costs, sample_weight=weight)
    each = of(RidgeClassifier(alpha=0.3)).fit(X, y, costs=costs, sample_weight=weight)
    coef = np.array([model.coef_.ravel() for model in each.estimators_])
    intercept = np.array([np.ravel(model.intercept_)[0] for model in each.estimators_])
    np.testing.assert_allclose(ours.coef_, coef, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ours.intercept_, intercept, rtol=1e-8, atol=1e-6)
    np.testing.assert_allclose(
        ours.decision_function(X), each.decision_function(X), rtol=1e-8, atol=1e-8
    )


@pytest.mark.parametrize("of", [CSOVO, WeightedAllPairs])
def test_more_features_than_rows(of, rng):
    """The rotation into the space of the rows changes no score."""
    X = rng.normal(size=(30, 90))
    y, costs = np.arange(30) % 3, rng.random((30, 3))
    wide = of(alpha=0.5).fit(X, y, costs=costs)
    assert wide.coef_.shape[1] == 90
    sparse_rows = of(alpha=0.5).fit(sparse.csr_array(X), y, costs=costs)
    np.testing.assert_allclose(sparse_rows.coef_, wide.coef_, rtol=1e-7, atol=1e-9)
    repeated = of(alpha=2.0).fit(np.tile(X, (4, 1)), np.tile(y, 4), costs=np.tile(costs, (4, 1)))
    np.testing.assert_allclose(repeated.coef_, wide.coef_, rtol=1e-7, atol=1e-9)


# One classifier for all pairs --------------------------------------------------------------------


def test_ridge_of_all_pairs_is_least_squares_on_all_questions(rows):
    X, y, costs, weight = rows
    ours = WeightedAllPairs(alpha=0.7).fit(X, y, costs=costs, sample_weight=weight)
    v, with_one = all_pairs_costs(costs), np.column_stack([X, np.ones(40)])
    parts, answers = [], []
    for a in range(4):
        for b in range(a + 1, 4):
            row = np.zeros((40, 4, 4))
            row[:, b], row[:, a] = with_one, -with_one
            parts.append(row.reshape(40, 16))
            answers.append((v[:, a] - v[:, b]) * weight)
    Z, signed = np.vstack(parts), np.concatenate(answers)
    penalty = np.diag(np.tile([0.7, 0.7, 0.7, 0.0], 4))
    theta = np.linalg.pinv(Z.T @ (np.abs(signed)[:, None] * Z) + penalty) @ (Z.T @ signed)
    theta = theta.reshape(4, 4)
    np.testing.assert_allclose(ours.coef_, theta[:, :3], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ours.intercept_, theta[:, 3], rtol=1e-7, atol=1e-8)
    scores = ours.decision_function(X)
    np.testing.assert_allclose(scores, with_one @ theta.T, atol=1e-8)


def test_one_classifier_gets_every_question_in_both_orders(rows, asked):
    X, y, costs, _ = rows
    WeightedAllPairs(Recorder(), encoding="indicators").fit(X, y, costs=costs)
    ((who, label, given),) = asked
    v = all_pairs_costs(costs)
    n_asked = sum(np.sum(v[:, a] != v[:, b]) for a in range(4) for b in range(a))
    assert len(who) == len(label) == 2 * n_asked
    assert label.mean() == 0.5
    # Half the weight in each order: the total is that of the pairs.
    total = sum(np.abs(v[:, a] - v[:, b]).sum() for a in range(4) for b in range(a))
    assert given.sum() == pytest.approx(total)


def test_one_linear_classifier_has_a_score_for_every_class(rows):
    X, y, costs, _ = rows
    base = LogisticRegression(fit_intercept=False, C=0.1, tol=1e-8, max_iter=10_000)
    model = WeightedAllPairs(base).fit(X / 40, y, costs=costs)
    theta = model.estimator_.coef_.reshape(4, 4)
    scores = np.column_stack([X / 40, np.ones(40)]) @ theta.T
    np.testing.assert_array_equal(model.predict(X / 40), scores.argmax(axis=1))
    csr = WeightedAllPairs(base).fit(sparse.csr_array(X / 40), y, costs=costs)
    np.testing.assert_allclose(csr.estimator_.coef_, model.estimator_.coef_, atol=1e-5)


def test_one_tree_for_all_pairs():
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier(random_state=0)
    for form in (np.asarray, sparse.csr_array):
        model = WeightedAllPairs(tree, encoding="indicators").fit(form(X), y)
        assert np.mean(model.predict(form(X)) == y) > 0.98


# Thresholds --------------------------------------------------------------------------------------


def test_what_thresholds_are_asked(rows, asked):
    X, y, _, weight = rows
    costs = cost_matrix("squared", 4)
    OrdinalReduction(Recorder(), n_jobs=1).fit(X, y, costs=costs, sample_weight=weight)
    expected = threshold_weights(costs[y]) * weight[:, None]
    for k, (who, label, given) in enumerate(asked):
        np.testing.assert_array_equal(who, np.flatnonzero(expected[:, k]))
        np.testing.assert_array_equal(label, y[who.astype(int)] > k)
        np.testing.assert_allclose(given, expected[:, k][who.astype(int)])
    assert len(asked) == 3


def test_without_costs_they_are_absolute(rows):
    X, y, _, _ = rows
    plain = OrdinalReduction().fit(X, y)
    absolute = OrdinalReduction().fit(X, y, costs=ClassCosts(cost_matrix("absolute", 4)))
    np.testing.assert_array_equal(plain.coef_, absolute.coef_)
    assert plain.score(X, y) == -np.abs(plain.predict(X) - y).mean()


def test_threshold_weights_bound_v_shaped_costs(rng):
    """Of answers that fall with the threshold; of any answers where costs are convex."""
    for _ in range(50):
        true = int(rng.integers(5))
        costs = v_shaped(rng.random((1, 5)), [true])[0]
        costs -= costs[true]
        convex = np.abs(np.arange(5) - true) ** rng.uniform(1, 3)
        for answers in product((0, 1), repeat=4):
            wrong = np.array(answers) != (np.arange(4) < true)
            if np.all(np.diff(answers) <= 0):
                assert costs[sum(answers)] <= np.abs(np.diff(costs))[wrong].sum() + 1e-12
            assert convex[sum(answers)] <= np.abs(np.diff(convex))[wrong].sum() + 1e-9


def test_ordered_categorical_and_two_classes(rows):
    pd = pytest.importorskip("pandas")
    X, y, _, _ = rows
    names = np.array(["low", "mid", "high", "top"])
    labels = pd.Series(pd.Categorical(names[y], names.tolist(), ordered=True))
    model = OrdinalReduction(LogisticRegression(max_iter=2000)).fit(X, labels)
    assert model.classes_.tolist() == names.tolist()
    np.testing.assert_array_equal(
        np.searchsorted([0, 1, 2, 3], model.decision_function(X).argmax(axis=1)),
        [names.tolist().index(one) for one in model.predict(X)],
    )
    named = OrdinalReduction(LogisticRegression(max_iter=2000), classes=names)
    np.testing.assert_array_equal(named.fit(X, names[y]).predict(X), model.predict(X))
    by_costs = ordinal_costs("absolute", names)
    plain = OrdinalReduction(LogisticRegression(max_iter=2000)).fit(X, names[y], costs=by_costs)
    np.testing.assert_array_equal(plain.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="y must have an order"):
        OrdinalReduction().fit(X, names[y])
    with pytest.raises(ValueError, match="classes must equal the classes named by costs"):
        OrdinalReduction(classes=names[::-1]).fit(X, names[y], costs=by_costs)
    two = OrdinalReduction().fit(X, y > 1)
    decision = two.decision_function(X)
    np.testing.assert_array_equal(decision > 0, two.predict(X))
    linear = X @ two.coef_[0] + two.intercept_
    assert (np.diff(decision[np.argsort(linear)]) >= -1e-12).all()
