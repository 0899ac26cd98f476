"""Means of fold means with t intervals, against scipy, a loop and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks.coverage import POPULATIONS, SIZES, coverage
from scipy import stats

from rankwise.metrics.significance import stratified_mean, t_intervals
from rankwise.metrics.statistics.stratified import (
    correct_ends,
    correct_t,
    error_scales,
    stratified_means,
    t_p_values,
    t_statistics,
)


def naive(column, strata):
    """Mean of the fold means, its standard error and degrees of freedom, by the definition."""
    parts = [column[(strata == fold) & ~np.isnan(column)] for fold in np.unique(strata)]
    parts = [part for part in parts if len(part)]
    sizes = [len(part) for part in parts]
    freedom = sum(sizes) - len(parts)
    pooled = sum(((part - part.mean()) ** 2).sum() for part in parts) / freedom
    if max(sizes) <= 1.25 * min(sizes):
        variances = [pooled / n for n in sizes]
    else:
        variances = [(part.var(ddof=1) if len(part) > 1 else pooled) / len(part) for part in parts]
        single = sum(v for v, n in zip(variances, sizes, strict=True) if n == 1)
        own = sum(v**2 / (n - 1) for v, n in zip(variances, sizes, strict=True) if n > 1)
        freedom = min(freedom, sum(variances) ** 2 / (own + single**2 / freedom))
    error = math.sqrt(sum(variances)) / len(parts)
    return np.mean([part.mean() for part in parts]), error, freedom


def naive_skewness(column, strata):
    """Third cumulant of the mean over its error cubed, beyond its standard error."""
    parts = [column[(strata == fold) & ~np.isnan(column)] for fold in np.unique(strata)]
    parts = [part for part in parts if len(part)]
    sizes = [len(part) for part in parts]
    freedom, error = sum(sizes) - len(parts), naive(column, strata)[1]
    known = [(n - 1) * (n - 2) / n for n in sizes]
    cubes = [((part - part.mean()) ** 3).sum() for part in parts]
    if max(sizes) <= 1.25 * min(sizes):
        pooled = sum(((part - part.mean()) ** 2).sum() for part in parts) / freedom
        third = sum(cubes) / sum(known) * sum(1 / n**2 for n in sizes)
        variance = 6 * pooled**3 / sum(known) * sum(1 / n**2 for n in sizes) ** 2
    else:
        of_known = [row for row in zip(cubes, known, sizes, parts, strict=True) if row[2] > 2]
        third = sum(cube / k / n**2 for cube, k, n, _ in of_known)
        variance = sum(6 * part.var(ddof=1) ** 3 / k / n**4 for _, k, n, part in of_known)
    beyond = math.copysign(max(abs(third) - math.sqrt(variance), 0.0), third)
    return beyond / (error * len(parts)) ** 3


def test_one_stratum_is_students_t(rng):
    values = rng.random((17, 3))
    for system, (low, high) in enumerate(t_intervals(values, confidence_level=0.9)):
        theirs = stats.ttest_1samp(values[:, system], 0.0)
        assert (low, high) == pytest.approx(tuple(theirs.confidence_interval(0.9)), rel=1e-12)
    theirs = stats.ttest_1samp(values, 0.5)
    np.testing.assert_allclose(t_p_values(stratified_means(values - 0.5)), theirs.pvalue)


@pytest.mark.parametrize("sizes", [[9, 4, 1, 12], [7, 6, 6, 7]])
def test_strata_follow_the_definition_with_queries_that_do_not_count(rng, sizes):
    strata = np.repeat([7, 1, 4, 2], sizes)
    values = rng.exponential(size=(26, 5)) + strata[:, None]
    values[:, :4][rng.random((26, 4)) < 0.2] = np.nan
    values[strata == 1, 2] = np.nan
    order = rng.permutation(26)
    found = stratified_means(values[order], strata[order])
    for system, column in enumerate(values.T):
        expected = naive(column, strata)
        assert [part[system] for part in found[:3]] == pytest.approx(expected, rel=1e-12)
        assert found.skewness[system] == pytest.approx(naive_skewness(column, strata), rel=1e-9)
        assert stratified_mean(column, strata) == pytest.approx(expected[0], rel=1e-12)


def test_skewed_values_are_corrected_for_on_the_side_of_their_tail(rng):
    values = rng.exponential(size=(40, 30))
    found = stratified_means(values)
    assert (found.skewness > 0).mean() > 0.8
    np.testing.assert_allclose(
        stratified_means(-1e-90 * values).skewness, -found.skewness, atol=1e-12
    )
    lower, upper = correct_ends(2.5, found.skewness)
    assert (upper == 2.5).all()
    assert (lower[found.skewness > 0] < -2.5).all()
    for end in (lower, upper):  # the ends are where the corrected t reaches the critical value
        at_end = found._replace(mean=end, error=np.ones(30))
        np.testing.assert_allclose(correct_t(at_end), 2.5, rtol=1e-12)
    size, t = correct_t(found._replace(mean=found.mean - 1.0)), t_statistics(found)
    assert (size <= np.abs(t_statistics(found._replace(mean=found.mean - 1.0))) + 1e-12).all()
    assert (correct_t(found)[t > 0] == t[t > 0]).all()
    symmetric = np.concatenate([values, -values])
    assert not stratified_means(symmetric).skewness.any()


def test_tests_of_skewed_values_err_about_as_often_as_they_say():
    """Exponential values with unequal scales; without the correction, 9 to 10 % at 40 units."""
    rng = np.random.default_rng(3)
    differences = rng.exponential(size=(40, 2000)) - 1.0
    found = stratified_means(differences)
    assert (t_p_values(found) < 0.05).mean() < 0.06
    assert (2 * stats.t.sf(np.abs(t_statistics(found)), 39) < 0.05).mean() > 0.065


def test_the_weights_of_squares_give_the_error(rng):
    for sizes in ([9, 4, 1, 12], [5, 5, 4], [3, 0, 1], [2]):
        strata = np.repeat(np.arange(len(sizes)), sizes)
        values = rng.random((len(strata), 1))
        parts = [values[strata == stratum] for stratum in range(len(sizes))]
        squares = [((part - part.mean()) ** 2).sum() if len(part) else 0.0 for part in parts]
        scales = error_scales(np.array(sizes, dtype=float)[:, None])[:, 0]
        expected = stratified_means(values, strata).error[0]
        assert math.sqrt(scales @ squares) == pytest.approx(expected, rel=1e-12)


def test_small_strata_that_spread_more_count_with_their_own_spread():
    """300 values of deviation 1 and three strata of 10 of deviation 3: pooled, .31 for .55."""
    rng = np.random.default_rng(0)
    strata = np.repeat(np.arange(4), [300, 10, 10, 10])
    values = rng.standard_normal((330, 400)) * np.array([1.0, 3.0, 3.0, 3.0])[strata, None]
    found = stratified_means(values, strata)
    assert np.mean(found.error**2) == pytest.approx(np.var(found.mean), rel=0.3)
    inside = np.abs(found.mean) < stats.t.ppf(0.975, found.freedom) * found.error
    assert inside.mean() > 0.92


def test_too_few_and_equal_values():
    nan = np.nan
    values = np.array([[0.1, nan, 0.5], [0.1, nan, nan], [0.3, nan, 0.5], [0.3, nan, nan]])
    ends = t_intervals(values, strata=[0, 0, 1, 1])
    assert ends[0].tolist() == [0.2, 0.2]  # equal in every stratum
    assert np.isnan(ends[1:]).all()
    assert math.isnan(stratified_mean(values[:, 1]))
    # Folds of one query each are one sample of queries.
    column = np.array([[0.2], [0.4], [0.9]])
    np.testing.assert_array_equal(t_intervals(column, strata=[5, 6, 7]), t_intervals(column))


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match=r"strata must have shape \(2,\)"):
        t_intervals(np.ones((2, 1)), strata=[1])
    with pytest.raises(ValueError, match="confidence_level must lie between 0 and 1, got 95"):
        t_intervals(np.ones((2, 1)), confidence_level=95)
    with pytest.raises(ValueError, match="finite numbers or NaN"):
        t_intervals(np.array([[np.inf]]))


@pytest.mark.parametrize("n_folds", [1, 5])
@pytest.mark.parametrize("n_queries", SIZES)
@pytest.mark.parametrize("population", ["AP-like", "nDCG-like"])
def test_intervals_hold_as_often_as_they_say(population, n_queries, n_folds):
    assert 0.94 <= coverage(population, n_queries, n_folds, 20_000) <= 0.96


def test_the_hard_cases_stay_where_they_were_measured():
    """Strong skewness and few queries: too short by two percentage points, bootstraps by more."""
    for population, least in (("zeros", 0.93), ("exponential", 0.91)):
        assert coverage(population, 20, 5, 20_000) >= least
        t, bca, percentile = (
            coverage(population, 20, 5, 1000, method) for method in ("t", "bca", "percentile")
        )
        assert t > max(bca, percentile) + 0.01


def test_populations_have_the_means_they_state(rng):
    for mean, draw in POPULATIONS.values():
        values = draw(rng, (200_000, 1))
        assert values.mean() == pytest.approx(mean, abs=5 * values.std() / math.sqrt(200_000))
