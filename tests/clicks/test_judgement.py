"""Judgements by their definitions; priors at the maximum of the marginal likelihood; files."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from rankwise import LambdaMART, RankingData, compare
from rankwise.clicks import (
    ClickLog,
    Judgements,
    judgements,
    propensities,
    read_judgements,
    simulate_clicks,
)
from rankwise.clicks.shrinkage import (
    average_strengths,
    cut_equally,
    fit_beta_binomial,
    fit_gamma_poisson,
    fit_normal,
)
from rankwise.datasets import read_qrels

FOLDER = Path(os.environ.get("RANKWISE_DATA", "")) / "esci-ubi"


def random_log(seed=0, n=4000):
    rng = np.random.default_rng(seed)
    document = rng.integers(12, size=n)
    place = rng.integers(1, 5, size=n)
    rate = 0.1 + 0.6 * (document / 12) / place
    return ClickLog.from_columns(rng.integers(3, size=n), document, place, rng.random(n) < rate)


def naive_counts(log):
    """Impressions and clicks by pair and place."""
    table = {}
    for pair, place, click in zip(log.pairs.code, log.place, log.click, strict=True):
        cell = table.setdefault(int(pair), {}).setdefault(int(place), [0, 0])
        cell[0] += 1
        cell[1] += bool(click)
    return table


def test_clicks_over_expected_clicks_by_definition():
    """(C + kappa mu) / (E + kappa): E adds, for every impression, the rate at that place."""
    log = random_log()
    rate = {k: log.click[log.place == k].mean() for k in range(1, 5)}
    judged = judgements(log, "coec", shrinkage="fit")
    held = judgements(log, "coec", shrinkage=judged.kappa)  # the strength is certain
    np.testing.assert_array_equal(held.grade, judged.grade)
    for pair, cells in naive_counts(log).items():
        clicks = sum(c for _, c in cells.values())
        expected = sum(n * rate[place] for place, (n, _) in cells.items())
        value = (clicks + judged.kappa * judged.mu) / (expected + judged.kappa)
        np.testing.assert_allclose(judged.grade[pair], value, rtol=1e-12)
        np.testing.assert_allclose(judged.weight[pair], expected / (expected + judged.kappa))
        posterior = stats.gamma(
            clicks + judged.kappa * judged.mu, scale=1 / (expected + judged.kappa)
        )
        np.testing.assert_allclose(
            [held.low[pair], held.high[pair]], posterior.ppf([0.025, 0.975]), rtol=1e-9
        )
    raw = judgements(log, "coec", shrinkage=0.0)
    total = sum(
        n * rate[place] for cells in naive_counts(log).values() for place, (n, _) in cells.items()
    )
    np.testing.assert_allclose(total, log.click.sum())  # so that the mean grade is about 1
    np.testing.assert_array_equal(raw.weight, judged.weight)
    assert raw.kappa == judged.kappa


def test_click_rates_by_definition():
    log = random_log(1)
    judged, raw = judgements(log, shrinkage="fit"), judgements(log)
    held = judgements(log, shrinkage=judged.kappa)
    for pair, cells in naive_counts(log).items():
        n, clicks = np.sum(list(cells.values()), axis=0)
        a, b = judged.kappa * judged.mu, judged.kappa * (1 - judged.mu)
        posterior = stats.beta(clicks + a, n - clicks + b)
        np.testing.assert_allclose(judged.grade[pair], posterior.mean(), rtol=1e-12)
        np.testing.assert_allclose(
            [held.low[pair], held.high[pair]], posterior.ppf([0.025, 0.975]), rtol=1e-9
        )
        np.testing.assert_allclose(raw.grade[pair], clicks / n)
        jeffreys = stats.beta(clicks + 0.5, n - clicks + 0.5).ppf([0.025, 0.975])
        np.testing.assert_allclose([raw.low[pair], raw.high[pair]], jeffreys, rtol=1e-9)


def test_inverse_propensities_by_definition():
    log = random_log(2)
    g = np.array([1.0, 0.5, 0.25, 0.2])
    judged = judgements(log, "ips", propensities=g, shrinkage=0.0)
    for pair, cells in naive_counts(log).items():
        n = sum(n for n, _ in cells.values())
        value = sum(c / g[place - 1] for place, (_, c) in cells.items()) / n
        np.testing.assert_allclose(judged.grade[pair], value, rtol=1e-12)
    found = judgements(log, "ips", propensities=propensities(log, "harvest"), shrinkage=0.0)
    own = judgements(log, "ips", shrinkage=0.0)
    np.testing.assert_array_equal(found.grade, own.grade)


def test_clicks_over_expected_looks_by_definition():
    log = random_log(2)
    g = np.array([1.0, 0.5, 0.25, 0.2])
    judged, raw = (judgements(log, "harvest", propensities=g, shrinkage=s) for s in ("fit", 0.0))
    rate = log.click.sum() / g[log.place - 1].sum()
    for pair, cells in naive_counts(log).items():
        looks = sum(n * g[place - 1] for place, (n, _) in cells.items())
        clicks = sum(c for _, c in cells.values())
        # At the mean rate, clicks vary as Poisson clicks that count so much each.
        chances = [rate * g[place - 1] for place, (n, _) in cells.items() for _ in range(n)]
        each = sum(chance * (1 - chance) for chance in chances) / sum(chances)
        value = (clicks + each * judged.kappa * judged.mu) / (looks + each * judged.kappa)
        np.testing.assert_allclose(judged.grade[pair], value, rtol=1e-12)
        np.testing.assert_allclose(raw.grade[pair], clicks / looks, rtol=1e-12)
    own = judgements(log, "harvest")
    given = judgements(log, "harvest", propensities=propensities(log))
    np.testing.assert_array_equal(own.grade, given.grade)


def drawn(seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 40, size=300).astype(float)
    return rng, n


def test_priors_maximise_the_marginal_likelihood():
    rng, n = drawn(0)
    clicks = rng.binomial(n.astype(int), rng.beta(2.0, 6.0, size=300)).astype(float)

    def beta_value(mu, kappa):
        return stats.betabinom(n, kappa * mu, kappa * (1 - mu)).logpmf(clicks).sum()

    def gamma_value(mu, kappa):
        # A gamma mixture of Poisson counts is negative binomial.
        return stats.nbinom(kappa * mu, kappa / (kappa + n)).logpmf(clicks).sum()

    for fit, value in ((fit_beta_binomial, beta_value), (fit_gamma_poisson, gamma_value)):
        mu, kappa = fit(clicks, n)
        best = value(mu, kappa)
        for factor in (0.97, 1.03):
            assert value(mu * factor, kappa) < best
            assert value(mu, kappa * factor) < best
    mu, kappa = fit_beta_binomial(clicks, n)
    assert abs(mu - 0.25) < 0.03
    assert 4 < kappa < 16


@pytest.mark.parametrize("binomial", [True, False])
def test_rates_are_averaged_over_strengths(binomial):
    """Flat priors of the variance of the rates and of their mean, by summing over a fine grid."""
    rng, n = drawn(1)
    clicks = rng.binomial(n.astype(int), rng.beta(2.0, 6.0, size=len(n))).astype(float)
    total, mean, square, least = 0.0, 0.0, 0.0, -600.0
    for kappa in np.geomspace(1, 100, 30):
        for mu in np.linspace(0.2, 0.32, 17):
            if binomial:
                value = stats.betabinom(n, kappa * mu, kappa * (1 - mu)).logpmf(clicks).sum()
                posterior = stats.beta(clicks + kappa * mu, n - clicks + kappa * (1 - mu))
                variance = mu * (1 - mu) / (kappa + 1)
            else:
                value = stats.nbinom(kappa * mu, kappa / (kappa + n)).logpmf(clicks).sum()
                posterior = stats.gamma(clicks + kappa * mu, scale=1 / (n + kappa))
                variance = mu / kappa
            # The step of a variance from one strength to the next.
            share = np.exp(value - least) * variance * (kappa / (kappa + binomial))
            total += share
            mean = mean + share * posterior.mean()
            square = square + share * (posterior.var() + posterior.mean() ** 2)
    found = average_strengths(clicks, n, 10.0, binomial=binomial)
    np.testing.assert_allclose(found[0], mean / total, rtol=0.02)
    np.testing.assert_allclose(found[1], square / total - (mean / total) ** 2, rtol=0.04)


@pytest.mark.parametrize("method", ["ctr", "coec", "harvest"])
def test_long_logs_leave_nothing_to_the_prior(method):
    """With millions of impressions a pair, intervals are those of raw rates."""
    log = ClickLog.from_columns(
        ["q"] * 4, list("aabb"), [1] * 4, [1, 0, 1, 0], weight=[1e6, 3e6, 2e6, 2e6]
    )
    judged, raw = (
        judgements(log, method, propensities=[1.0] if method == "harvest" else None, shrinkage=s)
        for s in ("fit", 0.0)
    )
    # With a fitted prior, clicks of "coec" vary less than Poisson ones.
    rtol = 1e-3 if method == "coec" else 1e-5
    for end in ("low", "high"):
        np.testing.assert_allclose(getattr(judged, end), getattr(raw, end), rtol=rtol)
    for weight in (1e-6, 1e-9):
        few = ClickLog.from_columns(
            ["q"] * 4, list("aabb"), [1] * 4, [1, 0, 1, 0], weight=[1e6, 1, 1, weight]
        )
        judged = judgements(few, "ctr", shrinkage="fit")
        assert np.isfinite([judged.low, judged.high]).all()


@pytest.mark.parametrize("n_pairs", [40, 300])
def test_intervals_of_pairs_with_less_than_a_click_cover(n_pairs):
    """A fitted strength alone would say that pairs do not differ, and cover .53 and .75."""
    covered = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rate = rng.beta(2, 5, size=n_pairs)
        document = np.repeat(np.arange(n_pairs), 10)
        near = rng.integers(10, size=n_pairs)[document] + rng.integers(3, size=len(document))
        place = np.clip(near, 1, 10)
        click = rng.random(len(place)) < rate[document] * EXAMINED[place - 1]
        log = ClickLog.from_columns(["q"] * len(place), document, place, click)
        judged = judgements(log, "harvest", propensities=EXAMINED)
        truth = rate[judged.doc_ids.astype(int)]
        covered.append(((judged.low <= truth) & (truth <= judged.high)).mean())
        assert judged.clicks.mean() < 1.3
    assert 0.93 < np.mean(covered) < 0.99


def test_normal_prior_maximises_its_likelihood():
    rng = np.random.default_rng(0)
    se = rng.uniform(0.05, 0.3, size=400)
    x = rng.normal(0.4, 0.2, size=400) + se * rng.normal(size=400)

    def value(mu, precision):
        return stats.norm(mu, np.sqrt(1 / precision + se**2)).logpdf(x).sum()

    mu, precision = fit_normal(x, se)
    best = value(mu, precision)
    for factor in (0.97, 1.03):
        assert value(mu * factor, precision) < best
        assert value(mu, precision * factor) < best
    assert abs(precision**-0.5 - 0.2) < 0.03


def test_pairs_that_do_not_differ_are_reported():
    rng = np.random.default_rng(0)
    n = 20_000
    alike = ClickLog.from_columns(["q"] * n, np.arange(n) % 20, [1] * n, rng.permutation(n) % 4 < 1)
    spread = np.ptp(judgements(alike, shrinkage="fit").grade)
    assert spread < 0.3 * np.ptp(judgements(alike, shrinkage=0.0).grade)
    even = ClickLog.from_columns(["q"] * n, np.arange(n) // 1000, [1] * n, np.arange(n) % 4 < 1)
    assert "no difference between pairs beyond chance" in judgements(even).notes[0]
    # A strength anywhere on the plateau of the likelihood, not only at its bound.
    click = rng.random(n) < 0.1
    thin = ClickLog.from_columns(["q"] * n, np.arange(n) % 9000, [1] * n, click)
    judged = judgements(thin, "coec", grades=5)
    assert (judged.weight.max() < 0.01) == ("no difference" in " ".join(judged.notes))


@pytest.mark.parametrize("method", ["ctr", "coec", "harvest", "ips"])
def test_grades_count_thresholds_that_are_exceeded(method):
    log = random_log(3)
    judged = judgements(log, method, grades=5)
    assert set(judged.grade) <= {0, 1, 2, 3, 4}
    assert len(set(judged.grade)) > 2
    strict = judgements(log, method, grades=5, certainty=0.95)
    assert (strict.grade <= judged.grade).all()
    assert (strict.grade < judged.grade).any()
    value = judgements(log, method)
    cuts = [0.0, np.median(value.grade), 10.0]
    own = judgements(log, method, grades=4, thresholds=cuts)
    exceeded = (value.low > cuts[1]) | (value.high < cuts[1])  # clear of the threshold
    expected = np.where(value.low > cuts[1], 2, 1)
    assert exceeded.sum() > 5
    np.testing.assert_array_equal(own.grade[exceeded], expected[exceeded])


def thin_log(per_pair, seed=0, n_queries=40, n_documents=20):
    """Lists of ten by a logger that shows good documents more often and higher; skewed rates."""
    rng = np.random.default_rng(seed)
    rate = rng.beta(0.6, 3.0, (n_queries, n_documents))
    n_lists = max(1, round(per_pair * n_documents / 10))
    drawn = np.log(rate + 0.02)[:, None] + rng.gumbel(size=(n_queries, n_lists, n_documents))
    shown = np.argsort(-drawn, axis=2)[:, :, :10].ravel()
    session = np.repeat(np.arange(n_queries * n_lists), 10)
    query, place = session // n_lists, np.tile(np.arange(1, 11), n_queries * n_lists)
    click = rng.random(len(query)) < rate[query, shown] * EXAMINED[place - 1]
    log = ClickLog.from_columns(query, shown, place, click, session=session, first_place=1)
    pairs = log.pairs
    return log, rate[log.query.values.to_numpy()[pairs.query],
                     log.document.values.to_numpy()[pairs.document]]  # fmt: skip


@pytest.mark.parametrize("per_pair", [1.5, 5, 22])
@pytest.mark.parametrize("method", ["ctr", "coec", "harvest", "ips", "pbm", "ubm", "sdbn", "dbn"])
def test_grades_follow_estimates_and_clicks(method, per_pair):
    """Of every method, at every density, for every number of grades."""
    log = thin_log(per_pair, seed=int(per_pair))[0]
    given = {"propensities": EXAMINED} if method in ("harvest", "ips") else {}
    value = judgements(log, method, **given)
    looks = np.bincount(log.pairs.code, EXAMINED[log.place - 1])
    clicked = value.clicks > 0
    levels = np.unique(value.grade[clicked])
    n_levels = 1 + (np.diff(levels) > 1e-12 * levels[1:]).sum() + (~clicked).any()
    for grades in range(2, 11):
        grade = judgements(log, method, grades=grades, **given).grade
        assert set(grade.tolist()) == set(range(min(grades, n_levels)))
        assert grade[~clicked].max(initial=0) == 0
        rising = np.argsort(value.grade[clicked], kind="stable")
        assert (np.diff(grade[clicked][rising]) >= 0).all()
        for exposure in (value.impressions, looks):
            for least in np.unique(exposure):
                shown_more = grade[~clicked & (exposure >= least)].max(initial=0)
                assert shown_more <= grade[clicked & (exposure <= least)].min(initial=grades)
    strict = judgements(log, method, grades=5, certainty=0.9, **given).grade
    lenient = judgements(log, method, grades=5, certainty=0.2, **given).grade
    plain = judgements(log, method, grades=5, **given).grade
    assert (strict <= plain).all()
    assert (plain <= lenient).all()
    assert (strict < plain).any()


@pytest.mark.parametrize("method", ["harvest", "ips"])
@pytest.mark.parametrize("least", [1e-3, 1e-12, 1e-30, 1e-200])
def test_grades_survive_any_examination(method, least):
    """Propensities that diverge make estimates huge, and must not merge the grades of others."""
    log = thin_log(5)[0]
    g = np.append(EXAMINED[:7], [least] * 3)
    judged = judgements(log, method, propensities=g, grades=5)
    assert set(judged.grade.tolist()) == {0, 1, 2, 3, 4}
    assert judged.grade[judged.clicks == 0].max() == 0


def test_grades_share_the_pairs():
    """Equal shares of the pairs that are left, from below; equal estimates stay together."""
    for values, grades, expected in (
        ([0, 0, 0, 1, 2, 3, 4], 3, [0, 0, 0, 1, 1, 2, 2]),
        ([0, 1, 2, 3, 4, 5], 3, [0, 0, 1, 1, 2, 2]),
        ([1, 2, 3, 4], 2, [0, 0, 1, 1]),
        ([0, 0, 1, 1, 1], 5, [0, 0, 1, 1, 1]),
        ([0, 2, 3, 5, 9, 9, 9, 9, 9], 5, [0, 1, 2, 3, 4, 4, 4, 4, 4]),
        ([0, 0.3, 0.1 + 0.2, 0.5], 3, [0, 1, 1, 2]),
        ([2, 2], 4, [0, 0]),
    ):
        value = np.array(values, dtype=float)
        cuts = cut_equally(value, value > 0, grades)
        assert (value[:, None] > np.array(cuts)).sum(axis=1).tolist() == expected
    # An estimate of a pair without clicks may exceed the others by its prior.
    assert len(cut_equally(np.array([0.5, 0.1, 0.2]), np.array([False, True, True]), 3)) == 2


def test_pairs_without_clicks_have_the_lowest_grade():
    """Case 41: most pairs shown once or twice, few clicks; thresholds of one's own too."""
    rng = np.random.default_rng(0)
    query = np.repeat(np.arange(400), 40)
    shown = np.concatenate([rng.choice(40, 10, replace=False) for _ in range(1600)])
    place = np.tile(np.arange(1, 11), 1600)
    click = rng.random(16_000) < rng.beta(0.3, 3, (400, 40))[query, shown] / place
    log = ClickLog.from_columns(query, shown, place, click, session=np.arange(16_000) // 10)
    for method in ("ctr", "coec", "harvest"):
        judged = judgements(log, method, grades=5)
        assert judged.grade[judged.clicks == 0].max() == 0
        assert set(judged.grade.tolist()) == {0, 1, 2, 3, 4}
        own = judgements(log, method, shrinkage=1.0, grades=3, thresholds=[1e-6, 0.4])
        assert (own.grade[own.clicks == 0] == 0).all()
        assert (own.grade[own.clicks > 0] >= 1).all()


@pytest.mark.parametrize("per_pair", [1.7, 5, 22])
@pytest.mark.parametrize("method", ["ctr", "coec", "harvest"])
def test_shrunk_intervals_cover_where_the_logger_knew(method, per_pair):
    """One prior for all pairs covered .6 to .9 here: it takes what was hardly shown for average."""
    missed = []
    for seed in range(8):
        log, rate = thin_log(per_pair, seed)
        given = {"propensities": EXAMINED} if method == "harvest" else {}
        judged = judgements(log, method, shrinkage="fit", **given)
        code, examined = log.pairs.code, EXAMINED[log.place - 1]
        truth = rate * np.bincount(code, examined) / judged.impressions
        if method == "harvest":
            truth = rate
        if method == "coec":
            by_place = np.zeros(11)
            shown = np.bincount(log.place)[1:]
            by_place[1:] = np.bincount(log.place, rate[code] * examined)[1:] / shown
            truth = truth * judged.impressions / np.bincount(code, by_place[log.place])
        missed.append(((truth < judged.low) | (truth > judged.high)).mean())
    assert np.mean(missed) < 0.08


def test_intervals_of_click_rates_cover():
    rng = np.random.default_rng(0)
    covered = total = 0
    for _ in range(20):
        n = rng.integers(5, 60, size=100)
        rate = rng.beta(2, 6, size=100)
        document = np.repeat(np.arange(100), n)
        click = rng.random(len(document)) < rate[document]
        log = ClickLog.from_columns(["q"] * len(document), document, [1] * len(document), click)
        judged = judgements(log, shrinkage="fit")
        truth = rate[judged.doc_ids.astype(int)]
        covered += ((judged.low <= truth) & (truth <= judged.high)).sum()
        total += 100
    assert 0.93 < covered / total < 0.97


EXAMINED = np.array([1.0, 0.674, 0.414, 0.293, 0.208, 0.171, 0.136, 0.117, 0.084, 0.058])


@pytest.mark.parametrize("shrinkage", [0.0, "fit"])
@pytest.mark.parametrize("n", [33, 100, 333])
def test_intervals_of_inverse_propensities_cover(n, shrinkage):
    """Documents that stay near a place, whose examination is known; also those with few clicks."""
    rng = np.random.default_rng(0)
    covered, few = [], []
    for _ in range(6):
        rate = rng.beta(2, 5, size=300)
        document = np.repeat(np.arange(300), n)
        place = np.clip(rng.integers(10, size=300)[document] + rng.integers(3, size=300 * n), 1, 10)
        click = rng.random(300 * n) < (rate[document] * EXAMINED[place - 1])
        log = ClickLog.from_columns(["q"] * 300 * n, document, place, click)
        judged = judgements(log, "ips", propensities=EXAMINED, shrinkage=shrinkage)
        truth = rate[judged.doc_ids.astype(int)]
        covered.append((judged.low <= truth) & (truth <= judged.high))
        few.append(judged.clicks < 5)
    covered, few = np.concatenate(covered), np.concatenate(few)
    assert 0.92 < covered.mean() < 0.985
    assert covered[few].mean() > 0.88


def test_intervals_of_models_stay_rates_and_cover():
    found = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        rate = rng.beta(1, 2, size=60)
        document, place = rng.integers(60, size=12_000), rng.integers(1, 11, size=12_000)
        click = rng.random(12_000) < rate[document] * EXAMINED[place - 1]
        log = ClickLog.from_columns(
            ["q"] * 12_000, document, place, click, session=np.arange(12_000)
        )
        for method in ("pbm", "ubm"):
            judged = judgements(log, method)
            truth = rate[judged.doc_ids.astype(int)]
            assert (judged.low >= 0).all()
            assert (judged.high <= 1).all()
            found.append((judged.low <= truth) & (truth <= judged.high))
        for method in ("sdbn", "dbn"):
            assert (judgements(log, method).high <= 1).all()
    assert 0.92 < np.mean(found) < 0.98


@pytest.mark.parametrize("method", ["ctr", "coec", "harvest", "ips", "pbm", "ubm", "sdbn", "dbn"])
@pytest.mark.parametrize("level", [0.1, 0.95])
def test_grades_lie_in_their_intervals(method, level):
    log = ClickLog.from_columns(
        ["q"] * 8, list("ababcdde"), [1, 2, 2, 1, 1, 2, 1, 2], [1, 0, 1, 0, 1, 0, 1, 0],
        session=[1, 1, 2, 2, 3, 3, 4, 4],
    )  # fmt: skip
    for shrinkage in (0.0, "fit"):
        judged = judgements(log, method, shrinkage=shrinkage, confidence_level=level)
        assert (judged.low <= judged.grade).all()
        assert (judged.grade <= judged.high).all()


def test_places_without_clicks_say_nothing_of_their_documents():
    log = ClickLog.from_columns(["q"] * 4, list("abcd"), [1, 2, 3, 1], [1, 0, 0, 0])
    judged = judgements(log, "coec", shrinkage=0.0)
    assert judged.weight[1:3].tolist() == [0, 0]
    assert judged.low[1:3].tolist() == [0, 0]
    assert judged.high[1:3].tolist() == [np.inf, np.inf]
    assert judged.high[[0, 3]].max() < 10
    with pytest.raises(
        ValueError, match="got 0 at place 2, from the log, which has no click there"
    ):
        judgements(log, "ips")


def test_a_heavy_user_is_named():
    columns = (["q"] * 40, ["a", "b"] * 20, [1, 2] * 20, [1, 0] * 20)
    users = ["heavy"] * 20 + list(range(20))
    assert judgements(ClickLog.from_columns(*columns, user=list(range(40)))).notes == []
    notes = judgements(ClickLog.from_columns(*columns, user=list(map(str, users)))).notes
    assert notes == [
        "one user has 50% of the impressions; intervals take impressions as independent and are "
        "too short"
    ]


@pytest.mark.parametrize(("least", "n_notes"), [(0.05, 0), (0.04, 1)])
def test_rarely_examined_places_are_named(least, n_notes):
    log = ClickLog.from_columns(["q"] * 400, ["a", "b"] * 200, [1, 2] * 200, [1, 1, 0, 0] * 100)
    notes = judgements(log, "ips", propensities=[1.0, least]).notes
    assert [note for note in notes if "clicks weigh up to 25 impressions" in note] == notes
    assert len(notes) == n_notes


def judged_data():
    rng = np.random.default_rng(0)
    n = 40 * 10
    X = rng.normal(size=(n, 4)).astype(np.float32)
    y = np.clip(np.round(X[:, 0] + 1), 0, 3).astype(float)
    doc_ids = np.array([f"d{i % 10}" for i in range(n)])
    return RankingData(X, y, qid=np.arange(n) // 10, doc_ids=doc_ids)


def test_clicks_train_a_ranker():
    """Grades and weights go into LambdaMART and compare as they are."""
    data = judged_data()
    log = simulate_clicks(
        data, np.random.default_rng(1).normal(size=len(data)), n_sessions=8000, temperature=3.0
    )
    for method in ("ctr", "coec", "harvest", "ips", "pbm"):
        labelled = judgements(log, method).label(data)
        assert len(labelled) == len(data)
        np.testing.assert_allclose(labelled.sample_weight.mean(), 1.0)
        ranker = LambdaMART(n_estimators=20).fit(
            labelled.X, labelled.y, qid=labelled.qid, sample_weight=labelled.sample_weight
        )
        assert ranker.score(data.X, data.y, qid=data.qid) > 0.85
    board = compare(["ridge", "linear_regression"], judgements(log).label(data), cv=2)
    assert "ridge" in str(board)


def test_rows_without_judgement_are_counted():
    data = judged_data()
    log = ClickLog.from_columns([0, 0, 7], ["d1", "d2", "d3"], [1, 2, 1], [1, 0, 1])
    with pytest.warns(UserWarning, match="397 of 400 rows have no judgement"):
        labelled = judgements(log, shrinkage=1.0).label(data)
    assert list(zip(labelled.qid.tolist(), labelled.doc_ids.tolist(), strict=True)) == [
        (0, "d1"), (0, "d2"), (7, "d3"),
    ]  # fmt: skip
    np.testing.assert_allclose(labelled.y, [5 / 6, 1 / 3, 5 / 6])
    with pytest.raises(ValueError, match="no row of the data is judged"):
        judgements(ClickLog.from_columns(["x"], ["d1"], [1], [1]), shrinkage=1.0).label(data)
    other = judgements(ClickLog.from_columns([0], ["1"], [1], [1]), shrinkage=1.0)
    with pytest.raises(ValueError, match=r"query '0', document 'd0', .* query '0', document '1'"):
        other.label(data)


def test_files_of_judgements(tmp_path):
    log = ClickLog.from_columns(
        ["tea pot", "tea pot", "cup"], ["a", "b", "c"], [1, 2, 1], [1, 0, 1],
        weight=[5.0, 5.0, 5.0],
    )  # fmt: skip
    judged = judgements(log, shrinkage=1.0, grades=3, thresholds=[0.3, 0.7])
    judged.write(tmp_path / "os.json", "opensearch")
    again = read_judgements(tmp_path / "os.json")
    assert again.qid.tolist() == ["tea pot", "tea pot", "cup"]
    np.testing.assert_array_equal(again.grade, judged.grade)
    judged.write(tmp_path / "es.json", "elasticsearch", index="shop")
    requests = json.loads((tmp_path / "es.json").read_text())["requests"]
    assert requests[1]["ratings"] == [
        {"_index": "shop", "_id": "c", "rating": int(judged.grade[2])}
    ]
    again = read_judgements(tmp_path / "es.json")
    assert again.qid.tolist() == ["tea pot", "tea pot", "cup"]
    np.testing.assert_array_equal(again.grade, judged.grade)
    for saved in (judged, judgements(log, "coec", shrinkage=0.0)):  # with an infinite bound
        saved.write(tmp_path / "own.csv")
        again = read_judgements(tmp_path / "own.csv")
        for name in ("qid", "doc_ids", "grade", "weight", "low", "high", "impressions", "clicks"):
            np.testing.assert_array_equal(getattr(again, name), getattr(saved, name))
    (tmp_path / "short.csv").write_text("qid,doc_id,grade\ntea,a,3\n")
    again = read_judgements(tmp_path / "short.csv")
    assert (again.weight.tolist(), again.low.tolist(), again.high.tolist()) == ([1], [3], [3])
    judged.write(tmp_path / "rank.txt", "ranklib")
    lines = (tmp_path / "rank.txt").read_text().splitlines()
    assert lines[0] == "# qid:1: tea pot"
    assert lines[-1] == f"{judged.grade[2]:g} qid:2 # c"
    named = Judgements(np.array(["q1"]), np.array(["a"]), *np.ones((6, 1)), method="ctr")
    named.write(tmp_path / "a.qrels", "trec")
    assert read_qrels(tmp_path / "a.qrels").doc_ids.tolist() == ["a"]
    with pytest.raises(ValueError, match="qrels need whole grades"):
        judgements(log, shrinkage=1.0).write(tmp_path / "b.qrels", "trec")
    (tmp_path / "quepid.csv").write_text("query,docid,rating\ntea,a,3\ntea,b,0.5\n")
    np.testing.assert_array_equal(read_judgements(tmp_path / "quepid.csv").grade, [3, 0.5])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ('{"judgmentRatings": [{"query": "q"}]}', "must hold judgmentRatings"),
        ('{"name": "x"}', "must hold judgmentRatings"),
        ("a,b\n1,2\n", "must have the columns query, docid and rating"),
        ('{"requests": [{"id": "q"}]}', "'ratings' is missing"),
        ("qid,doc_id,grade,low\nq,a,1,inf\n", "judgement 0: low must be a number, got 'inf'"),
        ("query,docid,rating\nq,a,good\n", "rating must be a number, got 'good'"),
        ("query,docid,rating\nq,a,1\nq,a,2\n", "a second time"),
        ("query,docid,rating\n", "holds no judgement"),
    ],
)
def test_wrong_files_are_refused(tmp_path, text, message):
    (tmp_path / "file").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_judgements(tmp_path / "file")


def test_the_published_judgements_are_read():
    if not FOLDER.is_dir():
        pytest.skip("needs the folder of data")
    judged = read_judgements(FOLDER / "esci_us_judgments.json.gz")
    assert len(judged) == 6678
    assert len(np.unique(judged.qid)) == 150
    assert set(judged.grade) == {0, 1, 10, 100}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "magic"}, "method must be one of 'ctr'"),
        ({"shrinkage": -1.0}, "shrinkage must be a number >= 0"),
        ({"grades": 1}, "grades must be a whole number >= 2"),
        ({"grades": 3, "thresholds": [2.0, 1.0]}, "thresholds must be grades - 1 ascending"),
        ({"certainty": 1.0}, "certainty must lie between 0 and 1"),
        ({"method": "ips", "propensities": [1.0]}, "propensities must cover 4 places"),
        (
            {"method": "harvest", "propensities": [0.0] * 4},
            "propensities must be > 0 at some place",
        ),
        ({"method": "ips", "propensities": [1.0, 0, 1, 1]}, "must be > 0, got 0 at place 2"),
    ],
)
def test_wrong_parameters_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        judgements(random_log(), **change)


def test_a_log_without_clicks_judges_nothing():
    with pytest.raises(ValueError, match="holds no click"):
        judgements(ClickLog.from_columns(["q"], ["a"], [1], [0]))
