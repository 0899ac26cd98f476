"""Label powerset and calibrated label ranking: sets, votes, calibration, any classifier."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from rankwise.labels import BinaryRelevance, CalibratedLabelRanking, LabelPowerset


@pytest.fixture
def case(rng):
    """Four labels that hang together; the last is on every row."""
    X = rng.normal(size=(120, 5))
    Y = (X @ rng.normal(size=(5, 3)) + 0.5 * rng.normal(size=(120, 3)) > 0).astype(int)
    Y[:, 1] |= Y[:, 0]
    return X, np.column_stack([Y, np.ones(120, dtype=int)])


def test_only_sets_of_the_training_rows_are_predicted(case):
    X, Y = case
    model = LabelPowerset().fit(X, Y)
    np.testing.assert_array_equal(model.label_sets_, np.unique(Y, axis=0))
    seen = {tuple(row) for row in Y}
    assert {tuple(row) for row in model.predict(3 * X)} <= seen
    accuracy = (model.predict(X) == Y).all(axis=1).mean()
    assert accuracy > 1.5 * max((row == Y).all(axis=1).mean() for row in model.label_sets_)


def test_scores_of_the_ridge_are_those_of_binary_relevance(case):
    X, Y = case
    w = np.arange(120) % 3
    scores = LabelPowerset(0.3).fit(X, Y, sample_weight=w).decision_function(X)
    wanted = BinaryRelevance(0.3).fit(X, Y, sample_weight=w).decision_function(X)
    np.testing.assert_allclose(scores, wanted, atol=1e-10)


class Decisions(ClassifierMixin, BaseEstimator):
    """A classifier that gives classes and nothing else."""

    def fit(self, X, y):
        self.tree_ = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
        self.classes_ = self.tree_.classes_
        return self

    def predict(self, X):
        return self.tree_.predict(X)


def test_powerset_of_a_classifier(case):
    X, Y = case
    model = LabelPowerset(estimator=GaussianNB()).fit(sparse.csr_array(X).toarray(), Y)
    sets, numbers = np.unique(Y, axis=0, return_inverse=True)
    peer = GaussianNB().fit(X, numbers)
    np.testing.assert_array_equal(model.predict(X), sets[peer.predict(X)])
    np.testing.assert_allclose(model.decision_function(X), peer.predict_proba(X) @ sets)
    hard = LabelPowerset(estimator=Decisions()).fit(X, Y)
    np.testing.assert_array_equal(hard.decision_function(X), hard.predict(X))
    same = LabelPowerset(estimator=GaussianNB()).fit(X, np.ones((120, 2), dtype=int))
    assert same.predict(X).all()
    with pytest.raises(TypeError, match="estimator must accept sample_weight"):
        LabelPowerset(estimator=KNeighborsClassifier()).fit(X, Y, sample_weight=np.ones(120))
    with pytest.raises(ValueError, match=r"estimator must be a classifier, .* got Ridge\(\)"):
        LabelPowerset(estimator=Ridge()).fit(X, Y)  # would regress the numbers of the sets


def naive_votes(X, Y, classifier):
    """Votes less those of the virtual label, pair by pair."""
    n, k = Y.shape
    votes = np.zeros((n, k + 1))
    for i in range(k):
        for j in range(i + 1, k):
            rows = Y[:, i] != Y[:, j]
            if not rows.any():
                votes[:, [i, j]] += 0.5
            elif len(np.unique(Y[rows, j])) == 1:
                votes[:, j if Y[rows, j][0] else i] += 1
            else:
                second = classifier().fit(X[rows], Y[rows, j]).predict(X)
                votes[:, j] += second
                votes[:, i] += 1 - second
        relevant = np.full(n, Y[0, i])
        if len(np.unique(Y[:, i])) == 2:
            relevant = classifier().fit(X, Y[:, i]).predict(X)
        votes[:, i] += relevant
        votes[:, k] += 1 - relevant
    return votes[:, :k] - votes[:, k:]


@pytest.mark.parametrize("classifier", [LogisticRegression, GaussianNB, RidgeClassifier])
def test_votes_are_those_of_the_loops(case, classifier):
    X, Y = case
    Y = np.column_stack([Y, Y[:, 2]])  # two labels that never differ
    model = CalibratedLabelRanking(classifier()).fit(X, Y)
    votes, scores = naive_votes(X, Y, classifier), model.decision_function(X)
    assert np.abs(scores - votes).max() < 2 / 3 + 1e-12  # what breaks ties
    np.testing.assert_array_equal(np.rint(scores * 2) / 2 > 0, votes > 0)
    clear = votes != 0
    np.testing.assert_array_equal(model.predict(X)[clear], votes[clear] > 0)


def test_the_virtual_label_calibrates(case):
    X, Y = case
    model = CalibratedLabelRanking().fit(X, Y)
    k = Y.shape[1]
    assert model.pairs_.shape == (k * (k + 1) // 2, 2)
    assert (model.pairs_[-k:, 0] == k).all()
    signs = X @ model.coef_[-k:].T + model.intercept_[-k:]
    relevance = BinaryRelevance(alpha=1e-6).fit(X, Y).predict(X)
    assert ((signs > 0) == relevance).mean() > 0.97
    assert (model.predict(X) == Y).mean() > 0.8
    assert model.predict(X)[:, 3].all()
    none = CalibratedLabelRanking().fit(X, np.zeros_like(Y))
    assert not none.predict(X).any()


def test_a_label_that_is_always_chosen_ranks_first(case):
    X, Y = case
    constant = CalibratedLabelRanking(DummyClassifier()).fit(X, Y)
    assert (constant.predict_ranking(X)[:, 3] == 1).all()
