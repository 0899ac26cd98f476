"""Off-policy values by their formulas, against the truth in simulation, and on Open Bandit."""

from __future__ import annotations

import os
from dataclasses import replace
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
        "item_position": (w * reward).mean(),
        "snips": (w * reward).sum() / w.sum(),
        "dr": (expected + w * (reward - guess[action])).mean(),
    }
    for method, value in formulas.items():
        found = off_policy(log, target[action], "CTR", method, baseline=(guess[action], expected))
        np.testing.assert_allclose(found.value, value, rtol=1e-12)
        assert found.low < found.value < found.high
    ips = off_policy(log, target[action], "CTR", "ips")
    error = (w * reward).std(ddof=1) / np.sqrt(len(w))
    np.testing.assert_allclose(ips.high - ips.low, 2 * 1.961 * error, rtol=1e-3)
    np.testing.assert_allclose(ips.effective_size, w.sum() ** 2 / (w**2).sum())
    np.testing.assert_allclose(ips.largest_weight, w.max())
    assert ips.logged_value == reward.mean()


@pytest.mark.parametrize("method", ["ips", "snips", "dr"])
def test_intervals_cover_the_truth(method):
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(200):
        log, action, _, _, target, rate = bandit_log(rng, n=500)
        guess = rate[action] * 0.8
        baseline = (guess, np.full(len(action), target @ (rate * 0.8)))
        try:
            found = off_policy(log, target[action], "CTR", method, baseline=baseline)
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
        list_propensity=np.tile(chance, n),
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
        item = off_policy(marginal, run, metric, "item_position")
        rows = ((shown == [0, 1, 2]) * 4 * clicks) @ gain
        np.testing.assert_allclose(item.value, rows.mean(), rtol=1e-12)
        model = ClickModel("pbm").fit(marginal)
        dr = off_policy(marginal, run, metric, "dr", baseline=model)
        for found in (ips, snips, item, dr):
            assert found.low - 0.02 < value < found.high + 0.02
        assert dr.high - dr.low < item.high - item.low < ips.high - ips.low


PERMUTED = 1500  # lists of three documents in random order, each as likely as any other
KINDS = {
    "place": np.full(3 * PERMUTED, 1 / 3),
    "list": np.full(3 * PERMUTED, 1 / 6),
    "given": np.tile([1 / 3, 1 / 2, 1.0], PERMUTED),
}


def permuted_log(**columns):
    rng = np.random.default_rng(4)
    shown = np.argsort(rng.random((PERMUTED, 3)), axis=1)
    click = rng.random((PERMUTED, 3)) < np.array([0.6, 0.3, 0.1])[shown] * [1.0, 0.5, 0.3]
    return ClickLog.from_columns(
        ["lamp"] * (3 * PERMUTED),
        np.array(["x", "y", "z"])[shown.ravel()],
        np.tile([1, 2, 3], PERMUTED),
        click.ravel(),
        session=np.repeat(np.arange(PERMUTED), 3),
        **columns,
    )


XYZ = {"lamp": {"x": 3.0, "y": 2.0, "z": 1.0}}  # the truth of its click rate is 0.26


@pytest.mark.parametrize("method", ["ips", "snips", "item_position", "dr"])
@pytest.mark.parametrize("kind", ["place", "list", "given"])
@pytest.mark.parametrize("column", ["propensity", "list_propensity"])
def test_each_estimator_takes_its_own_probabilities(method, kind, column):
    """Case 37: of any column but the right one, there is no value, whatever its size."""
    log = permuted_log(**{column: KINDS[kind]})
    model = ClickModel("pbm").fit(log) if method == "dr" else None
    by_item = method in ("item_position", "dr")
    if column != ("propensity" if by_item else "list_propensity"):
        needed = "propensity" if by_item else "list_propensity"
        with pytest.raises(ValueError, match=f"needs the probability with .* log {needed}="):
            off_policy(log, XYZ, "CTR", method, baseline=model)
    elif (kind == "place") == by_item:
        for metric, truth in (("CTR", 0.26), ("DCG@1", 0.6)):
            found = off_policy(log, XYZ, metric, method, baseline=model)
            assert found.low < truth < found.high
            assert found.notes == []
    else:
        with pytest.raises(ValueError, match=f"beyond chance: check {column}=.*It must be"):
            off_policy(log, XYZ, "CTR", method, baseline=model)


def test_probabilities_of_lists_may_be_given_by_row():
    """That of the list, and those of rows given the rows above, are the same; of targets too."""
    whole, rows = (permuted_log(list_propensity=KINDS[kind]) for kind in ("list", "given"))
    expected = off_policy(whole, XYZ, "CTR", "ips")
    assert off_policy(rows, XYZ, "CTR", "ips") == expected
    assert off_policy(rows.take(np.arange(len(rows))), XYZ, "CTR", "ips") == expected
    code = np.array([XYZ["lamp"][d] for d in np.asarray(whole.document)]).reshape(-1, 3)
    match = (code == [3, 2, 1]).all(axis=1)
    for target in (np.repeat(match, 3) * 1.0, (code == [3, 2, 1]).ravel() * 1.0):
        for log in (whole, rows):
            found = off_policy(log, target, "CTR", "ips")
            np.testing.assert_allclose(found.value, expected.value, rtol=1e-12)
    # Down to k, probabilities of rows make narrower intervals.
    narrow, wide = (off_policy(log, XYZ, "DCG@1", "ips") for log in (rows, whole))
    assert narrow.high - narrow.low < 0.8 * (wide.high - wide.low)


@pytest.mark.parametrize("method", ["ips", "snips", "item_position"])
def test_in_lists_of_one_row_both_columns_are_the_same(method):
    rng = np.random.default_rng(3)
    log, action, _, logging, target, _ = bandit_log(rng)
    other = replace(log, propensity=None, list_propensity=logging[action])
    options = {"method": method, "min_effective_size": 1}
    assert off_policy(log, target[action], **options) == off_policy(
        other, target[action], **options
    )


def test_right_propensities_are_not_suspected():
    """Weights that are mostly 0 and now and then large have means far from 1 by chance."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        chance = 0.02 + 0.9 * rng.dirichlet(np.ones(5), size=30)
        query = rng.integers(30, size=300)
        shown = (rng.random(300)[:, None] > np.cumsum(chance, axis=1)[query]).sum(axis=1)
        shown = np.minimum(shown, 4)
        log = ClickLog.from_columns(
            query, shown, np.ones(300), rng.random(300) < 0.3,
            propensity=chance[query, shown],
        )  # fmt: skip
        target = {str(q): {str(d): 1.0} for q, d in enumerate(rng.integers(5, size=30))}
        assert off_policy(log, target, "CTR", "ips", min_effective_size=1).value > 0


def test_below_the_end_of_the_target_nothing_is_expected():
    """The target has one document for "lamp" and two for "bulb"; the log shows two for both."""
    rng = np.random.default_rng(5)
    n, query = 1000, np.repeat(["lamp", "bulb"] * 500, 2)
    first = rng.integers(2, size=n)
    shown = np.array(["x", "y"])[np.c_[first, 1 - first].ravel()]
    log = ClickLog.from_columns(
        query, shown, np.tile([1, 2], n), rng.random(2 * n) < 0.4,
        session=np.repeat(np.arange(n), 2), propensity=[0.5] * 2 * n,
    )  # fmt: skip
    target = {"lamp": {"x": 1.0}, "bulb": {"y": 2.0, "x": 1.0}}
    found = off_policy(log, target, "DCG", "item_position")
    assert found.low < 0.4 + 0.5 * 0.4 / np.log2(3) < found.high


def test_a_log_that_lacks_the_target_is_refused():
    """Half of the queries never show the target's document: weights have mean 0.5."""
    log = ClickLog.from_columns(
        ["a", "b"] * 1000, ["x", "y"] * 500 + ["y", "y"] * 500, [1] * 2000, [1, 0] * 1000,
        propensity=[0.5, 0.999] * 1000,
    )  # fmt: skip
    for method in ("snips", "item_position"):
        with pytest.raises(ValueError, match=r"mean 0\.500, not 1.*keep the queries"):
            off_policy(log, {"a": {"x": 1.0}, "b": {"x": 1.0}}, "CTR", method)


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
    assert "only 5 clicks" in found.notes[0] and f"note: {found.notes[0]}" in str(found)


def test_wrong_propensities_are_noticed():
    n = 1000
    log = ClickLog.from_columns(
        ["q"] * n, ["x", "y"] * 500, [1] * n, [1, 0] * 500, propensity=[0.9] * n
    )
    with pytest.raises(ValueError, match=r"weights of lists have mean 0\.556, not 1.*propensity"):
        off_policy(log, {"q": {"x": 1.0}})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"measure": "AP"}, "measure must be 'CTR', 'DCG' or 'DCG@k'"),
        ({"method": "mrdr"}, "method must be one of 'ips'"),
        ({"method": "dr"}, "needs baseline"),
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
        list_propensity=[0.5] * 4,
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
    one = ClickLog.from_columns(["q"], ["x"], [1], [1], propensity=[0.5])
    assert off_policy(one, [0.5], min_effective_size=0).value == 1


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
    # Means of propensity_score would count what was likely twice: weights of mean 2 and more.
    chance = other.groupby("position").item_id.value_counts(normalize=True)
    target = np.array(
        [chance.get(key, 0.0) for key in zip(frame.position, frame.item_id, strict=True)]
    )
    log = read_clicks(
        BANDIT / f"random-{campaign}.csv.gz", query="user_feature_0", doc="item_id", time=False
    )
    assert log.click.sum() == {"all": 38, "men": 46, "women": 46}[campaign]
    found = off_policy(log, target, "CTR", "snips")
    assert found.low <= other.click.mean() <= found.high
    assert found.effective_size > 200
