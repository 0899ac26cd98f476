"""The base of ordinal estimators: classes and margins from one score and thresholds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise import ORBoost, OrdinalSVM, PolyOrdinalSVM
from rankwise.checks.rows import check_rows
from rankwise.ordinal.ordinal_ranker import OrdinalRanker, check_ordinal_fit


class Threshold(OrdinalRanker):
    """First feature as score, thresholds as given."""

    def __init__(self, thresholds=(0.5, 1.5), classes=None):
        self.thresholds = thresholds
        self.classes = classes

    def fit(self, X, y, *, qid=None, sample_weight=None):
        check_ordinal_fit(self, X, y, qid, sample_weight)
        self.thresholds_ = np.asarray(self.thresholds, dtype=float)
        return self

    def rank_score(self, X):
        return check_rows(self, X)[:, 0]


def column(*values):
    return np.array(values, dtype=float)[:, None]


@pytest.fixture
def fitted():
    return Threshold(classes=["a", "b", "c"]).fit(column(0, 1, 2), ["a", "b", "c"])


def test_class_is_the_number_of_thresholds_reached(fitted):
    assert fitted.predict(column(-9, 0.5, 1.4, 1.5, 9)).tolist() == ["a", "b", "b", "c", "c"]


def test_margins_of_three_classes(fitted):
    margins = fitted.decision_function(column(0.75))
    assert margins.tolist() == [[-0.25, 0.25, -0.75]]


def test_margin_of_two_classes_is_positive_for_the_upper():
    ranker = Threshold([0.5]).fit(column(0, 1), [0, 1])
    margins = ranker.decision_function(column(0.25, 0.5, 1.0))
    assert margins.shape == (3,)
    assert (margins > 0).tolist() == [False, True, True]
    assert ranker.predict(column(0.25, 0.5, 1.0)).tolist() == [0, 1, 1]


def test_one_class_is_always_predicted():
    ranker = Threshold([]).fit(column(0, 1), [7, 7])
    assert ranker.predict(column(3, -3)).tolist() == [7, 7]
    assert ranker.decision_function(column(3, -3)).shape == (2, 1)


FEW = st.sampled_from([-1.0, 0.0, 0.1, 0.3, 0.5, 2.0])


@given(st.lists(FEW, min_size=1, max_size=6), st.lists(FEW, min_size=2, max_size=5))
def test_largest_margin_is_the_predicted_class(scores, thresholds):
    """Also with scores on thresholds and equal thresholds."""
    classes = np.arange(len(thresholds) + 1)
    ranker = Threshold(sorted(thresholds)).fit(column(*classes), classes)
    margins = ranker.decision_function(column(*scores))
    assert margins.shape == (len(scores), len(classes))
    assert margins.argmax(1).tolist() == ranker.predict(column(*scores)).tolist()


def test_score_is_minus_the_mean_rank_loss(fitted):
    X, y = column(0, 1, 2, 2), ["a", "c", "a", "c"]
    assert fitted.score(X, y) == -0.75
    assert fitted.score(X, y, [1, 0, 0, 1]) == 0
    assert fitted.score(X, y, qid=[1, 1, 2, 2]) == -0.75
    assert fitted.score_name_ == "-MAE"


def test_score_checks_what_it_gets(fitted):
    X = column(0, 1)
    with pytest.raises(ValueError, match="y must have n_samples=2"):
        fitted.score(X, ["a"])
    with pytest.raises(ValueError, match="qid must have n_samples=2"):
        fitted.score(X, ["a", "b"], qid=[1])
    with pytest.raises(ValueError, match="sample_weight must be >= 0"):
        fitted.score(X, ["a", "b"], [1, -1])


def test_rank_is_by_score_within_queries(fitted):
    assert fitted.rank(column(0, 1, 2, 2), qid=[0, 0, 1, 1]).tolist() == [2, 1, 1, 2]
    assert fitted.rank(column(0, 2, 1)).tolist() == [3, 1, 2]


def test_rows_without_weight_and_their_classes_are_not_there():
    ranker = Threshold([0.5]).fit(column(0, 1, 2), [1, 2, 3], sample_weight=[1, 0, 2])
    assert ranker.classes_.tolist() == [1, 3]
    alone = Threshold([0.5]).fit(column(0, 2), [1, 3], sample_weight=[1, 2])
    assert ranker.fit_fingerprint_ == alone.fit_fingerprint_


def test_labels_are_checked_after_rows():
    with pytest.raises(ValueError, match="Input X contains infinity"):
        Threshold().fit(column(np.inf), [np.nan])
    with pytest.raises(ValueError, match="requires y to be passed"):
        Threshold().fit(column(1), None)
    with pytest.raises(ValueError, match="y must have n_samples=2 entries, got 1"):
        Threshold().fit(column(1, 2), [1])


@pytest.mark.parametrize(
    ("estimator", "setting"),
    [
        (OrdinalSVM(costs="err"), 'costs="err"'),
        (PolyOrdinalSVM(costs="err"), 'costs="err"'),
        (ORBoost(n_estimators=2, row_weight="query"), 'row_weight="query"'),
        (ORBoost(n_estimators=2, row_weight="rank_query"), 'row_weight="rank_query"'),
    ],
)
def test_what_counts_by_query_needs_a_qid(estimator, setting):
    X, y = np.arange(12.0).reshape(-1, 2), [0, 1, 2, 0, 1, 2]
    with pytest.raises(ValueError, match=f"{setting} needs qid.* got qid=None. Pass qid to fit"):
        estimator.fit(X, y)
    estimator.fit(X, y, qid=np.zeros(6))
