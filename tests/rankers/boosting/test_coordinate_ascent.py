"""Coordinate ascent: the measure never falls, sweeps are those of loops, starts and validation."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import CoordinateAscent, evaluate
from rankwise.groups import FitData, QueryGroups
from rankwise.metrics import parse
from rankwise.solvers.boosting.measure_search import CoordinateSearch, MeasuredRows
from tests.oracles import ragged_groups
from tests.oracles_metrics import ndcg


@pytest.fixture
def judged(rng):
    """Continuous features, one of them constant."""
    y, qid, _ = ragged_groups(rng, n_queries=25, most=12, grades=4)
    X = rng.normal(size=(len(y), 5)) + 0.4 * y[:, None] * [1, -1, 0.5, 0, 0]
    X[:, 3] = 2.0
    return X * [1, 10, 0.1, 1, 1], y, qid


@pytest.mark.parametrize("measure", ["nDCG@10", "AP", "ERR", "RR(rel=3)", "Misranking", "Tau"])
def test_measure_never_falls_and_is_that_of_the_scores(judged, measure):
    X, y, qid = judged
    fitted = CoordinateAscent(measure, tol=0.0, random_state=1).fit(X, y, qid=qid)
    sign = -1 if measure == "Misranking" else 1
    assert fitted.n_iter_ >= 1
    assert (sign * np.diff(fitted.measure_curve_) >= 0).all()
    assert sign * (fitted.measure_curve_[-1] - fitted.measure_curve_[0]) > 0
    found = evaluate(y, fitted.predict(X), qid, [measure])[measure]
    assert fitted.measure_curve_[-1] == pytest.approx(found)
    assert fitted.start_values_.shape == (3,)
    best = fitted.start_values_.min() if sign < 0 else fitted.start_values_.max()
    assert best == fitted.measure_curve_[-1]
    assert fitted.coef_[3] == 0


def naive_sweep(X, y, qid, weights, order):
    """One sweep with scores and the measure anew for every trial."""

    def value(w):
        f = X @ w
        values = [ndcg(y[qid == q], f[qid == q], k=10) for q in np.unique(qid)]
        return np.nanmean(values)

    weights, best = weights.copy(), value(weights)
    for j in order:
        steps = [s * 0.01 * 2**k * np.abs(weights).max() for k in range(10) for s in (1, -1)]
        steps = sorted([*steps, -weights[j]] if weights[j] else steps, key=abs)
        start, chosen = weights[j], 0.0
        for step in steps:
            weights[j] = start + step
            if value(weights) > best + 1e-12:
                best, chosen = value(weights), step
        weights[j] = start + chosen
    return weights / np.abs(weights).max(), best


def test_sweeps_are_those_of_loops(judged):
    X, y, qid = judged
    scaled = (X / np.where(X.std(0) > 0, X.std(0), 1))[:, [0, 1, 2, 4]]
    data = FitData(scaled, y, QueryGroups.from_qid(qid, len(y)), None)
    rows = MeasuredRows(data, parse("nDCG@10"))
    search = CoordinateSearch(rows, 0.0, 3)
    start = np.array([1.0, 0.3, -0.2, 0.0])
    rng = np.random.RandomState(5)
    found = list(search.run(start, np.random.RandomState(5)))
    weights = start
    for sweep in found[1:]:
        weights, value = naive_sweep(scaled, y, qid, weights, rng.permutation(4))
        assert sweep.value == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(sweep.weights, weights, rtol=1e-9)


def test_validation_rows_choose_start_and_sweep(judged, rng):
    X, y, qid = judged
    noise = rng.permutation(y)
    fitted = CoordinateAscent(n_restarts=4, tol=0.0, random_state=0)
    fitted.fit(X, noise, qid=qid, X_val=X, y_val=y, qid_val=qid)
    found = evaluate(y, fitted.predict(X), qid, ["nDCG@10"])["nDCG@10"]
    assert found == pytest.approx(fitted.start_values_.max())
    plain = CoordinateAscent(n_restarts=4, tol=0.0, random_state=0).fit(X, noise, qid=qid)
    assert found >= evaluate(y, plain.predict(X), qid, ["nDCG@10"])["nDCG@10"]


def test_seed_decides_the_draws(judged):
    X, y, qid = judged
    one, same, other = (
        CoordinateAscent(random_state=seed).fit(X, y, qid=qid).coef_ for seed in (0, 0, 1)
    )
    assert (one == same).all()
    assert (one != other).any()


def test_first_start_prefers_what_ranks_well(judged):
    X, y, qid = judged
    fitted = CoordinateAscent(n_restarts=0, max_iter=1, tol=1.0, random_state=0)
    fitted.fit(X, y, qid=qid)
    assert fitted.coef_[0] > 0 > fitted.coef_[1]


def test_refuses_measures_of_labels(judged):
    X, y, qid = judged
    with pytest.raises(ValueError, match="measure must be a measure of rankings"):
        CoordinateAscent("MAE").fit(X, y, qid=qid)


def test_nothing_to_learn():
    X = np.ones((4, 2))
    fitted = CoordinateAscent(random_state=0).fit(X, [0, 1, 2, 3])
    assert np.isfinite(fitted.predict(X)).all()
