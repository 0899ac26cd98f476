"""Postings: term counts per document, and the collection statistics of retrieval models."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise.typing import Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class Postings:
    """Counts of terms in documents, term by term.

    Attributes
    ----------
    starts : ndarray of shape (n_terms + 1,), int64
        The postings of term t are ``starts[t]:starts[t + 1]``.
    documents : ndarray of shape (n_postings,), int32
        Document of each posting, ascending within a term.
    counts : ndarray of shape (n_postings,), int32
        Number of occurrences of the term in the document.
    lengths : ndarray of shape (n_documents,), int64
        Number of terms of each document.
    """

    starts: Int64Array
    documents: NDArray[np.int32]
    counts: NDArray[np.int32]
    lengths: Int64Array

    @classmethod
    def of_tokens(cls, tokens: NDArray[np.int32], bounds: Int64Array, n_terms: int) -> Postings:
        """Build postings from documents ``tokens[bounds[d]:bounds[d + 1]]`` in linear time."""
        shape = (len(bounds) - 1, n_terms)
        matrix = sparse.csr_array(
            (np.ones(len(tokens), dtype=np.int32), tokens, bounds), shape=shape
        ).tocsc()
        matrix.sum_duplicates()
        return cls(
            matrix.indptr.astype(np.int64),
            matrix.indices.astype(np.int32, copy=False),
            matrix.data.astype(np.int32, copy=False),
            np.diff(bounds),
        )

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return len(self.lengths)

    @cached_property
    def document_frequency(self) -> Int64Array:
        """Number of documents that contain each term."""
        return np.diff(self.starts)

    @cached_property
    def collection_frequency(self) -> Int64Array:
        """Number of occurrences of each term."""
        sums = np.concatenate([[0], np.cumsum(self.counts, dtype=np.int64)])
        return sums[self.starts[1:]] - sums[self.starts[:-1]]

    @cached_property
    def n_tokens(self) -> int:
        """Number of terms of all documents."""
        return int(self.lengths.sum())

    @cached_property
    def mean_length(self) -> float:
        """Mean number of terms of a document; 0 without documents."""
        return self.n_tokens / max(self.n_documents, 1)

    @property
    def keys(self) -> Int64Array:
        """Ascending key of each posting, ordered by term, then by document."""
        term = np.repeat(np.arange(len(self.starts) - 1), self.document_frequency)
        return term * max(self.n_documents, 1) + self.documents

    def per_posting(self, of_terms: Float64Array | Int64Array) -> Float64Array:
        """Repeat the value of each term for each of its postings."""
        return np.repeat(np.asarray(of_terms, dtype=np.float64), self.document_frequency)

    @property
    def posting_lengths(self) -> Float64Array:
        """Length of the document of each posting."""
        return self.lengths[self.documents].astype(np.float64)
