"""Documents that are judged or ranked by a system, with common numbers for all systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankwise.datasets.readers.judged_run import JudgedRun
from rankwise.datasets.readers.trec import Qrels
from rankwise.datasets.readers.trec_ids import string_codes
from rankwise.typing import Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class JudgedPool:
    """Documents by query, then in any order.

    Attributes
    ----------
    qids : ndarray of shape (n_queries,) of str
        Judged queries, in the order of the judgements.
    query : ndarray of shape (n_documents,), int64
        Number of the query of each document, ascending.
    doc_ids : ndarray of shape (n_documents,) of str
    grades : ndarray of shape (n_documents,), float64
        Grade; 0 if the document is unjudged or has a negative grade.
    judged : ndarray of shape (n_documents,), bool
        Whether the document has a grade of at least 0.
    rows : dict of str to ndarray of int64
        By system: its documents, query by query, in trec_eval's order.
    scores : dict of str to ndarray of float64
        By system: scores of these documents.
    """

    qids: NDArray[np.str_]
    query: Int64Array
    doc_ids: NDArray[np.str_]
    grades: Float64Array
    judged: NDArray[np.bool_]
    rows: dict[str, Int64Array]
    scores: dict[str, Float64Array]

    @property
    def n_queries(self) -> int:
        """Number of judged queries."""
        return len(self.qids)

    @property
    def highest_grade(self) -> float:
        """Highest grade of any judged document, at least 1."""
        return max(float(self.grades.max(initial=0.0)), 1.0)

    def ranks(self, system: str) -> Int64Array:
        """Rank of every document from 1, in trec_eval's order; 0 if it was not retrieved."""
        rows = self.rows[system]
        query = self.query[rows]
        first = np.searchsorted(query, np.arange(self.n_queries))
        ranks = np.zeros(len(self.query), dtype=np.int64)
        ranks[rows] = np.arange(len(rows)) - first[query] + 1
        return ranks


def pool_runs(runs: Mapping[str, JudgedRun], qrels: Qrels) -> JudgedPool:
    """Join the documents of judged runs with judgements.

    Parameters
    ----------
    runs : mapping of str to JudgedRun
        Results of :func:`rankwise.datasets.judge` with ``qrels`` and ``all_queries=True``.
    qrels : Qrels

    Notes
    -----
    O(n log n) for n documents of all runs and judgements together.
    """
    found = {name: run.retrieved for name, run in runs.items()}
    queries, n_queries = string_codes(qrels.qid, *_kept(runs, found, "qid"))
    documents, n_documents = string_codes(qrels.doc_ids, *_kept(runs, found, "doc_ids"))
    keys = [q * n_documents + d for q, d in zip(queries, documents, strict=True)]
    pooled, first, place = np.unique(np.concatenate(keys), return_index=True, return_inverse=True)
    places = np.split(place, np.cumsum([len(part) for part in keys])[:-1])
    names = np.concatenate([qrels.doc_ids, *_kept(runs, found, "doc_ids")])
    grades, judged = np.zeros(len(pooled)), np.zeros(len(pooled), dtype=bool)
    grades[places[0]] = np.maximum(qrels.relevance, 0)
    judged[places[0]] = qrels.relevance >= 0
    qids = np.empty(n_queries, dtype=qrels.qid.dtype)
    qids[queries[0]] = qrels.qid
    return JudgedPool(
        qids=qids,
        query=pooled // n_documents,
        doc_ids=names[first],
        grades=grades,
        judged=judged,
        rows=dict(zip(runs, places[1:], strict=True)),
        scores={name: run.scores[found[name]] for name, run in runs.items()},
    )


def _kept(
    runs: Mapping[str, JudgedRun], found: Mapping[str, NDArray[np.bool_]], column: str
) -> Sequence[NDArray[np.str_]]:
    return [getattr(run, column)[found[name]] for name, run in runs.items()]
