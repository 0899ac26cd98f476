"""Top lists of summed posting weights against dense sums."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from rankwise.kernels.postings_search import search_postings


@pytest.mark.parametrize("k", [1, 3, 50])
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
        assert set(documents[q, : counts[q]]) == set(best)
        assert (scores[q, : counts[q]] == sums[documents[q, : counts[q]]]).all()
