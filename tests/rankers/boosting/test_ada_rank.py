"""AdaRank against loops, measures that it takes, selected features, stopping."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import AdaRank, evaluate
from rankwise.metrics import parse
from rankwise.solvers.boosting.measure_search import LabelScale
from tests.oracles import ragged_groups
from tests.oracles_metrics import average_precision, err, ndcg


@pytest.fixture
def judged(rng):
    """Continuous features, without ties; a query of one row and one without relevant rows."""
    y, qid, _ = ragged_groups(rng, n_queries=30, most=12, grades=4)
    X = rng.normal(size=(len(y), 6)) + 0.4 * y[:, None] * [1, -1, 0.7, 0, 0, 0.5]
    return X * [1, 10, 0.1, 1, 1, 1], y, qid


MEASURES = {
    "nDCG@10": lambda y, f: ndcg(y, f, k=10),
    "AP": average_precision,
    "ERR(max_grade=3)": lambda y, f: err(y, f, max_grade=3, empty=0),
}


def naive_adarank(X, y, qid, value, tol=1e-4):
    """Every weak ranker in every round, query by query."""
    queries = [
        q for q in np.unique(qid) if not np.isnan(value(y[qid == q], np.zeros(sum(qid == q))))
    ]

    def E(scores):
        return np.array([value(y[qid == q], scores[qid == q]) for q in queries])

    weak = [(j, s, s * X[:, j] / X[:, j].std()) for j in range(X.shape[1]) for s in (1, -1)]
    own = [E(h) for _, _, h in weak]
    P, f, best, rounds = np.full(len(queries), 1 / len(queries)), np.zeros(len(y)), -np.inf, []
    while True:
        for number in np.argsort([-(P @ e) for e in own], kind="stable"):
            j, sign, h = weak[number]
            alpha = 0.5 * np.log((P @ (1 + own[number])) / (P @ (1 - own[number])))
            values = E(f + alpha * h)
            if values.mean() > best + tol:
                break
        else:
            return rounds, f
        f, best = f + alpha * h, values.mean()
        P = np.exp(-values) / np.exp(-values).sum()
        rounds.append((j, sign * alpha / X[:, j].std(), best))


@pytest.mark.parametrize("measure", MEASURES)
def test_rounds_are_those_of_loops(judged, measure):
    X, y, qid = judged
    fitted = AdaRank(measure).fit(X, y, qid=qid)
    rounds, f = naive_adarank(X, y, qid, MEASURES[measure])
    assert len(rounds) == fitted.n_estimators_ > 1
    assert fitted.features_.tolist() == [j for j, _, _ in rounds]
    np.testing.assert_allclose(fitted.steps_, [coef for _, coef, _ in rounds], rtol=1e-9)
    np.testing.assert_allclose(fitted.measure_curve_, [v for _, _, v in rounds], rtol=1e-12)
    np.testing.assert_allclose(fitted.predict(X), f, rtol=1e-9)


@pytest.mark.parametrize("measure", ["nDCG@10", "AP", "ERR", "RR", "P@5", "Misranking"])
def test_measure_rises_to_that_of_the_scores(judged, measure):
    X, y, qid = judged
    fitted = AdaRank(measure, tol=0.0).fit(X, y, qid=qid)
    sign = -1 if measure == "Misranking" else 1
    assert (sign * np.diff(fitted.measure_curve_) > 0).all()
    found = evaluate(y, fitted.predict(X), qid, [measure])[measure]
    assert fitted.measure_curve_[-1] == pytest.approx(found)


@pytest.mark.parametrize("measure", ["DCG", "Tau", "MSD"])
def test_measures_beyond_one_are_refused(judged, measure):
    X, y, qid = judged
    with pytest.raises(ValueError, match="measure must lie between 0 and 1 on every query"):
        AdaRank(measure).fit(X * 100, y, qid=qid)
    with pytest.raises(ValueError, match="measure must be a measure of rankings"):
        AdaRank("MAE").fit(X, y, qid=qid)


def test_selected_features(judged):
    X, y, qid = judged
    whole = AdaRank(tol=0.0).fit(X, y, qid=qid)
    in_model = list(dict.fromkeys(whole.features_.tolist()))
    assert whole.selected_features_.tolist() == in_model
    assert set(np.flatnonzero(whole.coef_)) == set(in_model)
    for k in range(1, 8):
        few = AdaRank(n_features_to_select=k, tol=0.0).fit(X, y, qid=qid)
        selected = few.selected_features_.tolist()
        assert len(selected) == len(set(selected)) == min(k, 6)
        assert selected[: len(in_model)] == in_model[:k]
        assert len(np.unique(few.features_)) == min(k, len(in_model))
    first = AdaRank(n_features_to_select=2).fit(X, y, qid=qid).selected_features_
    assert set(first) < {0, 1, 2, 5}


def test_constant_features_are_never_taken(judged):
    X, y, qid = judged
    X[:, 1] = 7.0
    fitted = AdaRank(tol=0.0, n_features_to_select=6).fit(X, y, qid=qid)
    assert fitted.coef_[1] == 0
    assert fitted.selected_features_[-1] == 1


def test_perfect_feature_has_a_finite_step(rng):
    X = rng.normal(size=(30, 2))
    fitted = AdaRank().fit(X, np.argsort(np.argsort(X[:, 1])) // 10)
    assert fitted.selected_features_.tolist() == [1]
    assert 10 < fitted.steps_[0] * X[:, 1].std() < 20
    assert fitted.measure_curve_.tolist() == [1.0]


def test_unit_of_a_feature_does_not_matter(judged):
    X, y, qid = judged
    scaled = AdaRank().fit(X * 1024.0, y, qid=qid)
    expected = AdaRank().fit(X, y, qid=qid).predict(X)
    np.testing.assert_allclose(scaled.predict(X * 1024.0), expected, rtol=1e-12)


def test_early_stopping_keeps_the_best_round(judged, rng):
    X, y, qid = judged
    noise = rng.permutation(y)
    fitted = AdaRank(early_stopping_rounds=2, tol=0.0)
    fitted.fit(X, noise, qid=qid, X_val=X, y_val=y, qid_val=qid)
    best = 1 + int(np.argmax(fitted.validation_scores_))
    assert fitted.n_estimators_ == best
    assert len(fitted.validation_scores_) <= best + 2
    found = evaluate(y, fitted.predict(X), qid, ["nDCG@10"])["nDCG@10"]
    assert found == pytest.approx(fitted.validation_scores_[best - 1])


def test_labels_that_are_no_grades_are_spread():
    ndcg = parse("nDCG@10")
    grades = np.array([0.0, 1, 5])
    assert LabelScale.of(grades, ndcg)(grades) is grades
    scale = LabelScale.of(np.array([-1.0, 3.0]), ndcg)
    assert scale(np.array([-2.0, -1, 0, 3, 9])).tolist() == [0, 0, 1, 4, 4]
    assert LabelScale.of(np.array([-1.5, -1.5]), ndcg)(np.array([7.0])).tolist() == [0]
    assert LabelScale.of(np.array([-1e308, 1e308]), ndcg)(np.array([0.0])).tolist() == [2]
    assert LabelScale.of(np.array([-1.0]), parse("Misranking"))(grades) is grades


def test_ties_are_ranked_by_content_not_by_grade_or_place(rng):
    """A feature of two values, in a file that is sorted by grade."""
    n = 4000
    y, qid = np.sort(rng.integers(0, 2, n))[::-1].astype(float), np.arange(n) % 40
    X = np.column_stack([rng.integers(0, 2, n), rng.normal(size=n)])
    fitted = AdaRank(n_estimators=1).fit(X, y, qid=qid)
    assert fitted.measure_curve_[0] < 0.65  # of random rankings; by place it is 1
