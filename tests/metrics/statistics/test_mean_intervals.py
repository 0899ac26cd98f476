"""Intervals of means of bounded values: exact for shares, and never without a width."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rankwise.metrics.significance import (
    compare_to_baseline,
    compare_to_best,
    mean_intervals,
    t_intervals,
)
from rankwise.metrics.statistics.intervals import dirichlet_bounds


@pytest.mark.parametrize(("successes", "n"), [(0, 5), (5, 5), (1, 20), (20, 20), (98, 100)])
def test_shares_near_a_bound_contain_the_exact_interval(successes, n):
    values = np.repeat([1.0, 0.0], [successes, n - successes])[:, None]
    ((low, high),) = mean_intervals(values, bounds=(0, 1))
    exact = stats.binomtest(successes, n).proportion_ci(method="exact")
    assert low == pytest.approx(max(0.0, min(exact.low, t_intervals(values)[0, 0])))
    assert high == pytest.approx(min(1.0, max(exact.high, t_intervals(values)[0, 1])))
    assert high > low


@pytest.mark.parametrize("weighted", [False, True])
def test_bounds_are_quantiles_of_dirichlet_means(rng, weighted):
    values = rng.choice([0.0, 0.1, 1 / 3, 0.5, 1.0], 12)
    weights = rng.random(12) + 0.5 if weighted else np.ones(12)
    weights *= 12 / weights.sum()
    draws = rng.exponential(size=(200_000, 13)) * np.append(weights, 1.0)
    means = draws @ np.append(values, 1.0) / draws.sum(axis=1)
    found = dirichlet_bounds(values[:, None], weights[:, None], 1.0, 0.025)
    assert found[0] == pytest.approx(np.quantile(means, 0.975), abs=0.004)


@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("bounds", [None, (0.0, 1.0), (-2.0, 2.0)])
@pytest.mark.parametrize("n", [2, 20])
def test_equal_values_have_a_width(value, bounds, n):
    ((low, high),) = mean_intervals(np.full((n, 1), value), bounds=bounds)
    assert low <= value <= high and high - low > 0.1
    ends = bounds or (0.0, 1.0)
    assert ends[0] <= low and high <= ends[1]


def test_far_from_the_bounds_t_stays(rng):
    values = 0.5 + 0.1 * rng.standard_normal((50, 3))
    values[::7, 1] = np.nan
    assert mean_intervals(values).tolist() == t_intervals(values).tolist()
    folds = np.arange(50) % 5
    ends = mean_intervals(values, strata=folds)
    assert ends.tolist() == t_intervals(values, strata=folds).tolist()


def test_columns_do_not_depend_on_each_other(rng):
    values = np.where(rng.random((30, 4)) < 0.1, rng.random((30, 4)), 0.0)
    values[:5, 1] = np.nan
    together = mean_intervals(values, bounds=(0, 1))
    for column in range(4):
        alone = mean_intervals(values[:, [column]], bounds=(0, 1))[0]
        assert together[column] == pytest.approx(alone, abs=1e-5)


@pytest.mark.parametrize("scale", [1.0, 100.0])
@pytest.mark.parametrize("compare", [compare_to_best, lambda by: compare_to_baseline(by, "b")])
def test_a_system_that_solves_everything_is_not_certain_to(compare, scale):
    solved = scale * np.ones(20)
    some = scale * (np.arange(20) % 2)
    (row,) = (row for row in compare({"a": solved, "b": some}) if row.name == "a")
    assert (row.low, row.high) == pytest.approx((scale * 0.025 ** (1 / 20), scale))


def test_without_bounds_equal_values_have_no_interval():
    assert np.isnan(mean_intervals(np.full((5, 1), 3.0), bounds=(0, np.inf))).all()
    with pytest.raises(ValueError, match="values must lie between bounds="):
        mean_intervals(np.full((5, 1), 3.0), bounds=(0, 1))


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("n", [5, 20, 100])
def test_intervals_hold_near_the_bounds(rng, rate, n):
    values = np.where(rng.random((n, 200)) < rate, 1.0, rng.choice([0.0, 0.1], (n, 200)))
    truth = rate + (1 - rate) * 0.05
    ends = mean_intervals(values, bounds=(0, 1))
    assert np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])) >= 0.9


def test_a_rare_value_far_from_the_others_may_not_have_occurred():
    values = np.tile([0.0, 0.1], 50)[:, None]
    low, high = mean_intervals(values)[0]
    assert low == pytest.approx(t_intervals(values)[0, 0], rel=0.01)
    assert high > 0.05 + 0.03  # a 1 in every 33 queries is not excluded
    near = np.tile([0.3, 0.7], 50)[:, None]
    assert mean_intervals(near)[0] == pytest.approx(t_intervals(near)[0])
