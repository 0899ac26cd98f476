"""Sums of posting weights over the terms of a query, and the documents of the largest sums."""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import njit

# A query whose terms have at least one posting for this many documents is dense.
DENSE = 4


@njit
def search_postings(
    starts,
    documents,
    weights,
    n_documents,
    terms,
    factors,
    bounds,
    shift,
    scale,
    out_documents,
    out_scores,
):
    """Find the best ``k`` documents of every query, unordered; returns how many each query has.

    The score of a document that holds a term of the query is
    ``(sum over its terms of factor * weight + shift) * scale``. Of equal scores the first documents
    are kept. O(postings of the terms + matches log k) a query; where the terms have many postings,
    all documents are passed in their order instead of the list of matches.

    Parameters
    ----------
    starts : ndarray of shape (n_terms + 1,), int64
        Postings of term t are ``starts[t]:starts[t + 1]``.
    documents : ndarray of shape (n_postings,), int32
    weights : ndarray of shape (n_postings,), float64
    n_documents : int
    terms : ndarray of shape (n_query_terms,), int64
        Terms of all queries; query q has ``bounds[q]:bounds[q + 1]``.
    factors : ndarray of shape (n_query_terms,), float64
    bounds : ndarray of shape (n_queries + 1,), int64
    shift : ndarray of shape (n_queries, n_documents or 1), float64
        Added once per document; a single column applies to all documents.
    scale : ndarray of shape (n_documents,) or (1,), float64
    out_documents : ndarray of shape (n_queries, k), int64
    out_scores : ndarray of shape (n_queries, k), float64
    """
    k = out_documents.shape[1]
    sums = np.zeros(n_documents)
    is_found = np.zeros(n_documents, dtype=np.bool_)
    found = np.empty(n_documents, dtype=np.int64)
    counts = np.zeros(len(bounds) - 1, dtype=np.int64)
    for q in range(len(bounds) - 1):
        n_postings = 0
        for place in range(bounds[q], bounds[q + 1]):
            n_postings += starts[terms[place] + 1] - starts[terms[place]]
        is_dense = n_postings * DENSE > n_documents
        n_found = 0
        for place in range(bounds[q], bounds[q + 1]):
            term, factor = terms[place], factors[place]
            if is_dense:
                for posting in range(starts[term], starts[term + 1]):
                    document = documents[posting]
                    is_found[document] = True
                    sums[document] += factor * weights[posting]
                continue
            for posting in range(starts[term], starts[term + 1]):
                document = documents[posting]
                if not is_found[document]:
                    is_found[document] = True
                    found[n_found] = document
                    n_found += 1
                sums[document] += factor * weights[posting]
        size = 0
        for place in range(n_documents if is_dense else n_found):
            document = place if is_dense else found[place]
            if not is_found[document]:
                continue
            score = sums[document]
            score += shift[q, document] if shift.shape[1] > 1 else shift[q, 0]
            score *= scale[document] if len(scale) > 1 else scale[0]
            sums[document] = 0.0
            is_found[document] = False
            if size < k:
                _push(out_documents[q], out_scores[q], size, document, score)
                size += 1
            elif score >= out_scores[q, 0] and _is_worse(
                out_scores[q, 0], out_documents[q, 0], score, document
            ):
                _replace(out_documents[q], out_scores[q], size, document, score)
        counts[q] = size
    return counts


@njit
def _is_worse(score, document, other_score, other_document):
    """Whether the first document ranks after the second."""
    return score < other_score or (score == other_score and document > other_document)


@njit
def _push(documents, scores, size, document, score):
    """Add to a heap whose root is the worst."""
    child = size
    while child > 0:
        parent = (child - 1) // 2
        if not _is_worse(score, document, scores[parent], documents[parent]):
            break
        documents[child], scores[child] = documents[parent], scores[parent]
        child = parent
    documents[child], scores[child] = document, score


@njit
def _replace(documents, scores, size, document, score):
    """Put a better document in the place of the worst."""
    parent = 0
    while True:
        child = 2 * parent + 1
        if child >= size:
            break
        if child + 1 < size and _is_worse(
            scores[child + 1], documents[child + 1], scores[child], documents[child]
        ):
            child += 1
        if not _is_worse(scores[child], documents[child], score, document):
            break
        documents[parent], scores[parent] = documents[child], scores[child]
        parent = child
    documents[parent], scores[parent] = document, score
