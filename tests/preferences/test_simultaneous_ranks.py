"""Rank intervals against loops, known quantiles and coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rankwise.preferences import rank_simultaneously
from tests.preferences import naive


def random_case(seed, m=7):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(m, m + 2))
    return rng.normal(size=m) * 4, root @ root.T / m


@pytest.mark.parametrize("seed", range(4))
def test_bounds_count_significant_pairs(seed):
    estimates, covariance = random_case(seed)
    ranks = rank_simultaneously(estimates, covariance, n_draws=499)
    expected = naive.rank_bounds(estimates, covariance, ranks.critical)
    assert list(zip(ranks.low.tolist(), ranks.high.tolist(), strict=True)) == expected
    assert ranks.rank.tolist() == stats.rankdata(-estimates).astype(int).tolist()
    assert (ranks.low <= ranks.rank).all()
    assert (ranks.rank <= ranks.high).all()


@pytest.mark.parametrize("seed", range(4))
def test_a_floor_gives_each_pair_the_larger_variance(seed):
    estimates, covariance = random_case(seed)
    floor = 2 * random_case(seed + 10)[1]
    ranks = rank_simultaneously(estimates, covariance, floor=floor, n_draws=499)
    criticals = [
        rank_simultaneously(estimates, c, n_draws=499).critical for c in (covariance, floor)
    ]
    assert ranks.critical == max(criticals)
    expected = naive.rank_bounds(estimates, covariance, ranks.critical, floor)
    assert list(zip(ranks.low.tolist(), ranks.high.tolist(), strict=True)) == expected


def test_a_covariance_of_low_rank_has_the_quantile_of_the_floor():
    rank_one = np.outer(np.arange(5.0), np.arange(5.0))
    alone = rank_simultaneously(np.zeros(5), rank_one).critical
    assert alone == pytest.approx(1.96, abs=0.05)
    expected = rank_simultaneously(np.zeros(5), np.eye(5)).critical
    assert rank_simultaneously(np.zeros(5), rank_one, floor=np.eye(5)).critical == expected > 2.6


def test_a_single_pair_has_the_quantile_of_its_distribution():
    ranks = rank_simultaneously(np.zeros(2), np.eye(2), n_draws=200_000)
    assert ranks.critical == pytest.approx(stats.norm.ppf(0.975), rel=0.01)
    ranks = rank_simultaneously(np.zeros(2), np.eye(2), degrees_of_freedom=5, n_draws=200_000)
    assert ranks.critical == pytest.approx(stats.t.ppf(0.975, 5), rel=0.01)


def test_equal_variances_have_the_quantile_of_the_studentised_range():
    """Tukey's test: the largest t of m independent estimates is a range divided by sqrt(2)."""
    ranks = rank_simultaneously(np.zeros(6), np.eye(6), n_draws=200_000)
    expected = stats.studentized_range.ppf(0.95, 6, 1e6) / np.sqrt(2)
    assert ranks.critical == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(("m", "df"), [(3, 2), (8, 4), (8, 30)])
def test_estimated_variances_are_accounted_for(m, df):
    """Covariances are estimated from df normal vectors, as from df + 1 clusters."""
    rng = np.random.default_rng(df)
    critical = rank_simultaneously(np.zeros(m), np.eye(m), degrees_of_freedom=df).critical
    estimates, vectors = rng.standard_normal((2000, m)), rng.standard_normal((2000, df, m))
    first, second = np.triu_indices(m, 1)
    errors = np.sqrt(((vectors[:, :, first] - vectors[:, :, second]) ** 2).mean(axis=1))
    t = np.abs(estimates[:, first] - estimates[:, second]) / errors
    share = (t.max(axis=1) > critical).mean()
    assert 0.025 < share < 0.06


def test_only_variances_of_differences_matter():
    estimates, covariance = random_case(9)
    shifted = covariance + 3.0
    ours, others = (
        rank_simultaneously(estimates, c, n_draws=20_000) for c in (covariance, shifted)
    )
    assert ours.critical == pytest.approx(others.critical, rel=0.03)


def test_draws_are_those_of_the_seed():
    case = random_case(2)
    assert rank_simultaneously(*case).critical == rank_simultaneously(*case).critical
    assert (
        rank_simultaneously(*case).critical != rank_simultaneously(*case, random_state=1).critical
    )


def test_too_few_draws_tell_nothing_apart():
    ranks = rank_simultaneously(np.array([0.0, 100.0]), np.eye(2), n_draws=18)
    assert ranks.critical == np.inf
    assert ranks.low.tolist() == [1, 1]
    assert ranks.high.tolist() == [2, 2]


def test_equal_estimates_without_variance_are_not_told_apart():
    ranks = rank_simultaneously(np.zeros(3), np.zeros((3, 3)))
    assert ranks.rank.tolist() == ranks.low.tolist() == [1, 1, 1]
    assert ranks.high.tolist() == [3, 3, 3]
