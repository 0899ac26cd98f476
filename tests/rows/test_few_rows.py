"""Distinct rows by NumPy have the bits of those by compiled code."""

from __future__ import annotations

import numpy as np
import pytest

from rankwise import row_order as merged_rows
from rankwise.groups import QueryGroups

N = 400


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shown", [False, True])
@pytest.mark.parametrize("n_queries", [1, 30, 390])
def test_both_ways_agree(weighted, shown, n_queries, rng, monkeypatch):
    X, y = rng.integers(0, 3, (N, 2)).astype(float), rng.integers(0, 2, N).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    weight = rng.random(N) if weighted else None
    shown_at = rng.integers(0, 3, N) if shown else None
    qid = rng.integers(0, n_queries, N)
    results = []
    for most in (N, N - 1):
        monkeypatch.setattr(merged_rows, "FEW_ROWS", most)
        groups = QueryGroups.from_qid(qid, N)
        position = np.empty(N, dtype=np.int64)
        found = merged_rows.distinct_rows_of_queries(X, y, groups, weight, shown_at, position)
        results.append([*found, position])
    for few, many in zip(*results, strict=True):
        assert (few is None) == (many is None)
        if few is not None:
            assert few.dtype == many.dtype
            np.testing.assert_array_equal(few, many)


def test_queries_without_rows(monkeypatch, rng):
    X, y = rng.normal(size=(6, 2)), np.zeros(6)
    groups = QueryGroups.from_sizes(np.array([0, 2, 0, 0, 4, 0]))
    found = []
    for most in (6, 5):
        monkeypatch.setattr(merged_rows, "FEW_ROWS", most)
        found.append(merged_rows.merge_rows(X, y, groups, None))
    assert found[0].indptr.tolist() == found[1].indptr.tolist()
    assert found[0].rows.tolist() == found[1].rows.tolist()
