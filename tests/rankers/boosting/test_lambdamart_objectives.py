"""LambdaMART: its objectives, measures on validation rows, and importances."""

from __future__ import annotations

import numpy as np
import pytest
from rankwise.losses.measure_changes import weigh_neighbours

from rankwise import LambdaMART, LightGBMRanker, evaluate, load, save
from tests.oracles import ragged_groups

# Defaults of LightGBM, under which training rows are fitted closely.
UNPENALISED = {"max_leaf_nodes": 31, "reg_lambda": 0.0}
OBJECTIVES = ["lambdarank", "yetirank", "xendcg", "logistic", "squared"]


@pytest.fixture
def judged(rng):
    y, qid, _ = ragged_groups(rng, n_queries=60, most=25, grades=4)
    X = rng.normal(size=(len(y), 6)).round(1) + 0.6 * y[:, None] * [1, -1, 0.5, 0, 0, 0]
    return X, y.astype(float), qid


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_learns(objective, judged):
    X, y, qid = judged
    ranker = LambdaMART(30, objective=objective, min_samples_leaf=5, random_state=0, **UNPENALISED)
    before, after = (
        evaluate(y, f, qid, ["nDCG"])["nDCG"] for f in (0 * y, ranker.fit(X, y, qid=qid).predict(X))
    )
    assert 1 - after < 0.25 * (1 - before)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_same_bits_for_any_threads_order_and_repetition(objective, judged, rng, monkeypatch):
    X, y, qid = judged
    weight = rng.integers(0, 4, len(y))
    rows = rng.permutation(np.repeat(np.arange(len(y)), weight))
    settings = {"objective": objective, "random_state": 3, "query_weight": "document"}
    ranker = LambdaMART(10, **settings, n_jobs=1).fit(X, y, qid=qid, sample_weight=weight)
    monkeypatch.setattr("rankwise.trees.boosted.growing_tree.SMALL", 1)
    monkeypatch.setattr("rankwise.losses.gradient_loss.CHUNK_ROWS", 50)
    repeated = LambdaMART(10, **settings, n_jobs=3).fit(X[rows], y[rows], qid=qid[rows])
    assert ranker.n_estimators_ == 10
    np.testing.assert_array_equal(repeated.predict(X), ranker.predict(X))


@pytest.mark.parametrize("objective", ["logistic", "squared", "xendcg"])
def test_losses_of_scores_take_any_weight(objective, judged):
    """Weights of 2 to 3 decimals; all multiplied by 4 they give the trees of the same splits."""
    X, y, qid = judged
    weight = np.random.default_rng(0).integers(1, 9, len(y)) / 4
    ranker = LambdaMART(
        5, objective=objective, min_samples_leaf=1, min_hessian_leaf=0, random_state=0, max_bins=9
    )
    parts = ranker.fit(X, y, qid=qid, sample_weight=weight).trees_
    whole = ranker.fit(X, y, qid=qid, sample_weight=4 * weight).trees_
    np.testing.assert_array_equal(whole.feature, parts.feature)
    np.testing.assert_allclose(whole.values, parts.values, atol=1e-6)


@pytest.mark.parametrize("objective", ["yetirank", "xendcg"])
def test_draws_follow_the_seed(objective, judged):
    X, y, qid = judged
    ranker = LambdaMART(3, objective=objective, random_state=0)
    first = ranker.fit(X, y, qid=qid).predict(X)
    np.testing.assert_array_equal(ranker.fit(X, y, qid=qid).predict(X), first)
    assert (ranker.set_params(random_state=1).fit(X, y, qid=qid).predict(X) != first).any()


def test_squared_pairs_reach_the_least_squares(rng):
    """With a leaf for every value: their means, but for a constant."""
    X = np.tile(np.arange(8.0), 6)[:, None]
    y, qid = rng.normal(size=48) + np.sin(X[:, 0]), np.repeat(np.arange(6), 8)
    ranker = LambdaMART(
        400, objective="squared", min_samples_leaf=1, min_hessian_leaf=0, learning_rate=0.5
    )
    scores = ranker.fit(X, y, qid=qid).predict(X[:8])
    means = y.reshape(6, 8).mean(axis=0)
    np.testing.assert_allclose(scores - scores.mean(), means - means.mean(), atol=1e-6)


def test_ranks_as_lightgbm_under_its_cross_entropy(judged):
    X, y, qid = judged
    ours = LambdaMART(40, objective="xendcg", random_state=0, **UNPENALISED)
    theirs = LightGBMRanker(40, objective="rank_xendcg", random_state=0)
    values = [
        evaluate(y, ranker.fit(X, y, qid=qid).predict(X), qid, ["nDCG@10"])["nDCG@10"]
        for ranker in (ours, theirs)
    ]
    assert values[0] > values[1] - 0.01


@pytest.mark.parametrize("spec", ["Tau", "nDCG@3", "misranking"])
def test_stops_on_any_measure(spec, judged):
    X, y, qid = judged
    val = np.isin(qid, np.unique(qid)[:20])
    ranker = LambdaMART(200, early_stopping_rounds=5, validation_measure=spec)
    ranker.fit(X[~val], y[~val], qid=qid[~val], X_val=X[val], y_val=y[val], qid_val=qid[val])
    values = ranker.validation_scores_
    best = np.argmin(values) if spec == "misranking" else np.argmax(values)
    assert ranker.best_iteration_ == ranker.n_estimators_ == best + 1 == len(values) - 5
    reached = evaluate(y[val], ranker.predict(X[val]), qid[val], [spec])[spec]
    np.testing.assert_allclose(reached, values[best])


def test_best_iteration_is_known_without_stopping(judged):
    X, y, qid = judged
    ranker = LambdaMART(30).fit(X, y, qid=qid, X_val=-X, y_val=y, qid_val=qid)
    assert ranker.best_iteration_ == 1 + np.argmax(ranker.validation_scores_)
    assert ranker.n_estimators_ == 30
    assert LambdaMART(7).fit(X, y, qid=qid).best_iteration_ == 7


def test_importances_by_gain_and_by_split(judged):
    X, y, qid = judged
    ranker = LambdaMART(20, min_samples_leaf=5).fit(X, y, qid=qid)
    gain = ranker.feature_importances_
    split = ranker.set_params(importance_type="split").feature_importances_
    used = ranker.trees_.feature[ranker.trees_.feature >= 0]
    np.testing.assert_allclose(split * len(used), np.bincount(used, minlength=6))
    assert gain.sum() == pytest.approx(1) and (gain[:3].min() > gain[3:].max())
    assert (gain != split).any()


def test_objectives_without_a_measure_take_any(judged):
    X, y, qid = judged
    ranker = LambdaMART(2, objective="logistic", measure="Tau")
    ranker.fit(X, y, qid=qid, X_val=X, y_val=y, qid_val=qid)
    tau = evaluate(y, ranker.predict(X), qid, ["Tau"])["Tau"]
    assert ranker.validation_scores_[1] == pytest.approx(tau)
    with pytest.raises(ValueError, match="measure must be one that LambdaMART optimises"):
        LambdaMART(2, objective="yetirank", measure="Tau").fit(X, y, qid=qid)


def test_decay_needs_no_measure(judged, rng, tmp_path):
    X, y, qid = judged
    weight = rng.integers(0, 4, len(y))
    rows = rng.permutation(np.repeat(np.arange(len(y)), weight))
    params = {"objective": "yetirank", "decay": 0.85, "measure": "Tau", "random_state": 3}
    ranker = LambdaMART(10, **params, n_jobs=1).fit(X, y, qid=qid, sample_weight=weight)
    scores = ranker.predict(X)
    repeated = LambdaMART(10, **params, n_jobs=3).fit(X[rows], y[rows], qid=qid[rows])
    np.testing.assert_array_equal(repeated.predict(X), scores)
    again = LambdaMART(4, **params, warm_start=True).fit(X, y, qid=qid, sample_weight=weight)
    again.set_params(n_estimators=10).fit(X, y, qid=qid, sample_weight=weight)
    np.testing.assert_array_equal(again.predict(X), scores)
    save(ranker, tmp_path / "model")
    restored = load(tmp_path / "model")
    assert restored.decay == 0.85
    np.testing.assert_array_equal(restored.predict(X), scores)


@pytest.mark.parametrize(
    ("labels", "largest"),
    [([0, 1, 2, 3], 1), ([0, 0.5, 2, 3], 3), ([0, 1, 2, 31], 31), ([-2, 0, 1, 1], 2)],
)
def test_whole_grades_are_gains_of_decay_and_other_labels_are_divided(labels, largest):
    y = np.array(labels, dtype=float)
    changes = weigh_neighbours(0.85, y, np.array([0, 4]), np.ones(4))
    np.testing.assert_array_equal(changes.gains, y / largest)


def test_decay_is_of_yetirank_alone(judged):
    X, y, qid = judged

    def scores(**params):
        return LambdaMART(5, random_state=0, **params).fit(X, y, qid=qid).predict(X)

    np.testing.assert_array_equal(scores(decay=0.85), scores())
    drawn = [scores(objective="yetirank", decay=decay) for decay in (None, 0.5, 0.85)]
    assert (drawn[0] != drawn[1]).any() and (drawn[1] != drawn[2]).any()
    for decay in (0, 1, "auto"):
        with pytest.raises(ValueError, match=r"'decay' parameter.*range \(0.0, 1.0\)"):
            scores(decay=decay)


@pytest.mark.parametrize("penalty", [0.0, 30.0, 200.0])
def test_decay_gives_the_leaves_of_catboost(penalty):
    """One split of 7,200 rows: 6,000 random pairs of neighbours average out to two digits."""
    pytest.importorskip("catboost")
    from rankwise import CatBoostRanker

    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(600), 12)
    X = np.column_stack([rng.integers(0, 2, 7200), rng.random(7200)])
    y = rng.integers(0, 4, 7200) + X[:, 0] * rng.integers(0, 2, 7200)
    rate = {"learning_rate": 1.0, "reg_lambda": penalty, "random_state": 1}
    plain = {"depth": 1, "random_strength": 0.0, "params": {"bootstrap_type": "No"}}
    ends = np.array([[0.0, 0.5], [1.0, 0.5]])

    def step(ranker):
        return np.diff(ranker.fit(X, y, qid=qid).predict(ends))[0]

    theirs = step(CatBoostRanker(1, **rate, **plain))
    ours, other = (
        step(LambdaMART(1, **rate, objective="yetirank", decay=decay, max_leaf_nodes=2))
        for decay in (0.85, 0.95)
    )
    assert ours == pytest.approx(theirs, rel=0.05)
    if penalty:  # it shows the sum of the weights, which depends on the decay
        assert other < 0.93 * theirs


@pytest.mark.parametrize("name", ["nDCG", "DCG"])
def test_discounted_gains_are_followed_down_to_the_truncation_level(name, rng):
    X, y, qid = rng.normal(size=(400, 4)), rng.integers(0, 4, 400), np.arange(400) // 50

    def trees(measure, **params):
        return LambdaMART(5, measure=measure, **params).fit(X, y, qid=qid).trees_.values

    deep = trees(f"{name}@30", truncation_level=None)
    np.testing.assert_array_equal(trees(f"{name}@10"), deep)
    np.testing.assert_array_equal(trees(f"{name}@30", truncation_level=10), deep)
    assert not np.array_equal(trees(f"{name}@10", truncation_level=None), deep)
    np.testing.assert_array_equal(
        trees(name, truncation_level=5), trees(name, truncation_level=None)
    )


def test_other_measures_keep_their_cut_off(rng):
    X, y, qid = rng.normal(size=(400, 4)), rng.integers(0, 2, 400), np.arange(400) // 50
    for params in ({"measure": "P@5"}, {"measure": "nDCG@5", "objective": "yetirank"}):
        params |= {"random_state": 0}
        default, none = (
            LambdaMART(5, **params, **level).fit(X, y, qid=qid).trees_.values
            for level in ({}, {"truncation_level": None})
        )
        np.testing.assert_array_equal(default, none)


@pytest.mark.parametrize("sampling", [{}, {"subsample": 0.5}, {"sampling": "goss"}])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_order_of_labels_does_not_leak(objective, sampling, judged):
    """All scores are equal before the first tree: no file may order its gradients or measures."""
    X, y, qid = judged
    train, fitted = qid % 3 > 0, []
    for sign, n_jobs in ((1, 1), (-1, 2)):
        order = np.lexsort((sign * y, sign * qid))
        rows, held = (order[train[order] == side] for side in (True, False))
        ranker = LambdaMART(
            20, objective=objective, early_stopping_rounds=5, random_state=0, n_jobs=n_jobs,
            **sampling,
        )  # fmt: skip
        fitted.append(
            ranker.fit(
                X[rows], y[rows], qid=qid[rows], X_val=X[held], y_val=y[held], qid_val=qid[held]
            )
        )
    np.testing.assert_array_equal(*(ranker.predict(X) for ranker in fitted))
    np.testing.assert_array_equal(*(ranker.validation_scores_ for ranker in fitted))
