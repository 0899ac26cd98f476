"""Planned numbers of queries and always-valid intervals, against peers and simulation."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from benchmarks.planning import power
from scipy import optimize, stats

from rankwise.metrics.significance import (
    always_valid_interval,
    compare_to_best,
    detectable_difference,
    queries_needed,
)
from rankwise.metrics.statistics.stratified import stratified_means, t_p_values


def pilot(rng, n=60, n_systems=2, spread=0.2):
    values = rng.random((n, 1)) + spread * rng.normal(size=(n, n_systems))
    return {f"s{i}": values[:, i] for i in range(n_systems)}


@pytest.mark.parametrize("difference", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("chance", [0.5, 0.8, 0.95])
def test_two_systems_need_what_the_noncentral_t_says(rng, difference, chance):
    values = pilot(rng)
    spread = np.std(values["s0"] - values["s1"], ddof=1)

    def found(n):
        critical = stats.t.ppf(0.975, n - 1)
        return stats.nct.sf(critical, n - 1, difference / spread * math.sqrt(n))

    n = queries_needed(values, difference, power=chance)
    assert found(n) >= chance
    assert n == 6 or found(n - 1) < chance
    assert n >= 6  # with five, 2 of 32 flips are as extreme as the best possible outcome


def test_the_detectable_difference_is_the_inverse(rng):
    values = pilot(rng, n_systems=4)
    for difference in (0.03, 0.2):
        n = queries_needed(values, difference)
        assert detectable_difference(values, n) <= difference
        assert detectable_difference(values, n - 1) > difference
    own = detectable_difference(values)
    assert own == detectable_difference(values, 60)
    assert detectable_difference(values, 600) < own


@pytest.mark.parametrize("sizes", [[50, 50], [90, 10], [95, 5], [400, 20, 20], [300, 10, 10, 10]])
def test_strata_of_unequal_size_have_their_own_error(sizes):
    """Case 33: the means of few queries decide, not the many of a large stratum."""
    rng = np.random.default_rng(5)
    strata = np.repeat(np.arange(len(sizes)), sizes)
    values = {name: 0.1 * rng.standard_normal(len(strata)) for name in "ab"}
    difference = detectable_difference(values, strata=strata)
    found = 0
    for _ in range(400):
        fresh = 0.1 * math.sqrt(2.0) * rng.standard_normal((len(strata), 1)) + difference
        found += float(t_p_values(stratified_means(fresh, strata))[0]) < 0.05
    error = math.sqrt(sum(0.02 / n for n in sizes)) / len(sizes)
    assert difference > 2.4 * error
    assert found / 400 > 0.72  # .8 within the error of the pilot's spread
    n = queries_needed(values, difference, strata=strata)
    assert n == pytest.approx(len(strata), abs=1)
    with pytest.raises(ValueError, match="n_queries must be"):
        detectable_difference(values, len(sizes), strata=strata)


def test_more_systems_need_more_queries(rng):
    values = pilot(rng, n_systems=12)
    two = {name: values[name] for name in ("s0", "s1")}
    ratio = queries_needed(values, 0.05) / queries_needed(two, 0.05)
    assert 1.2 < ratio < 4


def test_queries_that_do_not_count_are_left_out(rng):
    values = pilot(rng)
    holes = {name: np.append(column, [math.nan, 1.0]) for name, column in values.items()}
    holes["s0"][-1] = math.nan
    assert queries_needed(holes, 0.05) == queries_needed(values, 0.05)
    assert detectable_difference(holes) == detectable_difference(values)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda v: queries_needed(v, 0.0), "difference must be"),
        (lambda v: queries_needed(v, math.nan), "difference must be"),
        (lambda v: queries_needed(v, 1e-9), "more than 10,000,000 queries"),
        (lambda v: queries_needed(v, 0.1, power=1.0), "power must lie"),
        (lambda v: queries_needed(v, 0.1, confidence_level=0.0), "confidence_level must lie"),
        (lambda v: detectable_difference(v, 1), "n_queries must be >= 6"),
        (lambda v: detectable_difference({k: c[:5] for k, c in v.items()}), "no difference is sig"),
        (lambda v: queries_needed(v, "x"), "difference must be"),
        (lambda v: queries_needed({k: 1e-300 * c for k, c in v.items()}, 1), "differences vary"),
        (lambda v: queries_needed({"a": v["s0"]}, 0.1), "at least two systems"),
        (lambda v: queries_needed([v["s0"]], 0.1), "at least two systems"),
        (lambda v: queries_needed({"a": v["s0"], "b": v["s0"]}, 0.1), "differences vary"),
        (lambda v: queries_needed({"a": [1.0], "b": [2.0]}, 0.1), "differences vary"),
        (lambda v: queries_needed({"a": v["s0"], "b": [1.0]}, 0.1), "equal length"),
        (lambda v: always_valid_interval([[1.0]]), "1-d array"),
        (lambda v: always_valid_interval([1.0, math.inf]), "1-d array"),
        (lambda v: always_valid_interval([1.0], n_expected=0), "n_expected must be"),
    ],
)
def test_what_is_refused(rng, call, message):
    with pytest.raises(ValueError, match=message):
        call(pilot(rng))


def test_always_valid_intervals_solve_their_equation(rng):
    """The ends are where the mixture martingale of the normal mean reaches 1 / alpha."""
    half = rng.normal(size=40)
    values = 0.1 + np.concatenate([half, -half])  # symmetric: no correction for skewness
    low, high = always_valid_interval(values, n_expected=50)
    n, s = len(values), values.std(ddof=1)
    tail = -2 * math.log(0.05)
    rho2 = (tail + math.log(tail + 1)) / 50

    def log_mixture(mean):
        total = np.sum(values - mean) / s
        return rho2 * total**2 / (2 * (n * rho2 + 1)) - 0.5 * math.log(n * rho2 + 1)

    centre = values.mean()
    end = optimize.brentq(lambda m: log_mixture(m) - math.log(1 / 0.05), centre, centre + 5)
    assert (low, high) == pytest.approx((2 * centre - end, end))
    assert always_valid_interval([1.0]) == (-math.inf, math.inf)
    assert always_valid_interval([1.0, math.nan, 3.0]) == always_valid_interval([1.0, 3.0])


def test_always_valid_intervals_of_skewed_differences():
    """One query in ten gains, the others lose a little: without a correction, 11 % err."""
    rng = np.random.default_rng(8)
    errors = 0
    for _ in range(200):
        gains = np.where(rng.random(400) < 0.1, 0.9, -0.1) + 0.02 * rng.standard_normal(400)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # some samples are too skewed
            looks = [always_valid_interval(gains[:n], n_expected=200) for n in range(60, 401, 20)]
        errors += any(not low <= 0.0 <= high for low, high in looks)
    assert errors <= 200 * 0.08
    with pytest.warns(UserWarning, match="few of the differences decide their mean"):
        always_valid_interval(np.exp(2.0 * rng.standard_normal(100)))


def test_the_planned_power_is_met():
    _, found = power("normal", 2, 300)
    assert abs(found - 0.8) < 3 * math.sqrt(0.16 / 300) + 0.02


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_fewer_queries_than_the_flips_need_find_nothing(rng, level):
    """With n queries, the smallest p-value is that of 2 in 2^n flips."""
    n = queries_needed(pilot(rng), 1e3, confidence_level=level)
    assert 2 / 2**n < 1 - level <= 2 / 2 ** (n - 1)
    values = {"a": np.linspace(0.9, 1.0, n), "b": np.linspace(0.0, 0.05, n)}
    for size, is_found in ((n, True), (n - 1, False)):
        cut = {name: column[:size] for name, column in values.items()}
        row = compare_to_best(cut, confidence_level=level)[1]
        # Draws with replacement reach the smallest p-value up to their error.
        if level != 0.5:
            assert (row.p_corrected < 1 - level) == is_found


def test_frames_are_pilots_too(rng):
    import pandas as pd

    values = pilot(rng)
    assert queries_needed(pd.DataFrame(values), 0.05) == queries_needed(values, 0.05)
