"""Rankings and their sums against stable sorts and loops over ranks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from rankwise.kernels.topk import (
    add_discounted,
    average_normalised,
    best_grades,
    rank_long_rows,
    rank_rows,
    relevance_sums,
)
from tests.kernels import ragged


def tops(indptr, depth):
    """Where the first ranks of each query are written."""
    sizes = np.diff(indptr)
    kept = np.minimum(sizes, depth) if depth else sizes
    return np.concatenate([[0], np.cumsum(kept)])


def ranked_by_sort(scores, values, indptr, depth):
    parts = []
    for lo, hi in pairwise(indptr):
        order = np.argsort(-scores[lo:hi], kind="stable")
        parts.append(values[lo:hi][order][: depth or None])
    return np.concatenate(parts)


@pytest.mark.parametrize("depth", [0, 1, 3, 40])
def test_rankings(depth, rng):
    sizes = [*ragged.SIZES, 400, 257]
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    n = indptr[-1]
    scores = np.round(rng.normal(size=n), 1)
    scores[-657:] = rng.normal(size=657)
    scores[-20:] = 1.0 + np.arange(20) * 2.0**-52  # agree to the last bits
    scores[0], scores[1:7] = np.inf, [-np.inf, 0.0, -0.0, 5e-324, np.inf, 0.0]
    values, top = rng.normal(size=n), tops(indptr, depth)
    out, left = np.full(top[-1], np.nan), np.full(len(sizes), -1)
    n_left = rank_rows(scores, values, indptr, depth, top, out, left)
    rank_long_rows(scores, values, indptr, left[:n_left], top, out)
    np.testing.assert_array_equal(out, ranked_by_sort(scores, values, indptr, depth))
    every = np.full(top[-1], np.nan)
    rank_long_rows(scores, values, indptr, np.arange(len(sizes)), top, every)
    np.testing.assert_array_equal(every, out)


@pytest.mark.parametrize("n_grades", [1, 4, 20])
@pytest.mark.parametrize("depth", [0, 3])
def test_best_grades(n_grades, depth, rng):
    grades = rng.integers(0, n_grades, ragged.N_ROWS).astype(float)
    top = tops(ragged.INDPTR, depth)
    out = np.full(top[-1], np.nan)
    best_grades(grades, ragged.INDPTR, n_grades, top, out)
    expected = ranked_by_sort(grades, grades, ragged.INDPTR, depth)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("cutoff", [0, 3])
@pytest.mark.parametrize("cascade", [False, True])
@pytest.mark.parametrize("gains", ["grades", "table"])
def test_discounted_sums(gains, cascade, cutoff, rng):
    ranked, top = ragged.grades(rng).astype(float), ragged.INDPTR
    table = np.array([0.0, 0.1, 0.3, 0.9]) if gains == "table" else np.empty(0)
    discounts, out = 1 / np.arange(1.0, 31), np.empty(len(ragged.SIZES))
    add_discounted(ranked, top, table, discounts, cascade, cutoff, out)
    for q, mine in enumerate(ragged.QUERIES):
        total, reached = 0.0, 1.0
        for r, row in enumerate(mine[: cutoff or None]):
            gain = table[int(ranked[row])] if gains == "table" else ranked[row]
            total += reached * gain * discounts[r]
            reached *= 1 - gain if cascade else 1
        assert out[q] == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("cutoff", [0, 3])
def test_relevance_sums(cutoff, rng):
    y = ragged.grades(rng).astype(float)
    ranked = y.copy()
    top, out = ragged.INDPTR, np.empty((len(ragged.SIZES), 5))
    relevance_sums(ranked, top, y, ragged.INDPTR, 2.0, cutoff, 1 / np.arange(1.0, 31), out)
    for q, mine in enumerate(ragged.QUERIES):
        hits = ranked[mine[: cutoff or None]] >= 2
        precisions = np.cumsum(hits) / np.arange(1, len(hits) + 1)
        first = 1 / (np.argmax(hits) + 1) if hits.any() else 0
        expected = (y[mine] >= 2).sum(), hits.sum(), precisions[hits].sum(), first, hits.any()
        np.testing.assert_allclose(out[q], expected)


@pytest.mark.parametrize("gains", ["grades", "table"])
def test_normalised_means(gains, rng):
    ranked = ragged.grades(rng).astype(float)
    ranked[ragged.QUERIES[3]] = 0
    ideal = ranked_by_sort(ranked, ranked, ragged.INDPTR, 0)
    table = np.array([0.0, 1.0, 3.0, 7.0]) if gains == "table" else np.empty(0)
    discounts, out = 1 / np.log2(np.arange(2.0, 32)), np.empty(len(ragged.SIZES))
    average_normalised(ranked, ideal, ragged.INDPTR, table, discounts, out)
    for q, mine in enumerate(ragged.QUERIES):
        of = table[ranked[mine].astype(int)] if gains == "table" else ranked[mine]
        most = table[ideal[mine].astype(int)] if gains == "table" else ideal[mine]
        sums, best = (np.cumsum(x * discounts[: len(mine)]) for x in (of, most))
        expected = np.mean(sums / best) if len(mine) and most[0] > 0 else np.nan
        np.testing.assert_allclose(out[q], expected)
