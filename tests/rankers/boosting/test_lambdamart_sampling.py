"""LambdaMART: GOSS, DART, and the bias of positions."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest

from rankwise import LambdaMART, LightGBMRanker, evaluate, load
from rankwise.solvers.boosting.tree_boosting import GradientSampling
from tests.oracles import ragged_groups

GOSS = {"sampling": "goss", "top_rate": 0.3, "other_rate": 0.2, "learning_rate": 0.5}
DART = {"drop_rate": 0.3, "skip_drop": 0.2}


@pytest.fixture
def judged(rng):
    y, qid, _ = ragged_groups(rng, n_queries=60, most=25, grades=4)
    X = rng.normal(size=(len(y), 6)).round(1) + 0.6 * y[:, None] * [1, -1, 0.5, 0, 0, 0]
    return X, y.astype(float), qid


def part(judged):
    """Fit arguments of two thirds of the queries, and the rest as validation rows."""
    X, y, qid = judged
    val = np.isin(qid, np.unique(qid)[:20])
    rows = {"qid": qid[~val], "X_val": X[val], "y_val": y[val], "qid_val": qid[val]}
    return (X[~val], y[~val]), rows, (X[val], y[val], qid[val])


def ndcg(y, scores, qid):
    return evaluate(y, scores, qid, ["nDCG@10"])["nDCG@10"]


@pytest.mark.parametrize("settings", [GOSS, DART, GOSS | DART])
def test_same_bits_for_any_threads_order_and_repetition(settings, judged, rng, monkeypatch):
    X, y, qid = judged
    weight = rng.integers(0, 4, len(y))
    rows = rng.permutation(np.repeat(np.arange(len(y)), weight))
    ranker = LambdaMART(15, random_state=3, n_jobs=1, **settings)
    ranker.fit(X, y, qid=qid, sample_weight=weight)
    monkeypatch.setattr("rankwise.trees.boosted.growing_tree.SMALL", 1)
    monkeypatch.setattr("rankwise.losses.gradient_loss.CHUNK_ROWS", 50)
    repeated = LambdaMART(15, random_state=3, n_jobs=3, **settings)
    repeated.fit(X[rows], y[rows], qid=qid[rows])
    np.testing.assert_array_equal(repeated.predict(X), ranker.predict(X))
    other = LambdaMART(15, random_state=4, **settings).fit(X, y, qid=qid, sample_weight=weight)
    assert (other.predict(X) != ranker.predict(X)).any()


@pytest.mark.parametrize("settings", [GOSS, DART])
def test_learns_about_as_well(settings, judged):
    X, y, qid = judged
    plain = LambdaMART(30, min_samples_leaf=5).fit(X, y, qid=qid).predict(X)
    ranker = LambdaMART(30, min_samples_leaf=5, random_state=0, **settings).fit(X, y, qid=qid)
    assert ndcg(y, ranker.predict(X), qid) > ndcg(y, plain, qid) - 0.02


def test_goss_takes_large_gradients_and_scales_up_the_others(rng):
    gradients = np.round(rng.normal(size=1000), 1)
    hessians, before = np.ones(1000), gradients.copy()
    sampling, indptr = GradientSampling(0.1, 0.2), np.array([0, 1000])
    follows = sampling.draw_and_rescale(rng, indptr, gradients, hessians)
    top = np.argsort(-np.abs(before), kind="stable")[:100]
    assert follows[top].all() and follows.sum() == 300
    np.testing.assert_array_equal(gradients[top], before[top])
    others = follows.copy()
    others[top] = False
    np.testing.assert_allclose(gradients[others], before[others] * 900 / 200)
    np.testing.assert_allclose(hessians[others], 4.5)
    assert hessians[others].sum() + 100 == pytest.approx(1000)


def test_goss_begins_after_some_trees(judged):
    X, y, qid = judged
    trees = LambdaMART(4, random_state=0, **GOSS).fit(X, y, qid=qid).trees_
    covers = trees.cover[trees.indptr[:-1]]
    n = round(0.3 * len(y)) + round(0.2 * len(y))
    assert covers.tolist() == [len(y), len(y), n, n]


def test_dropped_trees_and_the_new_one_share_their_part(judged):
    """Where every tree is dropped, all are the tree of a single round, and have equal parts."""
    X, y, qid = judged
    settings = {"drop_rate": 1.0, "skip_drop": 0.0, "learning_rate": 1.0}
    one = LambdaMART(1, learning_rate=1.0).fit(X, y, qid=qid)
    ranker = LambdaMART(4, **settings).fit(X, y, qid=qid)
    stages = list(ranker.staged_predict(X))
    np.testing.assert_allclose(4 * stages[0], one.predict(X), rtol=1e-12)
    np.testing.assert_allclose(stages[3], one.predict(X), rtol=1e-12)


def test_scores_in_training_are_those_of_the_model(judged):
    """What early stopping measures after each tree is what a shorter fit predicts."""
    fit, rows, (X, y, qid) = part(judged)
    ranker = LambdaMART(12, random_state=0, **DART).fit(*fit, **rows)
    for n in (3, 8, 12):
        shorter = LambdaMART(n, random_state=0, **DART).fit(*fit, qid=rows["qid"])
        assert ndcg(y, shorter.predict(X), qid) == pytest.approx(ranker.validation_scores_[n - 1])


def test_dropout_stops_early_with_the_trees_of_the_best(judged):
    fit, rows, (X, y, qid) = part(judged)
    settings = {"random_state": 0, "min_samples_leaf": 5, "learning_rate": 0.3, **DART}
    ranker = LambdaMART(200, early_stopping_rounds=4, **settings).fit(*fit, **rows)
    best = int(np.argmax(ranker.validation_scores_)) + 1
    assert ranker.n_estimators_ == ranker.best_iteration_ == best < 196
    shorter = LambdaMART(best, **settings).fit(*fit, qid=rows["qid"])
    np.testing.assert_array_equal(ranker.predict(X), shorter.predict(X))
    assert ndcg(y, ranker.predict(X), qid) == pytest.approx(ranker.validation_scores_.max())


def test_warm_start_with_dropout(judged):
    X, y, qid = judged
    whole = LambdaMART(12, random_state=3, **DART).fit(X, y, qid=qid)
    ranker = LambdaMART(5, random_state=3, warm_start=True, **DART).fit(X, y, qid=qid)
    ranker.set_params(n_estimators=12).fit(X, y, qid=qid)
    np.testing.assert_allclose(ranker.predict(X), whole.predict(X), atol=1e-9)


def test_rates_that_exceed_one_are_named(judged):
    X, y, qid = judged
    with pytest.raises(ValueError, match=r"top_rate \+ other_rate must be at most 1, got 0.7"):
        LambdaMART(sampling="goss", top_rate=0.7, other_rate=0.4).fit(X, y, qid=qid)


# Positions ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def clicks():
    """Clicks on lists of ten, shown by a ranker that likes the third feature without reason.

    Each place costs 0.4.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 3)).round(1)
    relevance = X[:, 0] + 0.5 * X[:, 1]
    shown = (0.5 * relevance + X[:, 2] + 0.5 * rng.normal(size=6000)).reshape(600, 10)
    place = np.argsort(np.argsort(-shown, axis=1), axis=1).ravel()
    y = (rng.random(6000) < 1 / (1 + np.exp(0.3 + 0.4 * place - 1.5 * relevance))).astype(int)
    return X, y, np.repeat(np.arange(600), 10), place, relevance


@pytest.mark.parametrize("penalty", [0.0, 0.3])
def test_biases_and_scores_are_those_of_lightgbm(penalty, clicks, monkeypatch):
    X, y, qid, place = (values[:2000] for values in clicks[:4])
    said = []
    log = SimpleNamespace(info=said.append, warning=said.append)
    monkeypatch.setattr("lightgbm.basic._LOGGER", log)
    exact = {
        "min_data_in_bin": 1, "feature_pre_filter": False, "verbosity": 2,
        "lambdarank_position_bias_regularization": penalty,
    }  # fmt: skip
    theirs = LightGBMRanker(
        10, num_leaves=8, min_child_samples=0, min_child_weight=1.0, reg_lambda=1.0,
        params=exact, random_state=0,
    ).fit(X, y, qid=qid, position=place)  # fmt: skip
    ours = LambdaMART(
        10, max_leaf_nodes=8, measure="nDCG", min_samples_leaf=1, min_hessian_leaf=1.0,
        reg_lambda=1.0, position_bias_regularization=penalty,
    ).fit(X, y, qid=qid, position=place)  # fmt: skip
    apart = np.abs(ours.predict(X) - theirs.predict(X)) > 1e-3
    assert apart.mean() < 0.001  # a row between two thresholds of equal gain
    pairs = [re.fullmatch(r".*Debug\]\s+(\d+)\s+(-?[\d.e-]+)\s*", str(line)) for line in said]
    found = {int(pair[1]): float(pair[2]) for pair in pairs if pair}  # the last of each
    np.testing.assert_array_equal(ours.positions_, np.arange(10))
    np.testing.assert_allclose(ours.position_bias_, [found[p] for p in range(10)], atol=1e-3)


def test_recovers_the_bias_of_clicks(clicks):
    """Under the loss that the clicks were drawn from, but for a constant."""
    X, y, qid, place, relevance = clicks
    ranker = LambdaMART(60, objective="logistic", max_leaf_nodes=8, learning_rate=0.2)
    slope = np.polyfit(range(10), ranker.fit(X, y, qid=qid, position=place).position_bias_, 1)[0]
    assert slope == pytest.approx(-0.4, abs=0.06)
    fair = np.corrcoef(ranker.predict(X), [relevance, X[:, 2]])[0, 1:]
    misled = np.corrcoef(ranker.fit(X, y, qid=qid).predict(X), [relevance, X[:, 2]])[0, 1:]
    assert fair[0] > misled[0] + 0.02
    assert abs(fair[1]) < 0.1 < 0.2 < misled[1]


def test_positions_of_no_bias_have_none(rng):
    X = rng.normal(size=(3000, 2))
    y = (rng.random(3000) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(int)
    qid, place = np.repeat(np.arange(300), 10), np.tile(np.arange(10), 300)
    ranker = LambdaMART(30, objective="logistic").fit(X, y, qid=qid, position=place)
    assert np.abs(ranker.position_bias_).max() < 0.25


def test_positions_tell_rows_apart_and_survive(clicks, tmp_path, rng):
    X, y, qid, place = (values[:1000] for values in clicks[:4])
    weight = rng.integers(0, 3, 1000)
    rows = rng.permutation(np.repeat(np.arange(1000), weight))
    ranker = LambdaMART(8).fit(X, y, qid=qid, position=place, sample_weight=weight)
    scores, biases = ranker.predict(X), ranker.position_bias_
    ranker.fit(X[rows], y[rows], qid=qid[rows], position=place[rows])
    np.testing.assert_array_equal(ranker.predict(X), scores)
    np.testing.assert_array_equal(ranker.position_bias_, biases)
    ranker.save(tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.position_bias_, biases)
    grown = LambdaMART(3, warm_start=True).fit(
        X[rows], y[rows], qid=qid[rows], position=place[rows]
    )
    grown.set_params(n_estimators=8).fit(X[rows], y[rows], qid=qid[rows], position=place[rows])
    np.testing.assert_allclose(grown.position_bias_, biases, atol=1e-9)


def test_a_fit_forgets_what_only_the_last_one_had(judged):
    X, y, qid = judged
    ranker = LambdaMART(2).fit(X, y, qid=qid, position=qid % 3, X_val=X, y_val=y, qid_val=qid)
    assert len(ranker.positions_) == 3 and len(ranker.validation_scores_) == 2
    ranker.fit(X, y, qid=qid)
    for name in ("positions_", "position_bias_", "validation_scores_"):
        assert not hasattr(ranker, name)


def test_wrong_positions_are_named(judged):
    X, y, qid = judged
    with pytest.raises(ValueError, match="position must have n_samples="):
        LambdaMART().fit(X, y, qid=qid, position=[1, 2])
    for value, shown in [(-1, "-1.0"), (4.5, "4.5"), (np.nan, "nan"), (np.inf, "inf")]:
        wrong = np.where(np.arange(len(y)) == 3, value, 1.0)
        message = f"position must hold integers >= 0, .*, got {shown} at row 3\\."
        with pytest.raises(ValueError, match=message):
            LambdaMART().fit(X, y, qid=qid, position=wrong)
    with pytest.raises(ValueError, match="got '1' at row 0"):
        LambdaMART().fit(X, y, qid=qid, position=["1"] * len(y))
