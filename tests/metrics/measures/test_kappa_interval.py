"""Intervals of kappa: the published formula, clusters, coverage, limit cases."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rankwise.metrics import confusion, evaluate, kappa_interval

WEIGHTS = ("linear", "quadratic", "none")


def published_error(counts, weights):
    """Standard error of Fleiss, Cohen and Everitt 1969, by loops over the cells."""
    k, n = len(counts), counts.sum()
    p = counts / n
    most = {"linear": k - 1, "quadratic": (k - 1) ** 2, "none": 1}[weights]

    def weight(i, j):
        d = {"linear": abs(i - j), "quadratic": (i - j) ** 2, "none": i != j}[weights]
        return 1 - d / most

    cells = [(i, j) for i in range(k) for j in range(k)]
    row, column = p.sum(axis=1), p.sum(axis=0)
    agreed = sum(weight(i, j) * p[i, j] for i, j in cells)
    by_chance = sum(weight(i, j) * row[i] * column[j] for i, j in cells)
    of_row = [sum(weight(i, j) * column[j] for j in range(k)) for i in range(k)]
    of_column = [sum(weight(i, j) * row[i] for i in range(k)) for j in range(k)]
    kappa = (agreed - by_chance) / (1 - by_chance)
    total = sum(
        p[i, j] * (weight(i, j) - (of_row[i] + of_column[j]) * (1 - kappa)) ** 2 for i, j in cells
    )
    variance = (total - (kappa - by_chance * (1 - kappa)) ** 2) / (n * (1 - by_chance) ** 2)
    return kappa, math.sqrt(variance)


def judged(rng, n, agree=0.7, n_classes=4):
    y = rng.choice(n_classes, n, p=[0.4, 0.3, 0.2, 0.1])
    step = rng.choice([-1, 0, 1], n, p=[(1 - agree) / 2, agree, (1 - agree) / 2])
    return y, np.clip(y + step, 0, n_classes - 1)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_the_error_is_the_published_one(rng, weights):
    for n in (15, 200):
        y, f = judged(rng, n)
        found = kappa_interval(y, f, weights=weights)
        kappa, error = published_error(confusion(y, f).counts, weights)
        assert found.kappa == pytest.approx(kappa, rel=1e-12)
        assert found.standard_error == pytest.approx(error * math.sqrt(n / (n - 1)), rel=1e-10)
        assert found.kappa == pytest.approx(
            evaluate(y, f, None, f"Kappa(weights={weights})")[f"Kappa(weights={weights})"]
        )
        assert found.low < found.kappa < found.high <= 1
        assert found.n_rows == found.n_clusters == n
        np.testing.assert_array_equal(found.confusion.counts, confusion(y, f).counts)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize(("agree", "n"), [(0.4, 50), (0.8, 100), (0.95, 100), (0.97, 30)])
def test_coverage(weights, agree, n):
    rng = np.random.default_rng(0)
    truth = kappa_interval(*judged(rng, 400_000, agree), weights=weights).kappa
    draws = [kappa_interval(*judged(rng, n, agree), weights=weights) for _ in range(600)]
    covered = np.mean([found.low <= truth <= found.high for found in draws])
    assert 0.92 < covered <= (0.975 if n >= 50 else 1.0)


def test_clusters_of_alike_rows_count_once(rng):
    y, f = judged(rng, 60)
    alone = kappa_interval(y, f)
    copied = kappa_interval(np.repeat(y, 5), np.repeat(f, 5), qid=np.repeat(np.arange(60), 5))
    assert (copied.kappa, copied.low, copied.high) == pytest.approx(
        (alone.kappa, alone.low, alone.high), rel=1e-12
    )
    assert copied.n_rows == 300 and copied.n_clusters == 60
    ignored = kappa_interval(np.repeat(y, 5), np.repeat(f, 5))
    assert ignored.high - ignored.low < 0.6 * (alone.high - alone.low)


def test_coverage_with_queries_that_the_machine_reads_well_or_badly():
    rng = np.random.default_rng(1)

    def draw(n_queries):
        agree = rng.choice([0.4, 0.95], n_queries)
        rows = [judged(rng, 8, share) for share in agree]
        return [np.concatenate(part) for part in zip(*rows, strict=True)]

    truth = kappa_interval(*draw(20_000)).kappa
    hits = np.zeros(2)
    for _ in range(400):
        y, f = draw(40)
        found = kappa_interval(y, f, qid=np.repeat(np.arange(40), 8)), kappa_interval(y, f)
        hits += [each.low <= truth <= each.high for each in found]
    assert 0.92 < hits[0] / 400 < 0.98 and hits[1] < hits[0]


def test_full_agreement_leaves_room_for_what_was_not_seen(rng):
    y = np.arange(40) % 4
    found = kappa_interval(y, y, weights="none")
    assert found.kappa == found.high == 1 and found.standard_error == 0
    assert found.low == pytest.approx(1 - (1 - 0.025 ** (1 / 40)) / 0.75)
    opposite = kappa_interval([0, 1], [1, 0])
    assert opposite.kappa == -1 and opposite.low <= -1


def test_names_of_classes_and_labels_that_are_all_equal():
    names = ["bad", "fair", "good"]
    y, f = ["bad", "good", "fair", "good", "bad"], ["bad", "fair", "fair", "good", "fair"]
    codes = [[names.index(name) for name in part] for part in (y, f)]
    by_name = kappa_interval(y, f, classes=names)
    assert by_name.kappa == kappa_interval(*codes).kappa
    assert math.isnan(kappa_interval([1, 1, 1], [1, 1, 2]).kappa)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="kappa: weights must be one of"):
        kappa_interval([0, 1], [0, 1], weights="cubic")
    with pytest.raises(ValueError, match="at least 2 clusters, got 1"):
        kappa_interval([0, 1], [0, 1], qid=[3, 3])
    with pytest.raises(ValueError, match="confidence_level must lie between 0 and 1"):
        kappa_interval([0, 1], [0, 1], confidence_level=2)


def test_kappa_notes_that_few_rows_decide():
    y, predicted = np.repeat([0, 1, 0, 1], [90, 2, 1, 1]), np.repeat([0, 1, 1, 0], [90, 2, 1, 1])
    (note,) = kappa_interval(y, predicted).notes
    assert "few rows decide" in note
    (note,) = kappa_interval(y, predicted, qid=np.arange(94) // 2).notes
    assert "few clusters decide" in note
    even = np.tile([0, 0, 1, 1], 20), np.tile([0, 1, 1, 0], 20)
    assert kappa_interval(*even).notes == ()
