"""Postings: term counts per document, and the collection statistics of retrieval models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise.typing import Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class Postings:
    """Counts of terms in documents, term by term."""

    starts: Int64Array  # (n_terms + 1,), the postings of term t are ``starts[t]:starts[t + 1]``
    documents: NDArray[np.int32]  # (n_postings,), ascending within a term
    counts: NDArray[np.int32]  # (n_postings,), occurrences of the term in the document
    lengths: Int64Array  # (n_documents,), number of terms of each document

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


def number_terms(terms: Iterable[str], vocabulary: dict[str, int], doc_id: str) -> list[int]:
    """Number of each term of a document; unknown terms are added to the vocabulary."""
    numbers = []
    for term in terms:
        number = vocabulary.get(term)
        if number is None:
            if not isinstance(term, str):
                raise TypeError(
                    f"the analyzer must give str, got {type(term).__name__} for document "
                    f"{doc_id!r}."
                )
            number = vocabulary[term] = len(vocabulary)
        numbers.append(number)
    return numbers


def join_fields(
    tokens: Sequence[NDArray[np.int32]], bounds: Sequence[Int64Array]
) -> tuple[NDArray[np.int32], Int64Array]:
    """Terms of whole documents, field after field, and the boundaries between documents."""
    sizes = np.stack([np.diff(ends) for ends in bounds], axis=1)
    joint = np.concatenate([[0], np.cumsum(sizes.sum(axis=1))]).astype(np.int64)
    joined = np.empty(int(joint[-1]), dtype=np.int32)
    before = np.cumsum(sizes, axis=1) - sizes
    for place, part in enumerate(tokens):
        at = np.repeat(joint[:-1] + before[:, place] - bounds[place][:-1], sizes[:, place])
        joined[at + np.arange(len(part))] = part
    return joined, joint


def select_documents(
    tokens: NDArray[np.int32], bounds: Int64Array, order: Int64Array
) -> tuple[NDArray[np.int32], Int64Array]:
    """Terms of the documents at some positions, in that order, and the boundaries between them."""
    sizes = np.diff(bounds)[order]
    ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    at = np.repeat(bounds[:-1][order] - ends[:-1], sizes) + np.arange(ends[-1])
    return np.asarray(tokens)[at], ends


def terms_by_occurrence(tokens: NDArray[np.int32], n_terms: int) -> Int64Array:
    """Terms that occur, in the order of their first occurrence."""
    tokens = np.asarray(tokens)
    first = np.full(n_terms, len(tokens))
    first[tokens[::-1]] = np.arange(len(tokens))[::-1]  # the last assignment stays
    return np.argsort(first, kind="stable")[: np.count_nonzero(first < len(tokens))]
