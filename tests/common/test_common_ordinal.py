"""What every ordinal estimator of the registry does alike, beside what rankers do too."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise._registry import REGISTRY
from tests.common.estimators import ORDINAL, accepts, load_class, small
from tests.oracles import ragged_groups

pytestmark = pytest.mark.parametrize("key", ORDINAL)
GRADES = ["bad", "fair", "good", "perfect"]


@pytest.fixture
def judged(rng):
    """Rows whose grade follows their first two features, 0 to 3, in ragged queries."""
    y, qid, _ = ragged_groups(rng, n_queries=12, most=10, grades=4)
    X = rng.normal(size=(len(y), 5))
    X[:, 0] += y
    X[:, 1] -= y
    return X, y.astype(int), qid


def test_classes_margins_and_thresholds_agree(key, judged):
    X, y, qid = judged
    estimator = small(key).fit(X, y, qid=qid)
    assert estimator.classes_.tolist() == [0, 1, 2, 3]
    predicted, margins = estimator.predict(X), estimator.decision_function(X)
    assert predicted.dtype == y.dtype
    assert margins.shape == (len(y), 4)
    assert np.isfinite(margins[:, 1:-1]).all()
    assert margins.argmax(1).tolist() == predicted.tolist()
    assert estimator.thresholds_.shape == (3,)
    assert (np.diff(estimator.thresholds_) >= 0).all()
    scores = estimator.rank_score(X)
    assert scores.shape == (len(y),)
    assert scores.dtype == np.float64
    if "own-rule" not in REGISTRY[key].tags:  # trees and votes choose the class by a rule
        assert predicted.tolist() == (scores[:, None] >= estimator.thresholds_).sum(1).tolist()


def test_probabilities_are_native_or_on_request(key, judged):
    X, y, qid = judged
    on_request = {"probability": True} if "probability" in small(key).get_params() else {}
    assert hasattr(small(key), "predict_proba") == (not on_request)
    for codes in (y, (y >= 2).astype(int)):
        estimator = small(key, **on_request).fit(X, codes, qid=qid)
        shares = estimator.predict_proba(X)
        assert shares.shape == (len(y), codes.max() + 1)
        assert (shares >= 0).all()
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
        assert np.corrcoef(shares @ estimator.classes_, codes)[0, 1] > 0.3


def test_two_classes(key, judged):
    X, y, qid = judged
    estimator = small(key).fit(X, y >= 2, qid=qid)
    margins = estimator.decision_function(X)
    assert margins.shape == (len(y),)
    assert ((margins > 0) == estimator.predict(X)).all()


def test_one_class(key, judged):
    X, y, qid = judged
    estimator = small(key, classes=["only"]).fit(X, np.full(len(y), "only"), qid=qid)
    assert set(estimator.predict(X)) == {"only"}
    assert estimator.thresholds_.shape == (0,)
    assert np.isfinite(estimator.rank_score(X)).all()
    assert estimator.score(X, np.full(len(y), "only")) == 0


def test_names_of_classes_do_not_matter(key, judged):
    X, y, qid = judged
    expected = small(key).fit(X, y, qid=qid)
    for classes in (np.array([-7, 0, 3, 1000]), np.array(GRADES)[::-1], np.arange(4.0)):
        estimator = small(key, classes=classes).fit(X, classes[y], qid=qid)
        assert (estimator.classes_ == classes).all()
        assert (estimator.predict(X) == classes[expected.predict(X)]).all()
        np.testing.assert_array_equal(estimator.rank_score(X), expected.rank_score(X))


@pytest.mark.parametrize("kind", ["list", "object", "pandas", "polars"])
def test_text_needs_an_order(key, kind, judged):
    X, y, qid = judged
    words = np.array(GRADES)[::-1][y].tolist()
    labels: object = words
    if kind == "object":
        labels = np.array(words, dtype=object)
    elif kind == "pandas":
        labels = pytest.importorskip("pandas").Series(words, dtype="category")
    elif kind == "polars":
        frames = pytest.importorskip("polars")
        labels = frames.Series(words, dtype=frames.Categorical)
    rule = r"y must have an order, .*'bad', 'fair'.*classes=\[\.\.\.\].* ordered categorical"
    with pytest.raises(ValueError, match=rule):
        small(key).fit(X, labels, qid=qid)
    estimator = small(key, classes=GRADES[::-1]).fit(X, labels, qid=qid)
    expected = small(key).fit(X, y, qid=qid)
    assert estimator.classes_.tolist() == GRADES[::-1]
    assert estimator.predict(X).tolist() == np.array(GRADES)[::-1][expected.predict(X)].tolist()
    assert estimator.score(X, labels, qid=qid) == expected.score(X, y, qid=qid)
    with pytest.raises(ValueError, match="y must hold the given classes, got"):
        small(key, classes=GRADES[:2]).fit(X, labels, qid=qid)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_declared_order_of_classes(key, library, judged):
    frames = pytest.importorskip(library)
    X, y, qid = judged
    words = np.array(GRADES)[y]
    if library == "polars":
        labels = frames.Series(words, dtype=frames.Enum(GRADES))
    else:
        labels = frames.Series(frames.Categorical(words, categories=GRADES, ordered=True))
    estimator = small(key).fit(X, labels, qid=qid)
    assert estimator.classes_.tolist() == GRADES
    expected = small(key).fit(X, y, qid=qid)
    assert estimator.predict(X).tolist() == np.array(GRADES)[expected.predict(X)].tolist()
    assert estimator.score(X, labels, qid=qid) == expected.score(X, y, qid=qid)


@pytest.mark.parametrize("absent", [0, 1, 3])
def test_declared_class_without_rows(key, absent, judged):
    pd = pytest.importorskip("pandas")
    X, y, qid = judged
    kept = y != absent
    by_list = small(key, classes=[0, 1, 2, 3]).fit(X[kept], y[kept], qid=qid[kept])
    labels = pd.Series(pd.Categorical(np.array(GRADES)[y], categories=GRADES, ordered=True))
    estimator = small(key).fit(X[kept], labels[kept], qid=qid[kept])
    assert estimator.classes_.tolist() == GRADES
    assert estimator.thresholds_.shape == (3,)
    assert np.isfinite(estimator.thresholds_).all()
    assert (np.diff(estimator.thresholds_) >= 0).all()
    predicted = estimator.predict(X)
    assert set(predicted) <= set(GRADES)
    assert np.isfinite(estimator.rank_score(X)).all()
    np.testing.assert_array_equal(by_list.rank_score(X), estimator.rank_score(X))
    assert estimator.decision_function(X).argmax(1).tolist() == [GRADES.index(p) for p in predicted]


def test_learns_ranks_that_are_there(key, rng):
    X = rng.normal(size=(500, 4))
    y = np.clip(np.round(1.5 * X[:, 0] - X[:, 1] + 2), 0, 4).astype(int)
    estimator = small(key).fit(X[:400], y[:400])
    constant = -np.abs(y[400:] - np.median(y[:400])).mean()
    score = estimator.score(X[400:], y[400:])
    assert score == -np.abs(estimator.predict(X[400:]) - y[400:]).mean()
    assert score > 0.6 * constant
    assert np.corrcoef(estimator.rank_score(X[400:]), y[400:])[0, 1] > 0.8


def test_labels_that_are_no_classes_are_named(key, judged):
    X, y, qid = judged
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        small(key).fit(X, y + np.linspace(0.1, 0.2, len(y)), qid=qid)
    with pytest.raises(ValueError, match="Input y contains NaN at row 0"):
        small(key).fit(X, np.where(np.arange(len(y)) == 0, np.nan, y), qid=qid)


def test_registered_settings_fit_and_validate(key, rng):
    """What ``compare`` runs: the registry's parameters with a validation part."""
    X = rng.normal(size=(200, 3))
    y, qid = np.clip(np.round(X[:, 0] + 1), 0, 3), np.arange(200) % 10
    entry = REGISTRY[key]
    extra = {"n_jobs": 1} if "n_jobs" in small(key).get_params() else {}
    estimator = load_class(key)(**entry.params, **extra)
    validation = {"X_val": X[150:], "y_val": y[150:], "qid_val": qid[150:]}
    estimator.fit(X[:150], y[:150], qid=qid[:150], **(validation if accepts(key, "X_val") else {}))
    assert estimator.score(X[150:], y[150:], qid=qid[150:]) > -0.5
