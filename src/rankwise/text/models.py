"""Retrieval models: weights of terms in documents and queries, from postings (counts of terms).

References
----------
.. [1] Robertson & Zaragoza, "The probabilistic relevance framework: BM25 and beyond", 2009.
.. [2] Kamphuis, de Vries, Boytsov & Lin, "Which BM25 do you mean?", ECIR 2020.
.. [3] Trotman, Jia & Crane, "Towards an efficient and effective search engine", 2012 (ATIRE).
.. [4] Zhai & Lafferty, "A study of smoothing methods for language models applied to information
   retrieval", TOIS 22 (2004).
.. [5] Amati & van Rijsbergen, "Probabilistic models of information retrieval based on measuring
   the divergence from randomness", TOIS 20 (2002) (PL2).
.. [6] Robertson, Zaragoza & Taylor, "Simple BM25 extension to multiple weighted fields", CIKM 2004.
.. [7] Amati, Ambrosi, Bianchi, Gaibisso & Gambosi, "FUB, IASI-CNR and University of Tor Vergata at
   TREC 2007 Blog track" (DPH).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise.kernels.text_search import HEAP_UP_TO, search_postings
from rankwise.runtime.jit import run_few
from rankwise.runtime.messages import check_choice
from rankwise.typing import Float64Array, Int64Array

BM25_PARAMETERS = {"k1": 1.5, "b": 0.75}


@dataclass(frozen=True)
class Model:
    """A retrieval model."""

    # Computes one weight per posting from the postings and the named parameters.
    weights: Callable[..., Float64Array]
    # Computes the factors of the query's terms from their counts and their idf ``ln(N / df)``.
    factors: Callable[[Float64Array, Float64Array], Float64Array]
    # Computes a constant that is added to the score of each document, (n_documents,), from the
    # postings, the number of known query terms and the parameters.
    shift: Callable[..., Float64Array] | None = None
    # Computes a factor per document from the postings.
    scale: Callable[[Postings], Float64Array] | None = None
    parameters: Mapping[str, float] = field(default_factory=dict)  # default value of each parameter


def settings_of(name: str, given: Mapping[str, Any]) -> dict[str, float]:
    """Merge the given parameters with the defaults of a model and check them."""
    check_choice("model", name, MODELS)
    defaults = MODELS[name].parameters
    for parameter, value in given.items():
        if parameter not in defaults:
            takes = ", ".join(map(repr, defaults)) or "none"
            raise TypeError(f"model {name!r} has no parameter {parameter!r}. It has: {takes}.")
        check_number(parameter, value, *_RANGES[parameter], positive=parameter in ("mu", "c"))
    return {parameter: float(given.get(parameter, value)) for parameter, value in defaults.items()}


def check_number(name: str, value: Any, low: float, high: float, *, positive: bool = False) -> None:
    """Raise unless a parameter is a finite number of a range."""
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be a number, got {value!r:.60}.")
    try:
        number = float(value)
    except OverflowError:
        number = np.inf
    if not (low <= number <= high and np.isfinite(number)) or (positive and number == 0):
        rule = f"lie in {'(' if positive else '['}{low:g}, {high:g}]"
        if high == np.inf:
            rule = f"be a finite number {'>' if positive else '>='} {low:g}"
        raise ValueError(f"{name} must {rule}, got {value!r:.60}.")


def check_count(name: str, value: Any, low: int = 1) -> int:
    """Return a whole number as an int."""
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be a whole number >= {low}, got {value!r:.60}.")
    if not isinstance(value, Integral) or int(value) < low:
        raise ValueError(f"{name} must be a whole number >= {low}, got {value!r:.60}.")
    return int(value)


def finite_weights(
    compute: Callable[..., Float64Array], model: str, parameters: Mapping[str, Any]
) -> Float64Array:
    """Weights or scores that a function computes.

    Raises ValueError if they are not finite because a parameter is near the limits of float64.
    """
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise", under="ignore"):
            weights = compute()
    except FloatingPointError:
        weights = np.full(1, np.nan)
    if not np.isfinite(weights).all():
        given = ", ".join(f"{name}={value}" for name, value in parameters.items())
        raise ValueError(
            f"model {model!r} gives scores that are not finite with {given or 'these counts'}. Use "
            "parameters nearer to their defaults."
        )
    return weights


def check_field_weights(
    model: str, fields: Sequence[str], given: Mapping[str, float] | None
) -> tuple[float, ...]:
    """Weight of every field, a number >= 0, and 1 by default."""
    if given is None:
        return tuple(1.0 for _ in fields)
    if model != "bm25f":
        raise ValueError(f"field_weights are for model='bm25f', got model={model!r}.")
    if not isinstance(given, Mapping):
        raise TypeError(
            f"field_weights must map fields ({', '.join(fields)}) to numbers >= 0, got "
            f"{given!r:.60}."
        )
    for name, weight in given.items():
        if name not in fields:
            raise ValueError(
                f"field_weights must map fields ({', '.join(fields)}) to numbers >= 0, got "
                f"{name!r}: {weight!r:.60}."
            )
        check_number(f"field_weights[{name!r}]", weight, 0.0, np.inf)
    weights = tuple(float(given.get(name, 1.0)) for name in fields)
    if not any(weights):
        raise ValueError(
            "field_weights must not all be 0: every document would have the score 0. Drop them, or "
            "leave the fields out of the index."
        )
    return weights


def score_queries(
    model: Model,
    p: Postings,
    idf: Float64Array,
    weights: Float64Array,
    scale: Float64Array,
    settings: Mapping[str, float],
    queries: Sequence[tuple[Int64Array, Float64Array]],
    k: int,
) -> tuple[Int64Array, Int64Array, Float64Array]:
    """Number of the best documents of each query, at most k, these documents and their scores.

    A query is its terms and their counts.
    """
    terms = np.concatenate([np.empty(0, dtype=np.int64), *(terms for terms, _ in queries)])
    factors = [model.factors(counts, idf[terms]) for terms, counts in queries]
    factor = np.concatenate([np.empty(0), *factors])
    bounds = np.concatenate([[0], np.cumsum([len(terms) for terms, _ in queries])])
    shift = np.zeros((len(queries), 1))
    if model.shift is not None:
        shift = np.stack([model.shift(p, float(n.sum()), **settings) for _, n in queries])
    documents = np.zeros((len(queries), k), dtype=np.int64)
    scores = np.zeros((len(queries), k))
    postings = p.starts, p.documents, weights, p.n_documents
    asked = terms, factor, bounds.astype(np.int64), shift, scale
    n_steps = (100 if k <= HEAP_UP_TO else 10_000) * len(queries)
    n_steps += 20 * int((p.starts[terms + 1] - p.starts[terms]).sum())
    n_found = run_few(search_postings, n_steps, *postings, *asked, documents, scores)
    return n_found, documents, scores


_RANGES = {
    "k1": (0.0, np.inf),
    "b": (0.0, 1.0),
    "mu": (0.0, np.inf),
    "lam": (1e-12, 1.0 - 1e-12),
    "c": (0.0, np.inf),
    "epsilon": (0.0, 1.0),
}


def idf(postings: Postings) -> Float64Array:
    """Compute ``ln(N / df)`` of every term; 0 for a term that occurs in no document."""
    df = postings.document_frequency
    return np.where(df > 0, np.log(max(postings.n_documents, 1) / np.maximum(df, 1)), 0.0)


def _probability(p: Postings) -> tuple[float, Float64Array]:
    """N and df of every term as floats."""
    return float(p.n_documents), p.document_frequency.astype(np.float64)


def _saturate(p: Postings, k1: float, b: float) -> Float64Array:
    """``tf / (tf + k1 (1 - b + b dl / avgdl))`` of every posting."""
    tf = p.counts.astype(np.float64)
    return tf / (tf + k1 * (1.0 - b + b * p.posting_lengths / max(p.mean_length, 1e-300)))


def _lucene(p: Postings, *, k1: float, b: float) -> Float64Array:
    n, df = _probability(p)
    return p.per_posting(np.log1p((n - df + 0.5) / (df + 0.5))) * _saturate(p, k1, b)


def _robertson(p: Postings, *, k1: float, b: float) -> Float64Array:
    n, df = _probability(p)
    return p.per_posting(np.log(np.maximum((n - df + 0.5) / (df + 0.5), 1.0))) * _saturate(p, k1, b)


def _atire(p: Postings, *, k1: float, b: float) -> Float64Array:
    return p.per_posting(idf(p)) * _saturate(p, k1, b) * (k1 + 1.0)


def _okapi(p: Postings, *, k1: float, b: float, epsilon: float) -> Float64Array:
    n, df = _probability(p)
    known = df > 0
    value = np.log((n - df + 0.5) / (df + 0.5))
    floor = epsilon * float(value[known].mean()) if known.any() else 0.0
    return p.per_posting(np.where(value < 0, floor, value)) * _saturate(p, k1, b) * (k1 + 1.0)


def bm25f_weights(
    whole: Postings,
    fields: Sequence[Postings],
    field_weights: Sequence[float],
    *,
    k1: float,
    b: float,
) -> Float64Array:
    """BM25F: sum the counts of the fields, each normalised by field length, then saturate."""
    keys = whole.keys
    tf = np.zeros(len(keys))
    for part, weight in zip(fields, field_weights, strict=True):
        norm = 1.0 - b + b * part.posting_lengths / max(part.mean_length, 1e-300)
        tf[np.searchsorted(keys, part.keys)] += weight * part.counts / norm
    n, df = _probability(whole)
    return whole.per_posting(np.log1p((n - df + 0.5) / (df + 0.5))) * tf / (tf + k1)


def _dirichlet(p: Postings, *, mu: float) -> Float64Array:
    share = p.per_posting(p.collection_frequency / max(p.n_tokens, 1))
    return np.log1p(p.counts / (mu * share))


def _dirichlet_shift(p: Postings, n_terms: float, *, mu: float) -> Float64Array:
    return n_terms * np.log(mu / (mu + p.lengths))


def _jelinek_mercer(p: Postings, *, lam: float) -> Float64Array:
    share = p.per_posting(p.collection_frequency / max(p.n_tokens, 1))
    return np.log1p((1.0 - lam) / lam * p.counts / (p.posting_lengths * share))


def _pl2(p: Postings, *, c: float) -> Float64Array:
    tfn = p.counts * np.log2(1.0 + c * p.mean_length / p.posting_lengths)
    rate = p.per_posting(p.collection_frequency / max(p.n_documents, 1))
    log2e = np.log2(np.e)
    information = (
        tfn * (np.log2(tfn) - np.log2(rate) - log2e)
        + rate * log2e
        + 0.5 * np.log2(2.0 * np.pi * tfn)
    )
    return information / (tfn + 1.0)


def _dph(p: Postings) -> Float64Array:
    tf = p.counts.astype(np.float64)
    share = tf / p.posting_lengths
    rest = np.where(share < 1.0, 1.0 - share, 1.0)
    expected = (
        p.posting_lengths
        / p.mean_length
        * p.per_posting(p.collection_frequency / max(p.n_documents, 1))
    )
    information = tf * np.log2(tf / expected) + 0.5 * np.log2(2.0 * np.pi * tf * rest)
    return np.where(share < 1.0, rest**2 / (tf + 1.0) * information, 0.0)


def _tfidf(p: Postings) -> Float64Array:
    return (1.0 + np.log(p.counts)) * p.per_posting(idf(p))


def inverse_norm(p: Postings) -> Float64Array:
    """Inverse norm of the vector ``(1 + ln tf) idf`` of each document; 0 for a zero vector."""
    squares = np.bincount(p.documents, _tfidf(p) ** 2, p.n_documents)
    return np.divide(1.0, np.sqrt(squares), out=np.zeros(len(squares)), where=squares > 0)


def _counts(counts: Float64Array, idf: Float64Array) -> Float64Array:
    return counts


def _share_of_largest(counts: Float64Array, idf: Float64Array) -> Float64Array:
    return counts / counts.max() if len(counts) else counts


def _unit_tfidf(counts: Float64Array, idf: Float64Array) -> Float64Array:
    weight = (1.0 + np.log(counts)) * idf
    norm = float(np.sqrt((weight**2).sum()))
    return weight / norm if norm > 0 else weight


MODELS: dict[str, Model] = {
    "bm25": Model(_lucene, _counts, parameters=BM25_PARAMETERS),
    "bm25_lucene": Model(_lucene, _counts, parameters=BM25_PARAMETERS),
    "bm25_robertson": Model(_robertson, _counts, parameters=BM25_PARAMETERS),
    "bm25_atire": Model(_atire, _counts, parameters=BM25_PARAMETERS),
    "bm25_okapi": Model(_okapi, _counts, parameters={**BM25_PARAMETERS, "epsilon": 0.25}),
    "bm25f": Model(_lucene, _counts, parameters=BM25_PARAMETERS),
    "dirichlet": Model(_dirichlet, _counts, _dirichlet_shift, parameters={"mu": 2000.0}),
    "jelinek_mercer": Model(_jelinek_mercer, _counts, parameters={"lam": 0.1}),
    "pl2": Model(_pl2, _share_of_largest, parameters={"c": 1.0}),
    "dph": Model(_dph, _share_of_largest),
    "tf_idf": Model(_tfidf, _unit_tfidf, scale=inverse_norm),
}


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
