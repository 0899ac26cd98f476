"""Documents that are judged or ranked by a system, with common numbers for all systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.judged_run import JudgedRun
from rankwise.datasets.readers.trec import Qrels
from rankwise.datasets.readers.trec_ids import string_codes
from rankwise.groups import QueryGroups
from rankwise.typing import Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class JudgedPool:
    """Documents by query, then by id, whatever the order of the judgements.

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
    highest_grade : float
        Highest grade of any judged document, at least 1.
    """

    qids: NDArray[np.str_]
    query: Int64Array
    doc_ids: NDArray[np.str_]
    grades: Float64Array
    judged: NDArray[np.bool_]
    rows: dict[str, Int64Array]
    scores: dict[str, Float64Array]
    highest_grade: float

    @property
    def n_queries(self) -> int:
        """Number of judged queries."""
        return len(self.qids)

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
    queries, n_queries = string_codes(qrels.qid, *_keep_found(runs, found, "qid"))
    documents, n_documents = string_codes(qrels.doc_ids, *_keep_found(runs, found, "doc_ids"))
    names = np.concatenate([qrels.doc_ids, *_keep_found(runs, found, "doc_ids")])
    place_of = _places_by_name(np.concatenate(documents), names, n_documents)
    documents = [place_of[codes] for codes in documents]
    keys = [q * n_documents + d for q, d in zip(queries, documents, strict=True)]
    pooled, first, place = np.unique(np.concatenate(keys), return_index=True, return_inverse=True)
    places = np.split(place, np.cumsum([len(part) for part in keys])[:-1])
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
        highest_grade=max(float(grades.max(initial=0.0)), 1.0),
    )


def pool_rows(
    data: RankingData, scores: Mapping[str, Float64Array], highest_grade: float
) -> JudgedPool:
    """Documents of judged rows and of ``data.missed``, ranked by several systems.

    Parameters
    ----------
    data : RankingData
    scores : mapping of str to ndarray of shape (n_samples,)
        By system: scores of the rows; minus infinity for a row that was not retrieved. Equal scores
        rank by descending document id, or in the order of the rows if there are none.
    highest_grade : float
        Highest grade of the data of which these may be a part, at least 1.

    Notes
    -----
    O(m n log n) for n rows and m systems.
    """
    n, missed = len(data), data.missed
    parts = [data] if missed is None else [data, missed]
    qid = np.concatenate([part.qid for part in parts])
    groups = QueryGroups.from_qid(qid, len(qid))
    codes = groups.codes()
    names = np.array([name for part in parts for name in _ids(part)], dtype=object)
    by_name = np.arange(len(qid))
    if data.doc_ids is not None:
        by_name = np.unique(names, return_inverse=True)[1]
    order = np.lexsort((by_name, codes))
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    ties = by_name[:n] * (1 if data.doc_ids is None else -1)
    rows = {}
    for name, of_rows in scores.items():
        ranked = np.lexsort((ties, -of_rows, codes[:n]))
        rows[name] = ranked[of_rows[ranked] > -np.inf]
    known = [np.ones(len(p), dtype=bool) if p.judged is None else p.judged for p in parts]
    return JudgedPool(
        qids=np.array(list(map(str, groups.ids.tolist())), dtype=object),
        query=codes[order],
        doc_ids=names[order],
        grades=np.maximum(np.concatenate([part.grades for part in parts]), 0.0)[order],
        judged=np.concatenate(known)[order],
        rows={name: number[ranked] for name, ranked in rows.items()},
        scores={name: scores[name][ranked] for name, ranked in rows.items()},
        highest_grade=highest_grade,
    )


def _ids(data: RankingData) -> list[str]:
    """Document ids, or the numbers of the rows without any."""
    return [str(row) for row in range(len(data))] if data.doc_ids is None else data.doc_ids.tolist()


def _places_by_name(codes: Int64Array, names: NDArray[np.str_], n_documents: int) -> Int64Array:
    """Place of every document in the order of the ids."""
    name_of = np.empty(n_documents, dtype=object)
    name_of[codes] = names
    places = np.empty(n_documents, dtype=np.int64)
    places[np.argsort(name_of)] = np.arange(n_documents)
    return places


def _keep_found(
    runs: Mapping[str, JudgedRun], found: Mapping[str, NDArray[np.bool_]], column: str
) -> Sequence[NDArray[np.str_]]:
    return [getattr(run, column)[found[name]] for name, run in runs.items()]
