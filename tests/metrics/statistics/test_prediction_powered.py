"""Prediction-powered means: the published estimate, coverage for any machine, limit cases."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.machine_judges import JUDGES, coverage
from scipy import stats

from rankwise.metrics.significance import prediction_powered_mean

# Printed by ppi_mean_pointestimate of ppi-python 0.2.3 for the cases below.
PUBLISHED = [0.5299646101408108, 0.5228709800409319, 0.3970356096651568, 0.5027715069088274]
SIZES = [(20, 100), (50, 1000), (10, 30), (200, 200)]


def published_case(seed):
    rng, (n, n_machine) = np.random.default_rng(seed), SIZES[seed]
    y = rng.random(n)
    f = np.clip(y + 0.3 * rng.standard_normal(n) * (seed + 0.2), 0, 1)
    return y, 1 - f if seed == 2 else f, rng.random(n_machine)


def naive(y, f, g):
    """Estimate and weight by the formulas of PPI++ for a mean."""
    n, n_machine = len(y), len(g)
    every = [*f, *g]
    centre = sum(every) / len(every)
    spread = sum((value - centre) ** 2 for value in every) / (len(every) - 1)
    products = sum((a - sum(y) / n) * (b - sum(f) / n) for a, b in zip(y, f, strict=True)) / n
    weight = min(max(products / ((1 + n / n_machine) * spread), 0), 1)
    rectifier = sum(a - weight * b for a, b in zip(y, f, strict=True)) / n
    return weight * sum(g) / n_machine + rectifier, weight


@pytest.mark.parametrize("seed", range(4))
def test_the_estimate_is_that_of_the_published_implementation(seed):
    y, f, g = published_case(seed)
    found = prediction_powered_mean(y, f, g)
    assert found.mean == pytest.approx(PUBLISHED[seed], abs=1e-12)
    assert (found.mean, found.weight) == pytest.approx(naive(y, f, g), abs=1e-12)
    assert found.low < found.mean < found.high
    assert found.correlation == pytest.approx(np.corrcoef(y, f)[0, 1])
    assert (found.n_human, found.n_machine) == SIZES[seed]


@pytest.mark.parametrize("seed", range(4))
def test_the_installed_published_implementation_agrees(seed):
    ppi = pytest.importorskip("ppi_py")
    y, f, g = published_case(seed)
    for weight in (None, 0.0, 0.4, 1.0):
        wanted = float(np.squeeze(ppi.ppi_mean_pointestimate(y, f, g, lam=weight)))
        found = prediction_powered_mean(y, f, g, weight=weight)
        assert found.mean == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_the_interval_is_that_of_double_sampling_with_regression(seed):
    y, f, g = published_case(seed)
    n, n_machine = len(y), len(g)
    mean, weight = naive(y, f, g)
    residual, every = y - weight * f, np.append(f, g)
    squares = ((residual - residual.mean()) ** 2).sum()
    shift = every.mean() - f.mean()
    own = squares / (n - 2) * (1 / n + shift**2 / ((f - f.mean()) ** 2).sum())
    other = weight**2 * every.var(ddof=1) / n_machine
    free = (own + other) ** 2 / (own**2 / (n - 2) + other**2 / (n_machine - 1))
    half = stats.t.ppf(0.95, free) * np.sqrt(own + other)
    unbounded = {"bounds": (-np.inf, np.inf), "confidence_level": 0.9}
    found = prediction_powered_mean(y, f, g, **unbounded)
    assert (found.low, found.high) == pytest.approx((mean - half, mean + half), rel=1e-10)
    fixed = prediction_powered_mean(y, f, g, weight=weight, **unbounded)
    own = squares / (n - 1) / n
    free = (own + other) ** 2 / (own**2 / (n - 1) + other**2 / (n_machine - 1))
    assert fixed.high - mean == pytest.approx(stats.t.ppf(0.95, free) * np.sqrt(own + other))


def test_weight_0_is_students_t_interval_of_the_human_values(rng):
    y, f, g = rng.random(12), rng.random(12), rng.random(40)
    found = prediction_powered_mean(
        y, f, g, weight=0, bounds=(-np.inf, np.inf), confidence_level=0.9
    )
    ends = stats.ttest_1samp(y, 0).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high))
    assert (found.human_low, found.human_high) == pytest.approx((ends.low, ends.high))
    assert found.mean == found.human_mean == pytest.approx(y.mean()) and found.saving == 0


def test_bias_is_the_paired_test_of_machine_against_human(rng):
    y = rng.random(30)
    f = y + 0.1 + 0.2 * rng.standard_normal(30)
    found, wanted = prediction_powered_mean(y, f, f), stats.ttest_rel(f, y)
    ends = wanted.confidence_interval(0.95)
    assert found.bias == pytest.approx((f - y).mean())
    assert found.bias_p == pytest.approx(wanted.pvalue)
    assert (found.bias_low, found.bias_high) == pytest.approx((ends.low, ends.high))


def test_without_further_queries_or_with_a_constant_machine_humans_decide(rng):
    y, f = rng.random(10), rng.random(10)
    for found in (
        prediction_powered_mean(y, f, []),
        prediction_powered_mean(y, np.ones(10), np.ones(50)),
    ):
        assert found.weight == 0 and found.mean == y.mean()
    same = prediction_powered_mean(np.ones(5), np.ones(5), np.ones(9))
    assert (same.low, same.mean, same.high) == pytest.approx((0.025**0.2, 1, 1))
    assert same.bias_p == 1
    unbounded = prediction_powered_mean(np.ones(5), np.ones(5), np.ones(9), bounds=(0, np.inf))
    assert np.isnan([unbounded.low, unbounded.high]).all()


def test_a_machine_that_is_always_right_adds_its_queries(rng):
    y, g = rng.random(25), rng.random(2000)
    found = prediction_powered_mean(y, y, g)
    n_all = 2025
    assert found.weight == pytest.approx(2000 / n_all, rel=0.3)
    assert found.saving > 0.75 and found.mean == pytest.approx(g.mean(), abs=0.05)


@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize("n", [20, 100])
def test_intervals_cover_whatever_the_machine_is(name, n):
    found = coverage(name, n, 300, np.random.default_rng(0), n_machine=300)
    assert 0.92 < found.powered < 0.985
    assert (found.machine < 0.9) == (name != "careful") and (
        n > 20 or found.normal <= found.powered
    )


def test_savings_are_those_of_the_theory():
    for name in ("careful", "noise"):
        found = coverage(name, 100, 500, np.random.default_rng(1), n_machine=900)
        bound = 1 - np.sqrt(1 - found.correlation**2 * 0.9)
        assert found.saving == pytest.approx(bound, abs=0.02)


def test_bad_values_are_named():
    with pytest.raises(ValueError, match="at least 3, got 2 and 2"):
        prediction_powered_mean([1, 2], [1, 2], [3])
    with pytest.raises(ValueError, match=r"same queries, at least 3, got 3 and 4"):
        prediction_powered_mean([1, 2, 3], [1, 2, 3, 4], [3])
    with pytest.raises(
        ValueError, match=r"human must be finite, got nan at query 1. Use a measure"
    ):
        prediction_powered_mean([1, np.nan, 3], [1, 2, 3], [3])
    with pytest.raises(ValueError, match="machine_only must be one-dimensional"):
        prediction_powered_mean([1, 2, 3], [1, 2, 3], [[3]])
    with pytest.raises(ValueError, match="weight must lie between 0 and 1, got 2"):
        prediction_powered_mean([1, 2, 3], [1, 2, 3], [3], weight=2)
    with pytest.raises(ValueError, match="confidence_level must lie between 0 and 1"):
        prediction_powered_mean([1, 2, 3], [1, 2, 3], [3], confidence_level=95)


@pytest.mark.parametrize("rate", [0.01, 0.05, 0.5, 0.95, 0.99])
@pytest.mark.parametrize("n", [5, 20])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_shares_near_a_bound_are_covered(rng, rate, n, sign):
    held = 0
    for _ in range(25):
        truth = (rng.random(n + 200) < rate).astype(float)
        machine = np.where(rng.random(n + 200) < 0.95, truth, 1 - truth)
        parts = [sign * part for part in (truth[:n], machine[:n], machine[n:])]
        found = prediction_powered_mean(*parts)
        assert found.high > found.low and found.bias_high > found.bias_low
        held += found.low <= sign * rate <= found.high
        held_alone = found.human_high - found.human_low
        assert held_alone > 0
    assert held >= 21


def test_a_small_sample_of_the_machine_widens_intervals_near_a_bound():
    y, f, g = [0.0] * 7 + [1.0], [0.0] * 6 + [1.0, 1.0], [0.0, 1.0, 0.0]
    found = prediction_powered_mean(y, f, g, bounds=(0, 1))
    of_machine = stats.t(2).ppf(0.975) * found.weight * np.sqrt(np.var([*f, *g], ddof=1) / 3)
    of_residuals = 0.425699  # does not depend on the machine's further queries but by the weight
    assert found.high - found.mean == pytest.approx(np.hypot(of_residuals, of_machine), abs=1e-5)


def test_bounds_are_checked():
    with pytest.raises(ValueError, match="must lie between bounds="):
        prediction_powered_mean([1, 2, 3], [1, 2, 3], [4], bounds=(0, 3))


def test_rare_differences_do_not_widen_the_interval_beyond_that_of_the_humans():
    """Two systems that differ for few queries, as on Home Depot: several times as wide before."""
    y = np.zeros(50)
    y[:4] = 1 / 3, -1 / 3, 1 / 3, -1 / 3
    g = np.zeros(2000)
    g[:240] = np.resize([0.1, -0.1], 240)
    found = prediction_powered_mean(y, 0.3 * y, g)
    assert found.human_low < 0 < found.human_high
    assert found.saving >= -1e-12
