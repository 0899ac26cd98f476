"""Maps from scores to probabilities, and the ranker that has one."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

import rankwise as rw
from rankwise.datasets import load_dataset
from rankwise.export import export_formats
from rankwise.groups import QueryGroups
from rankwise.rankers.calibration import (
    METHODS,
    ProbabilityMap,
    fit_logistic,
    fit_probability_map,
    list_features,
)


@pytest.fixture(scope="module")
def scored():
    """Scores with a known curve of probabilities, from repeated and distinct values."""
    rng = np.random.default_rng(3)
    s = np.round(rng.normal(100.0, 5.0, 2000), 1)
    return s, rng.random(2000) < expit((s - 103.0) / 2.0), rng.integers(1, 4, 2000).astype(float)


@pytest.fixture(scope="module")
def fold():
    return load_dataset("lambdarank", fold=1)


def fit_map(method, s, y, w=None):
    s, y = np.asarray(s, dtype=float), np.asarray(y, dtype=float)
    return fit_probability_map(method, s, y, np.ones(len(s)) if w is None else w)


def log_loss(y, p):
    return -np.mean(np.where(y, np.log(p), np.log(1 - p)))


# Maps ---------------------------------------------------------------------------------------------


def test_logistic_is_logistic_regression_on_platts_targets(scored):
    s, y, w = scored
    n1, n0 = w[y].sum(), w[~y].sum()
    high, low = (n1 + 1) / (n1 + 2), 1 / (n0 + 2)
    targets = np.where(y, high, low)
    twice = np.concatenate([s, s])[:, None] - 100.0
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(
        twice, np.repeat([1, 0], len(s)), np.concatenate([w * targets, w * (1 - targets)])
    )
    expected = model.predict_proba(np.array([90.0, 100.0, 110.0])[:, None] - 100.0)[:, 1]
    found = fit_map("logistic", s, y, w)
    np.testing.assert_allclose(found.transform([90.0, 100.0, 110.0]), expected, rtol=1e-5)


def test_beta_minimises_the_log_loss_of_kulls_family(scored):
    s, y, _ = scored
    first = fit_map("logistic", s, y).transform(s)
    n1, n0 = y.sum(), (~y).sum()
    t = np.where(y, (n1 + 1) / (n1 + 2), 1 / (n0 + 2))

    def loss(w):
        p = expit(w[0] * np.log(first) - w[1] * np.log1p(-first) + w[2])
        return -np.mean(t * np.log(p) + (1 - t) * np.log(1 - p))

    best = minimize(loss, [1.0, 1.0, 0.0], method="Nelder-Mead", options={"fatol": 1e-12})
    p = fit_map("beta", s, y).transform(s)
    assert abs(-np.mean(t * np.log(p) + (1 - t) * np.log(1 - p)) - best.fun) < 1e-8


def test_isotonic_pools_neighbours(scored):
    s, y, w = scored
    ends = [s.min(), s.max()]
    expected = IsotonicRegression().fit([*s, *ends], [*y.astype(float), 0.5, 0.5], [*w, 1.0, 1.0])
    found = fit_map("isotonic", s, y, w)
    np.testing.assert_allclose(found.transform(s), expected.predict(s), rtol=1e-12)
    by_hand = fit_map("isotonic", [1, 2, 3, 4], [0, 1, 0, 1]).transform([1, 2, 3, 4])
    np.testing.assert_allclose(by_hand, [0.5 / 2, 0.5, 0.5, 1.5 / 2])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("s", "y"),
    [
        ([1.0], [1]),
        ([1.0, 2.0, 3.0], [0, 0, 0]),
        ([1.0, 2.0, 3.0], [1, 1, 1]),
        ([1.0, 2.0, 3.0, 4.0], [0, 0, 1, 1]),
        ([1.0, 2.0, 3.0, 4.0], [1, 1, 0, 0]),
        ([7.0, 7.0, 7.0], [0, 1, 0]),
        ([-1e300, 1e300], [0, 1]),
    ],
)
def test_probabilities_ascend_and_are_never_certain(method, s, y):
    found = fit_map(method, s, y)
    p = found.transform([-np.inf, *s, np.inf])
    assert (p > 0).all() and (p < 1).all() and (np.diff(p) >= -1e-12).all()
    assert p[0] == p[1] and p[-1] == p[-2]  # clipped to the range of the fit


@pytest.mark.parametrize("method", METHODS)
def test_a_weight_counts_equal_rows_and_the_map_survives_json(method, scored):
    s, y, w = scored
    found = fit_map(method, s, y, w)
    times = w.astype(int)
    again = fit_map(method, np.repeat(s, times), np.repeat(y, times))
    np.testing.assert_allclose(found.transform(s), again.transform(s), rtol=1e-6)
    kept = json.loads(json.dumps([found.method, found.knots.tolist(), found.values.tolist()]))
    restored = ProbabilityMap(kept[0], np.array(kept[1]), np.array(kept[2]))
    np.testing.assert_array_equal(restored.transform(s), found.transform(s))


def test_slopes_that_must_ascend_stop_at_zero():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    y = (rng.random(500) < expit(X[:, 0] - 2 * X[:, 1])).astype(float)
    slopes, intercept = fit_logistic(X, y, np.ones(500), [True, True])
    alone, other = fit_logistic(X[:, :1], y, np.ones(500), [True])
    assert slopes[1] == 0.0
    np.testing.assert_allclose([slopes[0], intercept], [alone[0], other], rtol=1e-4)


def test_features_of_a_list_by_hand():
    groups = QueryGroups.from_qid([1, 2, 1, 1], 4)
    found = list_features(np.array([1.0, 5.0, 2.0, 3.0]), groups)
    z = np.sqrt(1.5)
    np.testing.assert_allclose(found[:, 0], [1, 5, 2, 3])
    np.testing.assert_allclose(found[:, 1], [-z, 0, 0, z])
    np.testing.assert_allclose(found[:, 2], np.log([3, 1, 3, 3]))


# The ranker ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("features", ["list", "score"])
def test_the_order_is_that_of_the_ranker_and_probabilities_follow_it(method, features, fold):
    base = rw.RankSVM(C=0.01)
    train, test = fold.train, fold.test
    model = rw.CalibratedRanker(base, method=method, features=features, cv=3)
    model.fit(train.X, train.y, qid=train.qid)
    alone = rw.RankSVM(C=0.01).fit(train.X, train.y, qid=train.qid)
    np.testing.assert_array_equal(model.predict(test.X), alone.predict(test.X))
    assert model.score(test.X, test.y, qid=test.qid) == alone.score(test.X, test.y, qid=test.qid)
    p = model.predict_relevance(test.X, qid=test.qid)
    for q in np.unique(test.qid):
        own = test.qid == q
        order = np.argsort(alone.predict(test.X[own]), kind="stable")
        assert (np.diff(p[own][order]) >= -1e-12).all()
    y = test.y >= 1
    share = np.mean(train.y >= 1)
    assert log_loss(y, p) < log_loss(y, np.full(len(y), share))


def test_the_map_is_fitted_to_scores_of_queries_left_out(fold):
    rows = fold.train
    folds = np.unique(rows.qid, return_inverse=True)[1] % 3
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(3)]
    model = rw.CalibratedRanker(rw.RidgeRanker(), features="score", method="logistic", cv=splits)
    model.fit(rows.X, rows.y, qid=rows.qid)
    s, y = [], []
    for train, test in splits:
        own = rw.RidgeRanker().fit(rows.X[train], rows.y[train], qid=rows.qid[train])
        s.append(own.predict(rows.X[test]))
        y.append(rows.y[test] >= 1)
    expected = fit_map("logistic", np.concatenate(s), np.concatenate(y))
    found = model.calibration_.map
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-9)


def test_it_saves_exports_and_takes_a_frozen_model(fold, tmp_path):
    train, vali, test = fold.train, fold.vali, fold.test
    booster = rw.LambdaMART(5).fit(train.X, train.y, qid=train.qid)
    model = rw.CalibratedRanker(FrozenEstimator(booster), method="isotonic")
    model.fit(vali.X, vali.y, qid=vali.qid)
    np.testing.assert_array_equal(model.predict(test.X), booster.predict(test.X))
    unfrozen = rw.CalibratedRanker(rw.LambdaMART(5), cv=2).fit(train.X, train.y, qid=train.qid)
    assert export_formats(unfrozen) == export_formats(booster)
    unfrozen.save(tmp_path / "model")
    loaded = rw.load(tmp_path / "model")
    np.testing.assert_array_equal(
        loaded.predict_relevance(test.X, qid=test.qid),
        unfrozen.predict_relevance(test.X, qid=test.qid),
    )


def test_rows_alone_need_no_list_and_one_threshold_is_set(fold):
    rows = fold.train
    model = rw.CalibratedRanker("ridge", features="score", cv=2, random_state=0)
    model.fit(rows.X, rows.y, qid=rows.qid)
    all_rows = model.predict_relevance(rows.X, qid=rows.qid)
    np.testing.assert_allclose(model.predict_relevance(rows.X[7:8]), all_rows[7:8], rtol=1e-12)
    strict = rw.CalibratedRanker("ridge", features="score", rel=2, cv=2, random_state=0)
    strict.fit(rows.X, rows.y, qid=rows.qid)
    assert strict.predict_relevance(rows.X).mean() < all_rows.mean() - 0.1


def test_lists_without_queries_and_constant_labels_warn(fold):
    rows = fold.train
    model = rw.CalibratedRanker(rw.RidgeRanker(), cv=2).fit(rows.X, rows.y, qid=rows.qid)
    with pytest.warns(rw.exceptions.OneQueryWarning, match="predict_relevance"):
        model.predict_relevance(rows.X)
    model.set_params(rel=9.0).fit(rows.X, rows.y, qid=rows.qid)
    with pytest.warns(UserWarning, match="no row of fit had a grade of at least rel=9"):
        p = model.predict_relevance(rows.X, qid=rows.qid)
    assert (p < 0.01).all()


def test_a_row_of_weight_two_is_two_rows_of_its_list():
    rng = np.random.default_rng(2)
    X, qid = np.round(rng.normal(size=(90, 2)), 1), np.arange(90) % 9
    y = np.clip(np.round(X[:, 0] + rng.normal(size=90)), 0, 2)
    weight = rng.integers(1, 4, 90)
    model = rw.CalibratedRanker(rw.RidgeRanker(), cv=3)
    once = model.fit(X, y, qid=qid, sample_weight=weight).calibration_
    rows = np.repeat(np.arange(90), weight)
    again = model.fit(X[rows], y[rows], qid=qid[rows]).calibration_
    np.testing.assert_allclose(once.weights, again.weights, rtol=1e-5)
    np.testing.assert_allclose(once.map.values, again.map.values, rtol=1e-4)


def test_true_probabilities_are_found():
    """Rows drawn from a model of scores: the held-out error is close to that of the truth."""
    rng = np.random.default_rng(1)
    X, qid = rng.normal(size=(6000, 2)), np.arange(6000) // 20
    truth = expit(2.0 * X[:, 0] - 2.0)
    y = (rng.random(6000) < truth).astype(float)
    model = rw.CalibratedRanker(rw.RidgeRanker()).fit(X[:3000], y[:3000], qid=qid[:3000])
    p = model.predict_relevance(X[3000:], qid=qid[3000:])
    assert np.abs(logit(p) - logit(truth[3000:])).mean() < 0.25
