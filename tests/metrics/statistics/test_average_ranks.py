"""Average ranks: the worked example of Demšar's paper, scipy, and ranks by counting."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from rankwise.metrics.significance import average_ranks

# Table 6 of Demšar (2006): AUC of four variants of C4.5 on 14 data sets. Of "voting" the last two
# are equal in print only: their ranks there are 2 and 3.
NAMES = ("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf")
AUC = np.array(
    [
        [0.763, 0.768, 0.771, 0.798], [0.599, 0.591, 0.590, 0.569], [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657], [0.882, 0.888, 0.886, 0.898], [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685], [0.583, 0.583, 0.563, 0.625], [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000], [0.940, 0.962, 0.965, 0.962], [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975], [0.957, 0.978, 0.946, 0.970],
    ]
)  # fmt: skip


def columns(table, names=None):
    names = [f"s{j}" for j in range(table.shape[1])] if names is None else names
    return dict(zip(names, table.T, strict=True))


def test_the_worked_example_of_the_paper():
    found = average_ranks(columns(AUC, NAMES), tie_correction=False)
    assert found.names == ["C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"]
    np.testing.assert_allclose(found.ranks, [1.964, 2.000, 2.893, 3.143], atol=5e-4)
    assert found.chi2 == pytest.approx(9.28, abs=0.005)
    assert found.f == pytest.approx(3.69, abs=0.005)
    assert found.critical_difference == pytest.approx(1.25, abs=0.005)
    assert average_ranks(
        columns(AUC, NAMES), confidence_level=0.9
    ).critical_difference == pytest.approx(1.12, abs=0.005)
    # "not powerful enough" at 0.05; at 0.10 C4.5 differs from both variants with m.
    assert found.cliques() == [found.names]
    assert average_ranks(columns(AUC, NAMES), confidence_level=0.9).cliques() == [
        ["C4.5+m+cf", "C4.5+m", "C4.5+cf"],
        ["C4.5+cf", "C4.5"],
    ]


@pytest.mark.parametrize(
    ("k", "at_05", "at_10"),
    [(2, 1.960, 1.645), (5, 2.728, 2.459), (10, 3.164, 2.920)],
)
def test_critical_values_are_those_of_the_paper(k, at_05, at_10, rng):
    """Its Table 5."""
    values = columns(rng.normal(size=(20, k)))
    for level, q in ((0.95, at_05), (0.9, at_10)):
        found = average_ranks(values, confidence_level=level).critical_difference
        assert found / np.sqrt(k * (k + 1) / (6 * 20)) == pytest.approx(q, abs=6e-4)


@pytest.mark.parametrize("k", [3, 6])
def test_friedman_is_that_of_scipy(k, rng):
    for table in (rng.normal(size=(12, k)), rng.integers(0, 3, (12, k)).astype(float)):
        expected = stats.friedmanchisquare(*table.T)
        found = average_ranks(columns(table))
        assert (found.chi2, found.chi2_p) == pytest.approx(tuple(expected))


def test_f_is_the_analysis_of_variance_of_the_ranks(rng):
    table = rng.normal(size=(9, 4))
    ranks = stats.rankdata(-table, axis=1)
    systems, blocks = ranks.mean(axis=0), ranks.mean(axis=1)
    residual = ranks - systems - blocks[:, None] + ranks.mean()
    of_systems = 9 * np.sum((systems - ranks.mean()) ** 2) / 3
    expected = of_systems / (np.sum(residual**2) / (3 * 8))
    found = average_ranks(columns(table))
    assert found.f == pytest.approx(expected)
    assert found.f_p == pytest.approx(stats.f.sf(expected, 3, 24))


def test_ranks_count_the_better_systems(rng):
    table = rng.integers(0, 4, (8, 5)).astype(float)
    above = (table[:, None, :] > table[:, :, None]).sum(axis=2)
    level_with = (table[:, None, :] == table[:, :, None]).sum(axis=2)
    expected = (above + (level_with + 1) / 2).mean(axis=0)
    found = average_ranks(columns(table))
    by_name = dict(zip(found.names, found.ranks, strict=True))
    np.testing.assert_allclose([by_name[f"s{j}"] for j in range(5)], expected)
    turned = average_ranks(columns(-table), greater_is_better=False)
    np.testing.assert_allclose(turned.ranks, found.ranks)


def test_cliques_are_the_largest_groups_within_the_critical_difference(rng):
    seen = set()
    for _ in range(20):
        found = average_ranks(columns(rng.normal(size=(15, 6)) + rng.normal(0, 0.7, 6)))
        rank = dict(zip(found.names, found.ranks, strict=True))
        close = [
            set(group)
            for size in range(2, 7)
            for group in itertools.combinations(found.names, size)
            if max(rank[n] for n in group) - min(rank[n] for n in group) < found.critical_difference
        ]
        largest = [group for group in close if not any(group < other for other in close)]
        assert sorted(map(sorted, found.cliques())) == sorted(map(sorted, largest))
        seen.add(len(largest))
    assert len(seen) > 1


def test_blocks_that_miss_a_value_are_left_out(rng):
    table = rng.normal(size=(10, 3))
    whole = average_ranks(columns(table[2:]))
    table[0, 1] = table[1, 2] = np.nan
    found = average_ranks(columns(table))
    assert found.n_blocks == 8
    np.testing.assert_array_equal(found.ranks, whole.ranks)


def test_extremes(rng):
    alike = average_ranks(columns(np.tile([3.0, 1.0, 2.0], (6, 1))))
    assert (alike.chi2, alike.f, alike.f_p) == (12.0, np.inf, 0.0)
    tied = average_ranks(columns(np.ones((6, 3))))
    assert (tied.chi2, tied.chi2_p, tied.f) == (0.0, 1.0, 0.0)
    assert "critical difference" in str(tied)


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ({"a": [1, 2]}, {}, "at least two systems, got 1"),
        ({"a": [1, 2], "b": [1]}, {}, r"got shapes {'a': \(2,\), 'b': \(1,\)}"),
        ({"a": [1, np.nan], "b": [1, 2]}, {}, "every system has a value, got 1"),
        (
            {"a": [1, 2], "b": [1, 2]},
            {"confidence_level": 95},
            "confidence_level must lie between 0 and 1, got 95",
        ),
    ],
)
def test_what_cannot_be_ranked(values, options, message):
    with pytest.raises(ValueError, match=message):
        average_ranks(values, **options)
