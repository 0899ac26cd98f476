"""Rank intervals of equal items tell them apart in 5 % of samples at most, however small."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from benchmarks.preference_coverage import SmallBoard, count_false_claims
from scipy import stats

from rankwise.preferences import PairwisePreferences, PlackettLuce, rank_simultaneously
from tests.preferences import naive


def check(board, n_samples=200):
    false, done = count_false_claims(board, n_samples)
    assert done > n_samples / 4  # without a penalty, not all samples have finite estimates
    # If the level holds, more false claims have a probability of 1 %.
    assert false <= stats.binom.ppf(0.99, done, 0.05)


@pytest.mark.parametrize(
    ("m", "n", "alpha"), [(2, 3, 1.0), (3, 10, 1.0), (3, 10, 0.1), (5, 20, 0.1), (5, 50, 0.0)]
)
def test_few_comparisons(m, n, alpha):
    check(SmallBoard("pairs", m, n, alpha))


@pytest.mark.parametrize(("m", "n", "alpha"), [(4, 2, 1.0), (4, 5, 1.0), (8, 10, 0.0)])
def test_few_orders(m, n, alpha):
    check(SmallBoard("orders", m, n, alpha))


@pytest.mark.parametrize("own", [0.0, 0.5])
@pytest.mark.parametrize("n_clusters", [2, 5, 10])
def test_few_clusters(n_clusters, own):
    """Clusters with and without strengths of their own."""
    check(SmallBoard("pairs", 5, 400, 0.0, n_clusters, own), 100)


def test_two_wins_with_a_penalty_are_not_significant():
    ranks = PairwisePreferences(alpha=1.0).fit([["x", "y"]] * 2, [1, 1]).rank_intervals()
    assert ranks.low.tolist() == [1, 1]
    assert ranks.high.tolist() == [2, 2]


def test_two_orders_with_a_penalty_are_not_significant():
    ranks = PlackettLuce(alpha=1.0).fit(["a > b > c", "b > c"]).rank_intervals()
    assert ranks.low.tolist() == [1, 1, 1]
    assert ranks.high.tolist() == [3, 3, 3]


def test_published_errors_have_no_floor():
    """Rank intervals use the larger error of each difference; standard errors are those printed."""
    orders = ["a > b > c", "a > b > c", "c > b > a", "b > a > c"]
    sandwich, model = (
        PlackettLuce(covariance=kind, reference="a").fit(orders)
        for kind in ("sandwich", "information")
    )
    assert (sandwich.standard_errors_ < model.standard_errors_ - 0.01).any()
    np.testing.assert_allclose(sandwich.model_covariance_, model.covariance_, atol=1e-12)
    np.testing.assert_allclose(model.model_covariance_, model.covariance_, atol=0)
    direct = rank_simultaneously(sandwich.strengths_, sandwich.covariance_, floor=model.covariance_)
    assert direct.critical == sandwich.rank_intervals().critical


def test_few_clusters_are_warned_of():
    pairs = [("a", "b"), ("b", "a"), ("a", "b")] * 4
    said = r"clusters 'cluster0' count as 4\.0 equal ones, too few for 2 items.*About 7 would do"
    with pytest.warns(UserWarning, match=said):
        PairwisePreferences().fit(pairs, [1, 1, 0.5] * 4, clusters=np.repeat(np.arange(4), 3))
    pairs += [("b", "a"), ("a", "b"), ("b", "a")]
    PairwisePreferences().fit(pairs, [1, 1, 0.5] * 5, clusters=np.repeat(np.arange(5), 3))


@pytest.mark.parametrize("kind", ["pairs", "orders"])
def test_the_variable_with_too_few_levels_for_many_items_is_named(rng, kind):
    """13 prompts for 59 items make every interval 1-59, which is not the items' fault."""
    n, m = 3000, 59
    items = np.array([f"item{i:02}" for i in range(m)])
    first = rng.integers(0, m, n)
    second = (first + rng.integers(1, m, n)) % m
    judge, prompt = rng.integers(0, 200, n), rng.integers(0, 13, n)
    if kind == "pairs":
        clusters = pd.DataFrame({"judge": judge, "prompt": prompt})
        fit = partial(
            PairwisePreferences().fit, items[np.stack([first, second], axis=1)],
            rng.integers(0, 2, n).astype(float),
        )  # fmt: skip
    else:
        orders = [[items[a], items[b]] for a, b in zip(first, second, strict=True)]
        clusters = pd.DataFrame({"judge": judge, "prompt": prompt})
        fit = partial(PlackettLuce().fit, orders)
    said = r"clusters 'prompt' count as \d+\.\d equal ones, too few for 59 items.*About \d+ would"
    with pytest.warns(UserWarning, match=said):
        fit(clusters=clusters)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(clusters=clusters[["judge"]])


def draw_equal(rng, m, n):
    """Comparisons of equal items, of which a third are ties."""
    first = rng.integers(0, m, n)
    pairs = np.stack([first, (first + rng.integers(1, m, n)) % m], axis=1)
    return np.array([f"item{item}" for item in range(m)])[pairs], rng.choice([1, 0.5, 0], n)


def test_the_floor_of_half_wins_is_that_of_their_variance():
    """Half a win varies less than a win, so the second derivatives alone are too cautious."""
    pairs, outcomes = draw_equal(np.random.default_rng(0), 4, 20_000)
    for alpha in (0.0, 500.0):
        model = PairwisePreferences("half", alpha=alpha).fit(pairs, outcomes)
        np.testing.assert_allclose(model.model_covariance_, model.covariance_, rtol=0.05)
        information = PairwisePreferences("half", alpha=alpha, covariance="information")
        inverse = information.fit(pairs, outcomes).covariance_
        assert (inverse.diagonal() > 1.1 * model.covariance_.diagonal()).all()
        np.testing.assert_array_equal(information.model_covariance_, model.model_covariance_)


@pytest.mark.parametrize(("m", "n", "alpha"), [(3, 8, 0.1), (5, 30, 0.1), (4, 40, 0.0)])
def test_few_half_wins(m, n, alpha):
    rng = np.random.default_rng(n)
    model = PairwisePreferences("half", alpha=alpha)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # groups that were not compared
        false = sum(
            (model.fit(*draw_equal(rng, m, n)).rank_intervals().low > 1).any() for _ in range(200)
        )
    assert false <= stats.binom.ppf(0.99, 200, 0.05)


def test_the_dispersion_of_half_wins_is_that_of_the_definition():
    pairs, outcomes = draw_equal(np.random.default_rng(3), 3, 40)
    model = PairwisePreferences("half").fit(pairs, outcomes)
    strength = dict(zip(model.items_.tolist(), model.strengths_.tolist(), strict=True))
    chances = [naive.logistic(strength[a] - strength[b]) for a, b in pairs.tolist()]
    squares = sum((y - p) ** 2 for y, p in zip(outcomes.tolist(), chances, strict=True))
    dispersion = squares / sum(p * (1 - p) for p in chances) * 40 / 38
    assert dispersion < 0.9
    inverse = PairwisePreferences("half", covariance="information").fit(pairs, outcomes).covariance_
    np.testing.assert_allclose(model.model_covariance_, dispersion * inverse, rtol=1e-9)
