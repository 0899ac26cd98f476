"""RankBoost against loops over pairs, cuts and sides; its loss, stages, stopping and missing
values."""

from __future__ import annotations

import numpy as np
import pytest

import rankwise
from rankwise import RankBoost, evaluate
from rankwise.datasets import load_dataset
from rankwise.groups import FitData, QueryGroups
from rankwise.losses.score_loss import pair_table
from rankwise.solvers.boosting.pair_boosting import PairBoosting, layer_pairs
from rankwise.solvers.boosting.rounds import run_round
from rankwise.solvers.boosting.stump_search import StumpSearch
from tests.oracles import ragged_groups


@pytest.fixture
def judged(rng):
    """Noisy rows in ragged interleaved queries, values missing in two columns."""
    y, qid, _ = ragged_groups(rng, n_queries=15, most=14, grades=5)
    X = np.round(rng.normal(size=(len(y), 5)) + 0.5 * y[:, None] * [1, -1, 0.5, 0, 0], 1)
    X[rng.random(X.shape) < [0.3, 0, 0, 0, 0.2]] = np.nan
    return X, y, qid


def pairs_of(y, qid, weight=None, pair_weight=None, query_weight="pair"):
    """Every pair (i, j) with y_i > y_j in a query, and its weight; one by one."""
    weight = np.ones(len(y)) if weight is None else weight
    labels = np.unique(y)
    table = pair_table(pair_weight, labels)
    found = []
    for i in range(len(y)):
        for j in range(len(y)):
            if qid[i] == qid[j] and y[i] > y[j]:
                size = weight[qid == qid[i]].sum()
                scale = {"pair": 1.0, "document": 1 / size, "query": 1 / size**2}[query_weight]
                grades = np.searchsorted(labels, [y[i], y[j]])
                found.append((i, j, weight[i] * weight[j] * scale * table[tuple(grades)]))
    i, j, w = zip(*found, strict=True)
    return np.array(i), np.array(j), np.array(w)


def naive_boost(X, pairs, n_rounds):
    """Every cut, direction and side of missing values in every round; first on ties."""
    i, j, w = pairs
    H = np.zeros(len(X))
    losses, stumps = [w.sum()], []
    for _ in range(n_rounds):
        D = w * np.exp(H[j] - H[i])
        best = (0.0,)
        for feature in range(X.shape[1]):
            x = X[:, feature]
            values = np.unique(x[~np.isnan(x)])
            for cut in (values[1:] + values[:-1]) / 2:
                for up in (1, -1):
                    for missing in (1, -1) if np.isnan(x).any() else (0,):
                        side = np.where(np.isnan(x), missing, np.where(x > cut, up, -up)) > 0
                        r = (D * (side[i].astype(float) - side[j])).sum()
                        if r > best[0] + 1e-12 * losses[-1]:
                            best = (r, feature, cut, up, missing, side)
        _, *what, side = best
        right, wrong = D[side[i] & ~side[j]].sum(), D[~side[i] & side[j]].sum()
        alpha = 0.5 * np.log(right / wrong)
        H += alpha * side
        losses.append((w * np.exp(H[j] - H[i])).sum())
        stumps.append((*what, alpha))
    return stumps, losses, H


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"pair_weight": "gain", "query_weight": "document"},
        {"pair_weight": "difference", "query_weight": "query"},
    ],
)
@pytest.mark.parametrize("max_bins", [255, None])
def test_rounds_are_those_of_loops_over_pairs(judged, settings, max_bins, rng):
    X, y, qid = judged
    weight = rng.integers(1, 4, len(y)).astype(float)
    fitted = RankBoost(15, max_bins=max_bins, **settings).fit(X, y, qid=qid, sample_weight=weight)
    stumps, losses, H = naive_boost(X, pairs_of(y, qid, weight, **settings), 15)
    ensemble = fitted.ensemble_
    for round_, (feature, cut, up, missing, alpha) in enumerate(stumps):
        assert ensemble.features[round_] == feature
        assert ensemble.thresholds[round_] == pytest.approx(cut, rel=1e-12)
        assert (ensemble.directions[round_], ensemble.missing[round_]) == (up, missing)
        assert 2 * ensemble.steps[round_] == pytest.approx(alpha, rel=1e-9)
    np.testing.assert_allclose(fitted.loss_curve_, losses, rtol=1e-10)
    scores = fitted.predict(X)
    np.testing.assert_allclose(scores - scores[0], H - H[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("pair_weight", [None, "power"])
def test_row_weights_are_sums_over_pairs(judged, pair_weight):
    X, y, qid = judged
    X = np.nan_to_num(X)
    data = FitData(X, y, QueryGroups.from_qid(qid, len(y)), None)
    pairs = layer_pairs(data, pair_weight, "document")
    boosting = PairBoosting(pairs)
    search = StumpSearch(X, pairs.rows, 255, None)
    i, j, w = pairs_of(y, qid, None, pair_weight, "document")
    H = np.zeros(len(y))
    for _ in range(10):
        D = w * np.exp(H[j] - H[i])
        expected = np.bincount(i, D, len(y)) - np.bincount(j, D, len(y))
        np.testing.assert_allclose(boosting.row_weights(), expected[pairs.rows], atol=1e-12)
        assert boosting.loss == pytest.approx(D.sum(), rel=1e-12)
        stump, step = run_round(boosting, search)
        H[pairs.rows] += np.where(stump.side, step, -step)


def test_loss_never_rises_and_bounds_misranked_pairs(rng):
    X = rng.integers(0, 4, (120, 2)).astype(float)
    y, qid = np.clip(X.sum(1) + rng.integers(-1, 2, 120), 0, 5), np.arange(120) % 7
    fitted = RankBoost(20_000).fit(X, y, qid=qid)
    i, j, _ = pairs_of(y, qid)
    assert 20 < fitted.n_estimators_ < 20_000  # no digit is left to lose
    assert (np.diff(fitted.loss_curve_) < 0).all()
    for loss, scores in zip(fitted.loss_curve_[1:100], fitted.staged_predict(X), strict=False):
        assert (scores[i] <= scores[j]).sum() <= loss
    np.testing.assert_allclose(fitted.predict(X), list(fitted.staged_predict(X))[-1], atol=1e-9)


def test_real_valued_targets_in_one_query(rng):
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + 2 * rng.normal(size=60)
    fitted = RankBoost(10, max_bins=None).fit(X, y)
    _, losses, _ = naive_boost(X, pairs_of(y, np.zeros(60)), 10)
    np.testing.assert_allclose(fitted.loss_curve_, losses, rtol=1e-10)
    by_difference = RankBoost(10, max_bins=None, pair_weight="difference").fit(X, y)
    _, losses, _ = naive_boost(X, pairs_of(y, np.zeros(60), None, "difference"), 10)
    np.testing.assert_allclose(by_difference.loss_curve_, losses, rtol=1e-10)


def test_ranker_without_mistakes_has_a_finite_step():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 3.0]])
    fitted = RankBoost(1000).fit(X, [0, 0, 1, 1])
    assert 4 < fitted.ensemble_.steps[0] < 7
    assert fitted.loss_curve_[1] < 1e-5
    assert np.isfinite(fitted.predict(X)).all()
    assert np.isfinite(fitted.loss_curve_).all()
    assert (np.diff(fitted.loss_curve_) < 0).all()
    assert fitted.rank(X).tolist() == [3, 4, 1, 2]


def test_nothing_to_learn():
    X = np.ones((4, 2))
    fitted = RankBoost().fit(X, [0, 1, 2, 3])
    assert fitted.n_estimators_ == 0
    assert fitted.predict(X).tolist() == [0, 0, 0, 0]
    assert fitted.feature_importances_.sum() == 0


def test_missing_values_of_a_feature_without_any_in_training_say_nothing(judged):
    X, y, qid = judged
    X = np.nan_to_num(X)
    fitted = RankBoost(30).fit(X, y, qid=qid)
    assert (fitted.ensemble_.missing == 0).all()
    assert (fitted.predict(np.full((1, 5), np.nan)) == 0).all()


def test_warm_start_continues_to_the_bit(judged, tmp_path):
    X, y, qid = judged
    whole = RankBoost(30).fit(X, y, qid=qid)
    parts = RankBoost(11, warm_start=True).fit(X, y, qid=qid)
    parts = rankwise.load(parts.save(tmp_path / "model"))
    parts.set_params(n_estimators=30).fit(X, y, qid=qid)
    assert (parts.loss_curve_ == whole.loss_curve_).all()
    assert (parts.predict(X) == whole.predict(X)).all()
    with pytest.raises(ValueError, match="n_estimators must be at least the 30 rounds"):
        parts.set_params(n_estimators=4).fit(X, y, qid=qid)
    parts.set_params(n_estimators=31)
    with pytest.raises(
        ValueError, match=r"warm_start continues a fit on 5 features, but X has \d\. Set"
    ):
        parts.fit(X[:, 1:], y, qid=qid)


@pytest.mark.parametrize("measure", ["nDCG@10", "Misranking"])
def test_early_stopping_keeps_the_best_round(judged, measure, rng):
    X, y, qid = judged
    noise = rng.permutation(y)
    fitted = RankBoost(300, measure=measure, early_stopping_rounds=10)
    fitted.fit(X, noise, qid=qid, X_val=X, y_val=y, qid_val=qid)
    values = fitted.validation_scores_
    best = 1 + int(np.argmin(values) if measure == "Misranking" else np.argmax(values))
    assert fitted.n_estimators_ == best == len(fitted.ensemble_)
    assert len(values) == best + 10
    expected = evaluate(y, fitted.predict(X), qid, measure)[measure]
    assert expected == pytest.approx(values[best - 1])


def test_order_of_rows_threads_and_parts_change_no_bit(judged, rng, monkeypatch):
    X, y, qid = judged
    expected = RankBoost(40).fit(X, y, qid=qid)
    order = rng.permutation(len(y))
    shuffled = RankBoost(40).fit(X[order], y[order], qid=qid[order])
    assert (shuffled.loss_curve_ == expected.loss_curve_).all()
    assert (shuffled.predict(X) == expected.predict(X)).all()
    monkeypatch.setattr("rankwise.solvers.boosting.pair_boosting.ROWS_AT_ONCE", 20)
    by_threads = []
    for threads in ("1", "3"):
        monkeypatch.setenv("RANKWISE_NUM_THREADS", threads)
        parts = RankBoost(40).fit(X, y, qid=qid)
        np.testing.assert_allclose(parts.loss_curve_, expected.loss_curve_, rtol=1e-12)
        by_threads.append(parts.predict(X))
    assert (by_threads[0] == by_threads[1]).all()


def test_too_many_labels_for_a_table(rng):
    y = np.arange(5000.0)
    with pytest.raises(ValueError, match="pair_weight takes at most 4096 distinct labels"):
        RankBoost(pair_weight="gain").fit(y[:, None], y)


@pytest.mark.filterwarnings("ignore::rankwise.metrics.TiedScoresWarning")
def test_judged_rows_are_ranked_better_than_by_their_best_feature():
    """Real judgements that are bundled; the feature is chosen on the training rows."""
    train, test = load_dataset("lambdarank", fold=1).train, load_dataset("lambdarank", fold=1).test

    def quality(rows, scores):
        return evaluate(rows.y, scores, rows.qid, ["nDCG@10"])["nDCG@10"]

    fitted = RankBoost(100).fit(train.X, train.y, qid=train.qid)
    best = int(np.argmax([quality(train, column) for column in train.X.T]))
    assert quality(test, fitted.predict(test.X)) > quality(test, test.X[:, best]) + 0.01


@pytest.mark.paper
@pytest.mark.filterwarnings("ignore::rankwise.metrics.TiedScoresWarning")  # as LETOR's script
def test_ohsumed_beats_its_best_feature(data_root):
    """A tuned RankBoost on fold 1; LETOR 3.0 publishes 0.4411 as the mean AP of five folds."""
    fold = load_dataset("ohsumed", fold=1)
    fitted = RankBoost(400, measure="AP", early_stopping_rounds=100)
    fitted.fit(
        fold.train.X, fold.train.y, qid=fold.train.qid,
        X_val=fold.vali.X, y_val=fold.vali.y, qid_val=fold.vali.qid,
    )  # fmt: skip
    values = evaluate(
        fold.test.y, fitted.predict(fold.test.X), fold.test.qid, "AP", preset="letor3"
    )
    assert values["AP"] > 0.31
