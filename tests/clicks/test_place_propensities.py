"""Examination by place: a naive maximum, refusals, and intervals that resampling confirms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from rankwise import RankingData
from rankwise.clicks import ClickLog, ClickModel, propensities, simulate_clicks
from rankwise.clicks.simulation import EXAMINATION


def moved_log(seed=0, n=6000, n_queries=40, n_places=4):
    rng = np.random.default_rng(seed)
    query, document = rng.integers(n_queries, size=n), rng.integers(5, size=n)
    place = rng.integers(1, n_places + 1, size=n)
    appeal = rng.beta(1, 2, size=(n_queries, 5))[query, document]
    return ClickLog.from_columns(query, document, place, rng.random(n) < appeal / place)


def naive_harvest(log):
    """Maximum of the product of multinomial likelihoods of the clicks of each pair."""
    n_pairs, n_places = len(log.pairs.query), log.n_places
    n, c = np.zeros((n_pairs, n_places)), np.zeros((n_pairs, n_places))
    for pair, place, click in zip(log.pairs.code, log.place, log.click, strict=True):
        n[pair, place - 1] += 1
        c[pair, place - 1] += click

    def loss(eta):
        exposure = n * np.exp(np.append(0.0, eta))
        share = exposure / exposure.sum(axis=1, keepdims=True)
        return -(c * np.log(np.where(c > 0, share, 1.0))).sum()

    eta = minimize(loss, np.zeros(n_places - 1), method="BFGS", options={"gtol": 1e-7}).x
    return np.exp(np.append(0.0, eta))


def test_harvest_is_the_maximum():
    log = moved_log()
    np.testing.assert_allclose(propensities(log).examination, naive_harvest(log), rtol=1e-4)


def test_random_is_the_ratio_of_rates():
    log = moved_log(1)
    rate = np.array([log.click[log.place == k].mean() for k in range(1, 5)])
    np.testing.assert_allclose(propensities(log, "random").examination, rate / rate[0], rtol=1e-12)


@pytest.mark.parametrize("method", ["random", "harvest"])
def test_intervals_are_those_of_resampled_queries(method):
    log = moved_log(2)
    rng = np.random.default_rng(0)
    estimates = []
    for _ in range(200):
        drawn = rng.integers(40, size=40)
        parts = [np.flatnonzero(log.query.codes == q) for q in drawn]
        rows = np.concatenate(parts)
        names = np.repeat(np.arange(40), [len(part) for part in parts])  # copies are new queries
        again = ClickLog.from_columns(
            names, log.document.codes[rows], log.place[rows], log.click[rows]
        )
        estimates.append(np.log(propensities(again, method).examination))
    found = propensities(log, method)
    width = np.log(found.high / found.low)[1:] / (2 * 2.023)  # t quantile of 39 degrees
    np.testing.assert_allclose(width, np.std(estimates, axis=0)[1:], rtol=0.25)


def test_relevance_does_not_bias_harvest():
    """Better documents are shown higher; few impressions per pair."""
    rng = np.random.default_rng(0)
    n = 600 * 12
    data = RankingData(np.zeros((n, 1)), rng.integers(0, 4, n).astype(float), np.arange(n) // 12)
    log = simulate_clicks(
        data, data.y + rng.normal(size=n), n_sessions=20_000, temperature=1.0, random_state=1
    )
    found = propensities(log)
    covered = (found.low <= EXAMINATION) & (found.high >= EXAMINATION)
    assert covered[1:].sum() >= 8
    assert np.abs(found.examination - EXAMINATION).max() < 0.03
    biased = propensities(log, "random")
    assert biased.high[1] < EXAMINATION[1]
    em = propensities(log, "em")
    assert np.abs(em.examination - EXAMINATION).max() < 0.04
    assert not em.notes
    # A prior for every pair is one impression too many for 30 of each.
    joint = ClickModel("pbm", joint_prior=True).fit(log)
    assert joint.examination_[1] - 4 * joint.examination_se_[1] > EXAMINATION[1]
    assert "impressions per pair are few" in joint.notes_[0]


def test_places_that_no_pair_links_are_refused():
    log = ClickLog.from_columns(
        ["q"] * 8, list("aabbccdd"), [1, 2, 1, 2, 3, 4, 4, 3], [1, 1, 0, 1, 1, 0, 1, 1]
    )
    with pytest.raises(ValueError, match=r"no pair in common: 1–2 \| 3–4"):
        propensities(log)


def test_a_place_without_clicks_has_examination_0():
    log = ClickLog.from_columns(["q"] * 6, list("aaabbb"), [1, 2, 3] * 2, [1, 1, 0, 0, 1, 0])
    found = propensities(log)
    assert found.examination[2] == 0
    assert np.isnan(found.high[2])
    assert "no clicks at places 3" in found.notes[0]
    assert "only 1 queries" in found.notes[1]
    assert np.isnan(found.low[1])


def test_an_arm_can_be_named():
    log = ClickLog.from_columns(
        ["q", "r"] * 8, list("ab") * 8, [1, 1, 2, 2] * 4, [1, 1, 1, 0] * 4,
        arm=["random", "random", "random", "random"] * 2 + ["live"] * 8,
    )  # fmt: skip
    found = propensities(log, "random", arm="random")
    np.testing.assert_allclose(found.examination, [1.0, 0.5])
    assert not any("no arm" in note for note in found.notes)
    with pytest.raises(ValueError, match="the log has no arm 'other'; it has random, live"):
        propensities(log, "random", arm="other")


def test_wrong_parameters_are_named():
    log = ClickLog.from_columns(["q"], ["a"], [1], [0])
    with pytest.raises(ValueError, match="holds no click"):
        propensities(log)
    with pytest.raises(ValueError, match="method must be one of random, harvest, em"):
        propensities(log, "guess")


@pytest.mark.parametrize("n", [10, 100])
def test_intervals_of_em_hold(n):
    """200 pairs of n impressions, near a place of their own."""
    g, covered = np.array([1.0, 0.6, 0.3, 0.15]), []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        pair = np.repeat(np.arange(200), n)
        place = np.clip(rng.integers(1, 5, size=200)[pair] + rng.integers(2, size=len(pair)), 1, 4)
        click = rng.random(len(pair)) < rng.beta(2, 5, size=200)[pair] * g[place - 1]
        found = propensities(ClickLog.from_columns(pair % 30, pair, place, click), "em")
        covered.append(((found.low <= g) & (g <= found.high))[1:].mean())
    assert np.mean(covered) > 0.86  # .95 expected; the prior of every pair made it .5
