"""Tests, corrections, effects and intervals against scipy and against enumeration."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rankwise.metrics.significance import (
    benjamini_hochberg,
    bonferroni,
    bootstrap_interval,
    bootstrap_intervals,
    cliffs_delta,
    cohens_d,
    compare_to_best,
    holm,
    paired_test,
    rank_biserial,
    stratified_mean,
    t_intervals,
)
from rankwise.metrics.statistics.paired import sign_flip_p_values
from rankwise.metrics.statistics.stratified import stratified_means, t_p_values

ALTERNATIVES = ("two-sided", "greater", "less")
METHODS = ("t", "wilcoxon", "randomization")


def systems(rng, n, shift=0.1, noise=0.3):
    a = rng.random(n)
    return a, a - shift + noise * rng.standard_normal(n)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("n", [2, 3, 11, 50, 51, 300])
def test_t_equals_scipy(rng, n, alternative):
    a, b = systems(rng, n)
    ours, theirs = (
        paired_test(a, b, "t", alternative=alternative),
        stats.ttest_rel(a, b, alternative=alternative),
    )
    assert ours.statistic == pytest.approx(theirs.statistic, rel=1e-12)
    if ours.skewness == 0:
        assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-11)
    elif theirs.pvalue < 0.5:
        assert (
            0.999 * theirs.pvalue < ours.p_value < 1.5 * theirs.pvalue
        )  # slightly skewed by chance
    assert (ours.n_pairs, ours.mean_difference) == (n, pytest.approx((a - b).mean()))


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("n", [1, 5, 11, 50, 51, 300])
def test_wilcoxon_equals_scipy(rng, n, alternative):
    a, b = systems(rng, n)
    ours = paired_test(a, b, "wilcoxon", alternative=alternative)
    theirs = stats.wilcoxon(a, b, alternative=alternative)
    assert ours.statistic == theirs.statistic
    assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-12)


def test_wilcoxon_drops_zero_differences_then_uses_the_exact_distribution(rng):
    a, b = systems(rng, 20)
    alone = paired_test(a, b, "wilcoxon")
    with_zeros = paired_test(np.append(a, [0.5] * 9), np.append(b, [0.5] * 9), "wilcoxon")
    assert with_zeros.p_value == alone.p_value
    assert with_zeros.n_pairs == 29


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("n", [2, 5, 10])
def test_exact_randomisation_equals_scipy(rng, n, alternative):
    a, b = systems(rng, n)
    ours = paired_test(a, b, "randomization", alternative=alternative)
    expected = stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
        alternative=alternative,
    ).pvalue
    assert ours.p_value == pytest.approx(expected, abs=1e-15)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=11), st.sampled_from(ALTERNATIVES))
def test_exact_randomisation_equals_enumeration(tenths, alternative):
    differences = np.array(tenths) / 10  # sums of tenths tie up to rounding
    signs = np.array(list(itertools.product([1, -1], repeat=len(tenths))))
    sums, observed = signs @ np.array(tenths), sum(tenths)
    extreme = {
        "two-sided": abs(sums) >= abs(observed),
        "greater": sums >= observed,
        "less": sums <= observed,
    }[alternative]
    p = sign_flip_p_values(differences[:, None], alternative=alternative)
    assert p[0] == pytest.approx(extreme.mean(), abs=1e-15)
    tied = abs(sums) == abs(observed) if alternative == "two-sided" else sums == observed
    p = sign_flip_p_values(differences[:, None], alternative=alternative, mid_p=True)
    if observed or alternative != "two-sided":
        assert p[0] == pytest.approx(extreme.mean() - tied.mean() / 2, abs=1e-15)
    else:
        assert p[0] == 1.0


def test_drawn_randomisation_agrees_with_the_exact_one_and_with_scipy(rng):
    a, b = systems(rng, 33, shift=0.0)
    drawn = paired_test(a, b, "randomization", n_resamples=200_000).p_value
    theirs = stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=20_000,
        batch=2_000,
        rng=np.random.default_rng(3),
    ).pvalue
    assert 0.02 < drawn < 0.9
    assert drawn == pytest.approx(theirs, abs=5 * math.sqrt(0.25 / 20_000))
    # One difference so small that leaving it out, which makes the test exact, changes nothing.
    tiny = np.append(a[:32] - b[:32], 1e-9)
    exact = paired_test(tiny[:32], np.zeros(32), "randomization").p_value
    drawn = paired_test(tiny, np.zeros(33), "randomization", n_resamples=200_000).p_value
    assert drawn == pytest.approx(exact, abs=5 * math.sqrt(0.25 / 200_000))


def test_drawn_p_value_counts_the_observed_flip(rng):
    d = np.full(400, 1.0)
    p = sign_flip_p_values(np.column_stack([d, -d]), n_resamples=99, alternative="greater")
    assert p.tolist() == [0.01, 1.0]
    p = sign_flip_p_values(
        np.column_stack([d, -d]), n_resamples=99, alternative="greater", mid_p=True
    )
    assert p.tolist() == [0.005, 0.995]


def test_drawn_mid_p_is_that_of_the_sign_test():
    d = np.append(np.ones(30), -np.ones(20))
    p = sign_flip_p_values(d[:, None], n_resamples=100_000, mid_p=True)[0]
    binomial = stats.binom(50, 0.5)
    expected = 2 * binomial.sf(30) + binomial.pmf(30)
    assert p == pytest.approx(expected, abs=5 * math.sqrt(expected / 100_000))


def test_randomisation_of_many_systems_is_that_of_each(rng):
    columns = rng.standard_normal((70, 5)) + np.arange(5) / 10
    columns[rng.random((70, 5)) < 0.1] = np.nan
    columns[30:, 3] = np.nan  # few enough to be exact
    columns[:, 4] = np.nan
    together = sign_flip_p_values(columns, n_resamples=500)
    alone = [sign_flip_p_values(column[:, None], n_resamples=500)[0] for column in columns.T]
    np.testing.assert_array_equal(together, alone)
    assert np.isnan(together[4])
    assert not np.isnan(together[:4]).any()
    assert (
        paired_test(columns[:, 1], np.zeros(70), "randomization", n_resamples=500).p_value
        == (together[1])
    )


def test_p_values_are_uniform_under_the_null(rng):
    d = rng.standard_normal((60, 400))
    assert stats.kstest(sign_flip_p_values(d, n_resamples=999), "uniform").pvalue > 0.01


@pytest.mark.parametrize("method", METHODS)
def test_equal_systems_have_p_one(rng, method):
    a = rng.random(40)
    result = paired_test(a, a, method)
    assert (result.p_value, result.mean_difference, result.n_pairs) == (1.0, 0.0, 40)


@pytest.mark.parametrize("n", [3, 40])
def test_constant_difference(rng, n):
    a = np.arange(n) / 8
    result = paired_test(a + 0.5, a, "t")
    assert (result.statistic, result.p_value) == (math.inf, 2.0 ** (1 - n))
    assert paired_test(a, a + 0.5, "t").statistic == -math.inf
    assert paired_test(a, a + 0.5, "t", alternative="greater").p_value == 1.0
    assert paired_test(a, a + 0.5, "t", alternative="less").p_value == 2.0**-n
    for method in METHODS[1:]:
        p = paired_test(a + 0.5, a, method).p_value
        assert 0 < p <= (0.25 if n == 3 else 1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_nan_pairs_are_dropped(rng, method):
    a, b = systems(rng, 25)
    with_nan = np.insert(a, [3, 9], np.nan), np.insert(b, [3, 9], [0.1, np.nan])
    ours, dropped = paired_test(*with_nan, method), paired_test(a, b, method)
    assert ours == dropped


@pytest.mark.parametrize("method", METHODS)
def test_too_few_pairs_give_nan(method):
    nothing = paired_test([np.nan, 1.0], [1.0, np.nan], method)
    assert nothing.n_pairs == 0
    assert math.isnan(nothing.p_value) and math.isnan(nothing.mean_difference)
    one = paired_test([1.0], [0.0], method)
    assert math.isnan(one.p_value) if method == "t" else one.p_value == 1.0


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="equal length, got shapes"):
        paired_test([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match=r"method must be one of .* got 'z'"):
        paired_test([1.0], [1.0], "z")
    with pytest.raises(ValueError, match="alternative must be"):
        paired_test([1.0], [1.0], alternative="both")
    with pytest.raises(ValueError, match="infinity"):
        paired_test([np.inf], [1.0])
    with pytest.raises(ValueError, match="n_resamples must be a whole number >= 1, got 0"):
        paired_test([1.0], [1.0], "randomization", n_resamples=0)
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        holm([0.2, 1.2])
    with pytest.raises(ValueError, match="confidence_level must lie between"):
        bootstrap_interval([1.0, 2.0], confidence_level=95)
    with pytest.raises(ValueError, match="one of 'bca', 'percentile', got 'basic'"):
        bootstrap_interval([1.0, 2.0], method="basic")
    with pytest.raises(ValueError, match=r"strata must have shape \(2,\)"):
        bootstrap_interval([1.0, 2.0], strata=[1])
    with pytest.raises(ValueError, match="finite numbers or NaN"):
        bootstrap_interval([1.0, np.inf])
    with pytest.raises(ValueError, match="equal length, got shapes"):
        compare_to_best({"a": [1.0], "b": [1.0, 2.0]})


def naive_holm(p):
    """The closed form: the largest (n - rank + 1)-fold p among those not larger."""
    ordered = sorted(p)
    return [
        min(1.0, max((len(p) - k) * ordered[k] for k in range(len(p)) if ordered[k] <= value))
        for value in p
    ]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_holm_and_bonferroni(p):
    adjusted = holm(p)
    np.testing.assert_allclose(adjusted, naive_holm(p), rtol=1e-14)
    np.testing.assert_allclose(bonferroni(p), np.minimum(np.array(p) * len(p), 1), rtol=1e-14)
    assert (adjusted <= bonferroni(p) + 1e-15).all() and (adjusted >= np.array(p)).all()
    assert np.array_equal(holm(p[::-1]), adjusted[::-1])


def test_corrections_do_not_count_tests_that_were_not_made():
    p = [0.01, np.nan, 0.04, 0.03]
    kept = [0, 2, 3]
    for correct in (holm, bonferroni, benjamini_hochberg):
        adjusted = correct(p)
        assert np.isnan(adjusted[1])
        np.testing.assert_array_equal(adjusted[kept], correct([p[i] for i in kept]))
    assert np.isnan(holm([np.nan])).all()


def test_effect_sizes(rng):
    a, b = np.round(rng.random(30), 1), np.round(rng.random(30), 1)
    d = a - b
    assert cohens_d(a, b) == pytest.approx(stats.ttest_rel(a, b).statistic / math.sqrt(30))
    delta = np.mean([np.sign(x - y) for x in a for y in b])
    assert cliffs_delta(a, b) == pytest.approx(delta, abs=1e-15)
    assert cliffs_delta(a, b[:7]) == pytest.approx(
        2 * stats.mannwhitneyu(a, b[:7]).statistic / (30 * 7) - 1
    )
    n = np.count_nonzero(d)
    smaller = stats.wilcoxon(d[d != 0]).statistic
    assert abs(rank_biserial(a, b)) == pytest.approx(1 - 4 * smaller / (n * (n + 1)))
    assert rank_biserial(a, b) == -rank_biserial(b, a)
    assert (cohens_d(a, a), rank_biserial(a, a), cliffs_delta(a, a)) == (0.0, 0.0, 0.0)
    assert cohens_d([2.0, 2.0], [1.0, 1.0]) == math.inf
    assert cohens_d(np.array(a) - 0.3, a) == -math.inf  # equal but for rounding
    assert cohens_d(a * 3 / 3, a) == 0.0
    assert (rank_biserial(a + 2, b), cliffs_delta(a + 2, b)) == (1.0, 1.0)
    missing = np.where(np.arange(30) == 4, np.nan, a)
    assert rank_biserial(missing, b) == rank_biserial(np.delete(a, 4), np.delete(b, 4))
    assert cohens_d(missing, b) == pytest.approx(cohens_d(np.delete(a, 4), np.delete(b, 4)))
    assert cliffs_delta(missing, b) == cliffs_delta(np.delete(a, 4), b)
    assert all(math.isnan(f([np.nan], [1.0])) for f in (cohens_d, rank_biserial, cliffs_delta))


@pytest.mark.parametrize("method", ["bca", "percentile"])
@pytest.mark.parametrize("n", [2, 7, 60])
def test_bootstrap_equals_scipy(rng, n, method):
    # Dyadic values: scipy breaks the ties of resampled means with the mean by their rounding.
    values = np.round(rng.random(n) ** 3 * 4096) / 4096
    ours = bootstrap_interval(
        values, method=method, confidence_level=0.9, n_resamples=2000, random_state=5
    )
    theirs = stats.bootstrap(
        (values,),
        np.mean,
        confidence_level=0.9,
        n_resamples=2000,
        method="BCa" if method == "bca" else method,
        rng=np.random.default_rng(5),
    ).confidence_interval
    np.testing.assert_allclose(ours, theirs, rtol=1e-11)


@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_stratified_bootstrap_equals_scipy_with_one_sample_per_fold(rng, method):
    sizes = [9, 20, 14]
    strata = np.repeat([3, 1, 2], sizes)
    values = rng.random(43) ** 2 + strata
    parts = [values[strata == fold] for fold in (1, 2, 3)]
    ours = bootstrap_interval(
        values, strata=strata, method=method, n_resamples=1500, random_state=8
    )
    theirs = stats.bootstrap(
        parts,
        lambda x, y, z, axis: (x.mean(axis=axis) + y.mean(axis=axis) + z.mean(axis=axis)) / 3,
        n_resamples=1500,
        method="BCa" if method == "bca" else method,
        rng=np.random.default_rng(8),
    ).confidence_interval
    np.testing.assert_allclose(ours, theirs, rtol=1e-11)
    pooled = bootstrap_interval(values, method=method, n_resamples=1500)
    assert ours.high - ours.low < 0.5 * (pooled.high - pooled.low)  # folds differ by 1


def test_intervals_of_many_systems_are_those_of_each(rng):
    columns = rng.random((41, 6))
    columns[4, :] = np.nan
    columns[[7, 9], 2] = np.nan
    columns[:, 3] = np.nan
    columns[:, 4] = 0.25
    columns[1:, 5] = np.nan
    strata = np.arange(41) % 3
    together = bootstrap_intervals(columns, strata=strata, n_resamples=400)
    alone = [bootstrap_interval(c, strata=strata, n_resamples=400) for c in columns.T]
    np.testing.assert_allclose(together, alone, rtol=1e-12)
    assert np.isnan(together[[3, 5]]).all()
    assert together[4].tolist() == [0.25, 0.25]
    counted = ~np.isnan(columns[:, 2])
    dropped = bootstrap_interval(columns[counted, 2], strata=strata[counted], n_resamples=400)
    assert tuple(together[2]) == pytest.approx(dropped)


def test_long_columns_are_drawn_in_chunks_with_the_right_spread(rng):
    values = rng.standard_normal(30_000)
    low, high = bootstrap_interval(values, n_resamples=400, method="percentile")
    half = 1.96 * values.std() / math.sqrt(30_000)
    assert low == pytest.approx(values.mean() - half, abs=0.3 * half)
    assert high == pytest.approx(values.mean() + half, abs=0.3 * half)


def test_bca_covers_a_skewed_mean_as_often_as_it_says(rng):
    samples = rng.exponential(size=(40, 500))
    ends = bootstrap_intervals(samples, n_resamples=999, confidence_level=0.9)
    covered = np.mean((ends[:, 0] <= 1) & (ends[:, 1] >= 1))
    assert 0.83 < covered < 0.94


def test_discrete_values_do_not_bias_the_interval():
    """Precision at 1 is 0 or 1: many resampled means equal the mean itself."""
    values = np.array([0.0, 1.0] * 15) / 3  # means of thirds round differently in other orders
    low, high = bootstrap_interval(values, n_resamples=20_000)
    assert low + high == pytest.approx(1 / 3, abs=0.02)


def test_generator_as_random_state(rng):
    values = rng.random(20)
    first = bootstrap_interval(values, random_state=np.random.default_rng(1), n_resamples=50)
    again = bootstrap_interval(values, random_state=np.random.default_rng(1), n_resamples=50)
    assert first == again != bootstrap_interval(values, random_state=2, n_resamples=50)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("greater_is_better", [True, False])
def test_compare_to_best(rng, method, greater_is_better):
    base = rng.random(80)
    sign = 1 if greater_is_better else -1
    per_query = {
        "weak": base - sign * 0.2 + 0.2 * rng.standard_normal(80),
        "best": base + sign * 0.1 + 0.02 * rng.standard_normal(80),
        "none": np.full(80, np.nan),
        "close": base + sign * 0.09 + 0.1 * rng.standard_normal(80),
    }
    per_query["weak"][:4] = np.nan
    strata = np.repeat([0, 1], [30, 50])
    table = compare_to_best(
        per_query,
        greater_is_better=greater_is_better,
        method=method,
        strata=strata,
        n_resamples=500,
        random_state=1,
    )
    assert [row.name for row in table] == ["best", "close", "weak", "none"]
    best, close, weak, none = table
    for row in (best, close, weak):
        values = per_query[row.name]
        assert row.mean == pytest.approx(np.mean([np.nanmean(values[:30]), values[30:].mean()]))
        assert (row.low, row.high) == pytest.approx(
            t_intervals(values[:, None], strata=strata)[0], rel=1e-12
        )
        assert row.low < row.mean < row.high
        assert row.difference == pytest.approx(
            stratified_mean(values - per_query["best"], strata), abs=1e-14
        )
    assert math.isnan(best.p_value) and (best.wins, best.ties, best.losses) == (0, 80, 0)
    for row in (close, weak):
        difference = per_query[row.name] - per_query["best"]
        if method == "t":
            expected = t_p_values(stratified_means(difference[:, None], strata))[0]
        else:
            expected = paired_test(difference, np.zeros(80), method, n_resamples=500,
                                   random_state=1).p_value  # fmt: skip
        assert row.p_value == pytest.approx(expected, rel=1e-12)
        effect = cohens_d(per_query[row.name], per_query["best"])
        assert row.effect == pytest.approx(effect, rel=1e-12)
        assert row.difference_low < row.difference < row.difference_high
    assert weak.wins + weak.ties + weak.losses == 76
    assert weak.losses > 60
    assert all(math.isnan(v) for v in (none.mean, none.low, none.p_value, none.p_corrected))
    assert (none.wins, none.losses) == (0, 0)


@pytest.mark.parametrize(
    ("method", "correction", "correct"),
    [
        ("t", "holm", holm),
        ("t", "benjamini_hochberg", benjamini_hochberg),
        ("t", "bonferroni", bonferroni),
        ("wilcoxon", "auto", holm),
        ("randomization", "holm", holm),
    ],
)
def test_corrections_are_over_all_pairs(rng, method, correction, correct):
    values = rng.random((40, 4)) + np.array([0.0, 0.05, 0.1, 0.4])
    values[3, 1] = np.nan
    table = compare_to_best(
        dict(zip("abcd", values.T, strict=True)),
        method=method,
        correction=correction,
        n_resamples=300,
    )
    pairs = list(itertools.combinations("abcd", 2))
    columns = dict(zip("abcd", values.T, strict=True))
    p = [
        paired_test(columns[a], columns[b], method, n_resamples=300, random_state=0).p_value
        for a, b in pairs
    ]
    adjusted = dict(zip(pairs, correct(p), strict=True))
    best = table[0].name
    assert best == "d"
    for row in table[1:]:
        assert row.p_corrected == pytest.approx(adjusted[row.name, best], rel=1e-9)
        if method == "t" and row.p_corrected >= 0.05:
            assert row.difference_low <= 0 <= row.difference_high


def test_a_correction_must_suit_the_test():
    with pytest.raises(ValueError, match=r"needs t statistics, got method='wilcoxon'\. Use"):
        compare_to_best({"a": [1.0, 2.0]}, method="wilcoxon", correction="max_t")
    with pytest.raises(ValueError, match=r"correction must be one of .*got 'hochberg'"):
        compare_to_best({"a": [1.0, 2.0]}, correction="hochberg")
    with pytest.raises(ValueError, match="interval must be one of"):
        compare_to_best({"a": [1.0, 2.0]}, interval="basic")


def naive_benjamini_hochberg(p):
    """The closed form: the smallest n p / rank among those not smaller."""
    ordered = sorted(p)
    return [
        min(1.0, min(len(p) * ordered[k] / (k + 1) for k in range(len(p)) if ordered[k] >= value))
        for value in p
    ]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_benjamini_hochberg(p):
    adjusted = benjamini_hochberg(p)
    np.testing.assert_allclose(adjusted, naive_benjamini_hochberg(p), rtol=1e-12)
    np.testing.assert_allclose(adjusted, stats.false_discovery_control(p), rtol=1e-12)
    assert (adjusted <= holm(p) + 1e-15).all()


def test_compare_to_best_corner_cases():
    assert compare_to_best({}) == []
    (only,) = compare_to_best({"a": [0.5, 0.7, 0.2]}, n_resamples=50)
    assert only.difference == 0 and math.isnan(only.p_corrected)
    same = compare_to_best({"a": [0.5, 0.7, 0.2], "b": [0.5, 0.7, 0.2]}, n_resamples=50)
    assert [row.name for row in same] == ["a", "b"]
    assert (same[1].p_value, same[1].p_corrected, same[1].effect) == (1.0, 1.0, 0.0)
    assert (same[0].low, same[0].high) == (same[1].low, same[1].high)


RARE_LOSS = np.r_[np.full(38, 0.05), -0.2, -0.3]  # a loss that occurs more often decides


@pytest.mark.parametrize(
    ("differences", "method", "words"),
    [
        (RARE_LOSS, "t", "so skewed"),
        (RARE_LOSS, "randomization", "so skewed"),
        (RARE_LOSS, "wilcoxon", "finds what is better on more queries"),
        (np.tile([-0.1, 0.2], 14), "t", "few queries"),
        (np.tile([-0.1, 0.2], 14), "wilcoxon", "few queries"),
        (np.tile([-0.1, 0.2], 20), "t", None),
        (np.tile([-0.1, 0.2], 20), "randomization", None),
        (np.tile([-0.1, 0.2], 20), "wilcoxon", None),
    ],
)
def test_paired_test_notes_data_that_its_p_cannot_be_relied_on_with(differences, method, words):
    found = paired_test(differences, np.zeros(len(differences)), method, n_resamples=99)
    assert [words in note for note in found.notes] == ([] if words is None else [True])


def test_t_is_corrected_for_skewed_differences():
    zeros = np.zeros(len(RARE_LOSS))
    for differences, alternative in ((RARE_LOSS, "greater"), (-RARE_LOSS, "less")):
        ours = paired_test(differences, zeros, alternative=alternative)
        theirs = stats.ttest_rel(differences, zeros, alternative=alternative)
        assert ours.statistic == pytest.approx(theirs.statistic)
        assert ours.p_value > 2 * theirs.pvalue
        both = paired_test(differences, zeros).p_value
        assert both == pytest.approx(2 * ours.p_value)


@pytest.mark.parametrize(
    ("values", "strata", "words"),
    [
        (np.linspace(0, 1, 29), None, "fewer than 30 values"),
        (np.ones(40), None, "equal values"),
        (np.r_[np.zeros(98), 1.0, 1.0], None, "skewness"),
        (np.linspace(0, 1, 60), np.arange(60) % 20, "small strata"),
        (np.tile([0.0, 0.1], 50), None, "far from all values"),
        (np.linspace(0, 1, 60), None, None),
        (np.linspace(0, 1, 60), np.arange(60) % 3, None),
    ],
)
def test_bootstrap_warns_of_values_for_which_it_is_too_short(values, strata, words):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bootstrap_interval(values, strata=strata, n_resamples=9)
    assert [words in str(warning.message) for warning in caught] == (
        [] if words is None else [True]
    )
