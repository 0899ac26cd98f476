"""Top lists of summed posting weights against dense sums."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from rankwise.kernels.text_search import search_postings


@pytest.mark.parametrize("k", [1, 3, 50, 70, 300])
@pytest.mark.parametrize("is_dense", [False, True])
@pytest.mark.parametrize(("n_documents", "density"), [(40, 0.2), (400, 0.02)])
def test_sums(rng, k, is_dense, n_documents, density):
    """Terms with many postings for the documents, and with few: the two orders of passing them."""
    n_terms = 12
    matrix = sparse.random_array((n_documents, n_terms), density=density, rng=rng, format="csc")
    matrix.data[:] = rng.integers(1, 4, len(matrix.data))  # equal sums
    bounds = np.array([0, 0, 3, 4, 8])
    terms, factors = rng.integers(0, n_terms, 8), rng.integers(1, 3, 8).astype(float)
    shift = rng.integers(-1, 2, (4, n_documents)).astype(float) if is_dense else np.ones((4, 1))
    scale = rng.integers(1, 3, n_documents).astype(float) if is_dense else np.ones(1)
    documents, scores = np.zeros((4, k), dtype=np.int64), np.zeros((4, k))
    counts = search_postings(
        matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data, n_documents,
        terms, factors, bounds, shift, scale, documents, scores,
    )  # fmt: skip
    dense = matrix.toarray()
    for q in range(4):
        mine = slice(bounds[q], bounds[q + 1])
        sums = dense[:, terms[mine]] @ factors[mine]
        found = np.flatnonzero((dense[:, terms[mine]] > 0).any(axis=1))
        sums = (sums + (shift[q] if is_dense else 1.0)) * scale
        best = sorted(found, key=lambda d: (-sums[d], d))[:k]
        assert counts[q] == len(best)
        assert documents[q, : counts[q]].tolist() == best
        assert (scores[q, : counts[q]] == sums[documents[q, : counts[q]]]).all()


@pytest.mark.parametrize("k", [3, 100])
@pytest.mark.parametrize("n_documents", [200, 100_000])
def test_sums_of_zero_are_found(k, n_documents):
    """Weights of both signs that cancel, zeros of both signs, and documents without a term."""
    documents = np.array([7, 9, 150, 7, 42, 100], dtype=np.int32)
    weights = np.array([1.0, -0.0, -2.0, -1.0, 0.0, 3.0])
    postings = np.array([0, 3, 6]), documents, weights, n_documents
    query = np.array([0, 1]), np.ones(2), np.array([0, 2]), np.zeros((1, 1)), np.ones(1)
    found, scores = np.zeros((1, k), dtype=np.int64), np.zeros((1, k))
    assert search_postings(*postings, *query, found, scores).tolist() == [min(k, 5)]
    assert found[0, :5].tolist() == [100, 7, 9, 42, 150][:k]
    assert scores[0, :5].tolist() == [3.0, 0.0, 0.0, 0.0, -2.0][:k]


@pytest.mark.parametrize("high", [1.0, 1e-320, 1e308, np.inf])
def test_ranges_of_scores(rng, high):
    """A range without a finite inverse or width leaves the histogram one bucket."""
    n, k = 500, 80
    weights = high * rng.permutation(np.linspace(-1.0, 1.0, n)) if np.isfinite(high) else np.ones(n)
    weights[[3, 77]] = high
    postings = np.array([0, n]), np.arange(n, dtype=np.int32), weights, n
    query = np.array([0]), np.ones(1), np.array([0, 1]), np.zeros((1, 1)), np.ones(1)
    found, scores = np.zeros((1, k), dtype=np.int64), np.zeros((1, k))
    assert search_postings(*postings, *query, found, scores).tolist() == [k]
    assert found[0].tolist() == np.argsort(-weights, kind="stable")[:k].tolist()
