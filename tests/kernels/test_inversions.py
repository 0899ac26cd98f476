"""Pairs, ranks and gaps of ragged queries against loops over pairs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata

from rankwise.kernels.ranking_agreement import compare_pairs, mean_absolute_gaps, multiply_ranks
from tests.kernels import ragged


@pytest.fixture
def rows(rng):
    """Labels and scores with ties; equal labels in a query."""
    return ragged.grades(rng).astype(float), ragged.tied(rng)


def test_pairs(rows):
    y, f = rows
    counts, sums = np.empty((len(ragged.SIZES), 4), np.int64), np.empty((len(ragged.SIZES), 2))
    compare_pairs(y, f, ragged.INDPTR, counts, sums)
    for q, mine in enumerate(ragged.QUERIES):
        expected, of_labels = np.zeros(4, int), np.zeros(2)
        for i in mine:
            for j in mine[mine < i]:
                tied_y, tied_f = y[i] == y[j], f[i] == f[j]
                misordered = (y[i] - y[j]) * (f[i] - f[j]) < 0
                expected += [tied_y, tied_f, tied_y and tied_f, misordered]
                of_labels += abs(y[i] - y[j]) * np.array([misordered, tied_f])
        np.testing.assert_array_equal(counts[q], expected)
        np.testing.assert_array_equal(sums[q], of_labels)


def test_ranks(rows):
    y, f = rows
    products = np.empty((len(ragged.SIZES), 3))
    multiply_ranks(y, f, ragged.INDPTR, products)
    for q, mine in enumerate(ragged.QUERIES):
        a, b = (2 * (rankdata(x[mine]) - (len(mine) + 1) / 2) for x in rows)
        np.testing.assert_array_equal(products[q], [a @ a, a @ b, b @ b])


def test_gaps(rows):
    out = np.empty(len(ragged.SIZES))
    mean_absolute_gaps(rows[1], ragged.INDPTR, out)
    for q, mine in enumerate(ragged.QUERIES):
        x = rows[1][mine]
        expected = abs(x[:, None] - x).mean() if len(x) else 0.0
        assert out[q] == pytest.approx(expected, abs=1e-14)
