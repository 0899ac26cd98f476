"""Class numbers, and the scikit-learn ensembles that need them."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.model_selection import cross_val_predict

from rankwise import ORBoost, OrdinalSVM, ProportionalOdds, RankingTree
from rankwise.ordinal import ordinal_codes

GRADES = ["poor", "fair", "good", "excellent"]  # sorted: excellent, fair, good, poor


@pytest.fixture
def graded(rng):
    X = rng.normal(size=(300, 3))
    codes = np.digitize(X[:, 0] + X[:, 1], [-1.0, 0.0, 1.0])
    return X, np.array(GRADES)[codes], codes, np.arange(300) // 10


def test_codes_are_positions():
    codes = ordinal_codes(["good", "poor", "excellent"], GRADES)
    assert codes.tolist() == [2, 0, 3]
    assert codes.dtype == np.int64
    assert np.asarray(GRADES)[codes].tolist() == ["good", "poor", "excellent"]
    assert ordinal_codes([30, 10, 20]).tolist() == [2, 0, 1]
    assert ordinal_codes([True, False]).tolist() == [1, 0]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_codes_of_ordered_categoricals(library):
    frames = pytest.importorskip(library)
    words = ["good", "poor"]
    labels = (
        frames.Series(words, dtype=frames.Enum(GRADES))
        if library == "polars"
        else frames.Series(frames.Categorical(words, GRADES, ordered=True))
    )
    assert ordinal_codes(labels).tolist() == [2, 0]


def test_what_has_no_codes():
    with pytest.raises(ValueError, match="y must have an order, got text"):
        ordinal_codes(["good", "poor"])
    with pytest.raises(ValueError, match="y must hold the given classes, got 'bad' at row 1"):
        ordinal_codes(["good", "bad"], GRADES)


def boosted(**params):
    return ORBoost(n_estimators=20, **params)


ENSEMBLES = {
    "bagging": lambda: BaggingClassifier(boosted(), n_estimators=3, random_state=0),
    "voting": lambda: VotingClassifier([("a", boosted()), ("b", ProportionalOdds())]),
    "stacking": lambda: StackingClassifier(
        [("a", boosted()), ("b", ProportionalOdds())], ProportionalOdds(), cv=3
    ),
}


@pytest.mark.parametrize("name", ENSEMBLES)
@pytest.mark.parametrize("routing", [False, True])
def test_ensembles_fit_codes(name, routing, graded):
    X, words, codes, qid = graded
    with sklearn.config_context(enable_metadata_routing=routing):
        model = ENSEMBLES[name]()
        queries = {"qid": qid} if routing else {}
        model.fit(X, ordinal_codes(words, GRADES), **queries)
        predicted = model.predict(X)
    assert np.abs(predicted - codes).mean() < 0.2
    assert np.asarray(GRADES)[predicted][0] in GRADES
    for member in model.estimators_:  # classes in rank order: scores rise with the grade
        assert np.corrcoef(member.rank_score(X), codes)[0, 1] > 0.8


@pytest.mark.parametrize("routing", [False, True])
def test_ada_boost_fits_codes(routing, graded):
    X, words, codes, _ = graded
    with sklearn.config_context(enable_metadata_routing=routing):
        model = AdaBoostClassifier(RankingTree(max_depth=4), n_estimators=10, random_state=0)
        model.fit(X, ordinal_codes(words, GRADES))
        predicted = model.predict(X)
    assert np.abs(predicted - codes).mean() < 0.3
    for member in model.estimators_:
        assert np.corrcoef(member.rank_score(X), codes)[0, 1] > 0.5


def test_ensembles_encode_words_alphabetically_and_are_told(graded):
    """Why codes: members see numbers in alphabetical order, or words without an order."""
    pd = pytest.importorskip("pandas")
    X, words, codes, _ = graded
    ordered = pd.Categorical(words, GRADES, ordered=True)
    for name, make in ENSEMBLES.items():
        if name != "stacking":  # its last step needs two columns that agree
            model = make().fit(X, ordered)
            assert np.corrcoef(model.estimators_[0].rank_score(X), codes)[0, 1] < 0.8
    with pytest.raises(ValueError, match="y must have an order, got text"):
        AdaBoostClassifier(RankingTree(max_depth=2)).fit(X, ordered)
    with pytest.raises(ValueError, match=r"y must hold the given classes, got \d at row"):
        BaggingClassifier(OrdinalSVM(classes=GRADES), n_estimators=1).fit(X, words)


def test_probabilities_by_cross_validation_need_codes(graded):
    X, words, codes, _ = graded
    with pytest.raises(ValueError, match="y must hold the given classes, got"):
        cross_val_predict(ProportionalOdds(classes=GRADES), X, words, method="predict_proba")
    shares = cross_val_predict(
        ProportionalOdds(), X, ordinal_codes(words, GRADES), method="predict_proba"
    )
    assert np.abs(shares.argmax(axis=1) - codes).mean() < 0.2
