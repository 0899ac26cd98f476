"""Students of people and of a model, against fits by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rankwise import RankingData, RidgeRanker, evaluate
from rankwise.datasets import Run
from rankwise.decisions import label_budget
from rankwise.selection import evaluate_systems

RNG = np.random.default_rng(0)
N_QUERIES, SIZE = 60, 10
X = RNG.normal(size=(N_QUERIES * SIZE, 3))
GRADES = (X.sum(axis=1) + RNG.normal(size=len(X)) > 1.5).astype(float)
QID = np.arange(len(X)) // SIZE
TEACHER = X.sum(axis=1)
DATA = RankingData(X, GRADES, qid=QID)


def test_a_good_teacher_is_worth_more_than_people():
    found = label_budget(X[:, 0], TEACHER, DATA, sizes=[5, 20, 40], cv=3)
    assert found.queries.tolist() == [5, 20, 40]
    order = np.random.RandomState(0).permutation(N_QUERIES)
    scores = np.empty(len(X))
    for test in np.array_split(order, 3):
        rows = np.isin(QID, order[~np.isin(order, test)][:40])
        ranker = RidgeRanker(alpha="cv", measure="Misranking")
        ranker.fit(X[rows], TEACHER[rows], qid=QID[rows])
        rows = np.isin(QID, test)
        scores[rows] = ranker.predict(X[rows])
    expected = evaluate(GRADES, scores, QID, "nDCG@10")["nDCG@10"]
    assert found.labeled[-1] == pytest.approx(expected)
    first = evaluate(GRADES, X[:, 0], QID, "nDCG@10")["nDCG@10"]
    assert found.first == pytest.approx(first)
    assert found.gain == pytest.approx(expected - first) and found.gain_low > 0
    assert "beats the first stage" in str(found)
    inside = np.isfinite(found.equal)
    assert ((found.equal[inside] >= 5) & (found.equal[inside] <= 40)).all()


def test_a_useless_teacher():
    noise = np.random.default_rng(1).normal(size=len(X))
    found = label_budget(TEACHER, noise, DATA, sizes=[10, 40], cv=3)
    assert math.isnan(found.equal[-1]) and "fewer than 10 judged ones" in found.advice[0]
    assert "does not beat the first stage" in found.advice[1]


def test_labels_are_no_features():
    rows = RankingData(np.column_stack([X[:, 0], TEACHER]), GRADES, qid=QID)
    without = RankingData(X[:, :1], GRADES, qid=QID)
    words = {"sizes": [20], "cv": 3}
    found = label_budget("column:1", "column:2", rows, **words)
    assert found.labeled[0] == label_budget(X[:, 0], TEACHER, without, **words).labeled[0]
    missing = np.where(RNG.random(len(X)) < 0.3, np.nan, TEACHER)
    assert np.isfinite(label_budget(X[:, 0], missing, DATA, **words).labeled[0])


def test_a_sample_of_queries_has_labels():
    """Others are test queries only."""
    found = label_budget(X[:, 0], np.where(QID < 12, TEACHER, np.nan), DATA, cv=4)
    whole = label_budget(X[:, 0], TEACHER, DATA, cv=4)
    assert found.queries.tolist() == [5, 9] and whole.queries.tolist() == [5, 10, 20, 40, 45]
    assert (found.n_queries, found.first) == (whole.n_queries, whole.first)
    assert np.isfinite(found.labeled).all() and found.gain_low > 0


def test_a_run_need_not_have_all_documents():
    data = RankingData(X, GRADES, qid=QID, doc_ids=np.arange(len(X)).astype(str))
    kept = np.flatnonzero(np.arange(len(X)) % 4)
    run = Run.from_data(data.take(kept), X[kept, 0])
    found = label_budget(run, TEACHER, data, sizes=[20], cv=3)
    expected = evaluate_systems(data, {"run": run}).per_query()["run"]
    assert found.first == pytest.approx(np.nanmean(expected))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"sizes": [60]}, "sizes must lie between 1 and 48, got"),
        ({"sizes": [0.5]}, "sizes must be a whole number >= 1"),
        ({"sizes": 60}, "sizes must lie between 1 and 48, got"),
        ({"cv": 1}, "cv must be a whole number >= 2, got 1"),
        ({"cv": "a"}, "cv must be a whole number >= 2, got 'a'"),
        ({"cv": 61}, "reranked must label at least cv=61 judged queries, got 60"),
        ({"reranked": np.where(QID < 3, TEACHER, np.nan)}, "at least cv=5 judged queries, got 3"),
        ({"reranked": np.full(len(X), np.nan)}, "at least cv=5 judged queries, got 0"),
        ({"reranked": TEACHER[:5]}, "reranked must have one score per row of 600, got 5"),
        ({"data": RankingData(X[:, :0], GRADES, qid=QID)}, "must be judged rows with features"),
        ({"data": RankingData(TEACHER[:, None], GRADES, qid=QID)}, "must have more features"),
        ({"data": {"q": {"d": 1}}}, "data must be judged rows"),
    ],
)
def test_wrong_arguments(change, problem):
    given = {"first": X[:, 0], "reranked": TEACHER, "data": DATA} | change
    with pytest.raises(ValueError, match=problem):
        label_budget(**given)
