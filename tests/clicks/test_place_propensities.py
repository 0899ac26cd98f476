"""Examination by place: a naive maximum, refusals, and intervals that resampling confirms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from rankwise import RankingData
from rankwise.clicks import ClickLog, ClickModel, judgements, propensities, simulate_clicks
from rankwise.clicks.simulation import EXAMINATION
from rankwise.report import write_click_report


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
    data = RankingData(
        np.zeros((n, 1)), rng.integers(0, 4, n).astype(float), qid=np.arange(n) // 12
    )
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
    # All parameters together: 30 impressions are too few for one of each pair.
    joint = ClickModel("pbm", joint_prior=True).fit(log)
    assert joint.examination_[1] - 4 * joint.examination_se_[1] > EXAMINATION[1]
    assert "Pass joint_prior=False" in joint.notes_[0]


def test_places_that_no_pair_links_are_refused():
    log = ClickLog.from_columns(
        ["q"] * 8, list("aabbccdd"), [1, 2, 1, 2, 3, 4, 4, 3], [1, 1, 0, 1, 1, 0, 1, 1]
    )
    with pytest.raises(ValueError, match=r"These groups of places lack that: 1–2 \| 3–4\."):
        propensities(log)


def one_way_log(n=20):
    """Document d is clicked at place 1 only; place 2 has its clicks with another document."""
    return ClickLog.from_columns(
        ["q"] * 2 * n + ["z"] * n, ["d"] * 2 * n + ["x"] * n, [1] * n + [2] * 2 * n,
        [1] * 8 + [0] * (2 * n - 8) + [1] * 10 + [0] * (n - 10),
        session=[*range(2 * n), *range(2 * n, 3 * n)],
    )  # fmt: skip


@pytest.mark.parametrize(
    "estimate",
    [
        propensities,
        lambda log: propensities(log, "em"),
        lambda log: judgements(log, "ips"),
        lambda log: judgements(log, "ips", grades=5),
        lambda log: judgements(log, "harvest"),
        lambda log: judgements(log, "harvest", shrinkage=0),
    ],
)
def test_clicks_must_go_both_ways(estimate):
    """The examination of place 2 would fall to 0 for ever."""
    with pytest.raises(ValueError, match=r"These groups of places lack that: 1 \| 2\."):
        estimate(one_way_log())


def test_who_does_not_refuse_says_so(tmp_path):
    log = one_way_log()
    summary = log.summary()
    assert not summary.identifies_examination
    assert "across these groups: 1 | 2. Randomise" in summary.verdict()
    page = write_click_report(log, tmp_path / "page.html").read_text()
    assert "No examination: clicks must go both ways" in page
    for name in ("pbm", "ubm"):
        model = ClickModel(name).fit(log)
        assert "clicks do not go both ways" in model.notes_[0]
        assert np.nanmax(model.examination_se_) == 0  # of the unit; no other is known
        assert (model.predict_proba(log) > 0).all()


@pytest.mark.parametrize("seed", range(20))
def test_links_are_those_of_a_naive_search(seed):
    rng = np.random.default_rng(seed)
    n, n_places = 12 + seed, 6
    log = ClickLog.from_columns(
        ["q"] * n, rng.integers(5, size=n), rng.integers(1, n_places + 1, size=n),
        rng.random(n) < 0.6,
    )  # fmt: skip
    rows = list(zip(log.pairs.code, log.place, log.click, strict=True))
    clicked = sorted({int(k) for _, k, click in rows if click})
    leads = {(k, k) for k in clicked}
    leads |= {
        (int(k), int(j))
        for p, k, click in rows if click
        for other, j, _ in rows if other == p and j in clicked
    }  # fmt: skip
    for via in clicked:
        leads |= {(a, b) for a in clicked for b in clicked if {(a, via), (via, b)} <= leads}
    groups = {tuple(j for j in clicked if {(k, j), (j, k)} <= leads) for k in clicked}
    assert sorted(tuple(part.tolist()) for part in log.summary().components) == sorted(groups)
    if len(groups) == 1:
        assert propensities(log).examination[np.isin(propensities(log).place, clicked)].min() > 1e-6


def test_a_place_that_one_query_links_has_an_interval():
    """All spread between queries is elsewhere."""
    rng = np.random.default_rng(0)
    log = moved_log(3, n_places=2)
    place = np.r_[log.place, np.repeat([1, 3], 100)]
    click = np.r_[log.click, rng.random(100) < 0.4, rng.random(100) < 0.2]
    query = np.r_[log.query.names[log.query.codes], ["new"] * 200]
    document = np.r_[log.document.names[log.document.codes], ["x"] * 200]
    found = propensities(ClickLog.from_columns(query, document, place, click))
    n, m = click[-200:-100].sum(), click[-100:].sum()
    least = np.sqrt((1 - n / 100) / n + (1 - m / 100) / m)
    assert np.log(found.high[2] / found.low[2]) / 2 > 1.8 * least


TOPS = {"never": (0.0, 1.0, 0.5, 0.4), "hardly": (0.01, 1.0, 0.5, 0.4)}


def log_of_an_advertisement(top, seed=0, n_lists=1500):
    """Lists in random order, whose top place is never or hardly looked at; and the appeal."""
    rng = np.random.default_rng(seed)
    appeal = 0.6 * rng.random((15, 4))
    query = rng.integers(15, size=n_lists)
    shown = np.argsort(rng.random((n_lists, 4)), axis=1)
    click = rng.random(shown.shape) < appeal[query[:, None], shown] * np.array(TOPS[top])
    log = ClickLog.from_columns(
        np.repeat(query, 4), shown.ravel(), np.tile([1, 2, 3, 4], n_lists), click.ravel(),
        session=np.repeat(np.arange(n_lists), 4), arm=np.repeat("random", 4 * n_lists),
    )  # fmt: skip
    return log, appeal


@pytest.mark.parametrize("method", ["random", "harvest", "em"])
@pytest.mark.parametrize("top", TOPS)
def test_a_top_place_nobody_looks_at_is_not_the_unit(method, top):
    log, _ = log_of_an_advertisement(top)
    found = propensities(log, method, arm="random")
    assert found.unit == 2
    np.testing.assert_allclose(found.examination[1:], TOPS[top][1:], atol=0.12)
    assert found.examination[0] < 0.04
    assert "relative to place 2, which has 1: place 1 " in found.notes[-1]
    assert found.low[1] == found.high[1] == 1


@pytest.mark.parametrize("method", ["pbm", "ubm"])
@pytest.mark.parametrize("joint_prior", [False, True])
@pytest.mark.parametrize("top", TOPS)
def test_attractiveness_is_on_the_scale_of_the_most_examined_place(method, joint_prior, top):
    log, appeal = log_of_an_advertisement(top)
    model = ClickModel(method, joint_prior=joint_prior).fit(log)
    assert any("examination is relative to place 2" in note for note in model.notes_)
    q, d = (
        ids.names[codes].astype(int)
        for ids, codes in ((log.query, log.pairs.query), (log.document, log.pairs.document))
    )
    error = np.abs(model.attractiveness_ - appeal[q, d])
    assert (error < 3 * model.attractiveness_se_).mean() > 0.9
    assert error.mean() < 0.06


@pytest.mark.parametrize("method", ["sdbn", "dbn"])
@pytest.mark.parametrize("top", TOPS)
def test_models_that_read_downwards_say_what_the_top_place_lacks(method, top):
    log, _ = log_of_an_advertisement(top)
    notes = ClickModel(method).fit(log).notes_
    assert any(f"place 1 has {log.click[log.place == 1].sum()} clicks, where" in n for n in notes)
    kept = log.take(np.flatnonzero(log.place > 1))
    assert ClickModel(method).fit(kept).notes_ == []


def test_a_usual_top_place_is_the_unit():
    switched = 0
    for seed in range(40):
        log = moved_log(seed, n=800)
        switched += propensities(log).unit != 1
        switched += ClickModel("pbm").fit(log).notes_ != []
    assert switched == 0


@pytest.mark.parametrize("model", ["ctr", "pbm", "ubm", "sdbn", "dbn"])
@pytest.mark.parametrize(
    ("place", "click"),
    [
        ([1, 2, 3], [1, 1, 1]),
        ([1, 1, 1], [1, 0, 0]),
        ([5, 5, 5], [1, 1, 1]),
        ([2, 4, 9], [0, 1, 0]),
    ],
    ids=["all clicked", "one place", "one low place, all clicked", "one place clicked"],
)
@pytest.mark.parametrize("n_lists", [1, 40])
def test_logs_that_determine_little_are_fitted(model, place, click, n_lists):
    shown = np.stack([np.roll(list("abc"), k) for k in range(n_lists)]).ravel()
    if place[0] == place[1]:
        place, click, shown = place[:1], click[:1], shown[::3]
    n = len(place)
    log = ClickLog.from_columns(
        ["q"] * n * n_lists, shown, place * n_lists, click * n_lists,
        session=np.repeat(np.arange(n_lists), n), first_place=1,
    )  # fmt: skip
    fitted = ClickModel(model).fit(log)
    assert fitted.converged_
    p = fitted.predict_proba(log)
    assert ((p > 0) & (p <= 1)).all()
    assert np.isfinite(fitted.attractiveness_se_).all()
    if model == "pbm" and all(click):
        np.testing.assert_allclose(fitted.examination_[np.array(place) - 1], 1.0, rtol=1e-6)


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
    with pytest.raises(ValueError, match="method must be one of 'random', 'harvest', 'em'"):
        propensities(log, "guess")


@pytest.mark.parametrize("n", [2, 5, 10, 100])
def test_intervals_of_em_hold(n):
    """200 pairs of n impressions, near a place of their own."""
    g, covered = np.array([1.0, 0.6, 0.3, 0.15]), []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        pair = np.repeat(np.arange(200), n)
        place = np.clip(rng.integers(1, 5, size=200)[pair] + rng.integers(2, size=len(pair)), 1, 4)
        click = rng.random(len(pair)) < rng.beta(2, 5, size=200)[pair] * g[place - 1]
        log = ClickLog.from_columns(pair % 30, pair, place, click)
        if n < 10 and not log.summary().identifies_examination:
            continue
        found = propensities(log, "em")
        covered.append(((found.low <= g) & (g <= found.high))[1:].mean())
    assert np.mean(covered) > 0.86  # .95 expected; joint_prior=True makes it .0 to .5


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_two_impressions_a_pair_are_enough_for_the_default(seed):
    """A good logger; predictions of another log of the same users are better, too."""
    rng = np.random.default_rng(seed)
    appeal = rng.beta(1, 3, size=(900, 12))
    g = 1 / np.arange(1, 9)

    def record(n_lists):
        query = rng.integers(900, size=n_lists)
        shown = np.argsort(-appeal[query] - 0.2 * rng.gumbel(size=(n_lists, 12)), axis=1)[:, :8]
        click = rng.random(shown.shape) < appeal[query[:, None], shown] * g
        return ClickLog.from_columns(
            np.repeat(query, 8), shown.ravel(), np.tile(np.arange(1, 9), n_lists), click.ravel()
        )

    log, other = record(2000), record(2000)
    default, joint = (ClickModel("pbm", joint_prior=joint).fit(log) for joint in (False, True))
    assert np.abs(default.examination_ - g).max() < 0.15
    assert joint.examination_[1] > 0.9  # in truth .5
    chances = [np.where(other.click, p, 1 - p) for p in
               (model.predict_proba(other) for model in (default, joint))]  # fmt: skip
    assert np.log(chances[0]).mean() > np.log(chances[1]).mean()
