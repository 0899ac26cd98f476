"""LambdaMART: wrong input is named, and thin input has a documented result."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import LambdaMART
from tests.oracles import ragged_groups


@pytest.fixture
def judged(rng):
    y, qid, _ = ragged_groups(rng, n_queries=20, most=12, grades=4)
    return rng.normal(size=(len(y), 3)) + y[:, None], y.astype(float), qid


def replaced(values, number):
    return np.where(np.arange(len(values)) == 3, number, values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y, q: {"y": replaced(y, np.nan)}, "Input y contains NaN at row 3"),
        (lambda X, y, q: {"y": y[1:]}, "y must have n_samples="),
        (lambda X, y, q: {"X": replaced(X.T[0], np.inf)[:, None]}, "X contains infinity at row 3"),
        (lambda X, y, q: {"qid": np.arange(len(y))}, "qid must give some query two rows or more"),
        (lambda X, y, q: {"y": 0 * y}, "y must differ within some query"),
        (lambda X, y, q: {"sample_weight": -np.ones(len(y))}, "sample_weight must be >= 0, got -1"),
        (lambda X, y, q: {"sample_weight": np.ones(2)}, "sample_weight must have n_samples="),
        (lambda X, y, q: {"sample_weight": 0 * y}, "sample_weight must not be all zero"),
        (lambda X, y, q: {"sample_weight": y == y.max()}, "y must differ within some query"),
        (lambda X, y, q: {"position": replaced(y, np.nan)}, "position must hold integers >= 0"),
        (lambda X, y, q: {"position": y + 0.5}, "position must hold integers >= 0"),
        (lambda X, y, q: {"X_val": X[:0], "y_val": [], "qid_val": []}, "X_val.*0 sample"),
        (lambda X, y, q: {"X_val": X, "y_val": replaced(y, np.nan), "qid_val": q}, "y_val.*NaN"),
        (lambda X, y, q: {"X_val": X, "y_val": 0 * y, "qid_val": q}, "must score at least one"),
        (lambda X, y, q: {"X_val": X, "y_val": y}, "X_val needs qid_val"),
        (lambda X, y, q: {"y_val": y}, "y_val needs X_val"),
        (lambda X, y, q: {"X_val": X[:, :2], "y_val": y, "qid_val": q}, "X.* has 2 features"),
    ],
)
def test_wrong_rows_are_named(change, message, judged):
    X, y, qid = judged
    rows = {"X": X, "y": y, "qid": qid} | change(X, y, qid)
    with pytest.raises(ValueError, match=message):
        LambdaMART(2).fit(**rows)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"measure": "ERR(max_grade=2)"}, r"y must lie in 0\.\.2 for ERR"),
        ({"measure": "nDCG(gain=(0,1,3,7))"}, "y must hold whole grades from 0 to 3 for nDCG"),
        ({"objective": "xendcg", "measure": "nDCG(gain=(0,1,3,7))"}, "y must hold whole grades"),
        ({"measure": "no_such"}, "no_such"),
        ({"objective": "pairs"}, "objective"),
        ({"validation_measure": "no_such"}, "no_such"),
        ({"drop_rate": 1.5}, "drop_rate"),
        ({"importance_type": "cover"}, "importance_type"),
        ({"query_weight": "row"}, "query_weight"),
        ({"position_bias_regularization": -1.0}, "position_bias_regularization"),
    ],
)
def test_wrong_parameters_are_named(params, message, judged):
    X, y, qid = judged
    with pytest.raises(ValueError, match=message):
        LambdaMART(2, **params).fit(X, 1.5 * y, qid=qid)


def test_validation_measures_that_need_grades_name_real_labels(judged):
    X, y, qid = judged
    ranker = LambdaMART(2, objective="logistic", validation_measure="nDCG(gain=(0,1,3,7))")
    with pytest.raises(ValueError, match=r"grades|whole"):
        ranker.fit(X, y, qid=qid, X_val=X, y_val=y + 0.5, qid_val=qid)


@pytest.mark.parametrize("objective", ["lambdarank", "yetirank", "xendcg", "logistic", "squared"])
def test_queries_of_no_weight_or_of_one_row_are_as_if_not_there(objective, judged):
    X, y, qid = judged
    gone = qid == qid[0]
    ranker = LambdaMART(5, objective=objective, random_state=0, min_samples_leaf=1)
    weighted = ranker.fit(X, y, qid=qid, sample_weight=~gone).predict(X)
    np.testing.assert_array_equal(
        ranker.fit(X[~gone], y[~gone], qid=qid[~gone]).predict(X), weighted
    )
    alone = np.arange(len(y)) == np.flatnonzero(gone)[0]
    rows = ~gone | alone
    scores = ranker.fit(X[rows], y[rows], qid=qid[rows]).predict(X)
    assert np.isfinite(scores).all() and ranker.n_estimators_ == 5


@pytest.mark.parametrize("objective", ["lambdarank", "yetirank", "xendcg", "logistic", "squared"])
def test_columns_of_one_value_give_no_tree(objective, judged):
    _, y, qid = judged
    ranker = LambdaMART(3, objective=objective, random_state=0, drop_rate=0.5)
    ranker.fit(np.ones((len(y), 2)), y, qid=qid)
    assert ranker.n_estimators_ == ranker.best_iteration_ == 0
    assert not ranker.predict(np.ones((4, 2))).any() and not ranker.feature_importances_.any()
