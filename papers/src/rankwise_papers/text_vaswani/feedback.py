"""Similarities to a topic that its first documents expand: pseudo-relevance feedback.

References
----------
.. [1] Rocchio, "Relevance feedback in information retrieval", in Salton (ed.), The SMART Retrieval
   System, 1971.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from rankwise.datasets import RankingData
from rankwise.features import QueryScaler
from rankwise.text import TextCollection, TextIndex

DIMENSIONS = (50, 150, 300)
# Number of documents of BM25 that are taken as relevant, and the weight of their mean.
EXPANSIONS = ((5, 1.0), (10, 1.0), (20, 2.0))
LATENT_EXPANSION = (10, 1.0)


def add_feedback_columns(
    data: RankingData, index: TextIndex, collection: TextCollection
) -> RankingData:
    """The table with nine more features, standardised within each topic."""
    names = list(collection.queries)
    number = {name: place for place, name in enumerate(names)}
    topic = np.array([number[name] for name in data.qid.tolist()])
    document = index.positions(np.asarray(data.doc_ids).tolist())
    columns = [
        np.asarray(documents[document].multiply(topics[topic]).sum(axis=1)).ravel()
        for documents, topics in _vectors(index, collection, names)
    ]
    added: Any = QueryScaler("standard").fit_transform(np.column_stack(columns), qid=data.qid)
    X: Any = data.X
    return replace(data, X=np.hstack([X, added]), feature_names=None)


def _vectors(
    index: TextIndex, collection: TextCollection, names: list[str]
) -> Iterator[tuple[Any, Any]]:
    """Unit vectors of the documents and of the topics."""
    analyzer: Any = index.analyzer
    tf_idf: Any = TfidfVectorizer(analyzer=analyzer, sublinear_tf=True)
    documents: Any = sparse.csr_array(
        tf_idf.fit_transform([document["text"] for document in collection.documents.values()])
    )
    topics = tf_idf.transform([collection.queries[name] for name in names]).toarray()
    run = index.search(collection.queries, max(n for n, _ in EXPANSIONS))
    first = [index.positions(run.doc_ids[run.qid == name].tolist()) for name in names]
    for expansion in EXPANSIONS:
        yield documents, _expanded(documents.toarray(), topics, first, *expansion)
    for dimensions in DIMENSIONS:
        latent: Any = TruncatedSVD(dimensions, random_state=0).fit(documents)
        of_documents: Any = normalize(latent.transform(documents))
        of_topics: Any = normalize(latent.transform(topics))
        rows = sparse.csr_array(of_documents)
        yield rows, sparse.csr_array(of_topics)
        yield rows, _expanded(of_documents, of_topics, first, *LATENT_EXPANSION)


def _expanded(
    documents: NDArray[np.float64],
    topics: NDArray[np.float64],
    first: list[NDArray[np.int64]],
    n: int,
    weight: float,
) -> Any:
    """Topics plus the weighted mean of their first n documents, scaled to length 1."""
    means = np.zeros(topics.shape)
    for topic, rows in enumerate(first):
        if len(rows):
            means[topic] = documents[rows[:n]].mean(axis=0)
    return sparse.csr_array(normalize(topics + weight * means))
