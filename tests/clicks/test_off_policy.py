"""Off-policy values by their formulas, against the truth in simulation, and on Open Bandit."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rankwise.clicks import ClickLog, ClickModel, off_policy, read_clicks

BANDIT = Path(os.environ.get("RANKWISE_DATA", "")) / "open-bandit"


def bandit_log(rng, n=2000, n_actions=4):
    """One document per list, drawn by a softmax; the target is another softmax."""
    logits = rng.normal(size=n_actions)
    logging = np.exp(logits) / np.exp(logits).sum()
    target = np.exp(-logits) / np.exp(-logits).sum()
    rate = rng.uniform(0.1, 0.8, size=n_actions)
    action = rng.choice(n_actions, size=n, p=logging)
    click = rng.random(n) < rate[action]
    log = ClickLog.from_columns(["q"] * n, action, [1] * n, click, propensity=logging[action])
    return log, action, click.astype(float), logging, target, rate


def test_one_document_lists_equal_the_formulas_of_bandits():
    rng = np.random.default_rng(0)
    log, action, reward, logging, target, rate = bandit_log(rng)
    w = target[action] / logging[action]
    guess = rate + 0.1 * rng.normal(size=len(rate))
    expected = np.full(len(action), target @ guess)
    formulas = {
        "ips": (w * reward).mean(),
        "item-position": (w * reward).mean(),
        "snips": (w * reward).sum() / w.sum(),
        "dr": (expected + w * (reward - guess[action])).mean(),
    }
    for estimator, value in formulas.items():
        found = off_policy(
            log, target[action], "CTR", estimator, baseline=(guess[action], expected)
        )
        np.testing.assert_allclose(found.value, value, rtol=1e-12)
        assert found.low < found.value < found.high
    ips = off_policy(log, target[action], "CTR", "ips")
    error = (w * reward).std(ddof=1) / np.sqrt(len(w))
    np.testing.assert_allclose(ips.high - ips.low, 2 * 1.961 * error, rtol=1e-3)
    np.testing.assert_allclose(ips.effective_size, w.sum() ** 2 / (w**2).sum())
    np.testing.assert_allclose(ips.largest_weight, w.max())
    assert ips.logged_value == reward.mean()


@pytest.mark.parametrize("estimator", ["ips", "snips", "dr"])
def test_intervals_cover_the_truth(estimator):
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(200):
        log, action, _, _, target, rate = bandit_log(rng, n=500)
        guess = rate[action] * 0.8
        baseline = (guess, np.full(len(action), target @ (rate * 0.8)))
        try:
            found = off_policy(log, target[action], "CTR", estimator, baseline=baseline)
        except ValueError:  # too far from the log: no value, so no interval that could miss
            covered += 1
            continue
        covered += found.low <= target @ rate <= found.high
    assert covered > 180


def list_log(rng, n=4000, n_documents=4, n_places=3):
    """Lists that are random permutations; clicks are position-based."""
    shown = np.argsort(rng.random((n, n_documents)), axis=1)[:, :n_places]
    appeal, v = np.array([0.8, 0.5, 0.3, 0.1]), np.array([1.0, 0.6, 0.3])
    click = rng.random((n, n_places)) < appeal[shown] * v
    chance = 1 / np.array([4, 3, 2])  # of each place, given the places above
    log = ClickLog.from_columns(
        ["q"] * (n * n_places),
        shown.ravel(),
        np.tile(np.arange(1, n_places + 1), n),
        click.ravel(),
        session=np.repeat(np.arange(n), n_places),
        propensity=np.tile(chance, n),
    )
    marginal = ClickLog.from_columns(
        ["q"] * (n * n_places),
        shown.ravel(),
        np.tile(np.arange(1, n_places + 1), n),
        click.ravel(),
        session=np.repeat(np.arange(n), n_places),
        propensity=np.full(n * n_places, 1 / n_documents),
    )
    return log, marginal, appeal, v


def test_whole_lists_equal_the_formulas():
    rng = np.random.default_rng(2)
    log, marginal, appeal, v = list_log(rng)
    run = {"q": {"0": 4.0, "1": 3.0, "2": 2.0, "3": 1.0}}
    discount = 1 / np.log2([2, 3, 4])
    truth = {"CTR": (appeal[:3] * v).mean(), "DCG@2": (appeal[:2] * v[:2] * discount[:2]).sum()}
    shown = np.array([log.document.names[c] for c in log.document.codes], dtype=int).reshape(-1, 3)
    clicks = log.click.reshape(-1, 3)
    for metric, value in truth.items():
        k = 3 if metric == "CTR" else 2
        gain = np.full(3, 1 / 3) if metric == "CTR" else np.append(discount[:2], 0)
        match = (shown == [0, 1, 2])[:, :k].all(axis=1)
        weight = match * (24 if k == 3 else 12)
        reward = clicks @ gain
        ips = off_policy(log, run, metric, "ips")
        np.testing.assert_allclose(ips.value, (weight * reward).mean(), rtol=1e-12)
        snips = off_policy(log, run, metric, "snips")
        np.testing.assert_allclose(snips.value, (weight * reward).sum() / weight.sum())
        item = off_policy(marginal, run, metric, "item-position")
        rows = ((shown == [0, 1, 2]) * 4 * clicks) @ gain
        np.testing.assert_allclose(item.value, rows.mean(), rtol=1e-12)
        model = ClickModel("pbm").fit(marginal)
        dr = off_policy(marginal, run, metric, "dr", baseline=model)
        for found in (ips, snips, item, dr):
            assert found.low - 0.02 < value < found.high + 0.02
        assert dr.high - dr.low < item.high - item.low < ips.high - ips.low


def test_too_little_overlap_is_refused():
    n = 200
    log = ClickLog.from_columns(
        ["q"] * n,
        ["x"] * 190 + ["y"] * 10,
        [1] * n,
        [1, 0] * 100,
        propensity=[0.95] * 190 + [0.05] * 10,
    )
    with pytest.raises(ValueError, match=r"effective size is 10.0, below min_effective_size=50"):
        off_policy(log, {"q": {"y": 1.0}})
    found = off_policy(log, {"q": {"y": 1.0}}, min_effective_size=5)
    assert "only 5 clicks" in found.notes[0]


def test_wrong_propensities_are_noticed():
    n = 1000
    log = ClickLog.from_columns(
        ["q"] * n, ["x", "y"] * 500, [1] * n, [1, 0] * 500, propensity=[0.9] * n
    )
    assert "weights have mean 0.556, not 1" in off_policy(log, {"q": {"x": 1.0}}).notes[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metric": "AP"}, "metric must be 'CTR', 'DCG' or 'DCG@k'"),
        ({"estimator": "mrdr"}, "estimator must be one of ips"),
        ({"estimator": "dr"}, "needs baseline"),
        ({"target": {"r": {"x": 1.0}}}, "target has no list for 1 queries of the log, such as 'q'"),
        ({"target": np.ones(3)}, "target must have one number per row"),
        ({"target": -np.ones(100)}, "target must be numbers >= 0"),
    ],
)
def test_wrong_parameters_are_named(change, message):
    log = ClickLog.from_columns(
        ["q"] * 100, ["x", "y"] * 50, [1] * 100, [1, 0] * 50, propensity=[0.5] * 100
    )
    with pytest.raises(ValueError, match=message):
        off_policy(**({"log": log, "target": {"q": {"x": 1.0}}} | change))


def test_targets_have_one_entry_per_row_of_the_table():
    """A table given twice, or too short, is refused, also for a part of the log."""
    log = ClickLog.from_columns(
        ["q"] * 4, list("abab"), [1, 2, 2, 1], [1, 0, 0, 1], session=[1, 1, 2, 2],
        propensity=[0.5] * 4,
    )  # fmt: skip
    target = np.array([0.9, 0.9, 0.1, 0.1])
    part = log.take(np.arange(2))
    for wrong in (np.r_[target, target], target[:3]):
        for of_log in (log, part):
            with pytest.raises(ValueError, match=r"target must have one number per row .* 4, got"):
                off_policy(of_log, wrong, min_effective_size=0)
    found = off_policy(log, target, "DCG@2", min_effective_size=0)
    for same in (pd.Series(target), pl.Series(target), list(target), pd.Series([9, 9, 1, 1]) / 10):
        assert off_policy(log, same, "DCG@2", min_effective_size=0) == found


def test_a_log_without_propensities_is_refused():
    with pytest.raises(ValueError, match="needs the probability"):
        off_policy(ClickLog.from_columns(["q"], ["x"], [1], [1]), {"q": {"x": 1.0}})


@pytest.mark.parametrize("campaign", ["all", "men", "women"])
def test_open_bandit_smoke(campaign):
    """38 to 69 clicks prove nothing: the other policy's value lies within wide intervals."""
    if not BANDIT.is_dir():
        pytest.skip("needs the folder of data")
    frame = pd.read_csv(BANDIT / f"random-{campaign}.csv.gz")
    other = pd.read_csv(BANDIT / f"bts-{campaign}.csv.gz")
    chance = other.groupby(["item_id", "position"]).propensity_score.mean()
    target = np.array(
        [chance.get(key, 0.0) for key in zip(frame.item_id, frame.position, strict=True)]
    )
    log = read_clicks(
        BANDIT / f"random-{campaign}.csv.gz", query="user_feature_0", doc="item_id", time=False
    )
    assert log.click.sum() == {"all": 38, "men": 46, "women": 46}[campaign]
    found = off_policy(log, target, "CTR", "snips")
    assert found.low <= other.click.mean() <= found.high
    assert found.effective_size > 200
