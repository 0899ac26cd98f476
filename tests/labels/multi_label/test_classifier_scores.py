"""Labels ranked by what a wrapped classifier says beside its decisions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier
from sklearn.metrics import label_ranking_average_precision_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from rankwise.datasets import load_mulan
from rankwise.labels import (
    BinaryRelevance,
    LabelPowerset,
    LinearLabelSpaceTransform,
    PartialBinaryRelevance,
)


@pytest.fixture
def labelled(rng):
    X = rng.normal(size=(90, 4))
    Y = (X @ rng.normal(size=(4, 3)) + rng.normal(size=(90, 3)) > 0).astype(int)
    return X, Y


@pytest.mark.parametrize("name", ["emotions", "yeast"])
def test_label_ranking_is_that_of_one_versus_rest(name, data_root):
    if not (data_root / "mulan").is_dir():
        pytest.skip("needs the Mulan sets")
    train, test = load_mulan(name, part="train"), load_mulan(name, part="test")
    one = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    model = BinaryRelevance(estimator=one).fit(train.X, train.Y)
    quality = label_ranking_average_precision_score(test.Y, model.decision_function(test.X))
    hard = label_ranking_average_precision_score(test.Y, model.predict(test.X))
    peer = OneVsRestClassifier(one).fit(train.X, train.Y)
    expected = label_ranking_average_precision_score(test.Y, peer.predict_proba(test.X))
    assert quality == pytest.approx(expected, abs=1e-12)
    assert quality > hard + 0.1  # .811 against .616 for emotions, .742 against .597 for yeast


def test_probabilities_come_first(labelled):
    X, Y = labelled
    model = BinaryRelevance(estimator=LogisticRegression()).fit(X, Y)
    peers = [LogisticRegression().fit(X, column) for column in Y.T]
    expected = np.column_stack([peer.predict_proba(X)[:, 1] for peer in peers])
    np.testing.assert_allclose(model.decision_function(X), expected)
    np.testing.assert_array_equal(model.predict(X), np.column_stack([p.predict(X) for p in peers]))


@pytest.mark.parametrize("base", [LinearSVC(), RidgeClassifier(), Perceptron()])
def test_decision_values_rank_and_keep_their_sign(base, labelled):
    X, Y = labelled
    model = BinaryRelevance(estimator=base).fit(X, Y)
    values = np.column_stack([one.decision_function(X) for one in model.regressors_])
    scores = model.decision_function(X)
    np.testing.assert_array_equal(np.argsort(scores, axis=None), np.argsort(values, axis=None))
    np.testing.assert_array_equal(scores > 0.5, values > 0)
    np.testing.assert_array_equal(model.predict(X), values > 0)
    assert ((scores > 0) & (scores < 1)).all()


@pytest.mark.parametrize(
    "base",
    [
        RandomForestClassifier(10, random_state=0),
        DecisionTreeClassifier(max_depth=3, random_state=0),
        MLPClassifier((4,), max_iter=5, random_state=0),
    ],
)
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_one_classifier_of_all_labels(base, labelled):
    X, Y = labelled
    Y = Y[:, :2]
    model = BinaryRelevance(estimator=base).fit(X, Y)
    shares = model.regressors_[0].predict_proba(X)
    if len(model.regressors_) > 1:
        shares = [one.predict_proba(X) for one in model.regressors_]
    expected = (
        np.column_stack([part[:, 1] for part in shares]) if isinstance(shares, list) else shares
    )
    np.testing.assert_allclose(model.decision_function(X), expected)


def test_a_label_of_no_row_has_probability_zero(labelled):
    X, Y = labelled
    Y = np.column_stack([Y, np.zeros(90, int), np.ones(90, int)])
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    model = BinaryRelevance(estimator=tree).fit(X, Y)
    assert model.decision_function(X)[:, 3:].tolist() == [[0.0, 1.0]] * 90


def test_labels_that_are_not_drawn_rank_last(labelled):
    X, Y = labelled
    model = PartialBinaryRelevance(2, estimator=LinearSVC(), random_state=0).fit(X, Y)
    left = np.setdiff1d(np.arange(3), model.drawn_)
    ranks = model.predict_ranking(X)
    assert (ranks[:, left] == 3).all()


def test_codes_of_a_classifier_are_decoded_from_probabilities(labelled):
    X, Y = labelled
    swapped = np.eye(3)[[2, 0, 1]]
    model = LinearLabelSpaceTransform(encode=swapped, estimator=LogisticRegression()).fit(X, Y)
    plain = BinaryRelevance(estimator=LogisticRegression()).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


@pytest.mark.parametrize("two_sets", [False, True])
def test_powerset_of_decision_values(two_sets, labelled):
    X, Y = labelled
    if two_sets:
        Y = np.column_stack([Y[:, 0], 1 - Y[:, 0]])
    sets, numbers = np.unique(Y, axis=0, return_inverse=True)
    model = LabelPowerset(estimator=RidgeClassifier()).fit(X, Y)
    peer = RidgeClassifier().fit(X, numbers)
    values = peer.decision_function(X)
    if two_sets:
        values = np.column_stack([np.zeros(len(X)), values])
    np.testing.assert_array_equal(model.predict(X), sets[peer.predict(X)])
    np.testing.assert_allclose(model.decision_function(X), softmax(values, axis=1) @ sets)


def test_a_class_of_every_row_is_that_of_the_largest_probability(labelled, rng):
    X, _ = labelled
    y = np.array(["ham", "news", "spam"])[np.argmax(X[:, :3] + rng.normal(size=(90, 3)), axis=1)]
    model = BinaryRelevance(estimator=LogisticRegression()).fit(X, y)
    scores = model.decision_function(X)
    assert len(np.unique(scores)) > 200
    np.testing.assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
