"""Features of pairs of a query and a document.

References
----------
.. [1] Qin, Liu, Xu & Li, "LETOR: a benchmark collection for research on learning to rank for
   information retrieval", Information Retrieval 13 (2010), tables 2 to 4.
.. [2] Qin & Liu, "Introducing LETOR 4.0 datasets", arXiv:1306.2597, and the feature list of MSLR:
   minimum, maximum, mean and variance over the terms of a query.
.. [3] Zhai & Lafferty, "A study of smoothing methods for language models applied to information
   retrieval", TOIS 22 (2004).
.. [4] Metzler & Croft, "A Markov random field model for term dependencies", SIGIR 2005 (ordered and
   unordered pairs of neighbours).
.. [5] Tao & Zhai, "An exploration of proximity measures in information retrieval", SIGIR 2007
   (smallest window).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.judged_run import find_missed_documents, grades_of
from rankwise.datasets.readers.trec import Qrels, Run
from rankwise.kernels.text_search import NAMES, pair_features
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.scikit_learn import BaseEstimator, TransformerMixin
from rankwise.runtime.threads import available_threads, thread_map
from rankwise.text.documents import convert_to_id, convert_to_queries
from rankwise.text.models import Postings, check_count, check_number, idf, inverse_norm
from rankwise.text.text_index import TextIndex
from rankwise.typing import Float64Array, Int64Array

# Pairs that one thread works on at a time.
_PAIRS = 4096
_FARTHEST = 2**62  # fits the kernel's integers
_PARAMETERS = ("k1", "b", "mu", "lam", "delta", "near")
VECTOR_FEATURES = ("dot", "vector_cosine", "distance")


class QueryDocumentFeatures(TransformerMixin, BaseEstimator):
    """Compute features of query-document pairs from a text index.

    Parameters
    ----------
    index : TextIndex
        Index that contains the documents.
    vectors : array-like of shape (n_documents, n_dimensions), optional
        Embedding of each document, in the order of ``index.doc_ids``. Requires ``embed``.
    embed : callable, optional
        Function from a list of query texts to their embeddings, shape (n_queries, n_dimensions).
    k1, b : float, default=1.2, 0.75
        Parameters of BM25.
    mu, lam, delta : float, default=2000, 0.1, 0.7
        Smoothing of the three language models, see Notes. ``lam`` is a share, not a penalty: the
        lambda of Jelinek and Mercer.
    near : int >= 1, default=8
        Largest distance at which two terms count as an unordered pair.

    Attributes
    ----------
    feature_names : list of str
        Names of the form "feature(stream)". The streams are the fields and, if there are several
        fields, "whole".

    Notes
    -----
    A query has m different terms t. A stream has n terms, and tf of them are t. Across the streams
    of all N documents there are T terms; t occurs in df documents and cf times in total. A query
    term that occurs in no document counts in m and has tf = 0; all other sums skip it.

    - ``covered``: number of t with tf > 0; ``covered_ratio``: divided by m; ``all_covered``: 1 if
      covered = m; ``length``: n.
    - ``tf_…``, ``ntf_…``, ``tfidf_…``: sum, min, max, mean and var over the m terms of tf, tf / n
      and tf idf, ``idf = ln(N / df)``.
    - Over the t with tf > 0: ``log_tf_sum`` of ``ln(1 + tf)``, ``idf_sum`` of idf, ``icf_sum`` of
      ``ln(1 + T / cf)``, ``log_ntfidf_sum`` of ``ln(1 + tf / n idf)``, ``log_ntficf_sum`` of
      ``ln(1 + tf / n T / cf)``.
    - ``cosine`` of ``(1 + ln tf) idf``; ``bm25`` of :meth:`TextIndex.search`.
    - Logarithms of the likelihood of the query, with ``p = cf / T``: ``lm_dirichlet`` of
      ``(tf + mu p) / (n + mu)``, ``lm_jelinek_mercer`` of ``(1 - lam) tf / n + lam p``,
      ``lm_absolute`` of ``max(tf - delta, 0) / n + delta u / n p`` for u different terms of the
      stream.
    - ``window``: terms of the smallest window with all covered t (n + 1 without any);
      ``window_ratio``: covered / window.
    - For neighbours a b of the query: ``ordered_pairs`` counts a directly before b,
      ``unordered_pairs`` counts a and b at most ``near`` apart in either order.
    - ``phrase``: occurrences of the whole query in the stream; ``exact``: 1 if both are equal.
    - With vectors: ``dot``, ``vector_cosine``, ``distance`` (Euclidean).

    O(n m) time a pair, on all threads. Memory is that of the result.

    References
    ----------
    See the module: LETOR and MSLR (Qin et al.), Zhai and Lafferty, Metzler and Croft, Tao and Zhai.

    Examples
    --------
    >>> from rankwise.text import QueryDocumentFeatures, TextIndex
    >>> index = TextIndex().add({"d1": "black cat", "d2": "a cat and a black dog"})
    >>> features = QueryDocumentFeatures(index)
    >>> table = features.table({"q": "black cat"}, index.search({"q": "black cat"}))
    >>> table.doc_ids.tolist(), table.X[:, features.feature_names.index("phrase(text)")].tolist()
    (['d1', 'd2'], [1.0, 0.0])

    As a transformer, of query texts and document ids:

    >>> features.fit_transform([["black cat", "d1"], ["dog", "d2"]]).shape
    (2, 35)
    """

    @names_its_class
    def __init__(
        self,
        index: TextIndex,
        *,
        vectors: Any = None,
        embed: Callable[[list[str]], Any] | None = None,
        k1: float = 1.2,
        b: float = 0.75,
        mu: float = 2000.0,
        lam: float = 0.1,
        delta: float = 0.7,
        near: int = 8,
    ) -> None:
        self.index = index
        self.vectors = vectors
        self.embed = embed
        self.k1 = k1
        self.b = b
        self.mu = mu
        self.lam = lam
        self.delta = delta
        self.near = near
        self._check()

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Check the parameters. Nothing is learnt from ``X``.

        Raises
        ------
        ValueError
            If a parameter is out of range, or the vectors do not fit the documents.
        """
        self._check()
        return self

    def transform(self, X: Any) -> Float64Array:
        """Compute the features of pairs of a query text and a document id.

        Parameters
        ----------
        X : array-like or frame of shape (n_pairs, 2)
            Query texts in the first column, document ids in the second.

        Returns
        -------
        ndarray of shape (n_pairs, len(feature_names)), float64

        Raises
        ------
        ValueError
            If X has another shape, or a document is not in the index.
        """
        pairs = np.asarray(X, dtype=object)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise ValueError(
                f"X must have two columns, texts of queries and ids of documents, got shape "
                f"{pairs.shape}."
            )
        texts = {text: str(number) for number, text in enumerate(dict.fromkeys(pairs[:, 0]))}
        qid = [texts[text] for text in pairs[:, 0]]
        return self.compute({number: text for text, number in texts.items()}, qid, pairs[:, 1])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns of :meth:`transform`; ``input_features`` is ignored."""
        return np.array(self.feature_names, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def streams(self) -> tuple[str, ...]:
        """Each field, and "whole" if there are several."""
        fields = self.index.fields
        return fields if len(fields) == 1 else (*fields, "whole")

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns of :meth:`compute`."""
        names = [f"{name}({stream})" for stream in self.streams for name in NAMES]
        return names if self.vectors is None else [*names, *VECTOR_FEATURES]

    def compute(
        self, queries: Any, qid: Sequence[str] | NDArray[Any], doc_ids: Sequence[str] | NDArray[Any]
    ) -> Float64Array:
        """Compute the features of pairs of a query id and a document id.

        Parameters
        ----------
        queries : mapping from query id to text
            Query texts, in any form that :meth:`TextIndex.search` accepts.
        qid, doc_ids : sequence of str, shape (n_pairs,)
            Query id and document id of each pair.

        Returns
        -------
        ndarray of shape (n_pairs, len(feature_names)), float64

        Raises
        ------
        ValueError
            If a query has no text, or a document is not in the index.
        """
        texts = convert_to_queries(queries)
        number = {name: place for place, name in enumerate(texts)}
        names = [convert_to_id(name, f"query id {place}") for place, name in enumerate(qid)]
        unknown = next((name for name in names if name not in number), None)
        if unknown is not None:
            raise ValueError(f"query {unknown!r} has no text. Pass the texts of all queries.")
        query_of = np.array([number[name] for name in names], dtype=np.int64)
        document_of = self.index.positions(list(doc_ids))
        if len(query_of) != len(document_of):
            raise ValueError(
                f"qid and doc_ids must have one entry per pair, got {len(query_of)} and "
                f"{len(document_of)}."
            )
        vectors = self._check()
        asked = self._number_queries(list(texts.values()))
        parts = [
            self._count_stream(stream, asked, query_of, document_of) for stream in self._prepare()
        ]
        if vectors is not None:
            parts.append(self._score_vectors(vectors, list(texts.values()), query_of, document_of))
        X = np.concatenate(parts, axis=1)
        if not np.isfinite(X).all():
            row, column = np.argwhere(~np.isfinite(X))[0].tolist()
            given = ", ".join(f"{name}={getattr(self, name)}" for name in _PARAMETERS)
            raise ValueError(
                f"feature {self.feature_names[column]!r} of document {str(doc_ids[row])!r} is not "
                f"finite with {given}. Use parameters nearer to their defaults."
            )
        return X

    def table(self, queries: Any, run: Run, qrels: Qrels | None = None) -> RankingData:
        """Compute the features of a run's documents and label them with their grades.

        Parameters
        ----------
        queries
            Query texts, see :meth:`compute`.
        run : Run
            Documents of each query.
        qrels : Qrels, optional
            Relevance judgements. Unjudged documents get grade 0. Judged documents that are not in
            the run are in ``missed``. None: all labels are 0.
        """
        X = self.compute(queries, run.qid, run.doc_ids)
        y, missed = np.zeros(len(run)), None
        if qrels is not None:
            y, _ = grades_of(qrels, run.qid, run.doc_ids)
            missed = find_missed_documents(qrels, run.qid, run.doc_ids)
        names = self.feature_names
        return RankingData(
            X, y, qid=run.qid, doc_ids=run.doc_ids, feature_names=names, name="text", missed=missed
        )

    def _number_queries(
        self, texts: list[str]
    ) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
        """Terms of the queries in their order with bounds, and different ones with bounds."""
        tokens, terms = [], []
        for text in texts:
            words = [str(word) for word in self.index.analyzer(text)]
            known = self.index.vocabulary
            tokens.append([known.get(word, -1) for word in words])
            terms.append([known.get(word, -1) for word in dict.fromkeys(words)])
        return (*_flat(tokens), *_flat(terms))

    def _prepare(self) -> list[tuple[Any, ...]]:
        """What the kernel needs of every stream."""
        index = self.index
        prepared = self.__dict__.get("_streams")
        whole = index.postings  # another object once the index has changed
        if prepared is None or prepared[0] is not whole:
            n_terms, made = len(index.vocabulary), []
            for stream in self.streams:
                is_whole = stream not in index.fields or len(index.fields) == 1
                tokens, bounds = index.whole if is_whole else index.tokens(stream)
                p = whole if is_whole else Postings.of_tokens(tokens, bounds, n_terms)
                distinct = np.bincount(p.documents, minlength=p.n_documents)
                made.append(
                    (
                        np.asarray(tokens), np.asarray(bounds), distinct, inverse_norm(p), idf(p),
                        p.document_frequency.astype(np.float64),
                        p.collection_frequency.astype(np.float64),
                        float(p.n_tokens), max(p.mean_length, 1e-300),
                    )
                )  # fmt: skip
            prepared = self.__dict__["_streams"] = whole, made
        return prepared[1]

    def _count_stream(
        self, stream: Any, asked: Any, query_of: Int64Array, document_of: Int64Array
    ) -> Float64Array:
        out = np.empty((len(query_of), len(NAMES)))
        settings = np.array([self.k1, self.b, self.mu, self.lam, self.delta], dtype=np.float64)

        def work(lo: int) -> None:
            part = slice(lo, lo + _PAIRS)
            pairs = query_of[part], document_of[part]
            found = settings, min(int(self.near), _FARTHEST), out[part]
            arguments: Any = (*stream, *asked, *pairs, *found)
            pair_features(*arguments)

        starts = list(range(0, len(query_of), _PAIRS))
        thread_map(work, starts, available_threads())
        return out

    def _score_vectors(
        self,
        vectors: Float64Array,
        texts: list[str],
        query_of: Int64Array,
        document_of: Int64Array,
    ) -> Float64Array:
        assert self.embed is not None
        queries = np.asarray(self.embed(texts), dtype=np.float64)
        if queries.shape != (len(texts), vectors.shape[1]):
            raise ValueError(
                f"embed must give an array of shape ({len(texts)}, {vectors.shape[1]}), got "
                f"{queries.shape}."
            )
        out = np.empty((len(query_of), 3))
        norms = np.linalg.norm(queries, axis=1), np.linalg.norm(vectors, axis=1)
        for lo in range(0, len(query_of), _PAIRS):
            q, d = query_of[lo : lo + _PAIRS], document_of[lo : lo + _PAIRS]
            dot = np.einsum("ij,ij->i", queries[q], vectors[d])
            both = norms[0][q] * norms[1][d]
            cosine = np.divide(dot, both, out=np.zeros(len(dot)), where=both > 0)
            distance = np.linalg.norm(queries[q] - vectors[d], axis=1)
            out[lo : lo + _PAIRS] = np.stack([dot, cosine, distance], axis=1)
        return out

    def _check(self) -> Float64Array | None:
        """The vectors as an array; all parameters are in their ranges."""
        if (self.vectors is None) != (self.embed is None):
            raise ValueError("vectors and embed belong together: pass both, or none of them.")
        for name, low, high in (
            ("k1", 0.0, np.inf), ("b", 0.0, 1.0), ("mu", 0.0, np.inf), ("lam", 0.0, 1.0),
            ("delta", 0.0, 1.0),
        ):  # fmt: skip
            positive = name in ("mu", "lam", "delta")
            check_number(name, getattr(self, name), low, high, positive=positive)
        check_count("near", self.near)
        if self.vectors is None:
            return None
        values = np.asarray(self.vectors, dtype=np.float64)
        if values.ndim != 2 or len(values) != len(self.index) or not np.isfinite(values).all():
            raise ValueError(
                f"vectors must hold a row of finite numbers for each of the {len(self.index)} "
                f"documents, got shape {values.shape}."
            )
        return values


def _flat(lists: list[list[int]]) -> tuple[Int64Array, Int64Array]:
    bounds = np.cumsum([0, *(len(numbers) for numbers in lists)])
    flat = np.array([x for numbers in lists for x in numbers], dtype=np.int64)
    return flat, bounds.astype(np.int64)
