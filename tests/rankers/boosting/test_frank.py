"""FRank against loops over pairs and finite differences; its loss, limit and query weights."""

from __future__ import annotations

import numpy as np
import pytest

import rankwise
from rankwise import FRank, RankBoost
from rankwise.groups import FitData, QueryGroups
from rankwise.solvers.boosting.pair_boosting import FidelityBoosting, layer_pairs
from tests.oracles import ragged_groups
from tests.rankers.boosting.test_rank_boost import pairs_of


@pytest.fixture
def judged(rng):
    y, qid, _ = ragged_groups(rng, n_queries=12, most=12, grades=4)
    X = np.round(rng.normal(size=(len(y), 4)) + 0.4 * y[:, None] * [1, -1, 0.5, 0], 1)
    X[rng.random(X.shape) < [0.2, 0, 0, 0]] = np.nan
    return X, y, qid


def fidelity(o):
    """Loss of pairs whose scores differ by o, target probability 1."""
    return 1.0 - np.sqrt(1.0 / (1.0 + np.exp(-o)))


def normalised(pairs, qid):
    """Weights of the pairs such that those of each query add up to 1."""
    i, j, w = pairs
    totals = np.bincount(np.unique(qid, return_inverse=True)[1][i], w)
    return i, j, w / totals[np.unique(qid, return_inverse=True)[1][i]]


def naive_frank(X, pairs, n_rounds):
    """Every cut, direction and side of missing values in every round; first on ties."""
    i, j, w = pairs
    H, losses, stumps = np.zeros(len(X)), [(w * fidelity(np.zeros(len(i)))).sum()], []
    for _ in range(n_rounds):
        e = np.exp(H[j] - H[i])
        slopes = w * 0.5 * e * (1 + e) ** -1.5
        best = (0.0,)
        for feature in range(X.shape[1]):
            x = X[:, feature]
            values = np.unique(x[~np.isnan(x)])
            for cut in (values[1:] + values[:-1]) / 2:
                for up in (1, -1):
                    for missing in (1, -1) if np.isnan(x).any() else (0,):
                        side = np.where(np.isnan(x), missing, np.where(x > cut, up, -up)) > 0
                        gain = (slopes * (side[i].astype(float) - side[j])).sum()
                        if gain > best[0] + 1e-12 * slopes.sum():
                            best = (gain, feature, cut, side)
        _, feature, cut, side = best
        right, wrong = slopes[side[i] & ~side[j]].sum(), slopes[~side[i] & side[j]].sum()
        step = 0.5 * np.log(right / wrong)
        while True:
            moved = H + step * side
            loss = (w * fidelity(moved[i] - moved[j])).sum()
            if loss < losses[-1]:
                break
            step *= 0.5
        H = moved
        losses.append(loss)
        stumps.append((feature, cut, step))
    return stumps, losses, H


@pytest.mark.parametrize(
    "settings",
    [{}, {"query_weight": "pair"}, {"query_weight": "document", "pair_weight": "difference"}],
)
def test_rounds_are_those_of_loops_over_pairs(judged, settings, rng):
    X, y, qid = judged
    weight = rng.integers(1, 4, len(y)).astype(float)
    pairs = pairs_of(y, qid, weight, **settings)
    if not settings:
        pairs = normalised(pairs, qid)
    stumps, losses, H = naive_frank(X, pairs, 15)
    fitted = FRank(15, **settings).fit(X, y, qid=qid, sample_weight=weight)
    assert fitted.ensemble_.features.tolist() == [feature for feature, _, _ in stumps]
    np.testing.assert_allclose(fitted.ensemble_.thresholds, [cut for _, cut, _ in stumps])
    np.testing.assert_allclose(2 * fitted.ensemble_.steps, [s for *_, s in stumps], rtol=1e-8)
    np.testing.assert_allclose(fitted.loss_curve_, losses, rtol=1e-10)
    scores = fitted.predict(X)
    np.testing.assert_allclose(scores - scores[0], H - H[0], atol=1e-8)


def test_slopes_are_finite_differences(judged, rng):
    X, y, qid = judged
    X = np.nan_to_num(X)
    data = FitData(X, y, QueryGroups.from_qid(qid, len(y)), rng.random(len(y)))
    boosting = FidelityBoosting(layer_pairs(data, "gain", "query"))
    scores = rng.normal(size=len(y))
    boosting._visit(scores)
    slopes = boosting._u / (2.0**60 / 2.0 ** np.frexp(boosting._slopes)[1])
    for row in range(0, len(y), 5):
        change = 1e-5 * (np.arange(len(y)) == row)
        boosting._visit(scores + change)
        above = boosting.loss
        boosting._visit(scores - change)
        assert (boosting.loss - above) / 2e-5 == pytest.approx(slopes[row], rel=1e-6, abs=1e-9)


def test_loss_never_rises_and_is_bounded(rng):
    X = rng.integers(0, 4, (120, 2)).astype(float)
    y, qid = np.clip(X.sum(1) + rng.integers(-1, 2, 120), 0, 5), np.arange(120) % 7
    fitted = FRank(3000).fit(X, y, qid=qid)
    assert (np.diff(fitted.loss_curve_) < 0).all()
    assert fitted.loss_curve_[0] == pytest.approx(7 * fidelity(0.0))
    i, j, w = normalised(pairs_of(y, qid), qid)
    scores = fitted.predict(X)
    assert fitted.loss_curve_[-1] == pytest.approx((w * fidelity(scores[i] - scores[j])).sum())


def test_hopeless_pairs_cost_no_more_than_others():
    """A row of the highest grade looks like one of the lowest: 20 of 400 pairs cannot be right."""
    X = np.repeat([0.0, 1.0], 20)[:, None]
    y = np.r_[2, np.zeros(19), np.ones(20)]
    apart = {}
    for ranker in (FRank(200), RankBoost(200)):
        low, high = ranker.fit(X, y).predict([[0.0], [1.0]])
        apart[type(ranker).__name__] = high - low
    assert apart["RankBoost"] == pytest.approx(0.5 * np.log(380 / 20))
    o = np.linspace(0, 10, 100_001)
    loss = 380 * fidelity(o) + 20 * fidelity(-o)
    assert apart["FRank"] == pytest.approx(o[loss.argmin()], abs=1e-3)
    assert apart["FRank"] > 4 * apart["RankBoost"] - 1


def test_separable_rows_stay_finite():
    X, y = np.arange(12.0).reshape(-1, 1), np.arange(12) // 4
    fitted = FRank(4000).fit(X, y)
    assert np.isfinite(fitted.predict(X)).all()
    assert np.isfinite(fitted.loss_curve_).all()
    assert (np.diff(fitted.loss_curve_) < 0).all()
    assert fitted.loss_curve_[-1] < 1e-6


def test_limit_of_pairs(judged):
    X, y, qid = judged
    n_pairs = len(pairs_of(y, qid)[0])
    FRank(1, max_pairs=n_pairs).fit(X, y, qid=qid)
    with pytest.raises(ValueError, match=f"is less than the {n_pairs} pairs of the training rows"):
        FRank(1, max_pairs=n_pairs - 1).fit(X, y, qid=qid)


def test_warm_start_continues_to_the_bit(judged, tmp_path):
    X, y, qid = judged
    whole = FRank(20).fit(X, y, qid=qid)
    parts = FRank(7, warm_start=True).fit(X, y, qid=qid)
    parts = rankwise.load(parts.save(tmp_path / "model"))
    parts.set_params(n_estimators=20).fit(X, y, qid=qid)
    assert (parts.loss_curve_ == whole.loss_curve_).all()
    assert (parts.predict(X) == whole.predict(X)).all()


def test_order_of_rows_and_threads_change_no_bit(judged, rng, monkeypatch):
    X, y, qid = judged
    expected = FRank(20).fit(X, y, qid=qid)
    order = rng.permutation(len(y))
    shuffled = FRank(20).fit(X[order], y[order], qid=qid[order])
    assert (shuffled.predict(X) == expected.predict(X)).all()
    monkeypatch.setattr("rankwise.solvers.boosting.pair_boosting.PAIRS_AT_ONCE", 50)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("RANKWISE_NUM_THREADS", threads)
        found.append(FRank(20).fit(X, y, qid=qid))
    assert (found[0].predict(X) == found[1].predict(X)).all()
    np.testing.assert_allclose(found[0].loss_curve_, expected.loss_curve_, rtol=1e-12)
