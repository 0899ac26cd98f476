"""AutoRanker: trials, held-out scores, what is kept, the budget, and scores of single rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import rankwise
from rankwise import AutoRanker, LambdaMART, QueryGroups, RidgeRanker, compare, evaluate
from rankwise.datasets import load_dataset
from rankwise.explain import explain_pair
from rankwise.metrics import parse
from rankwise.rankers.ensemble import auto
from rankwise.rankers.ensemble.auto_search import (
    CLOCKS,
    HeldOut,
    TimeBudget,
    Trial,
    TrialRows,
    is_clearly_better,
    objective_of,
    scale_columns,
    settings,
    spread,
)

SMALL = {"time_budget": None, "n_trials": 6, "cv": 3, "random_state": 0, "n_jobs": 1}


def made(rng, n_queries=60, size=10, noise=0.3):
    """Labels from one feature and a square."""
    n = n_queries * size
    X, qid = rng.normal(size=(n, 4)), rng.permutation(np.arange(n) % n_queries)
    y = np.clip(np.round(X[:, 0] + X[:, 1] ** 2 + noise * rng.normal(size=n)), 0, 3)
    return X, y, qid


def test_scores_are_the_weighted_models_and_each_row_stands_alone(rng):
    X, y, qid = made(rng)
    ranker = AutoRanker(**SMALL).fit(X, y, qid=qid)
    scaled = (X - ranker.center_) * ranker.scale_
    np.testing.assert_allclose(scaled.std(axis=0), np.sqrt(3 / 4))
    by_hand = sum(
        weight * (model.predict(X if isinstance(model, LambdaMART) else scaled) - level)
        for model, weight, level in zip(
            ranker.models_, ranker.weights_, ranker.levels_, strict=True
        )
    )
    np.testing.assert_allclose(ranker.predict(X), by_hand, rtol=1e-12, atol=1e-12)
    alone = [ranker.predict(X[row : row + 1])[0] for row in range(5)]
    np.testing.assert_allclose(alone, by_hand[:5], rtol=1e-9, atol=1e-9)


def test_families_have_equal_shares_of_the_score(rng):
    X, _, qid = made(rng)
    y = np.digitize(X[:, 0] + rng.normal(size=len(X)), [0.5, 1.5]).astype(float)
    ranker = AutoRanker(**SMALL).fit(X, y, qid=qid)
    assert ranker.families_ == ["linear", "nodes", "trees"]
    assert len(ranker.history_) == 6
    # Every family's part of the score spreads about alike within queries it has not seen.
    new, _, new_qid = made(np.random.default_rng(7))
    scaled, groups = (
        scale_columns(new, ranker.center_, ranker.scale_),
        QueryGroups.from_qid(new_qid, len(new)),
    )
    parts = {"trees": np.zeros(len(new)), "others": np.zeros(len(new))}
    for model, weight in zip(ranker.models_, ranker.weights_, strict=True):
        trees = isinstance(model, LambdaMART)
        parts["trees" if trees else "others"] += weight * model.predict(new if trees else scaled)
    ratio = spread(parts["trees"], groups) / spread(parts["others"], groups)
    assert ratio == pytest.approx(1.0, rel=0.2)


def test_no_model_scores_rows_that_it_was_fitted_on(rng, monkeypatch):
    X, y, qid = made(rng)
    seen = []
    fit = HeldOut.fit

    def spied(self, trial, clock, *limits):
        seen.append([(set(rows.qid), set(held.qid)) for rows, held in self.parts])
        return fit(self, trial, clock, *limits)

    monkeypatch.setattr(HeldOut, "fit", spied)
    AutoRanker(**SMALL).fit(X, y, qid=qid)
    for splits in seen:
        assert len(splits) == 3
        assert all(not train & held for train, held in splits)
        assert set.union(*(held for _, held in splits)) == set(range(60))


def test_validation_rows_take_the_place_of_folds(rng):
    X, y, qid = made(rng)
    train = qid < 40
    ranker = AutoRanker(**SMALL).fit(
        X[train], y[train], qid=qid[train], X_val=X[~train], y_val=y[~train], qid_val=qid[~train]
    )
    assert len(ranker.models_) == sum(one["kept"] for one in ranker.history_) > 1
    value = evaluate(y[~train], ranker.predict(X[~train]), qid[~train], ["nDCG@10"])["nDCG@10"]
    assert ranker.values_["blend"] == pytest.approx(value, abs=1e-12)


def test_many_queries_are_held_out_once(rng, monkeypatch):
    monkeypatch.setattr(auto, "MANY_QUERIES", 60)
    X, y, qid = made(rng)
    ranker = AutoRanker(**SMALL).fit(X, y, qid=qid)
    assert len(ranker.models_) == sum(one["kept"] for one in ranker.history_) > 1


@pytest.mark.parametrize("clearly", [True, False])
def test_what_the_blend_is_clearly_better_without_goes(rng, clearly):
    y, qid = rng.integers(0, 3, 2000).astype(float), np.arange(2000) % 200
    rows = TrialRows(np.zeros((2000, 1)), np.zeros((2000, 1)), y, qid)
    held = HeldOut([(rows, rows)], parse("nDCG@10"))
    good = [y + rng.normal(size=2000) for _ in range(2)]
    noise = rng.normal(size=2000) if clearly else y + rng.normal(size=2000)
    assert held.kept([*good, noise]) == ([0, 1] if clearly else [0, 1, 2])


def test_the_best_alone_stays_where_the_rest_is_noise(rng):
    y, qid = rng.integers(0, 3, 2000).astype(float), np.arange(2000) % 200
    rows = TrialRows(np.zeros((2000, 1)), np.zeros((2000, 1)), y, qid)
    held = HeldOut([(rows, rows)], parse("AP"))
    scores = [rng.normal(size=2000), 3 * y + rng.normal(size=2000), rng.normal(size=2000)]
    assert held.kept(scores) == [1]


def test_clearly_better_is_a_one_sided_test():
    a = np.array([0.5, 0.6, 0.9, 0.8, 0.7])
    assert is_clearly_better(a, a - [0.1, 0.12, 0.1, 0.09, 0.1])
    assert not is_clearly_better(a - [0.1, 0.12, 0.1, 0.09, 0.1], a)
    assert not is_clearly_better(a, a)
    assert not is_clearly_better(a[:1], a[1:2])


def test_spread_is_the_pooled_one_within_queries(rng):
    scores, qid = 1e6 + rng.normal(size=60), np.repeat([3, 1, 2], 20)
    by_hand = np.sqrt(np.mean([scores[qid == q].var() for q in (1, 2, 3)]))
    assert spread(scores, QueryGroups.from_qid(qid, 60)) == pytest.approx(by_hand, rel=1e-9)
    assert spread(np.full(60, 0.1), QueryGroups.from_qid(qid, 60)) == 0.0


def test_never_far_below_the_best_family_on_new_queries():
    """Rows where only the trees can learn, and rows where lines are all there is."""
    rng = np.random.default_rng(3)
    X, qid = rng.normal(size=(3000, 6)), np.arange(3000) % 150
    for y in (
        ((X[:, 0] > 0) ^ (X[:, 1] > 0)).astype(float) + (X[:, 2] > 1),
        np.clip(np.round(X @ [1, -1, 0.5, 0.2, 0, 0] + rng.normal(size=3000)), 0, 4),
    ):
        train = qid < 100
        ranker = AutoRanker(**SMALL | {"n_trials": 7}).fit(X[train], y[train], qid=qid[train])
        per_query = parse("nDCG@10").per_query
        groups = QueryGroups.from_qid(qid[~train], 1000)
        blend = per_query(y[~train], ranker.predict(X[~train]), groups)
        scaled = scale_columns(X[~train], ranker.center_, ranker.scale_)
        for model in ranker.models_:
            rows = X[~train] if isinstance(model, LambdaMART) else scaled
            assert not is_clearly_better(per_query(y[~train], model.predict(rows), groups), blend)


def test_a_family_that_cannot_learn_is_left_out():
    rng = np.random.default_rng(5)
    X, qid = rng.normal(size=(4000, 8)), np.arange(4000) % 200
    y = ((X[:, 0] > 0) ^ (X[:, 1] > 0)).astype(float)
    ranker = AutoRanker(**SMALL).fit(X, y, qid=qid)
    assert "linear" not in ranker.families_
    kept = {one["trial"]: one["kept"] for one in ranker.history_}
    assert not kept["ridge"]
    assert kept["lambdamart 1"]
    assert "ridge" in ranker.report()
    assert ranker.values_["blend"] > ranker.values_["linear"]


def test_bags_follow_the_settings(rng):
    X, y, qid = made(rng, n_queries=30)
    ranker = AutoRanker(**SMALL | {"n_trials": None}).fit(X, y, qid=qid)
    names = [one["trial"] for one in ranker.history_]
    assert len(names) == len(set(names)) == 22
    bags = [one for one in ranker.history_ if " bag " in one["trial"]]
    assert [one["family"] for one in bags].count("trees") == 8
    assert len({one["params"]["random_state"] for one in bags if one["family"] == "trees"}) == 8


def test_the_same_bits_again(rng):
    X, y, qid = made(rng)
    first, again = (AutoRanker(**SMALL).fit(X, y, qid=qid) for _ in range(2))
    assert (first.predict(X) == again.predict(X)).all()
    other = AutoRanker(**SMALL | {"random_state": 1}).fit(X, y, qid=qid)
    assert (first.predict(X) != other.predict(X)).any()


def test_time_that_is_up_starts_nothing_more(rng):
    X, y, qid = made(rng)
    ranker = AutoRanker(1e-6, cv=3, random_state=0).fit(X, y, qid=qid)
    assert [one["trial"] for one in ranker.history_] == ["ridge"]
    assert ranker.families_ == ["linear"]


def test_a_budget_bounds_the_trees(rng, monkeypatch):
    X, y, qid = made(rng, n_queries=30)
    now = [0.0]

    def clock():
        now[0] += 0.002
        return now[0]

    monkeypatch.setitem(auto.CLOCKS, "cpu", clock)
    monkeypatch.setattr(TimeBudget, "probe", lambda *_: 0.01)
    ranker = AutoRanker(4.0, cv=3, clock="cpu", random_state=0).fit(X, y, qid=qid)
    params = {one["trial"]: one["params"] for one in ranker.history_}
    assert 50 <= params["lambdamart 1"]["n_estimators"] < 160
    assert ranker.seconds_ < 8.0


@pytest.mark.parametrize(
    ("measure", "is_graded", "expected"),
    [
        ("AP", True, "AP"),
        ("nDCG@3", True, "nDCG@3"),
        ("Misranking", False, "nDCG"),
        ("Misranking", True, "nDCG@10"),
    ],
)
def test_trees_optimise_the_measure_where_they_can(measure, is_graded, expected):
    assert objective_of(measure, is_graded) == expected
    trees = [one for one in settings(measure, is_graded, 0, None) if one.family == "trees"]
    assert {one.estimator.measure for one in trees} == {expected}
    assert {one.estimator.n_jobs for one in trees} == {None}


def test_a_trial_again_has_the_other_parameters():
    trial = Trial("a", "trees", LambdaMART(7, learning_rate=0.3))
    again = trial.again("b", n_estimators=9)
    assert (again.name, again.estimator.n_estimators, again.estimator.learning_rate) == (
        "b",
        9,
        0.3,
    )
    assert trial.estimator.n_estimators == 7


def test_real_and_ordinal_labels(rng):
    X = rng.normal(size=(300, 3))
    qid = np.arange(300) % 20
    for y in (X[:, 0] - 2.5 + 0.1 * rng.normal(size=300), np.digitize(X[:, 0], [-1, 0, 1]) - 2):
        ranker = AutoRanker(**SMALL).fit(X, y, qid=qid)
        assert ranker.score_name_ == "1 - Misranking"
        assert ranker.score(X, y, qid=qid) > 0.9
        assert ranker.history_[-1]["family"] == "trees"  # also of labels below 0


@pytest.mark.parametrize("constant", [[True, False], [True, True]])
def test_trees_are_probed_on_a_part_with_pairs_to_order(rng, constant):
    X, y, qid = made(rng, n_queries=20)
    parts = [TrialRows(X, X, y * (not same), qid) for same in constant]
    trial = Trial("trees", "trees", LambdaMART(5, n_jobs=1))
    held = HeldOut([(rows, rows) for rows in parts], parse("nDCG@10"))
    seconds = TimeBudget(None, CLOCKS["wall"]).probe(trial, held)
    assert (seconds > 0) == (not all(constant))


def test_missing_values(rng):
    X, y, qid = made(rng)
    X[rng.random(X.shape) < 0.2] = np.nan
    X[:, 3] = np.nan
    ranker = AutoRanker(**SMALL).fit(X, y, qid=qid)
    assert np.isfinite(ranker.predict(X)).all()
    assert ranker.score(X, y, qid=qid) > 0.8


def test_large_sparse_rows_stay_sparse(rng, monkeypatch):
    X, y, qid = made(rng)
    X = np.where(rng.random(X.shape) < 0.3, 0.0, X)
    monkeypatch.setattr(auto, "_MOST_DENSE", 10)
    ranker = AutoRanker(**SMALL).fit(sparse.csr_matrix(X), y, qid=qid)
    assert ranker.is_sparse_
    assert "trees" in {one["family"] for one in ranker.history_}
    np.testing.assert_allclose(ranker.scale_, 1 / np.abs(X).max(axis=0))
    np.testing.assert_allclose(ranker.predict(sparse.csr_matrix(X)), ranker.predict(X), rtol=1e-9)


def test_saves_and_loads(rng, tmp_path):
    X, y, qid = made(rng)
    ranker = AutoRanker(**SMALL).fit(X, y, qid=qid)
    again = rankwise.load(ranker.save(tmp_path / "model.rankwise"))
    assert (again.predict(X) == ranker.predict(X)).all()
    assert again.report() == ranker.report()


def test_measures_that_do_not_take_the_labels_say_so(rng):
    X, y, qid = made(rng)
    with pytest.raises(ValueError, match=r"^y must be >= 0 for ERR"):
        AutoRanker(**SMALL, measure="ERR").fit(X, y - 2.5, qid=qid)
    with pytest.raises(ValueError, match="needs a cut-off"):
        AutoRanker(**SMALL, measure="P").fit(X, y, qid=qid)


def test_differences_of_scores_are_shared_out_among_the_features(rng):
    X, y, qid = made(rng)
    ranker = AutoRanker(**SMALL).fit(X, y, qid=qid)
    found = explain_pair(ranker, X[0], X[1])
    assert found.values.sum() == pytest.approx(np.diff(ranker.predict(X[1::-1]))[0], abs=1e-9)
    assert found.error is None


def test_takes_part_in_compare():
    fold = load_dataset("lambdarank")[0]
    rankers = {"auto": AutoRanker(**SMALL | {"n_trials": 2}), "ridge": RidgeRanker()}
    board = compare(rankers, fold, measures="nDCG@10", isolate=False)
    cell = board.cell("auto", board.folds[0])
    ranker = AutoRanker(**SMALL | {"n_trials": 2, "measure": str(parse("nDCG@10"))})
    vali = fold.vali
    ranker.fit(
        fold.train.X, fold.train.y, qid=fold.train.qid,
        X_val=vali.X, y_val=vali.y, qid_val=vali.qid,
    )  # fmt: skip
    expected = parse("nDCG@10").per_query(
        fold.test.y, ranker.predict(fold.test.X), fold.test.groups
    )
    np.testing.assert_allclose(cell.values[str(parse("nDCG@10"))], expected)


def test_no_ranker_can_be_fitted():
    with pytest.raises(ValueError, match=r"cannot fit any ranker on parts of n_samples=6 rows"):
        AutoRanker(**SMALL).fit(np.arange(6.0)[:, None], [1, 0, 0, 0, 0, 0], qid=[1, 1, 2, 2, 3, 3])
