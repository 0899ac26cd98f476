"""Expectations over the orders of tied rows against the mean over all orders."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from rankwise.kernels.ranking_agreement import expect_relevance_sums, expect_stops, mean_tied_values
from tests import oracles_metrics as naive

SIZES = [0, 1, 6, 5, 2, 4]
INDPTR = np.concatenate([[0], np.cumsum(SIZES)])
QUERIES = [np.arange(lo, hi) for lo, hi in pairwise(INDPTR)]
RECIPROCALS = 1 / np.arange(1.0, 9)


def rows(rng, levels, depth, *, missing=False):
    """Grades, scores, and row numbers of the first ``depth`` rows by descending score."""
    y = rng.integers(0, 4, INDPTR[-1]).astype(float)
    scores = rng.integers(0, levels, INDPTR[-1]).astype(float)
    scores[0] = -0.0  # equals 0
    if missing:
        scores[rng.random(len(scores)) < 0.3] = -np.inf
    ranked = [mine[np.argsort(-scores[mine], kind="stable")][: depth or None] for mine in QUERIES]
    top = np.concatenate([[0], np.cumsum([len(mine) for mine in ranked])])
    return y, scores, np.concatenate(ranked).astype(float), top


def mean_over_orders(y, scores, value):
    """Mean of a list of numbers per order of the retrieved rows."""
    found = np.isfinite(scores)
    orders = naive.orders_of_ties(y[found].tolist(), scores[found].tolist())
    return np.mean([value(grades) for grades in orders], axis=0)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("levels", [1, 3])
@pytest.mark.parametrize("depth", [0, 2])
@pytest.mark.parametrize("table", [[], [0.0, 0.1, 0.3, 0.9]])
def test_means_of_tied_values(table, depth, levels, missing, rng):
    y, scores, order, top = rows(rng, levels, depth, missing=missing)
    out, table = np.full(top[-1], np.nan), np.array(table)
    mean_tied_values(order, top, scores, y, table, INDPTR, out)
    gains = table[y.astype(int)] if len(table) else y
    for q, mine in enumerate(QUERIES):
        tied = scores[mine][:, None] == scores[mine]
        means = (tied * gains[mine]).sum(axis=1) / np.maximum(tied.sum(axis=1), 1)
        means[scores[mine] == -np.inf] = 0
        ranked = means[np.argsort(-scores[mine], kind="stable")][: depth or None]
        np.testing.assert_allclose(out[top[q] : top[q + 1]], ranked, rtol=1e-14)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("levels", [1, 3])
@pytest.mark.parametrize("depth", [0, 2])
def test_relevance_sums_over_ties(depth, levels, missing, rng):
    y, scores, order, top = rows(rng, levels, depth, missing=missing)
    out = np.full((len(SIZES), 5), np.nan)
    expect_relevance_sums(order, top, scores, y, INDPTR, 2.0, depth, RECIPROCALS, out)

    def value(grades):
        hits = np.array(grades[: depth or None]) >= 2
        precisions = np.cumsum(hits) / np.arange(1, len(hits) + 1)
        first = 1 / (np.argmax(hits) + 1) if hits.any() else 0
        return hits.sum(), precisions[hits].sum(), first, hits.any()

    for q, mine in enumerate(QUERIES):
        assert out[q, 0] == (y[mine] >= 2).sum()
        np.testing.assert_allclose(out[q, 1:], mean_over_orders(y[mine], scores[mine], value))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("levels", [1, 3])
@pytest.mark.parametrize("depth", [0, 2])
@pytest.mark.parametrize("table", [[], [0.0, 0.1, 0.3, 1.0]])
def test_expected_stops(table, depth, levels, missing, rng):
    y, scores, order, top = rows(rng, levels, depth, missing=missing)
    table = np.array(table)
    values, stops = (y, table) if len(table) else (y / 3, [0, 1 / 3, 2 / 3, 1])
    out = np.full(len(SIZES), np.nan)
    expect_stops(order, top, scores, values, table, INDPTR, depth, RECIPROCALS, out)

    def value(grades):
        total, reached = 0.0, 1.0
        for rank, grade in enumerate(grades[: depth or None], start=1):
            total += reached * stops[int(grade)] / rank
            reached *= 1 - stops[int(grade)]
        return total

    for q, mine in enumerate(QUERIES):
        expected = mean_over_orders(y[mine], scores[mine], value)
        assert out[q] == pytest.approx(expected, rel=1e-12)


def test_rows_that_almost_surely_stop_a_reader_end_the_sum(rng):
    """The sum over a long block equals the sum over all its subsets, which is cut short."""
    n = 4000
    stops = np.where(np.arange(n) % 3 > 0, 0.25, 0.0)
    out, order = np.empty(1), np.arange(n, dtype=float)
    ends = np.array([0, n])
    expect_stops(
        order, ends, np.zeros(n), stops, np.empty(0), ends, 0, 1 / np.arange(1.0, n + 1), out
    )
    chances = np.arange(n, dtype=float)
    drawn = [rng.permutation(stops) for _ in range(400)]
    reached = [np.cumprod(np.append(1, 1 - row))[:-1] for row in drawn]
    sample = [(r * row / (chances + 1)).sum() for r, row in zip(reached, drawn, strict=True)]
    assert abs(out[0] - np.mean(sample)) < 5 * np.std(sample) / 20
