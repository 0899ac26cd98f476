"""Models that give every training row the same score say so, and why."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import rankwise
from rankwise import LambdaMART, McRank, RidgeRanker, StackingRanker
from rankwise.exceptions import ConstantScoresWarning
from rankwise.ordinal import RankingTree
from tests.common.estimators import accepts, load_class, small


def few_rows():
    """Two queries of 19 rows; the second column is the label."""
    y = np.tile(np.arange(19) % 5, 2)
    X = np.column_stack([np.random.default_rng(0).normal(size=38), y])
    return X, y, np.repeat([1, 2], 19)


def told(ranker, X, y, qid=None, **arguments):
    """What the fit says of its scores; an empty text for nothing."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ranker.fit(X, y, qid=qid, **arguments)
    assert {warning.filename for warning in caught} <= {__file__}
    found = [str(w.message) for w in caught if w.category is ConstantScoresWarning]
    assert len(found) <= 1
    return "".join(found)


@pytest.mark.parametrize(
    ("key", "params", "cause"),
    [
        ("lambdamart", {"min_samples_leaf": 20}, "no split leaves min_samples_leaf=20 rows on both "
         "sides. With min_samples_leaf=1 the scores differ. Set a smaller value, or add rows."),
        ("lambdamart", {"min_samples_leaf": 1, "min_hessian_leaf": 1e3}, "min_hessian_leaf=1000"),
        ("lambdamart", {"min_samples_leaf": 1, "min_split_gain": 1e6}, "gains more than min_split"),
        ("lambdamart", {"min_samples_leaf": 1, "reg_alpha": 1e6}, "reg_alpha=1000000.0 leaves"),
        ("lambdamart", {"min_samples_leaf": 20, "reg_alpha": 1e6}, "same score: "
         "min_samples_leaf=20, reg_alpha=1000000.0 together leave nothing to learn."),
        ("lightgbm", {"min_child_samples": 20}, "no split leaves min_child_samples=20 rows"),
        ("xgboost", {"min_child_weight": 1e5}, "second derivatives of min_child_weight=1"),
        ("mc_rank", {}, r"HistGradientBoostingClassifier(min_samples_leaf=1) the scores differ"),
        ("ranking_tree", {"min_samples_leaf": 20}, "no split leaves min_samples_leaf=20 rows"),
        ("ranking_tree", {"min_samples_split": 40}, "min_samples_split=40 leaves nothing"),
        ("ranking_tree", {"ccp_alpha": 1e3}, "ccp_alpha=1000.0 leaves nothing"),
        ("ranking_forest", {"min_samples_leaf": 20}, "no split leaves min_samples_leaf=20 rows"),
    ],
)  # fmt: skip
def test_names_the_limit(key, params, cause):
    X, y, qid = few_rows()
    message = told(small(key, **params), X, y, qid)
    assert cause in message
    assert message.startswith(f"{load_class(key).__name__} gives all 38 training rows the same ")


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, sparse.csr_array])
@pytest.mark.parametrize("ranker", [LambdaMART(), RidgeRanker(), RankingTree()], ids=str)
def test_columns_of_one_value(form, ranker):
    _, y, qid = few_rows()
    assert "no column of X varies. Add features" in told(ranker, form(np.ones((38, 2))), y, qid)


def test_labels_of_equal_gain():
    X, y, qid = few_rows()
    ranker = LambdaMART(min_samples_leaf=1, measure="RR(rel=9)")
    assert "objective='lambdarank'" in told(ranker, X, y, qid)


def test_columns_that_tell_nothing():
    X, y = np.repeat([[0.0], [1.0]], 4, axis=0), np.tile([0, 1], 4)
    assert "no column of X tells rows of different labels" in told(RankingTree(), X, y)


@pytest.mark.parametrize("key", ["lambdamart", "mc_rank", "ridge", "ranking_tree", "rank_svm"])
def test_models_that_rank_say_nothing(key):
    X, y, qid = few_rows()
    X, y, qid = np.tile(X, (3, 1)), np.tile(y, 3), np.tile(qid, 3)
    assert told(small(key), X, y, qid) == ""


def test_a_single_row_is_no_fault():
    X, y, qid = few_rows()
    assert told(RidgeRanker(), X[:1], y[:1], qid[:1]) == ""
    weight = (np.arange(len(y)) == 3).astype(float)  # rows of weight 0 are not there
    assert told(RidgeRanker(), X, y, qid, sample_weight=weight) == ""


@pytest.mark.parametrize("objective", ["xendcg", "logistic"])
@pytest.mark.parametrize("weight", [1e-3, 1e-9])
def test_names_small_weights(objective, weight):
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(80, 3)), rng.integers(0, 3, 80), np.repeat(np.arange(8), 10)
    weights = weight * rng.integers(1, 3, 80)
    ranker = LambdaMART(3, objective=objective, random_state=0)
    said = told(ranker, X, y, qid, sample_weight=weights)
    assert "the weights are too small for its penalties and limits, their mean is" in said
    assert "Pass sample_weight / sample_weight.mean()." in said
    assert told(ranker, X, y, qid, sample_weight=weights / weights.mean()) == ""


def test_small_weights_are_no_cause_if_no_column_tells_anything():
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]] * 9), np.array([0, 1] * 18)
    ranker = LambdaMART(3, objective="logistic", min_samples_leaf=1)
    said = told(ranker, X, y, np.zeros(36), sample_weight=np.full(36, 1e-3))
    assert said and "weights" not in said


def test_members_of_an_ensemble_say_nothing():
    X, y, qid = few_rows()
    members = [("trees", LambdaMART()), ("ridge", RidgeRanker())]
    assert told(StackingRanker(members, RidgeRanker(), cv=2), X, y, qid) == ""


def test_a_model_of_few_equal_scores_looks_at_all_rows():
    X = np.zeros((500, 1))
    X[1] = 1.0
    assert told(RidgeRanker(), X, X[:, 0], np.zeros(500)) == ""


def test_leaderboard_names_them():
    X, y, qid = few_rows()
    data = rankwise.RankingData(np.tile(X, (2, 1)), np.tile(y, 2), qid=np.r_[qid, qid + 2])
    board = rankwise.compare([LambdaMART(min_samples_leaf=40), McRank()], data, cv=2, n_jobs=1)
    notes = [note for cell in board.cells for note in cell.notes]
    assert any("LambdaMART gives all 38 training rows the same score" in note for note in notes)


@pytest.mark.parametrize("key", ["linear_regression", "ridge", "elmrank", "svr", "mc_rank"])
def test_labels_that_are_all_equal(key):
    X, y, qid = few_rows()
    message = told(small(key), X, np.full(len(y), 2.0), qid)
    assert message.endswith(
        "gives all 38 training rows the same score: all their labels are 2.0, so there is nothing "
        "to learn. Check that y was read from the right column."
    )
    if accepts(key, "sample_weight"):
        weight = (y > 3).astype(float)  # rows of weight 0 are not there
        assert "all their labels are 4" in told(small(key), X, y, qid, sample_weight=weight)
