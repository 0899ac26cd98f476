"""McRank: expected gains by hand, forms, classes of real-valued labels, rounds, other
classifiers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import rankwise.persistence
from rankwise import McRank, evaluate
from rankwise.groups import QueryGroups
from rankwise.row_order import canonical_order
from tests.oracles import ragged_groups

FORMS = pytest.mark.parametrize("form", ["plain", "ordinal"])
GAINS = pytest.mark.parametrize("gain", ["linear", "exp2"])


@pytest.fixture
def judged(rng):
    y, qid, _ = ragged_groups(rng, n_queries=25, most=14, grades=4)
    X = rng.normal(size=(len(y), 5)) + 0.6 * y[:, None] * [1, -1, 0.5, 0, 0]
    return X, y + (y == 3), qid  # grades 0, 1, 2, 4


def boosted(**params):
    return McRank(**{"n_estimators": 15, "learning_rate": 0.2, "random_state": 0, **params})


@FORMS
@GAINS
def test_scores_are_expected_gains(form, gain, judged):
    X, y, qid = judged
    fitted = McRank(LogisticRegression(), form, gain=gain).fit(X, y, qid=qid)
    gains = np.array([0, 1, 2, 4.0]) if gain == "linear" else np.array([0, 1, 3, 15.0])
    if form == "plain":
        expected = LogisticRegression().fit(X, y).predict_proba(X) @ gains
    else:
        reach = [LogisticRegression().fit(X, y >= k).predict_proba(X)[:, 1] for k in (1, 2, 4)]
        above = np.array([np.ones(len(y)), *reach, np.zeros(len(y))])
        expected = gains @ (above[:-1] - above[1:])
    np.testing.assert_allclose(fitted.predict(X), expected, rtol=1e-4)
    assert fitted.class_labels_.tolist() == [0, 1, 2, 4]
    assert fitted.n_estimators_ is None


@FORMS
def test_default_classifier_is_the_named_one(form, judged):
    X, y, qid = judged
    fitted = boosted(form=form).fit(X, y, qid=qid)
    order, _ = canonical_order(X, y, QueryGroups.from_qid(qid, len(y)))
    peer = HistGradientBoostingClassifier(
        max_iter=15, learning_rate=0.2, max_leaf_nodes=15, early_stopping=False, random_state=0
    )
    targets = [y] if form == "plain" else [y >= k for k in (1, 2, 4)]
    found = [peer.fit(X[order], t[order]).predict_proba(X) for t in targets]
    expected = (
        found[0] @ [0, 1, 2, 4]
        if form == "plain"
        else sum(step * p[:, 1] for step, p in zip((1, 1, 2), found, strict=True))
    )
    np.testing.assert_allclose(fitted.predict(X), expected, rtol=1e-12)
    assert fitted.n_estimators_ == 15


@FORMS
def test_rounds_are_chosen_on_validation_rows(form, judged, rng, tmp_path):
    X, y, qid = judged
    noise = rng.permutation(y)
    fitted = boosted(form=form, n_estimators=30)
    fitted.fit(X, noise, qid=qid, X_val=X, y_val=y, qid_val=qid)
    values = fitted.validation_scores_
    assert len(values) == 30
    assert fitted.n_estimators_ == 1 + int(np.argmax(values))
    found = evaluate(y, fitted.predict(X), qid, ["nDCG@10"])["nDCG@10"]
    assert found == pytest.approx(values.max())
    whole = boosted(form=form, n_estimators=fitted.n_estimators_).fit(X, noise, qid=qid)
    np.testing.assert_allclose(whole.predict(X), fitted.predict(X), rtol=1e-12)
    loaded = rankwise.load(fitted.save(tmp_path / "model"))
    assert (loaded.predict(X) == fitted.predict(X)).all()


def test_classifiers_without_rounds_are_measured_once(judged):
    X, y, qid = judged
    fitted = McRank(GaussianNB()).fit(X, y, qid=qid, X_val=X, y_val=y, qid_val=qid)
    found = evaluate(y, fitted.predict(X), qid, ["nDCG@10"])["nDCG@10"]
    assert fitted.validation_scores_.tolist() == [pytest.approx(found)]


def test_many_labels_become_classes_of_equal_numbers(rng):
    y = rng.normal(size=600)
    X = y[:, None] + 0.3 * rng.normal(size=(600, 1))
    fitted = McRank(GaussianNB(), max_classes=10).fit(X, y)
    edges = np.quantile(y, np.linspace(0, 1, 11))
    bins = np.clip(np.searchsorted(edges, y, side="right") - 1, 0, 9)
    means = [y[bins == k].mean() for k in range(10)]
    np.testing.assert_allclose(fitted.class_labels_, means, atol=0.02)
    assert fitted.score(X, y) > 0.8


@pytest.mark.parametrize(
    ("labels", "n_classes"),
    [
        (np.arange(20.0), 20),  # grades are classes of their own
        (np.arange(64.0), 32),
        (np.arange(1.0, 4.5, 0.5), 7),  # halves of a star, too
        (np.arange(20) / 7, 8),
        (np.linspace(0, 1, 400), 8),
    ],
)
def test_fractional_labels_become_few_classes(labels, n_classes, rng):
    y = np.resize(labels, 800)
    X = y[:, None] + 0.1 * np.ptp(y) * rng.normal(size=(800, 1))
    fitted = McRank(GaussianNB()).fit(X, y)
    assert len(fitted.class_labels_) == len(fitted.estimators_[0].classes_) == n_classes
    assert (np.diff(fitted.class_labels_) > 0).all()
    assert np.corrcoef(fitted.predict(X), y)[0, 1] > 0.9
    whole = McRank(GaussianNB(), max_classes=16).fit(X, y)
    assert len(whole.class_labels_) == min(16, len(labels))


def test_gain_of_large_labels_is_refused(rng):
    with pytest.raises(ValueError, match="gain='exp2' needs labels up to 1000, got 2000"):
        McRank(gain="exp2").fit(rng.normal(size=(4, 1)), [0, 0, 2000, 2000])


def test_missing_values_and_sparse_rows_where_the_classifier_takes_them(judged):
    X, y, qid = judged
    holes = np.where(np.arange(X.size).reshape(X.shape) % 7 == 0, np.nan, X)
    assert np.isfinite(boosted().fit(holes, y, qid=qid).predict(holes)).all()
    with pytest.raises(ValueError, match="Input X contains NaN"):
        McRank(LogisticRegression()).fit(holes, y, qid=qid)
    few = np.where(np.abs(X) < 1, 0, X)
    machine = McRank(LogisticRegression()).fit(sparse.csr_array(few), y, qid=qid)
    np.testing.assert_allclose(
        machine.predict(few), McRank(LogisticRegression()).fit(few, y, qid=qid).predict(few),
        rtol=1e-6,
    )  # fmt: skip


def test_one_label_is_its_gain():
    fitted = McRank(gain="exp2").fit(np.eye(3), [2, 2, 2])
    assert fitted.predict(np.eye(3)).tolist() == [3, 3, 3]
    assert fitted.estimators_ == []


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("left", 0, "left and right must name every node but the first once"),
        ("right", 10**6, "left and right must name every node but the first once"),
        ("feature_idx", 5, r"must lie in 0\.\.4"),
        ("feature_idx", -1, r"must lie in 0\.\.4"),
        ("is_categorical", 1, "must be 0 everywhere"),
    ],
)
def test_crafted_trees_are_refused(judged, tmp_path, monkeypatch, field, value, message):
    X, y, qid = judged
    fitted = boosted(n_estimators=2).fit(X, y, qid=qid)
    nodes = fitted.estimators_[0]._predictors[1][0].nodes
    assert not nodes["is_leaf"][0]
    nodes[field][0] = value
    for estimator in (fitted, fitted.estimators_[0]):
        path = save_unchecked(estimator, tmp_path / "model", monkeypatch)
        with pytest.raises(rankwise.persistence.ModelFileError, match=message):
            rankwise.load(path)


def save_unchecked(estimator, path, monkeypatch):
    """A model file as somebody else may write it; ``save`` itself refuses what ``load`` refuses."""
    with monkeypatch.context() as patch:
        patch.setattr(rankwise.persistence, "check_model", lambda estimator: None)
        return rankwise.save(estimator, path)


def test_trees_in_a_circle_are_refused(judged, tmp_path, monkeypatch):
    X, y, qid = judged
    fitted = boosted(n_estimators=1).fit(X, y, qid=qid)
    nodes = fitted.estimators_[0]._predictors[0][0].nodes
    inner = np.flatnonzero(nodes["is_leaf"] == 0)
    a, b = inner[-1], inner[-2]
    nodes["left"][a], nodes["left"][b] = nodes["left"][b], nodes["left"][a]
    later = inner[inner > 0][0]
    nodes["left"][0], nodes["left"][later] = nodes["left"][later], later
    path = save_unchecked(fitted, tmp_path / "model", monkeypatch)
    with pytest.raises(rankwise.persistence.ModelFileError, match="must come after their parent"):
        rankwise.load(path)


def test_scikit_learns_own_ensemble_saves(judged, tmp_path):
    X, y, _ = judged
    classifier = HistGradientBoostingClassifier(max_iter=3).fit(X, y)
    loaded = rankwise.load(rankwise.save(classifier, tmp_path / "model"))
    assert (loaded.predict_proba(X) == classifier.predict_proba(X)).all()
