"""Rank intervals, letters and errors due to runs, against definitions, loops and simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from benchmarks.rank_intervals import coverage
from scipy import stats

from rankwise.metrics.significance import (
    compact_letters,
    compare_to_baseline,
    compare_to_best,
    pool_run_errors,
    rank_intervals,
    run_error,
)
from rankwise.metrics.statistics.all_pairs import max_t, pair_differences
from rankwise.metrics.statistics.stratified import RunErrors


def test_ranks_lie_between_the_certainly_better_and_the_certainly_worse(rng):
    scores = rng.normal(size=9)
    is_better = scores[:, None] > scores + 0.8
    low, high = rank_intervals(is_better)
    for system in range(9):
        assert low[system] == 1 + sum(is_better[other, system] for other in range(9))
        assert high[system] == 9 - sum(is_better[system, other] for other in range(9))
    ranks = stats.rankdata(-scores)
    assert ((low <= ranks) & (ranks <= high)).all()


@pytest.mark.parametrize("table", [np.ones((2, 2)), np.ones((2, 3)), np.ones(3)])
def test_tables_that_contradict_themselves_are_refused(table):
    with pytest.raises(ValueError, match="square table"):
        rank_intervals(table.astype(bool))


@pytest.mark.parametrize("n", [1, 2, 7, 30])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 1.0])
def test_systems_share_a_letter_exactly_if_they_are_not_separable(rng, n, share):
    separable = np.triu(rng.random((n, n)) < share, 1)
    separable |= separable.T
    letters = compact_letters(separable)
    groups = [set(found.split(".") if "." in found else found) for found in letters]
    if all(found.isalpha() for found in letters):
        for i, j in itertools.combinations(range(n), 2):
            assert bool(groups[i] & groups[j]) != separable[i, j]
    assert all(letters)
    assert letters[0].startswith(("a", "1"))


def test_runs_of_neighbours_need_as_few_letters_as_possible():
    means = np.arange(8)
    letters = compact_letters(np.abs(means[:, None] - means) > 2)
    assert letters == ["a", "ab", "abc", "bcd", "cde", "def", "ef", "f"]


def test_more_groups_than_letters_have_numbers():
    means = np.arange(60)
    letters = compact_letters(np.abs(means[:, None] - means) > 1)
    assert letters[:3] == ["1", "1.2", "2.3"]


@pytest.mark.parametrize("correction", ["max_t", "holm", "bonferroni"])
@pytest.mark.parametrize("greater_is_better", [True, False])
def test_comparisons_carry_the_intervals_of_their_pairs(rng, correction, greater_is_better):
    shifts = np.array([0.0, 0.1, 1.0, 2.5, 2.6])
    values = rng.normal(size=(40, 5)) + shifts
    columns = {f"s{i}": values[:, i] for i in range(5)}
    table = compare_to_best(columns, correction=correction, greater_is_better=greater_is_better)
    p = np.full((5, 5), math.nan)
    for i, j in itertools.combinations(range(5), 2):
        p[i, j] = p[j, i] = stats.ttest_rel(values[:, i], values[:, j]).pvalue
    if correction == "max_t":
        p = max_t(values, pair_differences(values)).p_values
    else:
        from rankwise.metrics import significance

        above = np.triu_indices(5, 1)
        adjusted = getattr(significance, correction)(p[above])
        p[above] = p.T[above] = adjusted
    means = values.mean(axis=0) * (1 if greater_is_better else -1)
    for row in table:
        i = int(row.name[1])
        better = sum(p[i, j] < 0.05 and means[j] > means[i] for j in range(5) if j != i)
        worse = sum(p[i, j] < 0.05 and means[j] < means[i] for j in range(5) if j != i)
        assert (row.rank_low, row.rank_high) == (1 + better, 5 - worse)
        assert row.letters


def test_no_intervals_where_nothing_controls_all_pairs(rng):
    columns = {name: rng.random(20) for name in "abc"}
    for row in compare_to_baseline(columns, "a"):
        assert (row.rank_low, row.rank_high, row.letters) == (None, None, "")
    for row in compare_to_best(columns, correction="benjamini_hochberg"):
        assert row.rank_low is None


def test_systems_without_values_have_no_rank(rng):
    columns = {"a": rng.random(20), "none": np.full(20, math.nan), "b": rng.random(20) + 2}
    table = compare_to_best(columns)
    assert [(row.name, row.rank_low, row.rank_high) for row in table] == [
        ("b", 1, 1), ("a", 2, 2), ("none", None, None),
    ]  # fmt: skip


def test_the_error_of_runs_is_that_of_the_mean_of_their_means(rng):
    values = rng.random((12, 4))
    strata = np.arange(12) % 3
    means = [np.mean([run[strata == s].mean() for s in range(3)]) for run in values.T]
    error, freedom = run_error(values, strata)
    assert error == pytest.approx(stats.sem(means))
    assert freedom == 3
    assert run_error(values[:, :1]) == (0.0, 0.0)
    values[5, 2] = math.nan
    assert run_error(values)[0] == pytest.approx(stats.sem(np.delete(values, 5, axis=0).mean(0)))


def test_errors_of_runs_widen_intervals_as_independent_parts_do(rng):
    values = rng.random((30, 2))
    runs = RunErrors(np.array([0.1, 0.2]), np.array([4.0, 9.0]))
    plain, pairs = pair_differences(values), pair_differences(values, None, runs)
    variance = plain.error[0, 1] ** 2 + 0.1**2 + 0.2**2
    assert pairs.error[0, 1] == pytest.approx(math.sqrt(variance))
    parts = [plain.error[0, 1] ** 4 / 29, 0.1**4 / 4, 0.2**4 / 9]
    assert pairs.freedom[0, 1] == pytest.approx(variance**2 / sum(parts))
    assert pairs.error[0, 0] == 0
    columns = {"a": values[:, 0], "b": values[:, 1]}
    errors = {"a": (0.1, 4.0), "b": (0.2, 9.0)}
    before = {row.name: row for row in compare_to_best(columns)}
    after = {row.name: row for row in compare_to_best(columns, run_errors=errors)}
    for name in columns:
        assert after[name].mean == before[name].mean
        assert after[name].high - after[name].low > before[name].high - before[name].low
    with pytest.raises(ValueError, match="method='t'"):
        compare_to_best(columns, method="wilcoxon", run_errors=errors)


def test_few_runs_borrow_the_spread_of_the_others(rng):
    runs = {"a": rng.normal(size=4), "b": rng.normal(size=3) * 0.01, "wild": 9 * rng.normal(size=5)}
    errors = {name: (float(stats.sem(found)), len(found) - 1.0) for name, found in runs.items()}
    errors["one"] = (0.0, 0.0)
    within = sum(((found - found.mean()) ** 2).sum() for found in runs.values()) / (3 + 2 + 4)
    pooled = pool_run_errors(errors)
    assert pooled["b"] == (pytest.approx(math.sqrt(within / 3)), 9.0)
    assert pooled["wild"] == (errors["wild"][0], 9.0)
    assert pooled["one"] == (0.0, 0.0)
    assert pool_run_errors({}) == {}


@pytest.mark.parametrize("kind", ["ties", "runs"])
def test_intervals_hold_the_true_ranks(kind):
    covered, _ = coverage(kind, n_systems=6, n_units=40, repetitions=200, n_resamples=199)
    # Three standard errors below the stated .95.
    assert covered >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / 200)
